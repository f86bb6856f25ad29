#include <cmath>

#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/elementary.h"
#include "import/parts/quantize.h"
#include "import/parts/reduce.h"
#include "import/tensorflow/rows.h"

namespace whet::tensorflow {
namespace {

using B = BinaryKind;
using U = UnaryKind;

Status give_divided(TfSite& site, ValueId top, bool zero_where_top) {
  // a / 0 is 0 (DivNoNan), and 0 * b is 0 (MulNoNan), whatever the other is.
  const ValueId a = site.in(0), b = site.in(1);
  const ValueId zero = site.add_scalar("zero", site.dtype(a), 0);
  WHET_TRY(const ValueId none, site.add("none", BinaryOperator{B::equal}, {zero_where_top ? top : b, zero}));
  WHET_TRY(const ValueId y, site.add("y", BinaryOperator{zero_where_top ? B::mul : B::div}, {a, b}));
  return site.give(WhereOperator{}, {none, zero, y});
}

Status import_unary(TfSite& site, UnaryKind kind) { return site.give(UnaryOperator{kind}, {site.in(0)}); }
Status import_binary(TfSite& site, BinaryKind kind) {
  return site.give(BinaryOperator{kind}, {site.in(0), site.in(1)});
}
Status import_add_n(TfSite& site) { return site.give(chained(site, B::add, site.ins())); }
Status import_not_equal(TfSite& site) {
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{B::equal}, {site.in(0), site.in(1)}));
  return site.give(UnaryOperator{U::logical_not}, {equal});
}
/// Towards minus infinity; the rest has the divisor's sign.
Status import_floor_div(TfSite& site) {
  const ValueId a = site.in(0), b = site.in(1);
  if (is_float(site.dtype(a))) {
    WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{B::div}, {a, b}));
    return site.give(UnaryOperator{U::floor}, {quotient});
  }
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::mod}, {a, b}));
  WHET_TRY(const ValueId even, site.add("even", BinaryOperator{B::sub}, {a, rest}));
  return site.give(BinaryOperator{B::div}, {even, b});
}
/// Of floats too: a - floor(a / b) * b.
Status import_floor_mod(TfSite& site) { return site.give(floored_remainder(site, site.in(0), site.in(1))); }
Status import_truncate_mod(TfSite& site) { return site.give(truncated_remainder(site, site.in(0), site.in(1))); }
Status import_pow(TfSite& site) { return site.give(power(site, site.in(0), site.in(1))); }
Status import_div_no_nan(TfSite& site) { return give_divided(site, site.in(1), false); }
Status import_mul_no_nan(TfSite& site) { return give_divided(site, site.in(1), true); }
Status import_xdivy(TfSite& site) {  // 0 where the dividend is 0
  const ValueId zero = site.add_scalar("zero", site.dtype(site.in(0)), 0);
  WHET_TRY(const ValueId none, site.add("none", BinaryOperator{B::equal}, {site.in(0), zero}));
  WHET_TRY(const ValueId y, site.add("y", BinaryOperator{B::div}, {site.in(0), site.in(1)}));
  return site.give(WhereOperator{}, {none, zero, y});
}
Status import_square(TfSite& site) { return site.give(BinaryOperator{B::mul}, {site.in(0), site.in(0)}); }
Status import_squared_difference(TfSite& site) {
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {site.in(0), site.in(1)}));
  return site.give(BinaryOperator{B::mul}, {way, way});
}
Status import_rsqrt(TfSite& site) {
  WHET_TRY(const ValueId root, site.add("root", UnaryOperator{U::sqrt}, {site.in(0)}));
  return site.give(UnaryOperator{U::reciprocal}, {root});
}
Status import_log1p(TfSite& site) { return site.give(log1p(site, site.in(0))); }
Status import_expm1(TfSite& site) { return site.give(expm1(site, site.in(0))); }
Status import_erfc(TfSite& site) { return site.give(erfc(site, site.in(0))); }
Status import_atan2(TfSite& site) { return site.give(angle_of(site, site.in(0), site.in(1))); }
Status import_is_infinite(TfSite& site) { return site.give(is_infinite(site, site.in(0), true, true)); }
Status import_is_finite(TfSite& site) {
  // A number less itself is 0 unless it is infinite or none.
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {site.in(0), site.in(0)}));
  const ValueId zero = site.add_scalar("zero", site.dtype(rest), 0);
  return site.give(BinaryOperator{B::equal}, {rest, zero});
}

