#include <algorithm>

#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/elementary.h"
#include "import/parts/matrix.h"
#include "import/parts/normalize.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"
#include "import_mxnet/rows.h"

namespace whet::mxnet {
namespace {

using B = BinaryKind;
using U = UnaryKind;

bool is_logical(BinaryKind kind) { return kind == B::logical_and || kind == B::logical_or || kind == B::logical_xor; }
bool compares(BinaryKind kind) {
  return kind == B::equal || kind == B::less || kind == B::less_equal || kind == B::greater || kind == B::greater_equal;
}

/// Comparisons give 0 and 1 in the type of their operands.
Result<ValueId> combined(NodeSite& site, BinaryKind kind, ValueId a, ValueId b, bool inverted) {
  const DType dtype = site.dtype(a);
  if (is_logical(kind)) {
    WHET_TRY(a, site.cast("left", a, DType::boolean));
    WHET_TRY(b, site.cast("right", b, DType::boolean));
  }
  WHET_TRY(ValueId y, site.add("y", BinaryOperator{kind}, {a, b}));
  WHET_TRY(y, inverted ? site.add("not", UnaryOperator{U::logical_not}, {y}) : y);
  return is_logical(kind) || compares(kind) ? site.cast("number", y, dtype) : y;
}
template <BinaryKind kind>
Result<ValueId> import_binary(NodeSite& site, ValueId a, ValueId b) {
  return combined(site, kind, a, b, false);
}
Result<ValueId> import_not_equal(NodeSite& site, ValueId a, ValueId b) { return combined(site, B::equal, a, b, true); }

/// With a number as the second operand, or as the first (_rminus_scalar).
template <Result<ValueId> (*function)(NodeSite&, ValueId, ValueId)>
Result<ValueId> with_scalar(NodeSite& site, ValueId x, double number) {
  return function(site, x, site.add_scalar("scalar", site.dtype(x), number));
}
template <Result<ValueId> (*function)(NodeSite&, ValueId, ValueId)>
Result<ValueId> with_left_scalar(NodeSite& site, ValueId x, double number) {
  return function(site, site.add_scalar("scalar", site.dtype(x), number), x);
}

/// The lower of two whole numbers that are as near.
Status import_rint(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId low, site.add("low", UnaryOperator{U::floor}, {x}));
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {x, low}));
  WHET_TRY(ValueId more, with_number(site, "above", B::greater, rest, 0.5));
  WHET_TRY(more, site.cast("more", more, site.dtype(x)));
  return site.give(BinaryOperator{B::add}, {low, more});
}
Result<ValueId> import_times(NodeSite& site, ValueId x, double factor) {
  return with_number(site, "product", B::mul, x, factor);
}
Result<ValueId> import_log_times(NodeSite& site, ValueId x, double factor) {
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {x}));
  return import_times(site, log, factor);
}
Result<ValueId> import_cube_root(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{U::sign}, {x}));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId root, with_number(site, "root", B::pow, size, 1.0 / 3));
  return site.add("cube_root", BinaryOperator{B::mul}, {sign, root});
}
Status import_reciprocal_cube_root(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId root, import_cube_root(site, x));
  return site.give(UnaryOperator{U::reciprocal}, {root});
}
Result<ValueId> import_round(NodeSite& site, ValueId x) { return is_float(site.dtype(x)) ? rounded_away(site, x) : x; }
Result<ValueId> import_logical_not(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId truth, site.cast("truth", x, DType::boolean));
  WHET_TRY(const ValueId turned, site.add("turned", UnaryOperator{U::logical_not}, {truth}));
  return site.cast("number", turned, site.dtype(x));
}
Status import_smooth_l1(NodeSite& site, ValueId x, double sigma) {
  const double square = sigma * sigma;
  if (!(square > 0)) return site.error("its scalar is " + std::to_string(sigma));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId squares, site.add("squares", BinaryOperator{B::mul}, {x, x}));
  WHET_TRY(const ValueId near, with_number(site, "near", B::mul, squares, square / 2));
  WHET_TRY(const ValueId far, with_number(site, "far", B::sub, size, 0.5 / square));
  WHET_TRY(const ValueId is_near, with_number(site, "is_near", B::less, size, 1 / square));
  return site.give(WhereOperator{}, {is_near, near, far});
}

