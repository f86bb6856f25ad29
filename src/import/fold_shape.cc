#include "import/fold_shape.h"

#include <algorithm>

#include "compute/scalar.h"
#include "ops/evaluate_graph.h"

namespace whet {
namespace {

using Inputs = std::vector<const Tensor*>;

/// What exporters compute shapes with.
struct IsShapeArithmetic {
  DType result;

  bool operator()(const ReduceOperator& op) const {
    const bool picks = op.kind == ReduceKind::max || op.kind == ReduceKind::min;
    return picks || (!is_float(result) && (op.kind == ReduceKind::sum || op.kind == ReduceKind::prod));
  }
  bool operator()(const UnaryOperator&) const { return true; }
  bool operator()(const BinaryOperator&) const { return true; }
  bool operator()(const WhereOperator&) const { return true; }
  bool operator()(const CastOperator&) const { return true; }
  bool operator()(const TransposeOperator&) const { return true; }
  bool operator()(const ReshapeOperator&) const { return true; }
  bool operator()(const ExpandOperator&) const { return true; }
  bool operator()(const SliceOperator&) const { return true; }
  bool operator()(const ConcatOperator&) const { return true; }
  bool operator()(const GatherOperator&) const { return true; }
  bool operator()(const GatherElementsOperator&) const { return true; }
  bool operator()(const ScatterElementsOperator&) const { return true; }
  bool operator()(const CumSumOperator&) const { return !is_float(result); }
  bool operator()(const PadOperator&) const { return true; }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};

/// An operator that takes long for each element, or whose result has many more elements than its operands.
bool is_dear(const Operator& op) {
  return std::holds_alternative<ScatterElementsOperator>(op) || std::holds_alternative<CumSumOperator>(op) ||
         std::holds_alternative<PadOperator>(op);
}

bool small_enough(const Operator& op, const Inputs& inputs, const TensorType& result) {
  if (std::holds_alternative<ReshapeOperator>(op)) return true;  // shares the bytes
  bool floats = is_float(result.dtype);
  std::int64_t largest = num_elements(result.shape);
  for (const Tensor* input : inputs) {
    floats = floats || is_float(input->dtype());
    largest = std::max(largest, input->size());
  }
  return largest <= (floats || is_dear(op) ? kMaxFoldedFloats : kMaxFoldedElements);
}

/// Steps of arithmetic on numbers that loops count with.
std::optional<BinaryOp> operation_of(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add:
      return BinaryOp::add;
    case BinaryKind::sub:
      return BinaryOp::sub;
    case BinaryKind::mul:
      return BinaryOp::mul;
    case BinaryKind::min:
      return BinaryOp::min;
    case BinaryKind::max:
      return BinaryOp::max;
    case BinaryKind::less:
      return BinaryOp::lt;
    case BinaryKind::less_equal:
      return BinaryOp::le;
    case BinaryKind::greater:
      return BinaryOp::gt;
    case BinaryKind::greater_equal:
      return BinaryOp::ge;
    case BinaryKind::equal:
      return BinaryOp::eq;
    default:
      return {};
  }
}
bool is_one_integer(const TensorType& type) {
  return (type.dtype == DType::i32 || type.dtype == DType::i64) && num_elements(type.shape) == 1;
}

/// A step of arithmetic on single integers.
bool counts(const Operator& op, const Inputs& in) {
  if (!std::all_of(in.begin(), in.end(), [](const Tensor* input) { return is_one_integer(input->type()); }))
    return false;
  if (const auto* binary = std::get_if<BinaryOperator>(&op)) return operation_of(binary->kind).has_value();
  const auto* cast = std::get_if<CastOperator>(&op);
  return cast != nullptr && !is_float(cast->to);
}
/// The same as by the definition of an operator that `counts`, without making that: loops count their rounds so.
Tensor counted_number(const Operator& op, const Inputs& in, const TensorType& result) {
  const std::int64_t a = in[0]->integer(0);
  Tensor number(result.dtype, result.shape);
  if (const auto* binary = std::get_if<BinaryOperator>(&op)) {
    number.set_integer(0, *apply(*operation_of(binary->kind), a, in[1]->integer(0), in[0]->dtype()));
  } else {
    number.set_integer(0, wrap_to(result.dtype, a));
  }
  return number;
}

/// Values for which an operator is not defined; the definitions in `ops` do not see them as a file's mistake.
Status check_values(const std::string& node, const Operator& op, const Inputs& in) {
  const auto* binary = std::get_if<BinaryOperator>(&op);
  if (binary && (binary->kind == BinaryKind::div || binary->kind == BinaryKind::mod) && !is_float(in[1]->dtype())) {
    for (std::int64_t i = 0; i < in[1]->size(); ++i)
      if (in[1]->integer(i) == 0) return Error{node + ": divides an integer by zero"};
  }
  const auto expect_inside = [&](std::int64_t axis) -> Status {
    const std::int64_t extent = in[0]->shape()[static_cast<std::size_t>(axis)];
    for (std::int64_t i = 0; i < in[1]->size(); ++i)
      if (const std::int64_t index = in[1]->integer(i); index < -extent || index >= extent)
        return Error{node + ": takes element " + std::to_string(index) + " of a dimension of extent " +
                     std::to_string(extent)};
    return ok_status();
  };
  if (const auto* gather = std::get_if<GatherOperator>(&op)) return expect_inside(gather->axis);
  if (const auto* gather = std::get_if<GatherElementsOperator>(&op)) return expect_inside(gather->axis);
  if (const auto* scatter = std::get_if<ScatterElementsOperator>(&op)) return expect_inside(scatter->axis);
  return ok_status();
}

/// Quantized weights become floats: `passes` multiplies their bytes instead. Shapes are lists.
bool widens_weights(const Operator& op, const std::vector<const Tensor*>& in) {
  const auto* cast = std::get_if<CastOperator>(&op);
  return cast && is_float(cast->to) && in[0]->dtype() == DType::i32 && in[0]->shape().size() >= 2;
}

}  // namespace

std::int64_t folding_work(const Operator& op, const Inputs& inputs, const TensorType& result) {
  constexpr std::int64_t kNumber = 16, kNode = 1024;  // a definition is made for each node
  if (std::holds_alternative<ReshapeOperator>(op) || counts(op, inputs)) return kNumber;
  std::int64_t largest = num_elements(result.shape);
  for (const Tensor* input : inputs) largest = std::max(largest, input->size());
  const bool reads_all_for_each =
      std::holds_alternative<ScatterElementsOperator>(op) || std::holds_alternative<CumSumOperator>(op);
  return kNode + (reads_all_for_each ? largest * num_elements(result.shape) : largest);
}

Result<std::optional<Tensor>> fold_shape(const std::string& node, const Operator& op,
                                         const std::vector<const Tensor*>& inputs, const TensorType& result) {
  if (!std::visit(IsShapeArithmetic{result.dtype}, op) || !small_enough(op, inputs, result) ||
      widens_weights(op, inputs))
    return std::optional<Tensor>();
  if (counts(op, inputs)) return std::optional(counted_number(op, inputs, result));
  WHET_RETURN_IF_ERROR(check_values(node, op, inputs));
  std::vector<Tensor> values;
  for (const Tensor* input : inputs) values.push_back(*input);
  WHET_TRY(Tensor value, evaluate_operator(op, values, result, node));
  return std::optional(std::move(value));
}

}  // namespace whet
