#include <cmath>
#include <limits>

#include "import/onnx/importers.h"

namespace whet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// a ∘ b ∘ c ∘ ...; one input alone is the result.
Result<ValueId> chain(OnnxSite& site, BinaryKind kind, std::size_t count) {
  ValueId result = site.in(0);
  for (std::size_t i = 1; i < count; ++i) {
    WHET_TRY(result, site.add("step" + std::to_string(i), BinaryOperator{kind}, {result, site.in(i)}));
  }
  return result;
}

/// A bound of Clip: open when it is left out.
Result<double> bound(OnnxSite& site, std::size_t i, const char* what, double open) {
  if (!site.has(i)) return open;
  return site.known_number(i, what);
}

Status expect_one_float(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  if (is_float(site.dtype(0))) return ok_status();
  return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected f32, f64 or f16");
}

Result<ValueId> with_scalar(OnnxSite& site, const std::string& part, BinaryKind kind, ValueId x, double value) {
  const ValueId scalar = site.add_scalar(part + "_by", site.type(x).dtype, value);
  return site.add(part, BinaryOperator{kind}, {x, scalar});
}

/// gamma * (max(x, 0) + alpha * (exp(min(x, 0) / width) - 1))
Status give_elu(OnnxSite& site, double alpha, double gamma, double width) {
  WHET_RETURN_IF_ERROR(expect_one_float(site));
  WHET_TRY(const ValueId positive, site.add("positive", UnaryOperator{UnaryKind::relu}, {site.in(0)}));
  WHET_TRY(ValueId y, site.add("negative", ClipOperator{-kInfinity, 0}, {site.in(0)}));
  if (width != 1) {
    WHET_TRY(y, with_scalar(site, "narrowed", BinaryKind::div, y, width));
  }
  WHET_TRY(y, site.add("exp", UnaryOperator{UnaryKind::exp}, {y}));
  WHET_TRY(y, with_scalar(site, "lowered", BinaryKind::sub, y, 1));
  WHET_TRY(y, with_scalar(site, "scaled", BinaryKind::mul, y, alpha));
  if (gamma == 1) return site.give(BinaryOperator{BinaryKind::add}, {positive, y});
  WHET_TRY(y, site.add("sum", BinaryOperator{BinaryKind::add}, {positive, y}));
  return site.give(BinaryOperator{BinaryKind::mul}, {y, site.add_scalar("gamma", site.dtype(0), gamma)});
}

/// x * sigmoid(alpha * x)
Status give_swish(OnnxSite& site, double alpha_by_default) {
  WHET_RETURN_IF_ERROR(expect_one_float(site));
  WHET_TRY(const double alpha, site.number("alpha", alpha_by_default));
  ValueId inner = site.in(0);
  if (alpha != 1) {
    const ValueId factor = site.add_scalar("alpha", site.dtype(0), alpha);
    WHET_TRY(inner, site.add("scaled", BinaryOperator{BinaryKind::mul}, {inner, factor}));
  }
  WHET_TRY(const ValueId gate, site.add("gate", UnaryOperator{UnaryKind::sigmoid}, {inner}));
  return site.give(BinaryOperator{BinaryKind::mul}, {site.in(0), gate});
}

/// x * (1 + f) / 2, where f is erf(x / sqrt 2), or tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
Status give_gelu(OnnxSite& site, ValueId x, bool by_tanh) {
  if (!is_float(site.dtype(0))) return site.error("the input is " + to_string(site.type(x)) + "; expected floats");
  ValueId inner;
  if (!by_tanh) {
    WHET_TRY(inner, with_scalar(site, "divided", BinaryKind::div, x, 1.4142135623730951));
    WHET_TRY(inner, site.add("erf", UnaryOperator{UnaryKind::erf}, {inner}));
  } else {
    WHET_TRY(inner, with_scalar(site, "cube", BinaryKind::pow, x, 3));
    WHET_TRY(inner, with_scalar(site, "small", BinaryKind::mul, inner, 0.044715));
    WHET_TRY(inner, site.add("sum", BinaryOperator{BinaryKind::add}, {x, inner}));
    WHET_TRY(inner, with_scalar(site, "scaled", BinaryKind::mul, inner, 0.7978845608028654));
    WHET_TRY(inner, site.add("tanh", UnaryOperator{UnaryKind::tanh}, {inner}));
  }
  WHET_TRY(inner, with_scalar(site, "gate", BinaryKind::add, inner, 1));
  WHET_TRY(inner, site.add("gated", BinaryOperator{BinaryKind::mul}, {x, inner}));
  return site.give(BinaryOperator{BinaryKind::mul}, {inner, site.add_scalar("half", site.dtype(0), 0.5)});
}

