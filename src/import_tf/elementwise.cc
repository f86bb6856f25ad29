#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/elementary.h"
#include "import/parts/quantize.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"
#include "import_tf/rows.h"

namespace whet::tensorflow {
namespace {

using B = BinaryKind;
using U = UnaryKind;

/// A product or a quotient that is 0 where one of its operands is, whatever the other one is.
template <BinaryKind kind, bool first>
Status zero_or(NodeSite& site, ValueId a, ValueId b) {
  const ValueId zero = site.add_scalar("zero", site.dtype(a), 0);
  WHET_TRY(const ValueId none, site.add("none", BinaryOperator{B::equal}, {first ? a : b, zero}));
  WHET_TRY(const ValueId y, site.add("y", BinaryOperator{kind}, {a, b}));
  return site.give(WhereOperator{}, {none, zero, y});
}

Result<ValueId> squared_difference(NodeSite& site, ValueId a, ValueId b) {
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {a, b}));
  return square(site, way);
}

Result<ValueId> plain_elu(NodeSite& site, ValueId x) { return elu(site, x, {}); }
Result<ValueId> selu(NodeSite& site, ValueId x) { return elu(site, x, {1.6732632423543772, 1.0507009873554805, 1}); }
/// TensorFlow Lite alone has a factor.
template <bool log>
Status softmax_of_last(NodeSite& site, ValueId x, double beta) {
  const auto rank = static_cast<std::int64_t>(site.rank(x));
  if (rank == 0) return site.error("the input is a scalar");
  if (beta != 1) {
    WHET_TRY(x, with_number(site, "scaled", B::mul, x, beta));
  }
  return site.give(SoftmaxOperator{rank - 1, log}, {x});
}
Result<ValueId> l2_loss(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId sum, reduced(site, x, {ReduceKind::sum_square, every_axis(site.rank(x)), false}));
  return with_number(site, "half", B::mul, sum, 0.5);
}

Result<ValueId> cast(NodeSite& site, ValueId x, DType to) { return site.cast("cast", x, to); }
Status identity(NodeSite& site, ValueId x) { return site.pass(x); }
Result<ValueIds> identities(NodeSite&, const ValueIds& values) { return values; }

Result<FakeQuantization> rounding(NodeSite& site, double least, double most, std::int64_t bits, bool narrow) {
  if (bits >= 2 && bits <= 16) {
    const FakeQuantization form = fake_quantization(least, most, bits, narrow);
    if (form.scale > 0) return form;
  }
  return site.error("rounds numbers from " + std::to_string(least) + " to " + std::to_string(most) + " to " +
                    std::to_string(bits) + " bits; expected numbers in order, and 2 to 16 bits");
}
Result<ValueId> fake_quant(NodeSite& site, ValueId x, double least, double most, std::int64_t bits, bool narrow) {
  WHET_TRY(const FakeQuantization form, rounding(site, least, most, bits, narrow));
  return fake_quantized(site, x, {form});
}
/// One range, or one for each place of the last dimension.
Result<ValueId> fake_quant_by(NodeSite& site, ValueId x, const Tensor& least, const Tensor& most, std::int64_t bits,
                              bool narrow) {
  const Shape shape = site.shape(x);
  const bool fits =
      least.size() == most.size() && (least.size() == 1 || (!shape.empty() && least.size() == shape.back()));
  if (!fits)
    return site.error("keeps " + to_string(site.type(x)) + " between " + to_string(least.type()) + " and " +
                      to_string(most.type()));
  std::vector<FakeQuantization> forms;
  for (std::int64_t i = 0; i < least.size(); ++i) {
    WHET_TRY(const FakeQuantization form, rounding(site, least.get(i), most.get(i), bits, narrow));
    forms.push_back(form);
  }
  return fake_quantized(site, x, forms);
}

// ---- Reductions.

template <ReduceKind kind>
Status reduce(NodeSite& site, ValueId x, const Ints& axes, bool keep) {
  return axes.empty() ? site.pass(x) : site.give(reduced(site, x, ReduceOperator{kind, axes, keep}));
}
template <bool largest>
Result<ValueId> place_of_extreme(NodeSite& site, ValueId x, std::int64_t axis, DType dtype) {
  WHET_TRY(const ValueId place, site.add("place", ArgReduceOperator{largest, axis, false}, {x}));
  return site.cast("number", place, dtype);
}

}  // namespace

