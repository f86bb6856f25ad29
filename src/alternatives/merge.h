#pragma once

#include <optional>
#include <string>
#include <vector>

#include "alternatives/convert.h"

namespace whet {

/// Groups that one kernel can compute side by side: convolutions, or products with a matrix, of the same input, with the
/// same window, and the same element-wise operators behind them. Weights and results lie side by side as channels.
struct MergedGroups {
  std::vector<int> groups;           ///< of the fused graph, in the order of their channels
  std::vector<ValueId> values;       ///< their results
  std::vector<std::int64_t> starts;  ///< the first channel of each
  ActivationLayout wide;             ///< as which the merged kernel stores them
  std::string name;                  ///< of the results: "a+b+c"
};

/// Every set of at least two siblings where there are at most four; of more, all of them, those that a concatenation
/// reads, and those that none reads. `wide` of the n-th is n. Results that one concatenation reads have its order.
std::vector<MergedGroups> find_merges(const FusedGraph&);

/// The merged kernel: it writes all the values, each as its channels of one tensor.
Result<Fragment> merged_kernel(const FusedGraph&, const MergedGroups&);

/// The group with those of its inputs that the merged kernel writes read where they lie. A concatenation of all of them, in
/// order, reads them as one operand; where it has no other, no kernel is left. Nothing where the group reads none of them,
/// or is one of them.
Result<std::optional<Fragment>> reading_merged(const FusedGraph&, int group, const MergedGroups&);

/// A kernel that copies the merge's value number `i` into a tensor of its own; none runs where it is a range of the bytes.
Result<Fragment> slice_of_merged(const FusedGraph&, const MergedGroups&, std::size_t i);

}  // namespace whet
