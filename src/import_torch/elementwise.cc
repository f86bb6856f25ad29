#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/elementary.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

using B = BinaryKind;
using U = UnaryKind;

/// Whole numbers stay as they are.
template <U kind>
Status import_rounding(TorchSite& site, ValueId x) {
  return is_float(site.dtype(x)) ? site.give(UnaryOperator{kind}, {x}) : site.give(x);
}

/// Booleans are added as numbers, and are then booleans again.
template <B kind>
Result<ValueId> import_binary(TorchSite& site, ValueId a, ValueId b) {
  if (site.dtype(a) == DType::boolean && kind != B::equal) {
    if (kind == B::add || kind == B::max) return site.add("combined", BinaryOperator{B::logical_or}, {a, b});
    if (kind == B::mul || kind == B::min) return site.add("combined", BinaryOperator{B::logical_and}, {a, b});
    WHET_TRY(a, site.cast("a_number", a, DType::u8));
    WHET_TRY(b, site.cast("b_number", b, DType::u8));
  }
  return site.add("combined", BinaryOperator{kind}, {a, b});
}

/// Whether numbers are not 0.
template <B kind>
Status import_logical(TorchSite& site, ValueId a, ValueId b) {
  WHET_TRY(a, site.cast("a_true", a, DType::boolean));
  WHET_TRY(b, site.cast("b_true", b, DType::boolean));
  return site.give(BinaryOperator{kind}, {a, b});
}
template <B kind>
Status import_bitwise(TorchSite& site, ValueId a, ValueId b) {
  return site.dtype(a) == DType::boolean ? import_logical<kind>(site, a, b) : site.give(bitwise(site, kind, a, b));
}
Status import_bitwise_not(TorchSite& site, ValueId x) {
  return site.dtype(x) == DType::boolean ? unary<U::logical_not>(site, x) : site.give(bitwise_not(site, x));
}

Result<ValueId> scaled(TorchSite& site, ValueId x, double factor) {
  return factor == 1 ? Result<ValueId>(x) : with_number(site, "scaled", B::mul, x, factor);
}
Result<ValueId> import_add(TorchSite& site, ValueId a, ValueId b, double alpha) {
  WHET_TRY(b, scaled(site, b, alpha));
  return import_binary<B::add>(site, a, b);
}
Status import_sub(TorchSite& site, ValueId a, ValueId b, double alpha) {
  WHET_TRY(b, scaled(site, b, alpha));
  return site.give(BinaryOperator{B::sub}, {a, b});
}
Status import_rsub(TorchSite& site, ValueId a, ValueId b, double alpha) { return import_sub(site, b, a, alpha); }

enum class Rounding : std::uint8_t { floor, trunc };
Result<ValueId> import_div_mode(TorchSite& site, ValueId a, ValueId b, std::optional<Rounding> mode) {
  if (mode == Rounding::floor) return floored_quotient(site, a, b);
  if (!mode && !is_float(site.dtype(a))) {
    WHET_TRY(a, site.cast("a_float", a, DType::f32));
    WHET_TRY(b, site.cast("b_float", b, DType::f32));
  }
  WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{B::div}, {a, b}));
  return mode ? truncated(site, quotient) : quotient;
}

/// Squares and roots are cheaper than powers.
Status import_pow(TorchSite& site, ValueId a, ValueId b) {
  const Tensor* exponent = site.rank(b) == 0 ? site.constant(b) : nullptr;
  const double power = exponent != nullptr ? exponent->get(0) : std::nan("");
  if (power == 1) return site.give(a);
  if (power == 2) return site.give(BinaryOperator{B::mul}, {a, a});
  if (power == 0.5) return site.give(UnaryOperator{U::sqrt}, {a});
  return site.give(whet::power(site, a, b));
}