Status import_relu6(TfSite& site) { return site.give(ClipOperator{0, 6}, {site.in(0)}); }
Status import_leaky_relu(TfSite& site) {
  WHET_TRY(const double alpha, site.number("alpha", 0.2));
  return site.give(LeakyReluOperator{alpha}, {site.in(0)});
}
Status import_elu(TfSite& site) { return site.give(elu(site, site.in(0), {})); }
Status import_selu(TfSite& site) {
  return site.give(elu(site, site.in(0), {1.6732632423543772, 1.0507009873554805, 1}));
}
Status import_prelu(TfSite& site) { return site.give(prelu(site, site.in(0), site.in(1))); }
Status import_clip(TfSite& site) { return site.give(clipped(site, site.in(0), site.in(1), site.in(2))); }
Status import_softmax(TfSite& site) {
  const auto rank = static_cast<std::int64_t>(site.rank(site.in(0)));
  if (rank == 0) return site.error("the input is a scalar");
  return site.give(SoftmaxOperator{rank - 1, site.op() == "LogSoftmax"}, {site.in(0)});
}
Status import_l2_loss(TfSite& site) {
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < site.rank(site.in(0)); ++d) axes.push_back(static_cast<std::int64_t>(d));
  WHET_TRY(const ValueId sum, reduced(site, site.in(0), {ReduceKind::sum_square, axes, false}));
  return site.give(with_number(site, "half", B::mul, sum, 0.5));
}

Status import_cast(TfSite& site) {
  WHET_TRY(const DType to, site.dtype_attribute("DstT", {}));
  return site.give(site.cast("cast", site.in(0), to));
}
Status import_identity(TfSite& site) { return site.pass(site.in(0)); }
Status import_identity_n(TfSite& site) {
  for (std::size_t i = 0; i < site.input_count(); ++i) WHET_RETURN_IF_ERROR(site.pass(site.in(i), i));
  return ok_status();
}

/// A vector condition chooses rows.
Status import_select(TfSite& site) {
  ValueId condition = site.in(0);
  const std::size_t rank = site.rank(site.in(1));
  if (site.op() == "Select" && site.rank(condition) == 1 && rank > 1 &&
      site.shape(condition)[0] == site.shape(site.in(1))[0]) {
    Shape column(rank, 1);
    column[0] = site.shape(condition)[0];
    WHET_TRY(condition, site.add("rows", ReshapeOperator{column}, {condition}));
  }
  return site.give(WhereOperator{}, {condition, site.in(1), site.in(2)});
}

Status import_fake_quant(TfSite& site) {
  const bool by_attributes = site.op() == "FakeQuantWithMinMaxArgs";
  WHET_RETURN_IF_ERROR(site.expect_inputs(by_attributes ? 1 : 3));
  WHET_TRY(const std::int64_t bits, site.integer("num_bits", 8));
  WHET_TRY(const bool narrow, site.flag("narrow_range", false));
  if (bits < 2 || bits > 16) return site.error("has " + std::to_string(bits) + " bits; expected 2 to 16");
  std::vector<FakeQuantization> forms;
  if (by_attributes) {
    WHET_TRY(const double least, site.number("min", -6));
    WHET_TRY(const double most, site.number("max", 6));
    forms.push_back(fake_quantization(least, most, bits, narrow));
  } else {
    WHET_TRY(const Tensor least, site.known(site.in(1), "least number"));
    WHET_TRY(const Tensor most, site.known(site.in(2), "largest number"));
    const Shape x = site.shape(site.in(0));
    const bool fits = least.size() == most.size() && (least.size() == 1 || (!x.empty() && least.size() == x.back()));
    if (!fits)
      return site.error("keeps " + to_string(site.type(site.in(0))) + " between " + to_string(least.type()) + " and " +
                        to_string(most.type()));
    for (std::int64_t i = 0; i < least.size(); ++i)
      forms.push_back(fake_quantization(least.get(i), most.get(i), bits, narrow));
  }
  for (const FakeQuantization& form : forms)
    if (!(form.scale > 0)) return site.error("has a largest number that is not above the least one");
  return site.give(fake_quantized(site, site.in(0), forms));
}

