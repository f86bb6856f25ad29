#pragma once

#include <optional>
#include <vector>

#include "compute/dag.h"
#include "schedule/steps.h"

namespace whet {

/// A reduction that adds each value at one data-dependent place of some axes: select(at(r) == i, x(r), nothing).
/// With the loop over such an axis innermost, lowering computes its only iteration: a data-dependent write.
struct ScatterAxes {
  std::vector<std::size_t> said;       ///< spatial axes whose place is data
  std::vector<std::size_t> before;     ///< other spatial axes in front of them
  std::vector<std::size_t> dependent;  ///< others behind that the data depends on
  std::vector<std::size_t> along;      ///< others behind: a run of neighbours is written at once
};

/// Empty for all other ops.
std::optional<ScatterAxes> find_scatter(const ComputeDag&, OpId);

/// Puts the free loops of `op`, which is a scatter, in order: reduced outermost, the axes whose place is data inside,
/// vectors of `step` elements innermost. `shares`: a nest of its own, which this number of workers share; 0: it is
/// under other loops.
void scatter_nest(Scheduler&, OpId op, std::int64_t step, int shares);

/// Where `op` is a scatter: its nest, which is under a loop of another op, runs over all places that the data may have.
bool is_whole(const LoopTree&, OpId op);

}  // namespace whet
