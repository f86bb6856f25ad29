#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "import/mxnet/rows.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"
#include "import/parts/elementary.h"
#include "import/parts/index.h"
#include "import/parts/matrix.h"
#include "import/parts/normalize.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"

namespace whet::mxnet {
namespace {

using Ints = std::vector<std::int64_t>;
using B = BinaryKind;
using U = UnaryKind;

/// Comparisons give 0 and 1 in the type of their operands.
bool compares(BinaryKind kind) {
  return kind == B::equal || kind == B::less || kind == B::less_equal || kind == B::greater ||
         kind == B::greater_equal || kind == B::logical_and || kind == B::logical_or || kind == B::logical_xor;
}

Status give_binary(MxSite& site, BinaryKind kind, ValueId a, ValueId b, bool inverted) {
  const DType dtype = site.dtype(a);
  const bool logical = kind == B::logical_and || kind == B::logical_or || kind == B::logical_xor;
  if (logical) {
    WHET_TRY(a, site.cast("left", a, DType::boolean));
    WHET_TRY(b, site.cast("right", b, DType::boolean));
  }
  WHET_TRY(ValueId y, site.add("y", BinaryOperator{kind}, {a, b}));
  if (inverted) {
    WHET_TRY(y, site.add("not", UnaryOperator{U::logical_not}, {y}));
  }
  return site.give(compares(kind) ? site.cast("number", y, dtype) : Result<ValueId>(y));
}

/// Elements behind the axes that remain: MXNet's reductions may name the axes that stay.
Result<Ints> reduced_axes(MxSite& site, ValueId x) {
  WHET_TRY(const bool exclude, site.flag("exclude", false));
  WHET_TRY(const Ints axes, site.axes("axis", x));
  WHET_TRY(const Ints named, site.integers("axis"));
  if (!exclude || named.empty()) return axes;
  Ints others;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(site.rank(x)); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) others.push_back(d);
  return others;
}

/// "channel": over axis 1, else over all but the batch.
Status give_softmax_over(MxSite& site, bool channel) {
  const ValueId x = site.in(0);
  const std::size_t rank = site.rank(x);
  if (rank < 2) return site.error("the input is " + to_string(site.type(x)) + "; expected a batch and more");
  if (channel || rank == 2) return site.give(SoftmaxOperator{1, false}, {x});
  return site.give(softmax_flattened(site, x, 1, false));
}

Status import_unary(MxSite& site, UnaryKind kind) { return site.give(UnaryOperator{kind}, {site.in(0)}); }
Status import_binary(MxSite& site, BinaryKind kind) { return give_binary(site, kind, site.in(0), site.in(1), false); }
Status import_not_equal(MxSite& site) { return give_binary(site, B::equal, site.in(0), site.in(1), true); }
/// With a number: _plus_scalar, _rminus_scalar (the number is on the left), ...
Status import_scalar(MxSite& site, BinaryKind kind, bool on_left) {
  WHET_TRY(const double number, site.number("scalar", 1));
  const ValueId x = site.in(0), scalar = site.add_scalar("scalar", site.dtype(x), number);
  return give_binary(site, kind, on_left ? scalar : x, on_left ? x : scalar, false);
}
Status import_not_equal_scalar(MxSite& site) {
  WHET_TRY(const double number, site.number("scalar", 1));
  return give_binary(site, B::equal, site.in(0), site.add_scalar("scalar", site.dtype(site.in(0)), number), true);
}
Status import_add_n(MxSite& site) { return site.give(chained(site, B::add, site.ins())); }
Status import_power(MxSite& site) { return site.give(power(site, site.in(0), site.in(1))); }
Status import_modulo(MxSite& site) { return site.give(floored_remainder(site, site.in(0), site.in(1))); }
Status import_modulo_scalar(MxSite& site, bool on_left) {
  WHET_TRY(const double number, site.number("scalar", 1));
  const ValueId x = site.in(0), scalar = site.add_scalar("scalar", site.dtype(x), number);
  WHET_TRY(const ValueId rest, floored_remainder(site, on_left ? scalar : x, on_left ? x : scalar));
  return site.give(rest);
}
Status import_modulo_by_scalar(MxSite& site) { return import_modulo_scalar(site, false); }
Status import_scalar_modulo(MxSite& site) { return import_modulo_scalar(site, true); }
Status import_square(MxSite& site) { return site.give(BinaryOperator{B::mul}, {site.in(0), site.in(0)}); }
Status import_rsqrt(MxSite& site) {
  WHET_TRY(const ValueId root, site.add("root", UnaryOperator{U::sqrt}, {site.in(0)}));
  return site.give(UnaryOperator{U::reciprocal}, {root});
}
/// The lower of two whole numbers that are as near.
Status import_rint(MxSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(const ValueId low, site.add("low", UnaryOperator{U::floor}, {x}));
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {x, low}));
  WHET_TRY(ValueId more, with_number(site, "above", B::greater, rest, 0.5));
  WHET_TRY(more, site.cast("more", more, site.dtype(x)));
  return site.give(BinaryOperator{B::add}, {low, more});
}
Status import_log2(MxSite& site) {
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {site.in(0)}));
  return site.give(with_number(site, "of_two", B::mul, log, 1 / std::log(2.0)));
}
Status import_log10(MxSite& site) {
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {site.in(0)}));
  return site.give(with_number(site, "of_ten", B::mul, log, 1 / std::log(10.0)));
}
Status import_degrees(MxSite& site) {
  return site.give(with_number(site, "degrees", B::mul, site.in(0), 180 / std::numbers::pi));
}
Status import_radians(MxSite& site) {
  return site.give(with_number(site, "radians", B::mul, site.in(0), std::numbers::pi / 180));
}
/// Towards 0; a half behind it before: to the nearest, halves away from 0.
Status import_trunc(MxSite& site) {
  WHET_TRY(const ValueId sign, site.add("sign", UnaryOperator{U::sign}, {site.in(0)}));
  WHET_TRY(ValueId size, site.add("size", UnaryOperator{U::abs}, {site.in(0)}));
  WHET_TRY(size, site.add("floor", UnaryOperator{U::floor}, {size}));
  return site.give(BinaryOperator{B::mul}, {sign, size});
}
Status import_round(MxSite& site) {
  if (!is_float(site.dtype(site.in(0)))) return site.pass(site.in(0));
  return site.give(rounded_away(site, site.in(0)));
}
Status import_logical_not(MxSite& site) {
  const DType dtype = site.dtype(site.in(0));
  WHET_TRY(const ValueId truth, site.cast("truth", site.in(0), DType::boolean));
  WHET_TRY(const ValueId turned, site.add("turned", UnaryOperator{U::logical_not}, {truth}));
  return site.give(site.cast("number", turned, dtype));
}
Status import_log1p(MxSite& site) { return site.give(log1p(site, site.in(0))); }
Status import_expm1(MxSite& site) { return site.give(expm1(site, site.in(0))); }
Status import_smooth_l1(MxSite& site) {
  WHET_TRY(const double sigma, site.number("scalar", 1));
  const double square = sigma * sigma;
  if (!(square > 0)) return site.error("its scalar is " + std::to_string(sigma));
  const ValueId x = site.in(0);
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId squares, site.add("squares", BinaryOperator{B::mul}, {x, x}));
  WHET_TRY(const ValueId near, with_number(site, "near", B::mul, squares, square / 2));
  WHET_TRY(const ValueId far, with_number(site, "far", B::sub, size, 0.5 / square));
  const ValueId bound = site.add_scalar("bound", site.dtype(x), 1 / square);
  WHET_TRY(const ValueId is_near, site.add("is_near", BinaryOperator{B::less}, {size, bound}));
  return site.give(WhereOperator{}, {is_near, near, far});
}
Status import_clip(MxSite& site) {
  WHET_TRY(const double low, site.number("a_min", -std::numeric_limits<double>::infinity()));
  WHET_TRY(const double high, site.number("a_max", std::numeric_limits<double>::infinity()));
  return site.give(ClipOperator{low, high}, {site.in(0)});
}
Status import_hard_sigmoid(MxSite& site) {
  WHET_TRY(const double alpha, site.number("alpha", 0.2));
  WHET_TRY(const double beta, site.number("beta", 0.5));
  return site.give(HardSigmoidOperator{alpha, beta}, {site.in(0)});
}

