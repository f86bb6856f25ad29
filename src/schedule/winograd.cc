#include "schedule/winograd.h"

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Winograd& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  if (!has_one_window(tree.dag, step.op))
    WHET_RETURN_IF_ERROR(check_of_one_size(tree, step.op, "transforms of windows are"));
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.op, "an algorithm is chosen"));
  Result<WinogradDag> changed = winograd(tree.dag, step.op, step.tile, step.tiles);
  if (!changed.ok()) return refuse(tree, step.op, changed.error().message);
  tree = make_loop_tree(std::move(changed->dag));
  return ok_status();
}

}  // namespace whet
