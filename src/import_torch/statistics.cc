#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "import/parts/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"

// Orders, counts and running extremes.

namespace whet::torch {
namespace {

using B = BinaryKind;
using R = ReduceKind;

Result<ValueId> as_list(TorchSite& site, ValueId x) {
  return site.add("list", ReshapeOperator{{num_elements(site.shape(x))}}, {x});
}

/// The k-th smallest element along a dimension, k from 1 on, and its place. NaN is the greatest.
struct Element {
  ValueId value, place;
};
Result<Element> kth_smallest(TorchSite& site, ValueId x, std::int64_t k, std::int64_t d, bool keep) {
  if (site.rank(x) == 0) return Element{x, site.add_constant("place", Tensor(DType::i64, {}))};
  if (k < 1 || k > site.extent(x, d))
    return site.error("takes element " + std::to_string(k) + " of " + std::to_string(site.extent(x, d)));
  WHET_TRY(ValueId places, site.add("places", TopKOperator{.axis = d, .k = k, .largest = false}, {x}));
  WHET_TRY(places, sliced(site, places, {k - 1}, {k}, Ints{d}, {1}));
  WHET_TRY(ValueId value, site.add("value", GatherElementsOperator{d}, {x, places}));
  if (!keep) {
    WHET_TRY(value, squeezed(site, value, Ints{d}));
    WHET_TRY(places, squeezed(site, places, Ints{d}));
  }
  return Element{value, places};
}
Status give(TorchSite& site, const Element& element) {
  WHET_RETURN_IF_ERROR(site.give(element.value));
  return site.give(element.place, 1);
}
Status import_kthvalue(TorchSite& site, ValueId x, std::int64_t k, std::int64_t d, bool keep) {
  WHET_TRY(const Element element, kth_smallest(site, x, k, d, keep));
  return give(site, element);
}
/// `y` where no element of `x` along a dimension, which `y` has as 1 or lacks as `keep` says, is NaN; else `other`.
Result<ValueId> unless_nan(TorchSite& site, ValueId x, std::int64_t d, bool keep, ValueId y, ValueId other) {
  WHET_TRY(ValueId nan, site.add("is_nan", UnaryOperator{UnaryKind::is_nan}, {x}));
  WHET_TRY(nan, reduced(site, nan, ReduceOperator{R::max, {d}, keep}));
  return site.add("or_nan", WhereOperator{}, {nan, other, y});
}
/// Of an even number of elements the lower one of both in the middle; the first NaN where there is one.
Status import_median(TorchSite& site, ValueId x, std::int64_t d, bool keep) {
  WHET_TRY(Element element, kth_smallest(site, x, site.rank(x) == 0 ? 1 : (site.extent(x, d) + 1) / 2, d, keep));
  if (site.rank(x) == 0 || !is_float(site.dtype(x))) return give(site, element);
  WHET_TRY(ValueId nans, site.add("nans", UnaryOperator{UnaryKind::is_nan}, {x}));
  WHET_TRY(nans, site.cast("ones", nans, DType::i32));
  WHET_TRY(const ValueId first, site.add("first", ArgReduceOperator{true, d, keep}, {nans}));
  const ValueId nan = site.add_scalar("nan", site.dtype(x), std::nan(""));
  WHET_TRY(element.value, unless_nan(site, x, d, keep, element.value, nan));
  WHET_TRY(element.place, unless_nan(site, x, d, keep, element.place, first));
  return give(site, element);
}
Status import_median_of_all(TorchSite& site, ValueId x) {
  WHET_TRY(x, as_list(site, x));
  return import_median(site, x, 0, false);
}

/// Between the two elements that are next to the part q of the order; NaN where an element is.
enum class Between : std::uint8_t { linear, lower, higher, midpoint, nearest };
Result<ValueId> import_quantile(TorchSite& site, ValueId x, const Numbers& q, std::optional<std::int64_t> dim,
                                bool keep, Between between) {
  Shape kept(site.rank(x), 1);
  if (!dim) {
    WHET_TRY(x, as_list(site, x));
  }
  const std::int64_t d = dim.value_or(0), n = site.rank(x) == 0 ? 0 : site.extent(x, d);
  const auto count = static_cast<std::int64_t>(q.size());
  if (n < 1) return site.error("the input is " + to_string(site.type(x)) + "; expected elements along a dimension");
  Tensor below(DType::i64, {count}), above(DType::i64, {count}), part(site.dtype(x), {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = q[static_cast<std::size_t>(i)] * static_cast<double>(n - 1), low = std::floor(at);
    if (!(at >= 0 && low <= static_cast<double>(n - 1))) return site.error("argument \"q\" is not from 0 to 1");
    below.set(i, low);
    above.set(i, std::ceil(at));
    part.set(i, between == Between::linear     ? at - low
                : between == Between::lower    ? 0
                : between == Between::higher   ? 1
                : between == Between::midpoint ? 0.5
                                               : std::nearbyint(at) - low);
  }
  WHET_TRY(const ValueId order, site.add("order", TopKOperator{.axis = d, .k = n, .largest = false}, {x}));
  WHET_TRY(const ValueId sorted, site.add("sorted", GatherElementsOperator{d}, {x, order}));
  WHET_TRY(const ValueId low, site.add("low", GatherOperator{d}, {sorted, site.add_constant("below", below)}));
  WHET_TRY(const ValueId high, site.add("high", GatherOperator{d}, {sorted, site.add_constant("above", above)}));
  Shape column(site.rank(x), 1);
  column[static_cast<std::size_t>(d)] = count;
  WHET_TRY(const ValueId weight, site.add("weight", ReshapeOperator{column}, {site.add_constant("part", part)}));
  WHET_TRY(ValueId y, site.add("way", BinaryOperator{B::sub}, {high, low}));
  WHET_TRY(y, site.add("share", BinaryOperator{B::mul}, {y, weight}));
  WHET_TRY(y, site.add("quantile", BinaryOperator{B::add}, {low, y}));
  WHET_TRY(y, unless_nan(site, x, d, true, y, site.add_scalar("nan", site.dtype(x), std::nan(""))));
  // The quantiles come first, and the dimension stays as one of 1 where it is kept.
  WHET_TRY(y, unsqueezed(site, y, {0}));
  Ints perm = every_axis(site.rank(y));
  std::swap(perm[0], perm[static_cast<std::size_t>(d) + 1]);
  WHET_TRY(y, site.add("turned", TransposeOperator{perm}, {y}));
  Shape shape = site.shape(y);
  if (!keep || kept.empty()) shape.erase(shape.begin() + d + 1);
  if (keep && !dim && !kept.empty()) shape.insert(shape.end(), kept.size() - 1, 1);
  return site.add("shaped", ReshapeOperator{shape}, {y});
}
/// One quantile has no dimension.
Result<ValueId> import_quantile_of(TorchSite& site, ValueId x, const Numbers& q, std::optional<std::int64_t> dim,
                                   bool keep, Between between, bool is_list) {
  WHET_TRY(const ValueId y, import_quantile(site, x, q, dim, keep, between));
  return is_list ? Result<ValueId>(y) : squeezed(site, y, Ints{0});
}
Result<ValueId> import_quantiles(TorchSite& site, ValueId x, ValueId q, std::optional<std::int64_t> dim, bool keep,
                                 Between between) {
  WHET_TRY(const Numbers numbers, site.known_numbers(q, "argument \"q\""));
  return import_quantile_of(site, x, numbers, dim, keep, between, site.rank(q) > 0);
}
Result<ValueId> import_one_quantile(TorchSite& site, ValueId x, double q, std::optional<std::int64_t> dim, bool keep,
                                    Between between) {
  return import_quantile_of(site, x, {q}, dim, keep, between, false);
}

/// The extreme of the elements up to each: by doubling, of the 1, 2, 4, ... that end at it.
Result<ValueId> running(TorchSite& site, ValueId x, std::int64_t d, B kind, double neutral) {
  for (std::int64_t step = 1; step < site.extent(x, d); step *= 2) {
    WHET_TRY(const ValueId earlier, padded(site, x, {step, -step}, {d}, PadMode::constant, neutral));
    WHET_TRY(x, site.add("running", BinaryOperator{kind}, {x, earlier}));
  }
  return x;
}
/// Also the last place of each.
template <B kind>
Status import_running(TorchSite& site, ValueId x, std::int64_t d) {
  if (site.rank(x) == 0) {
    WHET_RETURN_IF_ERROR(site.give(x));
    return site.give_constant(Tensor(DType::i64, {}), 1);
  }
  const double end = is_float(site.dtype(x)) ? kInfinity : 9e18, neutral = kind == B::max ? -end : end;
  WHET_TRY(const ValueId top, running(site, x, d, kind, neutral));
  WHET_RETURN_IF_ERROR(site.give(top));
  if (!site.wants_output(1)) return ok_status();
  Shape column(site.rank(x), 1);
  column[static_cast<std::size_t>(d)] = site.extent(x, d);
  WHET_TRY(const ValueId is_top, site.add("is_top", BinaryOperator{B::equal}, {x, top}));
  const ValueId none = site.add_constant("none", Tensor::of<std::int64_t>(DType::i64, {}, {-1}));
  WHET_TRY(const ValueId places,
           site.add("places", WhereOperator{}, {is_top, site.add_constant("order", numbered(column)), none}));
  return site.give(running(site, places, d, B::max, -1), 1);
}

/// Needs: known elements, or that nothing reads more than the first `least`.
Result<ValueId> import_bincount(TorchSite& site, ValueId x, OptionalId weights, std::int64_t least) {
  std::int64_t count = least;
  if (site.constant(x) != nullptr) {
    WHET_TRY(const std::int64_t own, count_of_segments(site, x));
    count = std::max(least, own);
  } else if (!site.only_first_are_read(least)) {
    return site.error(
        "the size of its result depends on values; in Python: torch.bincount(x, minlength=n)[:n], where no element is "
        "n "
        "or more");
  }
  const DType dtype = weights ? is_float(site.dtype(*weights)) ? site.dtype(*weights) : DType::f64 : DType::i64;
  if (weights) {
    WHET_TRY(weights, site.cast("weights", *weights, dtype));
  }
  return counted_numbers(site, x, {count, dtype, weights});
}
Result<ValueId> import_histc(TorchSite& site, ValueId x, std::int64_t bins, double low, double high) {
  if (!(low < high) || bins < 1) return site.error("needs bins, and a range that is given: min below max");
  WHET_TRY(x, as_list(site, x));
  const DType dtype = site.dtype(x);
  WHET_TRY(ValueId place, with_number(site, "above", B::sub, x, low));
  WHET_TRY(place, with_number(site, "scaled", B::mul, place, static_cast<double>(bins) / (high - low)));
  WHET_TRY(place, site.add("whole", UnaryOperator{UnaryKind::floor}, {place}));
  WHET_TRY(place, with_number(site, "inside", B::min, place, static_cast<double>(bins - 1)));
  WHET_TRY(const ValueId counts, with_number(site, "counts", B::less_equal, x, high));  // NaN does not
  const ValueId none = site.add_scalar("none", dtype, -1);
  WHET_TRY(place, site.add("places", WhereOperator{}, {counts, place, none}));
  WHET_TRY(place, with_number(site, "or_none", B::max, place, -1));
  WHET_TRY(place, site.cast("numbers", place, DType::i64));
  return counted_numbers(site, place, {bins, dtype});
}

/// Sums without what is no number, and (`mean`) divided by how many numbers there are.
template <bool mean>
Result<ValueId> import_nan_sum(TorchSite& site, ValueId x, const Ints& axes, bool keep, std::optional<DType> dtype) {
  if (dtype) {
    WHET_TRY(x, site.cast("typed", x, *dtype));
  }
  if (axes.empty()) return site.error("the input is a scalar; expected dimensions");
  const DType own = site.dtype(x);
  WHET_TRY(const ValueId nan, site.add("is_nan", UnaryOperator{UnaryKind::is_nan}, {x}));
  WHET_TRY(x, site.add("numbers", WhereOperator{}, {nan, site.add_scalar("zero", own, 0), x}));
  WHET_TRY(const ValueId sum, reduced(site, x, ReduceOperator{R::sum, axes, keep}));
  if (!mean) return sum;
  WHET_TRY(ValueId count, site.add("counts", UnaryOperator{UnaryKind::logical_not}, {nan}));
  WHET_TRY(count, site.cast("ones", count, own));
  WHET_TRY(count, reduced(site, count, ReduceOperator{R::sum, axes, keep}));
  return site.add("mean", BinaryOperator{B::div}, {sum, count});
}

/// Entries of x as often as `repeats` says; the result has `size` entries where that is given, and else repeats must be known.
Result<ValueId> import_repeated(TorchSite& site, ValueId x, ValueId repeats, std::optional<std::int64_t> dim,
                                std::optional<std::int64_t> size) {
  if (!dim) {
    WHET_TRY(x, as_list(site, x));
  }
  const std::int64_t d = dim.value_or(0), extent = site.extent(x, d);
  if (num_elements(site.shape(repeats)) == 1) {
    WHET_TRY(repeats, site.add("one", ReshapeOperator{{1}}, {repeats}));
    WHET_TRY(repeats, expanded(site, repeats, Shape{extent}));
  }
  if (site.shape(repeats) != Shape{extent})
    return site.error("repeats " + to_string(site.type(x)) + " as " + to_string(site.type(repeats)) + " says");
  if (!size) {
    WHET_TRY(const Ints counts, site.known_integers(repeats, "argument \"repeats\" (or \"output_size\")"));
    size = 0;
    for (const std::int64_t count : counts) size = *size + std::clamp<std::int64_t>(count, 0, kMaxElements - *size);
  }
  WHET_RETURN_IF_ERROR(expect_small(site, {*size, extent}, "the comparison of places"));
  WHET_TRY(ValueId ends, site.cast("counts", repeats, DType::i64));
  WHET_TRY(ends, site.add("ends", CumSumOperator{0}, {ends}));
  const ValueId order = site.add_constant("order", numbered({*size, 1}));
  // An entry of the result is of the one of x that is behind all those that end at or before it.
  WHET_TRY(ValueId behind, site.add("behind", BinaryOperator{B::less_equal}, {ends, order}));
  WHET_TRY(behind, site.cast("ones", behind, DType::i64));
  WHET_TRY(const ValueId places, reduced(site, behind, ReduceOperator{R::sum, {1}, false}));
  return gather(site, x, places, d);
}
Result<ValueId> import_repeated_places(TorchSite& site, ValueId repeats, std::optional<std::int64_t> size) {
  const ValueId places = site.add_constant("entries", numbered({num_elements(site.shape(repeats))}));
  return import_repeated(site, places, repeats, 0, size);
}

constexpr std::string_view kQuantile =
    "self q dim(self!)? keepdim=false interpolation:linear|lower|higher|midpoint|nearest=linear";

}  // namespace

TorchRows statistics_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten.bincount", "default", "self weights? minlength=0", calls<import_bincount>},
      {"aten.cummax", "default", "self dim(self)", calls<import_running<B::max>>},
      {"aten.cummin", "default", "self dim(self)", calls<import_running<B::min>>},
      {"aten.histc", "default", "self bins=100 min=0 max=0", calls<import_histc>},
      {"aten.kthvalue", "default", "self k dim(self)=-1 keepdim=false", calls<import_kthvalue>},
      {"aten.median", "default", "self", calls<import_median_of_all>},
      {"aten.median", "dim", "self dim(self) keepdim=false", calls<import_median>},
      {"aten.nanmean", "default", "self:floats dim(self)? keepdim=false dtype?", calls<import_nan_sum<true>>},
      {"aten.nansum", "default", "self:floats dim(self)? keepdim=false dtype?", calls<import_nan_sum<false>>},
      {"aten.quantile", "default", kQuantile, calls<import_quantiles>},
      {"aten.quantile", "scalar", kQuantile, calls<import_one_quantile>},
      {"aten.repeat_interleave", "Tensor", "repeats output_size?", calls<import_repeated_places>},
      {"aten.repeat_interleave", "self_Tensor", "self repeats dim(self!)? output_size?", calls<import_repeated>},
  };
  return kRows;
}

}  // namespace whet::torch