Status import_activation(MxSite& site) {
  const ValueId x = site.in(0);
  const std::string kind = site.text("act_type", "");
  if (kind == "relu") return site.give(UnaryOperator{U::relu}, {x});
  if (kind == "sigmoid") return site.give(UnaryOperator{U::sigmoid}, {x});
  if (kind == "tanh") return site.give(UnaryOperator{U::tanh}, {x});
  if (kind == "softrelu") return site.give(UnaryOperator{U::softplus}, {x});
  if (kind == "softsign") return site.give(UnaryOperator{U::softsign}, {x});
  if (kind == "silu") return site.give(swish(site, x, 1));
  if (kind == "mish") return site.give(mish(site, x));
  return site.error("its act_type is " + kind + "; expected relu, sigmoid, tanh, softrelu, softsign, silu or mish");
}
Status import_leaky_relu(MxSite& site) {
  const ValueId x = site.in(0);
  const std::string kind = site.text("act_type", "leaky");
  WHET_TRY(const double slope, site.number("slope", 0.25));
  if (kind == "leaky") return site.give(LeakyReluOperator{slope}, {x});
  if (kind == "elu") return site.give(elu(site, x, {slope, 1, 1}));
  if (kind == "selu") return site.give(elu(site, x, {1.6732632423543772, 1.0507009873554805, 1}));
  if (kind == "gelu") return site.give(gelu(site, x, Gelu::erf));
  if (kind == "rrelu") {  // of random slopes the mean
    WHET_TRY(const double low, site.number("lower_bound", 0.125));
    WHET_TRY(const double high, site.number("upper_bound", 0.334));
    return site.give(LeakyReluOperator{(low + high) / 2}, {x});
  }
  if (kind != "prelu")
    return site.error("its act_type is " + kind + "; expected leaky, prelu, elu, selu, gelu or rrelu");
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return site.give(prelu_of_channels(site, x, site.in(1)));
}

