#include "import/parts/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "import/parts/arithmetic.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

using B = BinaryKind;
using U = UnaryKind;
using R = ReduceKind;

/// Over axes; a scalar has none, and only the function of its one number is left.
Result<ValueId> reduced_over(TorchSite& site, ValueId x, R kind, const Ints& axes, bool keep) {
  if (axes.empty()) return reduced_each(site, x, kind);
  return reduced(site, x, ReduceOperator{kind, axes, keep});
}

template <R kind>
Result<ValueId> import_reduced(TorchSite& site, ValueId x, const Ints& axes, bool keep) {
  return reduced_over(site, x, kind, axes, keep);
}

/// Sums of integers are i64; a type that is asked for comes first.
Result<ValueId> summands(TorchSite& site, ValueId x, std::optional<DType> dtype, bool as_floats) {
  if (!dtype && is_float(site.dtype(x))) return x;
  return site.cast("typed", x, dtype.value_or(as_floats ? DType::f32 : DType::i64));
}
template <R kind>
Result<ValueId> import_sum(TorchSite& site, ValueId x, const Ints& axes, bool keep, std::optional<DType> dtype) {
  WHET_TRY(x, summands(site, x, dtype, kind == R::mean));
  return reduced_over(site, x, kind, axes, keep);
}
template <R kind>
Result<ValueId> import_sum_of_all(TorchSite& site, ValueId x, std::optional<DType> dtype) {
  return import_sum<kind>(site, x, every_axis(site.rank(x)), false, dtype);
}

/// The value and its place.
template <R kind>
Status import_extreme(TorchSite& site, ValueId x, std::int64_t d, bool keep) {
  if (site.rank(x) == 0) {
    WHET_RETURN_IF_ERROR(site.give(x));
    return site.give_constant(Tensor(DType::i64, {}), 1);
  }
  WHET_RETURN_IF_ERROR(site.give(reduced_over(site, x, kind, {d}, keep)));
  return site.give(ArgReduceOperator{kind == R::max, d, keep}, {x}, 1);
}

template <bool largest>
Status import_place(TorchSite& site, ValueId x, std::optional<std::int64_t> d, bool keep) {
  const Shape own = site.shape(x);
  if (d && !own.empty()) return site.give(ArgReduceOperator{largest, *d, keep}, {x});
  WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(own)}}, {x}));
  WHET_TRY(const ValueId place, site.add("place", ArgReduceOperator{largest, 0, false}, {x}));
  return keep ? site.give(ReshapeOperator{Shape(own.size(), 1)}, {place}) : site.give(place);
}

/// sum / (n - correction), n being the number of elements of x along the axes; values may decide it.
Result<ValueId> corrected(TorchSite& site, ValueId sum, ValueId x, const Ints& axes, double correction) {
  std::vector<Size> sizes;
  for (const std::int64_t axis : axes) sizes.push_back(site.sizes(x)[static_cast<std::size_t>(axis)]);
  const bool decided = std::any_of(sizes.begin(), sizes.end(), [](const Size& each) { return each.count.has_value(); });
  if (!decided) {
    double count = 1;
    for (const Size& size : sizes) count *= static_cast<double>(size.most);
    return with_number(site, "variance", B::div, sum, std::max(count - correction, 0.0));
  }
  WHET_TRY(ValueId count, site.size_product(sizes));
  WHET_TRY(count, site.cast("count", count, site.dtype(sum)));
  WHET_TRY(count, with_number(site, "degrees", B::sub, count, correction));
  WHET_TRY(count, with_number(site, "degrees", B::max, count, 0));
  return site.add("variance", BinaryOperator{B::div}, {sum, count});
}

/// The mean of squared distances from the mean, with `correction` counted off the number of elements, or (`is_root`) its root;
/// also the mean.
template <bool is_root>
Status import_var(TorchSite& site, ValueId x, const Ints& axes, std::optional<double> given, bool keep) {
  const double correction = given.value_or(1);
  if (axes.empty()) return site.error("the input is a scalar; expected dimensions");
  WHET_TRY(const ValueId mean, reduced(site, x, ReduceOperator{R::mean, axes, true}));
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {x, mean}));
  WHET_TRY(const ValueId square, site.add("square", BinaryOperator{B::mul}, {rest, rest}));
  WHET_TRY(ValueId y, reduced(site, square, ReduceOperator{correction == 0 ? R::mean : R::sum, axes, keep}));
  const Shape shape = site.shape(y);
  if (correction != 0) {
    WHET_TRY(y, corrected(site, y, x, axes, correction));
  }
  WHET_RETURN_IF_ERROR(is_root ? site.give(UnaryOperator{U::sqrt}, {y}) : site.give(y));
  return keep ? site.give(mean, 1) : site.give(ReshapeOperator{shape}, {mean}, 1);
}
template <bool is_root>
Status import_var_of_all(TorchSite& site, ValueId x, bool unbiased) {
  return import_var<is_root>(site, x, every_axis(site.rank(x)), unbiased ? 1 : 0, false);
}

