#include "import/parts/resize.h"

#include "import/parts/grid_sample.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

/// The factors that are given are the scales, and not the ratio of the sizes.
Result<ResizeOperator> read_resize(TorchSite& site, ValueId x, ResizeOperator op) {
  const std::size_t rank = site.rank(x);
  if (rank < 3)
    return site.error("the input is " + to_string(site.type(x)) +
                      "; expected a batch, channels and spatial dimensions");
  const std::size_t spatial = rank - 2;
  if (site.has("scale_factors")) {
    WHET_TRY(std::vector<double> factors, site.numbers("scale_factors"));
    if (factors.size() != spatial)
      return site.error("has " + std::to_string(factors.size()) + " factors for " + to_string(site.type(x)));
    factors.insert(factors.begin(), 2, 1.0);
    WHET_RETURN_IF_ERROR(scale_by(site, x, factors, op));
    return op;
  }
  WHET_TRY(std::vector<std::int64_t> sizes, site.entries("output_size", spatial, 1));
  sizes.insert(sizes.begin(), site.shape(x).begin(), site.shape(x).begin() + 2);
  WHET_RETURN_IF_ERROR(scale_to(site, x, sizes, op));
  return op;
}

Status give_resized(TorchSite& site, ResizeOperator op) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(op, read_resize(site, x, op));
  return site.give(op, {x});
}

Result<ResizeOperator> smooth(TorchSite& site, ResizeMode mode) {
  WHET_TRY(const bool align, site.flag("align_corners"));
  ResizeOperator op{};
  op.mode = mode;
  op.coordinates = align ? CoordinateMode::align_corners : CoordinateMode::half_pixel;
  op.cubic_a = -0.75;
  return op;
}

/// With antialiasing PyTorch takes the steps of aligned corners from centre to centre of pixels.
void step_by_corners(const Shape& x, ResizeOperator& op) {
  constexpr double kFirstPixelAlone = 1e8;
  op.coordinates = CoordinateMode::half_pixel;
  for (std::size_t d = 2; d < x.size(); ++d) {
    const auto in = static_cast<double>(x[d] - 1), out = static_cast<double>(op.shape[d] - 1);
    op.scales[d] = in > 0 && out > 0 ? out / in : kFirstPixelAlone;
  }
}

Status give_antialiased(TorchSite& site, ResizeMode mode) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(ResizeOperator op, smooth(site, mode));
  op.cubic_a = -0.5;
  op.exclude_outside = true;  // weights of places outside are left out
  WHET_TRY(op, read_resize(site, x, op));
  if (op.coordinates == CoordinateMode::align_corners) step_by_corners(site.shape(x), op);
  return site.give(antialiased(site, x, op));
}

Status import_upsample_nearest(TorchSite& site) {
  ResizeOperator op{};
  op.mode = ResizeMode::nearest;
  op.coordinates = CoordinateMode::asymmetric;
  op.nearest = NearestMode::floor;
  return give_resized(site, op);
}
Status import_upsample_nearest_exact(TorchSite& site) {
  ResizeOperator op{};
  op.mode = ResizeMode::nearest;
  op.coordinates = CoordinateMode::half_pixel;
  op.nearest = NearestMode::round_prefer_ceil;
  return give_resized(site, op);
}
Status import_upsample_linear(TorchSite& site) {
  WHET_TRY(const ResizeOperator op, smooth(site, ResizeMode::linear));
  return give_resized(site, op);
}
Status import_upsample_bicubic(TorchSite& site) {
  WHET_TRY(const ResizeOperator op, smooth(site, ResizeMode::cubic));
  return give_resized(site, op);
}
Status import_upsample_linear_aa(TorchSite& site) { return give_antialiased(site, ResizeMode::linear); }
Status import_upsample_bicubic_aa(TorchSite& site) { return give_antialiased(site, ResizeMode::cubic); }

Status import_grid_sample(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const ValueId grid, site.tensor("grid"));
  WHET_TRY(const std::int64_t mode, site.integer("interpolation_mode"));
  WHET_TRY(const std::int64_t outside, site.integer("padding_mode"));
  Sampling sampling;
  WHET_TRY(sampling.align, site.flag("align_corners"));
  if (mode < 0 || mode > 2 || outside < 0 || outside > 2)
    return site.error("has interpolation " + std::to_string(mode) + " and padding " + std::to_string(outside) +
                      "; expected 0 to 2");
  constexpr ResizeMode kModes[] = {ResizeMode::linear, ResizeMode::nearest, ResizeMode::cubic};
  sampling.mode = kModes[mode];
  sampling.outside = static_cast<Outside>(outside);
  return site.give(grid_sampled(site, x, grid, sampling));
}
Status import_affine_grid(TorchSite& site) {
  WHET_TRY(const ValueId theta, site.tensor("theta"));
  WHET_TRY(const Shape size, site.integers("size"));
  WHET_TRY(const bool align, site.flag("align_corners"));
  return site.pass(affine_grid(site, theta, size, align));
}

constexpr std::string_view kResize = "input output_size align_corners scale_factors=none";

}  // namespace

TorchRows resize_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._upsample_bicubic2d_aa", "vec", kResize, import_upsample_bicubic_aa},
      {"aten._upsample_bilinear2d_aa", "vec", kResize, import_upsample_linear_aa},
      {"aten._upsample_nearest_exact1d", "vec", "input output_size scale_factors=none", import_upsample_nearest_exact},
      {"aten._upsample_nearest_exact2d", "vec", "input output_size scale_factors=none", import_upsample_nearest_exact},
      {"aten._upsample_nearest_exact3d", "vec", "input output_size scale_factors=none", import_upsample_nearest_exact},
      {"aten.affine_grid_generator", "default", "theta size align_corners", import_affine_grid},
      {"aten.grid_sampler", "default", "input grid interpolation_mode padding_mode align_corners", import_grid_sample},
      {"aten.grid_sampler_2d", "default", "input grid interpolation_mode padding_mode align_corners",
       import_grid_sample},
      {"aten.grid_sampler_3d", "default", "input grid interpolation_mode padding_mode align_corners",
       import_grid_sample},
      {"aten.upsample_bicubic2d", "vec", kResize, import_upsample_bicubic},
      {"aten.upsample_bilinear2d", "vec", kResize, import_upsample_linear},
      {"aten.upsample_linear1d", "vec", kResize, import_upsample_linear},
      {"aten.upsample_nearest1d", "vec", "input output_size scale_factors=none", import_upsample_nearest},
      {"aten.upsample_nearest2d", "vec", "input output_size scale_factors=none", import_upsample_nearest},
      {"aten.upsample_nearest3d", "vec", "input output_size scale_factors=none", import_upsample_nearest},
      {"aten.upsample_trilinear3d", "vec", kResize, import_upsample_linear},
  };
  return kRows;
}

}  // namespace whet::torch
