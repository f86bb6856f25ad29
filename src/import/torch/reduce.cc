#include "import/parts/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "import/parts/arithmetic.h"
#include "import/parts/shape.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

using B = BinaryKind;
using U = UnaryKind;
using R = ReduceKind;
using Ints = std::vector<std::int64_t>;

/// Over axes; a scalar has none, and only the function of its one number is left.
Result<ValueId> reduced_over(TorchSite& site, ValueId x, R kind, const Ints& axes, bool keep) {
  if (axes.empty()) return reduced_each(site, x, kind);
  return reduced(site, x, ReduceOperator{kind, axes, keep});
}

bool has_dim(const TorchSite& site) { return !site.op().ends_with(".default"); }

struct Over {
  Ints axes;
  bool keep = false;
};
Result<Over> read_over(TorchSite& site, ValueId x) {
  Over over;
  WHET_TRY(over.axes, site.axes("dim", x));
  WHET_TRY(over.keep, site.flag("keepdim"));
  return over;
}

/// Sums of integers are i64; a type that is asked for comes first.
Result<ValueId> summands(TorchSite& site, bool as_floats) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  if (site.has("dtype")) {
    WHET_TRY(const DType dtype, site.dtype("dtype"));
    return site.cast("typed", x, dtype);
  }
  if (is_float(site.dtype(x))) return x;
  return site.cast("typed", x, as_floats ? DType::f32 : DType::i64);
}

Status give_sum(TorchSite& site, R kind) {
  WHET_TRY(const ValueId x, summands(site, kind == R::mean));
  Over over{every_axis(site.rank(x)), false};
  if (has_dim(site) && site.op().find("dim_int") == std::string::npos) {
    WHET_TRY(over, read_over(site, x));
  } else if (has_dim(site)) {
    WHET_TRY(const std::int64_t d, site.axis("dim", x));
    WHET_TRY(over.keep, site.flag("keepdim"));
    over.axes = site.rank(x) == 0 ? Ints{} : Ints{d};
  }
  return site.give(reduced_over(site, x, kind, over.axes, over.keep));
}

Status give_extreme(TorchSite& site, R kind) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Over over, read_over(site, x));
  return site.give(reduced_over(site, x, kind, over.axes, over.keep));
}

Status give_extreme_of_all(TorchSite& site, R kind) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  return site.give(reduced_over(site, x, kind, every_axis(site.rank(x)), false));
}

/// The value and its place.
Status give_extreme_with_place(TorchSite& site, R kind) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  WHET_TRY(const bool keep, site.flag("keepdim"));
  if (site.rank(x) == 0) {
    WHET_RETURN_IF_ERROR(site.pass(x));
    return site.output_count() > 1 ? site.give_constant(Tensor(DType::i64, {}), 1) : ok_status();
  }
  WHET_RETURN_IF_ERROR(site.give(reduced_over(site, x, kind, {d}, keep)));
  if (!site.wants_output(1)) return ok_status();
  return site.give(ArgReduceOperator{kind == R::max, d, keep}, {x}, 1);
}

Status give_place(TorchSite& site, bool largest) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(const bool keep, site.flag("keepdim"));
  const Shape own = site.shape(x);
  if (site.has("dim") && !own.empty()) {
    WHET_TRY(const std::int64_t d, site.axis("dim", x));
    return site.give(ArgReduceOperator{largest, d, keep}, {x});
  }
  WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(own)}}, {x}));
  WHET_TRY(const ValueId place, site.add("place", ArgReduceOperator{largest, 0, false}, {x}));
  return keep ? site.give(ReshapeOperator{Shape(own.size(), 1)}, {place}) : site.give(place);
}

