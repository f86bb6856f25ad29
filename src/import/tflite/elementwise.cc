#include <cmath>

#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/normalize.h"
#include "import/parts/quantize.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"
#include "import/tflite/rows.h"

namespace whet::tflite {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;
using U = UnaryKind;

/// The field of the fused activation; none where the operator has none.
int activation_of(const TfliteSite& site) {
  const std::string& op = site.operation().name;
  const bool has = op == "ADD" || op == "SUB" || op == "MUL" || op == "DIV";
  return has ? site.options().number<std::int8_t>(0) : 0;
}

Result<Ints> axes_of(TfliteSite& site, ValueId x) {
  WHET_TRY(const Ints axes, site.integers(1, "list of axes"));
  return site.resolve_axes(axes, site.rank(x));
}

Status give_place(TfliteSite& site, bool largest) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const std::int64_t given, site.integer(1, "axis"));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(x)));
  WHET_TRY(const ValueId place, site.add("place", ArgReduceOperator{largest, axis, false}, {x}));
  const auto dtype = dtype_of_tflite(site.result_info().type);
  return site.give(site.cast("number", place, dtype.value_or(DType::i64)));
}

Status give_clip(TfliteSite& site, double low, double high) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(site.add("clip", ClipOperator{low, high}, {x}));
}

Status import_unary(TfliteSite& site, UnaryKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(site.add("y", UnaryOperator{kind}, {x}));
}
Status import_binary(TfliteSite& site, BinaryKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId a, site.real(0));
  WHET_TRY(const ValueId b, site.real(1));
  WHET_TRY(const ValueId y, site.add("y", BinaryOperator{kind}, {a, b}));
  return site.give_real(site.activated(y, activation_of(site)));
}
Status import_add_n(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4096));
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
    WHET_TRY(const ValueId x, site.real(i));
    values.push_back(x);
  }
  return site.give_real(chained(site, B::add, values));
}
Status import_floor_div(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId a, site.real(0));
  WHET_TRY(const ValueId b, site.real(1));
  if (is_float(site.dtype(a))) {
    WHET_TRY(const ValueId quotient, site.add("quotient", BinaryOperator{B::div}, {a, b}));
    return site.give_real(site.add("floored", UnaryOperator{U::floor}, {quotient}));
  }
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::mod}, {a, b}));
  WHET_TRY(const ValueId even, site.add("even", BinaryOperator{B::sub}, {a, rest}));
  return site.give(BinaryOperator{B::div}, {even, b});
}
Status import_floor_mod(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId a, site.real(0));
  WHET_TRY(const ValueId b, site.real(1));
  return site.give_real(floored_remainder(site, a, b));
}
Status import_atan2(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return site.give(angle_of(site, site.in(0), site.in(1)));
}
/// Over the channels within a radius of each, which are the last dimension.
Status import_lrn(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  const FlatTable& o = site.options();
  const std::int64_t radius = o.number<std::int32_t>(0);
  if (radius < 0 || radius > (1 << 20) || site.rank(x) != 4)
    return site.error("normalizes " + to_string(site.type(x)) + " within " + std::to_string(radius) + " channels");
  const std::int64_t size = 2 * radius + 1;
  const Lrn form{size, static_cast<double>(o.number<float>(2)) * static_cast<double>(size),
                 static_cast<double>(o.number<float>(3)), static_cast<double>(o.number<float>(1))};
  WHET_TRY(const ValueId first, site.add("channels_first", TransposeOperator{{0, 3, 1, 2}}, {x}));
  WHET_TRY(const ValueId y, lrn(site, first, form));
  return site.give_real(site.add("channels_last", TransposeOperator{{0, 2, 3, 1}}, {y}));
}
Status import_pow(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId a, site.real(0));
  WHET_TRY(const ValueId b, site.real(1));
  return site.give_real(power(site, a, b));
}
Status import_not_equal(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId a, site.real(0));
  WHET_TRY(const ValueId b, site.real(1));
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{B::equal}, {a, b}));
  return site.give(UnaryOperator{U::logical_not}, {equal});
}
Status import_logical_not(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(UnaryOperator{U::logical_not}, {site.in(0)});
}
Status import_square(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(site.add("y", BinaryOperator{B::mul}, {x, x}));
}
Status import_squared_difference(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId a, site.real(0));
  WHET_TRY(const ValueId b, site.real(1));
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {a, b}));
  return site.give_real(site.add("y", BinaryOperator{B::mul}, {way, way}));
}
Status import_rsqrt(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const ValueId root, site.add("root", UnaryOperator{U::sqrt}, {x}));
  return site.give_real(site.add("y", UnaryOperator{U::reciprocal}, {root}));
}