/// Input 0 and, where there is one, the bias.
Result<ValueId> biased(OnnxSite& site) {
  if (!site.has(1)) return site.in(0);
  return site.add("biased", BinaryOperator{BinaryKind::add}, {site.in(0), site.in(1)});
}

/// Integers to the power of floats, in f64 and then towards zero. A power that only its rounding keeps from being whole
/// is whole: 2^3 is 8, not 7.
Status give_power_of_integers(OnnxSite& site) {
  ValueId exponent = site.in(1);
  if (site.dtype(1) != DType::f64) {
    WHET_TRY(exponent, site.add("exponent", CastOperator{DType::f64}, {exponent}));
  }
  WHET_TRY(const ValueId base, site.add("base", CastOperator{DType::f64}, {site.in(0)}));
  WHET_TRY(const ValueId power, site.add("power", BinaryOperator{BinaryKind::pow}, {base, exponent}));
  WHET_TRY(const ValueId whole, site.add("whole", UnaryOperator{UnaryKind::round}, {power}));
  WHET_TRY(ValueId rest, site.add("rest", BinaryOperator{BinaryKind::sub}, {power, whole}));
  WHET_TRY(rest, site.add("distance", UnaryOperator{UnaryKind::abs}, {rest}));
  WHET_TRY(ValueId slack, site.add("magnitude", UnaryOperator{UnaryKind::abs}, {power}));
  WHET_TRY(slack, with_scalar(site, "slack", BinaryKind::mul, slack, 0x1p-46));
  WHET_TRY(const ValueId near, site.add("near", BinaryOperator{BinaryKind::less_equal}, {rest, slack}));
  WHET_TRY(const ValueId y, site.add("chosen", WhereOperator{}, {near, whole, power}));
  return site.give(CastOperator{site.dtype(0)}, {y});
}

/// x where it is positive, else x * slope.
Status give_prelu(OnnxSite& site, ValueId slope) {
  WHET_TRY(const ValueId positive, site.add("positive", UnaryOperator{UnaryKind::relu}, {site.in(0)}));
  WHET_TRY(const ValueId negative, site.add("negative", ClipOperator{-kInfinity, 0}, {site.in(0)}));
  WHET_TRY(const ValueId scaled, site.add("scaled", BinaryOperator{BinaryKind::mul}, {negative, slope}));
  return site.give(BinaryOperator{BinaryKind::add}, {positive, scaled});
}

/// How casts to 8-bit floats end, which are refused.
void ignore_small_floats(OnnxSite& site) {
  site.ignore({"saturate"});
  if (site.opset() >= 24) site.ignore({"round_mode"});
}

}  // namespace

Status import_variadic(OnnxSite& site, BinaryKind kind) {
  const std::size_t count = site.input_count();
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4096));
  for (std::size_t i = 0; i < count; ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
  }
  if (count == 1) return site.pass(site.in(0));
  WHET_TRY(const ValueId head, chain(site, kind, count - 1));
  return site.give(BinaryOperator{kind}, {head, site.in(count - 1)});
}

Status import_mean(OnnxSite& site) {
  const std::size_t count = site.input_count();
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4096));
  for (std::size_t i = 0; i < count; ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
  }
  if (count == 1) return site.pass(site.in(0));
  WHET_TRY(const ValueId sum, chain(site, BinaryKind::add, count));
  const ValueId divisor = site.add_scalar("count", site.type(sum).dtype, static_cast<double>(count));
  return site.give(BinaryOperator{BinaryKind::div}, {sum, divisor});
}

/// The result has the base's type.
/// Before operator set 7 the second operand's dimensions stand at those of the first from `axis` on.
Status import_aligned(OnnxSite& site, BinaryKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (site.opset() < 6) site.ignore({"consumed_inputs"});
  WHET_TRY(const bool broadcasts, site.flag("broadcast", false));
  const Shape a = site.shape(0);
  Shape b = site.shape(1);
  WHET_TRY(const std::int64_t axis,
           site.integer("axis", static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size())));
  const bool fits = axis >= 0 && axis + static_cast<std::int64_t>(b.size()) <= static_cast<std::int64_t>(a.size());
  if (broadcasts && fits) b.resize(a.size() - static_cast<std::size_t>(axis), 1);
  if (broadcasts ? !fits || broadcast(a, b) != a : a != b) {
    return site.error("combines " + to_string(site.type(site.in(0))) + " and " + to_string(site.type(site.in(1))) +
                      (broadcasts ? " from axis " + std::to_string(axis) + " on; the second must fit into the first"
                                  : " without \"broadcast\"; expected equal shapes"));
  }
  ValueId second = site.in(1);
  if (b != site.shape(1)) {
    WHET_TRY(second, site.add("aligned", ReshapeOperator{b}, {second}));
  }
  return site.give(BinaryOperator{kind}, {site.in(0), second});
}

