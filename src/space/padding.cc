#include "space/padding.h"

#include <algorithm>
#include <optional>

#include "compute/affine.h"

namespace whet {
namespace {

bool is_order(BinaryOp op) {
  return op == BinaryOp::lt || op == BinaryOp::le || op == BinaryOp::gt || op == BinaryOp::ge;
}

/// Those under which something is read that else is 0, and that ask for `axis`.
std::vector<Binary> comparisons_of(const Element& element, VarId axis) {
  std::vector<Binary> found;
  for_each(element.body, [&](const Expr& part) {
    const Select* s = std::get_if<Select>(&part->kind);
    if (!s || !is_const(s->if_false, 0)) return;
    for (const Expr& condition : conjuncts_of(s->condition))
      if (const Binary* b = std::get_if<Binary>(&condition->kind); b && is_order(b->op) && uses(condition, axis))
        found.push_back(*b);
  });
  return found;
}

/// a - b as a sum of the axis, one tap and a constant.
struct Difference {
  BinaryOp op;
  std::int64_t of_axis = 0, of_tap = 0, constant = 0;

  bool holds(std::int64_t at, std::int64_t tap) const {
    const std::int64_t value = of_axis * at + of_tap * tap + constant;
    switch (op) {
      case BinaryOp::lt:
        return value < 0;
      case BinaryOp::le:
        return value <= 0;
      case BinaryOp::gt:
        return value > 0;
      default:
        return value >= 0;
    }
  }
};

/// Nothing where the comparison asks for more than the axis and one tap; `tap` is that tap, or becomes it.
std::optional<Difference> difference_of(const Binary& comparison, VarId axis, std::optional<VarId>& tap) {
  const std::optional<Affine> left = sum_of_variables(comparison.a), right = sum_of_variables(comparison.b);
  if (!left || !right) return std::nullopt;
  const Affine sum = sub(*left, *right);
  Difference difference{comparison.op, 0, 0, sum.constant};
  for (const auto& [atom, factor] : sum.terms) {
    const VarId id = std::get<Var>(atom->kind).id;
    if (id == axis) {
      difference.of_axis = factor;
    } else if (!tap || *tap == id) {
      tap = id, difference.of_tap = factor;
    } else {
      return std::nullopt;
    }
  }
  return difference;
}

}  // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> unpadded(const Element& element, std::int64_t axis) {
  std::vector<Difference> differences;
  std::optional<VarId> tap;
  for (const Binary& comparison : comparisons_of(element, VarId(axis))) {
    const std::optional<Difference> difference = difference_of(comparison, VarId(axis), tap);
    if (!difference) return {};
    differences.push_back(*difference);
  }
  const auto spatial = static_cast<std::int64_t>(element.axes.size());
  if (!tap || tap->value < spatial) return {};
  const std::int64_t taps = element.reduce_axes[static_cast<std::size_t>(tap->value - spatial)].extent,
                     extent = element.axes[static_cast<std::size_t>(axis)].extent;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t position = 0; position < taps; ++position) {
    const auto inside = [&](std::int64_t at) {
      return std::all_of(differences.begin(), differences.end(),
                         [&](const Difference& difference) { return difference.holds(at, position); });
    };
    std::int64_t first = 0, end = extent;
    while (first < extent && !inside(first)) ++first;
    while (end > first && !inside(end - 1)) --end;
    ranges.emplace_back(first, end);
  }
  return ranges;
}

}  // namespace whet
