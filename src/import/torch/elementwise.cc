#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/elementary.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

using B = BinaryKind;
using U = UnaryKind;

/// Two operands in the type that torch computes in.
struct Pair {
  ValueId a, b;
};
Result<Pair> operands(TorchSite& site, std::string_view a, std::string_view b) {
  WHET_TRY(const DType dtype, site.common_type({a, b}));
  WHET_TRY(const ValueId left, site.operand(a, dtype));
  WHET_TRY(const ValueId right, site.operand(b, dtype));
  return Pair{left, right};
}
Result<Pair> operands(TorchSite& site) { return operands(site, "self", "other"); }

/// Integers as f32.
Result<Pair> float_operands(TorchSite& site, std::string_view a, std::string_view b) {
  WHET_TRY(DType dtype, site.common_type({a, b}));
  if (!is_float(dtype)) dtype = DType::f32;
  WHET_TRY(const ValueId left, site.operand(a, dtype));
  WHET_TRY(const ValueId right, site.operand(b, dtype));
  return Pair{left, right};
}

/// a + factor * b, the factor being argument `name`.
Result<ValueId> scaled_by(TorchSite& site, std::string_view name, ValueId x) {
  WHET_TRY(const double factor, site.number(name));
  return factor == 1 ? Result<ValueId>(x) : with_number(site, std::string(name), B::mul, x, factor);
}

/// Booleans are added as numbers, and are then booleans again.
Result<ValueId> combined(TorchSite& site, B kind, Pair pair) {
  if (site.dtype(pair.a) != DType::boolean || kind == B::equal)
    return site.add("combined", BinaryOperator{kind}, {pair.a, pair.b});
  if (kind == B::add || kind == B::max) return site.add("combined", BinaryOperator{B::logical_or}, {pair.a, pair.b});
  if (kind == B::mul || kind == B::min) return site.add("combined", BinaryOperator{B::logical_and}, {pair.a, pair.b});
  WHET_TRY(const ValueId a, site.cast("a_number", pair.a, DType::u8));
  WHET_TRY(const ValueId b, site.cast("b_number", pair.b, DType::u8));
  return site.add("combined", BinaryOperator{kind}, {a, b});
}

/// Integers divided towards minus infinity.
Result<ValueId> floored_quotient(TorchSite& site, Pair pair) {
  if (is_float(site.dtype(pair.a))) {
    WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{B::div}, {pair.a, pair.b}));
    return site.add("floored", UnaryOperator{U::floor}, {quotient});
  }
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::mod}, {pair.a, pair.b}));
  WHET_TRY(const ValueId whole, site.add("whole", BinaryOperator{B::sub}, {pair.a, rest}));
  return site.add("floored", BinaryOperator{B::div}, {whole, pair.b});
}

/// The quotient towards zero.
Result<ValueId> truncated_quotient(TorchSite& site, Pair pair) {
  WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{B::div}, {pair.a, pair.b}));
  if (!is_float(site.dtype(pair.a))) return quotient;
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{U::sign}, {quotient}));
  WHET_TRY(ValueId size, site.add("size", UnaryOperator{U::abs}, {quotient}));
  WHET_TRY(size, site.add("size_floored", UnaryOperator{U::floor}, {size}));
  return site.add("truncated", BinaryOperator{B::mul}, {sign, size});
}

Status give_log(TorchSite& site, double base) {
  WHET_TRY(const ValueId x, site.floats("self"));
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {x}));
  return site.give(with_number(site, "scaled", B::mul, log, 1 / std::log(base)));
}

Status import_unary(TorchSite& site, UnaryKind kind) {
  const bool numbers = kind == U::relu || kind == U::neg || kind == U::sign;
  WHET_TRY(const ValueId given, site.tensor("self"));
  const bool whole = kind == U::floor || kind == U::ceil || kind == U::round;
  if (whole && !is_float(site.dtype(given))) return site.pass(given);
  WHET_TRY(const ValueId x, numbers ? site.tensor("self") : site.floats("self"));
  return site.give(UnaryOperator{kind}, {x});
}

Status import_binary(TorchSite& site, BinaryKind kind) {
  WHET_TRY(const Pair pair, operands(site));
  return site.give(combined(site, kind, pair));
}

