#include "schedule/pad_storage.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const PadStorage& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  if (step.elements < 1 || step.elements > kMaxPadding)
    return refuse(tree, step.op,
                  fmt::format("cannot have {} elements behind a row; expected 1 to {}", step.elements, kMaxPadding));
  if (std::find(tree.dag.outputs.begin(), tree.dag.outputs.end(), step.op) != tree.dag.outputs.end())
    return refuse(tree, step.op, "is an output, which lies as its caller says");
  if (tree.dag.op(step.op).shape.empty()) return refuse(tree, step.op, "is one number");
  if (tree.place(step.op).stored_in == StoredIn::registers) return refuse(tree, step.op, "is in registers");
  Placement& place = tree.places[step.op.index()];
  if (place.swizzle > 0) return refuse(tree, step.op, "is swizzled, and its rows lie in different banks already");
  if (place.padding > 0) return refuse(tree, step.op, "is padded already");
  place.padding = step.elements;
  return ok_status();
}

}  // namespace whet
