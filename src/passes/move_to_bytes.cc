#include <algorithm>
#include <cmath>

#include "passes/integer_form.h"
#include "passes/integer_products.h"

namespace whet {
namespace {

/// (x - zero) * scale in f32.
Result<ValueId> emit_dequantized(Rewriter& rewriter, const std::string& name, const ByteForm& form) {
  WHET_TRY(ValueId x, rewriter.emit(name + "_float", CastOperator{DType::f32}, {form.x}));
  const auto number = [&](double value) {
    return rewriter.constant(name + "_number", Tensor::of<double>(DType::f32, {}, {value}));
  };
  if (form.zero != 0) {
    const ValueId zero = number(static_cast<double>(form.zero));
    WHET_TRY(x, rewriter.emit(name + "_centred", BinaryOperator{BinaryKind::sub}, {x, zero}));
  }
  if (form.scale == 1) return x;
  return rewriter.emit(name + "_real", BinaryOperator{BinaryKind::mul}, {x, number(form.scale)});
}

class Moving {
 public:
  explicit Moving(const Graph& from)
      : rewriter_(from),
        forms_(rewriter_),
        is_read_(from.values.size(), false),
        is_read_unrounded_(from.values.size(), false) {
    for (const Node& node : from.nodes) {
      const auto* unary = std::get_if<UnaryOperator>(&node.op);
      const bool unrounded = !unary || unary->kind != UnaryKind::round;
      for (ValueId id : node.inputs) {
        is_read_[id.index()] = true;
        if (unrounded) is_read_unrounded_[id.index()] = true;
      }
    }
  }