/// Of booleans; of other numbers whether they are not 0, or bit by bit.
Status import_logical(TorchSite& site, BinaryKind kind) {
  WHET_TRY(const Pair pair, operands(site));
  const bool bits = site.op().find("bitwise") != std::string::npos;
  if (bits && site.dtype(pair.a) != DType::boolean) return site.give(bitwise(site, kind, pair.a, pair.b));
  WHET_TRY(const ValueId a, site.cast("a_true", pair.a, DType::boolean));
  WHET_TRY(const ValueId b, site.cast("b_true", pair.b, DType::boolean));
  return site.give(BinaryOperator{kind}, {a, b});
}

Status import_logical_not(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  if (site.op().find("bitwise") != std::string::npos && site.dtype(x) != DType::boolean)
    return site.give(bitwise_not(site, x));
  WHET_TRY(const ValueId truth, site.cast("truth", x, DType::boolean));
  return site.give(UnaryOperator{U::logical_not}, {truth});
}

/// The whole number next to x on the side of 0.
Status import_trunc(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  if (!is_float(site.dtype(x))) return site.pass(x);
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId whole, site.add("whole", UnaryOperator{U::floor}, {size}));
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{U::sign}, {x}));
  return site.give(BinaryOperator{B::mul}, {whole, sign});
}

Status import_not_equal(TorchSite& site) {
  WHET_TRY(const Pair pair, operands(site));
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{B::equal}, {pair.a, pair.b}));
  return site.give(UnaryOperator{U::logical_not}, {equal});
}

Status import_add(TorchSite& site) {
  WHET_TRY(Pair pair, operands(site));
  WHET_TRY(pair.b, scaled_by(site, "alpha", pair.b));
  return site.give(combined(site, B::add, pair));
}
Status import_sub(TorchSite& site) {
  WHET_TRY(Pair pair, operands(site));
  WHET_TRY(pair.b, scaled_by(site, "alpha", pair.b));
  return site.give(BinaryOperator{B::sub}, {pair.a, pair.b});
}
Status import_rsub(TorchSite& site) {
  WHET_TRY(Pair pair, operands(site));
  WHET_TRY(pair.a, scaled_by(site, "alpha", pair.a));
  return site.give(BinaryOperator{B::sub}, {pair.b, pair.a});
}

Status import_div(TorchSite& site) {
  WHET_TRY(const Pair pair, float_operands(site, "self", "other"));
  return site.give(BinaryOperator{B::div}, {pair.a, pair.b});
}
Status import_div_mode(TorchSite& site) {
  if (!site.has("rounding_mode")) return import_div(site);
  WHET_TRY(const std::string mode, site.text("rounding_mode"));
  WHET_TRY(const Pair pair, operands(site));
  if (mode == "floor") return site.give(floored_quotient(site, pair));
  if (mode == "trunc") return site.give(truncated_quotient(site, pair));
  return site.error("argument \"rounding_mode\" is " + mode + "; expected floor or trunc");
}
Status import_floor_divide(TorchSite& site) {
  WHET_TRY(const Pair pair, operands(site));
  return site.give(floored_quotient(site, pair));
}

/// What is left of a division, with the sign of the divisor.
Status import_remainder(TorchSite& site) {
  WHET_TRY(const Pair pair, operands(site));
  if (!is_float(site.dtype(pair.a))) return site.give(BinaryOperator{B::mod}, {pair.a, pair.b});
  WHET_TRY(const ValueId quotient, floored_quotient(site, pair));
  WHET_TRY(const ValueId whole, site.add("whole", BinaryOperator{B::mul}, {quotient, pair.b}));
  return site.give(BinaryOperator{B::sub}, {pair.a, whole});
}
Status import_fmod(TorchSite& site) {
  WHET_TRY(const Pair pair, operands(site));
  return site.give(truncated_remainder(site, pair.a, pair.b));
}

/// Squares and roots are cheaper than powers.
Status import_pow(TorchSite& site) {
  WHET_TRY(const Pair pair, operands(site, "self", "exponent"));
  const Tensor* exponent = site.constant(pair.b);
  const double power = exponent != nullptr && exponent->size() == 1 ? exponent->get(0) : std::nan("");
  if (power == 1 && site.rank(pair.b) == 0) return site.pass(pair.a);
  if (power == 2 && site.rank(pair.b) == 0) return site.give(BinaryOperator{B::mul}, {pair.a, pair.a});
  if (power == 0.5 && site.rank(pair.b) == 0) return site.give(UnaryOperator{U::sqrt}, {pair.a});
  return site.give(whet::power(site, pair.a, pair.b));
}

