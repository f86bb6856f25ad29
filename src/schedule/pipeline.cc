#include "schedule/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"
#include "schedule/online.h"

namespace whet {
namespace {

bool stands_inside(const LoopTree& tree, OpId op, LoopId at) {
  const LoopId leaf = has_loops(tree, op) ? loop_of_leaf(tree, op) : LoopId();
  return leaf.valid() && encloses(tree, at, leaf);
}

/// Every op of the nests that move finds what it reads made before, or moves with it.
Status check_sources(const LoopTree& tree, LoopId loop, const std::vector<OpId>& moved) {
  const auto moves = [&](OpId op) {
    return std::any_of(moved.begin(), moved.end(), [&](OpId nest) {
      const std::vector<LoopId> own = own_loops(tree, nest);
      return op == nest || (!own.empty() && stands_inside(tree, op, own.front()));
    });
  };
  for (std::size_t k = 0; k < tree.dag.ops.size(); ++k) {
    const OpId op(static_cast<std::int64_t>(k));
    if (!stands_inside(tree, op, loop) || !moves(op)) continue;
    for (OpId input : inputs_of(tree.dag, op))
      if (stands_inside(tree, input, loop) && !moves(input))
        return refuse(tree, op,
                      fmt::format("reads {}, which the same iteration computes; it cannot be computed ahead",
                                  tree.dag.op(input).name));
  }
  return ok_status();
}

}  // namespace

std::vector<OpId> computed_at(const LoopTree& tree, LoopId loop) {
  std::vector<OpId> ops;
  for (std::size_t k = 0; k < tree.places.size(); ++k)
    if (tree.places[k].kind == PlaceKind::at && tree.places[k].at == loop)
      ops.push_back(OpId(static_cast<std::int64_t>(k)));
  return ops;
}

std::int64_t stages_of(const LoopTree& tree, LoopId loop) {
  for (const Pipelined& pipelined : tree.pipelines)
    if (pipelined.loop == loop) return pipelined.stages;
  return 1;
}

Status apply(LoopTree& tree, const Pipeline& step) {
  WHET_RETURN_IF_ERROR(check_loop(tree, step.loop));
  if (!runs_in_order(tree, step.loop))
    return refuse(tree, step.loop, "is parallel, vectorized or bound; its iterations follow no order");
  if (tree.loop(step.loop).digits.size() != 1)
    return refuse(tree, step.loop, "is fused; a pipeline runs along one digit");
  if (step.stages < 2 || step.stages > kMaxStages)
    return refuse(tree, step.loop, fmt::format("cannot have {} stages; expected 2 to {}", step.stages, kMaxStages));
  if (is_in_tile(tree, step.loop)) return refuse(tree, step.loop, "belongs to the tile of an intrinsic");
  if (stages_of(tree, step.loop) > 1) return refuse(tree, step.loop, "is a pipeline already");
  std::vector<OpId> moved = computed_at(tree, step.loop);
  // What an online sum computes of a step's terms is not moved.
  if (online_at(tree, step.loop) != nullptr)
    std::erase_if(moved, [&](OpId op) { return tree.place(op).stored_in == StoredIn::registers; });
  if (moved.empty()) return refuse(tree, step.loop, "has nothing computed at it that could be computed ahead");
  for (OpId op : moved)
    if (tree.place(op).rolled.valid()) return refuse(tree, op, "is rolled, and its window is where it is");
  for (OpId op : moved)
    if (tree.place(op).stored_in == StoredIn::registers)
      return refuse(tree, op, "is in registers, which have no stages");
  WHET_RETURN_IF_ERROR(check_sources(tree, step.loop, moved));
  tree.pipelines.push_back({step.loop, step.stages});
  return ok_status();
}

}  // namespace whet
