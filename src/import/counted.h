#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "graph/graph.h"

/// Results whose number depends on values, in tensors of a fixed size: the first ones of a dimension are results, and those
/// behind them are padding.
namespace whet {

/// Dimensions of a value that have padding, each with the number (i64, a scalar) of results.
using Counted = std::map<std::size_t, ValueId>;

/// What an operator makes of counted dimensions.
struct CountedResult {
  struct Dimension {
    ValueId count;                                    ///< of the operand
    std::optional<std::int64_t> most = std::nullopt;  ///< only the first ones are taken
    std::int64_t factor = 1;                          ///< each is as many of the result
  };
  std::map<std::size_t, Dimension> dimensions;  ///< of the result
  std::set<std::size_t> mixed;                  ///< the operands whose padding would become a part of results
};

/// An operator on tensors of the `shapes`. It keeps results and padding apart where it computes each of them alone, moves them, or
/// takes the first ones.
CountedResult counted_result(const Operator&, const std::vector<Counted>& operands, const std::vector<Shape>& shapes,
                             const Shape& result);

/// The lowest or the highest number of a type: a scalar.
Tensor extreme(DType, bool lowest);

/// What the padding of an operand may be, of `dtype`, that no result depends on it, where the operator chooses or sums: 0 in a
/// sum, the lowest number in a maximum. None where there is no such number.
std::optional<Tensor> neutral_padding(const Operator&, std::size_t operand, DType dtype);

}  // namespace whet
