#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/tflite/rows.h"

namespace whet::tflite {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;
using U = UnaryKind;

Status give_clip(TfliteSite& site, double low, double high) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(site.add("clip", ClipOperator{low, high}, {x}));
}

Status import_relu_0_to_1(TfliteSite& site) { return give_clip(site, 0, 1); }
Status import_relu_n1_to_1(TfliteSite& site) { return give_clip(site, -1, 1); }
Status import_gelu(TfliteSite& site) {
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(gelu(site, x, site.options().flag(0) ? Gelu::tanh : Gelu::erf));
}
Status import_hard_swish(TfliteSite& site) {
  WHET_TRY(const ValueId x, site.real(0));
  return site.give_real(site.add("y", UnaryOperator{U::hard_swish}, {x}));
}

Status import_softmax(TfliteSite& site) {
  WHET_TRY(ValueId x, site.real(0));
  if (site.rank(x) == 0) return site.error("the input is a scalar");
  const double beta = static_cast<double>(site.options().number<float>(0));
  if (beta != 1) {
    WHET_TRY(x, with_number(site, "scaled", B::mul, x, beta));
  }
  return site.give_real(site.add("y", SoftmaxOperator{static_cast<std::int64_t>(site.rank(x)) - 1, false}, {x}));
}
/// x / |x| along the last dimension.
Status import_l2_normalization(TfliteSite& site) {
  WHET_TRY(const ValueId x, site.real(0));
  if (site.rank(x) == 0) return site.error("the input is a scalar");
  const Ints last = {static_cast<std::int64_t>(site.rank(x)) - 1};
  WHET_TRY(ValueId sum, site.add("squares", ReduceOperator{ReduceKind::sum_square, last, true}, {x}));
  WHET_TRY(sum, with_number(site, "positive", B::max, sum, 1e-6));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::sqrt}, {sum}));
  return site.give_real(site.add("y", BinaryOperator{B::div}, {x, size}));
}

// ---- Stored as they mean, and back.

Status import_dequantize(TfliteSite& site) { return site.give(site.real(0)); }
Status import_quantize(TfliteSite& site) { return site.give_real(site.real(0)); }
Status import_cast(TfliteSite& site) {
  const auto to = dtype_of_tflite(site.result_info().type);
  if (!to || site.result_info().type == kInt16)
    return site.error("casts to " + tflite_type_name(site.result_info().type) + ", which is not supported");
  return site.give(site.cast("cast", site.in(0), *to));
}

}  // namespace

TfliteRows elementwise_rows() {
  static constexpr TfliteRow kRows[] = {
      {"ABS", as_real, "Abs"},
      {"ADD", as_real, "Add", "activation#0"},
      {"ADD_N", as_real, "AddN"},
      {"ARG_MAX", as_real, "ArgMax", "output_type=type#0"},
      {"ARG_MIN", as_real, "ArgMin", "output_type=type#0"},
      {"ATAN2", as_plain, "Atan2"},
      {"CAST", 1, import_cast},
      {"CEIL", as_real, "Ceil"},
      {"COS", as_real, "Cos"},
      {"CUMSUM", as_real, "Cumsum", "exclusive=bool#0 reverse=bool#1"},
      {"DENSIFY", as_plain, "Identity"},
      {"DEQUANTIZE", 1, import_dequantize},
      {"DIV", as_real, "Div", "activation#0"},
      {"ELU", as_real, "Elu"},
      {"EQUAL", as_real, "Equal"},
      {"EXP", as_real, "Exp"},
      {"FLOOR", as_real, "Floor"},
      {"FLOOR_DIV", as_real, "FloorDiv"},
      {"FLOOR_MOD", as_real, "FloorMod"},
      {"GELU", 1, import_gelu},
      {"GREATER", as_real, "Greater"},
      {"GREATER_EQUAL", as_real, "GreaterEqual"},
      {"HARD_SWISH", 1, import_hard_swish},
      {"L2_NORMALIZATION", 1, import_l2_normalization},
      {"LEAKY_RELU", as_real, "LeakyRelu", "alpha=float#0"},
      {"LESS", as_real, "Less"},
      {"LESS_EQUAL", as_real, "LessEqual"},
      {"LOCAL_RESPONSE_NORMALIZATION", as_real, "LRN", "depth_radius=int#0 bias=float#1 alpha=float#2 beta=float#3"},
      {"LOG", as_real, "Log"},
      {"LOGICAL_AND", as_real, "LogicalAnd"},
      {"LOGICAL_NOT", as_plain, "LogicalNot"},
      {"LOGICAL_OR", as_real, "LogicalOr"},
      {"LOGISTIC", as_real, "Sigmoid"},
      {"LOG_SOFTMAX", as_real, "LogSoftmax"},
      {"MAXIMUM", as_real, "Maximum"},
      {"MEAN", as_real, "Mean", "keep_dims=bool#0"},
      {"MINIMUM", as_real, "Minimum"},
      {"MUL", as_real, "Mul", "activation#0"},
      {"NEG", as_real, "Neg"},
      {"NOT_EQUAL", as_real, "NotEqual"},
      {"ONE_HOT", as_plain, "OneHot", "axis=int#0"},
      {"POW", as_real, "Pow"},
      {"PRELU", as_real, "Prelu"},
      {"QUANTIZE", 1, import_quantize},
      {"REDUCE_ALL", as_real, "All", "keep_dims=bool#0"},
      {"REDUCE_ANY", as_real, "Any", "keep_dims=bool#0"},
      {"REDUCE_MAX", as_real, "Max", "keep_dims=bool#0"},
      {"REDUCE_MIN", as_real, "Min", "keep_dims=bool#0"},
      {"REDUCE_PROD", as_real, "Prod", "keep_dims=bool#0"},
      {"RELU", as_real, "Relu"},
      {"RELU6", as_real, "Relu6"},
      {"RELU_0_TO_1", import_relu_0_to_1},
      {"RELU_N1_TO_1", import_relu_n1_to_1},
      {"ROUND", as_real, "Round"},
      {"RSQRT", as_real, "Rsqrt"},
      {"SELECT", as_real, "Select"},
      {"SELECT_V2", as_real, "SelectV2"},
      {"SIGN", as_real, "Sign"},
      {"SIN", as_real, "Sin"},
      {"SOFTMAX", 1, import_softmax},
      {"SQRT", as_real, "Sqrt"},
      {"SQUARE", as_real, "Square"},
      {"SQUARED_DIFFERENCE", as_real, "SquaredDifference"},
      {"SUB", as_real, "Sub", "activation#0"},
      {"SUM", as_real, "Sum", "keep_dims=bool#0"},
      {"TANH", as_real, "Tanh"},
      {"TOPK_V2", as_plain, "TopKV2", "index_type=type#1"},
  };
  return kRows;
}

}  // namespace whet::tflite