Status give_truth(TorchSite& site, R kind) {
  WHET_TRY(ValueId x, site.tensor("self"));
  WHET_TRY(x, site.cast("truth", x, DType::boolean));
  WHET_TRY(const Over over, read_over(site, x));
  return site.give(reduced_over(site, x, kind, over.axes, over.keep));
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

struct Moments {
  ValueId mean, variance;
};
/// The mean of squared distances from the mean, with `correction` counted off the number of elements.
Result<Moments> moments(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  double correction = 1;
  Over over{every_axis(site.rank(x)), false};
  if (has_dim(site)) {
    WHET_TRY(over, read_over(site, x));
  }
  if (site.op().ends_with(".correction")) {
    if (site.has("correction")) {
      WHET_TRY(correction, site.number("correction"));
    }
  } else {
    WHET_TRY(const bool unbiased, site.flag("unbiased"));
    correction = unbiased ? 1 : 0;
  }
  if (over.axes.empty()) return site.error("the input is a scalar; expected dimensions");
  WHET_TRY(const ValueId kept, reduced(site, x, ReduceOperator{R::mean, over.axes, true}));
  WHET_TRY(const ValueId rest, site.add("rest", BinaryOperator{B::sub}, {x, kept}));
  WHET_TRY(const ValueId square, site.add("square", BinaryOperator{B::mul}, {rest, rest}));
  WHET_TRY(const ValueId sum,
           reduced(site, square, ReduceOperator{correction == 0 ? R::mean : R::sum, over.axes, over.keep}));
  Moments result{kept, sum};
  if (correction != 0) {
    WHET_TRY(result.variance, corrected(site, sum, x, over.axes, correction));
  }
  if (!over.keep) {
    WHET_TRY(result.mean, site.add("mean", ReshapeOperator{site.shape(sum)}, {kept}));
  }
  return result;
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

Result<Ints> last_axis(TorchSite& site, ValueId x) {
  if (site.rank(x) == 0) return site.error("the input is a scalar; expected dimensions");
  return Ints{static_cast<std::int64_t>(site.rank(x)) - 1};
}

Status import_sum(TorchSite& site) { return give_sum(site, R::sum); }
Status import_mean(TorchSite& site) { return give_sum(site, R::mean); }
Status import_prod(TorchSite& site) { return give_sum(site, R::prod); }
Status import_amax(TorchSite& site) { return give_extreme(site, R::max); }
Status import_amin(TorchSite& site) { return give_extreme(site, R::min); }
Status import_max_all(TorchSite& site) { return give_extreme_of_all(site, R::max); }
Status import_min_all(TorchSite& site) { return give_extreme_of_all(site, R::min); }
Status import_max_dim(TorchSite& site) { return give_extreme_with_place(site, R::max); }
Status import_min_dim(TorchSite& site) { return give_extreme_with_place(site, R::min); }
Status import_arg_max(TorchSite& site) { return give_place(site, true); }
Status import_arg_min(TorchSite& site) { return give_place(site, false); }
Status import_any(TorchSite& site) { return give_truth(site, R::max); }
Status import_all(TorchSite& site) { return give_truth(site, R::min); }

Status import_var(TorchSite& site) {
  WHET_TRY(const Moments result, moments(site));
  return site.give(result.variance);
}
Status import_std(TorchSite& site) {
  WHET_TRY(const Moments result, moments(site));
  return site.give(UnaryOperator{U::sqrt}, {result.variance});
}
Status import_var_mean(TorchSite& site) {
  WHET_TRY(const Moments result, moments(site));
  WHET_RETURN_IF_ERROR(site.give(result.variance));
  return site.give(result.mean, 1);
}

Status import_std_mean(TorchSite& site) {
  WHET_TRY(const Moments result, moments(site));
  WHET_RETURN_IF_ERROR(site.give(UnaryOperator{U::sqrt}, {result.variance}));
  return site.give(result.mean, 1);
}

Status import_vector_norm(TorchSite& site) {
  WHET_TRY(const ValueId x, summands(site, true));
  WHET_TRY(const double p, site.number("ord"));
  WHET_TRY(const Over over, read_over(site, x));
  return site.give(norm_over(site, x, p, over.axes, over.keep));
}
Status import_norm(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  double p = 2;
  if (site.has("p")) {
    WHET_TRY(p, site.number("p"));
  }
  WHET_TRY(const Over over, read_over(site, x));
  return site.give(norm_over(site, x, p, over.axes, over.keep));
}
Status import_dist(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("self"));
  WHET_TRY(const ValueId b, site.tensor("other"));
  WHET_TRY(const double p, site.number("p"));
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {a, b}));
  return site.give(norm_over(site, way, p, every_axis(site.rank(way)), false));
}
Status import_pairwise_distance(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("x1"));
  WHET_TRY(const ValueId b, site.tensor("x2"));
  WHET_TRY(const double p, site.number("p"));
  WHET_TRY(const double eps, site.number("eps"));
  WHET_TRY(const bool keep, site.flag("keepdim"));
  WHET_TRY(ValueId way, site.add("way", BinaryOperator{B::sub}, {a, b}));
  WHET_TRY(way, with_number(site, "moved", B::add, way, eps));
  WHET_TRY(const Ints axis, last_axis(site, way));
  return site.give(norm_over(site, way, p, axis, keep));
}
/// v g / |v|, where g has a length for each place of dimension `dim`; -1: one of all. Also the lengths of v.
Status import_weight_norm(TorchSite& site) {
  WHET_TRY(const ValueId v, site.tensor("v"));
  WHET_TRY(const ValueId g, site.tensor("g"));
  WHET_TRY(const std::int64_t dim, site.integer("dim"));
  Ints axes = every_axis(site.rank(v));
  if (dim != -1) {
    WHET_TRY(const std::int64_t kept, site.axis("dim", v));
    std::erase(axes, kept);
  }
  WHET_TRY(const ValueId length, reduced_over(site, v, R::l2, axes, true));
  WHET_TRY(const ValueId scale, site.add("scale", BinaryOperator{B::div}, {g, length}));
  WHET_RETURN_IF_ERROR(site.give(BinaryOperator{B::mul}, {v, scale}));
  return site.wants_output(1) ? site.pass(length, 1) : ok_status();
}
/// x1 x2 / (max(|x1|, eps) max(|x2|, eps))
Status import_cosine_similarity(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("x1"));
  WHET_TRY(const ValueId b, site.tensor("x2"));
  WHET_TRY(const double eps, site.number("eps"));
  WHET_TRY(const ValueId both, site.add("both", BinaryOperator{B::mul}, {a, b}));
  WHET_TRY(const std::int64_t d, site.axis("dim", both));
  if (site.rank(a) != site.rank(b) || site.rank(both) == 0)
    return site.error("compares " + to_string(site.type(a)) + " and " + to_string(site.type(b)) +
                      "; expected equal ranks");
  WHET_TRY(ValueId y, reduced(site, both, ReduceOperator{R::sum, {d}, false}));
  for (const ValueId x : {a, b}) {
    WHET_TRY(ValueId size, reduced(site, x, ReduceOperator{R::l2, {d}, false}));
    WHET_TRY(size, with_number(site, "size", B::max, size, eps));
    WHET_TRY(y, site.add("similarity", BinaryOperator{B::div}, {y, size}));
  }
  return site.give(y);
}
/// Distances of each row of x1 [..., P, M] from each of x2 [..., R, M].
Status import_cdist(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("x1"));
  WHET_TRY(const ValueId b, site.tensor("x2"));
  WHET_TRY(const double p, site.number("p"));
  const Shape left = site.shape(a), right = site.shape(b);
  if (left.size() < 2 || right.size() < 2)
    return site.error("compares the rows of " + to_string(left) + " and " + to_string(right) + "; expected matrices");
  WHET_TRY(const ValueId rows, unsqueezed(site, a, {static_cast<std::int64_t>(left.size()) - 1}));
  WHET_TRY(const ValueId columns, unsqueezed(site, b, {static_cast<std::int64_t>(right.size()) - 2}));
  WHET_TRY(const ValueId way, site.add("way", BinaryOperator{B::sub}, {rows, columns}));
  WHET_TRY(const Ints axis, last_axis(site, way));
  return site.give(norm_over(site, way, p, axis, false));
}

