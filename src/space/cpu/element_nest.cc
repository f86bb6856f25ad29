#include "space/cpu/element_nest.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compute/affine.h"
#include "compute/scalar.h"

namespace whet {
namespace {

bool is_axis(const Expr& e, std::size_t axis) {
  const Var* v = std::get_if<Var>(&e->kind);
  return v && v->id.index() == axis;
}

bool depends(const Expr& e, std::size_t axis) {
  bool found = false;
  for_each(e, [&](const Expr& part) { found = found || is_axis(part, axis); });
  return found;
}

/// The axis that a tensor is read along in a transpose.
std::optional<std::size_t> axis_across(const Element& element) {
  if (element.reducer || element.axes.empty()) return std::nullopt;
  const std::size_t last = last_axis(element.axes);
  std::optional<std::size_t> across;
  for_each(element.body, [&](const Expr& part) {
    const Load* l = std::get_if<Load>(&part->kind);
    if (!l || l->index.size() < 2 || depends(l->index.back(), last)) return;
    if (std::none_of(l->index.begin(), l->index.end(), [&](const Expr& e) { return depends(e, last); })) return;
    for (const auto& [atom, factor] : to_affine(l->index.back()).terms) {
      const Var* v = std::get_if<Var>(&atom->kind);
      if (v && factor == 1 && v->id.index() < last && element.axes[v->id.index()].extent > 1) across = v->id.index();
    }
  });
  return across;
}

/// The number n where the last axis is read as c % n: its elements come from n places alternately.
std::optional<std::int64_t> turns_of(const Element& element) {
  const std::size_t last = last_axis(element.axes);
  std::optional<std::int64_t> turns;
  for_each(element.body, [&](const Expr& part) {
    const Binary* b = std::get_if<Binary>(&part->kind);
    if (!b || b->op != BinaryOp::floormod || !is_axis(b->a, last)) return;
    const std::int64_t* by = as_int(b->b);
    if (by && *by >= 2 && *by <= 4 && element.axes[last].extent % *by == 0) turns = *by;
  });
  return turns;
}

/// The elements of the last axis that lie one behind the other in what is read: loads at c % block.
std::optional<std::int64_t> block_of(const Element& element, std::int64_t lanes) {
  const std::size_t last = last_axis(element.axes);
  std::optional<std::int64_t> block;
  for_each(element.body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || read->index.empty()) return;
    for (const auto& [atom, factor] : to_affine(read->index.back()).terms) {
      const Binary* b = std::get_if<Binary>(&atom->kind);
      if (factor != 1 || !b || b->op != BinaryOp::floormod || !is_axis(b->a, last)) continue;
      const std::int64_t* by = as_int(b->b);
      if (by && *by >= lanes / 2 && element.axes[last].extent % *by == 0) block = *by;
    }
  });
  return block;
}

/// An axis, not the last, whose indices are compared by their remainder of `places`: a step of `places` makes the remainders constants.
struct Group {
  std::size_t axis;
  std::int64_t places;
};
std::optional<Group> group_of(const Element& element) {
  std::optional<Group> group;
  for_each(element.body, [&](const Expr& part) {
    const Binary* test = std::get_if<Binary>(&part->kind);
    const Binary* remainder = test && is_comparison(test->op) ? std::get_if<Binary>(&test->a->kind) : nullptr;
    if (!remainder || remainder->op != BinaryOp::floormod) return;
    const Var* v = std::get_if<Var>(&remainder->a->kind);
    const std::int64_t* places = as_int(remainder->b);
    if (v && v->id.index() < last_axis(element.axes) && places && *places <= 16) group = {v->id.index(), *places};
  });
  return group;
}

/// `shared` of `loops` become one parallel loop; for 0 as few as give every worker the same share, or many shares.
void share_out(Scheduler& s, const std::vector<LoopId>& loops, std::int64_t shared, int threads) {
  if (shared == ElementPlan::kAlone) return;
  std::int64_t shares = 1;
  std::size_t count = std::min(static_cast<std::size_t>(shared), loops.size());
  for (const bool chosen = count > 0; !chosen && count < loops.size();) {
    shares *= extent_of(s.tree(), loops[count++]);
    if (shares > 1 && (shares % threads == 0 || shares >= 16 * threads)) break;
  }
  if (count == 0) return;
  const LoopId loop =
      count > 1 ? s.fuse({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(count)}) : loops[0];
  s.annotate(loop, LoopKind::parallel);
}

