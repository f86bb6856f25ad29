#include "schedule/winograd.h"

#include <fmt/format.h>

#include "compute/winograd.h"
#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Winograd& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  if (hash(tree) != hash(make_loop_tree(tree.dag)))
    return refuse(tree, step.op, "is scheduled already; an algorithm is chosen before everything else");
  Result<WinogradDag> changed = winograd(tree.dag, step.op, step.tile);
  if (!changed.ok()) return refuse(tree, step.op, changed.error().message);
  tree = make_loop_tree(std::move(changed->dag));
  return ok_status();
}

}  // namespace whet
