#include "import/parts/non_zero.h"

#include <bit>
#include <cmath>

#include "import/parts/index.h"

namespace whet {
namespace {

/// The comparisons of that number with its blocks are as many as a tensor may have elements.
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 20;

Result<ValueId> places_binary(NodeSite& site, const char* part, BinaryKind kind, ValueId a, ValueId b) {
  return site.add(part, BinaryOperator{kind}, {a, b});
}

ValueId whole_number(NodeSite& site, const char* part, std::int64_t number) {
  return site.add_constant(part, Tensor::of<std::int64_t>(DType::i64, {}, {number}));
}

/// How many elements of a row of x [n or 1, m] are less than that of `limits` [n, 1]: i32 [n].
Result<ValueId> how_many_below(NodeSite& site, ValueId x, ValueId limits) {
  WHET_TRY(const ValueId less, places_binary(site, "less", BinaryKind::less, x, limits));
  WHET_TRY(const ValueId ones, site.cast("less_ones", less, DType::i32));
  return site.add("below", ReduceOperator{ReduceKind::sum, {1}, false}, {ones});
}

}  // namespace

/// The k-th place is how many prefixes hold fewer than k true ones. They are sorted, so whole blocks are looked at by their last
/// prefix, and then one block: n * sqrt(n) comparisons.
Result<PlacesWhere> places_where(NodeSite& site, ValueId mask) {
  const std::int64_t n = num_elements(site.shape(mask));
  if (n > kMostPlaces)
    return site.error("finds the places of what is not zero among " + std::to_string(n) + " elements; at most " +
                      std::to_string(kMostPlaces) + " are supported");
  const auto width = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::sqrt(double(n)))));
  const std::int64_t blocks = (n + width - 1) / width;
  WHET_TRY(const ValueId ones, site.cast("ones", mask, DType::i32));
  WHET_TRY(const ValueId until, site.add("until", CumSumOperator{0}, {ones}));
  WHET_TRY(const ValueId last, site.add("last", SliceOperator{{n - 1}, {1}, {1}}, {until}));
  WHET_TRY(const ValueId number, site.add("number", ReshapeOperator{Shape{}}, {last}));
  WHET_TRY(const ValueId count, site.cast("count", number, DType::i64));
  ValueId prefixes = until;
  if (blocks * width > n) {
    Tensor behind(DType::i32, {blocks * width - n});
    for (std::int64_t i = 0; i < behind.size(); ++i) behind.set_integer(i, n + 1);
    WHET_TRY(prefixes, site.add("prefixes", ConcatOperator{0}, {until, site.add_constant("behind", behind)}));
  }
  WHET_TRY(prefixes, site.add("blocks", ReshapeOperator{{blocks, width}}, {prefixes}));
  WHET_TRY(const ValueId ends, site.add("ends", SliceOperator{{0, width - 1}, {1, 1}, {blocks, 1}}, {prefixes}));
  WHET_TRY(const ValueId row, site.add("row", ReshapeOperator{{1, blocks}}, {ends}));
  const ValueId wanted = site.add_constant("wanted", numbered({n, 1}, DType::i32, 1));
  WHET_TRY(const ValueId block, how_many_below(site, row, wanted));
  WHET_TRY(const ValueId inside, site.add("inside", GatherOperator{0}, {prefixes, block}));
  WHET_TRY(const ValueId rest, how_many_below(site, inside, wanted));
  const ValueId size = site.add_constant("width", Tensor::of<std::int64_t>(DType::i32, {}, {width}));
  WHET_TRY(const ValueId before, places_binary(site, "before", BinaryKind::mul, block, size));
  WHET_TRY(const ValueId sum, places_binary(site, "sum", BinaryKind::add, before, rest));
  WHET_TRY(const ValueId place, site.cast("place", sum, DType::i64));
  const ValueId order = site.add_constant("order", numbered({n}));
  WHET_TRY(const ValueId exists, places_binary(site, "exists", BinaryKind::less, order, count));
  WHET_TRY(const ValueId places, site.add("places", WhereOperator{}, {exists, place, whole_number(site, "none", -1)}));
  return PlacesWhere{places, count};
}

Result<ValueId> counted_non_zero(NodeSite& site, ValueId x) {
  if (const Tensor* known = site.constant(x); known != nullptr && !known->shape().empty() && site.counted(x).empty())
    return site.add_constant("places", non_zero(*known));
  WHET_TRY(x, site.padded_by(x, 0));
  const Shape shape = site.shape(x);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t n = num_elements(shape);
  if (rank == 0) return site.error("the input is " + to_string(site.type(x)) + "; expected one dimension or more");
  if (n == 0) return site.add_constant("places", Tensor(DType::i64, {rank, 0}));
  WHET_TRY(ValueId mask, site.cast("mask", x, DType::boolean));
  WHET_TRY(mask, site.add("flat", ReshapeOperator{{n}}, {mask}));
  WHET_TRY(const PlacesWhere found, places_where(site, mask));
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  const ValueId stride = site.add_constant("strides", Tensor::of(DType::i64, {rank, 1}, strides));
  const ValueId extent = site.add_constant("extents", Tensor::of(DType::i64, {rank, 1}, shape));
  WHET_TRY(ValueId y, places_binary(site, "rows", BinaryKind::div, found.places, stride));
  WHET_TRY(y, places_binary(site, "inside", BinaryKind::mod, y, extent));
  const ValueId none = whole_number(site, "none", -1);
  WHET_TRY(const ValueId exists, places_binary(site, "filled", BinaryKind::greater, found.places, none));
  WHET_TRY(y, site.add("non_zero", WhereOperator{}, {exists, y, none}));
  site.set_count(y, 1, found.count);
  return y;
}

Result<ValueId> counted_where(NodeSite& site, ValueId x, ValueId mask, std::int64_t axis) {
  const TensorType type = site.type(mask);
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  if (type.dtype != DType::boolean || type.shape.size() != 1 || type.shape[0] > extent) {
    return site.error("its condition is " + to_string(type) + " for an extent of " + std::to_string(extent));
  }
  const bool whole = !site.counted(x).contains(static_cast<std::size_t>(axis)) && site.counted(mask).empty();
  if (const Tensor* known = site.constant(mask); known != nullptr && whole) return compress(site, x, *known, axis);
  WHET_TRY(mask, site.padded_by(mask, 0));
  WHET_TRY(const PlacesWhere found, places_where(site, mask));
  Counted counted = site.counted(x);
  WHET_TRY(x, site.padded_by(x, 0));
  WHET_TRY(const ValueId y, site.add("chosen", GatherOperator{axis}, {x, found.places}));
  counted[static_cast<std::size_t>(axis)] = found.count;
  site.set_counted(y, counted);
  return y;
}

Result<ValueId> rows_at(NodeSite& site, ValueId x, ValueId places, double padding) {
  WHET_TRY(const ValueId taken, site.add("rows", GatherOperator{0}, {x, places}));
  const ValueId none = whole_number(site, "none", -1);
  WHET_TRY(ValueId exists, places_binary(site, "exists", BinaryKind::greater, places, none));
  Shape column(site.rank(x), 1);
  column[0] = num_elements(site.shape(places));
  WHET_TRY(exists, site.add("filled", ReshapeOperator{column}, {exists}));
  return site.add("taken", WhereOperator{}, {exists, taken, site.add_scalar("padding", site.dtype(x), padding)});
}

}  // namespace whet
