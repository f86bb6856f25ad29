#include <algorithm>
#include <numeric>

#include "import/fold_shape.h"
#include "import/onnx/importers.h"

// Operators that read, write or give places.

namespace whet {
namespace {

/// The axis that an attribute or (known) input says, counted from 0.
Result<std::int64_t> axis_of(OnnxSite& site, std::int64_t fallback) {
  WHET_TRY(const std::int64_t given, site.integer("axis", fallback));
  return site.resolve_axis(given, site.rank(0));
}

Status import_arg(OnnxSite& site, bool largest) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  ArgReduceOperator op{.largest = largest};
  WHET_TRY(op.axis, axis_of(site, 0));
  WHET_TRY(op.keep_dims, site.flag("keepdims", true));
  WHET_TRY(op.last, site.flag("select_last_index", false));
  return site.give(op, {site.in(0)});
}

Status give_top_k(OnnxSite& site, std::int64_t k) {
  TopKOperator op;
  WHET_TRY(op.axis, axis_of(site, -1));
  WHET_TRY(op.largest, site.flag("largest", true));
  site.ignore({"sorted"});  // any order is right where it is 0
  op.k = k;
  ValueId places;
  if (site.wants_output(1)) {
    WHET_RETURN_IF_ERROR(site.give(op, {site.in(0)}, 1));
    places = site.given(1);
  } else {
    WHET_TRY(places, site.add("places", op, {site.in(0)}));
  }
  return site.give(GatherElementsOperator{op.axis}, {site.in(0), places}, 0);
}

/// `x` where `mask`, else 0.
Status give_masked(OnnxSite& site, const Tensor& mask) {
  const ValueId zero = site.add_scalar("zero", site.dtype(0), 0);
  return site.give(WhereOperator{}, {site.add_constant("mask", mask), site.in(0), zero});
}

/// The number of elements of a small constant that an importer makes, or an error.
Status expect_small(OnnxSite& site, const Shape& shape, const char* what) {
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": " + what, shape));
  if (num_elements(shape) <= kMaxFoldedElements) return ok_status();
  return site.error(std::string(what) + " has shape " + to_string(shape) + ", which is too large");
}

/// Row-major number in the leading dimensions of `data` that entry `e` of the constant `indices` names.
Result<std::int64_t> slot_of(OnnxSite& site, const Tensor& indices, std::int64_t e, const Shape& data) {
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
Status give_known_scatter_nd(OnnxSite& site, const Tensor& indices) {
  const Shape data = site.shape(0);
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
  WHET_TRY(const ValueId updates, site.add("rows", ReshapeOperator{rows}, {site.in(2)}));
  const ValueId places = site.add_constant("places", owner.reshaped(by_slot));
  WHET_TRY(const ValueId moved, site.add("moved", GatherOperator{0}, {updates, places}));
  return site.give(WhereOperator{}, {site.add_constant("written", written.reshaped(mask)), moved, site.in(0)});
}

Result<ScatterKind> scatter_kind(OnnxSite& site) {
  WHET_TRY(const std::size_t kind, site.choice("reduction", "none", {"none", "add", "mul", "max", "min"}));
  return static_cast<ScatterKind>(kind);
}

}  // namespace

Status import_arg_max(OnnxSite& site) { return import_arg(site, true); }
Status import_arg_min(OnnxSite& site) { return import_arg(site, false); }

Status import_top_k_attribute(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("k"));
  WHET_TRY(const std::int64_t k, site.integer("k", 0));
  return give_top_k(site, k);
}

Status import_top_k(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<std::int64_t> k, site.known_integers(1, "number of elements"));
  if (k.size() != 1) return site.error("its number of elements is a list of " + std::to_string(k.size()));
  return give_top_k(site, k[0]);
}

Status import_cumsum(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<std::int64_t> axis, site.known_integers(1, "axis"));
  if (axis.size() != 1) return site.error("its axis is a list of " + std::to_string(axis.size()));
  CumSumOperator op;
  WHET_TRY(op.axis, site.resolve_axis(axis[0], site.rank(0)));
  WHET_TRY(op.exclusive, site.flag("exclusive", false));
  WHET_TRY(op.reverse, site.flag("reverse", false));
  return site.give(op, {site.in(0)});
}

Status import_gather_elements(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t axis, axis_of(site, 0));
  return site.give(GatherElementsOperator{axis}, {site.in(0), site.in(1)});
}

Status import_gather_nd(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  GatherNdOperator op;
  WHET_TRY(op.batch_dims, site.integer("batch_dims", 0));
  return site.give(op, {site.in(0), site.in(1)});
}

Status import_scatter_elements(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  ScatterElementsOperator op;
  WHET_TRY(op.axis, axis_of(site, 0));
  WHET_TRY(op.kind, scatter_kind(site));
  if (num_elements(site.shape(1)) == 0) return site.pass(site.in(0));
  return site.give(op, {site.in(0), site.in(1), site.in(2)});
}

