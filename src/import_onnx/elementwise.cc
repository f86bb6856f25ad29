#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import_onnx/held_types.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

/// Before operator set 7 the second operand's dimensions are at those of the first from `axis` on.
Status import_aligned(OnnxSite& site, ValueId x, ValueId second, bool broadcasts) {
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
  return binary_of_name(site, x, second);
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

/// GELU of x and a bias of the channels.
template <Gelu form>
Result<ValueId> import_biased_gelu(OnnxSite& site, ValueId x, std::optional<ValueId> bias) {
  if (bias) {
    WHET_TRY(x, site.add("biased", BinaryOperator{BinaryKind::add}, {x, *bias}));
  }
  return gelu(site, x, form);
}

/// The upper 63 bits of a number of 64 bits without a sign, which have none.
Result<ValueId> halved(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId half, bit_shift(site, x, site.add_scalar("one", DType::i64, 1), false));
  WHET_TRY(const ValueId negative, with_number(site, "negative", BinaryKind::less, x, 0));
  // 2^63 more, in two steps of which each is a number.
  WHET_TRY(ValueId raised, with_number(site, "raised", BinaryKind::add, half, 0x1p62));
  WHET_TRY(raised, with_number(site, "raised", BinaryKind::add, raised, 0x1p62));
  return chosen(site, negative, raised, half);
}

Result<ValueId> import_bit_shift(OnnxSite& site, ValueId x, ValueId count, bool right) {
  if (is_float(site.dtype(x)) || site.dtype(x) != site.dtype(count))
    return site.error("shifts " + to_string(site.type(x)) + " by " + to_string(site.type(count)) +
                      "; expected integers of one type");
  if (!right || held_type(site.graph(), x) != kUint64) return bit_shift(site, x, count, !right);
  WHET_TRY(const ValueId half, halved(site, x));
  WHET_TRY(ValueId rest, with_number(site, "rest", BinaryKind::sub, count, 1));
  WHET_TRY(rest, with_number(site, "rest", BinaryKind::max, rest, 0));
  WHET_TRY(const ValueId moved, bit_shift(site, half, rest, false));
  WHET_TRY(const ValueId stays, with_number(site, "stays", BinaryKind::equal, count, 0));
  return chosen(site, stays, x, moved);
}

Status give_wrapped(OnnxSite& site, ValueId x, std::int64_t type) {
  WHET_RETURN_IF_ERROR(site.give(wrapped(site, x, type)));
  site.mark_held_result(type);
  return ok_status();
}

Status import_cast_like(OnnxSite& site, ValueId x, ValueId like) {
  const std::int64_t type = held_type(site.graph(), like);
  return wraps(site.graph(), type) ? give_wrapped(site, x, type) : site.give(site.cast("cast", x, site.dtype(like)));
}

Status import_cast(OnnxSite& site, ValueId x, std::int64_t to) {
  if (wraps(site.graph(), to)) return give_wrapped(site, x, to);
  if (const auto dtype = dtype_of_onnx(to, site.graph().native_types)) return site.give(site.cast("cast", x, *dtype));
  return site.error("casts to " + onnx_type_name(to) +
                    "; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
}

}  // namespace

OnnxRows onnx_elementwise() {
  using U = UnaryKind;
  using B = BinaryKind;
  static constexpr std::string_view kBinary = "a b";
  static constexpr OnnxRow kRows[] = {
      {"Add And Div Equal Greater Less Mul Or Pow Sub Xor", 1, "a b @broadcast=0 @axis?", calls<import_aligned>},
      {"Add And Div Equal Greater Less Mul Or Sub Xor", 7, kBinary, calls<binary_of_name>},
      {"Abs Ceil Exp Floor Log Neg Not Reciprocal Relu Sigmoid Softplus Softsign Sqrt Tanh", 1, "x",
       calls<unary_of_name>},
      {"Acos Asin Atan Cos Sin Tan", 7, "x", calls<unary_of_name>},
      {"Acosh Asinh Atanh Cosh Erf Sign Sinh", 9, "x", calls<unary_of_name>},
      {"Round", 11, "x", calls<unary_of_name>},
      {"HardSwish", 14, "x", calls<unary_of_name>},
      {"BitShift", 11, "x count @direction:LEFT|RIGHT", calls<import_bit_shift>},
      {"BitwiseAnd", 18, kBinary, calls<bits_of<B::logical_and>>},
      {"BitwiseNot", 18, "x", calls<bitwise_not>},
      {"BitwiseOr", 18, kBinary, calls<bits_of<B::logical_or>>},
      {"BitwiseXor", 18, kBinary, calls<bits_of<B::logical_xor>>},
      {"Cast", 6, "x @to ~saturate", calls<import_cast>},
      {"Cast", 24, "x @to ~saturate ~round_mode", calls<import_cast>},
      {"CastLike", 15, "x like ~saturate", calls<import_cast_like>},
      {"CastLike", 24, "x like ~saturate ~round_mode", calls<import_cast_like>},
      {"Celu", 12, "x @alpha=1", calls<import_celu>},
      {"Clip", 1, "x @min=-inf @max=inf", calls<one_operand<ClipOperator, double, double>>},
      {"Clip", 11, "x min? max?", calls<clipped>},
      {"Elu", 1, "x @alpha=1", calls<import_elu>},
      {"Gelu", 20, "x @approximate:none|tanh=none", calls<gelu>},
      {"GreaterOrEqual", 12, kBinary, calls<binary<B::greater_equal>>},
      {"HardSigmoid", 1, "x @alpha=0.2 @beta=0.5", calls<one_operand<HardSigmoidOperator, double, double>>},
      {"IsInf", 10, "x @detect_negative=1 @detect_positive=1", calls<is_infinite>},
      {"IsNaN", 9, "x", calls<unary<U::is_nan>>},
      {"LeakyRelu", 1, "x @alpha=0.01", calls<one_operand<LeakyReluOperator, double>>},
      {"LessOrEqual", 12, kBinary, calls<binary<B::less_equal>>},
      {"Max", 6, "values...", calls<chain<B::max>>},
      {"Mean", 6, "values...", calls<mean_of>},
      {"Min", 6, "values...", calls<chain<B::min>>},
      {"Mish", 18, "x", calls<mish>},
      {"Mod", 10, "a b @fmod=0", calls<import_mod>},
      {"PRelu", 1, "x slope", calls<prelu_of_channels>},  // a list of slopes is one a channel
      {"PRelu", 7, "x slope", calls<prelu>},
      {"Pow", 7, "base exponent", calls<power>},
      {"Selu", 1, "x @alpha=1.6732632423543772 @gamma=1.0507009873554805", calls<import_selu>},
      {"Shrink", 9, "x @lambd=0.5 @bias=0", calls<shrunk>},
      {"Sum", 6, "values...", calls<chain<B::add>>},
      {"Swish", 24, "x @alpha=1", calls<swish>},
      {"ThresholdedRelu", 10, "x @alpha=1 =0", calls<thresholded>},
      {"Where", 9, "condition a b", calls<chosen>},
      {"BiasGelu", 1, "x bias", calls<import_biased_gelu<Gelu::erf>>, kMicrosoft},
      {"FastGelu", 1, "x bias?", calls<import_biased_gelu<Gelu::tanh>>, kMicrosoft},
      {"Gelu", 1, "x @approximate:none|tanh=none", calls<gelu>, kMicrosoft},
      {"QuickGelu", 1, "x @alpha=1.702", calls<swish>, kMicrosoft},
  };
  return kRows;
}

}  // namespace whet
