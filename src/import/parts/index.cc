#include "import/parts/index.h"

#include <algorithm>

#include "import/fold_shape.h"
#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"

namespace whet {
namespace {

/// Row-major number in the leading dimensions of `data` that entry `e` of the constant `indices` names.
Result<std::int64_t> slot_of(NodeSite& site, const Tensor& indices, std::int64_t e, const Shape& data) {
  const std::int64_t depth = indices.shape().back();
  std::int64_t slot = 0;
  for (std::int64_t k = 0; k < depth; ++k) {
    const std::int64_t raw = indices.integer(e * depth + k), extent = data[static_cast<std::size_t>(k)];
    if (raw < -extent || raw >= extent) {
      return site.error("writes element " + std::to_string(raw) + " of a dimension of extent " +
                        std::to_string(extent));
    }
    slot = slot * extent + (raw < 0 ? raw + extent : raw);
  }
  return slot;
}

/// Places that are known, each written once or by the last: every element of the result reads the data or one update.
/// A contiguous run of updates is what exporters make of `x[...] = y`; so nothing is searched.
Result<ValueId> known_scatter_nd(NodeSite& site, ValueId given, const Tensor& indices, ValueId updates) {
  const Shape data = site.shape(given);
  const auto depth = static_cast<std::size_t>(indices.shape().back());
  const std::int64_t slots = num_elements(Shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(depth)));
  const std::int64_t entries = num_elements(Shape(indices.shape().begin(), indices.shape().end() - 1));
  const Shape rest(data.begin() + static_cast<std::ptrdiff_t>(depth), data.end());
  Tensor owner(DType::i64, {slots}), written(DType::boolean, {slots});
  for (std::int64_t e = 0; e < entries; ++e) {
    WHET_TRY(const std::int64_t slot, slot_of(site, indices, e, data));
    owner.set_integer(slot, e);
    written.set_integer(slot, 1);
  }
  Shape rows = {entries}, by_slot(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(depth));
  rows.insert(rows.end(), rest.begin(), rest.end());
  Shape mask = by_slot;
  mask.insert(mask.end(), rest.size(), 1);
  WHET_TRY(updates, site.add("rows", ReshapeOperator{rows}, {updates}));
  const ValueId places = site.add_constant("places", owner.reshaped(by_slot));
  WHET_TRY(const ValueId moved, site.add("moved", GatherOperator{0}, {updates, places}));
  return site.add("scattered", WhereOperator{}, {site.add_constant("written", written.reshaped(mask)), moved, given});
}

}  // namespace

Status expect_small(const NodeSite& site, const Shape& shape, const char* what) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": " + what, shape));
  if (num_elements(shape) <= kMaxFoldedElements) return ok_status();
  return site.error(std::string(what) + " has shape " + to_string(shape) + ", which is too large");
}

Result<ValueId> gather(NodeSite& site, ValueId x, ValueId indices, std::int64_t axis) {
  if (const Tensor* known = site.constant(indices); known != nullptr && !is_float(known->dtype())) {
    const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
    Tensor counted = known->clone();
    for (std::int64_t i = 0; i < counted.size(); ++i) {
      const std::int64_t index = counted.integer(i);
      if (index < -extent || index >= extent) {
        return site.error("takes element " + std::to_string(index) + " of a dimension of extent " +
                          std::to_string(extent));
      }
      if (index < 0) counted.set_integer(i, index + extent);
    }
    indices = site.add_constant("indices", counted);
  }
  return site.add("taken", GatherOperator{axis}, {x, indices});
}

Result<ValueId> gather_in_batches(NodeSite& site, ValueId x, ValueId indices, std::int64_t axis, std::int64_t batches) {
  if (batches < 0) batches += static_cast<std::int64_t>(site.rank(indices));
  if (batches != axis || batches >= static_cast<std::int64_t>(site.rank(x)))
    return site.error("gathers in " + std::to_string(batches) + " batch dimensions along axis " + std::to_string(axis) +
                      "; expected the axis behind them");
  Shape column = site.shape(indices);
  column.push_back(1);
  WHET_TRY(const ValueId places, site.add("places", ReshapeOperator{column}, {indices}));
  return site.add("taken", GatherNdOperator{batches}, {x, places});
}