/// (sum of |x|^p)^(1/p) over axes; p of 0 counts what is not 0, infinite ones are the extremes.
Result<ValueId> norm_over(TorchSite& site, ValueId x, double p, const Ints& axes, bool keep) {
  if (p == 2) return reduced_over(site, x, R::l2, axes, keep);
  if (p == 1) return reduced_over(site, x, R::l1, axes, keep);
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  if (std::isinf(p)) return reduced_over(site, size, p > 0 ? R::max : R::min, axes, keep);
  if (p == 0) {
    WHET_TRY(const ValueId counts, with_number(site, "counts", B::greater, size, 0));
    WHET_TRY(const ValueId ones, site.cast("ones", counts, site.dtype(x)));
    return reduced_over(site, ones, R::sum, axes, keep);
  }
  WHET_TRY(const ValueId powers, with_number(site, "powers", B::pow, size, p));
  WHET_TRY(const ValueId sum, reduced_over(site, powers, R::sum, axes, keep));
  return with_number(site, "root", B::pow, sum, 1 / p);
}

Result<ValueId> import_norm(TorchSite& site, ValueId x, std::optional<double> p, const Ints& axes, bool keep,
                            std::optional<DType> dtype) {
  WHET_TRY(x, summands(site, x, dtype, true));
  return norm_over(site, x, p.value_or(2), axes, keep);
}
Ints in_order(Ints axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}
/// Of matrices along two axes, in this order: the largest (p < 0: least) sums of columns (1) and of rows (infinity).
Result<ValueId> matrix_norm(TorchSite& site, ValueId x, double p, const Ints& axes, bool keep,
                            std::optional<DType> dtype) {
  const bool rows = std::isinf(p);
  if (!rows && std::abs(p) != 1)
    return site.error("argument \"ord\" is " + std::to_string(p) + "; matrices have 1 and infinity");
  WHET_TRY(x, summands(site, x, dtype, true));
  WHET_TRY(x, reduced(site, x, ReduceOperator{R::l1, {axes[rows ? 1 : 0]}, true}));
  return reduced(site, x, ReduceOperator{p > 0 ? R::max : R::min, in_order(axes), keep});
}
/// Axes as they are given, of which the order counts; none are `usual`.
Result<Ints> ordered_axes(TorchSite& site, ValueId x, const std::optional<Ints>& given, const Ints& usual) {
  Ints axes = given && !given->empty() ? *given : usual;
  if (const auto sorted = site.resolve_axes(axes, site.rank(x)); !sorted.ok()) return sorted.error();
  for (std::int64_t& axis : axes) {
    WHET_TRY(axis, site.resolve_axis(axis, site.rank(x)));
  }
  return axes;
}
Result<Ints> matrix_axes(TorchSite& site, ValueId x, const std::optional<Ints>& given) {
  WHET_TRY(const Ints axes, ordered_axes(site, x, given, {-2, -1}));
  if (axes.size() == 2) return axes;
  return site.error("argument \"dim\" has " + std::to_string(axes.size()) + " entries; matrices have 2");
}
/// Of two dimensions the matrices'.
Result<ValueId> import_linalg_norm(TorchSite& site, ValueId x, std::optional<double> p, const std::optional<Ints>& dim,
                                   bool keep, std::optional<DType> dtype) {
  WHET_TRY(const Ints axes, ordered_axes(site, x, dim, every_axis(site.rank(x))));
  if (p && axes.size() == 2) return matrix_norm(site, x, *p, axes, keep, dtype);
  if (p && axes.size() > 2)
    return site.error("argument \"ord\" is of vectors or matrices; the input is " + to_string(site.type(x)));
  return import_norm(site, x, p, in_order(axes), keep, dtype);
}
Result<ValueId> import_matrix_norm(TorchSite& site, ValueId x, double p, const std::optional<Ints>& dim, bool keep,
                                   std::optional<DType> dtype) {
  WHET_TRY(const Ints axes, matrix_axes(site, x, dim));
  return matrix_norm(site, x, p, axes, keep, dtype);
}
enum class MatrixNorm : std::uint8_t { frobenius, nuclear };
Result<ValueId> import_frobenius(TorchSite& site, ValueId x, MatrixNorm kind, const std::optional<Ints>& dim, bool keep,
                                 std::optional<DType> dtype) {
  if (kind == MatrixNorm::nuclear) return site.error("the nuclear norm is not supported");
  WHET_TRY(const Ints axes, matrix_axes(site, x, dim));
  return import_norm(site, x, 2, in_order(axes), keep, dtype);
}
Result<ValueId> import_dist(TorchSite& site, ValueId a, ValueId b, double p) {
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {a, b}));
  return norm_over(site, way, p, every_axis(site.rank(way)), false);
}
Result<ValueId> import_pairwise_distance(TorchSite& site, ValueId a, ValueId b, double p, double eps, bool keep) {
  WHET_TRY(ValueId way, site.add("way", BinaryOperator{B::sub}, {a, b}));
  WHET_TRY(way, with_number(site, "moved", B::add, way, eps));
  if (site.rank(way) == 0) return site.error("the input is a scalar; expected dimensions");
  return norm_over(site, way, p, {static_cast<std::int64_t>(site.rank(way)) - 1}, keep);
}
/// v g / |v|, where g has a length for each place of dimension `dim`; -1: one of all. Also the lengths of v.
Status import_weight_norm(TorchSite& site, ValueId v, ValueId g, std::int64_t dim) {
  Ints axes = every_axis(site.rank(v));
  if (dim != -1) {
    WHET_TRY(const std::int64_t kept, site.resolve_axis(dim, site.rank(v)));
    std::erase(axes, kept);
  }
  WHET_TRY(const ValueId length, reduced_over(site, v, R::l2, axes, true));
  WHET_TRY(const ValueId scale, site.add("scale", BinaryOperator{B::div}, {g, length}));
  WHET_RETURN_IF_ERROR(site.give(BinaryOperator{B::mul}, {v, scale}));
  return site.give(length, 1);
}
/// x1 x2 / (max(|x1|, eps) max(|x2|, eps))
Result<ValueId> import_cosine_similarity(TorchSite& site, ValueId a, ValueId b, std::int64_t dim, double eps) {
  WHET_TRY(const ValueId both, site.add("both", BinaryOperator{B::mul}, {a, b}));
  WHET_TRY(const std::int64_t d, site.resolve_axis(dim, std::max<std::size_t>(site.rank(both), 1)));
  if (site.rank(a) != site.rank(b) || site.rank(both) == 0)
    return site.error("compares " + to_string(site.type(a)) + " and " + to_string(site.type(b)) +
                      "; expected equal ranks");
  WHET_TRY(ValueId y, reduced(site, both, ReduceOperator{R::sum, {d}, false}));
  for (const ValueId x : {a, b}) {
    WHET_TRY(ValueId size, reduced(site, x, ReduceOperator{R::l2, {d}, false}));
    WHET_TRY(size, with_number(site, "size", B::max, size, eps));
    WHET_TRY(y, site.add("similarity", BinaryOperator{B::div}, {y, size}));
  }
  return y;
}
/// Distances of each row of x1 [..., P, M] from each of x2 [..., R, M].
Result<ValueId> import_cdist(TorchSite& site, ValueId a, ValueId b, double p) {
  const Shape left = site.shape(a), right = site.shape(b);
  if (left.size() < 2 || right.size() < 2)
    return site.error("compares the rows of " + to_string(left) + " and " + to_string(right) + "; expected matrices");
  WHET_TRY(const ValueId rows, unsqueezed(site, a, {static_cast<std::int64_t>(left.size()) - 1}));
  WHET_TRY(const ValueId columns, unsqueezed(site, b, {static_cast<std::int64_t>(right.size()) - 2}));
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {rows, columns}));
  return norm_over(site, way, p, {static_cast<std::int64_t>(site.rank(way)) - 1}, false);
}

