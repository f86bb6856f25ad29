#include "schedule/split.h"

#include <fmt/format.h>

#include "compute/affine.h"
#include "schedule/check.h"

namespace whet {
namespace {

bool is_at_least(const std::vector<SizeRange>& sizes, const Expr& size, std::int64_t least) {
  return bounds(size, size_ranges(sizes)).min.value_or(least - 1) >= least;
}

/// Leaves out the sizes at which the loop has fewer iterations than overlapping tiles need.
Status leave_out_small_sizes(LoopTree& tree, const Split& step, const Expr& size) {
  std::vector<SizeRange> sizes = tree.dag.sizes;
  if (is_at_least(sizes, size, step.factor)) return ok_status();
  const std::vector<std::size_t> used = sizes_of(size);
  SizeRange* only = used.size() == 1 ? &sizes[used.front()] : nullptr;
  const auto enough_from = [&](std::int64_t value) {
    only->min = value;
    return is_at_least(sizes, size, step.factor);
  };
  if (only == nullptr || !enough_from(only->max))
    return refuse(tree, step.loop,
                  fmt::format("runs over {}, and may have fewer iterations than the {} of a tile; use guard",
                              sizes_in(tree, size), step.factor));
  const std::int64_t first = tree.dag.sizes[static_cast<std::size_t>(only - sizes.data())].min;
  std::int64_t too_few = 0, enough = (only->max - first) / only->step;  // steps behind `first`
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (enough_from(first + middle * only->step) ? enough : too_few) = middle;
  }
  enough_from(first + enough * only->step);
  tree.dag.sizes = std::move(sizes);
  return ok_status();
}

/// Whether the factor divides the function at all sizes, those alone that their steps reach: a size is its least value and a number
/// of steps.
bool divides_at_all(const std::vector<SizeRange>& sizes, const Expr& size, std::int64_t factor) {
  const Expr by_steps = substitute(size, [&](VarId v) -> Expr {
    const std::size_t k = size_number(v);
    return k < sizes.size() ? size_expr(k, sizes[k].name) * sizes[k].step + sizes[k].min : Expr();
  });
  std::vector<SizeRange> steps = sizes;
  for (SizeRange& each : steps) each = {each.name, 0, count_of(each) - 1, 1};
  return is_const(simplify(floormod(by_steps, factor), size_ranges(std::move(steps))), 0);
}

/// The two digits of digit `id`, which has a size.
void divide_size(const LoopTree& tree, DigitId id, std::int64_t factor, Digit& whole, Digit& outer) {
  whole.ragged = !divides_at_all(tree.dag.sizes, whole.size, factor);
  const Expr covered = whole.ragged ? whole.size + (factor - 1) : whole.size;
  outer.size = simplify(floordiv(covered, factor), size_ranges(tree.dag.sizes));
  if (as_int(outer.size)) outer.size = Expr();
  // Its number stands for the tile where lowering makes a copy for each remainder.
  outer.counts_tiles = whole.ragged && whole.tail == Tail::guard && outer.extent == 1 && !is_reduce(tree, id);
}

}  // namespace

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

  Digit whole = tree.digit(id), outer_part = whole;
  const DigitId outer(static_cast<std::int64_t>(tree.digits.size())), inner(outer.value + 1);
  whole.factor = step.factor, whole.tail = step.tail, whole.outer = outer, whole.inner = inner;
  outer_part.extent = (extent + step.factor - 1) / step.factor;
  if (whole.size.defined()) divide_size(tree, id, step.factor, whole, outer_part);
  if (step.tail == Tail::overlap && !whole.divides())
    for (LoopId around = loop.parent; around.valid() && tree.loop(around).op == loop.op;
         around = tree.loop(around).parent)
      if (is_reduce(tree, around) || is_cached_at(tree, around)) return refuse_overlap(tree, step.loop, around);
  if (step.tail == Tail::overlap && whole.size.defined())
    WHET_RETURN_IF_ERROR(leave_out_small_sizes(tree, step, whole.size));

  tree.digits[id.index()] = whole;
  tree.digits.push_back(outer_part);
  tree.digits.push_back({.op = whole.op, .axis = whole.axis, .extent = step.factor});

  const LoopId outer_loop(static_cast<std::int64_t>(tree.loops.size())), inner_loop(outer_loop.value + 1);
  tree.loops.push_back({.op = loop.op, .digits = {outer}, .parent = loop.parent, .children = {{.loop = inner_loop}}});
  tree.loops.push_back({.op = loop.op, .digits = {inner}, .parent = outer_loop, .children = loop.children});
  replace_loop(tree, step.loop, outer_loop, inner_loop);
  return ok_status();
}

}  // namespace whet