Result<ValueId> scatter_nd(NodeSite& site, ValueId data, ValueId indices, ValueId updates, ScatterKind kind) {
  ScatterNdOperator op;
  op.kind = kind;
  if (num_elements(site.shape(indices)) == 0) return data;
  WHET_RETURN_IF_ERROR(infer_type(site.name(), op, {site.type(data), site.type(indices), site.type(updates)}));
  if (const Tensor* known = site.constant(indices)) {
    if (kind == ScatterKind::replace) return known_scatter_nd(site, data, Tensor(*known), updates);
    const std::int64_t entries = known->size() / known->shape().back();
    for (std::int64_t e = 0; e < entries; ++e) WHET_RETURN_IF_ERROR(slot_of(site, *known, e, site.shape(data)));
  }
  return site.add("scattered", op, {data, indices, updates});
}

namespace {

Status check_segments(NodeSite& site, ValueId x, ValueId numbers, const Segments& form) {
  const Shape &rows = site.shape(numbers), &all = site.shape(x);
  const bool leads = rows.size() <= all.size() && std::equal(rows.begin(), rows.end(), all.begin());
  const bool counts = form.count >= 1 && form.count <= kMaxElements;
  if (is_float(site.dtype(numbers)) || rows.empty() || !leads || !counts)
    return site.error("puts " + to_string(site.type(x)) + " into " + std::to_string(form.count) + " segments by " +
                      to_string(site.type(numbers)));
  const Tensor* known = site.constant(numbers);
  for (std::int64_t i = 0; known != nullptr && i < known->size(); ++i) {
    if (known->integer(i) < form.count) continue;
    return site.error("puts a row into segment " + std::to_string(known->integer(i)) + " of " +
                      std::to_string(form.count));
  }
  return ok_status();
}

}  // namespace

Result<std::int64_t> count_of_segments(NodeSite& site, ValueId numbers) {
  WHET_TRY(const Tensor known, site.known(numbers, "list of segments"));
  if (is_float(known.dtype())) return site.error("its list of segments is " + to_string(known.type()));
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < known.size(); ++i) {
    if (known.integer(i) < 0) return site.error("puts a row into segment " + std::to_string(known.integer(i)));
    count = std::max(count, std::min(known.integer(i), kMaxElements) + 1);
  }
  return count;
}

/// Rows of no segment go into one behind the last, which is left out.
Result<ValueId> segments(NodeSite& site, ValueId x, ValueId numbers, const Segments& form) {
  WHET_RETURN_IF_ERROR(check_segments(site, x, numbers, form));
  const Shape rows = site.shape(numbers), all = site.shape(x);
  const std::int64_t count = num_elements(rows);
  Shape flat(all.begin() + static_cast<std::ptrdiff_t>(rows.size()), all.end());
  flat.insert(flat.begin(), count);
  Shape result = flat;
  result[0] = form.count + 1;
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", result));
  WHET_TRY(numbers, site.cast("wide", numbers, DType::i64));
  WHET_TRY(const ValueId below, with_number(site, "below", BinaryKind::less, numbers, 0));
  WHET_TRY(const ValueId beyond,
           with_number(site, "beyond", BinaryKind::greater_equal, numbers, static_cast<double>(form.count)));
  WHET_TRY(const ValueId none, site.add("none", BinaryOperator{BinaryKind::logical_or}, {below, beyond}));
  const ValueId last = site.add_scalar("behind", DType::i64, static_cast<double>(form.count));
  WHET_TRY(numbers, site.add("segment", WhereOperator{}, {none, last, numbers}));
  WHET_TRY(const ValueId places, site.add("places", ReshapeOperator{{count, 1}}, {numbers}));
  WHET_TRY(x, site.add("rows", ReshapeOperator{flat}, {x}));
  WHET_TRY(const ValueId starts, filled(site, result, Tensor::of<double>(site.dtype(x), {}, {form.start})));
  WHET_TRY(const ValueId sums, scatter_nd(site, starts, places, x, form.kind));
  SliceOperator real{Shape(result.size(), 0), Shape(result.size(), 1), result};
  real.shape[0] = form.count;
  return site.add("segments", real, {sums});
}

