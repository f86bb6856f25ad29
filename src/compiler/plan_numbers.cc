#include "compiler/plan_numbers.h"

#include <algorithm>

#include "compute/affine.h"

namespace whet {
namespace {

std::optional<PlanNumberOp> number_op(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return PlanNumberOp::add;
    case BinaryOp::sub:
      return PlanNumberOp::sub;
    case BinaryOp::mul:
      return PlanNumberOp::mul;
    case BinaryOp::floordiv:
      return PlanNumberOp::floordiv;
    case BinaryOp::floormod:
      return PlanNumberOp::floormod;
    case BinaryOp::min:
      return PlanNumberOp::min;
    case BinaryOp::max:
      return PlanNumberOp::max;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::uint32_t> PlanNumbers::add(const Expr& function) {
  if (const auto* value = as_int(function)) return add(PlanNumberOp::constant, *value, 0);
  if (const auto* size = std::get_if<Var>(&function->kind))
    return add(PlanNumberOp::size, static_cast<std::int64_t>(size_number(size->id)), 0);
  const auto* n = std::get_if<Binary>(&function->kind);
  const auto op = n != nullptr ? number_op(n->op) : std::nullopt;
  if (!op) return Error{"a function of the sizes is no arithmetic of integers"};
  WHET_TRY(const std::uint32_t a, add(n->a));
  WHET_TRY(const std::uint32_t b, add(n->b));
  return add(*op, a, b);
}

std::uint32_t PlanNumbers::add(PlanNumberOp op, std::int64_t a, std::uint32_t b) {
  const auto [known, is_new] = known_.emplace(std::tuple(op, a, b), static_cast<std::uint32_t>(numbers_.size()));
  if (is_new) numbers_.push_back({op, b, a});
  return known->second;
}

std::optional<std::int64_t> most_of(const Expr& function, const std::vector<SizeRange>& sizes,
                                    const std::vector<SizeBox>& boxes) {
  std::int64_t most = 0;
  for (const SizeBox& box : boxes) {
    const Interval values = bounds(function, size_ranges(ranges_in(sizes, box)));
    if (!values.max) return std::nullopt;
    most = std::max(most, *values.max);
  }
  return most;
}

}  // namespace whet