Status import_scatter_nd(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  ScatterNdOperator op;
  WHET_TRY(op.kind, scatter_kind(site));
  if (num_elements(site.shape(1)) == 0) return site.pass(site.in(0));
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < 3; ++k) types.push_back(site.type(site.in(k)));
  WHET_RETURN_IF_ERROR(infer_type(site.name(), op, types));
  const Tensor* indices = site.constant(1);
  if (indices != nullptr && op.kind == ScatterKind::replace) return give_known_scatter_nd(site, *indices);
  return site.give(op, {site.in(0), site.in(1), site.in(2)});
}

/// `on` where the place along the new axis is the index, else `off`.
Status import_one_hot(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Tensor depth_tensor, site.known(1, "depth"));
  const bool counts = depth_tensor.size() == 1 && depth_tensor.get(0) >= 0 && depth_tensor.get(0) <= kMaxFoldedElements;
  if (!counts) return site.error("its depth is " + to_string(depth_tensor.type()) + "; expected one number of classes");
  const auto depth = static_cast<std::int64_t>(depth_tensor.get(0));
  WHET_RETURN_IF_ERROR(expect_small(site, {depth}, "the depth"));
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0) + 1));
  if (site.shape(2) != Shape{2})
    return site.error("its values are " + to_string(site.type(site.in(2))) + "; expected 2");
  Shape column = site.shape(0), along(column.size() + 1, 1);
  column.insert(column.begin() + axis, 1);
  along[static_cast<std::size_t>(axis)] = depth;
  Tensor places(DType::i64, along);
  for (std::int64_t i = 0; i < depth; ++i) places.set_integer(i, i);
  ValueId index = site.in(0);
  if (site.dtype(0) != DType::i64) {
    WHET_TRY(index, site.add("index", CastOperator{DType::i64}, {index}));
  }
  WHET_TRY(index, site.add("column", ReshapeOperator{column}, {index}));
  const ValueId zero = site.add_scalar("zero", DType::i64, 0),
                extent = site.add_scalar("depth", DType::i64, double(depth));
  WHET_TRY(const ValueId negative, site.add("negative", BinaryOperator{BinaryKind::less}, {index, zero}));
  WHET_TRY(const ValueId counted, site.add("counted", BinaryOperator{BinaryKind::add}, {index, extent}));
  WHET_TRY(index, site.add("place", WhereOperator{}, {negative, counted, index}));
  WHET_TRY(const ValueId hit,
           site.add("hit", BinaryOperator{BinaryKind::equal}, {index, site.add_constant("places", places)}));
  std::vector<ValueId> values;
  for (std::int64_t k = 0; k < 2; ++k) {
    const std::string part = k == 0 ? "off" : "on";
    WHET_TRY(const ValueId one, site.add(part + "_slice", SliceOperator{{k}, {1}, {1}}, {site.in(2)}));
    WHET_TRY(const ValueId scalar, site.add(part, ReshapeOperator{Shape{}}, {one}));
    values.push_back(scalar);
  }
  return site.give(WhereOperator{}, {hit, values[1], values[0]});
}

Status import_trilu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 2));
  WHET_TRY(const bool upper, site.flag("upper", true));
  std::int64_t k = 0;
  if (site.has(1)) {
    WHET_TRY(const std::vector<std::int64_t> given, site.known_integers(1, "diagonal"));
    if (given.size() != 1) return site.error("its diagonal is a list of " + std::to_string(given.size()));
    k = std::clamp(given[0], -kMaxElements, kMaxElements);
  }
  if (site.rank(0) < 2) return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected matrices");
  const std::int64_t rows = site.shape(0).end()[-2], columns = site.shape(0).back();
  WHET_RETURN_IF_ERROR(expect_small(site, {rows, columns}, "the mask"));
  Tensor mask(DType::boolean, {rows, columns});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) mask.set_integer(r * columns + c, upper ? c - r >= k : c - r <= k);
  }
  return give_masked(site, mask);
}

Status import_eye_like(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t k, site.integer("k", 0));
  const bool typed = site.has_attribute("dtype");
  WHET_TRY(const std::int64_t number, site.integer("dtype", onnx_type(site.dtype(0))));
  const auto dtype = dtype_of_onnx(typed ? number : onnx_type(site.dtype(0)));
  if (!dtype) return site.error("attribute \"dtype\" is " + onnx_type_name(number) + ", which is not supported");
  if (site.rank(0) != 2) return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected a matrix");
  WHET_RETURN_IF_ERROR(expect_small(site, site.shape(0), "the result"));
  const std::int64_t rows = site.shape(0)[0], columns = site.shape(0)[1];
  Tensor eye(*dtype, {rows, columns});
  for (std::int64_t r = 0; r < rows; ++r) {
    if (k >= -r && k < columns - r) eye.set(r * columns + r + k, 1);
  }
  return site.give_constant(eye);
}

