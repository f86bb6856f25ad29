#pragma once

#include <optional>
#include <vector>

#include "compute/dag.h"
#include "schedule/steps.h"

namespace whet {

/// A reduction whose every value is meant for one place of some axes, which data says: select(at(r) == i, x(r), nothing).
/// With the loop over such an axis innermost, lowering computes its only iteration: a write to where data says.
struct ScatterAxes {
  std::vector<std::size_t> said;       ///< spatial axes that the data says
  std::vector<std::size_t> before;     ///< other spatial axes in front of them
  std::vector<std::size_t> dependent;  ///< others behind that the data depends on
  std::vector<std::size_t> along;      ///< others behind: a run of neighbours is written at once
};

/// Empty for all other ops.
std::optional<ScatterAxes> find_scatter(const ComputeDag&, OpId);

/// Puts the free loops of `op`, which is a scatter, in order: reduced outermost, what is said inside, vectors of `step`
/// elements innermost. `shares`: a nest of its own, of which so many workers get shares; 0: it stands under others.
void scatter_nest(Scheduler&, OpId op, std::int64_t step, int shares);

/// Where `op` is a scatter: its nest, which stands under a loop of another op, runs over all that data may say.
bool is_whole(const LoopTree&, OpId op);

}  // namespace whet
