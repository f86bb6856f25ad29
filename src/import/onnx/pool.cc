#include <algorithm>
#include <limits>

#include "import/fold_shape.h"
#include "import/onnx/importers.h"
#include "import/onnx/window.h"

namespace whet {
namespace {

/// With ceil_mode a last window may reach beyond the padding: the padding grows to hold it. A window that would begin
/// beyond the input and its first padding is not counted.
void round_up(PoolOperator& op, std::size_t i, std::int64_t extent) {
  const std::int64_t reach = op.dilations[i] * (op.kernel[i] - 1) + 1, stride = op.strides[i];
  const std::int64_t span = extent + op.pads_begin[i] + op.pads_end[i] - reach;
  if (span < 0) return;  // inference says that not one window fits
  std::int64_t positions = (span + stride - 1) / stride + 1;
  if ((positions - 1) * stride >= extent + op.pads_begin[i]) --positions;
  op.pads_end[i] = std::max<std::int64_t>((positions - 1) * stride + reach - extent - op.pads_begin[i], 0);
}

/// Average with its padding counted, and a padding that ceil_mode enlarged: what the file pads is counted and becomes a
/// Pad of its own; what ceil_mode added is not.
Status give_padded_average(OnnxSite& site, PoolOperator op, const Window& window) {
  PadOperator pad{PadMode::constant, 0, {0, 0}, {0, 0}};
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    pad.begin.push_back(op.pads_begin[i]);
    pad.end.push_back(std::min(op.pads_end[i], window.pads_end[i]));
    op.pads_begin[i] = 0;
    op.pads_end[i] -= pad.end.back();
  }
  op.count_include_pad = false;
  WHET_TRY(const ValueId padded, site.add("pad", pad, {site.in(0)}));
  return site.give(op, {padded});
}

/// The pool that the attributes describe, with windows that ceil_mode adds; `window`: as the file pads.
struct Described {
  PoolOperator op;
  Window window;
  bool grew = false;
};

Result<Described> describe(OnnxSite& site, PoolKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  if (site.rank(0) < 3) {
    return site.error("the input is " + to_string(site.type(site.in(0))) +
                      "; expected a batch, channels and one to three spatial dimensions");
  }
  WHET_RETURN_IF_ERROR(site.expect_attribute("kernel_shape"));
  WHET_TRY(const std::vector<std::int64_t> kernel, site.entries("kernel_shape", site.rank(0) - 2, 1, 1));
  WHET_TRY(const Window window, read_window(site, kernel));
  WHET_TRY(const bool ceil_mode, site.flag("ceil_mode", false));
  PoolOperator op{kind, kernel, window.strides, window.dilations, window.pads_begin, window.pads_end};
  if (kind == PoolKind::average) {
    WHET_TRY(op.count_include_pad, site.flag("count_include_pad", false));
  }
  bool grew = false;
  for (std::size_t i = 0; ceil_mode && i < kernel.size(); ++i) {
    round_up(op, i, site.shape(0)[i + 2]);
    grew = grew || op.pads_end[i] > window.pads_end[i];
  }
  return Described{op, window, grew};
}

/// Where one tap of each window stands in a plane, and whether that is inside the input: [1, 1, positions...].
struct TapPlaces {
  Tensor places, inside;
  bool is_always_inside = true;
};

/// `tap`: where the one of the first window stands in the padded input.
TapPlaces places_of_tap(const PoolOperator& op, const Shape& tap, const Shape& spatial, const Shape& positions,
                        bool by_columns) {
  const std::size_t dims = spatial.size();
  Shape shape(dims + 2, 1);
  std::copy(positions.begin(), positions.end(), shape.begin() + 2);
  TapPlaces result{Tensor(DType::i64, shape), Tensor(DType::boolean, shape)};
  for (std::int64_t p = 0; p < num_elements(positions); ++p) {
    std::int64_t left = p, at = 0, below = 1;
    Shape where(dims);
    for (std::size_t d = dims; d-- > 0; left /= positions[d]) {
      where[d] = left % positions[d] * op.strides[d] + tap[d] - op.pads_begin[d];
    }
    bool is_inside = true;
    for (std::size_t k = 0; k < dims; ++k) {
      const std::size_t d = by_columns ? k : dims - 1 - k;
      at += where[d] * below;
      below *= spatial[d];
      is_inside = is_inside && where[d] >= 0 && where[d] < spatial[d];
    }
    result.places.set_integer(p, at);
    result.inside.set_integer(p, is_inside);
    result.is_always_inside = result.is_always_inside && is_inside;
  }
  return result;
}

/// Where each maximum stands in the whole input, counted row by row (or column by column): of the taps of a window that
/// lie inside the input the first that equals the maximum.
Status give_places(OnnxSite& site, const PoolOperator& op, ValueId top, bool by_columns) {
  const Shape x = site.shape(0), y = site.type(top).shape;
  const std::size_t dims = op.kernel.size();
  const Shape spatial(x.begin() + 2, x.end()), positions(y.begin() + 2, y.end());
  const std::int64_t plane = num_elements(spatial), count = num_elements(positions);
  if (num_elements(op.kernel) > 1024 || count > kMaxFoldedElements) {
    return site.error("the places of the maxima of windows " + to_string(op.kernel) + " are not supported");
  }
  PadOperator pad{PadMode::constant, -std::numeric_limits<double>::infinity(), {0, 0}, {0, 0}};
  if (!is_float(site.dtype(0))) pad.value = site.dtype(0) == DType::u8 ? 0 : -128;
  pad.begin.insert(pad.begin.end(), op.pads_begin.begin(), op.pads_begin.end());
  pad.end.insert(pad.end.end(), op.pads_end.begin(), op.pads_end.end());
  WHET_TRY(const ValueId padded, site.add("padded", pad, {site.in(0)}));
  ValueId places = site.add_scalar("nowhere", DType::i64, 0);
  for (std::int64_t tap = num_elements(op.kernel); tap-- > 0;) {
    SliceOperator slice{{0, 0}, {1, 1}, y};
    std::int64_t rest = tap;
    for (std::size_t d = dims; d-- > 0; rest /= op.kernel[d]) {
      slice.starts.insert(slice.starts.begin() + 2, rest % op.kernel[d] * op.dilations[d]);
      slice.steps.insert(slice.steps.begin() + 2, y[d + 2] > 1 ? op.strides[d] : 1);
    }
    const TapPlaces at =
        places_of_tap(op, Shape(slice.starts.begin() + 2, slice.starts.end()), spatial, positions, by_columns);
    WHET_TRY(const ValueId part, site.add("tap", slice, {padded}));
    WHET_TRY(ValueId hit, site.add("hit", BinaryOperator{BinaryKind::equal}, {part, top}));
    if (!at.is_always_inside) {  // the padding equals the lowest number, too
      WHET_TRY(hit, site.add("inside", BinaryOperator{BinaryKind::logical_and},
                             {hit, site.add_constant("is_inside", at.inside)}));
    }
    WHET_TRY(places, site.add("place", WhereOperator{}, {hit, site.add_constant("places", at.places), places}));
  }
  Shape planes_shape(dims + 2, 1);
  planes_shape[0] = x[0];
  planes_shape[1] = x[1];
  Tensor planes(DType::i64, planes_shape);
  for (std::int64_t i = 0; i < planes.size(); ++i) planes.set_integer(i, i * plane);
  return site.give(BinaryOperator{BinaryKind::add}, {places, site.add_constant("planes", planes)}, 1);
}

/// |x|^p, its sum over windows or dimensions, and the root of that; of f16 in f32.
Result<ValueId> powers(OnnxSite& site, std::int64_t p) {
  WHET_TRY(ValueId magnitude, site.add("magnitude", UnaryOperator{UnaryKind::abs}, {site.in(0)}));
  if (site.dtype(0) == DType::f16) {
    WHET_TRY(magnitude, site.add("wide", CastOperator{DType::f32}, {magnitude}));
  }
  const ValueId exponent = site.add_scalar("p", site.type(magnitude).dtype, static_cast<double>(p));
  return site.add("powers", BinaryOperator{BinaryKind::pow}, {magnitude, exponent});
}

Status give_root(OnnxSite& site, ValueId sum, std::int64_t p) {
  const DType dtype = site.type(sum).dtype;
  const ValueId exponent = site.add_scalar("inverse_p", dtype, 1 / static_cast<double>(p));
  if (dtype == site.dtype(0)) return site.give(BinaryOperator{BinaryKind::pow}, {sum, exponent});
  WHET_TRY(const ValueId root, site.add("root", BinaryOperator{BinaryKind::pow}, {sum, exponent}));
  return site.give(CastOperator{site.dtype(0)}, {root});
}

Result<std::int64_t> read_p(OnnxSite& site) {
  WHET_TRY(const std::int64_t p, site.integer("p", 2));
  if (p >= 1 && p <= 1024) return p;
  return site.error("attribute \"p\" is " + std::to_string(p) + "; expected 1 to 1024");
}

Status import_global_pool(OnnxSite& site, ReduceKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  ReduceOperator op{kind, {}, true};
  for (std::size_t i = 2; i < site.rank(0); ++i) op.axes.push_back(static_cast<std::int64_t>(i));
  if (op.axes.empty()) {
    return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected spatial dimensions");
  }
  return site.give(op, {site.in(0)});
}

}  // namespace

