#include "space/cpu/scatter.h"

#include <algorithm>

#include "compute/affine.h"
#include "space/cpu/row_nest.h"

namespace whet {
namespace {

/// The axis that `condition` says, by data or by what is reduced: at == axis.
std::optional<std::size_t> said_by(const Element& element, const Expr& condition) {
  const Binary* compare = std::get_if<Binary>(&condition->kind);
  if (!compare || compare->op != BinaryOp::eq || compare->a->dtype != DType::i64) return std::nullopt;
  const Affine difference = sub(to_affine(compare->a), to_affine(compare->b));
  for (std::size_t axis = 0; axis < element.axes.size(); ++axis) {
    const Expr index = axis_var(element, static_cast<std::int64_t>(axis));
    const std::int64_t factor = difference.coefficient(index);
    if (factor != 1 && factor != -1) continue;
    Affine rest = difference;
    std::erase_if(rest.terms, [&](const auto& term) { return same(term.first, index); });
    const Expr at = to_expr(rest);
    bool reduced = false;
    for (std::size_t r = 0; r < element.reduce_axes.size(); ++r)
      reduced = reduced || uses(at, VarId(static_cast<std::int64_t>(element.axes.size() + r)));
    if (reduced && !uses(at, VarId(static_cast<std::int64_t>(axis)))) return axis;
  }
  return std::nullopt;
}

bool contains(const std::vector<std::size_t>& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// A part of the loop for each worker, where it has iterations enough.
std::optional<Scheduler::Pair> parts(Scheduler& s, LoopId loop, int shares) {
  const std::int64_t extent = extent_of(s.tree(), loop);
  if (shares < 2 || extent < 2 * shares) return std::nullopt;
  return s.split(loop, (extent + shares - 1) / shares, Tail::guard);
}

}  // namespace

std::optional<ScatterAxes> find_scatter(const ComputeDag& dag, OpId op) {
  if (dag.op(op).is_placeholder() || !dag.op(op).element().reducer) return std::nullopt;
  const Element& element = dag.op(op).element();
  const Select* chosen = std::get_if<Select>(&element.body->kind);
  if (!chosen || !same(chosen->if_false, identity_of(*element.reducer, dag.op(op).dtype))) return std::nullopt;
  ScatterAxes axes;
  std::vector<Expr> saying;
  for (const Expr& condition : conjuncts_of(chosen->condition))
    if (const std::optional<std::size_t> axis = said_by(element, condition); axis && !contains(axes.said, *axis))
      axes.said.push_back(*axis), saying.push_back(condition);
  if (axes.said.empty()) return std::nullopt;
  const std::size_t first = *std::min_element(axes.said.begin(), axes.said.end());
  for (std::size_t axis = 0; axis < element.axes.size(); ++axis) {
    if (contains(axes.said, axis)) continue;
    const bool needed = std::any_of(saying.begin(), saying.end(), [&](const Expr& condition) {
      return uses(condition, VarId(static_cast<std::int64_t>(axis)));
    });
    (axis < first ? axes.before : needed ? axes.dependent : axes.along).push_back(axis);
  }
  return axes;
}

void scatter_nest(Scheduler& s, OpId op, std::int64_t step, int shares) {
  const ScatterAxes axes = *find_scatter(s.tree().dag, op);
  std::vector<LoopId> shared, before, reduce, dependent, said, along;
  for (LoopId loop : free_loops(s, op)) {
    const std::size_t axis = s.tree().digit(s.tree().loop(loop).digits.front()).axis.index();
    (is_reduce(s.tree(), loop)        ? reduce
     : contains(axes.said, axis)      ? said
     : contains(axes.before, axis)    ? before
     : contains(axes.dependent, axis) ? dependent
                                      : along)
        .push_back(loop);
  }
  std::int64_t outer = 1;
  for (LoopId loop : before) outer *= extent_of(s.tree(), loop);
  if (shares > 0 && outer >= shares) {
    shared = std::move(before);
    before.clear();
  } else if (std::vector<LoopId>& cut = along.empty() ? dependent : along; shares > 0 && !cut.empty()) {
    LoopId& loop = along.empty() ? cut.front() : cut.back();
    if (const auto pair = parts(s, loop, shares)) shared = {pair->outer}, loop = pair->inner;
  }
  LoopId vector;
  if (!along.empty() && extent_of(s.tree(), along.back()) >= 4) {
    vector = along.back();
    if (extent_of(s.tree(), vector) > step) {
      const Scheduler::Pair pair = s.split(vector, step, Tail::guard);
      along.back() = pair.outer, vector = pair.inner;
      along.push_back(vector);
    }
  }
  std::vector<LoopId> order;
  for (const std::vector<LoopId>* part : {&shared, &before, &reduce, &dependent, &said, &along})
    order.insert(order.end(), part->begin(), part->end());
  if (order.size() > 1) s.reorder(order);
  if (vector.valid()) s.annotate(vector, LoopKind::vectorized);
  if (!shared.empty()) s.annotate(shared.size() > 1 ? s.fuse(shared) : shared.front(), LoopKind::parallel);
}

bool is_whole(const LoopTree& tree, OpId op) {
  const std::optional<ScatterAxes> axes = find_scatter(tree.dag, op);
  return !axes || std::all_of(axes->said.begin(), axes->said.end(), [&](std::size_t axis) {
    return tree.digit(tree.place(op).axes[axis]).extent == tree.dag.op(op).shape[axis];
  });
}

}  // namespace whet
