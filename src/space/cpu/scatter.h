#pragma once

#include <optional>
#include <vector>

#include "compute/dag.h"
#include "schedule/steps.h"

namespace whet {

/// A reduction that adds each value at one data-dependent index of some axes: select(at(r) == i, x(r), identity).
/// With the loop over such an axis innermost, lowering computes its only iteration: a data-dependent write.
struct ScatterAxes {
  std::vector<std::size_t> said;       ///< spatial axes whose index is data
  std::vector<std::size_t> before;     ///< other spatial axes in front of them
  std::vector<std::size_t> dependent;  ///< others behind that the data depends on
  std::vector<std::size_t> along;      ///< others behind: a run of neighbours is written at once
};

/// Returns nothing for all other ops.
std::optional<ScatterAxes> find_scatter(const ComputeDag&, OpId);

/// Orders the free loops of `op`, which is a scatter: reduce loops outermost, inside them the axes whose index is data,
/// innermost vectors of `step` elements. `shares`: the number of workers that share its nest; 0 where it is under other
/// loops.
void scatter_nest(Scheduler&, OpId op, std::int64_t step, int shares);

/// True where `op` is a scatter under a loop of another op whose nest runs over all indices that the data may have.
bool is_whole(const LoopTree&, OpId op);

}  // namespace whet
