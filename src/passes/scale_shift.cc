#include "passes/scale_shift.h"

#include <algorithm>
#include <functional>

#include "passes/rewriter.h"

namespace whet {
namespace {

/// x * scale + shift, one value a channel; a missing tensor is 1 or 0.
struct ScaleShift {
  std::optional<Tensor> scale, shift;
};

/// How the weights of a convolution or a matmul are indexed: the last dimension is the output channel, the one before
/// it the input channel (depthwise: the last is both).
struct Anchor {
  ValueId x, weights, bias;  ///< bias may be invalid
  std::int64_t channels_in, channels_out;
  bool depthwise, grouped, pads;
};

/// None where scales would be rounded: weights of f16 of a sum in f32.
std::optional<Anchor> anchor_of(const Rewriter& rewriter, const Operator& op, const std::vector<ValueId>& in) {
  if (in.size() < 2 || !rewriter.constant_of(in[1])) return std::nullopt;
  const Shape &x = rewriter.shape(in[0]), &w = rewriter.shape(in[1]);
  if (const auto* conv = std::get_if<ConvOperator>(&op); conv && conv->layout == Layout::channels_last) {
    auto positive = [](std::int64_t pad) { return pad > 0; };
    const bool pads = std::any_of(conv->pads_begin.begin(), conv->pads_begin.end(), positive) ||
                      std::any_of(conv->pads_end.begin(), conv->pads_end.end(), positive);
    const bool depthwise = w.size() < x.size();
    const ValueId bias = in.size() == 3 ? in[2] : ValueId();
    if ((bias.valid() && !rewriter.constant_of(bias)) || conv->wide) return std::nullopt;
    return Anchor{in[0], in[1], bias, x.back(), w.back(), depthwise, conv->groups > 1 && !depthwise, pads};
  }
  const auto* matmul = std::get_if<MatMulOperator>(&op);
  if (!matmul || matmul->transpose_a || matmul->transpose_b || matmul->wide || w.size() != 2) return std::nullopt;
  return Anchor{in[0], in[1], ValueId(), x.back(), w.back(), false, false, false};
}

/// The constant operand of a binary node as one value a channel of a tensor with `channels` of them, when it is that.
std::optional<Tensor> channel_values(const Rewriter& rewriter, ValueId id, std::int64_t channels, std::size_t rank) {
  const Tensor* constant = rewriter.constant_of(id);
  if (!constant || !is_float(constant->dtype()) || constant->shape().size() > rank) return std::nullopt;
  const bool along_channels =
      constant->size() == channels && !constant->shape().empty() && constant->shape().back() == channels;
  if (!along_channels && constant->size() != 1) return std::nullopt;
  Tensor values(constant->dtype(), {channels});
  for (std::int64_t c = 0; c < channels; ++c) values.set(c, constant->get(constant->size() == 1 ? 0 : c));
  return values;
}

Tensor mapped(const Tensor& x, const std::function<double(double)>& f) {
  Tensor result(x.dtype(), x.shape());
  for (std::int64_t i = 0; i < x.size(); ++i) result.set(i, f(x.get(i)));
  return result;
}

bool has_zero(const Tensor& x) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (x.get(i) == 0) return true;
  }
  return false;
}

/// A binary operator with a per-channel constant; `operand` says which of its inputs is the activation.
struct Affine {
  std::size_t operand;
  ScaleShift values;
};