/// log(sum of e^x), with the largest taken out so that nothing overflows.
Status import_logsumexp(TorchSite& site, ValueId x, const Ints& axes, bool keep) {
  if (axes.empty()) return site.give(x);
  WHET_TRY(ValueId top, reduced(site, x, ReduceOperator{R::max, axes, true}));
  // Where the largest is infinite, nothing is taken out.
  WHET_TRY(top, site.add("top", ClipOperator{-3.0e38, 3.0e38}, {top}));
  WHET_TRY(const ValueId below, site.add("below", BinaryOperator{B::sub}, {x, top}));
  WHET_TRY(const ValueId powers, site.add("powers", UnaryOperator{U::exp}, {below}));
  WHET_TRY(const ValueId sum, reduced(site, powers, ReduceOperator{R::sum, axes, keep}));
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {sum}));
  if (!keep) {
    WHET_TRY(top, site.add("top_row", ReshapeOperator{site.shape(sum)}, {top}));
  }
  return site.give(BinaryOperator{B::add}, {log, top});
}

template <bool log>
Status import_softmax(TorchSite& site, ValueId x, std::int64_t d, std::optional<DType> dtype) {
  if (dtype) {
    WHET_TRY(x, site.cast("typed", x, *dtype));
  }
  return site.give(SoftmaxOperator{d, log}, {x});
}