/// Before operator set 7 a list of slopes is one a channel.
Status import_prelu_channels(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (site.opset() < 6) site.ignore({"consumed_inputs"});
  const Shape x = site.shape(0), list = site.shape(1);
  const bool one = num_elements(list) == 1;
  if (!one && (x.size() < 2 || list != Shape{x[1]})) {
    return site.error("the slope is " + to_string(site.type(site.in(1))) + "; expected one a channel of " +
                      to_string(site.type(site.in(0))));
  }
  Shape column(one ? 0 : x.size() - 1, 1);
  if (!one) column[0] = x[1];
  WHET_TRY(const ValueId slope, site.add("slope", ReshapeOperator{column}, {site.in(1)}));
  return give_prelu(site, slope);
}

Status import_pow(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  ValueId exponent = site.in(1);
  if (site.dtype(0) != site.dtype(1)) {
    if (!is_float(site.dtype(0)) && is_float(site.dtype(1))) return give_power_of_integers(site);
    WHET_TRY(exponent, site.add("exponent", CastOperator{site.dtype(0)}, {exponent}));
  }
  return site.give(BinaryOperator{BinaryKind::pow}, {site.in(0), exponent});
}

Status import_mod(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const bool fmod, site.flag("fmod", false));
  const ValueId a = site.in(0), b = site.in(1);
  if (fmod && !is_float(site.dtype(0))) {  // the sign of the dividend: a - b * (a / b)
    WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{BinaryKind::div}, {a, b}));
    WHET_TRY(const ValueId product, site.add("product", BinaryOperator{BinaryKind::mul}, {b, quotient}));
    return site.give(BinaryOperator{BinaryKind::sub}, {a, product});
  }
  if (!fmod && is_float(site.dtype(0))) {
    return site.error("attribute \"fmod\" is 0 for " + to_string(site.type(a)) + "; expected 1 for floats");
  }
  return site.give(BinaryOperator{BinaryKind::mod}, {site.in(0), site.in(1)});
}

Status import_clip_attributes(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double low, site.number("min", -kInfinity));
  WHET_TRY(const double high, site.number("max", kInfinity));
  return site.give(ClipOperator{low, high}, {site.in(0)});
}

Status import_clip(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 3));
  const bool known = (!site.has(1) || site.constant(1) != nullptr) && (!site.has(2) || site.constant(2) != nullptr);
  if (known) {
    WHET_TRY(const double low, bound(site, 1, "lower bound", -kInfinity));
    WHET_TRY(const double high, bound(site, 2, "upper bound", kInfinity));
    return site.give(ClipOperator{low, high}, {site.in(0)});
  }
  ValueId x = site.in(0);
  if (site.has(1) && site.has(2)) {
    WHET_TRY(x, site.add("low", BinaryOperator{BinaryKind::max}, {x, site.in(1)}));
  }
  const bool upper = site.has(2);
  return site.give(BinaryOperator{upper ? BinaryKind::min : BinaryKind::max}, {x, site.in(upper ? 2 : 1)});
}

Status import_hard_sigmoid(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  HardSigmoidOperator op;
  WHET_TRY(op.alpha, site.number("alpha", 0.2));
  WHET_TRY(op.beta, site.number("beta", 0.5));
  return site.give(op, {site.in(0)});
}

Status import_leaky_relu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  LeakyReluOperator op;
  WHET_TRY(op.alpha, site.number("alpha", 0.01));
  return site.give(op, {site.in(0)});
}

/// max(x, 0) + slope * min(x, 0)
Status import_prelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  if (broadcast(site.shape(0), site.shape(1)) != site.shape(0)) {
    return site.error("the slope is " + to_string(site.type(site.in(1))) + "; it must broadcast to " +
                      to_string(site.type(site.in(0))));
  }
  return give_prelu(site, site.in(1));
}

Status import_elu(OnnxSite& site) {
  WHET_TRY(const double alpha, site.number("alpha", 1));
  return give_elu(site, alpha, 1, 1);
}

Status import_selu(OnnxSite& site) {
  WHET_TRY(const double alpha, site.number("alpha", 1.6732632423543772));
  WHET_TRY(const double gamma, site.number("gamma", 1.0507009873554805));
  return give_elu(site, alpha, gamma, 1);
}

