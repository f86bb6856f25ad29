#include "schedule/compute_root.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"

namespace whet {
namespace {

/// The number of the root item that computes `op`.
std::size_t root_of(const LoopTree& tree, OpId op) { return position_of(tree, LoopId(), op); }

}  // namespace

Status apply(LoopTree& tree, const ComputeRoot& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  const PlaceKind kind = tree.place(step.op).kind;
  if (kind == PlaceKind::root) return refuse(tree, step.op, "is computed at the top already");
  for (const OnlineSum& online : tree.onlines)
    if (step.op == online.top || step.op == online.exp || step.op == online.sum)
      return refuse(tree, step.op, fmt::format("belongs to the online sum of loop {}", name_of(tree, online.loop)));
  for (LoopId own : own_loops(tree, step.op))
    if (is_frozen(tree, own)) return refuse(tree, step.op, "cannot move while something is computed under its loops");
  std::size_t begin = 0, end = tree.roots.size();
  for (OpId input : inputs_of(tree.dag, step.op))
    if (has_loops(tree, input)) begin = std::max(begin, root_of(tree, input) + 1);
  for (OpId reader : consumers_of(tree.dag, step.op)) {
    if (!has_loops(tree, reader)) continue;
    end = std::min(end, root_of(tree, reader));
    if (end < begin)
      return refuse(tree, step.op,
                    fmt::format("needs what is computed in the nest of {}, its reader", tree.dag.op(reader).name));
  }

  remove_nest(tree, step.op);
  Placement& place = tree.places[step.op.index()];
  if (kind == PlaceKind::reverse_at) tree.places[tree.loop(place.at).op.index()].stored_in = StoredIn::memory;
  place.kind = PlaceKind::root, place.at = LoopId(), place.rolled = LoopId(), place.stored_in = StoredIn::memory;
  std::fill(place.base.begin(), place.base.end(), int_const(0));
  insert_nest(tree, step.op, all_axes(tree.dag.op(step.op).element()), LoopId(), kind == PlaceKind::at ? end : begin);
  return ok_status();
}

}  // namespace whet
