#include "schedule/split_softmax.h"

#include "compute/split_softmax.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const SplitSoftmax& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.op, "softmaxes are split"));
  Result<SplitSoftmaxDag> changed = split_softmax(tree.dag, step.op, step.terms);
  if (!changed.ok()) return refuse(tree, step.op, changed.error().message);
  tree = make_loop_tree(std::move(changed->dag));
  return ok_status();
}

}  // namespace whet