Status import_relu6(TfliteSite& site) { return give_clip(site, 0, 6); }
Status import_relu_0_to_1(TfliteSite& site) { return give_clip(site, 0, 1); }
Status import_relu_n1_to_1(TfliteSite& site) { return give_clip(site, -1, 1); }
Status import_leaky_relu(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(site.add("y", LeakyReluOperator{static_cast<double>(site.options().number<float>(0))}, {x}));
}
/// The slopes broadcast to the input.
Status import_prelu(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const ValueId slopes, site.real(1));
  return site.give_real(prelu(site, x, slopes));
}
Status import_elu(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(elu(site, x, {}));
}
Status import_gelu(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(gelu(site, x, site.options().flag(0) ? Gelu::tanh : Gelu::erf));
}
Status import_hard_swish(TfliteSite& site) { return import_unary(site, U::hard_swish); }

Status import_softmax(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(ValueId x, site.real(0));
  if (site.rank(x) == 0) return site.error("the input is a scalar");
  const double beta = static_cast<double>(site.options().number<float>(0));
  if (beta != 1) {
    WHET_TRY(x, with_number(site, "scaled", B::mul, x, beta));
  }
  return site.give_real(site.add("y", SoftmaxOperator{static_cast<std::int64_t>(site.rank(x)) - 1, false}, {x}));
}
Status import_log_softmax(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  if (site.rank(x) == 0) return site.error("the input is a scalar");
  return site.give_real(site.add("y", SoftmaxOperator{static_cast<std::int64_t>(site.rank(x)) - 1, true}, {x}));
}
/// x / |x| along the last dimension.
Status import_l2_normalization(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  if (site.rank(x) == 0) return site.error("the input is a scalar");
  const Ints last = {static_cast<std::int64_t>(site.rank(x)) - 1};
  WHET_TRY(ValueId sum, site.add("squares", ReduceOperator{ReduceKind::sum_square, last, true}, {x}));
  WHET_TRY(sum, with_number(site, "positive", B::max, sum, 1e-6));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::sqrt}, {sum}));
  return site.give_real(site.add("y", BinaryOperator{B::div}, {x, size}));
}

// ---- Stored as they mean, and back.

Status import_identity(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.pass(site.in(0));
}
Status import_dequantize(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(site.real(0));
}
Status import_quantize(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give_real(site.real(0));
}
Status import_cast(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const auto to = dtype_of_tflite(site.result_info().type);
  if (!to || site.result_info().type == kInt16)
    return site.error("casts to " + tflite_type_name(site.result_info().type) + ", which is not supported");
  return site.give(site.cast("cast", site.in(0), *to));
}

// ---- Reductions and orders.

Status import_reduce(TfliteSite& site, ReduceKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const Ints axes, axes_of(site, x));
  if (axes.empty()) return site.give_real(x);
  return site.give_real(reduced(site, x, ReduceOperator{kind, axes, site.options().flag(0)}));
}
Status import_arg_max(TfliteSite& site) { return give_place(site, true); }
Status import_arg_min(TfliteSite& site) { return give_place(site, false); }
Status import_topk(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t k, site.integer(1, "number of elements"));
  const ValueId x = site.in(0);
  if (site.rank(x) == 0 || k < 1 || k > site.shape(x).back())
    return site.error("takes " + std::to_string(k) + " elements of " + to_string(site.type(x)));
  const auto last = static_cast<std::int64_t>(site.rank(x)) - 1;
  WHET_TRY(const ValueId places, site.add("places", TopKOperator{last, k}, {x}));
  WHET_RETURN_IF_ERROR(site.give(GatherElementsOperator{last}, {x, places}));
  if (site.output_count() < 2) return ok_status();
  const auto dtype = dtype_of_tflite(site.result_info(1).type);
  return site.give(site.cast("numbers", places, dtype.value_or(DType::i32)), 1);
}
Status import_cumsum(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const ValueId x, site.real(0));
  WHET_TRY(const std::int64_t given, site.integer(1, "axis"));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(x)));
  return site.give_real(site.add("y", CumSumOperator{axis, site.options().flag(0), site.options().flag(1)}, {x}));
}

/// A list of conditions chooses rows.
Status import_select(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  ValueId condition = site.in(0);
  WHET_TRY(const ValueId a, site.real(1));
  WHET_TRY(const ValueId b, site.real(2));
  const std::size_t rank = site.rank(a);
  if (site.operation().name == "SELECT" && site.rank(condition) == 1 && rank > 1 &&
      site.shape(condition)[0] == site.shape(a)[0]) {
    Shape column(rank, 1);
    column[0] = site.shape(condition)[0];
    WHET_TRY(condition, site.add("rows", ReshapeOperator{column}, {condition}));
  }
  return site.give_real(site.add("y", WhereOperator{}, {condition, a, b}));
}

