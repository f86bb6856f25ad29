#include "schedule/cache_write.h"

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const CacheWrite& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_loop(tree, step.loop));
  if (tree.loop(step.loop).op != step.op)
    return refuse(tree, step.loop, "belongs to another op than " + tree.dag.op(step.op).name);
  if (tree.loop(step.loop).kind == LoopKind::vectorized)
    return refuse(tree, step.loop,
                  "is vectorized, so that each lane would need a cache of its own; cache an outer loop");
  if (is_in_tile(tree, step.loop))
    return refuse(tree, step.loop, "belongs to the tile of an intrinsic; cache an outer loop");
  if (!tree.dag.op(step.op).element().reducer)
    return refuse(tree, step.op, "does not reduce, so there is nothing to accumulate");
  if (tree.place(step.op).stored_in == StoredIn::registers) return refuse(tree, step.op, "is in registers already");
  for (const RegisterCache& cache : tree.caches)
    if (cache.op == step.op) return refuse(tree, step.op, "has a cache already");
  for (const Rfactored& factored : tree.rfactors)
    if (factored.op == step.op) return refuse(tree, step.op, "is factored; factor or cache, not both");
  tree.caches.push_back({step.op, step.loop});
  Status legal = check_stored(tree, step.op);
  if (legal.ok()) legal = check_overlaps(tree, step.op, own_loops(tree, step.op));
  if (!legal.ok()) {
    tree.caches.pop_back();
    return legal;
  }
  return ok_status();
}

}  // namespace whet