/// The loops of a nest in the making, outermost first: what is shared out or serial, then one step.
struct Nest {
  Scheduler& s;
  std::vector<LoopId> outer, inner;

  /// The part of `loop` that a step holds; the rest goes outside.
  LoopId take(LoopId loop, std::int64_t elements, Tail tail = Tail::overlap) {
    if (extent_of(s.tree(), loop) <= elements) return loop;
    const Scheduler::Pair pair = s.split(loop, elements, tail);
    outer.push_back(pair.outer);
    return pair.inner;
  }

  void finish(std::int64_t shared, int threads) {
    std::vector<LoopId> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    if (order.size() > 1) s.reorder(order);
    for (std::size_t i = 0; i < inner.size(); ++i) {
      const bool vector = i + 1 == inner.size() && extent_of(s.tree(), inner[i]) >= 4;
      if (vector || extent_of(s.tree(), inner[i]) <= kMaxUnroll)
        s.annotate(inner[i], vector ? LoopKind::vectorized : LoopKind::unrolled);
    }
    share_out(s, outer, shared, threads);
  }
};

constexpr std::int64_t kTilesInAPiece = 16;

/// Tiles of n x n that an intrinsic turns: `across` is the axis that is read along. Where the second-level cache does not
/// hold the tensor, a piece of its rows goes through all tiles across before the next: they share cache lines. Elsewhere
/// the longer axis is outermost, to be shared out.
void turn(Scheduler& s, OpId op, std::size_t across, std::int64_t n, const ElementPlan& plan) {
  const std::vector<LoopId> loops = s.loops(op);
  const std::size_t last = last_axis(s.tree().dag.op(op).element().axes);
  const Scheduler::Pair read = s.split(loops[across], n, Tail::overlap),
                        stored = s.split(loops[last], n, Tail::overlap);
  std::vector<LoopId> outer;
  for (std::size_t k = 0; k < loops.size(); ++k)
    if (k != across && k != last) outer.push_back(loops[k]);
  const Op& result = s.tree().dag.op(op);
  const bool large = num_elements(result.shape) * size_of(result.dtype) > plan.target.cpu().l2_bytes;
  if (large && result.shape[last] > n * kTilesInAPiece) {
    const Scheduler::Pair piece = s.split(stored.outer, kTilesInAPiece, Tail::guard);
    outer.insert(outer.end(), {piece.outer, read.outer, piece.inner});
  } else {
    // Mostly pixels and channels: neighbours share pixels out, and a worker finds its own in its cache.
    const bool by_stored = result.shape[last] > result.shape[across];
    outer.insert(outer.end(), {by_stored ? stored.outer : read.outer, by_stored ? read.outer : stored.outer});
  }
  std::vector<LoopId> order = outer;
  order.push_back(read.inner), order.push_back(stored.inner);
  s.reorder(order);
  s.tensorize(read.inner, n == 16 ? Intrinsic::transpose16 : Intrinsic::transpose8);
  if (s.finish().ok()) share_out(s, outer, plan.shared, std::max(plan.target.threads, 1));
}

bool can_turn(const Scheduler& s, OpId op, std::size_t across, std::int64_t n, const ElementPlan& plan) {
  Scheduler trial = s;
  turn(trial, op, across, n, plan);
  return trial.finish().ok();
}

}  // namespace

std::int64_t turned_tile(const ComputeDag& dag, OpId op) {
  const Element& element = dag.op(op).element();
  const std::optional<std::size_t> across = axis_across(element);
  if (!across) return 0;
  const auto covered = [&](std::int64_t n) {
    const auto rounded = [&](std::size_t axis) { return (element.axes[axis].extent + n - 1) / n * n; };
    return rounded(*across) * rounded(last_axis(element.axes));
  };
  for (const std::int64_t n : {16, 8}) {
    const bool wasteful = n == 16 && 5 * covered(8) < 4 * covered(16);
    if (!wasteful && can_turn(Scheduler(dag), op, *across, n, {})) return n;
  }
  return 0;
}

