#include "import/parts/index.h"

#include <algorithm>

#include "import/fold_shape.h"
#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"
#include "import/parts/move_axis.h"
#include "import/parts/shape.h"

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
  if (batches < 0 || batches > axis || batches > static_cast<std::int64_t>(site.rank(indices)))
    return site.error("gathers in " + std::to_string(batches) + " batch dimensions along axis " + std::to_string(axis) +
                      "; expected an axis behind them");
  const std::size_t rank = site.rank(x), places_rank = site.rank(indices);
  Shape column = site.shape(indices);
  column.push_back(1);
  WHET_TRY(const ValueId places, site.add("places", ReshapeOperator{column}, {indices}));
  if (batches == axis) return site.add("taken", GatherNdOperator{batches}, {x, places});
  // The axis is moved behind the batches, and the places that stand for it to where it was.
  const auto first = static_cast<std::size_t>(batches), own = static_cast<std::size_t>(axis);
  WHET_TRY(x, site.add("axis_first", move_axis(rank, own, first), {x}));
  WHET_TRY(const ValueId taken, site.add("taken", GatherNdOperator{batches}, {x, places}));
  TransposeOperator back;
  const auto add_axes = [&](std::size_t from, std::size_t to) {
    for (; from < to; ++from) back.perm.push_back(static_cast<std::int64_t>(from));
  };
  add_axes(0, first);
  add_axes(places_rank, places_rank + own - first);
  add_axes(first, places_rank);
  add_axes(places_rank + own - first, site.rank(taken));
  return site.add("axis_back", back, {taken});
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
  return site.add("segments", part_along(result, 0, 0, form.count), {sums});
}

/// Each row has segments of its own, one behind the other.
Result<ValueId> counted_numbers(NodeSite& site, ValueId numbers, const NumberCounts& form) {
  const Shape shape = site.shape(numbers);
  const std::int64_t rows = shape.size() == 2 ? shape[0] : 1;
  const bool fits = !is_float(site.dtype(numbers)) && (shape.size() == 1 || shape.size() == 2) && form.count >= 1 &&
                    form.count <= kMaxElements && rows <= kMaxElements / form.count && num_elements(shape) > 0 &&
                    (!form.weights || site.shape(*form.weights) == shape);
  if (!fits)
    return site.error("counts " + to_string(site.type(numbers)) + " below " + std::to_string(form.count) +
                      (form.weights ? " by weights " + to_string(site.type(*form.weights)) : ""));
  WHET_TRY(numbers, site.cast("wide", numbers, DType::i64));
  const ValueId none = site.add_scalar("none", DType::i64, -1);
  WHET_TRY(const ValueId counts,
           with_number(site, "counts", BinaryKind::less, numbers, static_cast<double>(form.count)));
  WHET_TRY(ValueId places, site.add("kept", WhereOperator{}, {counts, numbers, none}));
  if (rows > 1) {
    const Tensor starts = numbered({rows, 1}, DType::i64, 0, static_cast<double>(form.count));
    WHET_TRY(const ValueId own,
             site.add("own", BinaryOperator{BinaryKind::add}, {places, site.add_constant("starts", starts)}));
    WHET_TRY(const ValueId outside, with_number(site, "outside", BinaryKind::less, places, 0));
    WHET_TRY(places, site.add("of_rows", WhereOperator{}, {outside, none, own}));
  }
  WHET_TRY(const ValueId ones, filled(site, shape, Tensor::of<double>(form.dtype, {}, {1})));
  const ScatterKind kind = form.is_found ? ScatterKind::max : ScatterKind::add;
  WHET_TRY(const ValueId y, segments(site, form.weights.value_or(ones), places, {kind, 0, rows * form.count}));
  return shape.size() == 1 ? y : site.add("rows_apart", ReshapeOperator{{rows, form.count}}, {y});
}

