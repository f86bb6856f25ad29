#include "schedule/roll.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/check.h"
#include "schedule/pipeline.h"
#include "schedule/regions.h"

namespace whet {
namespace {

DigitId digit_of(const LoopTree& tree, LoopId loop) { return tree.loop(loop).digits.front(); }

/// `e` one iteration of `loop` later, or earlier.
Expr shifted(const LoopTree& tree, const Expr& e, LoopId loop, std::int64_t iterations) {
  const VarId now(digit_of(tree, loop).value);
  return substitute(e, [&](VarId v) { return v == now ? digit_var(tree, digit_of(tree, loop)) + iterations : Expr(); });
}

/// The axes of `op` whose region begins elsewhere in another iteration of `loop`.
std::vector<std::size_t> moving_axes(const LoopTree& tree, OpId op, LoopId loop) {
  std::vector<std::size_t> axes;
  const std::vector<Expr>& base = tree.place(op).base;
  for (std::size_t k = 0; k < tree.dag.op(op).element().axes.size(); ++k)
    if (uses(base[k], VarId(digit_of(tree, loop).value))) axes.push_back(k);
  return axes;
}

/// The window's beginning does not depend on the loops between `loop` and the place of `op`.
bool moves_alone(const LoopTree& tree, OpId op, LoopId loop, const Expr& base) {
  for (LoopId at = tree.place(op).at; at != loop; at = tree.loop(at).parent)
    for (DigitId digit : tree.loop(at).digits)
      if (uses(base, VarId(digit.value))) return false;
  return true;
}

Status check_window(const LoopTree& tree, const Roll& step) {
  const std::vector<std::size_t> axes = moving_axes(tree, step.op, step.loop);
  if (axes.size() != 1)
    return refuse(tree, step.loop,
                  fmt::format("moves what is needed of {} along {} axes; a window moves along one",
                              tree.dag.op(step.op).name, axes.size()));
  const Expr& base = tree.place(step.op).base[axes.front()];
  if (!moves_alone(tree, step.op, step.loop, base))
    return refuse(tree, step.loop, "is not the only loop that moves the window along its axis");
  const Expr forward =
      simplify(shifted(tree, base, step.loop, 1) >= base, [&](VarId v) { return digit_range(tree, v); });
  if (!is_const(forward, 1)) return refuse(tree, step.loop, "may move the window backwards");
  return ok_status();
}

}  // namespace

std::size_t rolled_axis(const LoopTree& tree, OpId op) { return moving_axes(tree, op, tree.place(op).rolled).front(); }

Expr first_new(const LoopTree& tree, OpId op) {
  const Placement& place = tree.place(op);
  const std::size_t axis = rolled_axis(tree, op);
  return shifted(tree, place.base[axis], place.rolled, -1) + tree.digit(place.axes[axis]).extent;
}

Status apply(LoopTree& tree, const Roll& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_loop(tree, step.loop));
  const Placement& place = tree.place(step.op);
  if (place.kind != PlaceKind::at || !encloses(tree, step.loop, place.at))
    return refuse(tree, step.op, fmt::format("is not computed at or under loop {}", name_of(tree, step.loop)));
  if (place.stored_in != StoredIn::memory)
    return refuse(tree, step.op, "is in registers or block memory, which do not outlive an iteration");
  if (place.rolled.valid()) return refuse(tree, step.op, "is rolled already");
  if (stages_of(tree, place.at) > 1) return refuse(tree, place.at, "is a pipeline, which has buffers of its own");
  if (!runs_in_order(tree, step.loop))
    return refuse(tree, step.loop, "is parallel or bound; its iterations follow no order");
  if (tree.loop(step.loop).digits.size() != 1)
    return refuse(tree, step.loop, "is fused; a window moves along one digit");
  for (LoopId at = place.at; at != step.loop; at = tree.loop(at).parent)
    if (!runs_in_order(tree, at)) return refuse(tree, at, "is bound, and would need a window of its own");
  WHET_RETURN_IF_ERROR(check_window(tree, step));
  tree.places[step.op.index()].rolled = step.loop;
  return ok_status();
}

}  // namespace whet