// ---- Reductions.

Status import_reduce(TfSite& site, ReduceKind kind) {
  const ValueId x = site.in(0);
  WHET_TRY(const std::vector<std::int64_t> axes, site.axes(1, x));
  WHET_TRY(const bool keep, site.flag("keep_dims", false));
  if (axes.empty()) return site.pass(x);
  return site.give(reduced(site, x, ReduceOperator{kind, axes, keep}));
}
Status import_place(TfSite& site, bool largest) {
  WHET_TRY(const std::int64_t axis, site.axis(1, site.rank(site.in(0))));
  WHET_TRY(const DType dtype, site.dtype_attribute("output_type", {9}));
  WHET_TRY(const ValueId place, site.add("place", ArgReduceOperator{largest, axis, false}, {site.in(0)}));
  return site.give(site.cast("number", place, dtype));
}
Status import_arg_max(TfSite& site) { return import_place(site, true); }
Status import_arg_min(TfSite& site) { return import_place(site, false); }
Status import_cumsum(TfSite& site) {
  WHET_TRY(const std::int64_t axis, site.axis(1, site.rank(site.in(0))));
  WHET_TRY(const bool exclusive, site.flag("exclusive", false));
  WHET_TRY(const bool reverse, site.flag("reverse", false));
  return site.give(CumSumOperator{axis, exclusive, reverse}, {site.in(0)});
}

using R = ReduceKind;

template <UnaryKind K>
Status import_unary(TfSite& site) {
  return import_unary(site, K);
}
template <BinaryKind K>
Status import_binary(TfSite& site) {
  return import_binary(site, K);
}
template <ReduceKind K>
Status import_reduce(TfSite& site) {
  return import_reduce(site, K);
}

}  // namespace

