#include "import/parts/unique.h"

#include <optional>

#include "import/parts/arithmetic.h"
#include "import/parts/index.h"

namespace whet {
namespace {

constexpr std::int64_t kMostUnique = 4096;

/// How many of the elements, row by row, are results where values decide it: i64, a scalar.
Result<std::optional<ValueId>> results_in_front(NodeSite& site, ValueId x) {
  const Counted counted = site.counted(x);
  if (counted.empty()) return std::optional<ValueId>();
  const Shape shape = site.shape(x);
  const auto [d, count] = *counted.begin();
  const auto dimension = shape.begin() + static_cast<std::ptrdiff_t>(d);
  if (counted.size() > 1 || num_elements(Shape(shape.begin(), dimension)) != 1)
    return site.error("finds the different ones of " + to_string(site.type(x)) +
                      ", where values decide how many entries of each row are results; expected a list or whole rows");
  const std::int64_t of_each = num_elements(Shape(dimension + 1, shape.end()));
  if (of_each == 1) return std::optional(count);
  const ValueId factor = site.add_constant("of_each", Tensor::of<std::int64_t>(DType::i64, {}, {of_each}));
  WHET_TRY(const ValueId elements, site.add("elements", BinaryOperator{BinaryKind::mul}, {count, factor}));
  return std::optional(elements);
}

/// For each element of the list x [n] the place of the first one that is equal: i64 [n]. A NaN has 0.
Result<ValueId> first_equals(NodeSite& site, ValueId x, std::int64_t n) {
  WHET_TRY(const ValueId column, site.add("column", ReshapeOperator{{n, 1}}, {x}));
  WHET_TRY(const ValueId row, site.add("row", ReshapeOperator{{1, n}}, {x}));
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{BinaryKind::equal}, {column, row}));
  WHET_TRY(const ValueId number, site.cast("equal_number", equal, DType::f32));
  return site.add("first", ArgReduceOperator{true, 1, false, false}, {number});
}

/// How many different values are less than each of the list x [n]: i64 [n]. A NaN has 0.
Result<ValueId> less_before(NodeSite& site, ValueId x, ValueId is_first, std::int64_t n) {
  WHET_TRY(const ValueId column, site.add("column", ReshapeOperator{{n, 1}}, {x}));
  WHET_TRY(const ValueId row, site.add("row", ReshapeOperator{{1, n}}, {x}));
  WHET_TRY(const ValueId less, site.add("less", BinaryOperator{BinaryKind::less}, {row, column}));
  WHET_TRY(const ValueId mask, site.add("mask", ReshapeOperator{{1, n}}, {is_first}));
  WHET_TRY(const ValueId counts, site.add("before", BinaryOperator{BinaryKind::logical_and}, {less, mask}));
  WHET_TRY(const ValueId numbers, site.cast("before_numbers", counts, DType::i64));
  return site.add("rank", ReduceOperator{ReduceKind::sum, {1}, false}, {numbers});
}

/// The ranks of NaNs: behind all numbers, of which there are `count` with the NaNs, in the order in which they come.
Result<ValueId> with_nans_last(NodeSite& site, ValueId rank, ValueId is_nan, ValueId count) {
  WHET_TRY(const ValueId nans, site.cast("nan_numbers", is_nan, DType::i64));
  WHET_TRY(const ValueId nan_count, site.add("nan_count", ReduceOperator{ReduceKind::sum, {0}, false}, {nans}));
  WHET_TRY(const ValueId numbers, site.add("number_count", BinaryOperator{BinaryKind::sub}, {count, nan_count}));
  WHET_TRY(const ValueId before, site.add("nans_before", CumSumOperator{0, true}, {nans}));
  WHET_TRY(const ValueId behind, site.add("behind", BinaryOperator{BinaryKind::add}, {numbers, before}));
  return site.add("ranks", WhereOperator{}, {is_nan, behind, rank});
}

}  // namespace

