#include <cmath>

#include "passes/integer_form.h"
#include "passes/integer_products.h"

namespace whet {
namespace {

constexpr double kShift = 128;

class Unsigned {
 public:
  explicit Unsigned(const Graph& from)
      : rewriter_(from), forms_(rewriter_), is_shifted_(from.values.size(), false), reads_(from.values.size()) {
    for (const Node& node : from.nodes)
      for (ValueId input : node.inputs) {
        Reads& reads = reads_[input.index()];
        (std::holds_alternative<CastOperator>(node.op) ? reads.by_casts : reads.by_others) = true;
      }
  }

  Status run() {
    WHET_RETURN_IF_ERROR(shift_inputs());
    for (const Node& node : rewriter_.from().nodes) WHET_RETURN_IF_ERROR(visit(node));
    for (ValueId id : rewriter_.from().outputs) WHET_RETURN_IF_ERROR(keep_sign(id));
    return ok_status();
  }
  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  struct Reads {
    bool by_casts = false, by_others = false;
  };
  bool is_cast_alone(ValueId id) const { return reads_[id.index()].by_casts && !reads_[id.index()].by_others; }

  Status shift_inputs() {
    for (ValueId id : rewriter_.from().inputs) {
      if (rewriter_.from().value(id).type.dtype != DType::i8 || !is_cast_alone(id)) continue;
      const std::string& name = rewriter_.from().value(id).name;
      WHET_TRY(ValueId x, rewriter_.emit(name + "_wide", CastOperator{DType::i32}, {rewriter_.now(id)}));
      WHET_TRY(x, rewriter_.emit(name + "_shifted", BinaryOperator{BinaryKind::add}, {x, shift(DType::i32)}));
      WHET_TRY(x, rewriter_.emit(name + "_unsigned", CastOperator{DType::u8}, {x}));
      set_shifted(id, x);
    }
    return ok_status();
  }

  Status visit(const Node& node) {
    if (const auto* cast = std::get_if<CastOperator>(&node.op)) {
      if (is_shifted(node.inputs[0])) return read_cast(node, *cast);
      if (cast->to == DType::i8) {
        WHET_TRY(const bool made, cast_unsigned(node));
        if (made) return ok_status();
      }
    }
    if (moves(node)) {
      WHET_RETURN_IF_ERROR(rewriter_.copy_as(node, moved(node.op), rewriter_.now(node.inputs)));
      is_shifted_[node.output.index()] = true;
      return ok_status();
    }
    for (ValueId id : node.inputs) WHET_RETURN_IF_ERROR(keep_sign(id));
    return rewriter_.copy(node);
  }

  /// Whether a value is one of whole numbers: i8 and u8 of others are rounded towards different sides.
  bool is_whole(ValueId id) {
    const Node* node = rewriter_.producer(id);
    if (!node) return false;
    if (std::holds_alternative<CastOperator>(node->op)) return !is_float(rewriter_.type(node->inputs[0]).dtype);
    const auto* unary = std::get_if<UnaryOperator>(&node->op);
    return unary &&
           (unary->kind == UnaryKind::round || unary->kind == UnaryKind::floor || unary->kind == UnaryKind::ceil);
  }