std::optional<Affine> affine_of(const Rewriter& rewriter, const Operator& op, const std::vector<ValueId>& in,
                                const Shape& result) {
  const auto* binary = std::get_if<BinaryOperator>(&op);
  if (!binary || result.empty()) return std::nullopt;
  const bool commutes = binary->kind == BinaryKind::add || binary->kind == BinaryKind::mul;
  for (std::size_t k = 0; k < (commutes ? 2u : 1u); ++k) {
    if (rewriter.shape(in[k]) != result) continue;
    auto values = channel_values(rewriter, in[1 - k], result.back(), result.size());
    if (!values) continue;
    switch (binary->kind) {
      case BinaryKind::mul:
        return Affine{k, {values, std::nullopt}};
      case BinaryKind::div:
        if (has_zero(*values)) return std::nullopt;
        return Affine{k, {mapped(*values, [](double v) { return 1 / v; }), std::nullopt}};
      case BinaryKind::add:
        return Affine{k, {std::nullopt, values}};
      case BinaryKind::sub:
        return Affine{k, {std::nullopt, mapped(*values, [](double v) { return -v; })}};
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

/// The weights with each element times the factor of its output channel, or of its input channel.
Tensor scaled(const Tensor& w, const Anchor& anchor, const Tensor& scale, bool by_output) {
  Tensor result(w.dtype(), w.shape());
  std::vector<double> factors;
  for (std::int64_t c = 0; c < scale.size(); ++c) factors.push_back(scale.get(c));
  const bool by_column = by_output || anchor.depthwise;
  const std::int64_t inner = w.shape().back();
  const std::size_t rows = by_column ? 1 : factors.size();
  for (std::int64_t i = 0; i < w.size(); i += inner) {
    const double of_row = factors[static_cast<std::size_t>(i / inner) % rows];
    const auto factor = [&](std::int64_t c) { return by_column ? factors[static_cast<std::size_t>(c)] : of_row; };
    if (w.dtype() == DType::f32) {
      const float* from = static_cast<const float*>(w.data()) + i;
      float* to = static_cast<float*>(result.data()) + i;
      for (std::int64_t c = 0; c < inner; ++c) to[c] = static_cast<float>(from[c] * factor(c));
    } else {
      for (std::int64_t c = 0; c < inner; ++c) result.set(i + c, w.get(i + c) * factor(c));
    }
  }
  return result;
}

/// Weights are large: they are scaled when somebody reads them.
Tensor scaled_weights(const Tensor& w, const Anchor& anchor, const Tensor& scale, bool by_output) {
  return Tensor::later(w.type(), [=] { return scaled(w, anchor, scale, by_output); });
}

Tensor summed(const Tensor& w, const Anchor& anchor, const Tensor& shift) {
  Tensor result(w.dtype(), {anchor.channels_out});
  std::vector<double> sums(static_cast<std::size_t>(anchor.channels_out), 0);
  const std::int64_t inner = w.shape().back();
  const std::int64_t middle = anchor.depthwise ? 1 : w.shape()[w.shape().size() - 2];
  for (std::int64_t i = 0; i < w.size(); ++i) {
    const std::int64_t out = i % inner, in = anchor.depthwise ? out : i / inner % middle;
    sums[static_cast<std::size_t>(out)] += w.get(i) * shift.get(in);
  }
  for (std::int64_t c = 0; c < result.size(); ++c) result.set(c, sums[static_cast<std::size_t>(c)]);
  return result;
}

/// What a shift of the input channels adds to each output channel, when somebody reads it.
Tensor shift_through(const Tensor& w, const Anchor& anchor, const Tensor& shift) {
  return Tensor::later({w.dtype(), {anchor.channels_out}}, [=] { return summed(w, anchor, shift); });
}

/// bias * scale + shift; undefined when that is nothing.
std::optional<Tensor> new_bias(const Tensor* bias, const ScaleShift& values) {
  if (!bias) return values.shift;
  Tensor result(bias->dtype(), bias->shape());
  for (std::int64_t c = 0; c < result.size(); ++c) {
    result.set(c, bias->get(c) * (values.scale ? values.scale->get(c) : 1) + (values.shift ? values.shift->get(c) : 0));
  }
  return result;
}

class Folding {
 public:
  explicit Folding(const Graph& from) : rewriter_(from) {}

  Status visit(const Node& node) {
    const std::vector<ValueId> in = rewriter_.now(node.inputs);
    WHET_TRY(const bool behind, fold_into_producer(node, in));
    if (behind) return ok_status();
    WHET_TRY(const bool before, fold_from_input(node, in));
    return before ? ok_status() : rewriter_.copy(node);
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  const Tensor* bias_of(const Anchor& anchor) const {
    return anchor.bias.valid() ? rewriter_.constant_of(anchor.bias) : nullptr;
  }

  /// The anchor with other weights and bias. A matmul has no bias of its own: the shift stays an addition.
  Result<ValueId> emit_anchor(const Node& node, const Operator& op, ValueId x, const Tensor& weights,
                              const std::optional<Tensor>& bias) {
    std::vector<ValueId> inputs = {x, rewriter_.constant(node.name + "_weights", weights)};
    const bool conv = std::holds_alternative<ConvOperator>(op);
    if (bias && conv) inputs.push_back(rewriter_.constant(node.name + "_bias", *bias));
    WHET_TRY(ValueId value, rewriter_.emit(node.name, op, inputs));
    if (!bias || conv) return value;
    return rewriter_.emit(node.name + "_bias", BinaryOperator{BinaryKind::add},
                          {value, rewriter_.constant(node.name + "_shift", *bias)});
  }

  /// node = anchor(...) ∘ constant: the anchor gives the node's value itself.
  Result<bool> fold_into_producer(const Node& node, const std::vector<ValueId>& in) {
    const auto affine = affine_of(rewriter_, node.op, in, rewriter_.from().value(node.output).type.shape);
    if (!affine || rewriter_.uses(node.inputs[affine->operand]) != 1) return false;
    const Node* producer = rewriter_.producer(in[affine->operand]);
    if (!producer) return false;
    const Node from = *producer;
    const auto anchor = anchor_of(rewriter_, from.op, from.inputs);
    const bool matmul = std::holds_alternative<MatMulOperator>(from.op);
    if (!anchor || (matmul && affine->values.shift)) return false;
    Tensor weights = *rewriter_.constant_of(anchor->weights);
    if (affine->values.scale) weights = scaled_weights(weights, *anchor, *affine->values.scale, true);
    const auto bias = new_bias(bias_of(*anchor), affine->values);
    WHET_TRY(const ValueId value, emit_anchor(from, from.op, anchor->x, weights, bias));
    rewriter_.replace(node.output, value);
    return true;
  }

  /// node = anchor(x ∘ constant): the weights take the constant.
  Result<bool> fold_from_input(const Node& node, const std::vector<ValueId>& in) {
    const auto anchor = anchor_of(rewriter_, node.op, in);
    if (!anchor || anchor->grouped || rewriter_.uses(node.inputs[0]) != 1) return false;
    const Node* producer = rewriter_.producer(in[0]);
    if (!producer) return false;
    const Node from = *producer;
    const auto affine = affine_of(rewriter_, from.op, from.inputs, rewriter_.shape(in[0]));
    if (!affine || (affine->values.shift && anchor->pads)) return false;
    Tensor weights = *rewriter_.constant_of(anchor->weights);
    ScaleShift change;
    if (affine->values.shift) change.shift = shift_through(weights, *anchor, *affine->values.shift);
    if (affine->values.scale) weights = scaled_weights(weights, *anchor, *affine->values.scale, false);
    const auto bias = new_bias(bias_of(*anchor), change);
    WHET_TRY(const ValueId value, emit_anchor(node, node.op, from.inputs[affine->operand], weights, bias));
    rewriter_.replace(node.output, value);
    return true;
  }

  Rewriter rewriter_;
};

}  // namespace

Result<Graph> fold_scale_shift(const Graph& from) {
  Folding folding(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(folding.visit(node));
  return std::move(folding).finish();
}

}  // namespace whet