template <int base>
Result<ValueId> import_log(TorchSite& site, ValueId x) {
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {x}));
  return with_number(site, "scaled", B::mul, log, 1 / std::log(static_cast<double>(base)));
}
Status import_exp2(TorchSite& site, ValueId x) {
  WHET_TRY(const ValueId scaled, with_number(site, "scaled", B::mul, x, std::log(2.0)));
  return site.give(UnaryOperator{U::exp}, {scaled});
}
Result<ValueId> import_round_decimals(TorchSite& site, ValueId x, std::int64_t decimals) {
  if (decimals < -30 || decimals > 30) return site.error("argument \"decimals\" is " + std::to_string(decimals));
  const double factor = std::pow(10.0, static_cast<double>(decimals));
  WHET_TRY(const ValueId scaled, with_number(site, "scaled", B::mul, x, factor));
  WHET_TRY(const ValueId rounded, site.add("rounded", UnaryOperator{U::round}, {scaled}));
  return with_number(site, "back", B::div, rounded, factor);
}

// ---- Activations.

using Clip = std::optional<double>;
/// Where the bounds cross, the upper one holds.
Status import_clamp(TorchSite& site, ValueId x, Clip min, Clip max) {
  const double high = max.value_or(kInfinity);
  return site.give(ClipOperator{std::min(min.value_or(-kInfinity), high), high}, {x});
}
Status import_clamp_max(TorchSite& site, ValueId x, double max) { return import_clamp(site, x, {}, max); }
Result<ValueId> import_clamp_tensor(TorchSite& site, ValueId x, OptionalId min, OptionalId max) {
  if (min) {
    WHET_TRY(x, site.add("bounded", BinaryOperator{B::max}, {x, *min}));
  }
  return max ? site.add("bounded", BinaryOperator{B::min}, {x, *max}) : x;
}
/// After decomposition the slopes have the input's dimensions already.
Result<ValueId> import_prelu(TorchSite& site, ValueId x, ValueId slopes) {
  return site.rank(slopes) > 1 ? prelu(site, x, slopes) : prelu_of_channels(site, x, slopes);
}
Result<ValueId> import_softshrink(TorchSite& site, ValueId x, double lambda) { return shrunk(site, x, lambda, lambda); }
Result<ValueId> import_elu(TorchSite& site, ValueId x, double alpha, double scale, double input_scale) {
  if (input_scale == 0) return site.error("argument \"input_scale\" is 0");
  return elu(site, x, {.alpha = alpha, .gamma = scale, .width = 1 / input_scale});
}
Result<ValueId> import_celu(TorchSite& site, ValueId x, double alpha) {
  if (alpha == 0) return site.error("argument \"alpha\" is 0; the operator divides by it");
  return elu(site, x, {.alpha = alpha, .width = alpha});
}
/// log(1 + e^(beta x)) / beta; beyond the threshold x itself.
Status import_softplus(TorchSite& site, ValueId x, double beta, double threshold) {
  if (beta == 0) return site.error("argument \"beta\" is 0; the operator divides by it");
  // From 20 on the difference is beyond the digits of f32.
  if (beta == 1 && threshold >= 20 && site.dtype(x) != DType::f64) return site.give(UnaryOperator{U::softplus}, {x});
  WHET_TRY(const ValueId inner, scaled(site, x, beta));
  WHET_TRY(ValueId soft, site.add("soft", UnaryOperator{U::softplus}, {inner}));
  if (beta != 1) {
    WHET_TRY(soft, with_number(site, "unscaled", B::div, soft, beta));
  }
  WHET_TRY(const ValueId beyond, with_number(site, "beyond", B::greater, inner, threshold));
  return site.give(WhereOperator{}, {beyond, x, soft});
}
Status import_log_sigmoid(TorchSite& site, ValueId x) {
  WHET_TRY(const ValueId turned, site.add("turned", UnaryOperator{U::neg}, {x}));
  WHET_TRY(const ValueId soft, site.add("soft", UnaryOperator{U::softplus}, {turned}));
  return site.give(UnaryOperator{U::neg}, {soft});
}

