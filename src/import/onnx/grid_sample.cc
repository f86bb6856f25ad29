#include "import/parts/grid_sample.h"

#include "import/onnx/importers.h"

namespace whet {
namespace {

Result<ResizeMode> read_mode(OnnxSite& site) {
  if (site.opset() >= 20) {
    WHET_TRY(const std::size_t mode, site.choice("mode", "linear", {"nearest", "linear", "cubic"}));
    return static_cast<ResizeMode>(mode);
  }
  WHET_TRY(const std::size_t mode, site.choice("mode", "bilinear", {"nearest", "bilinear", "bicubic"}));
  return static_cast<ResizeMode>(mode);
}

}  // namespace

Status import_grid_sample(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  Sampling sampling;
  WHET_TRY(sampling.mode, read_mode(site));
  WHET_TRY(const std::size_t outside, site.choice("padding_mode", "zeros", {"zeros", "border", "reflection"}));
  sampling.outside = static_cast<Outside>(outside);
  WHET_TRY(sampling.align, site.flag("align_corners", false));
  return site.give(grid_sampled(site, site.in(0), site.in(1), sampling));
}

Status import_affine_grid(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const bool align, site.flag("align_corners", false));
  WHET_TRY(const Shape size, site.known_integers(1, "size"));
  return site.pass(affine_grid(site, site.in(0), size, align));
}

}  // namespace whet