  Status visit(const Node& node) {
    const std::vector<ValueId> in = rewriter_.now(node.inputs);
    if (moves(node.op)) {
      if (const auto form = forms_.dequantized(in[0]); form) return move(node, node.op, *form);
    }
    if (const auto* pad = std::get_if<PadOperator>(&node.op)) {
      const auto form = forms_.dequantized(in[0]);
      const auto of_bytes = form ? pads_bytes(*pad, *form) : std::nullopt;
      if (of_bytes) return move(node, *of_bytes, *form);
    }
    if (const std::optional<ValueId> same = requantized(node, in))
      return rewriter_.replace(node.output, *same), ok_status();
    if (const std::optional<double> factor = divisor(node, in); factor && scales(in[0])) {
      WHET_TRY(const ValueId value, scaled(in[0], 1 / *factor));
      return rewriter_.replace(node.output, value), ok_status();
    }
    return rewriter_.copy(node);
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  static bool moves(const Operator& op) {
    const auto* pool = std::get_if<PoolOperator>(&op);
    return std::holds_alternative<ReshapeOperator>(op) || std::holds_alternative<TransposeOperator>(op) ||
           std::holds_alternative<SliceOperator>(op) || (pool && pool->kind == PoolKind::max);
  }

  /// What pads the bytes, where a byte stands for the number that `pad` pads by.
  std::optional<PadOperator> pads_bytes(PadOperator pad, const ByteForm& form) const {
    if (pad.mode != PadMode::constant) return pad;
    const double low = rewriter_.type(form.x).dtype == DType::i8 ? -128 : 0;
    pad.value = pad.value / form.scale + static_cast<double>(form.zero);
    const bool is_byte = pad.value == std::floor(pad.value) && pad.value >= low && pad.value <= low + 255;
    return is_byte ? std::optional(pad) : std::nullopt;
  }

  Status move(const Node& node, const Operator& op, ByteForm form) {
    WHET_TRY(form.x, rewriter_.emit(node.name + "_bytes", op, {form.x}));
    WHET_TRY(const ValueId value, emit_dequantized(rewriter_, node.name, form));
    return rewriter_.replace(node.output, value), ok_status();
  }

  /// byte(clip(round(y / scale) + zero)), where y is made of bytes of this scale and zero point.
  std::optional<ValueId> requantized(const Node& node, const std::vector<ValueId>& in) {
    const auto* cast = std::get_if<CastOperator>(&node.op);
    if (!cast || !is_byte(cast->to)) return std::nullopt;
    const Node* at = rewriter_.producer_as<ClipOperator>(in[0]);
    const bool is_signed = cast->to == DType::i8;
    if (!at || std::get<ClipOperator>(at->op) != ClipOperator{is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0})
      return std::nullopt;
    double zero = 0;
    ValueId v = at->inputs[0];
    if (const Node* sum = rewriter_.producer_as<BinaryOperator>(v)) {
      const auto by = forms_.number(sum->inputs[1]);
      if (std::get<BinaryOperator>(sum->op).kind != BinaryKind::add || !by) return std::nullopt;
      zero = *by, v = sum->inputs[0];
    }
    const Node* round = rewriter_.producer_as<UnaryOperator>(v);
    if (!round || std::get<UnaryOperator>(round->op).kind != UnaryKind::round) return std::nullopt;
    v = round->inputs[0];
    double scale = 1;
    if (const Node* division = rewriter_.producer_as<BinaryOperator>(v)) {
      const auto by = forms_.number(division->inputs[1]);
      if (std::get<BinaryOperator>(division->op).kind != BinaryKind::div || !by) return std::nullopt;
      scale = *by, v = division->inputs[0];
    }
    const auto form = forms_.dequantized(v);
    const bool same = form && static_cast<double>(form->zero) == zero && form->scale == scale &&
                      rewriter_.type(form->x).dtype == cast->to && rewriter_.shape(form->x) == rewriter_.shape(in[0]);
    return same ? std::optional(form->x) : std::nullopt;
  }

  /// The divisor of what is rounded next.
  std::optional<double> divisor(const Node& node, const std::vector<ValueId>& in) {
    const auto* op = std::get_if<BinaryOperator>(&node.op);
    if (!op || op->kind != BinaryKind::div || rewriter_.type(in[0]).dtype != DType::f32) return std::nullopt;
    if (rewriter_.uses(node.inputs[0]) != 1 || rewriter_.shape(in[0]) != rewriter_.from().value(node.output).type.shape)
      return std::nullopt;
    const bool is_rounded = is_read_[node.output.index()] && !is_read_unrounded_[node.output.index()];
    const auto by = is_rounded ? forms_.number(in[1]) : std::nullopt;
    return by && *by > 0 ? by : std::nullopt;
  }

  /// Products with constants, of whole numbers that became floats or of sums, under sums, clips and relus: a few.
  bool scales(ValueId id) {
    int left = kMostScaled;
    return scales(id, true, left);
  }
  bool scales(ValueId id, bool outermost, int& left) {
    const Node* found = --left < 0 ? nullptr : rewriter_.producer(id);
    if (!found) return false;
    const Node node = *found;
    if (std::holds_alternative<ClipOperator>(node.op)) return scales(node.inputs[0], false, left);
    if (const auto* unary = std::get_if<UnaryOperator>(&node.op))
      return unary->kind == UnaryKind::relu && scales(node.inputs[0], false, left);
    const auto* binary = std::get_if<BinaryOperator>(&node.op);
    if (!binary) return false;
    if (binary->kind == BinaryKind::add)
      return (scales(node.inputs[0], false, left) &&
              (forms_.known(node.inputs[1]) || scales(node.inputs[1], false, left))) ||
             (forms_.known(node.inputs[0]) && scales(node.inputs[1], false, left));
    if (binary->kind != BinaryKind::mul || (outermost && forms_.dequantized(id))) return false;
    return forms_.known(node.inputs[1]) && is_whole(node.inputs[0]);
  }

  bool is_whole(ValueId id) {
    if (forms_.centred(id)) return true;
    const Node* node = rewriter_.producer(id);
    if (!node) return false;
    if (std::holds_alternative<CastOperator>(node->op)) return rewriter_.type(node->inputs[0]).dtype == DType::i32;
    return std::holds_alternative<ConvOperator>(node->op);
  }

  /// The value times a factor, where it `scales`.
  Result<ValueId> scaled(ValueId id, double factor) {
    if (const Tensor* constant = forms_.known(id)) {
      Tensor times(constant->dtype(), constant->shape());
      for (std::int64_t i = 0; i < times.size(); ++i) times.set(i, constant->get(i) * factor);
      return rewriter_.constant("rescaled", times);
    }
    const Node node = *rewriter_.producer(id);
    if (const auto* clip = std::get_if<ClipOperator>(&node.op)) {
      const ClipOperator range{static_cast<float>(clip->low * factor), static_cast<float>(clip->high * factor)};
      WHET_TRY(const ValueId x, scaled(node.inputs[0], factor));
      return rewriter_.emit(node.name + "_rescaled", range, {x});
    }
    std::vector<ValueId> in = node.inputs;
    const auto* binary = std::get_if<BinaryOperator>(&node.op);
    const bool both = !binary || binary->kind == BinaryKind::add;
    for (std::size_t k = both ? 0 : 1; k < in.size(); ++k) {
      WHET_TRY(in[k], scaled(in[k], factor));
    }
    return rewriter_.emit(node.name + "_rescaled", node.op, in);
  }

  /// Operators that take a factor: in a chain of any length, each division would copy all of it.
  static constexpr int kMostScaled = 256;

  Rewriter rewriter_;
  IntegerForms forms_;
  std::vector<bool> is_read_, is_read_unrounded_;  ///< old values
};

/// A part of the way from a byte to floats: its result is the byte times a number, or less a number, as well.
bool is_on_the_way(const Rewriter& rewriter, const Operator& op, const std::vector<ValueId>& in) {
  if (std::holds_alternative<CastOperator>(op)) return true;
  const auto* binary = std::get_if<BinaryOperator>(&op);
  return binary && (binary->kind == BinaryKind::sub || binary->kind == BinaryKind::mul) &&
         std::any_of(in.begin(), in.end(), [&](ValueId id) { return num_elements(rewriter.shape(id)) == 1; });
}

}  // namespace

Result<Graph> move_to_bytes(const Graph& from) {
  Moving moving(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(moving.visit(node));
  return std::move(moving).finish();
}

Result<Graph> dequantize_at_readers(const Graph& from) {
  Rewriter rewriter(from);
  IntegerForms forms(rewriter);
  for (const Node& node : from.nodes) {
    std::vector<ValueId> in = rewriter.now(node.inputs);
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (rewriter.type(in[k]).dtype != DType::f32) continue;
      const auto form = forms.dequantized(in[k]);
      if (!form || is_on_the_way(rewriter, node.op, in)) continue;
      WHET_TRY(in[k], emit_dequantized(rewriter, from.value(node.inputs[k]).name, *form));
    }
    WHET_RETURN_IF_ERROR(rewriter.copy_as(node, node.op, in));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