Status import_square(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(BinaryOperator{B::mul}, {x, x});
}
Status import_reciprocal(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  return site.give(UnaryOperator{U::reciprocal}, {x});
}
Status import_rsqrt(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  WHET_TRY(const ValueId root, site.add("root", UnaryOperator{U::sqrt}, {x}));
  return site.give(UnaryOperator{U::reciprocal}, {root});
}
Status import_log1p(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  return site.give(log1p(site, x));
}
Status import_log2(TorchSite& site) { return give_log(site, 2); }
Status import_log10(TorchSite& site) { return give_log(site, 10); }
Status import_exp2(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  WHET_TRY(const ValueId scaled, with_number(site, "scaled", B::mul, x, std::log(2.0)));
  return site.give(UnaryOperator{U::exp}, {scaled});
}
Status import_expm1(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  return site.give(expm1(site, x));
}
Status import_erfc(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  return site.give(erfc(site, x));
}
Status import_round_decimals(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  WHET_TRY(const std::int64_t decimals, site.integer("decimals"));
  if (decimals < -30 || decimals > 30) return site.error("argument \"decimals\" is " + std::to_string(decimals));
  const double factor = std::pow(10.0, static_cast<double>(decimals));
  WHET_TRY(const ValueId scaled, with_number(site, "scaled", B::mul, x, factor));
  WHET_TRY(const ValueId rounded, site.add("rounded", UnaryOperator{U::round}, {scaled}));
  return site.give(with_number(site, "back", B::div, rounded, factor));
}

// ---- Activations.

Status import_clamp(TorchSite& site) {
  ClipOperator op{-kInfinity, kInfinity};
  const bool only_max = site.op().find("clamp_max") != std::string::npos;
  const bool only_min = site.op().find("clamp_min") != std::string::npos;
  std::vector<std::string_view> names = {"self"};
  if (!only_max && site.has("min")) names.emplace_back("min");
  if (!only_min && site.has("max")) names.emplace_back("max");
  WHET_TRY(const DType dtype, site.common_type(names));
  WHET_TRY(const ValueId x, site.operand("self", dtype));
  if (!only_max && site.has("min")) {
    WHET_TRY(op.low, site.number("min"));
  }
  if (!only_min && site.has("max")) {
    WHET_TRY(op.high, site.number("max"));
  }
  // Where the bounds cross, the upper one holds.
  op.low = std::min(op.low, op.high);
  return site.give(op, {x});
}
Status import_clamp_tensor(TorchSite& site) {
  std::vector<std::string_view> names = {"self"};
  for (const std::string_view name : {"min", "max"})
    if (site.has(name)) names.push_back(name);
  WHET_TRY(const DType dtype, site.common_type(names));
  WHET_TRY(ValueId x, site.operand("self", dtype));
  for (std::size_t i = 1; i < names.size(); ++i) {
    WHET_TRY(const ValueId bound, site.operand(names[i], dtype));
    WHET_TRY(x, site.add("bounded", BinaryOperator{names[i] == "min" ? B::max : B::min}, {x, bound}));
  }
  return names.size() == 1 ? site.pass(x) : site.give(x);
}
Status import_relu6(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(ClipOperator{0, 6}, {x});
}
Status import_hardtanh(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  ClipOperator op{};
  WHET_TRY(op.low, site.number("min_val"));
  WHET_TRY(op.high, site.number("max_val"));
  return site.give(op, {x});
}
Status import_leaky_relu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  LeakyReluOperator op;
  WHET_TRY(op.alpha, site.number("negative_slope"));
  return site.give(op, {x});
}
Status import_prelu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId slopes, site.tensor("weight"));
  // After decomposition the slopes have the input's dimensions already.
  if (site.rank(slopes) > 1) return site.give(prelu(site, x, slopes));
  return site.give(prelu_of_channels(site, x, slopes));
}
Status import_threshold(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const double threshold, site.number("threshold"));
  WHET_TRY(const double value, site.number("value"));
  return site.give(thresholded(site, x, threshold, value));
}
Status import_hardshrink(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const double lambda, site.number("lambd"));
  return site.give(shrunk(site, x, lambda, 0));
}
Status import_softshrink(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const double lambda, site.number("lambd"));
  return site.give(shrunk(site, x, lambda, lambda));
}
Status import_elu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const double alpha, site.number("alpha"));
  WHET_TRY(const double scale, site.number("scale"));
  WHET_TRY(const double input_scale, site.number("input_scale"));
  if (input_scale == 0) return site.error("argument \"input_scale\" is 0");
  return site.give(elu(site, x, {.alpha = alpha, .gamma = scale, .width = 1 / input_scale}));
}
Status import_selu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(elu(site, x, {.alpha = 1.6732632423543772, .gamma = 1.0507009873554805}));
}
Status import_celu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const double alpha, site.number("alpha"));
  if (alpha == 0) return site.error("argument \"alpha\" is 0; the operator divides by it");
  return site.give(elu(site, x, {.alpha = alpha, .width = alpha}));
}
Status import_gelu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  // The default of the table reads as none.
  const bool given = site.has("approximate");
  WHET_TRY(const std::string form, given ? site.text("approximate") : Result<std::string>(std::string("none")));
  if (form != "none" && form != "tanh")
    return site.error("argument \"approximate\" is " + form + "; expected none or tanh");
  return site.give(gelu(site, x, form == "tanh" ? Gelu::tanh : Gelu::erf));
}
Status import_silu(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(swish(site, x, 1));
}
Status import_mish(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(mish(site, x));
}
Status import_hardsigmoid(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(HardSigmoidOperator{1.0 / 6, 0.5}, {x});
}
/// log(1 + e^(beta x)) / beta; beyond the threshold x itself.
Status import_softplus(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  WHET_TRY(const double beta, site.number("beta"));
  WHET_TRY(const double threshold, site.number("threshold"));
  if (beta == 0) return site.error("argument \"beta\" is 0; the operator divides by it");
  ValueId scaled = x;
  if (beta != 1) {
    WHET_TRY(scaled, with_number(site, "scaled", B::mul, x, beta));
  }
  // From 20 on the difference is beyond the digits of f32.
  if (beta == 1 && threshold >= 20 && site.dtype(x) != DType::f64) return site.give(UnaryOperator{U::softplus}, {x});
  WHET_TRY(ValueId soft, site.add("soft", UnaryOperator{U::softplus}, {scaled}));
  if (beta != 1) {
    WHET_TRY(soft, with_number(site, "unscaled", B::div, soft, beta));
  }
  WHET_TRY(const ValueId beyond, with_number(site, "beyond", B::greater, scaled, threshold));
  return site.give(WhereOperator{}, {beyond, x, soft});
}
Status import_log_sigmoid(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId turned, site.add("turned", UnaryOperator{U::neg}, {x}));
  WHET_TRY(const ValueId soft, site.add("soft", UnaryOperator{U::softplus}, {turned}));
  return site.give(UnaryOperator{U::neg}, {soft});
}

