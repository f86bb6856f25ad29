#include <algorithm>

#include "import/onnx/importers.h"
#include "import/onnx/window.h"
#include "import/parts/roi_align.h"

namespace whet {

Result<Pooling> read_pooling(OnnxSite& site, PoolKind kind) {
  if (site.rank(0) < 3) {
    return site.error("the input is " + to_string(site.type(site.in(0))) +
                      "; expected a batch, channels and one to three spatial dimensions");
  }
  WHET_RETURN_IF_ERROR(site.expect_attribute("kernel_shape"));
  Pooling pooling{.kind = kind};
  WHET_TRY(pooling.kernel, site.entries("kernel_shape", site.rank(0) - 2, 1, 1));
  WHET_TRY(pooling.window, read_window(site, pooling.kernel));
  WHET_TRY(pooling.ceil_mode, site.flag("ceil_mode", false));
  return pooling;
}

namespace {

Result<std::int64_t> read_p(OnnxSite& site) {
  WHET_TRY(const std::int64_t p, site.integer("p", 2));
  if (p >= 1 && p <= 1024) return p;
  return site.error("attribute \"p\" is " + std::to_string(p) + "; expected 1 to 1024");
}

/// The extents of MaxUnpool's result where they are not given: those whose windows have the input's positions.
Result<Shape> unpooled_shape(OnnxSite& site) {
  const Shape x = site.shape(0);
  const std::size_t spatial = x.size() - std::min<std::size_t>(x.size(), 2);
  WHET_TRY(const std::vector<std::int64_t> kernel, site.entries("kernel_shape", spatial, 1, 1));
  WHET_TRY(const std::vector<std::int64_t> strides, site.entries("strides", spatial, 1, 1));
  WHET_TRY(const std::vector<std::int64_t> pads, site.entries("pads", 2 * spatial, 0, 0));
  Shape y(x.begin(), x.end() - static_cast<std::ptrdiff_t>(spatial));
  for (std::size_t d = 0; d < spatial; ++d) {
    WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", {x[d + 2], strides[d]}));
    y.push_back((x[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + spatial]);
  }
  return y;
}

}  // namespace

Status import_max_pool(OnnxSite& site) {
  WHET_TRY(const bool by_columns, site.flag("storage_order", false));
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const Pooling pooling, read_pooling(site, PoolKind::max));
  WHET_TRY(const ValueId top, pooled(site, site.in(0), pooling));
  if (!site.wants_output(1)) return site.give(top);
  WHET_RETURN_IF_ERROR(site.give(max_pool_indices(site, site.in(0), pooling, top, by_columns), 1));
  return site.pass(top);
}

/// The largest pixels of cells of regions (the number of an image and two corners).
Status import_max_roi_pool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_RETURN_IF_ERROR(site.expect_attribute("pooled_shape"));
  WHET_TRY(const std::vector<std::int64_t> cells, site.entries("pooled_shape", 2, 1, 1));
  RoiAlign plan;
  plan.cells[0] = cells[0], plan.cells[1] = cells[1];
  WHET_TRY(plan.scale, site.number("spatial_scale", 1));
  const Shape rois = site.shape(1);
  if (rois.size() != 2 || rois[1] != 5)
    return site.error("its regions are " + to_string(site.type(site.in(1))) + "; expected five numbers each");
  WHET_TRY(ValueId image, site.add("number", SliceOperator{{0, 0}, {1, 1}, {rois[0], 1}}, {site.in(1)}));
  WHET_TRY(image, site.add("numbers", ReshapeOperator{{rois[0]}}, {image}));
  WHET_TRY(image, site.cast("images", image, DType::i32));
  WHET_TRY(const ValueId corners, site.add("corners", SliceOperator{{0, 1}, {1, 1}, {rois[0], 4}}, {site.in(1)}));
  return site.give(roi_pooled(site, {site.in(0), corners, image}, plan));
}

Status import_average_pool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(Pooling pooling, read_pooling(site, PoolKind::average));
  WHET_TRY(pooling.count_include_pad, site.flag("count_include_pad", false));
  return site.give(pooled(site, site.in(0), pooling));
}

Status import_lp_pool(OnnxSite& site) {
  WHET_TRY(const std::int64_t p, read_p(site));
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const Pooling pooling, read_pooling(site, PoolKind::average));
  site.ignore({"count_include_pad"});  // zeros add nothing
  return site.give(lp_pooled(site, site.in(0), pooling, p));
}

Status import_global_lp_pool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(const std::int64_t p, read_p(site));
  return site.give(lp_pooled_whole(site, site.in(0), p));
}

Status import_global_average_pool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(pooled_whole(site, site.in(0), ReduceKind::mean));
}

Status import_global_max_pool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(pooled_whole(site, site.in(0), ReduceKind::max));
}

/// Places count through the whole result, whose shape may be given.
Status import_max_unpool(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  WHET_RETURN_IF_ERROR(site.expect_attribute("kernel_shape"));
  WHET_TRY(Shape y, unpooled_shape(site));
  if (site.has(2)) {
    WHET_TRY(y, site.known_integers(2, "shape"));
  }
  return site.give(max_unpool(site, site.in(0), site.in(1), y));
}

}  // namespace whet