TfRows elementwise_rows() {
  using R = ReduceKind;
  static constexpr std::string_view kReduce = "x list_of_axes(x) @keep_dims=0";
  static constexpr TfRow kRows[] = {
      {"Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal Relu Round Sigmoid Sign "
       "Sin "
       "Sinh Softplus Softsign Sqrt Tan Tanh",
       "x", calls<unary_of_name>},
      {"Add Div Equal Greater GreaterEqual Less LessEqual Mul Sub", "a b", calls<binary_of_name>},
      {"AddN", "values...", calls<chain<B::add>>},
      {"AddV2", "a b", calls<binary<B::add>>},
      {"All Min", kReduce, calls<reduce<R::min>>},
      {"Any Max", kReduce, calls<reduce<R::max>>},
      {"ArgMax", "x axis(x) @output_type=i64", calls<place_of_extreme<true>>},
      {"ArgMin", "x axis(x) @output_type=i64", calls<place_of_extreme<false>>},
      {"Atan2", "y x", calls<angle_of>},
      {"BitwiseAnd", "a b", calls<bits_of<B::logical_and>>},
      {"BitwiseOr", "a b", calls<bits_of<B::logical_or>>},
      {"BitwiseXor", "a b", calls<bits_of<B::logical_xor>>},
      {"Cast", "x @DstT", calls<cast>},
      {"CheckNumerics EnsureShape Identity PlaceholderWithDefault PreventGradient ReadVariableOp Snapshot StopGradient",
       "x[] others[]...?", calls<identity>},
      {"ClipByValue", "x low high", calls<clipped>},
      {"Cumsum", "x axis(x) @exclusive=0 @reverse=0", calls<one_operand<CumSumOperator, std::int64_t, bool, bool>>},
      {"DivNoNan", "a b", calls<zero_or<B::div, false>>},
      {"Elu", "x", calls<plain_elu>},
      {"Erfc", "x", calls<erfc>},
      {"EuclideanNorm", kReduce, calls<reduce<R::l2>>},
      {"Expm1", "x", calls<expm1>},
      {"FakeQuantWithMinMaxArgs", "x @min=-6 @max=6 @num_bits=8 @narrow_range=0", calls<fake_quant>},
      {"FakeQuantWithMinMaxVars", "x least_number largest_number @num_bits=8 @narrow_range=0", calls<fake_quant_by>},
      {"FakeQuantWithMinMaxVarsPerChannel", "x least_number largest_number @num_bits=8 @narrow_range=0",
       calls<fake_quant_by>},
      {"FloorDiv", "a b", calls<floored_quotient>},
      {"FloorMod", "a b", calls<floored_remainder>},
      {"IdentityN", "values[]...?", calls<identities>},
      {"Inv", "x", calls<unary<U::reciprocal>>},
      {"Invert", "x", calls<bitwise_not>},
      {"IsFinite", "x", calls<is_finite>},
      {"IsInf", "x =1 =1", calls<is_infinite>},
      {"IsNan", "x", calls<unary<U::is_nan>>},
      {"L2Loss", "x", calls<l2_loss>},
      {"LeakyRelu", "x @alpha=0.2", calls<one_operand<LeakyReluOperator, double>>},
      {"LeftShift", "x count =1", calls<bit_shift>},
      {"Log1p", "x", calls<log1p>},
      {"LogSoftmax", "x @beta=1", calls<softmax_of_last<true>>},
      {"LogicalAnd", "a b", calls<binary<B::logical_and>>},
      {"LogicalNot", "x", calls<unary<U::logical_not>>},
      {"LogicalOr", "a b", calls<binary<B::logical_or>>},
      {"Maximum", "a b", calls<binary<B::max>>},
      {"Mean", kReduce, calls<reduce<R::mean>>},
      {"Minimum", "a b", calls<binary<B::min>>},
      {"Mod TruncateMod", "a b", calls<truncated_remainder>},
      {"MulNoNan", "a b", calls<zero_or<B::mul, false>>},
      {"NotEqual", "a b", calls<not_equal>},
      {"Pow", "base exponent", calls<power>},
      {"Prelu", "x slope", calls<prelu>},
      {"Prod", kReduce, calls<reduce<R::prod>>},
      {"RealDiv TruncateDiv", "a b", calls<binary<B::div>>},
      {"Relu6", "x =0 =6", calls<one_operand<ClipOperator, double, double>>},
      {"RightShift", "x count =0", calls<bit_shift>},
      {"Rint", "x", calls<unary<U::round>>},
      {"Rsqrt", "x", calls<reciprocal_root>},
      {"Select", "condition a b", calls<chosen_rows>},
      {"SelectV2", "condition a b", calls<chosen>},
      {"Selu", "x", calls<selu>},
      {"Softmax", "x @beta=1", calls<softmax_of_last<false>>},
      {"Square", "x", calls<square>},
      {"SquaredDifference", "a b", calls<squared_difference>},
      {"Sum", kReduce, calls<reduce<R::sum>>},
      {"Xdivy", "a b", calls<zero_or<B::div, true>>},
  };
  return kRows;
}

}  // namespace whet::tensorflow
