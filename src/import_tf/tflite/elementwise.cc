#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import_tf/tflite/rows.h"

namespace whet::tflite {
namespace {

/// x / |x| along the last dimension.
Status l2_normalized(NodeSite& site, ValueId x) {
  if (site.rank(x) == 0) return site.error("the input is a scalar");
  const Ints last = {static_cast<std::int64_t>(site.rank(x)) - 1};
  WHET_TRY(ValueId sum, site.add("squares", ReduceOperator{ReduceKind::sum_square, last, true}, {x}));
  WHET_TRY(sum, with_number(site, "positive", BinaryKind::max, sum, 1e-6));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{UnaryKind::sqrt}, {sum}));
  return site.give(BinaryOperator{BinaryKind::div}, {x, size});
}

}  // namespace

TfliteRows elementwise_rows() {
  constexpr auto clip = calls<one_operand<ClipOperator, double, double>>;
  static constexpr TfliteRow kRows[] = {
      {"ATAN2 BITWISE_XOR COMPLEX_ABS IMAG LOGICAL_NOT REAL RIGHT_SHIFT", as_plain},
      {"ABS ADD_N CEIL COS ELU EQUAL EXP FLOOR FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS LESS_EQUAL LOG "
       "LOGICAL_AND LOGICAL_OR LOG_SOFTMAX MAXIMUM MINIMUM NEG NOT_EQUAL POW PRELU RELU RELU6 ROUND RSQRT SELECT "
       "SELECT_V2 SIGN SIN SQRT SQUARE SQUARED_DIFFERENCE TANH",
       as_real},
      {"ADD", as_real, "Add", "activation#0"},
      {"ARG_MAX", as_real, "ArgMax", "output_type=type#0"},
      {"ARG_MIN", as_real, "ArgMin", "output_type=type#0"},
      {"BUCKETIZE", as_real, "Bucketize", "boundaries=floats#0"},
      {"CAST", as_plain, "Cast", "DstT=type#0"},
      {"CUMSUM", as_real, "Cumsum", "exclusive=bool#0 reverse=bool#1"},
      {"DENSIFY", as_plain, "Identity"},
      {"DEQUANTIZE QUANTIZE", as_real, "Identity"},
      {"DIV", as_real, "Div", "activation#0"},
      {"FAKE_QUANT", as_real, "FakeQuantWithMinMaxArgs", "min=float#0 max=float#1 num_bits=int#2 narrow_range=bool#3"},
      {"GELU", as_real, "x @tanh=0", calls<gelu>, "tanh=byte#0"},
      {"HARD_SWISH", as_real, "x", calls<unary<UnaryKind::hard_swish>>},
      {"L2_NORMALIZATION", as_real, "x", calls<l2_normalized>},
      {"LEAKY_RELU", as_real, "LeakyRelu", "alpha=float#0"},
      {"LOCAL_RESPONSE_NORMALIZATION", as_real, "LRN", "depth_radius=int#0 bias=float#1 alpha=float#2 beta=float#3"},
      {"LOGISTIC", as_real, "x", calls<unary<UnaryKind::sigmoid>>},
      {"MEAN", as_real, "Mean", "keep_dims=bool#0"},
      {"MUL", as_real, "Mul", "activation#0"},
      {"ONE_HOT", as_plain, "OneHot", "axis=int#0"},
      {"REDUCE_ALL", as_real, "All", "keep_dims=bool#0"},
      {"REDUCE_ANY", as_real, "Any", "keep_dims=bool#0"},
      {"REDUCE_MAX", as_real, "Max", "keep_dims=bool#0"},
      {"REDUCE_MIN", as_real, "Min", "keep_dims=bool#0"},
      {"REDUCE_PROD", as_real, "Prod", "keep_dims=bool#0"},
      {"RELU_0_TO_1", as_real, "x =0 =1", clip},
      {"RELU_N1_TO_1", as_real, "x =-1 =1", clip},
      {"RFFT2D", as_plain, "RFFT2D"},
      {"SOFTMAX", as_real, "Softmax", "beta=float#0"},
      {"SUB", as_real, "Sub", "activation#0"},
      {"SUM", as_real, "Sum", "keep_dims=bool#0"},
      {"TOPK_V2", as_plain, "TopKV2", "index_type=type#1"},
  };
  return kRows;
}

}  // namespace whet::tflite
