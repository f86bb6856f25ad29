#include <algorithm>

#include "import/parts/roi_align.h"
#include "import_onnx/rows.h"
#include "import_onnx/window.h"

namespace whet {

Result<Pooling> read_pooling(OnnxSite& site, ValueId x, PoolKind kind) {
  if (site.rank(x) < 3) {
    return site.error("the input is " + to_string(site.type(x)) +
                      "; expected a batch, channels and one to three spatial dimensions");
  }
  Pooling pooling{.kind = kind};
  WHET_TRY(pooling.kernel, site.entries("kernel_shape", site.rank(x) - 2, 1, 1));
  WHET_TRY(pooling.window, read_window(site, x, pooling.kernel));
  WHET_TRY(pooling.ceil_mode, site.flag("ceil_mode", false));
  return pooling;
}

namespace {

Status expect_norm(OnnxSite& site, std::int64_t p) {
  if (p >= 1 && p <= 1024) return ok_status();
  return site.error("attribute \"p\" is " + std::to_string(p) + "; expected 1 to 1024");
}

/// The extents of MaxUnpool's result where they are not given: those whose windows have the input's positions.
Result<Shape> unpooled_shape(OnnxSite& site, const Shape& x) {
  const std::size_t spatial = x.size() - std::min<std::size_t>(x.size(), 2);
  WHET_TRY(const Ints kernel, site.entries("kernel_shape", spatial, 1, 1));
  WHET_TRY(const Ints strides, site.entries("strides", spatial, 1, 1));
  WHET_TRY(const Ints pads, site.entries("pads", 2 * spatial, 0, 0));
  Shape y(x.begin(), x.end() - static_cast<std::ptrdiff_t>(spatial));
  for (std::size_t d = 0; d < spatial; ++d) {
    WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", {x[d + 2], strides[d]}));
    y.push_back((x[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + spatial]);
  }
  return y;
}

Status import_max_pool(OnnxSite& site, ValueId x, bool by_columns) {
  WHET_TRY(const Pooling pooling, read_pooling(site, x, PoolKind::max));
  WHET_TRY(const ValueId top, pooled(site, x, pooling));
  if (!site.wants_output(1)) return site.give(top);
  WHET_RETURN_IF_ERROR(site.give(max_pool_indices(site, x, pooling, top, by_columns), 1));
  return site.pass(top);
}

/// ONNX Runtime's own, of images with channels last.
Result<ValueId> import_nhwc_max_pool(OnnxSite& site, ValueId given) {
  WHET_TRY(const ValueId x, channels_first(site, given, true));
  WHET_TRY(const Pooling pooling, read_pooling(site, x, PoolKind::max));
  WHET_TRY(const ValueId y, pooled(site, x, pooling));
  return channels_back(site, y, true);
}

/// The largest pixels of cells of regions (the number of an image and two corners).
Result<ValueId> import_max_roi_pool(OnnxSite& site, ValueId x, ValueId regions, double scale) {
  WHET_TRY(const Ints cells, site.entries("pooled_shape", 2, 1, 1));
  const RoiAlign plan{.cells = {cells[0], cells[1]}, .scale = scale};
  WHET_TRY(const RoiInputs in, regions_of_rows(site, x, regions));
  return roi_pooled(site, in, plan);
}

Result<ValueId> import_average_pool(OnnxSite& site, ValueId x, bool count_include_pad) {
  WHET_TRY(Pooling pooling, read_pooling(site, x, PoolKind::average));
  pooling.count_include_pad = count_include_pad;
  return pooled(site, x, pooling);
}

Result<ValueId> import_lp_pool(OnnxSite& site, ValueId x, std::int64_t p) {
  WHET_RETURN_IF_ERROR(expect_norm(site, p));
  WHET_TRY(const Pooling pooling, read_pooling(site, x, PoolKind::average));
  return lp_pooled(site, x, pooling, p);
}

Result<ValueId> import_global_lp_pool(OnnxSite& site, ValueId x, std::int64_t p) {
  WHET_RETURN_IF_ERROR(expect_norm(site, p));
  return lp_pooled_whole(site, x, p);
}

template <ReduceKind kind>
Result<ValueId> import_global_pool(OnnxSite& site, ValueId x) {
  return pooled_whole(site, x, kind);
}

/// Places count through the whole result, whose shape may be given.
Result<ValueId> import_max_unpool(OnnxSite& site, ValueId x, ValueId places, const std::optional<Ints>& shape) {
  WHET_TRY(const Shape y, unpooled_shape(site, site.shape(x)));
  return max_unpool(site, x, places, shape.value_or(y));
}

}  // namespace

/// What `read_pooling` reads is behind the parameters.
OnnxRows onnx_pool() {
  static constexpr OnnxRow kRows[] = {
      {"AveragePool", 1, "x @count_include_pad=0 @kernel_shape @strides? @dilations? @pads? @auto_pad? @ceil_mode?",
       calls<import_average_pool>},
      {"GlobalAveragePool", 1, "x", calls<import_global_pool<ReduceKind::mean>>},
      {"GlobalLpPool", 2, "x @p=2", calls<import_global_lp_pool>},
      {"GlobalMaxPool", 1, "x", calls<import_global_pool<ReduceKind::max>>},
      // Zeros that are counted add nothing.
      {"LpPool", 2, "x @p=2 @kernel_shape @strides? @dilations? @pads? @auto_pad? @ceil_mode? ~count_include_pad",
       calls<import_lp_pool>},
      {"MaxPool", 1, "x @storage_order=0 @kernel_shape @strides? @dilations? @pads? @auto_pad? @ceil_mode?",
       calls<import_max_pool>},
      {"MaxRoiPool", 1, "x regions @spatial_scale=1 @pooled_shape", calls<import_max_roi_pool>},
      {"NhwcMaxPool", 1, "x @kernel_shape @strides? @dilations? @pads? @auto_pad? @ceil_mode?",
       calls<import_nhwc_max_pool>, kMicrosoft},
      {"MaxUnpool", 9, "x places shape? @kernel_shape @strides? @pads?", calls<import_max_unpool>},
  };
  return kRows;
}

}  // namespace whet
