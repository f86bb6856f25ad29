#include "import/parts/roi_align.h"

#include "import/onnx/importers.h"

namespace whet {

Status import_roi_align(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  RoiAlign form{.half_pixel = false};
  if (site.opset() >= 16) {
    WHET_TRY(const std::size_t mode,
             site.choice("coordinate_transformation_mode", "half_pixel", {"half_pixel", "output_half_pixel"}));
    form.half_pixel = mode == 0;
  }
  WHET_TRY(const std::size_t mode, site.choice("mode", "avg", {"avg", "max"}));
  form.largest = mode == 1;
  WHET_TRY(form.cells[0], site.integer("output_height", 1));
  WHET_TRY(form.cells[1], site.integer("output_width", 1));
  WHET_TRY(form.samples, site.integer("sampling_ratio", 0));
  WHET_TRY(form.scale, site.number("spatial_scale", 1));
  if (form.samples == 0) {
    return site.error("attribute \"sampling_ratio\" is 0, with which each region decides; expected 1 or more");
  }
  return site.give(roi_aligned(site, {site.in(0), site.in(1), site.in(2)}, form));
}

}  // namespace whet
