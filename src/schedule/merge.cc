#include "schedule/merge.h"

#include "compute/merge.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Merge& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.op, "axes are merged"));
  Result<ComputeDag> merged = merge_axes(tree.dag, step.op, step.axis);
  if (!merged.ok()) return refuse(tree, step.op, "has axes that cannot be merged: " + merged.error().message);
  tree = make_loop_tree(std::move(*merged));
  return ok_status();
}

}  // namespace whet