enum class Activation : std::uint8_t { relu, sigmoid, tanh, softrelu, softsign, silu, mish };
Status import_activation(NodeSite& site, ValueId x, Activation kind) {
  static constexpr UnaryKind kUnary[] = {U::relu, U::sigmoid, U::tanh, U::softplus, U::softsign};
  if (kind == Activation::silu) return site.give(swish(site, x, 1));
  if (kind == Activation::mish) return site.give(mish(site, x));
  return site.give(UnaryOperator{kUnary[static_cast<std::size_t>(kind)]}, {x});
}
enum class Leaky : std::uint8_t { leaky, prelu, elu, selu, gelu, rrelu };
Status import_leaky_relu(MxSite& site, ValueId x, std::optional<ValueId> slopes, Leaky kind, double slope, double low,
                         double high) {
  if (kind == Leaky::elu) return site.give(elu(site, x, {slope, 1, 1}));
  if (kind == Leaky::selu) return site.give(elu(site, x, {1.6732632423543772, 1.0507009873554805, 1}));
  if (kind == Leaky::gelu) return site.give(gelu(site, x, Gelu::erf));
  if (kind == Leaky::prelu && slopes) return site.give(prelu_of_channels(site, x, *slopes));
  if (kind == Leaky::prelu) return site.expect_inputs(2);
  return site.give(LeakyReluOperator{kind == Leaky::rrelu ? (low + high) / 2 : slope},
                   {x});  // of random slopes the mean
}

Status give_softmax(NodeSite& site, ValueId x, std::int64_t axis, double temperature, bool by_lengths, bool log) {
  if (by_lengths) return site.error("takes lengths, which is not supported");
  WHET_TRY(x, temperature == 1 ? x : with_number(site, "scaled", B::div, x, temperature));
  return site.give(SoftmaxOperator{axis, log}, {x});
}
/// Over axis 1, or over all but the batch.
Status give_softmax_of_batch(NodeSite& site, ValueId x, bool of_channels) {
  const std::size_t rank = site.rank(x);
  if (rank < 2) return site.error("the input is " + to_string(site.type(x)) + "; expected a batch and more");
  if (of_channels || rank == 2) return site.give(SoftmaxOperator{1, false}, {x});
  return site.give(softmax_flattened(site, x, 1, false));
}
Status import_softmax_output(MxSite& site, ValueId x, bool of_channels, bool of_last) {
  if (!of_last) return give_softmax_of_batch(site, x, of_channels);
  return site.give(SoftmaxOperator{static_cast<std::int64_t>(site.rank(x)) - 1, false}, {x});
}

Status import_identity(NodeSite& site, ValueId x) { return site.pass(x); }
Result<ValueId> import_cast(NodeSite& site, ValueId x, DType to) { return site.cast("cast", x, to); }
/// All operands in the widest of their types, or in the narrowest.
Status import_common_cast(NodeSite& site, const ValueIds& values, bool narrow) {
  DType common = site.dtype(values[0]);
  for (const ValueId x : values) {
    const DType own = site.dtype(x);
    if (!is_float(own)) return site.error("casts " + to_string(site.type(x)) + "; expected floats");
    if (narrow ? size_of(own) < size_of(common) : size_of(own) > size_of(common)) common = own;
  }
  if (site.output_count() > values.size())
    return site.error("has " + std::to_string(site.output_count()) + " results of " + std::to_string(values.size()) +
                      " operands");
  for (std::size_t i = 0; i < site.output_count(); ++i)
    WHET_RETURN_IF_ERROR(site.give(site.cast("cast", values[i], common), i));
  return ok_status();
}
Result<ValueId> import_where(NodeSite& site, ValueId given, ValueId a, ValueId b) {
  WHET_TRY(const ValueId condition, site.cast("condition", given, DType::boolean));
  return chosen_rows(site, condition, a, b);
}

