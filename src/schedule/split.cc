#include "schedule/split.h"

#include <fmt/format.h>

#include "schedule/check.h"

namespace whet {

Status apply(LoopTree& tree, const Split& step) {
  WHET_RETURN_IF_ERROR(check_changeable(tree, step.loop));
  const TreeLoop loop = tree.loop(step.loop);
  if (loop.digits.size() != 1) return refuse(tree, step.loop, "is fused; split before fusing");
  const DigitId id = loop.digits.front();
  const std::int64_t extent = tree.digit(id).extent;
  if (step.factor < 1 || step.factor > extent)
    return refuse(tree, step.loop,
                  fmt::format("has {} iterations; a factor must be 1..{}, found {}", extent, extent, step.factor));
  if (step.tail == Tail::overlap && is_reduce(tree, id))
    return refuse(tree, step.loop, "runs over a reduce axis, which overlapping tiles would count twice; use guard");

  if (step.tail == Tail::overlap && extent % step.factor != 0)
    for (LoopId around = loop.parent; around.valid() && tree.loop(around).op == loop.op;
         around = tree.loop(around).parent)
      if (is_reduce(tree, around) || is_cached_at(tree, around)) return refuse_overlap(tree, step.loop, around);

  Digit part = tree.digit(id);
  const DigitId outer(static_cast<std::int64_t>(tree.digits.size())), inner(outer.value + 1);
  part.extent = (extent + step.factor - 1) / step.factor;
  tree.digits.push_back(part);
  part.extent = step.factor;
  tree.digits.push_back(part);
  Digit& whole = tree.digits[id.index()];
  whole.factor = step.factor, whole.tail = step.tail, whole.outer = outer, whole.inner = inner;

  const LoopId outer_loop(static_cast<std::int64_t>(tree.loops.size())), inner_loop(outer_loop.value + 1);
  tree.loops.push_back({.op = loop.op, .digits = {outer}, .parent = loop.parent, .children = {{.loop = inner_loop}}});
  tree.loops.push_back({.op = loop.op, .digits = {inner}, .parent = outer_loop, .children = loop.children});
  replace_loop(tree, step.loop, outer_loop, inner_loop);
  return ok_status();
}

}  // namespace whet