// ---- Three operands, and choices.

/// self + value * (tensor1 ∘ tensor2)
Status give_added(TorchSite& site, B kind) {
  WHET_TRY(const DType dtype, site.common_type({"self", "tensor1", "tensor2"}));
  WHET_TRY(const ValueId x, site.operand("self", dtype));
  WHET_TRY(const ValueId a, site.operand("tensor1", dtype));
  WHET_TRY(const ValueId b, site.operand("tensor2", dtype));
  WHET_TRY(ValueId both, site.add("both", BinaryOperator{kind}, {a, b}));
  WHET_TRY(both, scaled_by(site, "value", both));
  return site.give(BinaryOperator{B::add}, {x, both});
}

Status import_addcmul(TorchSite& site) { return give_added(site, B::mul); }
Status import_addcdiv(TorchSite& site) { return give_added(site, B::div); }

/// x + weight * (end - x)
Status import_lerp(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId end, site.tensor("end"));
  WHET_TRY(const ValueId weight, site.operand("weight", site.dtype(x)));
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {end, x}));
  WHET_TRY(const ValueId part, site.add("part", BinaryOperator{B::mul}, {weight, way}));
  return site.give(BinaryOperator{B::add}, {x, part});
}

Status import_where(TorchSite& site) {
  WHET_TRY(ValueId condition, site.tensor("condition"));
  WHET_TRY(condition, site.cast("truth", condition, DType::boolean));
  WHET_TRY(const Pair pair, operands(site));
  return site.give(WhereOperator{}, {condition, pair.a, pair.b});
}

Status import_masked_fill(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(ValueId mask, site.tensor("mask"));
  WHET_TRY(mask, site.cast("truth", mask, DType::boolean));
  WHET_TRY(const ValueId value, site.operand("value", site.dtype(x)));
  return site.give(WhereOperator{}, {mask, value, x});
}

/// The angle of (x, y) by that of y / x, which is moved where x is negative.
Status import_atan2(TorchSite& site) {
  WHET_TRY(const Pair pair, float_operands(site, "self", "other"));
  return site.give(angle_of(site, pair.a, pair.b));
}