  /// Cast_i8(clip(v)) of whole numbers v: u8(clip(v + 128)).
  Result<bool> cast_unsigned(const Node& node) {
    const ValueId clipped = rewriter_.now(node.inputs[0]);
    const Node* clip = rewriter_.producer_as<ClipOperator>(clipped);
    if (!clip || !is_float(rewriter_.type(clipped).dtype)) return false;
    const ClipOperator range = std::get<ClipOperator>(clip->op);
    if (range.low < -kShift || range.high > kShift - 1) return false;
    if (range.low != std::floor(range.low) || range.high != std::floor(range.high)) return false;
    const DType dtype = rewriter_.type(clipped).dtype;
    ValueId v = clip->inputs[0];
    double by = kShift;
    if (const Node* sum = rewriter_.producer_as<BinaryOperator>(v);
        sum && std::get<BinaryOperator>(sum->op).kind == BinaryKind::add &&
        rewriter_.shape(sum->inputs[0]) == rewriter_.shape(v)) {
      const std::vector<ValueId> in = sum->inputs;
      const auto zero = forms_.number(in[1]);
      if (zero && *zero == std::floor(*zero)) by += *zero, v = in[0];
    }
    if (!is_whole(v)) return false;
    if (by != 0) {
      const ValueId zero = rewriter_.constant(node.name + "_zero", Tensor::of<double>(dtype, {}, {by}));
      WHET_TRY(v, rewriter_.emit(node.name + "_shifted", BinaryOperator{BinaryKind::add}, {v, zero}));
    }
    WHET_TRY(v, rewriter_.emit(node.name + "_clipped", ClipOperator{range.low + kShift, range.high + kShift}, {v}));
    WHET_RETURN_IF_ERROR(rewriter_.copy_as(node, CastOperator{DType::u8}, {v}));
    is_shifted_[node.output.index()] = true;
    return true;
  }

  Status read_cast(const Node& node, const CastOperator& cast) {
    if (cast.to != DType::i32 && cast.to != DType::f32) {
      WHET_RETURN_IF_ERROR(keep_sign(node.inputs[0]));
      return rewriter_.copy(node);
    }
    WHET_TRY(const ValueId x, rewriter_.emit(node.name + "_unsigned", cast, {rewriter_.now(node.inputs[0])}));
    return rewriter_.copy_as(node, BinaryOperator{BinaryKind::sub}, {x, shift(cast.to)});
  }

  /// Only takes elements from one place to another, or the largest of them.
  bool moves(const Node& node) const {
    for (ValueId id : node.inputs)
      if (!is_shifted(id)) return false;
    const auto* pool = std::get_if<PoolOperator>(&node.op);
    const bool one_kind =
        std::holds_alternative<ReshapeOperator>(node.op) || std::holds_alternative<TransposeOperator>(node.op) ||
        std::holds_alternative<SliceOperator>(node.op) || std::holds_alternative<PadOperator>(node.op) ||
        std::holds_alternative<ConcatOperator>(node.op) || std::holds_alternative<ExpandOperator>(node.op);
    return one_kind || (pool && pool->kind == PoolKind::max);
  }

  static Operator moved(const Operator& op) {
    const auto* pad = std::get_if<PadOperator>(&op);
    if (!pad) return op;
    PadOperator shifted = *pad;
    shifted.value += kShift;
    return shifted;
  }

  /// Puts the old value with its sign in its place.
  Status keep_sign(ValueId id) {
    if (!is_shifted(id)) return ok_status();
    const std::string& name = rewriter_.from().value(id).name;
    WHET_TRY(ValueId x, rewriter_.emit(name + "_wide", CastOperator{DType::i32}, {rewriter_.now(id)}));
    WHET_TRY(x, rewriter_.emit(name + "_shifted", BinaryOperator{BinaryKind::sub}, {x, shift(DType::i32)}));
    WHET_TRY(x, rewriter_.emit(name + "_signed", CastOperator{DType::i8}, {x}));
    rewriter_.replace(id, x);
    is_shifted_[id.index()] = false;
    return ok_status();
  }

  ValueId shift(DType dtype) { return rewriter_.constant("sign_shift", Tensor::of<double>(dtype, {}, {kShift})); }
  bool is_shifted(ValueId old) const { return is_shifted_[old.index()]; }
  void set_shifted(ValueId old, ValueId now) { rewriter_.replace(old, now), is_shifted_[old.index()] = true; }

  Rewriter rewriter_;
  IntegerForms forms_;
  std::vector<bool> is_shifted_;  ///< by old values
  std::vector<Reads> reads_;      ///< of old values
};

}  // namespace

Result<Graph> drop_signs(const Graph& from) {
  Unsigned pass(from);
  WHET_RETURN_IF_ERROR(pass.run());
  return std::move(pass).finish();
}

}  // namespace whet
