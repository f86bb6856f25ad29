#include "lower/generate/facts.h"

#include "compute/affine.h"
#include "schedule/online.h"
#include "schedule/pipeline.h"
#include "schedule/regions.h"
#include "schedule/roll.h"

namespace whet {
namespace {

/// True when `wanted` is `root` or a part of it (digits of a nest that was placed elsewhere since are not).
bool contains(const LoopTree& tree, DigitId root, DigitId wanted) {
  if (root == wanted) return true;
  const Digit& digit = tree.digit(root);
  return !digit.leaf() && (contains(tree, digit.outer, wanted) || contains(tree, digit.inner, wanted));
}

/// Iterations of the digit's last tile may be beyond its extent.
bool needs_guard(const LoopTree& tree, DigitId id) {
  const Digit& digit = tree.digit(id);
  if (digit.leaf() || digit.tail != Tail::guard || digit.divides()) return false;
  return contains(tree, tree.place(digit.op).axes[digit.axis.index()], id);
}

/// The digit counts tiles that are guarded themselves: the guard of their elements implies that of the tile. (Where extents are numbers
/// both are cheap to resolve.)
bool is_implied(const LoopTree& tree, DigitId id) {
  if (!tree.digit(id).size.defined()) return false;
  for (std::size_t d = 0; d < tree.digits.size(); ++d)
    if (tree.digits[d].outer == id && !tree.digits[d].leaf())
      return needs_guard(tree, DigitId(static_cast<std::int64_t>(d)));
  return false;
}

/// The op's own element is inside the tensor.
void append_inside(const LoopTree& tree, OpId op, std::vector<Expr>& conditions) {
  const std::vector<Expr> index = own_index(tree, op);
  for (std::size_t k = 0; k < index.size(); ++k) {
    conditions.push_back(index[k] >= int_const(0));
    conditions.push_back(index[k] < iterations_of(tree.dag.op(op).element().axes[k]));
  }
}

}  // namespace

Expr at_values(const Expr& e, const Values& values) {
  return substitute(e, [&](VarId v) {
    const auto found = values.find(v);
    return found == values.end() ? Expr() : found->second;
  });
}

std::vector<Expr> at_values(std::vector<Expr> index, const Values& values) {
  for (Expr& e : index) e = at_values(e, values);
  return index;
}

Expr simplified(const LoopTree& tree, const Expr& e) {
  return simplify(e, [&](VarId v) {
    const bool known = v.valid() ? v.index() < tree.digits.size() : size_number(v) < tree.dag.sizes.size();
    return known ? digit_range(tree, v) : Interval{};
  });
}

std::vector<Expr> own_index(const LoopTree& tree, OpId op) {
  std::vector<Expr> index;
  for (std::size_t k = 0; k < tree.dag.op(op).element().axes.size(); ++k)
    index.push_back(axis_value(tree, op, AxisId(static_cast<std::int64_t>(k))));
  return index;
}

OpId op_of(const LoopTree& tree, const Item& item) { return item.leaf.valid() ? item.leaf : tree.loop(item.loop).op; }

bool holds_leaf(const LoopTree& tree, const Item& item, OpId op) {
  if (item.leaf.valid()) return item.leaf == op;
  const LoopId leaf = loop_of_leaf(tree, op);
  return leaf.valid() && encloses(tree, item.loop, leaf);
}

bool is_outermost_reduce(const LoopTree& tree, LoopId id) {
  if (!is_reduce(tree, id)) return false;
  for (LoopId at = tree.loop(id).parent; at.valid() && tree.loop(at).op == tree.loop(id).op; at = tree.loop(at).parent)
    if (is_reduce(tree, at)) return false;
  return true;
}

std::vector<LoopId> spatial_loops_inside(const LoopTree& tree, OpId op, LoopId outer) {
  std::vector<LoopId> inside;
  for (LoopId loop : own_loops(tree, op))
    if (loop != outer && encloses(tree, outer, loop) && !is_reduce(tree, loop)) inside.push_back(loop);
  return inside;
}

std::vector<DigitId> reduce_digits_around(const LoopTree& tree, OpId op, LoopId loop) {
  std::vector<DigitId> digits;
  for (LoopId at : path_to(tree, loop))
    if (tree.loop(at).op == op && is_reduce(tree, at))
      digits.insert(digits.end(), tree.loop(at).digits.begin(), tree.loop(at).digits.end());
  return digits;
}

bool is_staged(const LoopTree& tree, OpId op) {
  const Placement& place = tree.place(op);
  return place.kind == PlaceKind::at && place.stored_in != StoredIn::registers && stages_of(tree, place.at) > 1 &&
         extent_of(tree, place.at) > 1;
}

std::vector<Expr> guards_of(const LoopTree& tree, OpId op, bool reduce, bool only_new) {
  std::vector<Expr> conditions;
  for (std::size_t d = 0; d < tree.digits.size(); ++d) {
    const DigitId id(static_cast<std::int64_t>(d));
    if (tree.digit(id).op != op || !needs_guard(tree, id) || (is_reduce(tree, id) && !reduce)) continue;
    if (is_implied(tree, id)) continue;
    conditions.push_back(digit_value(tree, id) < iterations_of(tree, id));
  }
  if (only_new) {
    const AxisId rolled(static_cast<std::int64_t>(rolled_axis(tree, op)));
    conditions.push_back(axis_value(tree, op, rolled) >= first_new(tree, op));
  }
  if (!feeds_warp_tiles(tree, op) && !is_of_online_step(tree, op))
    for (Expr& end : ends_of(tree, op)) conditions.push_back(std::move(end));
  std::erase_if(conditions, [&](const Expr& condition) { return is_const(simplified(tree, condition), 1); });
  return conditions;
}

std::vector<Expr> ends_of(const LoopTree& tree, OpId op) {
  std::vector<Expr> conditions;
  if (tree.place(op).kind != PlaceKind::root) append_inside(tree, op, conditions);
  std::erase_if(conditions, [&](const Expr& condition) { return is_const(simplified(tree, condition), 1); });
  return conditions;
}

Stmt guarded(const std::vector<Expr>& conditions, Stmt body) {
  for (std::size_t i = conditions.size(); i-- > 0;) body = make_stmt(If{conditions[i], body, Stmt()});
  return body;
}

}  // namespace whet