Result<ValueId> compress(NodeSite& site, ValueId x, const Tensor& condition, std::int64_t axis) {
  const std::int64_t extent = site.shape(x)[static_cast<std::size_t>(axis)];
  if (condition.dtype() != DType::boolean || condition.size() > extent) {
    return site.error("its condition is " + to_string(condition.type()) + " for an extent of " +
                      std::to_string(extent));
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < condition.size(); ++i) {
    if (condition.integer(i) != 0) kept.push_back(i);
  }
  const Tensor places = Tensor::of(DType::i64, {static_cast<std::int64_t>(kept.size())}, kept);
  return site.add("compressed", GatherOperator{axis}, {x, site.add_constant("places", places)});
}

Result<ValueId> one_hot(NodeSite& site, ValueId indices, const OneHot& form) {
  const std::int64_t depth = form.depth, axis = form.axis;
  const ValueId values = form.values;
  WHET_RETURN_IF_ERROR(expect_small(site, {depth}, "the depth"));
  if (site.shape(values) != Shape{2})
    return site.error("its values are " + to_string(site.type(values)) + "; expected 2");
  Shape column = site.shape(indices), along(column.size() + 1, 1);
  column.insert(column.begin() + axis, 1);
  along[static_cast<std::size_t>(axis)] = depth;
  Tensor places(DType::i64, along);
  for (std::int64_t i = 0; i < depth; ++i) places.set_integer(i, i);
  ValueId index = indices;
  if (site.dtype(indices) != DType::i64) {
    WHET_TRY(index, site.add("index", CastOperator{DType::i64}, {index}));
  }
  WHET_TRY(index, site.add("column", ReshapeOperator{column}, {index}));
  if (form.from_end) {
    const ValueId zero = site.add_scalar("zero", DType::i64, 0),
                  extent = site.add_scalar("depth", DType::i64, double(depth));
    WHET_TRY(const ValueId negative, site.add("negative", BinaryOperator{BinaryKind::less}, {index, zero}));
    WHET_TRY(const ValueId counted, site.add("counted", BinaryOperator{BinaryKind::add}, {index, extent}));
    WHET_TRY(index, site.add("place", WhereOperator{}, {negative, counted, index}));
  }
  WHET_TRY(const ValueId hit,
           site.add("hit", BinaryOperator{BinaryKind::equal}, {index, site.add_constant("places", places)}));
  std::vector<ValueId> both;
  for (std::int64_t k = 0; k < 2; ++k) {
    const std::string part = k == 0 ? "off" : "on";
    WHET_TRY(const ValueId one, site.add(part + "_slice", SliceOperator{{k}, {1}, {1}}, {values}));
    WHET_TRY(const ValueId scalar, site.add(part, ReshapeOperator{Shape{}}, {one}));
    both.push_back(scalar);
  }
  return site.add("one_hot", WhereOperator{}, {hit, both[1], both[0]});
}

Result<ValueId> hardmax(NodeSite& site, ValueId x, std::int64_t axis, const Shape& shape) {
  const Shape own = site.type(x).shape;
  Shape along(own.size(), 1);
  along[static_cast<std::size_t>(axis)] = own[static_cast<std::size_t>(axis)];
  WHET_RETURN_IF_ERROR(expect_small(site, along, "the axis"));
  Tensor places(DType::i64, along);
  for (std::int64_t i = 0; i < places.size(); ++i) places.set_integer(i, i);
  WHET_TRY(const ValueId best, site.add("best", ArgReduceOperator{true, axis, true, false}, {x}));
  WHET_TRY(const ValueId hit,
           site.add("hit", BinaryOperator{BinaryKind::equal}, {best, site.add_constant("places", places)}));
  WHET_TRY(const ValueId y, site.add("flat", CastOperator{site.dtype(x)}, {hit}));
  return site.add("hardmax", ReshapeOperator{shape}, {y});
}

Result<ValueId> trilu(NodeSite& site, ValueId x, std::int64_t k, bool upper) {
  if (site.rank(x) < 2) return site.error("the input is " + to_string(site.type(x)) + "; expected matrices");
  const std::int64_t rows = site.shape(x).end()[-2], columns = site.shape(x).back();
  WHET_RETURN_IF_ERROR(expect_small(site, {rows, columns}, "the mask"));
  k = std::clamp(k, -kMaxElements, kMaxElements);
  Tensor mask(DType::boolean, {rows, columns});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) mask.set_integer(r * columns + c, upper ? c - r >= k : c - r <= k);
  }
  const ValueId zero = site.add_scalar("zero", site.dtype(x), 0);
  return site.add("trilu", WhereOperator{}, {site.add_constant("mask", mask), x, zero});
}

