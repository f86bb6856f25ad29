#include "schedule/annotate.h"

#include <fmt/format.h>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Annotate& step) {
  WHET_RETURN_IF_ERROR(check_plain(tree, step.loop));
  TreeLoop& loop = tree.loop(step.loop);
  const std::int64_t extent = extent_of(tree, step.loop);
  switch (step.kind) {
    case LoopKind::serial:
      break;
    case LoopKind::block:
    case LoopKind::thread:
    case LoopKind::virtual_thread:
    case LoopKind::warp:
      return refuse(tree, step.loop, "is to be bound, which bind does");
    case LoopKind::parallel:
      if (loop.parent.valid())
        return refuse(tree, step.loop, "is not the outermost loop of a root; only that may be parallel");
      if (is_reduce(tree, step.loop))
        return refuse(tree, step.loop, "runs over a reduce axis, whose sum workers would race for");
      WHET_RETURN_IF_ERROR(check_any_order(tree, step.loop));
      break;
    case LoopKind::vectorized:
      WHET_RETURN_IF_ERROR(check_fixed(tree, step.loop));
      if (is_reduce(tree, step.loop) && !is_rfactored(tree, step.loop))
        return refuse(tree, step.loop,
                      "runs over a reduce axis; rfactor it first, so that each lane has a sum of its own");
      if (loop.digits.size() != 1) return refuse(tree, step.loop, "is fused; a vector runs along one axis");
      if (loop.children.size() != 1 || loop.children[0].loop.valid())
        return refuse(tree, step.loop, "is not innermost; only innermost loops are vectorized");
      for (const PrefetchedRead& prefetched : tree.prefetches)
        if (prefetched.loop == step.loop) return refuse(tree, step.loop, "fetches ahead; fetch in an outer loop");
      if (is_cached_at(tree, step.loop))
        return refuse(tree, step.loop,
                      "has a register cache, of which each lane would need its own; cache an outer loop");
      if (extent > kMaxVector)
        return refuse(tree, step.loop,
                      fmt::format("has {} iterations; at most {} are vectorized: split it first", extent, kMaxVector));
      break;
    case LoopKind::unrolled:
      WHET_RETURN_IF_ERROR(check_fixed(tree, step.loop));
      if (extent > kMaxUnroll)
        return refuse(tree, step.loop,
                      fmt::format("has {} iterations; at most {} are unrolled: split it first", extent, kMaxUnroll));
      break;
  }
  loop.kind = step.kind;
  return ok_status();
}

}  // namespace whet
