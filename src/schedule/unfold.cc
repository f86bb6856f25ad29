#include "schedule/unfold.h"

#include "compute/unfold.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Unfold& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.reader));
  WHET_RETURN_IF_ERROR(check_of_one_size(tree, step.reader, "copies in a reader's order are"));
  if (step.tensor.index() >= tree.dag.ops.size()) return refuse(tree, step.reader, "does not read it");
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.reader, "copies are made"));
  if (step.order == UnfoldOrder::pairs) {
    if (step.what == UnfoldWhat::factor) return refuse(tree, step.reader, "has pairs of the whole factor in any case");
    Result<ComputeDag> paired = unfold_pairs(tree.dag, step.tensor, step.reader);
    if (!paired.ok()) return refuse(tree, step.reader, paired.error().message);
    tree = make_loop_tree(std::move(*paired));
    return ok_status();
  }
  const auto copied = step.what == UnfoldWhat::factor ? unfold_factor : unfold;
  Result<ComputeDag> changed = copied(tree.dag, step.tensor, step.reader, step.order == UnfoldOrder::turned);
  if (!changed.ok()) return refuse(tree, step.reader, changed.error().message);
  tree = make_loop_tree(std::move(*changed));
  return ok_status();
}

}  // namespace whet