Status import_cumsum(TorchSite& site, ValueId x, std::int64_t d, std::optional<DType> dtype) {
  WHET_TRY(x, summands(site, x, dtype, false));
  return site.rank(x) == 0 ? site.give(x) : site.give(CumSumOperator{d}, {x});
}

/// One after the other, so that floats overflow and underflow where torch's do.
Result<ValueId> products_in_order(TorchSite& site, ValueId x, std::int64_t d, std::int64_t count) {
  WHET_TRY(ValueIds products, split(site, x, d, Ints(static_cast<std::size_t>(count), 1)));
  for (std::size_t i = 1; i < products.size(); ++i) {
    WHET_TRY(products[i], site.add("product", BinaryOperator{B::mul}, {products[i - 1], products[i]}));
  }
  return site.add("products", ConcatOperator{d}, products);
}

/// Doubling: y[i] becomes the product of the 1, 2, 4, ... elements that end at i.
Result<ValueId> products_by_doubling(TorchSite& site, ValueId y, std::int64_t d, std::int64_t count) {
  for (std::int64_t step = 1; step < count; step *= 2) {
    WHET_TRY(const ValueId earlier, padded(site, y, {step, -step}, {d}, PadMode::constant, 1));
    WHET_TRY(y, site.add("products", BinaryOperator{B::mul}, {y, earlier}));
  }
  return y;
}

/// By doubling, with zeros set apart: what follows one is 0, though products of others overflow.
Result<ValueId> products_of_floats(TorchSite& site, ValueId x, std::int64_t d, std::int64_t count) {
  const ValueId one = site.add_scalar("one", site.dtype(x), 1), zero = site.add_scalar("zero", site.dtype(x), 0);
  WHET_TRY(const ValueId is_zero, site.add("is_zero", BinaryOperator{B::equal}, {x, zero}));
  WHET_TRY(const ValueId others, site.add("others", WhereOperator{}, {is_zero, one, x}));
  WHET_TRY(const ValueId products, products_by_doubling(site, others, d, count));
  WHET_TRY(const ValueId zeros, site.cast("zeros", is_zero, DType::i32));
  WHET_TRY(const ValueId so_far, site.add("so_far", CumSumOperator{d}, {zeros}));
  WHET_TRY(const ValueId ended, with_number(site, "ended", B::greater, so_far, 0));
  return site.add("ended_products", WhereOperator{}, {ended, zero, products});
}

Result<ValueId> import_cumprod(TorchSite& site, ValueId x, std::int64_t d, std::optional<DType> dtype) {
  constexpr std::int64_t kMostInOrder = 64;
  WHET_TRY(x, summands(site, x, dtype, false));
  const std::int64_t count = site.rank(x) == 0 ? 0 : site.extent(x, d);
  if (count <= 1 || num_elements(site.shape(x)) == 0) return x;
  if (!is_float(site.dtype(x))) return products_by_doubling(site, x, d, count);
  return count <= kMostInOrder ? products_in_order(site, x, d, count) : products_of_floats(site, x, d, count);
}

Result<ValueId> import_count_nonzero(TorchSite& site, ValueId x, const Ints& axes) {
  WHET_TRY(const ValueId ones, site.cast("ones", x, DType::i64));
  return reduced_over(site, ones, R::sum, axes, false);
}

constexpr std::string_view kReduce = "self dim(self)? keepdim=false", kSum = "self dim(self)? keepdim=false dtype?",
                           kExtreme = "self dim(self) keepdim=false",
                           kFrobenius = "self ord:fro|nuc=fro dim? keepdim=false dtype?",
                           kVar = "self dim(self)? correction? keepdim=false",
                           kSoftmax = "self:floats dim(self!) dtype?",
                           kDecomposedSoftmax = "self:floats dim(self!) ~half_to_float dtype?";

}  // namespace

