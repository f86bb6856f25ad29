#include "transfer/default_sizes.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "cost/features.h"
#include "schedule/steps.h"
#include "schedule/steps_for_sizes.h"

namespace whet {

namespace {

/// A schedule without the step computes the same by the same loops.
bool can_be_left_out(const Step& step) {
  return std::holds_alternative<Annotate>(step) || std::holds_alternative<PrefetchRead>(step) ||
         std::holds_alternative<Tensorize>(step);
}

}  // namespace

Result<Steps> cut_to(const ComputeDag& exact, const Steps& steps) {
  LoopTree tree = make_loop_tree(exact);
  Steps cut;
  for (Step step : steps) {
    Split* const split = std::get_if<Split>(&step);
    if (split != nullptr && split->loop.valid() && split->loop.index() < tree.loops.size())
      split->factor = std::min(split->factor, extent_of(tree, split->loop));
    if (const Status taken = whet::apply(tree, step); taken.ok())
      cut.push_back(std::move(step));
    else if (!can_be_left_out(step))
      return taken.error();
  }
  return cut;
}

std::vector<std::vector<double>> default_seconds(const ComputeDag& dag, const std::vector<SizeValues>& points,
                                                 const Target& target, const SpaceOptions& options) {
  std::vector<ComputeDag> exact;
  for (const SizeValues& at : points) exact.push_back(dag_at(dag, at));
  std::vector<std::vector<double>> seconds(points.size(), std::vector<double>(points.size(), 0));
  for (std::size_t from = 0; from < points.size(); ++from) {
    const Result<Steps> own = default_steps(exact[from], target, options);
    if (!own.ok()) continue;
    const Result<Steps> all = steps_for_sizes(moved_to(dag, points[from]), *own);
    if (!all.ok()) continue;  // no kernel of a range can run by it
    for (std::size_t p = 0; p < points.size(); ++p) {
      const Result<Steps> there = cut_to(exact[p], *all);
      if (!there.ok()) continue;
      const Result<LoopTree> tree = replay(exact[p], *there);
      if (tree.ok()) seconds[from][p] = analytic_seconds(*tree, target);
    }
  }
  return seconds;
}

}  // namespace whet
