#include "import/parts/unique.h"

namespace whet {
namespace {

constexpr std::int64_t kMostUnique = 4096;

/// The numbers 0, 1, ... as `shape`.
ValueId places_in_order(NodeSite& site, std::int64_t n, const Shape& shape) {
  Tensor numbers(DType::i64, shape);
  for (std::int64_t i = 0; i < n; ++i) numbers.set_integer(i, i);
  return site.add_constant("order", numbers);
}

/// For each element of the list x [n] the place of the first one that is equal: i64 [n].
Result<ValueId> first_equals(NodeSite& site, ValueId x, std::int64_t n) {
  WHET_TRY(const ValueId column, site.add("column", ReshapeOperator{{n, 1}}, {x}));
  WHET_TRY(const ValueId row, site.add("row", ReshapeOperator{{1, n}}, {x}));
  WHET_TRY(const ValueId equal, site.add("equal", BinaryOperator{BinaryKind::equal}, {column, row}));
  WHET_TRY(const ValueId number, site.cast("equal_number", equal, DType::f32));
  return site.add("first", ArgReduceOperator{true, 1, false, false}, {number});
}

}  // namespace

Result<Unique> unique_elements(NodeSite& site, ValueId x, bool sorted) {
  const std::int64_t n = num_elements(site.shape(x));
  if (n < 1 || n > kMostUnique)
    return site.error("finds the different ones of " + std::to_string(n) + " elements; 1 to " +
                      std::to_string(kMostUnique) + " are supported");
  WHET_TRY(x, site.padded_by(x, 0));
  WHET_TRY(ValueId list, site.add("list", ReshapeOperator{{n}}, {x}));
  if (site.dtype(list) == DType::boolean) {
    WHET_TRY(list, site.cast("numbers", list, DType::u8));
  }
  WHET_TRY(const ValueId first, first_equals(site, list, n));
  const ValueId order = places_in_order(site, n, {n});
  WHET_TRY(const ValueId is_first, site.add("is_first", BinaryOperator{BinaryKind::equal}, {first, order}));
  WHET_TRY(const ValueId ones, site.cast("first_numbers", is_first, DType::i64));
  WHET_TRY(const ValueId count, site.add("count", ReduceOperator{ReduceKind::sum, {0}, false}, {ones}));
  // The place of an element's value: how many values stand before it.
  ValueId inverse;
  if (sorted) {
    WHET_TRY(const ValueId column, site.add("column", ReshapeOperator{{n, 1}}, {list}));
    WHET_TRY(const ValueId row, site.add("row", ReshapeOperator{{1, n}}, {list}));
    WHET_TRY(const ValueId less, site.add("less", BinaryOperator{BinaryKind::less}, {row, column}));
    WHET_TRY(const ValueId mask, site.add("mask", ReshapeOperator{{1, n}}, {is_first}));
    WHET_TRY(const ValueId counts, site.add("before", BinaryOperator{BinaryKind::logical_and}, {less, mask}));
    WHET_TRY(const ValueId numbers, site.cast("before_numbers", counts, DType::i64));
    WHET_TRY(inverse, site.add("rank", ReduceOperator{ReduceKind::sum, {1}, false}, {numbers}));
  } else {
    WHET_TRY(const ValueId until, site.add("until", CumSumOperator{0, true}, {ones}));
    WHET_TRY(inverse, site.add("rank", GatherOperator{0}, {until, first}));
  }
  // Elements by values: which have each.
  WHET_TRY(const ValueId row, site.add("inverse_row", ReshapeOperator{{1, n}}, {inverse}));
  const ValueId values = places_in_order(site, n, {n, 1});
  WHET_TRY(const ValueId has, site.add("has", BinaryOperator{BinaryKind::equal}, {row, values}));
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
  return result;
}

}  // namespace whet
