#include "schedule/merge.h"

#include "compute/merge.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Merge& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  if (hash(tree) != hash(make_loop_tree(tree.dag)))
    return refuse(tree, step.op, "is scheduled already; axes are merged before everything else");
  Result<ComputeDag> merged = merge_axes(tree.dag, step.op, step.axis);
  if (!merged.ok()) return refuse(tree, step.op, "has axes that cannot be merged: " + merged.error().message);
  tree = make_loop_tree(std::move(*merged));
  return ok_status();
}

}  // namespace whet