/// log(sum of e^x), with the largest taken out so that nothing overflows.
Status import_logsumexp(TorchSite& site) {
  WHET_TRY(const ValueId x, site.floats("self"));
  WHET_TRY(const Over over, read_over(site, x));
  if (over.axes.empty()) return site.pass(x);
  WHET_TRY(ValueId top, reduced(site, x, ReduceOperator{R::max, over.axes, true}));
  // Where the largest is infinite, nothing is taken out.
  WHET_TRY(top, site.add("top", ClipOperator{-3.0e38, 3.0e38}, {top}));
  WHET_TRY(const ValueId below, site.add("below", BinaryOperator{B::sub}, {x, top}));
  WHET_TRY(const ValueId powers, site.add("powers", UnaryOperator{U::exp}, {below}));
  WHET_TRY(const ValueId sum, reduced(site, powers, ReduceOperator{R::sum, over.axes, over.keep}));
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {sum}));
  if (!over.keep) {
    WHET_TRY(top, site.add("top_row", ReshapeOperator{site.shape(sum)}, {top}));
  }
  return site.give(BinaryOperator{B::add}, {log, top});
}

Status give_softmax(TorchSite& site, bool log) {
  WHET_TRY(ValueId x, site.floats("self"));
  if (site.has("dtype")) {
    WHET_TRY(const DType dtype, site.dtype("dtype"));
    WHET_TRY(x, site.cast("typed", x, dtype));
  }
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  if (site.rank(x) == 0) return site.error("the input is a scalar; expected dimensions");
  return site.give(SoftmaxOperator{d, log}, {x});
}

Status import_softmax(TorchSite& site) { return give_softmax(site, false); }
Status import_log_softmax(TorchSite& site) { return give_softmax(site, true); }

Status import_cumsum(TorchSite& site) {
  WHET_TRY(const ValueId x, summands(site, false));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  if (site.rank(x) == 0) return site.pass(x);
  return site.give(CumSumOperator{d}, {x});
}