/// Where a known tensor is not 0: [rank, count], in row-major order.
Status import_non_zero(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const Tensor x, site.known(0, "input, which decides how many results there are,"));
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
  return site.give_constant(places);
}

/// 1 at the first largest element along `axis`, else 0.
Status give_hardmax(OnnxSite& site, ValueId x, std::int64_t axis, const Shape& shape) {
  const Shape own = site.type(x).shape;
  Shape along(own.size(), 1);
  along[static_cast<std::size_t>(axis)] = own[static_cast<std::size_t>(axis)];
  WHET_RETURN_IF_ERROR(expect_small(site, along, "the axis"));
  Tensor places(DType::i64, along);
  for (std::int64_t i = 0; i < places.size(); ++i) places.set_integer(i, i);
  WHET_TRY(const ValueId best, site.add("best", ArgReduceOperator{true, axis, true, false}, {x}));
  WHET_TRY(const ValueId hit,
           site.add("hit", BinaryOperator{BinaryKind::equal}, {best, site.add_constant("places", places)}));
  WHET_TRY(const ValueId y, site.add("flat", CastOperator{site.dtype(0)}, {hit}));
  return site.give(ReshapeOperator{shape}, {y});
}

Status import_hardmax(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t axis, axis_of(site, site.opset() >= 13 ? -1 : 1));
  const Shape x = site.shape(0);
  if (site.opset() >= 13) return give_hardmax(site, site.in(0), axis, x);
  const Shape flat = {num_elements(Shape(x.begin(), x.begin() + axis)), num_elements(Shape(x.begin() + axis, x.end()))};
  WHET_TRY(const ValueId rows, site.add("rows", ReshapeOperator{flat}, {site.in(0)}));
  return give_hardmax(site, rows, 1, x);
}

/// Rows of the input where a known condition is true.
Status import_compress(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const Tensor condition, site.known(1, "condition"));
  ValueId x = site.in(0);
  std::int64_t axis = 0;
  if (site.has_attribute("axis")) {
    WHET_TRY(axis, axis_of(site, 0));
  } else {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(site.shape(0))}}, {x}));
  }
  const std::int64_t extent = site.type(x).shape[static_cast<std::size_t>(axis)];
  if (condition.dtype() != DType::boolean || condition.size() > extent) {
    return site.error("its condition is " + to_string(condition.type()) + " for an extent of " +
                      std::to_string(extent));
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < condition.size(); ++i) {
    if (condition.integer(i) != 0) kept.push_back(i);
  }
  const Tensor places = Tensor::of(DType::i64, {static_cast<std::int64_t>(kept.size())}, kept);
  return site.give(GatherOperator{axis}, {x, site.add_constant("places", places)});
}

/// Rows of the plane of steps and sequences are taken by their numbers, which count backwards within a sequence.
Status import_reverse_sequence(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t time, site.integer("time_axis", 0));
  WHET_TRY(const std::int64_t batch, site.integer("batch_axis", 1));
  if (!(time == 0 && batch == 1) && !(time == 1 && batch == 0)) {
    return site.error("attributes \"time_axis\" and \"batch_axis\" are " + std::to_string(time) + " and " +
                      std::to_string(batch) + "; expected 0 and 1, or 1 and 0");
  }
  const Shape x = site.shape(0);
  const bool fits =
      x.size() >= 2 && site.dtype(1) == DType::i64 && site.shape(1) == Shape{x[static_cast<std::size_t>(batch)]};
  if (!fits) {
    return site.error("reverses " + to_string(site.type(site.in(0))) + " by lengths " +
                      to_string(site.type(site.in(1))) + "; expected two dimensions or more, and one i64 a sequence");
  }
  if (num_elements(x) == 0) return site.pass(site.in(0));
  WHET_RETURN_IF_ERROR(expect_small(site, {x[0], x[1]}, "the plane of steps and sequences"));
  const std::int64_t steps = x[static_cast<std::size_t>(time)], sequences = x[static_cast<std::size_t>(batch)];
  if (const Tensor* lengths = site.constant(1)) {
    for (std::int64_t b = 0; b < sequences; ++b) {
      if (lengths->integer(b) >= 0 && lengths->integer(b) <= steps) continue;
      return site.error("the length of a sequence is " + std::to_string(lengths->integer(b)) + "; expected 0 to " +
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
  WHET_TRY(const ValueId length, site.add("length", ReshapeOperator{along_batch}, {site.in(1)}));
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
  WHET_TRY(const ValueId rows, site.add("rows", ReshapeOperator{flat}, {site.in(0)}));
  WHET_TRY(const ValueId turned, site.add("turned", GatherOperator{0}, {rows, row}));
  return site.give(ReshapeOperator{x}, {turned});
}

}  // namespace whet