Status import_softmax(MxSite& site) {
  ValueId x = site.in(0);
  WHET_TRY(const std::int64_t axis, site.axis("axis", -1, site.rank(x)));
  WHET_TRY(const double temperature, site.number("temperature", 1));
  WHET_TRY(const bool by_lengths, site.flag("use_length", false));
  if (by_lengths) return site.error("takes lengths, which is not supported");
  if (temperature != 1) {
    WHET_TRY(x, with_number(site, "scaled", B::div, x, temperature));
  }
  return site.give(SoftmaxOperator{axis, site.op() == "log_softmax"}, {x});
}
/// The label, which training needs, is not read.
Status import_softmax_output(MxSite& site) {
  WHET_TRY(const bool multi, site.flag("multi_output", false));
  WHET_TRY(const bool preserves, site.flag("preserve_shape", false));
  if (preserves)
    return site.give(SoftmaxOperator{static_cast<std::int64_t>(site.rank(site.in(0))) - 1, false}, {site.in(0)});
  return give_softmax_over(site, multi);
}
Status import_softmax_activation(MxSite& site) {
  return give_softmax_over(site, site.text("mode", "instance") == "channel");
}
Status import_logistic_output(MxSite& site) { return site.give(UnaryOperator{U::sigmoid}, {site.in(0)}); }

Status import_identity(MxSite& site) { return site.pass(site.in(0)); }
Status import_cast(MxSite& site) {
  WHET_TRY(const DType to, site.dtype_attribute("dtype", "float32"));
  return site.give(site.cast("cast", site.in(0), to));
}
/// All operands in the widest of their types, or in the narrowest.
Status import_common_cast(MxSite& site) {
  WHET_TRY(const bool narrow, site.flag("cast_narrow", false));
  DType common = site.dtype(site.in(0));
  for (const ValueId x : site.ins()) {
    const DType own = site.dtype(x);
    if (!is_float(own)) return site.error("casts " + to_string(site.type(x)) + "; expected floats");
    if (narrow ? size_of(own) < size_of(common) : size_of(own) > size_of(common)) common = own;
  }
  if (site.output_count() > site.input_count())
    return site.error("has " + std::to_string(site.output_count()) + " results of " +
                      std::to_string(site.input_count()) + " operands");
  for (std::size_t i = 0; i < site.output_count(); ++i)
    WHET_RETURN_IF_ERROR(site.give(site.cast("cast", site.in(i), common), i));
  return ok_status();
}
Status import_where(MxSite& site) {
  WHET_TRY(ValueId condition, site.cast("condition", site.in(0), DType::boolean));
  const std::size_t rank = site.rank(site.in(1));
  if (site.rank(condition) == 1 && rank > 1 && site.op() == "where") {  // chooses rows
    Shape column(rank, 1);
    column[0] = site.shape(condition)[0];
    WHET_TRY(condition, site.add("rows", ReshapeOperator{column}, {condition}));
  }
  return site.give(WhereOperator{}, {condition, site.in(1), site.in(2)});
}