Status import_is_inf(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  return site.give(is_infinite(site, x, true, true));
}
Status import_is_finite(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  // Neither infinite nor no number: the difference from itself is 0.
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {x, x}));
  return site.give(with_number(site, "finite", B::equal, rest, 0));
}
Status import_nan_to_num(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("self"));
  const DType dtype = site.dtype(x);
  if (!is_float(dtype)) return site.pass(x);
  const double most = dtype == DType::f64   ? std::numeric_limits<double>::max()
                      : dtype == DType::f16 ? 65504
                                            : static_cast<double>(std::numeric_limits<float>::max());
  double nan = 0;
  ClipOperator op{-most, most};
  if (site.has("nan")) {
    WHET_TRY(nan, site.number("nan"));
  }
  if (site.has("posinf")) {
    WHET_TRY(op.high, site.number("posinf"));
  }
  if (site.has("neginf")) {
    WHET_TRY(op.low, site.number("neginf"));
  }
  const ValueId top = site.add_scalar("infinity", dtype, kInfinity),
                bottom = site.add_scalar("minus_infinity", dtype, -kInfinity);
  WHET_TRY(const ValueId is_nan, site.add("is_nan", UnaryOperator{U::is_nan}, {x}));
  WHET_TRY(x, site.add("numbers", WhereOperator{}, {is_nan, site.add_scalar("nan", dtype, nan), x}));
  WHET_TRY(const ValueId is_top, site.add("is_top", BinaryOperator{B::equal}, {x, top}));
  WHET_TRY(x, site.add("below", WhereOperator{}, {is_top, site.add_scalar("top", dtype, op.high), x}));
  WHET_TRY(const ValueId is_bottom, site.add("is_bottom", BinaryOperator{B::equal}, {x, bottom}));
  return site.give(WhereOperator{}, {is_bottom, site.add_scalar("bottom", dtype, op.low), x});
}

// ---- Types.

Status import_identity(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.pass(x);
}
Status import_nothing(TorchSite&) { return ok_status(); }
Status import_dropout(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const bool train, site.flag("train"));
  WHET_TRY(const double p, site.number("p"));
  if (train && p != 0)
    return site.error("drops numbers at random, as in training; in Python: model.eval() before torch.export.export");
  return site.pass(x);
}
Status import_to_dtype(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const DType dtype, site.dtype("dtype"));
  if (site.dtype(x) == dtype) return site.pass(x);
  return site.give(CastOperator{dtype}, {x});
}
Status import_to_copy(TorchSite& site) {
  if (site.has("dtype")) return import_to_dtype(site);
  return import_identity(site);
}
Status import_type_as(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const ValueId other, site.tensor("other"));
  if (site.dtype(x) == site.dtype(other)) return site.pass(x);
  return site.give(CastOperator{site.dtype(other)}, {x});
}

// ---- Numbers that are computed from sizes.

Result<Pair> number_operands(TorchSite& site, bool as_floats) {
  WHET_TRY(const ValueId a, site.operand("a", as_floats ? DType::f64 : DType::i64));
  WHET_TRY(const ValueId b, site.operand("b", as_floats ? DType::f64 : DType::i64));
  return Pair{a, b};
}
Result<bool> any_float(TorchSite& site) {
  WHET_TRY(const DType dtype, site.common_type({"a", "b"}));
  return is_float(dtype);
}

Status import_number(TorchSite& site, BinaryKind kind) {
  WHET_TRY(const bool floats, any_float(site));
  WHET_TRY(const Pair pair, number_operands(site, floats));
  return site.give(BinaryOperator{kind}, {pair.a, pair.b});
}
Status import_equal_numbers(TorchSite& site) { return import_number(site, B::equal); }
Status import_number_floor_division(TorchSite& site) {
  WHET_TRY(const bool floats, any_float(site));
  WHET_TRY(const Pair pair, number_operands(site, floats));
  return site.give(floored_quotient(site, pair));
}
Status import_number_division(TorchSite& site) {
  WHET_TRY(const Pair pair, number_operands(site, true));
  return site.give(BinaryOperator{B::div}, {pair.a, pair.b});
}
Status import_number_mod(TorchSite& site) {
  WHET_TRY(const Pair pair, number_operands(site, false));
  return site.give(BinaryOperator{B::mod}, {pair.a, pair.b});
}
Status import_number_negated(TorchSite& site) {
  WHET_TRY(const DType dtype, site.common_type({"a"}));
  WHET_TRY(const ValueId value, site.operand("a", is_float(dtype) ? DType::f64 : DType::i64));
  return site.give(UnaryOperator{U::neg}, {value});
}
Status import_number_truncated(TorchSite& site) {
  WHET_TRY(const ValueId value, site.operand("a", DType::f64));
  return site.give(CastOperator{DType::i64}, {value});
}
Status import_sym_size(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  if (site.rank(x) == 0) return site.error("asks for the size of a scalar");
  return site.give(site.size_product({site.sizes(x)[static_cast<std::size_t>(d)]}));
}
Status import_shape_as_tensor(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(site.size_list(site.sizes(x)));
}
Status import_sym_numel(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(site.size_product(site.sizes(x)));
}

