#include "import/bounds.h"

#include <cmath>

#include "import/fold_shape.h"

namespace whet {
namespace {

/// Beyond all sizes, and far from where integers wrap around.
constexpr double kFarthestSize = 1LL << 40;

/// Where the extremes of an operator's result lie: at all lower or all higher bounds, or at mixed ones too.
enum class Extremes { nowhere, at_bounds, at_corners };

bool all_elements(const Tensor& x, bool (*holds)(double)) {
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (!holds(x.get(i))) return false;
  return true;
}
bool has_sign(const Bounds& x) {
  return all_elements(x.low, [](double v) { return v > 0; }) || all_elements(x.high, [](double v) { return v < 0; });
}

struct FindExtremes {
  const std::vector<Bounds>& operands;

  Extremes operator()(const UnaryOperator& op) const {
    const bool monotonic = op.kind == UnaryKind::neg || op.kind == UnaryKind::floor || op.kind == UnaryKind::ceil ||
                           op.kind == UnaryKind::round;
    return monotonic ? Extremes::at_bounds : Extremes::nowhere;
  }
  Extremes operator()(const BinaryOperator& op) const {
    switch (op.kind) {
      case BinaryKind::add:
      case BinaryKind::min:
      case BinaryKind::max:
        return Extremes::at_bounds;
      case BinaryKind::sub:
      case BinaryKind::mul:
        return Extremes::at_corners;
      case BinaryKind::div:
        return has_sign(operands[1]) ? Extremes::at_corners : Extremes::nowhere;
      default:
        return Extremes::nowhere;
    }
  }
  Extremes operator()(const ReduceOperator& op) const {
    const bool product = op.kind == ReduceKind::prod && all_elements(operands[0].low, [](double v) { return v >= 0; });
    const bool rises = op.kind == ReduceKind::sum || op.kind == ReduceKind::max || op.kind == ReduceKind::min;
    return product || rises ? Extremes::at_bounds : Extremes::nowhere;
  }
  Extremes operator()(const CastOperator& op) const {
    return op.to == DType::i32 || op.to == DType::i64 || is_float(op.to) ? Extremes::at_bounds : Extremes::nowhere;
  }
  /// A known operand 0 or 1 chooses among the others.
  Extremes operator()(const WhereOperator&) const { return chosen_by(0); }
  Extremes operator()(const GatherOperator&) const { return chosen_by(1); }
  Extremes operator()(const ReshapeOperator&) const { return Extremes::at_bounds; }
  Extremes operator()(const ExpandOperator&) const { return Extremes::at_bounds; }
  Extremes operator()(const SliceOperator&) const { return Extremes::at_bounds; }
  Extremes operator()(const ConcatOperator&) const { return Extremes::at_bounds; }
  template <typename Other>
  Extremes operator()(const Other&) const {
    return Extremes::nowhere;
  }
  Extremes chosen_by(std::size_t i) const { return operands[i].is_known() ? Extremes::at_bounds : Extremes::nowhere; }
};

/// The operator's result where each operand is at its lower or its higher bound.
std::optional<Tensor> at(const Operator& op, const std::vector<Bounds>& operands, const std::vector<bool>& high,
                         const TensorType& result) {
  std::vector<const Tensor*> values;
  for (std::size_t i = 0; i < operands.size(); ++i) values.push_back(high[i] ? &operands[i].high : &operands[i].low);
  Result<std::optional<Tensor>> value = fold_shape("", op, values, result);
  if (!value.ok() || !*value) return std::nullopt;
  for (std::int64_t i = 0; i < (*value)->size(); ++i)
    if (!(std::abs((*value)->get(i)) <= kFarthestSize)) return std::nullopt;
  return *std::move(value);
}

void widen(Bounds& bounds, const Tensor& value) {
  for (std::int64_t i = 0; i < value.size(); ++i) {
    if (value.get(i) < bounds.low.get(i)) bounds.low.set(i, value.get(i));
    if (value.get(i) > bounds.high.get(i)) bounds.high.set(i, value.get(i));
  }
}

/// What is left of a division by numbers above 0: at least 0, and less than they are.
std::optional<Bounds> bounds_of_rest(const std::vector<Bounds>& operands, const TensorType& result) {
  const Tensor& divisor = operands[1].high;
  if (is_float(result.dtype) || divisor.size() != 1 || operands[1].low.get(0) <= 0) return std::nullopt;
  Bounds bounds{Tensor(result.dtype, result.shape), Tensor(result.dtype, result.shape)};
  for (std::int64_t i = 0; i < bounds.high.size(); ++i) bounds.high.set_integer(i, divisor.integer(0) - 1);
  return bounds;
}

}  // namespace

bool Bounds::is_known() const {
  for (std::int64_t i = 0; i < low.size(); ++i)
    if (low.get(i) != high.get(i)) return false;
  return true;
}

std::optional<Bounds> bounds_of(const Operator& op, const std::vector<Bounds>& operands, const TensorType& result) {
  const auto* binary = std::get_if<BinaryOperator>(&op);
  if (binary != nullptr && binary->kind == BinaryKind::mod) return bounds_of_rest(operands, result);
  const Extremes extremes = std::visit(FindExtremes{operands}, op);
  if (extremes == Extremes::nowhere) return std::nullopt;
  const std::size_t count = operands.size();
  std::vector<std::vector<bool>> places = {std::vector<bool>(count, false), std::vector<bool>(count, true)};
  if (extremes == Extremes::at_corners) places.insert(places.end(), {{false, true}, {true, false}});
  std::optional<Bounds> bounds;
  for (const std::vector<bool>& high : places) {
    const std::optional<Tensor> value = at(op, operands, high, result);
    if (!value) return std::nullopt;
    if (bounds) {
      widen(*bounds, *value);
    } else {
      bounds = Bounds{value->clone(), value->clone()};
    }
  }
  return bounds;
}

}  // namespace whet