std::size_t last_axis(const std::vector<Axis>& axes) {
  std::size_t last = axes.empty() ? 0 : axes.size() - 1;
  while (last > 0 && axes[last].extent == 1) --last;
  return last;
}

bool gathers(const ComputeDag& dag, OpId op) {
  const Element& element = dag.op(op).element();
  if (element.reducer || element.axes.empty() || turns_of(element) || block_of(element, 2)) return false;
  const VarId last(static_cast<std::int64_t>(last_axis(element.axes)));
  bool found = false, chooses = false;
  for_each(element.body, [&](const Expr& part) {
    chooses = chooses || std::holds_alternative<Select>(part->kind);
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read) return;
    for (const Expr& index : read->index)
      for (const auto& [atom, factor] : to_affine(index).terms)
        found = found || (!std::holds_alternative<Var>(atom->kind) && uses(atom, last));
  });
  return found && !chooses;
}

std::optional<std::size_t> axis_of_groups(const ComputeDag& dag, OpId op) {
  const std::optional<Group> group = group_of(dag.op(op).element());
  return group ? std::optional(group->axis) : std::nullopt;
}

bool is_transpose(const ComputeDag& dag, OpId op) { return axis_across(dag.op(op).element()).has_value(); }

void element_nest(Scheduler& s, OpId op, const ElementPlan& plan) {
  const std::vector<LoopId> loops = s.loops(op);
  if (loops.empty()) return;
  const Element element = s.tree().dag.op(op).element();
  const std::int64_t lanes = std::max(
      plan.target.cpu().lanes(static_cast<int>(std::max<std::int64_t>(size_of(s.tree().dag.op(op).dtype), 1))), 1);
  const std::size_t last = last_axis(element.axes);
  std::size_t near = last;  // the axis before the last with more than one element
  while (near > 0 && (near == last || element.axes[near].extent == 1)) --near;
  const std::optional<std::size_t> across = axis_across(element);
  if (across && (plan.across == 8 || plan.across == 16) && can_turn(s, op, *across, plan.across, plan))
    return turn(s, op, *across, plan.across, plan);
  const std::optional<Group> group = across ? std::nullopt : group_of(element);
  const std::size_t second = across ? *across : group ? group->axis : near;
  Nest nest{s, {}, {}};
  for (std::size_t k = 0; k < loops.size(); ++k)
    if (k != last && k != second) nest.outer.push_back(loops[k]);
  LoopId along = loops[last];
  const auto extent = [&](std::size_t axis) { return element.axes[axis].extent; };
  std::int64_t step = lanes * plan.vectors;
  // Pixels of four bytes that are read apart are written as words.
  const bool words = across && extent(last) == 4 && size_of(s.tree().dag.op(op).dtype) == 1;
  if (words) step = plan.target.cpu().lanes(4) * plan.vectors;
  if ((extent(last) < 4 || words) && extent(second) >= 4) {
    // Too few for a vector: a vector of the axis before, each element a few apart.
    nest.inner.push_back(along);
    along = nest.take(loops[second], step);
  } else {
    const std::int64_t held = second == last ? 0 : across ? plan.across : group ? group->places : plan.pixels;
    if (held > 1) nest.inner.push_back(nest.take(loops[second], held, group ? Tail::guard : Tail::overlap));
    if (held == 1) nest.outer.push_back(loops[second]);
    if (const auto turns = turns_of(element); turns && !across) {
      const Scheduler::Pair pair = s.split(along, *turns, Tail::guard);
      nest.inner.push_back(pair.inner), along = pair.outer;
    } else if (const auto block = block_of(element, lanes); block && *block < extent(last)) {
      const Scheduler::Pair pair = s.split(along, *block, Tail::guard);
      nest.outer.push_back(pair.outer), along = pair.inner;
    }
    along = nest.take(along, across ? lanes : step);
  }
  nest.inner.push_back(along);
  nest.finish(plan.shared, std::max(plan.target.threads, 1));
}

}  // namespace whet
