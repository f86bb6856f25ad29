#include "import/onnx/held_types.h"
#include "import/onnx/rows.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"

namespace whet {
namespace {

template <UnaryKind kind>
Status import_unary(NodeSite& site, ValueId x) {
  return site.give(UnaryOperator{kind}, {x});
}

template <BinaryKind kind>
Status import_binary(NodeSite& site, ValueId a, ValueId b) {
  return site.give(BinaryOperator{kind}, {a, b});
}

template <BinaryKind kind>
Result<ValueId> import_bitwise(NodeSite& site, ValueId a, ValueId b) {
  return bitwise(site, kind, a, b);
}

template <BinaryKind kind>
Result<ValueId> import_chained(NodeSite& site, const ValueIds& values) {
  return chained(site, kind, values);
}

/// Before operator set 7 the second operand's dimensions are at those of the first from `axis` on.
Status give_aligned(OnnxSite& site, BinaryKind kind, ValueId x, ValueId second, bool broadcasts) {
  const Shape a = site.shape(x);
  Shape b = site.shape(second);
  WHET_TRY(const std::int64_t axis,
           site.integer("axis", static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size())));
  const bool fits = axis >= 0 && axis + static_cast<std::int64_t>(b.size()) <= static_cast<std::int64_t>(a.size());
  if (broadcasts && fits) b.resize(a.size() - static_cast<std::size_t>(axis), 1);
  if (broadcasts ? !fits || broadcast(a, b) != a : a != b) {
    return site.error("combines " + to_string(site.type(x)) + " and " + to_string(site.type(second)) +
                      (broadcasts ? " from axis " + std::to_string(axis) + " on; the second must fit into the first"
                                  : " without \"broadcast\"; expected equal shapes"));
  }
  if (b != site.shape(second)) {
    WHET_TRY(second, site.add("aligned", ReshapeOperator{b}, {second}));
  }
  return site.give(BinaryOperator{kind}, {x, second});
}
template <BinaryKind kind>
Status import_aligned(OnnxSite& site, ValueId a, ValueId b, bool broadcasts) {
  return give_aligned(site, kind, a, b, broadcasts);
}

Status import_mod(OnnxSite& site, ValueId a, ValueId b, bool fmod) {
  if (fmod) return site.give(truncated_remainder(site, a, b));
  if (!is_float(site.dtype(a))) return site.give(BinaryOperator{BinaryKind::mod}, {a, b});
  return site.error("attribute \"fmod\" is 0 for " + to_string(site.type(a)) + "; expected 1 for floats");
}

Result<ValueId> import_elu(OnnxSite& site, ValueId x, double alpha) { return elu(site, x, {.alpha = alpha}); }

Result<ValueId> import_selu(OnnxSite& site, ValueId x, double alpha, double gamma) {
  return elu(site, x, {.alpha = alpha, .gamma = gamma});
}

Result<ValueId> import_celu(OnnxSite& site, ValueId x, double alpha) {
  if (alpha == 0) return site.error("attribute \"alpha\" is 0; the operator divides by it");
  return elu(site, x, {.alpha = alpha, .width = alpha});
}

Result<ValueId> import_thresholded_relu(OnnxSite& site, ValueId x, double alpha) {
  return thresholded(site, x, alpha, 0);
}

/// GELU of x and a bias of the channels.
template <Gelu form>
Result<ValueId> import_biased_gelu(OnnxSite& site, ValueId x, std::optional<ValueId> bias) {
  if (bias) {
    WHET_TRY(x, site.add("biased", BinaryOperator{BinaryKind::add}, {x, *bias}));
  }
  return gelu(site, x, form);
}

Result<ValueId> import_bit_shift(OnnxSite& site, ValueId x, ValueId count, std::int64_t direction) {
  return bit_shift(site, x, count, direction == 0);
}

Status import_where(OnnxSite& site, ValueId condition, ValueId a, ValueId b) {
  return site.give(WhereOperator{}, {condition, a, b});
}

Status give_wrapped(OnnxSite& site, ValueId x, std::int64_t type) {
  WHET_RETURN_IF_ERROR(site.give(wrapped(site, x, type)));
  site.mark_held_result(type);
  return ok_status();
}

Status import_cast_like(OnnxSite& site, ValueId x, ValueId like) {
  const std::int64_t type = held_type(site.graph(), like);
  return wraps(type) ? give_wrapped(site, x, type) : site.give(site.cast("cast", x, site.dtype(like)));
}

Status import_cast(OnnxSite& site, ValueId x, std::int64_t to) {
  if (wraps(to)) return give_wrapped(site, x, to);
  if (const auto dtype = dtype_of_onnx(to)) return site.give(site.cast("cast", x, *dtype));
  return site.error("casts to " + onnx_type_name(to) +
                    "; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
}

}  // namespace

OnnxRows onnx_elementwise() {
  using U = UnaryKind;
  using B = BinaryKind;
  static constexpr std::string_view kAligned = "a b @broadcast=0 @axis?", kBinary = "a b";
  static constexpr OnnxRow kRows[] = {
      {"Abs", 1, "x", calls<import_unary<U::abs>>},
      {"Acos", 7, "x", calls<import_unary<U::acos>>},
      {"Acosh", 9, "x", calls<import_unary<U::acosh>>},
      {"Add", 1, kAligned, calls<import_aligned<B::add>>},
      {"Add", 7, kBinary, calls<import_binary<B::add>>},
      {"And", 1, kAligned, calls<import_aligned<B::logical_and>>},
      {"And", 7, kBinary, calls<import_binary<B::logical_and>>},
      {"Asin", 7, "x", calls<import_unary<U::asin>>},
      {"Asinh", 9, "x", calls<import_unary<U::asinh>>},
      {"Atan", 7, "x", calls<import_unary<U::atan>>},
      {"Atanh", 9, "x", calls<import_unary<U::atanh>>},
      {"BitShift", 11, "x count @direction:LEFT|RIGHT", calls<import_bit_shift>},
      {"BitwiseAnd", 18, kBinary, calls<import_bitwise<B::logical_and>>},
      {"BitwiseNot", 18, "x", calls<bitwise_not>},
      {"BitwiseOr", 18, kBinary, calls<import_bitwise<B::logical_or>>},
      {"BitwiseXor", 18, kBinary, calls<import_bitwise<B::logical_xor>>},
      {"Cast", 6, "x @to ~saturate", calls<import_cast>},
      {"Cast", 24, "x @to ~saturate ~round_mode", calls<import_cast>},
      {"CastLike", 15, "x like ~saturate", calls<import_cast_like>},
      {"CastLike", 24, "x like ~saturate ~round_mode", calls<import_cast_like>},
      {"Ceil", 1, "x", calls<import_unary<U::ceil>>},
      {"Celu", 12, "x @alpha=1", calls<import_celu>},
      {"Clip", 1, "x @min=-inf @max=inf", calls<one_operand<ClipOperator, double, double>>},
      {"Clip", 11, "x min? max?", calls<clipped>},
      {"Cos", 7, "x", calls<import_unary<U::cos>>},
      {"Cosh", 9, "x", calls<import_unary<U::cosh>>},
      {"Div", 1, kAligned, calls<import_aligned<B::div>>},
      {"Div", 7, kBinary, calls<import_binary<B::div>>},
      {"Elu", 1, "x @alpha=1", calls<import_elu>},
      {"Equal", 1, kAligned, calls<import_aligned<B::equal>>},
      {"Equal", 7, kBinary, calls<import_binary<B::equal>>},
      {"Erf", 9, "x", calls<import_unary<U::erf>>},
      {"Exp", 1, "x", calls<import_unary<U::exp>>},
      {"Floor", 1, "x", calls<import_unary<U::floor>>},
      {"Gelu", 20, "x @approximate:none|tanh=none", calls<gelu>},
      {"Greater", 1, kAligned, calls<import_aligned<B::greater>>},
      {"Greater", 7, kBinary, calls<import_binary<B::greater>>},
      {"GreaterOrEqual", 12, kBinary, calls<import_binary<B::greater_equal>>},
      {"HardSigmoid", 1, "x @alpha=0.2 @beta=0.5", calls<one_operand<HardSigmoidOperator, double, double>>},
      {"HardSwish", 14, "x", calls<import_unary<U::hard_swish>>},
      {"IsInf", 10, "x @detect_negative=1 @detect_positive=1", calls<is_infinite>},
      {"IsNaN", 9, "x", calls<import_unary<U::is_nan>>},
      {"LeakyRelu", 1, "x @alpha=0.01", calls<one_operand<LeakyReluOperator, double>>},
      {"Less", 1, kAligned, calls<import_aligned<B::less>>},
      {"Less", 7, kBinary, calls<import_binary<B::less>>},
      {"LessOrEqual", 12, kBinary, calls<import_binary<B::less_equal>>},
      {"Log", 1, "x", calls<import_unary<U::log>>},
      {"Max", 6, "values...", calls<import_chained<B::max>>},
      {"Mean", 6, "values...", calls<mean_of>},
      {"Min", 6, "values...", calls<import_chained<B::min>>},
      {"Mish", 18, "x", calls<mish>},
      {"Mod", 10, "a b @fmod=0", calls<import_mod>},
      {"Mul", 1, kAligned, calls<import_aligned<B::mul>>},
      {"Mul", 7, kBinary, calls<import_binary<B::mul>>},
      {"Neg", 1, "x", calls<import_unary<U::neg>>},
      {"Not", 1, "x", calls<import_unary<U::logical_not>>},
      {"Or", 1, kAligned, calls<import_aligned<B::logical_or>>},
      {"Or", 7, kBinary, calls<import_binary<B::logical_or>>},
      {"PRelu", 1, "x slope", calls<prelu_of_channels>},  // a list of slopes is one a channel
      {"PRelu", 7, "x slope", calls<prelu>},
      {"Pow", 1, kAligned, calls<import_aligned<B::pow>>},
      {"Pow", 7, "base exponent", calls<power>},
      {"Reciprocal", 1, "x", calls<import_unary<U::reciprocal>>},
      {"Relu", 1, "x", calls<import_unary<U::relu>>},
      {"Round", 11, "x", calls<import_unary<U::round>>},
      {"Selu", 1, "x @alpha=1.6732632423543772 @gamma=1.0507009873554805", calls<import_selu>},
      {"Shrink", 9, "x @lambd=0.5 @bias=0", calls<shrunk>},
      {"Sigmoid", 1, "x", calls<import_unary<U::sigmoid>>},
      {"Sign", 9, "x", calls<import_unary<U::sign>>},
      {"Sin", 7, "x", calls<import_unary<U::sin>>},
      {"Sinh", 9, "x", calls<import_unary<U::sinh>>},
      {"Softplus", 1, "x", calls<import_unary<U::softplus>>},
      {"Softsign", 1, "x", calls<import_unary<U::softsign>>},
      {"Sqrt", 1, "x", calls<import_unary<U::sqrt>>},
      {"Sub", 1, kAligned, calls<import_aligned<B::sub>>},
      {"Sub", 7, kBinary, calls<import_binary<B::sub>>},
      {"Sum", 6, "values...", calls<import_chained<B::add>>},
      {"Swish", 24, "x @alpha=1", calls<swish>},
      {"Tan", 7, "x", calls<import_unary<U::tan>>},
      {"Tanh", 1, "x", calls<import_unary<U::tanh>>},
      {"ThresholdedRelu", 10, "x @alpha=1", calls<import_thresholded_relu>},
      {"Where", 9, "condition a b", calls<import_where>},
      {"Xor", 1, kAligned, calls<import_aligned<B::logical_xor>>},
      {"Xor", 7, kBinary, calls<import_binary<B::logical_xor>>},
      {"BiasGelu", 1, "x bias", calls<import_biased_gelu<Gelu::erf>>, kMicrosoft},
      {"FastGelu", 1, "x bias?", calls<import_biased_gelu<Gelu::tanh>>, kMicrosoft},
      {"Gelu", 1, "x @approximate:none|tanh=none", calls<gelu>, kMicrosoft},
      {"QuickGelu", 1, "x @alpha=1.702", calls<swish>, kMicrosoft},
  };
  return kRows;
}

}  // namespace whet