TfRows elementwise_rows() {
  static constexpr TfRow kRows[] = {
      {"Abs", 1, import_unary<U::abs>},
      {"Acos", 1, import_unary<U::acos>},
      {"Acosh", 1, import_unary<U::acosh>},
      {"Add", 2, import_binary<B::add>},
      {"AddN", {1, 65536}, import_add_n},
      {"AddV2", 2, import_binary<B::add>},
      {"All", 2, import_reduce<R::min>},
      {"Any", 2, import_reduce<R::max>},
      {"ArgMax", 2, import_arg_max},
      {"ArgMin", 2, import_arg_min},
      {"Asin", 1, import_unary<U::asin>},
      {"Asinh", 1, import_unary<U::asinh>},
      {"Atan", 1, import_unary<U::atan>},
      {"Atan2", 2, import_atan2},
      {"Atanh", 1, import_unary<U::atanh>},
      {"Cast", 1, import_cast},
      {"Ceil", 1, import_unary<U::ceil>},
      {"CheckNumerics", {1, 65536}, import_identity},
      {"ClipByValue", 3, import_clip},
      {"Cos", 1, import_unary<U::cos>},
      {"Cosh", 1, import_unary<U::cosh>},
      {"Cumsum", 2, import_cumsum},
      {"Div", 2, import_binary<B::div>},
      {"DivNoNan", 2, import_div_no_nan},
      {"Elu", 1, import_elu},
      {"EnsureShape", {1, 65536}, import_identity},
      {"Equal", 2, import_binary<B::equal>},
      {"Erf", 1, import_unary<U::erf>},
      {"Erfc", 1, import_erfc},
      {"EuclideanNorm", 2, import_reduce<R::l2>},
      {"Exp", 1, import_unary<U::exp>},
      {"Expm1", 1, import_expm1},
      {"FakeQuantWithMinMaxArgs", import_fake_quant},
      {"FakeQuantWithMinMaxVars", import_fake_quant},
      {"FakeQuantWithMinMaxVarsPerChannel", import_fake_quant},
      {"Floor", 1, import_unary<U::floor>},
      {"FloorDiv", 2, import_floor_div},
      {"FloorMod", 2, import_floor_mod},
      {"Greater", 2, import_binary<B::greater>},
      {"GreaterEqual", 2, import_binary<B::greater_equal>},
      {"Identity", {1, 65536}, import_identity},
      {"IdentityN", import_identity_n},
      {"Inv", 1, import_unary<U::reciprocal>},
      {"IsFinite", 1, import_is_finite},
      {"IsInf", 1, import_is_infinite},
      {"IsNan", 1, import_unary<U::is_nan>},
      {"L2Loss", 1, import_l2_loss},
      {"LeakyRelu", 1, import_leaky_relu},
      {"Less", 2, import_binary<B::less>},
      {"LessEqual", 2, import_binary<B::less_equal>},
      {"Log", 1, import_unary<U::log>},
      {"Log1p", 1, import_log1p},
      {"LogSoftmax", 1, import_softmax},
      {"LogicalAnd", 2, import_binary<B::logical_and>},
      {"LogicalNot", 1, import_unary<U::logical_not>},
      {"LogicalOr", 2, import_binary<B::logical_or>},
      {"Max", 2, import_reduce<R::max>},
      {"Maximum", 2, import_binary<B::max>},
      {"Mean", 2, import_reduce<R::mean>},
      {"Min", 2, import_reduce<R::min>},
      {"Minimum", 2, import_binary<B::min>},
      {"Mod", 2, import_truncate_mod},
      {"Mul", 2, import_binary<B::mul>},
      {"MulNoNan", 2, import_mul_no_nan},
      {"Neg", 1, import_unary<U::neg>},
      {"NotEqual", 2, import_not_equal},
      {"PlaceholderWithDefault", {1, 65536}, import_identity},
      {"Pow", 2, import_pow},
      {"Prelu", 2, import_prelu},
      {"PreventGradient", {1, 65536}, import_identity},
      {"Prod", 2, import_reduce<R::prod>},
      {"ReadVariableOp", {1, 65536}, import_identity},
      {"RealDiv", 2, import_binary<B::div>},
      {"Reciprocal", 1, import_unary<U::reciprocal>},
      {"Relu", 1, import_unary<U::relu>},
      {"Relu6", 1, import_relu6},
      {"Rint", 1, import_unary<U::round>},
      {"Round", 1, import_unary<U::round>},
      {"Rsqrt", 1, import_rsqrt},
      {"Select", 3, import_select},
      {"SelectV2", 3, import_select},
      {"Selu", 1, import_selu},
      {"Sigmoid", 1, import_unary<U::sigmoid>},
      {"Sign", 1, import_unary<U::sign>},
      {"Sin", 1, import_unary<U::sin>},
      {"Sinh", 1, import_unary<U::sinh>},
      {"Snapshot", {1, 65536}, import_identity},
      {"Softmax", 1, import_softmax},
      {"Softplus", 1, import_unary<U::softplus>},
      {"Softsign", 1, import_unary<U::softsign>},
      {"Sqrt", 1, import_unary<U::sqrt>},
      {"Square", 1, import_square},
      {"SquaredDifference", 2, import_squared_difference},
      {"StopGradient", {1, 65536}, import_identity},
      {"Sub", 2, import_binary<B::sub>},
      {"Sum", 2, import_reduce<R::sum>},
      {"Tan", 1, import_unary<U::tan>},
      {"Tanh", 1, import_unary<U::tanh>},
      {"TruncateDiv", 2, import_binary<B::div>},
      {"TruncateMod", 2, import_truncate_mod},
      {"Xdivy", 2, import_xdivy},
  };
  return kRows;
}

}  // namespace whet::tensorflow