/// One after the other, so that floats overflow and underflow where torch's do.
Result<ValueId> products_in_order(TorchSite& site, ValueId x, std::int64_t d, std::int64_t count) {
  WHET_TRY(std::vector<ValueId> products, split(site, x, d, Ints(static_cast<std::size_t>(count), 1)));
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

Status import_cumprod(TorchSite& site) {
  constexpr std::int64_t kMostInOrder = 64;
  WHET_TRY(const ValueId x, summands(site, false));
  WHET_TRY(const std::int64_t d, site.axis("dim", x));
  if (site.rank(x) == 0) return site.pass(x);
  const std::int64_t count = site.shape(x)[static_cast<std::size_t>(d)];
  if (count <= 1 || num_elements(site.shape(x)) == 0) return site.pass(x);
  if (!is_float(site.dtype(x))) return site.give(products_by_doubling(site, x, d, count));
  return site.give(count <= kMostInOrder ? products_in_order(site, x, d, count)
                                         : products_of_floats(site, x, d, count));
}

Status import_count_nonzero(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Ints axes, site.axes("dim", x));
  WHET_TRY(const ValueId truth, site.cast("truth", x, DType::boolean));
  WHET_TRY(const ValueId ones, site.cast("ones", truth, DType::i64));
  return site.give(reduced_over(site, ones, R::sum, axes, false));
}

constexpr std::string_view kReduce = "self dim=none keepdim=false dtype=none";

}  // namespace

TorchRows reduce_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._cdist_forward", "default", "x1 x2 p compute_mode=none", import_cdist},
      {"aten._log_softmax", "default", "self dim half_to_float=false dtype=none", import_log_softmax},
      {"aten._safe_softmax", "default", "self dim dtype=none", import_softmax},
      {"aten._softmax", "default", "self dim half_to_float=false dtype=none", import_softmax},
      {"aten._weight_norm", "default", "v g dim=0", import_weight_norm},
      {"aten._weight_norm_interface", "default", "v g dim=0", import_weight_norm},
      {"aten.all", "default dim dims", "self dim=none keepdim=false", import_all},
      {"aten.amax", "default", "self dim=[] keepdim=false", import_amax},
      {"aten.amin", "default", "self dim=[] keepdim=false", import_amin},
      {"aten.any", "default dim dims", "self dim=none keepdim=false", import_any},
      {"aten.argmax", "default", "self dim=none keepdim=false", import_arg_max},
      {"aten.argmin", "default", "self dim=none keepdim=false", import_arg_min},
      {"aten.cdist", "default", "x1 x2 p=2 compute_mode=none", import_cdist},
      {"aten.cosine_similarity", "default", "x1 x2 dim=1 eps=1e-8", import_cosine_similarity},
      {"aten.count_nonzero", "default dim_IntList", "self dim=none", import_count_nonzero},
      {"aten.cumprod", "default", "self dim dtype=none", import_cumprod},
      {"aten.cumsum", "default", "self dim dtype=none", import_cumsum},
      {"aten.dist", "default", "self other p=2", import_dist},
      {"aten.linalg_vector_norm", "default", "self ord=2 dim=none keepdim=false dtype=none", import_vector_norm},
      {"aten.log_softmax", "int", "self dim dtype=none", import_log_softmax},
      {"aten.logsumexp", "default", "self dim keepdim=false", import_logsumexp},
      {"aten.max", "default", "self", import_max_all},
      {"aten.max", "dim", "self dim keepdim=false", import_max_dim},
      {"aten.mean", "default", "self dtype=none", import_mean},
      {"aten.mean", "dim", kReduce, import_mean},
      {"aten.min", "default", "self", import_min_all},
      {"aten.min", "dim", "self dim keepdim=false", import_min_dim},
      {"aten.norm", "ScalarOpt_dim Scalar", "self p=2 dim=none keepdim=false", import_norm},
      {"aten.pairwise_distance", "default", "x1 x2 p=2 eps=1e-6 keepdim=false", import_pairwise_distance},
      {"aten.prod", "default", "self dtype=none", import_prod},
      {"aten.prod", "dim_int", "self dim keepdim=false dtype=none", import_prod},
      {"aten.softmax", "int", "self dim dtype=none", import_softmax},
      {"aten.std", "default", "self unbiased=true", import_std},
      {"aten.std", "dim", "self dim=none unbiased=true keepdim=false", import_std},
      {"aten.std", "correction", "self dim=none correction=1 keepdim=false", import_std},
      {"aten.std_mean", "correction", "self dim=none correction=1 keepdim=false", import_std_mean},
      {"aten.sum", "default", "self dtype=none", import_sum},
      {"aten.sum", "dim_IntList", kReduce, import_sum},
      {"aten.var", "default", "self unbiased=true", import_var},
      {"aten.var", "dim", "self dim=none unbiased=true keepdim=false", import_var},
      {"aten.var", "correction", "self dim=none correction=1 keepdim=false", import_var},
      {"aten.var_mean", "correction", "self dim=none correction=1 keepdim=false", import_var_mean},
  };
  return kRows;
}

}  // namespace whet::torch