/// |a| with the sign of b, of which -0 has one: its reciprocal is below 0.
Result<ValueId> import_copysign(TorchSite& site, ValueId a, ValueId b) {
  WHET_TRY(a, site.add("size", UnaryOperator{U::abs}, {a}));
  WHET_TRY(const ValueId turned, site.add("turned", UnaryOperator{U::neg}, {a}));
  WHET_TRY(const ValueId inverse, site.add("inverse", UnaryOperator{U::reciprocal}, {b}));
  WHET_TRY(const ValueId below, with_number(site, "below", B::less, b, 0));
  WHET_TRY(ValueId minus, with_number(site, "minus_zero", B::less, inverse, 0));
  WHET_TRY(minus, site.add("minus", BinaryOperator{B::logical_or}, {below, minus}));
  return chosen(site, minus, turned, a);
}
/// |a - b| <= atol + rtol |b|, or both equal.
Result<ValueId> import_isclose(TorchSite& site, ValueId a, ValueId b, double rtol, double atol, bool nan) {
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{B::equal}, {a, b}));
  WHET_TRY(ValueId far, site.add("rest", BinaryOperator{B::sub}, {a, b}));
  WHET_TRY(far, site.add("distance", UnaryOperator{U::abs}, {far}));
  WHET_TRY(ValueId room, site.add("size", UnaryOperator{U::abs}, {b}));
  WHET_TRY(room, with_number(site, "share", B::mul, room, rtol));
  WHET_TRY(room, with_number(site, "room", B::add, room, atol));
  WHET_TRY(ValueId close, site.add("within", BinaryOperator{B::less_equal}, {far, room}));
  WHET_TRY(const ValueId finite, is_finite(site, far));
  WHET_TRY(close, site.add("close", BinaryOperator{B::logical_and}, {close, finite}));
  WHET_TRY(close, site.add("equal_or_close", BinaryOperator{B::logical_or}, {equal, close}));
  if (!nan) return close;
  WHET_TRY(a, site.add("a_nan", UnaryOperator{U::is_nan}, {a}));
  WHET_TRY(b, site.add("b_nan", UnaryOperator{U::is_nan}, {b}));
  WHET_TRY(a, site.add("both_nan", BinaryOperator{B::logical_and}, {a, b}));
  return site.add("alike", BinaryOperator{B::logical_or}, {close, a});
}

// ---- Three operands, and choices.

/// x + value * (a ∘ b)
template <B kind>
Status import_added(TorchSite& site, ValueId x, ValueId a, ValueId b, double value) {
  WHET_TRY(ValueId both, site.add("both", BinaryOperator{kind}, {a, b}));
  WHET_TRY(both, scaled(site, both, value));
  return site.give(BinaryOperator{B::add}, {x, both});
}
/// x + weight * (end - x)
Status import_lerp(TorchSite& site, ValueId x, ValueId end, ValueId weight) {
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {end, x}));
  WHET_TRY(const ValueId part, site.add("part", BinaryOperator{B::mul}, {weight, way}));
  return site.give(BinaryOperator{B::add}, {x, part});
}
Result<ValueId> import_masked_fill(TorchSite& site, ValueId x, ValueId mask, ValueId value) {
  return chosen(site, mask, value, x);
}
Status import_nan_to_num(TorchSite& site, ValueId x, Clip nan, Clip high, Clip low) {
  const DType dtype = site.dtype(x);
  if (!is_float(dtype)) return site.give(x);
  const double most = dtype == DType::f64    ? std::numeric_limits<double>::max()
                      : dtype == DType::f16  ? 65504
                      : dtype == DType::bf16 ? 0x1.fep127
                                             : static_cast<double>(std::numeric_limits<float>::max());
  const ValueId top = site.add_scalar("infinity", dtype, kInfinity),
                bottom = site.add_scalar("minus_infinity", dtype, -kInfinity);
  WHET_TRY(const ValueId is_nan, site.add("is_nan", UnaryOperator{U::is_nan}, {x}));
  WHET_TRY(x, site.add("numbers", WhereOperator{}, {is_nan, site.add_scalar("nan", dtype, nan.value_or(0)), x}));
  WHET_TRY(const ValueId is_top, site.add("is_top", BinaryOperator{B::equal}, {x, top}));
  WHET_TRY(x, site.add("below", WhereOperator{}, {is_top, site.add_scalar("top", dtype, high.value_or(most)), x}));
  WHET_TRY(const ValueId is_bottom, site.add("is_bottom", BinaryOperator{B::equal}, {x, bottom}));
  return site.give(WhereOperator{}, {is_bottom, site.add_scalar("bottom", dtype, low.value_or(-most)), x});
}