Tensor eye(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t k) {
  Tensor result(dtype, {rows, columns});
  k = std::clamp(k, -kMaxElements, kMaxElements);
  const std::int64_t last = std::min(rows, columns - k);
  for (std::int64_t r = std::max<std::int64_t>(-k, 0); r < last; ++r) result.set(r * columns + r + k, 1);
  return result;
}

Tensor non_zero(const Tensor& x) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (is_float(x.dtype()) ? x.get(i) != 0 : x.integer(i) != 0) found.push_back(i);
  }
  const auto rank = static_cast<std::int64_t>(x.shape().size()), count = static_cast<std::int64_t>(found.size());
  const std::vector<std::int64_t> strides = row_major_strides(x.shape());
  Tensor places(DType::i64, {rank, count});
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::size_t d = 0; d < strides.size(); ++d) {
      const std::int64_t at = found[static_cast<std::size_t>(n)] / strides[d] % x.shape()[d];
      places.set_integer(static_cast<std::int64_t>(d) * count + n, at);
    }
  }
  return places;
}

Result<ValueId> reverse_sequence(NodeSite& site, ValueId input, ValueId lengths, std::size_t time) {
  const std::size_t batch = 1 - time;
  const Shape x = site.shape(input);
  if (site.dtype(lengths) == DType::i32) {
    WHET_TRY(lengths, site.add("lengths", CastOperator{DType::i64}, {lengths}));
  }
  const bool fits = x.size() >= 2 && site.dtype(lengths) == DType::i64 && site.shape(lengths) == Shape{x[batch]};
  if (!fits) {
    return site.error("reverses " + to_string(site.type(input)) + " by lengths " + to_string(site.type(lengths)) +
                      "; expected two dimensions or more, and one integer a sequence");
  }
  if (num_elements(x) == 0) return input;
  WHET_RETURN_IF_ERROR(expect_small(site, {x[0], x[1]}, "the plane of steps and sequences"));
  const std::int64_t steps = x[time], sequences = x[batch];
  if (const Tensor* counts = site.constant(lengths)) {
    for (std::int64_t b = 0; b < sequences; ++b) {
      if (counts->integer(b) >= 0 && counts->integer(b) <= steps) continue;
      return site.error("the length of a sequence is " + std::to_string(counts->integer(b)) + "; expected 0 to " +
                        std::to_string(steps));
    }
  }
  const Shape along_time = time == 0 ? Shape{steps, 1} : Shape{1, steps};
  const Shape along_batch = time == 0 ? Shape{1, sequences} : Shape{sequences, 1};
  Tensor step(DType::i64, along_time), next(DType::i64, along_time), first(DType::i64, along_batch);
  for (std::int64_t t = 0; t < steps; ++t) {
    step.set_integer(t, t);
    next.set_integer(t, t + 1);
  }
  for (std::int64_t b = 0; b < sequences; ++b) first.set_integer(b, time == 0 ? b : b * steps);
  const ValueId at = site.add_constant("step", step);
  WHET_TRY(const ValueId length, site.add("length", ReshapeOperator{along_batch}, {lengths}));
  WHET_TRY(const ValueId inside, site.add("inside", BinaryOperator{BinaryKind::less}, {at, length}));
  const ValueId behind = site.add_constant("next", next);
  WHET_TRY(const ValueId backwards, site.add("backwards", BinaryOperator{BinaryKind::sub}, {length, behind}));
  WHET_TRY(ValueId row, site.add("from", WhereOperator{}, {inside, backwards, at}));
  if (time == 0) {
    const ValueId width = site.add_scalar("width", DType::i64, static_cast<double>(sequences));
    WHET_TRY(row, site.add("scaled", BinaryOperator{BinaryKind::mul}, {row, width}));
  }
  WHET_TRY(row, site.add("row", BinaryOperator{BinaryKind::add}, {row, site.add_constant("first", first)}));
  WHET_TRY(row, site.add("row_list", ReshapeOperator{{x[0] * x[1]}}, {row}));
  Shape flat(x.begin() + 1, x.end());
  flat[0] = x[0] * x[1];
  WHET_TRY(const ValueId rows, site.add("rows", ReshapeOperator{flat}, {input}));
  WHET_TRY(const ValueId turned, site.add("turned", GatherOperator{0}, {rows, row}));
  return site.add("reversed", ReshapeOperator{x}, {turned});
}

}  // namespace whet
