#include "schedule/min_blocks.h"

#include <fmt/format.h>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const MinBlocks& step) {
  WHET_RETURN_IF_ERROR(check_loop(tree, step.loop));
  TreeLoop& loop = tree.loop(step.loop);
  if (loop.kind != LoopKind::block) return refuse(tree, step.loop, "is no block loop; bind it to blocks first");
  if (loop.parent.valid())
    return refuse(tree, step.loop,
                  fmt::format("is inside loop {}; only the first block loop begins a launch",
                              name_of(tree, path_to(tree, step.loop).front())));
  if (step.blocks < 1 || step.blocks > kMaxMinBlocks)
    return refuse(tree, step.loop,
                  fmt::format("cannot have {} blocks on an SM; expected 1 to {}", step.blocks, kMaxMinBlocks));
  if (loop.min_blocks > 0)
    return refuse(tree, step.loop, fmt::format("has at least {} blocks on an SM already", loop.min_blocks));
  loop.min_blocks = step.blocks;
  return ok_status();
}

}  // namespace whet
