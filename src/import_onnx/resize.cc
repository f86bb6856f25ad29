#include <algorithm>
#include <cmath>
#include <utility>

#include "import/parts/resize.h"
#include "import/parts/shape.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

/// ValueIds given for some axes, put where they belong; `rest` elsewhere.
template <typename T>
Result<std::vector<T>> spread(OnnxSite& site, const std::vector<T>& values, const Ints& axes, std::vector<T> rest) {
  if (values.size() != axes.size()) {
    return site.error("has " + std::to_string(values.size()) + " scales or sizes for " + std::to_string(axes.size()) +
                      " axes");
  }
  WHET_RETURN_IF_ERROR(site.resolve_axes(axes, rest.size()));  // each once
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], rest.size()));
    rest[static_cast<std::size_t>(axis)] = values[i];
  }
  return rest;
}

/// The region of interest: the first places of all axes, then the last.
Status read_region(OnnxSite& site, const Ints& axes, ResizeOperator& op) {
  if (op.coordinates != CoordinateMode::tf_crop_and_resize) return ok_status();
  if (!site.has(1)) return site.error("needs a region of interest for \"tf_crop_and_resize\"");
  WHET_TRY(const Numbers region, site.known_numbers(1, "region of interest"));
  const std::size_t rank = site.rank(0);
  if (region.size() != 2 * axes.size()) {
    return site.error("the region of interest has " + std::to_string(region.size()) + " entries; expected " +
                      std::to_string(2 * axes.size()));
  }
  op.roi_begin.assign(rank, 0);
  op.roi_end.assign(rank, 1);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[k], rank));
    op.roi_begin[static_cast<std::size_t>(axis)] = region[k];
    op.roi_end[static_cast<std::size_t>(axis)] = region[k + axes.size()];
  }
  return ok_status();
}

/// The sizes that are asked for. Those that values decide must be the input's own.
Result<Ints> read_sizes(OnnxSite& site, const Ints& axes) {
  WHET_TRY(const std::vector<Size> sizes, site.known_sizes(site.in(3), "list of sizes"));
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (!sizes[k].count || k >= axes.size()) continue;
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[k], site.rank(0)));
    const bool own = site.counted(site.in(0)).contains(static_cast<std::size_t>(axis));
    if (!own || sizes[k].most != site.shape(0)[static_cast<std::size_t>(axis)])
      return site.error("resizes axis " + std::to_string(axis) + " to a number of results, which depends on values");
  }
  return most_of(sizes);
}

enum class AspectRatio : std::uint8_t { stretch, not_larger, not_smaller };

/// One scale for all axes, so that the sizes are kept within, or cover, those that are asked for.
Status keep_aspect_ratio(OnnxSite& site, AspectRatio policy, const Ints& axes, Ints& sizes, ResizeOperator& op) {
  if (policy == AspectRatio::stretch) return ok_status();
  const Shape& x = site.shape(0);
  double scale = 0;
  for (std::size_t k = 0; k < axes.size() && k < sizes.size(); ++k) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[k], x.size()));
    const double own = static_cast<double>(sizes[k]) / static_cast<double>(std::max<std::int64_t>(x[axis], 1));
    scale = k == 0 ? own : policy == AspectRatio::not_larger ? std::min(scale, own) : std::max(scale, own);
  }
  for (std::size_t k = 0; k < axes.size() && k < sizes.size(); ++k) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[k], x.size()));
    const double extent = std::floor(scale * static_cast<double>(x[axis]) + 0.5);
    if (!(extent >= 1 && extent <= static_cast<double>(kMaxElements))) {
      return site.error("a size of " + std::to_string(extent) + " is not possible");
    }
    sizes[k] = static_cast<std::int64_t>(extent);
  }
  op.scales.assign(x.size(), 1);
  for (std::int64_t axis : axes) {
    WHET_TRY(axis, site.resolve_axis(axis, x.size()));
    op.scales[static_cast<std::size_t>(axis)] = scale;
  }
  return ok_status();
}

Status import_resize(OnnxSite& site, ValueId x, ResizeMode mode, CoordinateMode coordinates, NearestMode nearest,
                     double cubic_a, bool exclude_outside, double extrapolation, const std::optional<Ints>& some_axes,
                     AspectRatio policy, bool antialias) {
  ResizeOperator op{mode, coordinates, nearest};
  op.cubic_a = cubic_a, op.exclude_outside = exclude_outside;
  if (coordinates == CoordinateMode::tf_crop_and_resize) op.extrapolation = extrapolation;
  const Shape extents = site.shape(x);
  const Ints axes = some_axes.value_or(every_axis(extents.size()));
  WHET_RETURN_IF_ERROR(read_region(site, axes, op));
  const auto given = [&](std::size_t i) {  // an empty list means "left out"
    return site.has(i) && !(site.rank(i) == 1 && site.shape(i)[0] == 0);
  };
  if (given(3) == given(2)) return site.error("needs either scales or sizes");
  if (given(3)) {
    WHET_TRY(Ints sizes, read_sizes(site, axes));
    WHET_RETURN_IF_ERROR(keep_aspect_ratio(site, policy, axes, sizes, op));
    if (some_axes) {
      WHET_TRY(sizes, spread(site, sizes, axes, extents));
    }
    const Numbers one_scale = std::exchange(op.scales, {});
    WHET_RETURN_IF_ERROR(scale_to(site, x, sizes, op));
    if (!one_scale.empty()) op.scales = one_scale;
  } else {
    WHET_TRY(Numbers scales, site.known_numbers(2, "list of scales"));
    if (some_axes) {
      WHET_TRY(scales, spread(site, scales, axes, Numbers(extents.size(), 1)));
    }
    WHET_RETURN_IF_ERROR(scale_by(site, x, scales, op));
  }
  return site.give(resized(site, x, op, antialias));
}

/// Operator set 10 and Upsample: positions are divided by the scale, and the nearest one is below.
Status import_simple_resize(OnnxSite& site, ValueId x, const Numbers& scales, ResizeMode mode) {
  ResizeOperator op{mode, CoordinateMode::asymmetric, NearestMode::floor};
  WHET_RETURN_IF_ERROR(scale_by(site, x, scales, op));
  return site.give(resized(site, x, op, false));
}

}  // namespace

OnnxRows onnx_resize() {
  static constexpr OnnxRow kRows[] = {
      {"Resize", 10, "x list_of_scales @mode:nearest|linear=nearest", calls<import_simple_resize>},
      {"Resize", 11,
       "x @mode:nearest|linear|cubic=nearest "
       "@coordinate_transformation_mode:half_pixel|asymmetric|align_corners|pytorch_half_pixel|half_pixel_symmetric|"
       "tf_half_pixel_for_nn|tf_crop_and_resize=half_pixel "
       "@nearest_mode:round_prefer_floor|round_prefer_ceil|floor|ceil=round_prefer_floor @cubic_coeff_a=-0.75 "
       "@exclude_outside=0 "
       "@extrapolation_value=0 @axes? @keep_aspect_ratio_policy:stretch|not_larger|not_smaller=stretch @antialias=0 "
       "region? scales? "
       "sizes?",
       calls<import_resize>},
      {"Upsample", 7, "x @scales= @mode:nearest|linear=nearest", calls<import_simple_resize>},
      {"Upsample", 9, "x list_of_scales @mode:nearest|linear=nearest", calls<import_simple_resize>},
  };
  return kRows;
}

}  // namespace whet
