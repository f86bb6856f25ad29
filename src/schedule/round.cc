#include "schedule/round.h"

#include <fmt/format.h>

#include "compute/round.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Round& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_unscheduled(tree, step.op, "elements are rounded"));
  const std::optional<MathFn> rounding = rounding_of(step.to);
  if (!rounding || *rounding == MathFn::round_bf16)
    return refuse(tree, step.op, fmt::format("is to be rounded to {}; expected f16 or tf32", name_of(step.to)));
  Result<ComputeDag> changed = round_elements(tree.dag, step.op, *rounding);
  if (!changed.ok()) return refuse(tree, step.op, changed.error().message);
  tree = make_loop_tree(std::move(*changed));
  return ok_status();
}

}  // namespace whet
