#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/integer_form.h"
#include "passes/integer_products.h"

namespace whet {
namespace {

double rounded_to_even(double value) { return std::isinf(value) ? value : std::nearbyint(value); }

/// What bounds a value: clips and relu.
std::optional<ClipOperator> range_of(const Node* node) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (!node) return std::nullopt;
  if (const auto* clip = std::get_if<ClipOperator>(&node->op)) return *clip;
  const auto* unary = std::get_if<UnaryOperator>(&node->op);
  return unary && unary->kind == UnaryKind::relu ? std::optional(ClipOperator{0, kNone}) : std::nullopt;
}

/// byte(clip(round(clip(x)) + zero)), where both clips are to be one.
class Clipping {
 public:
  explicit Clipping(const Graph& from) : rewriter_(from), forms_(rewriter_) {}

  Status visit(const Node& node) {
    const auto* cast = std::get_if<CastOperator>(&node.op);
    if (!cast || !is_byte(cast->to)) return rewriter_.copy(node);
    const Node* outer = rewriter_.producer_as<ClipOperator>(rewriter_.now(node.inputs[0]));
    if (!outer || rewriter_.type(outer->output).dtype != DType::f32) return rewriter_.copy(node);
    ClipOperator range = std::get<ClipOperator>(outer->op);
    ValueId v = outer->inputs[0];
    std::optional<double> zero;
    if (const Node* sum = rewriter_.producer_as<BinaryOperator>(v)) {
      zero = forms_.number(sum->inputs[1]);
      const bool shifts =
          std::get<BinaryOperator>(sum->op).kind == BinaryKind::add && zero && *zero == std::floor(*zero);
      if (!shifts || rewriter_.shape(sum->inputs[0]) != rewriter_.shape(v)) return rewriter_.copy(node);
      v = sum->inputs[0];
    }
    const Node* round = rewriter_.producer_as<UnaryOperator>(v);
    if (!round || std::get<UnaryOperator>(round->op).kind != UnaryKind::round) return rewriter_.copy(node);
    const Node* inner = rewriter_.producer(round->inputs[0]);
    const std::optional<ClipOperator> before = range_of(inner);
    if (!before) return rewriter_.copy(node);
    range.low = std::max(range.low, rounded_to_even(before->low) + zero.value_or(0));
    range.high = std::min(range.high, rounded_to_even(before->high) + zero.value_or(0));
    if (!(range.low <= range.high)) return rewriter_.copy(node);
    return write(node, inner->inputs[0], zero, range);
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  Status write(const Node& node, ValueId v, std::optional<double> zero, const ClipOperator& range) {
    WHET_TRY(v, rewriter_.emit(node.name + "_rounded", UnaryOperator{UnaryKind::round}, {v}));
    if (zero) {
      const ValueId by = rewriter_.constant(node.name + "_zero", Tensor::of<double>(DType::f32, {}, {*zero}));
      WHET_TRY(v, rewriter_.emit(node.name + "_shifted", BinaryOperator{BinaryKind::add}, {v, by}));
    }
    WHET_TRY(v, rewriter_.emit(node.name + "_clipped", range, {v}));
    return rewriter_.copy_as(node, node.op, {v});
  }

  Rewriter rewriter_;
  IntegerForms forms_;
};

bool computes_with_bytes(const Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(), [](const Value& v) { return is_byte(v.type.dtype); });
}

}  // namespace

Result<Graph> clip_bytes_once(const Graph& from) {
  Clipping clipping(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(clipping.visit(node));
  return std::move(clipping).finish();
}

Result<Graph> give_numbers_apart(const Graph& from) {
  if (!computes_with_bytes(from)) return from;
  Rewriter rewriter(from);
  for (const Node& node : from.nodes) {
    std::vector<ValueId> in = rewriter.now(node.inputs);
    if (std::holds_alternative<BinaryOperator>(node.op))
      for (ValueId& id : in)
        if (const Tensor* number = rewriter.constant_of(id); number && number->size() == 1)
          id = rewriter.constant(rewriter.graph().value(id).name, *number);
    WHET_RETURN_IF_ERROR(rewriter.copy_as(node, node.op, in));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