TorchRows reduce_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._log_softmax", "default", kDecomposedSoftmax, calls<import_softmax<true>>},
      {"aten._safe_softmax", "default", kSoftmax, calls<import_softmax<false>>, kWide},
      {"aten._softmax", "default", kDecomposedSoftmax, calls<import_softmax<false>>},
      {"aten._weight_norm aten._weight_norm_interface", "default", "v g dim=0", calls<import_weight_norm>, kWide},
      {"aten.all", "default dim dims", "self:bool dim(self)? keepdim=false", calls<import_reduced<R::min>>},
      {"aten.amax", "default", kReduce, calls<import_reduced<R::max>>},
      {"aten.amin", "default", kReduce, calls<import_reduced<R::min>>},
      {"aten.any", "default dim dims", "self:bool dim(self)? keepdim=false", calls<import_reduced<R::max>>},
      {"aten.argmax", "default", kReduce, calls<import_place<true>>},
      {"aten.argmin", "default", kReduce, calls<import_place<false>>},
      {"aten.cdist aten._cdist_forward", "default", "x1 x2 p=2 ~compute_mode", calls<import_cdist>, kWide},
      {"aten.cosine_similarity", "default", "x1 x2 dim=1 eps=1e-8", calls<import_cosine_similarity>, kWide},
      {"aten.count_nonzero", "default dim_IntList", "self:bool dim(self)?", calls<import_count_nonzero>},
      {"aten.cumprod", "default", "self dim(self) dtype?", calls<import_cumprod>, kWide},
      {"aten.cumsum", "default", "self dim(self) dtype?", calls<import_cumsum>, kWide},
      {"aten.dist", "default", "self other p=2", calls<import_dist>, kWide},
      {"aten.linalg_matrix_norm", "default", "self ord dim? keepdim=false dtype?", calls<import_matrix_norm>, kWide},
      {"aten.linalg_matrix_norm", "str_ord", kFrobenius, calls<import_frobenius>, kWide},
      {"aten.linalg_norm", "default", "self ord? dim? keepdim=false dtype?", calls<import_linalg_norm>, kWide},
      {"aten.linalg_norm", "ord_str", kFrobenius, calls<import_frobenius>, kWide},
      {"aten.linalg_vector_norm", "default", "self ord=2 dim(self)? keepdim=false dtype?", calls<import_norm>, kWide},
      {"aten.log_softmax", "int", kSoftmax, calls<import_softmax<true>>},
      {"aten.logsumexp", "default", "self:floats dim(self) keepdim=false", calls<import_logsumexp>, kWide},
      {"aten.max", "default", kReduce, calls<import_reduced<R::max>>},
      {"aten.max", "dim", kExtreme, calls<import_extreme<R::max>>},
      {"aten.mean", "default", "self dtype?", calls<import_sum_of_all<R::mean>>, kOfParts},
      {"aten.mean", "dim", kSum, calls<import_sum<R::mean>>, kOfParts},
      {"aten.min", "default", kReduce, calls<import_reduced<R::min>>},
      {"aten.min", "dim", kExtreme, calls<import_extreme<R::min>>},
      {"aten.norm", "ScalarOpt_dim Scalar ScalarOpt_dim_dtype ScalarOpt_dtype",
       "self p? dim(self)? keepdim=false dtype?", calls<import_norm>, kWide},
      {"aten.pairwise_distance", "default", "x1 x2 p=2 eps=1e-6 keepdim=false", calls<import_pairwise_distance>, kWide},
      {"aten.prod", "default", "self dtype?", calls<import_sum_of_all<R::prod>>},
      {"aten.prod", "dim_int", kSum, calls<import_sum<R::prod>>},
      {"aten.softmax", "int", kSoftmax, calls<import_softmax<false>>},
      {"aten.std aten.std_mean", "default", "self unbiased=true", calls<import_var_of_all<true>>, kWide},
      {"aten.std aten.std_mean", "dim", "self dim(self)? unbiased=true keepdim=false", calls<import_var<true>>, kWide},
      {"aten.std aten.std_mean", "correction", kVar, calls<import_var<true>>, kWide},
      {"aten.sum", "default", "self dtype?", calls<import_sum_of_all<R::sum>>, kOfParts},
      {"aten.sum", "dim_IntList", kSum, calls<import_sum<R::sum>>, kOfParts},
      {"aten.var aten.var_mean", "default", "self unbiased=true", calls<import_var_of_all<false>>, kWide},
      {"aten.var aten.var_mean", "dim", "self dim(self)? unbiased=true keepdim=false", calls<import_var<false>>, kWide},
      {"aten.var aten.var_mean", "correction", kVar, calls<import_var<false>>, kWide},
  };
  return kRows;
}

}  // namespace whet::torch