// ---- Products.

/// Weights [units, features]; `flatten`: everything behind the batch is one row.
Status import_fully_connected(MxSite& site) {
  WHET_TRY(const bool no_bias, site.flag("no_bias", false));
  WHET_RETURN_IF_ERROR(site.expect_inputs(no_bias ? 2 : 3));
  WHET_TRY(const bool flatten, site.flag("flatten", true));
  ValueId x = site.in(0);
  const Shape w = site.shape(site.in(1)), shape = site.shape(x);
  if (w.size() != 2 || shape.empty() || num_elements(shape) == 0 || num_elements(w) == 0)
    return site.error("multiplies " + to_string(site.type(x)) + " by weights " + to_string(w));
  Shape rows = {shape[0], num_elements(shape) / shape[0]}, result = {shape[0], w[0]};
  if (!flatten) {
    rows = {num_elements(shape) / shape.back(), shape.back()};
    result = shape;
    result.back() = w[0];
  }
  if (rows[1] != w[1]) return site.error("multiplies " + to_string(site.type(x)) + " by weights " + to_string(w));
  if (rows != shape) {
    WHET_TRY(x, site.add("rows", ReshapeOperator{rows}, {x}));
  }
  WHET_TRY(ValueId y, site.add("product", MatMulOperator{.transpose_b = true}, {x, site.in(1)}));
  if (!no_bias) {
    WHET_TRY(y, site.add("biased", BinaryOperator{B::add}, {y, site.in(2)}));
  }
  return site.give(site.shape(y) == result ? Result<ValueId>(y) : site.add("result", ReshapeOperator{result}, {y}));
}
Status import_dot(MxSite& site) {
  WHET_TRY(const bool a, site.flag("transpose_a", false));
  WHET_TRY(const bool b, site.flag("transpose_b", false));
  const std::size_t left = site.rank(site.in(0)), right = site.rank(site.in(1));
  if (left == 2 && right == 2) return site.give(MatMulOperator{a, b}, {site.in(0), site.in(1)});
  if (a || b || right > 2)
    return site.error("multiplies tensors of " + std::to_string(left) + " and " + std::to_string(right) +
                      " dimensions, which is not supported");
  return site.give(matmul(site, site.in(0), site.in(1)));
}
Status import_batch_dot(MxSite& site) {
  WHET_TRY(const bool a, site.flag("transpose_a", false));
  WHET_TRY(const bool b, site.flag("transpose_b", false));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  WHET_TRY(ValueId y, site.add("product", MatMulOperator{a, b}, {site.in(0), site.in(1)}));
  if (alpha != 1) {
    WHET_TRY(y, with_number(site, "scaled", B::mul, y, alpha));
  }
  return site.give(y);
}

// ---- Reductions and orders.

