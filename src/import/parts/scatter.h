#pragma once

#include "import/site.h"

/// What entries of others are combined with: parts, see arithmetic.h.
namespace whet {

enum class Combine : std::uint8_t { replace, sum, prod, largest, smallest, mean };

/// x with `values` at `places` (of one shape, which fits inside that of x except along `axis`) combined with what is there. Without
/// `with_self` what is there counts nothing where others come.
Result<ValueId> scattered(NodeSite&, ValueId x, std::int64_t axis, ValueId places, ValueId values, Combine,
                          bool with_self = true);

/// Rows of weights [rows, size] in bags.
struct Bags {
  Combine kind = Combine::sum;                          ///< sum, mean or largest
  ValueId indices;                                      ///< [n]
  ValueId starts;                                       ///< [bags]: where each begins among the indices
  std::optional<ValueId> factors = std::nullopt;        ///< [n], of sums
  std::optional<std::int64_t> left_out = std::nullopt;  ///< the row that counts nothing
};
/// [bags, size]; a bag of no rows is 0.
Result<ValueId> embedded_bags(NodeSite&, ValueId weights, const Bags&);

}  // namespace whet