Result<ValueId> bucket_of(NodeSite& site, ValueId x, const std::vector<double>& bounds) {
  constexpr std::size_t kMost = 4096;
  if (bounds.size() > kMost || !std::is_sorted(bounds.begin(), bounds.end()))
    return site.error("has " + std::to_string(bounds.size()) + " boundaries; expected at most " +
                      std::to_string(kMost) + ", which rise");
  const auto count = static_cast<std::int64_t>(bounds.size()), last = static_cast<std::int64_t>(site.rank(x));
  if (count == 0) return filled(site, Shape(site.shape(x)), Tensor(DType::i32, {}));
  if (!is_float(site.dtype(x))) {
    WHET_TRY(x, site.cast("float", x, DType::f64));
  }
  WHET_TRY(x, unsqueezed(site, x, {last}));
  const ValueId list = site.add_constant("bounds", Tensor::of<double>(site.dtype(x), {count}, bounds));
  WHET_TRY(const ValueId reached, site.add("reached", BinaryOperator{BinaryKind::greater_equal}, {x, list}));
  WHET_TRY(const ValueId ones, site.cast("ones", reached, DType::i32));
  return site.add("bucket", ReduceOperator{ReduceKind::sum, {last}, false}, {ones});
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
  Shape column = site.shape(indices);
  column.insert(column.begin() + axis, 1);
  const Shape along = shape_along(static_cast<std::size_t>(axis), column.size(), depth);
  WHET_TRY(ValueId index, site.cast("index", indices, DType::i64));
  WHET_TRY(index, site.add("column", ReshapeOperator{column}, {index}));
  if (form.from_end) {
    const ValueId zero = site.add_scalar("zero", DType::i64, 0),
                  extent = site.add_scalar("depth", DType::i64, double(depth));
    WHET_TRY(const ValueId negative, site.add("negative", BinaryOperator{BinaryKind::less}, {index, zero}));
    WHET_TRY(const ValueId counted, site.add("counted", BinaryOperator{BinaryKind::add}, {index, extent}));
    WHET_TRY(index, site.add("place", WhereOperator{}, {negative, counted, index}));
  }
  const ValueId places = site.add_constant("places", numbered(along));
  WHET_TRY(const ValueId hit, site.add("hit", BinaryOperator{BinaryKind::equal}, {index, places}));
  std::vector<ValueId> both;
  for (std::int64_t k = 0; k < 2; ++k) {
    const std::string part = k == 0 ? "off" : "on";
    WHET_TRY(const ValueId one, site.add(part + "_slice", SliceOperator{{k}, {1}, {1}}, {values}));
    WHET_TRY(const ValueId scalar, site.add(part, ReshapeOperator{Shape{}}, {one}));
    both.push_back(scalar);
  }
  return site.add("one_hot", WhereOperator{}, {hit, both[1], both[0]});
}

Result<ValueId> hardmax(NodeSite& site, ValueId x, std::int64_t axis, const Shape& given) {
  const Shape shape(given.begin(), given.end());  // which may be of a value of the graph, whose list grows
  const Shape own = site.type(x).shape;
  const auto d = static_cast<std::size_t>(axis);
  const Shape along = shape_along(d, own.size(), own[d]);
  WHET_RETURN_IF_ERROR(expect_small(site, along, "the axis"));
  WHET_TRY(const ValueId best, site.add("best", ArgReduceOperator{true, axis, true, false}, {x}));
  const ValueId places = site.add_constant("places", numbered(along));
  WHET_TRY(const ValueId hit, site.add("hit", BinaryOperator{BinaryKind::equal}, {best, places}));
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

Tensor numbered(const Shape& shape, DType dtype, double first, double step) {
  Tensor numbers(dtype, shape);
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, first + step * static_cast<double>(i));
  return numbers;
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
  const Tensor first = numbered(along_batch, DType::i64, 0, time == 0 ? 1 : static_cast<double>(steps));
  const ValueId at = site.add_constant("step", numbered(along_time));
  WHET_TRY(const ValueId length, site.add("length", ReshapeOperator{along_batch}, {lengths}));
  WHET_TRY(const ValueId inside, site.add("inside", BinaryOperator{BinaryKind::less}, {at, length}));
  const ValueId behind = site.add_constant("next", numbered(along_time, DType::i64, 1));
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
