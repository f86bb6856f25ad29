#include "schedule/online_softmax.h"

#include "compute/online_softmax.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const OnlineSoftmax& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.op, "softmaxes are divided late"));
  Result<OnlineSoftmaxDag> changed = online_softmax(tree.dag, step.op, step.terms);
  if (!changed.ok()) return refuse(tree, step.op, changed.error().message);
  tree = make_loop_tree(std::move(changed->dag));
  return ok_status();
}

}  // namespace whet
