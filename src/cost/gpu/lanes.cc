#include "cost/gpu/lanes.h"

#include <algorithm>

namespace whet {
namespace {

Lanes constant(std::int64_t value) {
  Lanes out;
  out.value[0] = static_cast<std::int32_t>(value);
  return out;
}

template <typename Operation>
Lanes combined(const Lanes& a, const Lanes& b, const Operation& operation) {
  Lanes out;
  out.uniform = a.uniform && b.uniform;
  for (std::size_t lane = 0; lane < (out.uniform ? 1 : kWarp); ++lane) out.value[lane] = operation(a[lane], b[lane]);
  return out;
}

std::int32_t quotient(std::int32_t a, std::int32_t b) {
  if (b == 0) return 0;
  const std::int32_t cut = a / b;
  return cut * b != a && (a < 0) != (b < 0) ? cut - 1 : cut;
}

/// Comparisons and logic are 1 or 0.
Lanes binary(BinaryOp op, const Lanes& a, const Lanes& b) {
  const auto of = [&](const auto& operation) { return combined(a, b, operation); };
  using I = std::int32_t;
  switch (op) {
    case BinaryOp::add:
      return of([](I x, I y) { return x + y; });
    case BinaryOp::sub:
      return of([](I x, I y) { return x - y; });
    case BinaryOp::mul:
      return of([](I x, I y) { return x * y; });
    case BinaryOp::div:
      return of([](I x, I y) { return y == 0 ? 0 : x / y; });
    case BinaryOp::floordiv:
      return of(quotient);
    case BinaryOp::floormod:
      return of([](I x, I y) { return x - quotient(x, y) * y; });
    case BinaryOp::min:
      return of([](I x, I y) { return std::min(x, y); });
    case BinaryOp::max:
      return of([](I x, I y) { return std::max(x, y); });
    case BinaryOp::lt:
      return of([](I x, I y) -> I { return x < y; });
    case BinaryOp::le:
      return of([](I x, I y) -> I { return x <= y; });
    case BinaryOp::gt:
      return of([](I x, I y) -> I { return x > y; });
    case BinaryOp::ge:
      return of([](I x, I y) -> I { return x >= y; });
    case BinaryOp::eq:
      return of([](I x, I y) -> I { return x == y; });
    case BinaryOp::ne:
      return of([](I x, I y) -> I { return x != y; });
    case BinaryOp::logical_and:
      return of([](I x, I y) -> I { return x && y; });
    case BinaryOp::logical_or:
      return of([](I x, I y) -> I { return x || y; });
  }
  return {};
}

/// 0, 1, ... extent - 1 and anew, each `repeat` lanes long; lane 0 is number `first` of these.
void count(Lanes& lanes, std::int64_t repeat, std::int64_t extent, std::int64_t first) {
  lanes.uniform = false;
  std::int64_t value = first / repeat % extent, left = repeat - first % repeat;
  for (std::int32_t& lane : lanes.value) {
    lane = static_cast<std::int32_t>(value);
    if (--left > 0) continue;
    left = repeat;
    if (++value == extent) value = 0;
  }
}

/// One more than the greatest value that a digit takes.
std::int64_t covered(const LoopTree& tree, DigitId id) {
  const Digit& digit = tree.digit(id);
  if (digit.leaf() || digit.tail == Tail::overlap) return digit.extent;
  return (covered(tree, digit.outer) - 1) * digit.factor + covered(tree, digit.inner);
}

}  // namespace

std::int64_t buffer_extent(const LoopTree& tree, OpId op, std::size_t axis) {
  const Placement& place = tree.place(op);
  const std::int64_t whole = tree.dag.op(op).shape[axis];
  const bool placed = place.kind == PlaceKind::at || place.kind == PlaceKind::reverse_at;
  const bool whole_tiles = has_warp_tiles(tree, op) || feeds_warp_tiles(tree, op);
  const std::int64_t most = whole_tiles ? covered(tree, place.axes[axis]) : whole;
  const std::int64_t held = placed ? std::min(most, covered(tree, place.axes[axis])) : whole;
  return held + (axis + 1 == tree.dag.op(op).shape.size() ? place.padding : 0);
}

void LaneValues::run_over(OpId op, std::span<const LoopId> loops, std::int64_t first) {
  for (Lanes& lanes : digits_) lanes.uniform = true, lanes.value[0] = 0;
  std::int64_t inner = 1;
  for (std::size_t l = loops.size(); l-- > 0;) {
    const TreeLoop& loop = tree_.loop(loops[l]);
    for (std::size_t d = loop.digits.size(); d-- > 0 && inner < first + kWarp;) {
      const std::int64_t extent = tree_.digit(loop.digits[d]).extent;
      if (extent > 1) count(digits_[loop.digits[d].index()], inner, extent, first);
      inner *= extent;
    }
  }
  op_ = op;
  axes_.clear();
  const Placement& place = tree_.place(op);
  for (std::size_t k = 0; k < place.axes.size(); ++k) {
    axes_.push_back(digit(place.axes[k]));
    if (k < place.base.size() && place.base[k].defined())
      axes_.back() = binary(BinaryOp::add, axes_.back(), value(place.base[k], {}));
  }
}

Lanes LaneValues::digit(DigitId id) const {
  const Digit& digit = tree_.digit(id);
  if (digit.leaf()) return digits_[id.index()];
  Lanes start = binary(BinaryOp::mul, this->digit(digit.outer), constant(digit.factor));
  if (digit.tail == Tail::overlap) start = binary(BinaryOp::min, start, constant(digit.extent - digit.factor));
  return binary(BinaryOp::add, start, this->digit(digit.inner));
}

Lanes LaneValues::value(const Expr& e, std::span<const Lanes> axes) const {
  if (const auto* number = std::get_if<IntConst>(&e->kind)) return constant(number->value);
  if (const auto* v = std::get_if<Var>(&e->kind)) return axes.empty() ? digits_[v->id.index()] : axes[v->id.index()];
  if (const auto* b = std::get_if<Binary>(&e->kind)) {
    const Lanes left = value(b->a, axes), right = value(b->b, axes);
    return binary(b->op, left, right);
  }
  if (const auto* cast = std::get_if<Cast>(&e->kind)) return value(cast->a, axes);
  if (const auto* u = std::get_if<Unary>(&e->kind)) {
    const Lanes a = value(u->a, axes);
    return u->op == UnaryOp::neg ? binary(BinaryOp::sub, constant(0), a) : binary(BinaryOp::eq, a, constant(0));
  }
  if (const auto* select = std::get_if<Select>(&e->kind)) {
    const Lanes condition = value(select->condition, axes);
    const Lanes yes = value(select->if_true, axes), no = value(select->if_false, axes);
    Lanes out;
    out.uniform = condition.uniform && yes.uniform && no.uniform;
    for (std::size_t lane = 0; lane < (out.uniform ? 1 : kWarp); ++lane)
      out.value[lane] = condition[lane] != 0 ? yes[lane] : no[lane];
    return out;
  }
  return {};
}

Lanes LaneValues::flat(OpId tensor, std::span<const Lanes> index) const {
  const Placement& place = tree_.place(tensor);
  const Shape& shape = tree_.dag.op(tensor).shape;
  const bool placed = place.kind == PlaceKind::at || place.kind == PlaceKind::reverse_at;
  Lanes sum;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (k > 0) sum = binary(BinaryOp::mul, sum, constant(buffer_extent(tree_, tensor, k)));
    sum = binary(BinaryOp::add, sum, index[k]);
    if (placed) sum = binary(BinaryOp::sub, sum, value(place.base[k], {}));
  }
  return sum;
}

Lanes LaneValues::loaded(const Load& load) const {
  std::vector<Lanes> index;
  index.reserve(load.index.size());
  for (const Expr& e : load.index) index.push_back(value(e, axes_));
  return flat(OpId(load.source.value), index);
}

}  // namespace whet
