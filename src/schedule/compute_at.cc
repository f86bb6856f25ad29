#include "schedule/compute_at.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"
#include "schedule/regions.h"

namespace whet {
namespace {

Status check_block_memory(const LoopTree& tree, const ComputeAt& step) {
  const std::vector<LoopId> around = path_to(tree, step.loop);
  if (tree.loop(around.front()).kind != LoopKind::block)
    return refuse(tree, step.op, "is to be in block memory, but is under no block; bind an outer loop to blocks first");
  for (LoopId loop : around)
    if (tree.place(tree.loop(loop).op).stored_in == StoredIn::block)
      return refuse(tree, step.op,
                    fmt::format("is to be in block memory, as {} is, for which it is computed",
                                tree.dag.op(tree.loop(loop).op).name));
  return ok_status();
}

}  // namespace

Status apply(LoopTree& tree, const ComputeAt& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_holds_ops(tree, step.loop));
  if (std::find(tree.dag.outputs.begin(), tree.dag.outputs.end(), step.op) != tree.dag.outputs.end())
    return refuse(tree, step.op, "is an output, which has to be computed whole");
  if (tree.place(step.op).kind != PlaceKind::root) return refuse(tree, step.op, "is placed already");
  for (LoopId own : own_loops(tree, step.op))
    if (own == step.loop || is_frozen(tree, own))
      return refuse(tree, step.op, "cannot go under its own loops, nor move while something is computed under them");
  std::size_t position = tree.loop(step.loop).children.size();
  for (OpId consumer : consumers_of(tree.dag, step.op)) {
    if (!has_loops(tree, consumer)) continue;
    const LoopId leaf = loop_of_leaf(tree, consumer);
    if (!leaf.valid() || !encloses(tree, step.loop, leaf))
      return refuse(
          tree, step.op,
          fmt::format("has the consumer {} outside of loop {}", tree.dag.op(consumer).name, name_of(tree, step.loop)));
    position = std::min(position, position_of(tree, step.loop, consumer));
  }
  if (step.stored_in == StoredIn::block) WHET_RETURN_IF_ERROR(check_block_memory(tree, step));
  const Region region = required_region(tree, step.op, step.loop, step.stored_in);
  Placement& place = tree.places[step.op.index()];
  std::vector<Axis> axes = all_axes(tree.dag.op(step.op).element());
  for (std::size_t k = 0; k < region.size(); ++k)
    axes[k].extent = region[k].extent, axes[k].size = region[k].size, place.base[k] = region[k].base;
  remove_nest(tree, step.op);
  insert_nest(tree, step.op, axes, step.loop, position);
  place.kind = PlaceKind::at, place.at = step.loop, place.stored_in = step.stored_in;
  return ok_status();
}

}  // namespace whet
