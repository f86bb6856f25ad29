#include "import/parts/index.h"
#include "import/parts/non_zero.h"
#include "import/parts/shape.h"
#include "import/parts/unique.h"

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
  WHET_TRY(const ValueId places, site.add("places", op, {site.in(0)}));
  WHET_RETURN_IF_ERROR(site.give(places, 1));
  return site.give(GatherElementsOperator{op.axis}, {site.in(0), places}, 0);
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
  WHET_TRY(const std::int64_t k, site.known_integer(1, "number of elements"));
  return give_top_k(site, k);
}

Status import_cumsum(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t axis, site.known_integer(1, "axis"));
  CumSumOperator op;
  WHET_TRY(op.axis, site.resolve_axis(axis, site.rank(0)));
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

/// Rows of a cache are replaced from a place on that each batch entry has; "circular" goes on at the front.
Status import_tensor_scatter(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  WHET_TRY(const std::int64_t given, site.integer("axis", -2));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  WHET_TRY(const std::size_t mode, site.choice("mode", "linear", {"linear", "circular"}));
  const Shape update = site.shape(1);
  const std::int64_t rows = site.shape(0)[static_cast<std::size_t>(axis)];
  if (update.size() != site.rank(0) || axis == 0 || update[static_cast<std::size_t>(axis)] > rows)
    return site.error("writes " + to_string(site.type(site.in(1))) + " into " + to_string(site.type(site.in(0))) +
                      " along dimension " + std::to_string(axis));
  Shape along(update.size(), 1), each(update.size(), 1);
  along[static_cast<std::size_t>(axis)] = update[static_cast<std::size_t>(axis)];
  each[0] = update[0];
  Tensor counted_rows(DType::i64, along);
  for (std::int64_t i = 0; i < counted_rows.size(); ++i) counted_rows.set_integer(i, i);
  ValueId places = site.add_constant("rows", counted_rows);
  if (site.has(2)) {
    WHET_TRY(const ValueId starts, site.add("starts", ReshapeOperator{each}, {site.in(2)}));
    WHET_TRY(places, site.add("places", BinaryOperator{BinaryKind::add}, {places, starts}));
  }
  if (mode == 1) {
    Tensor count(DType::i64, {});
    count.set_integer(0, rows);
    WHET_TRY(places,
             site.add("circular", BinaryOperator{BinaryKind::mod}, {places, site.add_constant("count", count)}));
  }
  WHET_TRY(places, expanded(site, places, update));
  return site.give(ScatterElementsOperator{axis}, {site.in(0), places, site.in(1)});
}

Status import_scatter_nd(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const ScatterKind kind, scatter_kind(site));
  return site.give(scatter_nd(site, site.in(0), site.in(1), site.in(2), kind));
}

Status import_one_hot(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(const Tensor depth, site.known(1, "depth"));
  const bool counts = depth.size() == 1 && depth.get(0) >= 0 && depth.get(0) <= kMaxElements;
  if (!counts) return site.error("its depth is " + to_string(depth.type()) + "; expected one number of classes");
  OneHot form{.depth = static_cast<std::int64_t>(depth.get(0)), .values = site.in(2), .from_end = true};
  WHET_TRY(const std::int64_t given, site.integer("axis", -1));
  WHET_TRY(form.axis, site.resolve_axis(given, site.rank(0) + 1));
  return site.give(one_hot(site, site.in(0), form));
}

Status import_trilu(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 2));
  WHET_TRY(const bool upper, site.flag("upper", true));
  std::int64_t k = 0;
  if (site.has(1)) {
    WHET_TRY(k, site.known_integer(1, "diagonal"));
  }
  return site.give(trilu(site, site.in(0), k, upper));
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
  return site.give_constant(eye(*dtype, site.shape(0)[0], site.shape(0)[1], k));
}

Status import_non_zero(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  if (const Tensor* x = site.constant(0)) return site.give_constant(non_zero(*x));
  return site.give(counted_non_zero(site, site.in(0)));
}

/// Before operator set 13, everything from `axis` on is one dimension.
Status import_hardmax(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t axis, axis_of(site, site.opset() >= 13 ? -1 : 1));
  const Shape x = site.shape(0);
  if (site.opset() >= 13) return site.give(hardmax(site, site.in(0), axis, x));
  const Shape flat = {num_elements(Shape(x.begin(), x.begin() + axis)), num_elements(Shape(x.begin() + axis, x.end()))};
  WHET_TRY(const ValueId rows, site.add("rows", ReshapeOperator{flat}, {site.in(0)}));
  return site.give(hardmax(site, rows, 1, x));
}

Status import_compress(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  ValueId x = site.in(0);
  std::int64_t axis = 0;
  if (site.has_attribute("axis")) {
    WHET_TRY(axis, axis_of(site, 0));
  } else {
    WHET_TRY(x, site.add("flat", ReshapeOperator{{num_elements(site.shape(0))}}, {x}));
  }
  if (const Tensor* condition = site.constant(1)) return site.give(compress(site, x, *condition, axis));
  return site.give(counted_where(site, x, site.in(1), axis));
}

Status import_reverse_sequence(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t time, site.integer("time_axis", 0));
  WHET_TRY(const std::int64_t batch, site.integer("batch_axis", 1));
  if (!(time == 0 && batch == 1) && !(time == 1 && batch == 0)) {
    return site.error("attributes \"time_axis\" and \"batch_axis\" are " + std::to_string(time) + " and " +
                      std::to_string(batch) + "; expected 0 and 1, or 1 and 0");
  }
  return site.give(reverse_sequence(site, site.in(0), site.in(1), static_cast<std::size_t>(time)));
}

/// The different elements of a list; without an axis of any tensor.
Status import_unique(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const bool sorted, site.flag("sorted", true));
  if (site.has_attribute("axis")) {
    WHET_TRY(const std::int64_t axis, site.integer("axis", 0));
    WHET_TRY(const std::int64_t resolved, site.resolve_axis(axis, site.rank(0)));
    if (site.rank(0) != 1)
      return site.error("finds the different parts of " + to_string(site.type(site.in(0))) + " along axis " +
                        std::to_string(resolved) + "; only elements are supported");
  }
  WHET_TRY(const Unique found, unique_elements(site, site.in(0), sorted));
  WHET_RETURN_IF_ERROR(site.give(found.values, 0));
  if (site.wants_output(1)) WHET_RETURN_IF_ERROR(site.give(found.firsts, 1));
  if (site.wants_output(2)) WHET_RETURN_IF_ERROR(site.give(found.inverse, 2));
  return site.wants_output(3) ? site.give(found.counts, 3) : ok_status();
}

}  // namespace whet