Status import_celu(OnnxSite& site) {
  WHET_TRY(const double alpha, site.number("alpha", 1));
  if (alpha == 0) return site.error("attribute \"alpha\" is 0; the operator divides by it");
  return give_elu(site, alpha, 1, alpha);
}

/// x where it is above alpha, else 0
Status import_thresholded_relu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(expect_one_float(site));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  const ValueId x = site.in(0), threshold = site.add_scalar("alpha", site.dtype(0), alpha);
  const ValueId zero = site.add_scalar("zero", site.dtype(0), 0);
  WHET_TRY(const ValueId above, site.add("above", BinaryOperator{BinaryKind::greater}, {x, threshold}));
  return site.give(WhereOperator{}, {above, x, zero});
}

/// x * tanh(softplus(x))
Status import_mish(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(expect_one_float(site));
  WHET_TRY(const ValueId soft, site.add("softplus", UnaryOperator{UnaryKind::softplus}, {site.in(0)}));
  WHET_TRY(const ValueId gate, site.add("tanh", UnaryOperator{UnaryKind::tanh}, {soft}));
  return site.give(BinaryOperator{BinaryKind::mul}, {site.in(0), gate});
}

Status import_swish(OnnxSite& site) { return give_swish(site, 1); }
Status import_quick_gelu(OnnxSite& site) { return give_swish(site, 1.702); }

Status import_gelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(expect_one_float(site));
  WHET_TRY(const std::size_t mode, site.choice("approximate", "none", {"none", "tanh"}));
  return give_gelu(site, site.in(0), mode == 1);
}
/// With a bias of the channels, which the second may do without.
Status import_bias_gelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId x, biased(site));
  return give_gelu(site, x, false);
}
Status import_fast_gelu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 2));
  WHET_TRY(const ValueId x, biased(site));
  return give_gelu(site, x, true);
}

/// Whether x is infinite, with a sign that counts.
Status import_is_inf(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(expect_one_float(site));
  WHET_TRY(const bool negative, site.flag("detect_negative", true));
  WHET_TRY(const bool positive, site.flag("detect_positive", true));
  if (!negative && !positive) {
    const ValueId no = site.add_scalar("no", DType::boolean, 0);
    return site.give(ExpandOperator{site.shape(0)}, {no});
  }
  ValueId x = site.in(0);
  if (negative && positive) {
    WHET_TRY(x, site.add("magnitude", UnaryOperator{UnaryKind::abs}, {x}));
  }
  const ValueId infinite = site.add_scalar("infinity", site.dtype(0), positive ? kInfinity : -kInfinity);
  return site.give(BinaryOperator{BinaryKind::equal}, {x, infinite});
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
Status import_shrink(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const double lambda, site.number("lambd", 0.5));
  WHET_TRY(const double bias, site.number("bias", 0));
  const ValueId x = site.in(0), low = site.add_scalar("low", site.dtype(0), -lambda);
  const ValueId high = site.add_scalar("high", site.dtype(0), lambda);
  const ValueId zero = site.add_scalar("zero", site.dtype(0), 0);
  WHET_TRY(const ValueId below, site.add("below", BinaryOperator{BinaryKind::less}, {x, low}));
  WHET_TRY(const ValueId above, site.add("above", BinaryOperator{BinaryKind::greater}, {x, high}));
  WHET_TRY(const ValueId raised, with_scalar(site, "raised", BinaryKind::add, x, bias));
  WHET_TRY(const ValueId lowered, with_scalar(site, "lowered", BinaryKind::sub, x, bias));
  WHET_TRY(const ValueId upper, site.add("upper", WhereOperator{}, {above, lowered, zero}));
  return site.give(WhereOperator{}, {below, raised, upper});
}

Status import_where(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  return site.give(WhereOperator{}, {site.in(0), site.in(1), site.in(2)});
}

Status import_cast_like(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  ignore_small_floats(site);
  if (site.dtype(0) == site.dtype(1)) return site.pass(site.in(0));
  return site.give(CastOperator{site.dtype(1)}, {site.in(0)});
}

Status import_cast(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("to"));
  ignore_small_floats(site);
  WHET_TRY(const std::int64_t to, site.integer("to", 0));
  const auto dtype = dtype_of_onnx(to);
  if (!dtype) {
    return site.error("casts to " + onnx_type_name(to) +
                      "; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
  }
  if (*dtype == site.dtype(0)) return site.pass(site.in(0));
  return site.give(CastOperator{*dtype}, {site.in(0)});
}

}  // namespace whet