template <BinaryKind K>
Status import_number(TorchSite& site) {
  return import_number(site, K);
}
template <UnaryKind K>
Status import_unary(TorchSite& site) {
  return import_unary(site, K);
}
template <BinaryKind K>
Status import_logical(TorchSite& site) {
  return import_logical(site, K);
}
template <BinaryKind K>
Status import_binary(TorchSite& site) {
  return import_binary(site, K);
}

constexpr std::string_view kCopy = "self dtype=none";
constexpr std::string_view kNumbers = "a b";

}  // namespace

TorchRows elementwise_rows() {
  static constexpr TorchRow kRows[] = {
      {"_operator.add", "", kNumbers, import_number<B::add>},
      {"_operator.eq", "", kNumbers, import_equal_numbers},
      {"_operator.floordiv", "", kNumbers, import_number_floor_division},
      {"_operator.ge", "", kNumbers, import_number<B::greater_equal>},
      {"_operator.gt", "", kNumbers, import_number<B::greater>},
      {"_operator.le", "", kNumbers, import_number<B::less_equal>},
      {"_operator.lt", "", kNumbers, import_number<B::less>},
      {"_operator.mod", "", kNumbers, import_number_mod},
      {"_operator.mul", "", kNumbers, import_number<B::mul>},
      {"_operator.neg", "", "a", import_number_negated},
      {"_operator.pow", "", kNumbers, import_number<B::pow>},
      {"_operator.sub", "", kNumbers, import_number<B::sub>},
      {"_operator.truediv", "", kNumbers, import_number_division},
      {"aten._assert_async", "default msg", "self message=none", import_nothing},
      {"aten._assert_scalar", "default", "self message=none", import_nothing},
      {"aten._assert_tensor_metadata", "default", "a size=none stride=none dtype=none", import_nothing},
      {"aten._prelu_kernel", "default", "self weight", import_prelu},
      {"aten._shape_as_tensor", "default", "self", import_shape_as_tensor},
      {"aten._to_copy", "default", kCopy, import_to_copy},
      {"aten.acos", "default", "self", import_unary<U::acos>},
      {"aten.acosh", "default", "self", import_unary<U::acosh>},
      {"aten.add", "Tensor Scalar", "self other alpha=1", import_add},
      {"aten.addcdiv", "default", "self tensor1 tensor2 value=1", import_addcdiv},
      {"aten.addcmul", "default", "self tensor1 tensor2 value=1", import_addcmul},
      {"aten.alias", "default", "self", import_identity},
      {"aten.alpha_dropout", "default", "input p train", import_dropout},
      {"aten.arccos", "default", "self", import_unary<U::acos>},
      {"aten.arccosh", "default", "self", import_unary<U::acosh>},
      {"aten.arcsin", "default", "self", import_unary<U::asin>},
      {"aten.arcsinh", "default", "self", import_unary<U::asinh>},
      {"aten.arctan", "default", "self", import_unary<U::atan>},
      {"aten.arctan2", "default", "self other", import_atan2},
      {"aten.arctanh", "default", "self", import_unary<U::atanh>},
      {"aten.asin", "default", "self", import_unary<U::asin>},
      {"aten.asinh", "default", "self", import_unary<U::asinh>},
      {"aten.atan", "default", "self", import_unary<U::atan>},
      {"aten.atan2", "default", "self other", import_atan2},
      {"aten.atanh", "default", "self", import_unary<U::atanh>},
      {"aten.bitwise_and", "Tensor Scalar", "self other", import_logical<B::logical_and>},
      {"aten.bitwise_not", "default", "self", import_logical_not},
      {"aten.bitwise_or", "Tensor Scalar", "self other", import_logical<B::logical_or>},
      {"aten.bitwise_xor", "Tensor Scalar", "self other", import_logical<B::logical_xor>},
      {"aten.ceil", "default", "self", import_unary<U::ceil>},
      {"aten.celu", "default", "self alpha=1", import_celu},
      {"aten.clamp", "Tensor", "self min=none max=none", import_clamp_tensor},
      {"aten.clamp", "default", "self min=none max=none", import_clamp},
      {"aten.clamp_max", "default", "self max", import_clamp},
      {"aten.clamp_min", "default", "self min", import_clamp},
      {"aten.clip", "Tensor", "self min=none max=none", import_clamp_tensor},
      {"aten.clip", "default", "self min=none max=none", import_clamp},
      {"aten.clone", "default", "self", import_identity},
      {"aten.contiguous", "default", "self", import_identity},
      {"aten.cos", "default", "self", import_unary<U::cos>},
      {"aten.cosh", "default", "self", import_unary<U::cosh>},
      {"aten.detach", "default", "self", import_identity},
      {"aten.detach_", "default", "self", import_identity},
      {"aten.div", "Tensor Scalar", "self other", import_div},
      {"aten.div", "Tensor_mode Scalar_mode", "self other rounding_mode=none", import_div_mode},
      {"aten.divide", "Tensor Scalar", "self other", import_div},
      {"aten.divide", "Tensor_mode Scalar_mode", "self other rounding_mode=none", import_div_mode},
      {"aten.dropout", "default", "input p train", import_dropout},
      {"aten.elu", "default", "self alpha=1 scale=1 input_scale=1", import_elu},
      {"aten.eq", "Tensor Scalar", "self other", import_binary<B::equal>},
      {"aten.erf", "default", "self", import_unary<U::erf>},
      {"aten.erfc", "default", "self", import_erfc},
      {"aten.exp", "default", "self", import_unary<U::exp>},
      {"aten.exp2", "default", "self", import_exp2},
      {"aten.expm1", "default", "self", import_expm1},
      {"aten.feature_alpha_dropout", "default", "input p train", import_dropout},
      {"aten.feature_dropout", "default", "input p train", import_dropout},
      {"aten.fix", "default", "self", import_trunc},
      {"aten.floor", "default", "self", import_unary<U::floor>},
      {"aten.floor_divide", "default Scalar", "self other", import_floor_divide},
      {"aten.fmax", "default", "self other", import_binary<B::max>},
      {"aten.fmin", "default", "self other", import_binary<B::min>},
      {"aten.fmod", "Tensor Scalar", "self other", import_fmod},
      {"aten.ge", "Tensor Scalar", "self other", import_binary<B::greater_equal>},
      {"aten.gelu", "default", "self approximate=none", import_gelu},
      {"aten.greater", "Tensor Scalar", "self other", import_binary<B::greater>},
      {"aten.greater_equal", "Tensor Scalar", "self other", import_binary<B::greater_equal>},
      {"aten.gt", "Tensor Scalar", "self other", import_binary<B::greater>},
      {"aten.hardshrink", "default", "self lambd=0.5", import_hardshrink},
      {"aten.hardsigmoid", "default", "self", import_hardsigmoid},
      {"aten.hardswish", "default", "self", import_unary<U::hard_swish>},
      {"aten.hardtanh", "default", "self min_val=-1 max_val=1", import_hardtanh},
      {"aten.isfinite", "default", "self", import_is_finite},
      {"aten.isinf", "default", "self", import_is_inf},
      {"aten.isnan", "default", "self", import_unary<U::is_nan>},
      {"aten.le", "Tensor Scalar", "self other", import_binary<B::less_equal>},
      {"aten.leaky_relu", "default", "self negative_slope=0.01", import_leaky_relu},
      {"aten.lerp", "Scalar Tensor", "self end weight", import_lerp},
      {"aten.less", "Tensor Scalar", "self other", import_binary<B::less>},
      {"aten.less_equal", "Tensor Scalar", "self other", import_binary<B::less_equal>},
      {"aten.lift_fresh", "default", "self", import_identity},
      {"aten.lift_fresh_copy", "default", "self", import_identity},
      {"aten.log", "default", "self", import_unary<U::log>},
      {"aten.log10", "default", "self", import_log10},
      {"aten.log1p", "default", "self", import_log1p},
      {"aten.log2", "default", "self", import_log2},
      {"aten.log_sigmoid", "default", "self", import_log_sigmoid},
      {"aten.logical_and", "default", "self other", import_logical<B::logical_and>},
      {"aten.logical_not", "default", "self", import_logical_not},
      {"aten.logical_or", "default", "self other", import_logical<B::logical_or>},
      {"aten.logical_xor", "default", "self other", import_logical<B::logical_xor>},
      {"aten.lt", "Tensor Scalar", "self other", import_binary<B::less>},
      {"aten.masked_fill", "Scalar Tensor", "self mask value", import_masked_fill},
      {"aten.max", "other", "self other", import_binary<B::max>},
      {"aten.maximum", "default", "self other", import_binary<B::max>},
      {"aten.min", "other", "self other", import_binary<B::min>},
      {"aten.minimum", "default", "self other", import_binary<B::min>},
      {"aten.mish", "default", "self", import_mish},
      {"aten.mul", "Tensor Scalar", "self other", import_binary<B::mul>},
      {"aten.multiply", "Tensor Scalar", "self other", import_binary<B::mul>},
      {"aten.nan_to_num", "default", "self nan=none posinf=none neginf=none", import_nan_to_num},
      {"aten.ne", "Tensor Scalar", "self other", import_not_equal},
      {"aten.neg", "default", "self", import_unary<U::neg>},
      {"aten.negative", "default", "self", import_unary<U::neg>},
      {"aten.not_equal", "Tensor Scalar", "self other", import_not_equal},
      {"aten.pow", "Tensor_Scalar Tensor_Tensor Scalar", "self exponent", import_pow},
      {"aten.prelu", "default", "self weight", import_prelu},
      {"aten.reciprocal", "default", "self", import_reciprocal},
      {"aten.relu", "default", "self", import_unary<U::relu>},
      {"aten.relu6", "default", "self", import_relu6},
      {"aten.remainder", "Tensor Scalar", "self other", import_remainder},
      {"aten.round", "decimals", "self decimals", import_round_decimals},
      {"aten.round", "default", "self", import_unary<U::round>},
      {"aten.rsqrt", "default", "self", import_rsqrt},
      {"aten.rsub", "Tensor Scalar", "self other alpha=1", import_rsub},
      {"aten.selu", "default", "self", import_selu},
      {"aten.sgn", "default", "self", import_unary<U::sign>},
      {"aten.sigmoid", "default", "self", import_unary<U::sigmoid>},
      {"aten.sign", "default", "self", import_unary<U::sign>},
      {"aten.silu", "default", "self", import_silu},
      {"aten.sin", "default", "self", import_unary<U::sin>},
      {"aten.sinh", "default", "self", import_unary<U::sinh>},
      {"aten.softplus", "default", "self beta=1 threshold=20", import_softplus},
      {"aten.softshrink", "default", "self lambd=0.5", import_softshrink},
      {"aten.special_erf", "default", "self", import_unary<U::erf>},
      {"aten.special_exp2", "default", "self", import_exp2},
      {"aten.special_expit", "default", "self", import_unary<U::sigmoid>},
      {"aten.special_expm1", "default", "self", import_expm1},
      {"aten.special_log1p", "default", "self", import_log1p},
      {"aten.sqrt", "default", "self", import_unary<U::sqrt>},
      {"aten.square", "default", "self", import_square},
      {"aten.sub", "Tensor Scalar", "self other alpha=1", import_sub},
      {"aten.subtract", "Tensor Scalar", "self other alpha=1", import_sub},
      {"aten.sym_constrain_range", "default", "size min=none max=none", import_nothing},
      {"aten.sym_constrain_range_for_size", "default", "size min=none max=none", import_nothing},
      {"aten.sym_numel", "default", "self", import_sym_numel},
      {"aten.sym_size", "int", "self dim", import_sym_size},
      {"aten.tan", "default", "self", import_unary<U::tan>},
      {"aten.tanh", "default", "self", import_unary<U::tanh>},
      {"aten.threshold", "default", "self threshold value", import_threshold},
      {"aten.to", "device", "self device=none dtype=none non_blocking=none copy=none memory_format=none",
       import_to_copy},
      {"aten.to", "dtype", "self dtype non_blocking=none copy=none memory_format=none", import_to_dtype},
      {"aten.to", "dtype_layout", kCopy, import_to_copy},
      {"aten.to", "other", "self other non_blocking=none copy=none memory_format=none", import_type_as},
      {"aten.true_divide", "Tensor Scalar", "self other", import_div},
      {"aten.trunc", "default", "self", import_trunc},
      {"aten.type_as", "default", "self other", import_type_as},
      {"aten.where", "self ScalarSelf ScalarOther Scalar", "condition self other", import_where},
      {"math.trunc", "", "a", import_number_truncated},
      {"torch.sym_max", "", kNumbers, import_number<B::max>},
      {"torch.sym_min", "", kNumbers, import_number<B::min>},
  };
  return kRows;
}

}  // namespace whet::torch