Result<Unique> unique_elements(NodeSite& site, ValueId x, bool sorted) {
  const std::int64_t n = num_elements(site.shape(x));
  if (n < 1 || n > kMostUnique)
    return site.error("finds the different ones of " + std::to_string(n) + " elements; 1 to " +
                      std::to_string(kMostUnique) + " are supported");
  WHET_TRY(const std::optional<ValueId> there, results_in_front(site, x));
  WHET_TRY(x, site.padded_by(x, 0));
  WHET_TRY(ValueId list, site.add("list", ReshapeOperator{{n}}, {x}));
  if (site.dtype(list) == DType::boolean) {
    WHET_TRY(list, site.cast("numbers", list, DType::u8));
  }
  const ValueId order = site.add_constant("order", numbered({n}));
  WHET_TRY(ValueId first, first_equals(site, list, n));
  std::optional<ValueId> is_nan;  // no NaN equals another, so each is its own first
  if (is_float(site.dtype(list))) {
    WHET_TRY(is_nan, site.add("is_nan", UnaryOperator{UnaryKind::is_nan}, {list}));
    WHET_TRY(first, site.add("own_first", WhereOperator{}, {*is_nan, order, first}));
  }
  WHET_TRY(ValueId is_first, site.add("is_first", BinaryOperator{BinaryKind::equal}, {first, order}));
  std::optional<ValueId> exists;
  if (there) {
    WHET_TRY(exists, site.add("exists", BinaryOperator{BinaryKind::less}, {order, *there}));
    WHET_TRY(is_first, site.add("is_first", BinaryOperator{BinaryKind::logical_and}, {is_first, *exists}));
  }
  WHET_TRY(const ValueId ones, site.cast("first_numbers", is_first, DType::i64));
  WHET_TRY(const ValueId count, site.add("count", ReduceOperator{ReduceKind::sum, {0}, false}, {ones}));
  // The place of an element's value: how many values are before it.
  ValueId inverse;
  if (sorted) {
    WHET_TRY(inverse, less_before(site, list, is_first, n));
    if (is_nan) {
      WHET_TRY(inverse, with_nans_last(site, inverse, *is_nan, count));
    }
  } else {
    WHET_TRY(const ValueId until, site.add("until", CumSumOperator{0, true}, {ones}));
    WHET_TRY(inverse, site.add("rank", GatherOperator{0}, {until, first}));
  }
  // Elements by values: which have each.
  WHET_TRY(const ValueId row, site.add("inverse_row", ReshapeOperator{{1, n}}, {inverse}));
  const ValueId values = site.add_constant("order", numbered({n, 1}));
  WHET_TRY(ValueId has, site.add("has", BinaryOperator{BinaryKind::equal}, {row, values}));
  if (exists) {
    WHET_TRY(const ValueId mask, site.add("exists_row", ReshapeOperator{{1, n}}, {*exists}));
    WHET_TRY(has, site.add("has", BinaryOperator{BinaryKind::logical_and}, {has, mask}));
  }
  WHET_TRY(const ValueId has_numbers, site.cast("has_numbers", has, DType::i64));
  Unique result;
  result.inverse = inverse;
  WHET_TRY(result.counts, site.add("counts", ReduceOperator{ReduceKind::sum, {1}, false}, {has_numbers}));
  WHET_TRY(const ValueId has_reals, site.cast("has_reals", has, DType::f32));
  WHET_TRY(result.firsts, site.add("firsts", ArgReduceOperator{true, 1, false, false}, {has_reals}));
  WHET_TRY(result.values, site.add("values", GatherOperator{0}, {list, result.firsts}));
  if (site.dtype(x) != site.dtype(result.values)) {
    WHET_TRY(result.values, site.cast("truths", result.values, site.dtype(x)));
  }
  for (const ValueId id : {result.values, result.firsts, result.counts}) site.set_count(id, 0, count);
  if (there) site.set_count(result.inverse, 0, *there);
  return result;
}

/// The number of rows that are less than a row tells it from all others.
Result<Unique> unique_rows(NodeSite& site, ValueId x) {
  constexpr std::int64_t kMostCompared = std::int64_t{1} << 26;
  const Shape shape = site.shape(x);
  const std::int64_t n = shape.empty() ? 0 : shape[0], width = n < 1 ? 0 : num_elements(shape) / n;
  if (n > kMostUnique || width < 1 || width > kMostCompared / (n * n) || !site.counted(x).empty())
    return site.error("finds the different rows of " + to_string(site.type(x)) + "; 1 to " +
                      std::to_string(kMostUnique) + " of them are supported, and 2^26 elements of pairs of them");
  const DType dtype = site.dtype(x) == DType::boolean ? DType::u8 : site.dtype(x);
  WHET_TRY(const ValueId numbers, site.cast("numbers", x, dtype));
  WHET_TRY(const ValueId own, site.add("own", ReshapeOperator{{n, 1, width}}, {numbers}));
  WHET_TRY(const ValueId others, site.add("others", ReshapeOperator{{1, n, width}}, {numbers}));
  WHET_TRY(ValueId differs, not_equal(site, others, own));
  WHET_TRY(differs, site.cast("differ", differs, DType::f32));
  WHET_TRY(const ValueId first, site.add("first_difference", ArgReduceOperator{true, 2, true, false}, {differs}));
  WHET_TRY(ValueId less, site.add("less", BinaryOperator{BinaryKind::less}, {others, own}));
  WHET_TRY(less, site.cast("less_numbers", less, DType::i64));
  WHET_TRY(less, site.add("row_less", GatherElementsOperator{2}, {less, first}));
  WHET_TRY(const ValueId before, site.add("before", ReduceOperator{ReduceKind::sum, {1, 2}, false}, {less}));
  WHET_TRY(Unique found, unique_elements(site, before, true));
  const ValueId count = site.counted(found.firsts).at(0);
  WHET_TRY(found.values, site.add("rows", GatherOperator{0}, {x, found.firsts}));
  site.set_count(found.values, 0, count);
  return found;
}

}  // namespace whet
