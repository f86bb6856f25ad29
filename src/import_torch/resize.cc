#include "import/parts/resize.h"

#include <algorithm>

#include "import/parts/grid_sample.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

using Factors = std::optional<Numbers>;

/// The factors that are given are the scales, and not the ratio of the sizes.
Result<ResizeOperator> sized(TorchSite& site, ValueId x, const Factors& given, ResizeOperator op) {
  if (site.rank(x) < 3)
    return site.error("the input is " + to_string(site.type(x)) +
                      "; expected a batch, channels and spatial dimensions");
  const std::size_t spatial = site.rank(x) - 2;
  if (given) {
    if (given->size() != spatial)
      return site.error("has " + std::to_string(given->size()) + " factors for " + to_string(site.type(x)));
    Numbers factors = {1, 1};
    factors.insert(factors.end(), given->begin(), given->end());
    WHET_RETURN_IF_ERROR(scale_by(site, x, factors, op));
    return op;
  }
  WHET_TRY(Ints sizes, site.entries("output_size", spatial, 1));
  sizes.insert(sizes.begin(), site.shape(x).begin(), site.shape(x).begin() + 2);
  WHET_RETURN_IF_ERROR(scale_to(site, x, sizes, op));
  return op;
}

template <CoordinateMode coordinates, NearestMode nearest>
Status import_nearest(TorchSite& site, ValueId x, const Factors& factors) {
  ResizeOperator form{};
  form.mode = ResizeMode::nearest;
  form.coordinates = coordinates;
  form.nearest = nearest;
  WHET_TRY(const ResizeOperator op, sized(site, x, factors, form));
  return site.give(op, {x});
}

ResizeOperator smooth(ResizeMode mode, bool align) {
  ResizeOperator op{};
  op.mode = mode;
  op.coordinates = align ? CoordinateMode::align_corners : CoordinateMode::half_pixel;
  op.cubic_a = -0.75;
  return op;
}
template <ResizeMode mode>
Status import_smooth(TorchSite& site, ValueId x, bool align, const Factors& factors) {
  WHET_TRY(const ResizeOperator op, sized(site, x, factors, smooth(mode, align)));
  return site.give(op, {x});
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

/// `steps`: the scales where they are not those of the sizes.
template <ResizeMode mode>
Result<ValueId> import_antialiased(TorchSite& site, ValueId x, bool align, const Factors& factors,
                                   const Numbers& steps = {}) {
  ResizeOperator form = smooth(mode, align);
  form.cubic_a = -0.5;
  form.exclude_outside = true;  // weights of places outside are left out
  WHET_TRY(ResizeOperator op, sized(site, x, factors, form));
  if (align) step_by_corners(site.shape(x), op);
  std::copy(steps.begin(), steps.end(), op.scales.end() - static_cast<std::ptrdiff_t>(steps.size()));
  return antialiased(site, x, op);
}

template <ResizeMode mode>
Result<ValueId> import_antialiased_by(TorchSite& site, ValueId x, bool align, const Factors& factors) {
  return import_antialiased<mode>(site, x, align, factors);
}
/// The core form has sizes always, and factors a dimension.
template <ResizeMode mode>
Result<ValueId> import_antialiased_to(TorchSite& site, ValueId x, bool align, std::optional<double> rows,
                                      std::optional<double> columns) {
  const bool given = rows && columns && !align;
  return import_antialiased<mode>(site, x, align, std::nullopt, given ? Numbers{*rows, *columns} : Numbers{});
}

Result<ValueId> import_grid_sample(TorchSite& site, ValueId x, ValueId grid, std::int64_t mode, std::int64_t outside,
                                   bool align) {
  if (mode < 0 || mode > 2 || outside < 0 || outside > 2)
    return site.error("has interpolation " + std::to_string(mode) + " and padding " + std::to_string(outside) +
                      "; expected 0 to 2");
  constexpr ResizeMode kModes[] = {ResizeMode::linear, ResizeMode::nearest, ResizeMode::cubic};
  return grid_sampled(site, x, grid, {kModes[mode], static_cast<Outside>(outside), align});
}

constexpr std::string_view kResize = "input ~output_size align_corners scale_factors?",
                           kResizeTo = "self ~output_size align_corners scales_h? scales_w?",
                           kNearest = "input ~output_size scale_factors?";

}  // namespace

TorchRows resize_rows() {
  using M = ResizeMode;
  static constexpr TorchRow kRows[] = {
      {"aten._upsample_bicubic2d_aa", "default", kResizeTo, calls<import_antialiased_to<M::cubic>>, kWide},
      {"aten._upsample_bicubic2d_aa", "vec", kResize, calls<import_antialiased_by<M::cubic>>, kWide},
      {"aten._upsample_bilinear2d_aa", "default", kResizeTo, calls<import_antialiased_to<M::linear>>, kWide},
      {"aten._upsample_bilinear2d_aa", "vec", kResize, calls<import_antialiased_by<M::linear>>, kWide},
      {"aten._upsample_nearest_exact1d aten._upsample_nearest_exact2d aten._upsample_nearest_exact3d", "vec", kNearest,
       calls<import_nearest<CoordinateMode::half_pixel, NearestMode::round_prefer_ceil>>},
      {"aten.affine_grid_generator", "default", "theta size align_corners", calls<affine_grid>},
      {"aten.grid_sampler aten.grid_sampler_2d aten.grid_sampler_3d", "default",
       "input grid interpolation_mode padding_mode align_corners", calls<import_grid_sample>, kWide},
      {"aten.upsample_bicubic2d", "vec", kResize, calls<import_smooth<M::cubic>>},
      {"aten.upsample_linear1d aten.upsample_bilinear2d aten.upsample_trilinear3d", "vec", kResize,
       calls<import_smooth<M::linear>>},
      {"aten.upsample_nearest1d aten.upsample_nearest2d aten.upsample_nearest3d", "vec", kNearest,
       calls<import_nearest<CoordinateMode::asymmetric, NearestMode::floor>>},
  };
  return kRows;
}

}  // namespace whet::torch