Status import_reduce(MxSite& site, ReduceKind kind) {
  const ValueId x = site.in(0);
  WHET_TRY(const Ints axes, reduced_axes(site, x));
  WHET_TRY(const bool keep, site.flag("keepdims", false));
  if (axes.empty()) return site.pass(x);
  WHET_TRY(ValueId y, reduced(site, x, ReduceOperator{kind, axes, keep}));
  if (site.rank(y) == 0) {  // MXNet has no scalars
    WHET_TRY(y, site.add("one", ReshapeOperator{{1}}, {y}));
  }
  return site.give(y);
}
Status import_norm(MxSite& site) {
  WHET_TRY(const std::int64_t order, site.integer("ord", 2));
  if (order != 1 && order != 2) return site.error("its ord is " + std::to_string(order) + "; expected 1 or 2");
  return import_reduce(site, order == 1 ? ReduceKind::l1 : ReduceKind::l2);
}
/// What an operator goes along: an axis, or (axis None) all elements as one list.
struct Along {
  ValueId x;
  std::int64_t axis = 0;
  bool flat = false;
};
Result<Along> along_all(MxSite& site) {
  WHET_TRY(const ValueId flat, site.add("flat", ReshapeOperator{{num_elements(site.shape(site.in(0)))}}, {site.in(0)}));
  return Along{flat, 0, true};
}
Result<Along> along_axis(MxSite& site, std::int64_t otherwise) {
  WHET_TRY(const std::int64_t axis, site.axis("axis", otherwise, site.rank(site.in(0))));
  return Along{site.in(0), axis};
}
/// Places are numbers of floats.
Status import_place(MxSite& site, bool largest) {
  const std::size_t rank = site.rank(site.in(0));
  WHET_TRY(const Along of, site.has("axis") ? along_axis(site, 0) : along_all(site));
  WHET_TRY(const bool keep, site.flag("keepdims", false));
  WHET_TRY(ValueId place, site.add("place", ArgReduceOperator{largest, of.axis, keep || of.flat}, {of.x}));
  if (of.flat && keep) {
    WHET_TRY(place, site.add("kept", ReshapeOperator{Shape(rank, 1)}, {place}));
  }
  return site.give(site.cast("number", place, DType::f32));
}
Status import_arg_max(MxSite& site) { return import_place(site, true); }
Status import_arg_min(MxSite& site) { return import_place(site, false); }
/// "value", "indices" (usual) or "both"; sort and argsort take all. The axis is the last one where none is named.
Status import_top_k(MxSite& site) {
  if (site.rank(site.in(0)) == 0) return site.error("the input is a scalar");
  WHET_TRY(const Along of, site.is_none("axis") ? along_all(site) : along_axis(site, -1));
  const ValueId x = of.x;
  const std::int64_t axis = of.axis;
  const bool top = site.op() == "topk";
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  std::int64_t k = extent;
  if (top) {
    WHET_TRY(k, site.integer("k", 1));
    if (k < 1) k = extent;
  }
  if (k > extent || extent < 1)
    return site.error("takes " + std::to_string(k) + " elements of " + to_string(site.type(x)));
  WHET_TRY(const bool ascends, site.flag("is_ascend", !top));
  WHET_TRY(const DType dtype, site.dtype_attribute("dtype", "float32"));
  const std::string gives = top ? site.text("ret_typ", "indices") : site.op() == "sort" ? "value" : "indices";
  if (gives != "value" && gives != "indices" && gives != "both")
    return site.error("its ret_typ is " + gives + "; expected value, indices or both");
  WHET_TRY(const ValueId places, site.add("places", TopKOperator{axis, k, !ascends}, {x}));
  const bool values = gives != "indices";
  if (values) WHET_RETURN_IF_ERROR(site.give(GatherElementsOperator{axis}, {x, places}));
  if (gives == "value") return ok_status();
  return site.give(site.cast("numbers", places, dtype), values ? 1 : 0);
}

using R = ReduceKind;

template <BinaryKind K>
Status import_binary(MxSite& site) {
  return import_binary(site, K);
}
template <BinaryKind K>
Status import_scalar(MxSite& site) {
  return import_scalar(site, K, false);
}
template <BinaryKind K>
Status import_left_scalar(MxSite& site) {
  return import_scalar(site, K, true);
}
template <UnaryKind K>
Status import_unary(MxSite& site) {
  return import_unary(site, K);
}
template <ReduceKind K>
Status import_reduce(MxSite& site) {
  return import_reduce(site, K);
}

}  // namespace