Status import_max_pool(OnnxSite& site) {
  WHET_TRY(const bool by_columns, site.flag("storage_order", false));
  WHET_TRY(const Described d, describe(site, PoolKind::max));
  if (!site.wants_output(1)) return site.give(d.op, {site.in(0)});
  WHET_TRY(const ValueId top, site.add("top", d.op, {site.in(0)}));
  WHET_RETURN_IF_ERROR(give_places(site, d.op, top, by_columns));
  return site.pass(top);
}

Status import_average_pool(OnnxSite& site) {
  WHET_TRY(const Described d, describe(site, PoolKind::average));
  if (d.op.count_include_pad && d.grew) return give_padded_average(site, d.op, d.window);
  return site.give(d.op, {site.in(0)});
}

Status import_lp_pool(OnnxSite& site) {
  WHET_TRY(const std::int64_t p, read_p(site));
  WHET_TRY(Described d, describe(site, PoolKind::average));
  d.op.count_include_pad = true;  // zeros add nothing: the mean of all taps is the sum but for a factor
  WHET_TRY(const ValueId x, powers(site, p));
  WHET_TRY(const ValueId mean, site.add("mean", d.op, {x}));
  const ValueId count = site.add_scalar("count", site.type(mean).dtype, static_cast<double>(num_elements(d.op.kernel)));
  WHET_TRY(const ValueId sum, site.add("sum", BinaryOperator{BinaryKind::mul}, {mean, count}));
  return give_root(site, sum, p);
}

