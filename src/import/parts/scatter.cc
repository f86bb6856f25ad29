#include "import/parts/scatter.h"

#include "base/arithmetic.h"
#include "import/counted.h"
#include "import/parts/arithmetic.h"
#include "import/parts/index.h"
#include "import/parts/reduce.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

using B = BinaryKind;

ScatterKind kind_of(Combine how) {
  switch (how) {
    case Combine::replace:
      return ScatterKind::replace;
    case Combine::prod:
      return ScatterKind::mul;
    case Combine::largest:
      return ScatterKind::max;
    case Combine::smallest:
      return ScatterKind::min;
    default:
      return ScatterKind::add;
  }
}

/// What leaves others as they are.
Tensor neutral(Combine how, DType dtype) {
  const bool lowest = how == Combine::largest;
  if (lowest || how == Combine::smallest) return extreme(dtype, lowest);
  return Tensor::of<double>(dtype, {}, {how == Combine::prod ? 1.0 : 0.0});
}

/// `number` at every place of `shape`, which is no value's own: what is added moves those.
Result<ValueId> everywhere(NodeSite& site, const char* part, const Tensor& number, const Shape& shape) {
  return expanded(site, site.add_constant(part, number), shape);
}

/// The bag that each index is in: i64 [n]; those of the row that counts nothing are in none, which is -1.
Result<ValueId> bag_of(NodeSite& site, const Bags& bags, std::int64_t n) {
  WHET_TRY(ValueId bag, counted_numbers(site, bags.starts, {.count = n}));
  WHET_TRY(bag, site.add("begun", CumSumOperator{0}, {bag}));
  WHET_TRY(bag, with_number(site, "bag", B::sub, bag, 1));
  if (!bags.left_out) return bag;
  WHET_TRY(const ValueId out,
           with_number(site, "left_out", B::equal, bags.indices, static_cast<double>(*bags.left_out)));
  return site.add("own_bag", WhereOperator{}, {out, site.add_scalar("none", DType::i64, -1), bag});
}

/// How many indices each bag has, where that is known and all have as many.
std::int64_t known_size(NodeSite& site, const Bags& bags, std::int64_t n) {
  const Tensor* starts = site.constant(bags.starts);
  if (starts == nullptr || bags.left_out || n % starts->size() != 0) return 0;
  const std::int64_t size = n / starts->size();
  for (std::int64_t i = 0; i < starts->size(); ++i)
    if (starts->integer(i) != i * size) return 0;
  return size;
}

Result<ValueId> equal_bags(NodeSite& site, ValueId rows, const Bags& bags, std::int64_t size) {
  const Shape shape = site.shape(rows);
  WHET_TRY(rows, site.add("by_bags", ReshapeOperator{{shape[0] / size, size, shape[1]}}, {rows}));
  const ReduceKind kind = bags.kind == Combine::largest ? ReduceKind::max
                          : bags.kind == Combine::mean  ? ReduceKind::mean
                                                        : ReduceKind::sum;
  return reduced(site, rows, ReduceOperator{kind, {1}, false});
}

}  // namespace

Result<ValueId> scattered(NodeSite& site, ValueId x, std::int64_t axis, ValueId places, ValueId values, Combine how,
                          bool with_self) {
  const DType dtype = site.dtype(x);
  const Shape shape = site.shape(places);
  const auto put = [&](const char* part, ValueId to, ValueId what, ScatterKind kind) {
    return site.add(part, ScatterElementsOperator{axis, kind}, {to, places, what});
  };
  ValueId start = x;
  if (!with_self) {
    WHET_TRY(const ValueId blank, everywhere(site, "blank", neutral(how, dtype), shape));
    WHET_TRY(start, put("start", x, blank, ScatterKind::replace));
  }
  WHET_TRY(const ValueId all, put("combined", start, values, kind_of(how)));
  if (how != Combine::mean) return all;
  Tensor number(dtype, {});
  number.set_integer(0, with_self ? 1 : 0);
  const Shape extents = site.shape(x);
  WHET_TRY(ValueId counts, everywhere(site, "own", number, extents));
  number.set_integer(0, 1);
  WHET_TRY(const ValueId ones, everywhere(site, "ones", number, shape));
  WHET_TRY(counts, put("counts", counts, ones, ScatterKind::add));
  WHET_TRY(counts, with_number(site, "at_least_one", B::max, counts, 1));
  return is_float(dtype) ? site.add("mean", BinaryOperator{B::div}, {all, counts})
                         : floored_quotient(site, all, counts);
}

Result<ValueId> embedded_bags(NodeSite& site, ValueId weights, const Bags& bags) {
  const std::int64_t n = num_elements(site.shape(bags.indices)), count = num_elements(site.shape(bags.starts));
  if (site.rank(weights) != 2 || site.rank(bags.indices) != 1 || site.rank(bags.starts) != 1 || n < 1 || count < 1)
    return site.error("takes rows " + to_string(site.type(bags.indices)) + " of " + to_string(site.type(weights)) +
                      " in bags " + to_string(site.type(bags.starts)) + "; expected lists");
  const DType dtype = is_half(site.dtype(weights)) ? DType::f32 : site.dtype(weights);
  WHET_TRY(ValueId rows, gather(site, weights, bags.indices, 0));
  if (bags.factors) {
    WHET_TRY(const ValueId column, unsqueezed(site, *bags.factors, {1}));
    WHET_TRY(rows, site.add("weighted", BinaryOperator{B::mul}, {rows, column}));
  }
  if (const std::int64_t size = known_size(site, bags, n); size > 0) return equal_bags(site, rows, bags, size);
  const bool is_top = bags.kind == Combine::largest;
  WHET_TRY(const ValueId bag, bag_of(site, bags, n));
  WHET_TRY(rows, site.cast("wide", rows, dtype));
  WHET_TRY(ValueId y,
           segments(site, rows, bag, {is_top ? ScatterKind::max : ScatterKind::add, is_top ? -kInfinity : 0, count}));
  if (is_top) {
    WHET_TRY(const ValueId none, with_number(site, "none", B::equal, y, -kInfinity));
    WHET_TRY(y, site.add("bags", WhereOperator{}, {none, site.add_scalar("zero", dtype, 0), y}));
  }
  if (bags.kind == Combine::mean) {
    WHET_TRY(ValueId counts, counted_numbers(site, bag, {.count = count, .dtype = dtype}));
    WHET_TRY(counts, with_number(site, "at_least_one", B::max, counts, 1));
    WHET_TRY(counts, unsqueezed(site, counts, {1}));
    WHET_TRY(y, site.add("bags", BinaryOperator{B::div}, {y, counts}));
  }
  return site.cast("narrow", y, site.dtype(weights));
}

}  // namespace whet