// ---- Products.

/// Weights [units, features]; `flatten`: everything behind the batch is one row.
Result<ValueId> import_fully_connected(MxSite& site, ValueId x, ValueId weights, std::optional<ValueId> bias,
                                       bool no_bias, bool flatten) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(no_bias ? 2 : 3));
  const Shape w = site.shape(weights), shape = site.shape(x);
  const bool fits = w.size() == 2 && !shape.empty() && num_elements(shape) > 0 && num_elements(w) > 0 &&
                    (flatten ? num_elements(shape) / shape[0] : shape.back()) == w[1];
  if (!fits) return site.error("multiplies " + to_string(site.type(x)) + " by weights " + to_string(w));
  Shape rows = {num_elements(shape) / w[1], w[1]}, result = flatten ? Shape{shape[0], w[0]} : shape;
  result.back() = w[0];
  WHET_TRY(x, rows == shape ? x : site.add("rows", ReshapeOperator{rows}, {x}));
  WHET_TRY(ValueId y, site.add("product", MatMulOperator{.transpose_b = true}, {x, weights}));
  WHET_TRY(y, bias ? site.add("biased", BinaryOperator{B::add}, {y, *bias}) : y);
  return site.shape(y) == result ? y : site.add("result", ReshapeOperator{result}, {y});
}
Status import_dot(MxSite& site, ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
  const std::size_t left = site.rank(a), right = site.rank(b);
  if (left == 2 && right == 2) return site.give(MatMulOperator{transpose_a, transpose_b}, {a, b});
  if (!transpose_a && !transpose_b && right <= 2) return site.give(matmul(site, a, b));
  return site.error("multiplies tensors of " + std::to_string(left) + " and " + std::to_string(right) +
                    " dimensions, which is not supported");
}
Result<ValueId> import_batch_dot(NodeSite& site, ValueId a, ValueId b, bool transpose_a, bool transpose_b,
                                 double alpha) {
  WHET_TRY(const ValueId y, site.add("product", MatMulOperator{transpose_a, transpose_b}, {a, b}));
  return alpha == 1 ? y : with_number(site, "scaled", B::mul, y, alpha);
}

// ---- Reductions and orders.

/// Over the axes that are named, or (`exclude`) the others; over all where none is named. The result is a list where nothing else
/// is left: MXNet has no scalars.
Result<ValueId> reduced_over(NodeSite& site, ReduceKind kind, ValueId x, const Ints& named, bool exclude, bool keep) {
  Ints axes = named.empty() || exclude ? every_axis(site.rank(x)) : named;
  if (exclude)
    std::erase_if(axes, [&](std::int64_t d) { return std::find(named.begin(), named.end(), d) != named.end(); });
  if (axes.empty()) return x;
  WHET_TRY(const ValueId y, reduced(site, x, ReduceOperator{kind, axes, keep}));
  return site.rank(y) == 0 ? site.add("one", ReshapeOperator{{1}}, {y}) : y;
}
template <ReduceKind kind>
Result<ValueId> import_reduce(NodeSite& site, ValueId x, const Ints& axes, bool exclude, bool keep) {
  return reduced_over(site, kind, x, axes, exclude, keep);
}
Result<ValueId> import_norm(NodeSite& site, ValueId x, const Ints& axes, bool exclude, bool keep, std::int64_t order) {
  if (order != 1 && order != 2) return site.error("its ord is " + std::to_string(order) + "; expected 1 or 2");
  return reduced_over(site, order == 1 ? ReduceKind::l1 : ReduceKind::l2, x, axes, exclude, keep);
}
Result<ValueId> as_list(NodeSite& site, ValueId x) {
  return site.add("flat", ReshapeOperator{{num_elements(site.shape(x))}}, {x});
}
/// Places are numbers of floats: along an axis, or in the tensor as one list.
template <bool largest>
Result<ValueId> import_place(NodeSite& site, ValueId x, std::optional<std::int64_t> axis, bool keep) {
  const std::size_t rank = site.rank(x);
  WHET_TRY(x, axis ? x : as_list(site, x));
  WHET_TRY(ValueId place, site.add("place", ArgReduceOperator{largest, axis.value_or(0), keep || !axis}, {x}));
  WHET_TRY(place, !axis && keep ? site.add("kept", ReshapeOperator{Shape(rank, 1)}, {place}) : place);
  return site.cast("number", place, DType::f32);
}

