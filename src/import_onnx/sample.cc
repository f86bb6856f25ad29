#include "import/parts/grid_sample.h"
#include "import/parts/roi_align.h"
#include "import_onnx/rows.h"

// Images read at computed places.

namespace whet {
namespace {

Result<ValueId> import_grid_sample(OnnxSite& site, ValueId x, ValueId grid, ResizeMode mode, Outside outside,
                                   bool align) {
  return grid_sampled(site, x, grid, {mode, outside, align});
}

Status import_affine_grid(OnnxSite& site, ValueId matrices, const Shape& size, bool align) {
  return site.pass(affine_grid(site, matrices, size, align));
}

Result<ValueId> import_roi_align(OnnxSite& site, ValueId x, ValueId regions, ValueId images, std::int64_t mode,
                                 std::int64_t rows, std::int64_t columns, std::int64_t samples, double scale) {
  RoiAlign form{.half_pixel = false};
  if (site.opset() >= 16) {
    WHET_TRY(const std::int64_t places,
             site.choice("coordinate_transformation_mode", "half_pixel", {"half_pixel", "output_half_pixel"}));
    form.half_pixel = places == 0;
  }
  form.largest = mode == 1;
  form.cells[0] = rows, form.cells[1] = columns;
  form.samples = samples, form.scale = scale;
  return roi_aligned(site, {x, regions, images}, form);
}

}  // namespace

OnnxRows onnx_sample() {
  static constexpr OnnxRow kRows[] = {
      {"AffineGrid", 20, "matrices size @align_corners=0", calls<import_affine_grid>},
      {"GridSample", 16,
       "x grid @mode:nearest|bilinear|bicubic=bilinear @padding_mode:zeros|border|reflection=zeros @align_corners=0",
       calls<import_grid_sample>},
      {"GridSample", 20,
       "x grid @mode:nearest|linear|cubic=linear @padding_mode:zeros|border|reflection=zeros @align_corners=0",
       calls<import_grid_sample>},
      {"RoiAlign", 10,
       "x regions images @mode:avg|max=avg @output_height=1 @output_width=1 @sampling_ratio=0 @spatial_scale=1",
       calls<import_roi_align>},
      {"RoiAlign", 16,
       "x regions images @mode:avg|max=avg @output_height=1 @output_width=1 @sampling_ratio=0 @spatial_scale=1 "
       "@coordinate_transformation_mode?",
       calls<import_roi_align>},
  };
  return kRows;
}

}  // namespace whet