Status import_global_lp_pool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t p, read_p(site));
  ReduceOperator op{ReduceKind::sum, {}, true};
  for (std::size_t i = 2; i < site.rank(0); ++i) op.axes.push_back(static_cast<std::int64_t>(i));
  WHET_TRY(const ValueId x, powers(site, p));
  WHET_TRY(const ValueId sum, site.add("sum", op, {x}));
  return give_root(site, sum, p);
}

Status import_global_average_pool(OnnxSite& site) { return import_global_pool(site, ReduceKind::mean); }
Status import_global_max_pool(OnnxSite& site) { return import_global_pool(site, ReduceKind::max); }

/// The way back from MaxPool: each element stands where its place says, in a plane of zeros for each channel. Places
/// count through the whole result, whose shape may be given.
Status import_max_unpool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  WHET_RETURN_IF_ERROR(site.expect_attribute("kernel_shape"));
  const Shape x = site.shape(0);
  const std::size_t spatial = x.size() - std::min<std::size_t>(x.size(), 2);
  if (spatial < 1 || site.shape(1) != x || site.dtype(1) != DType::i64 || num_elements(x) == 0) {
    return site.error("puts " + to_string(site.type(site.in(0))) + " at places " + to_string(site.type(site.in(1))) +
                      "; expected a batch, channels and spatial dimensions, and an i64 for each element");
  }
  WHET_TRY(const std::vector<std::int64_t> kernel, site.entries("kernel_shape", spatial, 1, 1));
  WHET_TRY(const std::vector<std::int64_t> strides, site.entries("strides", spatial, 1, 1));
  WHET_TRY(const std::vector<std::int64_t> pads, site.entries("pads", 2 * spatial, 0, 0));
  Shape y = {x[0], x[1]};
  for (std::size_t d = 0; d < spatial; ++d) {
    WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", {x[d + 2], strides[d]}));
    y.push_back((x[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + spatial]);
  }
  if (site.has(2)) {
    WHET_TRY(y, site.known_integers(2, "shape"));
  }
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", y));
  if (y.size() != x.size() || y[0] != x[0] || y[1] != x[1] || num_elements(y) == 0) {
    return site.error("puts " + to_string(site.type(site.in(0))) + " into " + to_string(y) +
                      "; expected equal batches and channels");
  }
  const std::int64_t planes = x[0] * x[1], pixels = num_elements(y) / planes, each = num_elements(x) / planes;
  const ValueId size = site.add_scalar("plane", DType::i64, static_cast<double>(pixels));
  WHET_TRY(ValueId places, site.add("place", BinaryOperator{BinaryKind::mod}, {site.in(1), size}));
  WHET_TRY(places, site.add("places", ReshapeOperator{{planes, each}}, {places}));
  WHET_TRY(const ValueId elements, site.add("elements", ReshapeOperator{{planes, each}}, {site.in(0)}));
  const ValueId zero = site.add_scalar("zero", site.dtype(0), 0);
  WHET_TRY(const ValueId zeros, site.add("zeros", ExpandOperator{{planes, pixels}}, {zero}));
  WHET_TRY(const ValueId put, site.add("put", ScatterElementsOperator{1}, {zeros, places, elements}));
  return site.give(ReshapeOperator{y}, {put});
}

}  // namespace whet