// ---- Types, and numbers that are computed from sizes.

Result<ValueId> import_identity(TorchSite&, ValueId x) { return x; }
Status import_nothing(TorchSite&) { return ok_status(); }
Result<ValueId> import_dropout(TorchSite& site, ValueId x, double p, bool train) {
  WHET_RETURN_IF_ERROR(site.expect_no_dropout(p, train));
  return x;
}
Result<ValueId> import_to(TorchSite& site, ValueId x, std::optional<DType> dtype) {
  return dtype ? site.cast("typed", x, *dtype) : x;
}
Status import_number_truncated(TorchSite& site, ValueId x) { return site.give(CastOperator{DType::i64}, {x}); }
template <U kind>
Status import_number_rounded(TorchSite& site, ValueId x) {
  WHET_TRY(x, site.add("whole", UnaryOperator{kind}, {x}));
  return import_number_truncated(site, x);
}
Result<ValueId> import_sym_size(TorchSite& site, ValueId x, std::int64_t d) {
  return site.size_product({site.sizes(x)[static_cast<std::size_t>(d)]});
}
Result<ValueId> import_shape_as_tensor(TorchSite& site, ValueId x) { return site.size_list(site.sizes(x)); }
Result<ValueId> import_sym_numel(TorchSite& site, ValueId x) { return site.size_product(site.sizes(x)); }

constexpr std::string_view kFloats = "self:floats", kCommon = "self:common other:common",
                           kScaled = "self:common other:common alpha=1", kRatio = "self:ratio other:ratio",
                           kNumbers = "a:number b:number", kShifts = "Scalar Tensor Tensor_Scalar Scalar_Tensor",
                           kMostOf = "self:common max:common", kLeastOf = "self:common min:common",
                           kLeft = "self:common other:common =1", kRight = "self:common other:common =0";

}  // namespace