/// 1 at places along an axis, else 0: [shape] in the type of x.
Result<ValueId> mask_of(NodeSite& site, ValueId x, ValueId places, std::int64_t axis, const Shape& shape) {
  const DType dtype = site.dtype(x);
  const Shape all = site.shape(x), chosen = site.shape(places);  // copies: what is added moves the graph's shapes
  WHET_TRY(const ValueId none, expanded(site, site.add_scalar("none", dtype, 0), all));
  WHET_TRY(const ValueId ones, expanded(site, site.add_scalar("one", dtype, 1), chosen));
  WHET_TRY(const ValueId mask, site.add("mask", ScatterElementsOperator{axis}, {none, places, ones}));
  return site.shape(mask) == shape ? mask : site.add("shaped", ReshapeOperator{shape}, {mask});
}

enum class Gives : std::uint8_t { value, indices, both, mask };
/// The first `k` in order along an axis, or (None) of the tensor as one list; all where k is 0 or less.
Status import_top_k(MxSite& site, ValueId x, std::int64_t axis, bool ascends, DType dtype, std::int64_t k,
                    Gives gives) {
  const Shape shape = site.shape(x);
  if (site.written("axis") == "None") {
    WHET_TRY(x, as_list(site, x));
    axis = 0;
  }
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  if (k < 1) k = extent;
  if (k > extent || extent < 1)
    return site.error("takes " + std::to_string(k) + " elements of " + to_string(site.type(x)));
  WHET_TRY(const ValueId places, site.add("places", TopKOperator{axis, k, !ascends}, {x}));
  if (gives == Gives::mask) return site.give(mask_of(site, x, places, axis, shape));
  if (gives != Gives::indices) WHET_RETURN_IF_ERROR(site.give(GatherElementsOperator{axis}, {x, places}));
  if (gives == Gives::value) return ok_status();
  return site.give(site.cast("numbers", places, dtype), gives == Gives::both ? 1 : 0);
}

}  // namespace