MxRows elementwise_rows() {
  static constexpr MxRow kRows[] = {
      {"Activation", 1, import_activation},
      {"BlockGrad", {1, 2}, import_identity},
      {"Cast", 1, import_cast},
      {"Dropout", {1, 2}, import_identity},
      {"ElementWiseSum", {1, 65536}, import_add_n},
      {"FullyConnected", import_fully_connected},
      {"LeakyReLU", {1, 2}, import_leaky_relu},
      {"LinearRegressionOutput", {1, 2}, import_identity},
      {"LogisticRegressionOutput", import_logistic_output},
      {"MAERegressionOutput", {1, 2}, import_identity},
      {"MakeLoss", {1, 2}, import_identity},
      {"Softmax", import_softmax_output},
      {"SoftmaxActivation", 1, import_softmax_activation},
      {"SoftmaxOutput", import_softmax_output},
      {"_Div", 2, import_binary<B::div>},
      {"_DivScalar", 1, import_scalar<B::div>},
      {"_Equal", 2, import_binary<B::equal>},
      {"_Maximum", 2, import_binary<B::max>},
      {"_MaximumScalar", 1, import_scalar<B::max>},
      {"_Minimum", 2, import_binary<B::min>},
      {"_MinimumScalar", 1, import_scalar<B::min>},
      {"_Minus", 2, import_binary<B::sub>},
      {"_MinusScalar", 1, import_scalar<B::sub>},
      {"_Mul", 2, import_binary<B::mul>},
      {"_MulScalar", 1, import_scalar<B::mul>},
      {"_Plus", 2, import_binary<B::add>},
      {"_PlusScalar", 1, import_scalar<B::add>},
      {"_Power", 2, import_power},
      {"_PowerScalar", 1, import_scalar<B::pow>},
      {"_RDivScalar", import_left_scalar<B::div>},
      {"_RMinusScalar", import_left_scalar<B::sub>},
      {"_copy", {1, 2}, import_identity},
      {"_div_scalar", 1, import_scalar<B::div>},
      {"_equal", 2, import_binary<B::equal>},
      {"_equal_scalar", 1, import_scalar<B::equal>},
      {"_greater", 2, import_binary<B::greater>},
      {"_greater_equal", 2, import_binary<B::greater_equal>},
      {"_greater_equal_scalar", 1, import_scalar<B::greater_equal>},
      {"_greater_scalar", 1, import_scalar<B::greater>},
      {"_lesser", 2, import_binary<B::less>},
      {"_lesser_equal", 2, import_binary<B::less_equal>},
      {"_lesser_equal_scalar", 1, import_scalar<B::less_equal>},
      {"_lesser_scalar", 1, import_scalar<B::less>},
      {"_linalg_gemm2", 2, import_batch_dot},
      {"_logical_and", 2, import_binary<B::logical_and>},
      {"_logical_or", 2, import_binary<B::logical_or>},
      {"_logical_xor", 2, import_binary<B::logical_xor>},
      {"_maximum", 2, import_binary<B::max>},
      {"_maximum_scalar", 1, import_scalar<B::max>},
      {"_minimum", 2, import_binary<B::min>},
      {"_minimum_scalar", 1, import_scalar<B::min>},
      {"_minus", 2, import_binary<B::sub>},
      {"_minus_scalar", 1, import_scalar<B::sub>},
      {"_mod", 2, import_modulo},
      {"_mod_scalar", 1, import_modulo_by_scalar},
      {"_mul", 2, import_binary<B::mul>},
      {"_mul_scalar", 1, import_scalar<B::mul>},
      {"_not_equal", 2, import_not_equal},
      {"_not_equal_scalar", 1, import_not_equal_scalar},
      {"_npx_activation", 1, import_activation},
      {"_npx_fully_connected", import_fully_connected},
      {"_npx_relu", 1, import_unary<U::relu>},
      {"_npx_sigmoid", 1, import_unary<U::sigmoid>},
      {"_npx_softmax", 1, import_softmax},
      {"_plus", 2, import_binary<B::add>},
      {"_plus_scalar", 1, import_scalar<B::add>},
      {"_power", 2, import_power},
      {"_power_scalar", 1, import_scalar<B::pow>},
      {"_rdiv_scalar", import_left_scalar<B::div>},
      {"_rminus_scalar", import_left_scalar<B::sub>},
      {"_rmod_scalar", 1, import_scalar_modulo},
      {"_rpower_scalar", import_left_scalar<B::pow>},
      {"abs", 1, import_unary<U::abs>},
      {"add_n", {1, 65536}, import_add_n},
      {"amp_cast", 1, import_cast},
      {"amp_multicast", {1, 65536}, import_common_cast},
      {"arccos", 1, import_unary<U::acos>},
      {"arccosh", 1, import_unary<U::acosh>},
      {"arcsin", 1, import_unary<U::asin>},
      {"arcsinh", 1, import_unary<U::asinh>},
      {"arctan", 1, import_unary<U::atan>},
      {"arctanh", 1, import_unary<U::atanh>},
      {"argmax", 1, import_arg_max},
      {"argmin", 1, import_arg_min},
      {"argsort", 1, import_top_k},
      {"batch_dot", 2, import_batch_dot},
      {"broadcast_add", 2, import_binary<B::add>},
      {"broadcast_div", 2, import_binary<B::div>},
      {"broadcast_equal", 2, import_binary<B::equal>},
      {"broadcast_greater", 2, import_binary<B::greater>},
      {"broadcast_greater_equal", 2, import_binary<B::greater_equal>},
      {"broadcast_lesser", 2, import_binary<B::less>},
      {"broadcast_lesser_equal", 2, import_binary<B::less_equal>},
      {"broadcast_logical_and", 2, import_binary<B::logical_and>},
      {"broadcast_logical_or", 2, import_binary<B::logical_or>},
      {"broadcast_logical_xor", 2, import_binary<B::logical_xor>},
      {"broadcast_maximum", 2, import_binary<B::max>},
      {"broadcast_minimum", 2, import_binary<B::min>},
      {"broadcast_minus", 2, import_binary<B::sub>},
      {"broadcast_mod", 2, import_modulo},
      {"broadcast_mul", 2, import_binary<B::mul>},
      {"broadcast_not_equal", 2, import_not_equal},
      {"broadcast_plus", 2, import_binary<B::add>},
      {"broadcast_power", 2, import_power},
      {"broadcast_sub", 2, import_binary<B::sub>},
      {"cast", 1, import_cast},
      {"ceil", 1, import_unary<U::ceil>},
      {"clip", 1, import_clip},
      {"cos", 1, import_unary<U::cos>},
      {"cosh", 1, import_unary<U::cosh>},
      {"degrees", 1, import_degrees},
      {"dot", 2, import_dot},
      {"elemwise_add", 2, import_binary<B::add>},
      {"elemwise_div", 2, import_binary<B::div>},
      {"elemwise_mul", 2, import_binary<B::mul>},
      {"elemwise_sub", 2, import_binary<B::sub>},
      {"erf", 1, import_unary<U::erf>},
      {"exp", 1, import_unary<U::exp>},
      {"expm1", 1, import_expm1},
      {"fix", 1, import_trunc},
      {"floor", 1, import_unary<U::floor>},
      {"hard_sigmoid", 1, import_hard_sigmoid},
      {"identity", {1, 2}, import_identity},
      {"log", 1, import_unary<U::log>},
      {"log10", 1, import_log10},
      {"log1p", 1, import_log1p},
      {"log2", 1, import_log2},
      {"log_softmax", 1, import_softmax},
      {"logical_not", 1, import_logical_not},
      {"make_loss", {1, 2}, import_identity},
      {"max", 1, import_reduce<R::max>},
      {"max_axis", 1, import_reduce<R::max>},
      {"mean", 1, import_reduce<R::mean>},
      {"min", 1, import_reduce<R::min>},
      {"min_axis", 1, import_reduce<R::min>},
      {"negative", 1, import_unary<U::neg>},
      {"norm", import_norm},
      {"prod", 1, import_reduce<R::prod>},
      {"radians", 1, import_radians},
      {"reciprocal", 1, import_unary<U::reciprocal>},
      {"relu", 1, import_unary<U::relu>},
      {"rint", 1, import_rint},
      {"round", 1, import_round},
      {"rsqrt", 1, import_rsqrt},
      {"sigmoid", 1, import_unary<U::sigmoid>},
      {"sign", 1, import_unary<U::sign>},
      {"sin", 1, import_unary<U::sin>},
      {"sinh", 1, import_unary<U::sinh>},
      {"smooth_l1", 1, import_smooth_l1},
      {"softmax", 1, import_softmax},
      {"softsign", 1, import_unary<U::softsign>},
      {"sort", 1, import_top_k},
      {"sqrt", 1, import_unary<U::sqrt>},
      {"square", 1, import_square},
      {"stop_gradient", {1, 2}, import_identity},
      {"sum", 1, import_reduce<R::sum>},
      {"sum_axis", 1, import_reduce<R::sum>},
      {"tan", 1, import_unary<U::tan>},
      {"tanh", 1, import_unary<U::tanh>},
      {"topk", 1, import_top_k},
      {"trunc", 1, import_trunc},
      {"where", 3, import_where},
  };
  return kRows;
}

}  // namespace whet::mxnet
