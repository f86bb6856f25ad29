#include "schedule/split_sum.h"

#include "compute/split_sum.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const SplitSum& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_of_one_size(tree, step.op, "parts of a sum are"));
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.op, "sums are split"));
  Result<ComputeDag> changed = split_sum(tree.dag, step.op, step.axis, step.parts);
  if (!changed.ok()) return refuse(tree, step.op, changed.error().message);
  tree = make_loop_tree(std::move(*changed));
  return ok_status();
}

}  // namespace whet