MxRows elementwise_rows() {
  using R = ReduceKind;
  static constexpr std::string_view kScalar = "x @scalar=1", kReduce = "x @axis(x)= @exclude=0 @keepdims=0",
                                    kAlong = "x @axis(x)? @keepdims=0";
  static constexpr MxRow kRows[] = {
      {"Activation _npx_activation", "x @act_type:relu|sigmoid|tanh|softrelu|softsign|silu|mish",
       calls<import_activation>},
      {"BlockGrad Dropout LinearRegressionOutput MAERegressionOutput MakeLoss _copy identity make_loss stop_gradient",
       "x other?", calls<import_identity>},
      {"Cast amp_cast cast", "x @dtype=float32", calls<import_cast>},
      {"ElementWiseSum add_n", "values...", calls<chain<B::add>>},
      {"FullyConnected _npx_fully_connected", "x weights bias? @no_bias=0 @flatten=1", calls<import_fully_connected>},
      {"LeakyReLU",
       "x slopes? @act_type:leaky|prelu|elu|selu|gelu|rrelu=leaky @slope=0.25 @lower_bound=0.125 @upper_bound=0.334",
       calls<import_leaky_relu>},
      {"LogisticRegressionOutput _npx_sigmoid sigmoid", "x", calls<unary<U::sigmoid>>},
      {"Softmax SoftmaxOutput", "x @multi_output=0 @preserve_shape=0", calls<import_softmax_output>},
      {"SoftmaxActivation", "x @mode:instance|channel=instance", calls<give_softmax_of_batch>},
      {"_Plus _plus broadcast_add broadcast_plus elemwise_add", "a b", calls<import_binary<B::add>>},
      {"_Div broadcast_div elemwise_div", "a b", calls<import_binary<B::div>>},
      {"_Equal _equal broadcast_equal", "a b", calls<import_binary<B::equal>>},
      {"_greater broadcast_greater", "a b", calls<import_binary<B::greater>>},
      {"_greater_equal broadcast_greater_equal", "a b", calls<import_binary<B::greater_equal>>},
      {"_lesser broadcast_lesser", "a b", calls<import_binary<B::less>>},
      {"_lesser_equal broadcast_lesser_equal", "a b", calls<import_binary<B::less_equal>>},
      {"_logical_and broadcast_logical_and", "a b", calls<import_binary<B::logical_and>>},
      {"_logical_or broadcast_logical_or", "a b", calls<import_binary<B::logical_or>>},
      {"_logical_xor broadcast_logical_xor", "a b", calls<import_binary<B::logical_xor>>},
      {"_Maximum _maximum broadcast_maximum", "a b", calls<import_binary<B::max>>},
      {"_Minimum _minimum broadcast_minimum", "a b", calls<import_binary<B::min>>},
      {"_Mul _mul broadcast_mul elemwise_mul", "a b", calls<import_binary<B::mul>>},
      {"_Minus _minus broadcast_minus broadcast_sub elemwise_sub", "a b", calls<import_binary<B::sub>>},
      {"_Power _power broadcast_power", "base exponent", calls<power>},
      {"_mod broadcast_mod", "a b", calls<floored_remainder>},
      {"_not_equal broadcast_not_equal", "a b", calls<import_not_equal>},
      {"_hypot broadcast_hypot", "a b", calls<hypotenuse>},
      {"_PlusScalar _plus_scalar", kScalar, calls<with_scalar<import_binary<B::add>>>},
      {"_DivScalar _div_scalar", kScalar, calls<with_scalar<import_binary<B::div>>>},
      {"_equal_scalar", kScalar, calls<with_scalar<import_binary<B::equal>>>},
      {"_greater_scalar", kScalar, calls<with_scalar<import_binary<B::greater>>>},
      {"_greater_equal_scalar", kScalar, calls<with_scalar<import_binary<B::greater_equal>>>},
      {"_lesser_scalar", kScalar, calls<with_scalar<import_binary<B::less>>>},
      {"_hypot_scalar", kScalar, calls<with_scalar<hypotenuse>>},
      {"_logical_and_scalar", kScalar, calls<with_scalar<import_binary<B::logical_and>>>},
      {"_logical_or_scalar", kScalar, calls<with_scalar<import_binary<B::logical_or>>>},
      {"_logical_xor_scalar", kScalar, calls<with_scalar<import_binary<B::logical_xor>>>},
      {"_lesser_equal_scalar", kScalar, calls<with_scalar<import_binary<B::less_equal>>>},
      {"_MaximumScalar _maximum_scalar", kScalar, calls<with_scalar<import_binary<B::max>>>},
      {"_MinimumScalar _minimum_scalar", kScalar, calls<with_scalar<import_binary<B::min>>>},
      {"_MulScalar _mul_scalar", kScalar, calls<with_scalar<import_binary<B::mul>>>},
      {"_PowerScalar _power_scalar", kScalar, calls<with_scalar<import_binary<B::pow>>>},
      {"_MinusScalar _minus_scalar", kScalar, calls<with_scalar<import_binary<B::sub>>>},
      {"_mod_scalar", kScalar, calls<with_scalar<floored_remainder>>},
      {"_not_equal_scalar", kScalar, calls<with_scalar<import_not_equal>>},
      {"_RDivScalar _rdiv_scalar", kScalar, calls<with_left_scalar<import_binary<B::div>>>},
      {"_rpower_scalar", kScalar, calls<with_left_scalar<import_binary<B::pow>>>},
      {"_RMinusScalar _rminus_scalar", kScalar, calls<with_left_scalar<import_binary<B::sub>>>},
      {"_rmod_scalar", kScalar, calls<with_left_scalar<floored_remainder>>},
      {"abs ceil cos cosh erf exp floor log reciprocal sign sin sinh softsign sqrt tan tanh", "x",
       calls<unary_of_name>},
      {"arccos", "x", calls<unary<U::acos>>},
      {"arccosh", "x", calls<unary<U::acosh>>},
      {"arcsin", "x", calls<unary<U::asin>>},
      {"arcsinh", "x", calls<unary<U::asinh>>},
      {"arctan", "x", calls<unary<U::atan>>},
      {"arctanh", "x", calls<unary<U::atanh>>},
      {"cbrt", "x", calls<import_cube_root>},
      {"negative", "x", calls<unary<U::neg>>},
      {"_npx_relu relu", "x", calls<unary<U::relu>>},
      {"degrees", "x =57.29577951308232", calls<import_times>},
      {"expm1", "x", calls<expm1>},
      {"fix trunc", "x", calls<truncated>},
      {"log10", "x =0.43429448190325176", calls<import_log_times>},
      {"log1p", "x", calls<log1p>},
      {"log2", "x =1.4426950408889634", calls<import_log_times>},
      {"logical_not", "x", calls<import_logical_not>},
      {"radians", "x =0.017453292519943295", calls<import_times>},
      {"rcbrt", "x", calls<import_reciprocal_cube_root>},
      {"rint", "x", calls<import_rint>},
      {"round", "x", calls<import_round>},
      {"rsqrt", "x", calls<reciprocal_root>},
      {"square", "x", calls<square>},
      {"smooth_l1", kScalar, calls<import_smooth_l1>},
      {"clip", "x @a_min=-inf @a_max=inf", calls<one_operand<ClipOperator, double, double>>},
      {"hard_sigmoid", "x @alpha=0.2 @beta=0.5", calls<one_operand<HardSigmoidOperator, double, double>>},
      {"_npx_softmax softmax", "x @axis(x)=-1 @temperature=1 @use_length=0 =0", calls<give_softmax>},
      {"log_softmax", "x @axis(x)=-1 @temperature=1 @use_length=0 =1", calls<give_softmax>},
      {"_linalg_gemm2 batch_dot", "a b @transpose_a=0 @transpose_b=0 @alpha=1", calls<import_batch_dot>},
      {"dot", "a b @transpose_a=0 @transpose_b=0", calls<import_dot>},
      {"amp_multicast", "values... @cast_narrow=0", calls<import_common_cast>},
      {"where", "condition a b", calls<import_where>},
      {"max max_axis", kReduce, calls<import_reduce<R::max>>},
      {"mean", kReduce, calls<import_reduce<R::mean>>},
      {"min min_axis", kReduce, calls<import_reduce<R::min>>},
      {"prod", kReduce, calls<import_reduce<R::prod>>},
      {"sum sum_axis", kReduce, calls<import_reduce<R::sum>>},
      {"norm", "x @axis(x)= @exclude=0 @keepdims=0 @ord=2", calls<import_norm>},
      {"argmax", kAlong, calls<import_place<true>>},
      {"argmin", kAlong, calls<import_place<false>>},
      {"argsort", "x @axis(x)=-1 @is_ascend=1 @dtype=float32 =0 =1", calls<import_top_k>},
      {"sort", "x @axis(x)=-1 @is_ascend=1 @dtype=float32 =0 =0", calls<import_top_k>},
      {"topk", "x @axis(x)=-1 @is_ascend=0 @dtype=float32 @k=1 @ret_typ:value|indices|both|mask=indices",
       calls<import_top_k>},
  };
  return kRows;
}

}  // namespace whet::mxnet
