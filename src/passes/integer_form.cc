#include "passes/integer_form.h"

#include <algorithm>
#include <cmath>

#include "ops/evaluate_graph.h"
#include "passes/host_tensor.h"

namespace whet {
namespace {

const BinaryOperator* binary_at(const Node* node, BinaryKind kind) {
  const auto* op = node ? std::get_if<BinaryOperator>(&node->op) : nullptr;
  return op && op->kind == kind ? op : nullptr;
}

bool fits_byte(const Tensor& q) {
  for (std::int64_t i = 0; i < q.size(); ++i)
    if (const double value = q.get(i); value < -128 || value > 127 || value != std::floor(value)) return false;
  return true;
}

/// One value for each index of dimension `d` of a tensor of `rank` dimensions, or one for all; nothing where they vary
/// along another one.
std::optional<std::vector<double>> values_along(const Tensor& list, std::size_t rank, std::size_t d) {
  const Shape& shape = list.shape();
  if (shape.size() > rank) return std::nullopt;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (shape[k] != 1 && k + rank - shape.size() != d) return std::nullopt;
  std::vector<double> values;
  for (std::int64_t i = 0; i < list.size(); ++i) values.push_back(list.get(i));
  return values;
}

}  // namespace

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

const Tensor* IntegerForms::known(ValueId id) {
  // Operands first, on a stack of its own: a network may lie behind a single number.
  std::vector<ValueId> open = {id};
  while (!open.empty()) {
    const ValueId at = open.back();
    const std::optional<ValueId> operand = is_asked(at) ? std::nullopt : unasked_operand(at);
    if (operand) {
      open.push_back(*operand);
      continue;
    }
    if (!is_asked(at)) known_.emplace(at.value, value_of(*rewriter_.producer(at)));
    open.pop_back();
  }
  return answer(id);
}

bool IntegerForms::is_asked(ValueId id) const {
  return rewriter_.constant_of(id) || !rewriter_.producer(id) || known_.contains(id.value);
}

const Tensor* IntegerForms::answer(ValueId id) const {
  if (const Tensor* constant = rewriter_.constant_of(id)) return constant;
  const auto found = known_.find(id.value);
  return found != known_.end() && found->second ? &*found->second : nullptr;
}

/// The first operand that decides whether the value is known; nothing where one that is not known is before it.
std::optional<ValueId> IntegerForms::unasked_operand(ValueId id) const {
  for (ValueId operand : rewriter_.producer(id)->inputs) {
    if (!is_asked(operand)) return operand;
    if (!answer(operand)) break;
  }
  return std::nullopt;
}

std::optional<Tensor> IntegerForms::value_of(const Node& node) const {
  std::vector<Tensor> inputs;
  for (ValueId operand : node.inputs) {
    const Tensor* value = answer(operand);
    if (!value) return std::nullopt;
    inputs.push_back(*value);
  }
  Result<Tensor> value = evaluate_operator(node.op, inputs, rewriter_.type(node.output), node.name);
  return value.ok() ? std::optional(std::move(value).value()) : std::nullopt;
}

std::optional<double> IntegerForms::number(ValueId id) {
  if (num_elements(rewriter_.shape(id)) != 1) return std::nullopt;
  const Tensor* value = known(id);
  return value ? std::optional(value->get(0)) : std::nullopt;
}

std::optional<ByteForm> IntegerForms::centred(ValueId id, int steps) {
  const Node* node = steps > 0 ? rewriter_.producer(id) : nullptr;
  if (!node) return std::nullopt;
  if (std::holds_alternative<CastOperator>(node->op)) {
    const ValueId x = node->inputs[0];
    const DType to = rewriter_.type(id).dtype;
    if (to != DType::i32 && to != DType::f32) return std::nullopt;
    if (is_byte(rewriter_.type(x).dtype)) return rewriter_.constant_of(x) ? std::nullopt : std::optional(ByteForm{x});
    return to == DType::f32 && rewriter_.type(x).dtype == DType::i32 ? centred(x, steps - 1) : std::nullopt;
  }
  if (!binary_at(node, BinaryKind::sub)) return std::nullopt;
  const std::optional<double> zero = number(node->inputs[1]);
  if (!zero || *zero != std::floor(*zero) || rewriter_.shape(node->inputs[0]) != rewriter_.shape(id))
    return std::nullopt;
  constexpr double kFarthest = 1 << 16;  // that far the numbers are exact in f32, whichever is taken away first
  std::optional<ByteForm> form = centred(node->inputs[0], steps - 1);
  if (!form || std::abs(*zero + static_cast<double>(form->zero)) > kFarthest) return std::nullopt;
  form->zero += static_cast<std::int64_t>(*zero);
  return form;
}

std::optional<ByteForm> IntegerForms::dequantized(ValueId id) {
  if (rewriter_.type(id).dtype != DType::f32) return std::nullopt;
  const Node* node = rewriter_.producer(id);
  if (!binary_at(node, BinaryKind::mul)) return centred(id);
  for (const std::size_t k : {0u, 1u}) {
    const std::optional<double> scale = number(node->inputs[1 - k]);
    if (!scale || *scale <= 0 || rewriter_.shape(node->inputs[k]) != rewriter_.shape(id)) continue;
    std::optional<ByteForm> form = centred(node->inputs[k]);
    if (form) form->scale = *scale;
    return form;
  }
  return std::nullopt;
}

std::optional<WeightForm> IntegerForms::weights(ValueId id, std::size_t along) {
  std::optional<WeightForm> form;
  if (rewriter_.type(id).dtype == DType::f32)
    form = scaled_weights(id, along);
  else if (const Tensor* q = known(id))
    form = WeightForm{*q, {1}, along};
  if (!form || !fits_byte(form->q)) return std::nullopt;
  Tensor bytes(DType::i8, form->q.shape());
  for (std::int64_t i = 0; i < bytes.size(); ++i) bytes.set(i, form->q.get(i));
  form->q = std::move(bytes);
  return form;
}

std::optional<WeightForm> IntegerForms::scaled_weights(ValueId id, std::size_t along) {
  const Node* node = rewriter_.producer(id);
  if (!node) return std::nullopt;
  if (const auto* turn = std::get_if<TransposeOperator>(&node->op)) {
    std::optional<WeightForm> form = scaled_weights(node->inputs[0], static_cast<std::size_t>(turn->perm[along]));
    if (form) form->q = transposed(form->q, turn->perm), form->along = along;
    return form;
  }
  if (!binary_at(node, BinaryKind::mul)) return std::nullopt;
  for (const std::size_t k : {0u, 1u}) {
    const Node* cast = rewriter_.producer_as<CastOperator>(node->inputs[k]);
    if (!cast || rewriter_.type(cast->inputs[0]).dtype != DType::i32) continue;
    if (rewriter_.shape(node->inputs[k]) != rewriter_.shape(id)) continue;
    const Tensor *q = known(cast->inputs[0]), *scale = known(node->inputs[1 - k]);
    if (!q || !scale) continue;
    const auto scales = values_along(*scale, q->shape().size(), along);
    if (!scales || std::any_of(scales->begin(), scales->end(), [](double s) { return s <= 0; })) continue;
    return WeightForm{*q, *scales, along};
  }
  return std::nullopt;
}

}  // namespace whet