Status import_one_hot(TfliteSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(4));
  WHET_TRY(const std::int64_t depth, site.integer(1, "depth"));
  const ValueId indices = site.in(0);
  std::int64_t axis = site.options().number<std::int32_t>(0);
  WHET_TRY(axis, site.resolve_axis(axis, site.rank(indices) + 1));
  if (depth < 1 || depth > kMaxElements) return site.error("has a depth of " + std::to_string(depth));
  WHET_TRY(const ValueId off, site.add("off", ReshapeOperator{{1}}, {site.in(3)}));
  WHET_TRY(const ValueId on, site.add("on", ReshapeOperator{{1}}, {site.in(2)}));
  WHET_TRY(const ValueId values, site.add("values", ConcatOperator{0}, {off, on}));
  return site.give(one_hot(site, indices, {depth, axis, values}));
}

using R = ReduceKind;

template <UnaryKind K>
Status import_unary(TfliteSite& site) {
  return import_unary(site, K);
}
template <BinaryKind K>
Status import_binary(TfliteSite& site) {
  return import_binary(site, K);
}
template <ReduceKind K>
Status import_reduce(TfliteSite& site) {
  return import_reduce(site, K);
}

}  // namespace

TfliteRows elementwise_rows() {
  static constexpr TfliteRow kRows[] = {
      {"ABS", import_unary<U::abs>},
      {"ADD", import_binary<B::add>},
      {"ADD_N", import_add_n},
      {"ARG_MAX", import_arg_max},
      {"ARG_MIN", import_arg_min},
      {"ATAN2", import_atan2},
      {"CAST", import_cast},
      {"CEIL", import_unary<U::ceil>},
      {"COS", import_unary<U::cos>},
      {"CUMSUM", import_cumsum},
      {"DENSIFY", import_identity},
      {"DEQUANTIZE", import_dequantize},
      {"DIV", import_binary<B::div>},
      {"ELU", import_elu},
      {"EQUAL", import_binary<B::equal>},
      {"EXP", import_unary<U::exp>},
      {"FLOOR", import_unary<U::floor>},
      {"FLOOR_DIV", import_floor_div},
      {"FLOOR_MOD", import_floor_mod},
      {"GELU", import_gelu},
      {"GREATER", import_binary<B::greater>},
      {"GREATER_EQUAL", import_binary<B::greater_equal>},
      {"HARD_SWISH", import_hard_swish},
      {"L2_NORMALIZATION", import_l2_normalization},
      {"LEAKY_RELU", import_leaky_relu},
      {"LESS", import_binary<B::less>},
      {"LESS_EQUAL", import_binary<B::less_equal>},
      {"LOCAL_RESPONSE_NORMALIZATION", import_lrn},
      {"LOG", import_unary<U::log>},
      {"LOGICAL_AND", import_binary<B::logical_and>},
      {"LOGICAL_NOT", import_logical_not},
      {"LOGICAL_OR", import_binary<B::logical_or>},
      {"LOGISTIC", import_unary<U::sigmoid>},
      {"LOG_SOFTMAX", import_log_softmax},
      {"MAXIMUM", import_binary<B::max>},
      {"MEAN", import_reduce<R::mean>},
      {"MINIMUM", import_binary<B::min>},
      {"MUL", import_binary<B::mul>},
      {"NEG", import_unary<U::neg>},
      {"NOT_EQUAL", import_not_equal},
      {"ONE_HOT", import_one_hot},
      {"POW", import_pow},
      {"PRELU", import_prelu},
      {"QUANTIZE", import_quantize},
      {"REDUCE_ALL", import_reduce<R::min>},
      {"REDUCE_ANY", import_reduce<R::max>},
      {"REDUCE_MAX", import_reduce<R::max>},
      {"REDUCE_MIN", import_reduce<R::min>},
      {"REDUCE_PROD", import_reduce<R::prod>},
      {"RELU", import_unary<U::relu>},
      {"RELU6", import_relu6},
      {"RELU_0_TO_1", import_relu_0_to_1},
      {"RELU_N1_TO_1", import_relu_n1_to_1},
      {"ROUND", import_unary<U::round>},
      {"RSQRT", import_rsqrt},
      {"SELECT", import_select},
      {"SELECT_V2", import_select},
      {"SIGN", import_unary<U::sign>},
      {"SIN", import_unary<U::sin>},
      {"SOFTMAX", import_softmax},
      {"SQRT", import_unary<U::sqrt>},
      {"SQUARE", import_square},
      {"SQUARED_DIFFERENCE", import_squared_difference},
      {"SUB", import_binary<B::sub>},
      {"SUM", import_reduce<R::sum>},
      {"TANH", import_unary<U::tanh>},
      {"TOPK_V2", import_topk},
  };
  return kRows;
}

}  // namespace whet::tflite