TorchRows elementwise_rows() {
  static constexpr TorchRow kRows[] = {
      {"_operator.add", "", kNumbers, calls<binary<B::add>>},
      {"_operator.eq", "", kNumbers, calls<binary<B::equal>>},
      {"_operator.floordiv", "", kNumbers, calls<floored_quotient>},
      {"_operator.ge", "", kNumbers, calls<binary<B::greater_equal>>},
      {"_operator.gt", "", kNumbers, calls<binary<B::greater>>},
      {"_operator.le", "", kNumbers, calls<binary<B::less_equal>>},
      {"_operator.lt", "", kNumbers, calls<binary<B::less>>},
      {"_operator.mod", "", "a:i64 b:i64", calls<binary<B::mod>>},
      {"_operator.mul", "", kNumbers, calls<binary<B::mul>>},
      {"_operator.neg", "", "a:number", calls<unary<U::neg>>},
      {"_operator.ne", "", kNumbers, calls<not_equal>},
      {"_operator.pow", "", kNumbers, calls<binary<B::pow>>},
      {"_operator.sub", "", kNumbers, calls<binary<B::sub>>},
      {"_operator.truediv", "", "a:f64 b:f64", calls<binary<B::div>>},
      {"aten._assert_async", "default msg", "~self ~message", calls<import_nothing>},
      {"aten._assert_scalar", "default", "~self ~message", calls<import_nothing>},
      {"aten._assert_tensor_metadata", "default", "~a ~size ~stride ~dtype", calls<import_nothing>},
      {"aten._shape_as_tensor", "default", "self", calls<import_shape_as_tensor>},
      {"aten._to_copy", "default", "self dtype?", calls<import_to>, kOfParts},
      {"aten.acos aten.arccos", "default", kFloats, calls<unary<U::acos>>},
      {"aten.acosh aten.arccosh", "default", kFloats, calls<unary<U::acosh>>, kWide},
      {"aten.add", "Tensor Scalar", kScaled, calls<import_add>, kWideIfSaid},
      {"aten.addcdiv", "default", "self:common tensor1:common tensor2:common value=1", calls<import_added<B::div>>,
       kWide},
      {"aten.addcmul", "default", "self:common tensor1:common tensor2:common value=1", calls<import_added<B::mul>>,
       kWide},
      {"aten.alias aten.clone aten.contiguous aten.detach aten.lift_fresh_copy", "default", "self",
       calls<import_identity>, kOfParts},
      {"aten.alpha_dropout aten.dropout aten.feature_alpha_dropout aten.feature_dropout", "default", "input p train",
       calls<import_dropout>},
      {"aten.arcsin aten.asin", "default", kFloats, calls<unary<U::asin>>},
      {"aten.arcsinh aten.asinh", "default", kFloats, calls<unary<U::asinh>>},
      {"aten.arctan aten.atan", "default", kFloats, calls<unary<U::atan>>},
      {"aten.arctan2 aten.atan2", "default", kRatio, calls<angle_of>, kWide},
      {"aten.arctanh aten.atanh", "default", kFloats, calls<unary<U::atanh>>},
      {"aten.bitwise_and aten.__and__", "Tensor Scalar", kCommon, calls<import_bitwise<B::logical_and>>},
      {"aten.bitwise_left_shift aten.__lshift__", kShifts, kLeft, calls<bit_shift>},
      {"aten.bitwise_right_shift aten.__rshift__", kShifts, kRight, calls<bit_shift>},
      {"aten.bitwise_not", "default", "self", calls<import_bitwise_not>},
      {"aten.bitwise_or aten.__or__", "Tensor Scalar", kCommon, calls<import_bitwise<B::logical_or>>},
      {"aten.bitwise_xor aten.__xor__", "Tensor Scalar", kCommon, calls<import_bitwise<B::logical_xor>>},
      {"aten.ceil", "default", "self", calls<import_rounding<U::ceil>>},
      {"aten.celu", "default", "self alpha=1", calls<import_celu>, kWide},
      {"aten.clamp aten.clip", "Tensor", "self:common min:common? max:common?", calls<import_clamp_tensor>},
      {"aten.clamp aten.clip", "default", "self:common min:common? max:common?", calls<import_clamp>},
      {"aten.clamp_max", "Tensor", kMostOf, calls<import_binary<B::min>>},
      {"aten.clamp_max", "default", "self:common max:common", calls<import_clamp_max>},
      {"aten.clamp_min", "Tensor", kLeastOf, calls<import_binary<B::max>>},
      {"aten.clamp_min", "default", "self:common min:common max?", calls<import_clamp>},
      {"aten.copysign", "Tensor Scalar", kRatio, calls<import_copysign>},
      {"aten.cos", "default", kFloats, calls<unary<U::cos>>},
      {"aten.cosh", "default", kFloats, calls<unary<U::cosh>>},
      {"aten.detach_ aten.lift_fresh", "default", "self", calls<import_identity>},
      {"aten.div aten.divide aten.true_divide", "Tensor Scalar", kRatio, calls<binary<B::div>>},
      {"aten.div aten.divide", "Tensor_mode Scalar_mode", "self:common other:common rounding_mode:floor|trunc?",
       calls<import_div_mode>, kWideIfSaid},
      {"aten.elu", "default", "self alpha=1 scale=1 input_scale=1", calls<import_elu>, kWide},
      {"aten.eq", "Tensor Scalar", kCommon, calls<import_binary<B::equal>>},
      {"aten.erf", "default", kFloats, calls<unary<U::erf>>},
      {"aten.erfc", "default", kFloats, calls<erfc>, kWide},
      {"aten.erfinv aten.special_erfinv", "default", kFloats, calls<erfinv>, kWide},
      {"aten.exp", "default", kFloats, calls<unary<U::exp>>},
      {"aten.exp2 aten.special_exp2", "default", kFloats, calls<import_exp2>, kWide},
      {"aten.expm1 aten.special_expm1", "default", kFloats, calls<expm1>, kWide},
      {"aten.fix aten.trunc", "default", "self", calls<truncated>},
      {"aten.floor", "default", "self", calls<import_rounding<U::floor>>},
      {"aten.floor_divide", "default Scalar", kCommon, calls<floored_quotient>, kWide},
      {"aten.fmax aten.maximum", "default", kCommon, calls<import_binary<B::max>>},
      {"aten.fmin aten.minimum", "default", kCommon, calls<import_binary<B::min>>},
      {"aten.fmod", "Tensor Scalar", kCommon, calls<truncated_remainder>, kWide},
      {"aten.ge aten.greater_equal", "Tensor Scalar", kCommon, calls<import_binary<B::greater_equal>>},
      {"aten.gelu", "default", "self approximate:none|tanh=none", calls<gelu>, kWide},
      {"aten.gt aten.greater", "Tensor Scalar", kCommon, calls<import_binary<B::greater>>},
      {"aten.hardshrink", "default", "self lambd=0.5 =0", calls<shrunk>, kWide},
      {"aten.hardsigmoid", "default", "self =0.16666666666666666 =0.5",
       calls<one_operand<HardSigmoidOperator, double, double>>, kWide},
      {"aten.hardswish", "default", kFloats, calls<unary<U::hard_swish>>, kWide},
      {"aten.hardtanh", "default", "self min_val=-1 max_val=1", calls<one_operand<ClipOperator, double, double>>},
      {"aten.hypot", "default", kCommon, calls<hypotenuse>, kWide},
      {"aten.isclose", "default", "self:ratio other:ratio rtol=1e-5 atol=1e-8 equal_nan=false", calls<import_isclose>},
      {"aten.isfinite", "default", kFloats, calls<is_finite>},
      {"aten.isinf", "default", "self:floats =1 =1", calls<is_infinite>},
      {"aten.isneginf", "default", "self:floats =1 =0", calls<is_infinite>},
      {"aten.isposinf", "default", "self:floats =0 =1", calls<is_infinite>},
      {"aten.isnan", "default", kFloats, calls<unary<U::is_nan>>},
      {"aten.le aten.less_equal", "Tensor Scalar", kCommon, calls<import_binary<B::less_equal>>},
      {"aten.leaky_relu", "default", "self negative_slope=0.01", calls<one_operand<LeakyReluOperator, double>>},
      {"aten.lgamma aten.special_gammaln", "default", kFloats, calls<lgamma>, kWide},
      {"aten.lerp", "Scalar Tensor", "self end weight(self)", calls<import_lerp>, kWide},
      {"aten.less aten.lt", "Tensor Scalar", kCommon, calls<import_binary<B::less>>},
      {"aten.log", "default", kFloats, calls<unary<U::log>>},
      {"aten.log10", "default", kFloats, calls<import_log<10>>, kWide},
      {"aten.log1p aten.special_log1p", "default", kFloats, calls<log1p>, kWide},
      {"aten.log2", "default", kFloats, calls<import_log<2>>, kWide},
      {"aten.log_sigmoid", "default", "self", calls<import_log_sigmoid>, kWide},
      {"aten.logical_and", "default", kCommon, calls<import_logical<B::logical_and>>},
      {"aten.logical_not", "default", "self:bool", calls<unary<U::logical_not>>},
      {"aten.logical_or", "default", kCommon, calls<import_logical<B::logical_or>>},
      {"aten.logical_xor", "default", kCommon, calls<import_logical<B::logical_xor>>},
      {"aten.masked_fill", "Scalar Tensor", "self mask:bool value(self)", calls<import_masked_fill>},
      {"aten.max", "other", kCommon, calls<import_binary<B::max>>},
      {"aten.min", "other", kCommon, calls<import_binary<B::min>>},
      {"aten.mish", "default", "self", calls<mish>, kWide},
      {"aten.mul aten.multiply", "Tensor Scalar", kCommon, calls<import_binary<B::mul>>, kOfProducts},
      {"aten.nan_to_num", "default", "self nan? posinf? neginf?", calls<import_nan_to_num>},
      {"aten.ne aten.not_equal", "Tensor Scalar", kCommon, calls<not_equal>},
      {"aten.neg aten.negative", "default", "self", calls<unary<U::neg>>, kOfParts},
      {"aten.pow", "Tensor_Scalar Tensor_Tensor Scalar", "self:common exponent:common", calls<import_pow>, kWide},
      {"aten.prelu aten._prelu_kernel", "default", "self weight", calls<import_prelu>, kWide},
      {"aten.reciprocal", "default", kFloats, calls<unary<U::reciprocal>>},
      {"aten.relu", "default", "self", calls<unary<U::relu>>},
      {"aten.relu6", "default", "self =0 =6", calls<one_operand<ClipOperator, double, double>>},
      {"aten.remainder", "Tensor Scalar", kCommon, calls<floored_remainder>, kWide},
      {"aten.round", "decimals", "self:floats decimals", calls<import_round_decimals>},
      {"aten.round", "default", "self", calls<import_rounding<U::round>>},
      {"aten.rsqrt", "default", kFloats, calls<reciprocal_root>, kWide},
      {"aten.rsub", "Tensor Scalar", kScaled, calls<import_rsub>, kWideIfSaid},
      {"aten.selu", "default", "self =1.6732632423543772 =1.0507009873554805 =1", calls<import_elu>, kWide},
      {"aten.sgn aten.sign", "default", "self", calls<unary<U::sign>>},
      {"aten.sigmoid aten.special_expit", "default", kFloats, calls<unary<U::sigmoid>>},
      {"aten.silu", "default", "self =1", calls<swish>, kWide},
      {"aten.sin", "default", kFloats, calls<unary<U::sin>>},
      {"aten.sinh", "default", kFloats, calls<unary<U::sinh>>},
      {"aten.softplus", "default", "self:floats beta=1 threshold=20", calls<import_softplus>, kWide},
      {"aten.softshrink", "default", "self lambd=0.5", calls<import_softshrink>, kWide},
      {"aten.special_erf", "default", kFloats, calls<unary<U::erf>>, kWide},
      {"aten.sqrt", "default", kFloats, calls<unary<U::sqrt>>},
      {"aten.square", "default", "self", calls<square>},
      {"aten.sub aten.subtract", "Tensor Scalar", kScaled, calls<import_sub>, kWideIfSaid},
      {"aten.sym_constrain_range aten.sym_constrain_range_for_size", "default", "~size ~min ~max",
       calls<import_nothing>},
      {"aten.sym_numel", "default", "self", calls<import_sym_numel>},
      {"aten.sym_size", "int", "self dim(self!)", calls<import_sym_size>},
      {"aten.tan", "default", kFloats, calls<unary<U::tan>>},
      {"aten.tanh", "default", kFloats, calls<unary<U::tanh>>},
      {"aten.threshold", "default", "self threshold value", calls<thresholded>},
      {"aten.to", "device", "self ~device dtype? ~non_blocking ~copy ~memory_format", calls<import_to>, kOfParts},
      {"aten.to", "dtype", "self dtype ~non_blocking ~copy ~memory_format", calls<import_to>, kOfParts},
      {"aten.to", "dtype_layout", "self dtype?", calls<import_to>, kOfParts},
      {"aten.to", "other", "self(other) other ~non_blocking ~copy ~memory_format", calls<import_identity>, kOfParts},
      {"aten.type_as", "default", "self(other) other", calls<import_identity>, kOfParts},
      {"aten.where", "self ScalarSelf ScalarOther Scalar", "condition:bool self:common other:common", calls<chosen>,
       kOfParts},
      {"math.ceil", "", "x:f64", calls<import_number_rounded<U::ceil>>},
      {"math.floor", "", "x:f64", calls<import_number_rounded<U::floor>>},
      {"math.sqrt torch._sym_sqrt", "", "x:f64", calls<unary<U::sqrt>>},
      {"math.trunc", "", "x:f64", calls<import_number_truncated>},
      {"torch.sym_float", "", "a:f64", calls<import_identity>},
      {"torch.sym_int", "", "a:f64", calls<import_number_truncated>},
      {"torch.sym_ite", "", "condition:bool a:number b:number", calls<chosen>},
      {"torch.sym_max", "", kNumbers, calls<binary<B::max>>},
      {"torch.sym_min", "", kNumbers, calls<binary<B::min>>},
      {"torch.sym_not", "", "a:bool", calls<unary<U::logical_not>>},
  };
  return kRows;
}

}  // namespace whet::torch
