#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "import/onnx/importers.h"
#include "import/parts/resize.h"

namespace whet {
namespace {

/// Values given for some axes, put where they belong; `rest` elsewhere.
template <typename T>
Result<std::vector<T>> spread(OnnxSite& site, const std::vector<T>& values, const std::vector<std::int64_t>& axes,
                              std::vector<T> rest) {
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

/// Operator set 10 and Upsample: positions are divided by the scale, and the nearest one is below.
Result<ResizeOperator> simple_resize(OnnxSite& site) {
  WHET_TRY(const std::size_t mode, site.choice("mode", "nearest", {"nearest", "linear"}));
  return ResizeOperator{static_cast<ResizeMode>(mode), CoordinateMode::asymmetric, NearestMode::floor};
}

Result<ResizeOperator> read_attributes(OnnxSite& site) {
  ResizeOperator op;
  WHET_TRY(const std::size_t mode, site.choice("mode", "nearest", {"nearest", "linear", "cubic"}));
  WHET_TRY(const std::size_t coordinates,
           site.choice("coordinate_transformation_mode", "half_pixel",
                       {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric",
                        "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  WHET_TRY(const std::size_t nearest, site.choice("nearest_mode", "round_prefer_floor",
                                                  {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  op.mode = static_cast<ResizeMode>(mode);
  op.coordinates = static_cast<CoordinateMode>(coordinates);
  op.nearest = static_cast<NearestMode>(nearest);
  WHET_TRY(op.cubic_a, site.number("cubic_coeff_a", -0.75));
  WHET_TRY(op.exclude_outside, site.flag("exclude_outside", false));
  WHET_TRY(const double extrapolation, site.number("extrapolation_value", 0));
  if (op.coordinates == CoordinateMode::tf_crop_and_resize) op.extrapolation = extrapolation;
  return op;
}

/// The region of interest: the first places of all axes, then the last.
Status read_region(OnnxSite& site, const std::vector<std::int64_t>& axes, ResizeOperator& op) {
  if (op.coordinates != CoordinateMode::tf_crop_and_resize) return ok_status();
  if (!site.has(1)) return site.error("needs a region of interest for \"tf_crop_and_resize\"");
  WHET_TRY(const std::vector<double> region, site.known_numbers(1, "region of interest"));
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
Result<std::vector<std::int64_t>> read_sizes(OnnxSite& site, const std::vector<std::int64_t>& axes) {
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

/// One scale for all axes, so that the sizes are kept within, or cover, those that are asked for.
Status keep_aspect_ratio(OnnxSite& site, const std::vector<std::int64_t>& axes, std::vector<std::int64_t>& sizes,
                         ResizeOperator& op) {
  WHET_TRY(const std::size_t policy,
           site.choice("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"}));
  if (policy == 0) return ok_status();
  const Shape& x = site.shape(0);
  double scale = 0;
  for (std::size_t k = 0; k < axes.size() && k < sizes.size(); ++k) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[k], x.size()));
    const double own = static_cast<double>(sizes[k]) / static_cast<double>(std::max<std::int64_t>(x[axis], 1));
    scale = k == 0 ? own : policy == 1 ? std::min(scale, own) : std::max(scale, own);
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

}  // namespace

Status import_resize(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4));
  WHET_TRY(ResizeOperator op, read_attributes(site));
  const Shape& x = site.shape(0);
  const bool some_axes = site.has_attribute("axes");
  std::vector<std::int64_t> every(x.size());
  std::iota(every.begin(), every.end(), 0);
  WHET_TRY(const std::vector<std::int64_t> axes, site.integers("axes", every));
  WHET_RETURN_IF_ERROR(read_region(site, axes, op));
  const auto given = [&](std::size_t i) {  // an empty list means "left out"
    return site.has(i) && !(site.rank(i) == 1 && site.shape(i)[0] == 0);
  };
  if (given(3) == given(2)) return site.error("needs either scales or sizes");
  if (given(3)) {
    WHET_TRY(std::vector<std::int64_t> sizes, read_sizes(site, axes));
    WHET_RETURN_IF_ERROR(keep_aspect_ratio(site, axes, sizes, op));
    if (some_axes) {
      WHET_TRY(sizes, spread(site, sizes, axes, x));
    }
    const std::vector<double> one_scale = std::exchange(op.scales, {});
    WHET_RETURN_IF_ERROR(scale_to(site, site.in(0), sizes, op));
    if (!one_scale.empty()) op.scales = one_scale;
  } else {
    WHET_TRY(std::vector<double> scales, site.known_numbers(2, "list of scales"));
    if (some_axes) {
      WHET_TRY(scales, spread(site, scales, axes, std::vector<double>(x.size(), 1)));
    }
    WHET_RETURN_IF_ERROR(scale_by(site, site.in(0), scales, op));
    site.ignore({"keep_aspect_ratio_policy"});  // of sizes
  }
  WHET_TRY(const bool antialias, site.flag("antialias", false));
  if (antialias && op.mode != ResizeMode::nearest) return site.pass(antialiased(site, site.in(0), op));
  return site.give(op, {site.in(0)});
}

Status import_resize_10(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(ResizeOperator op, simple_resize(site));
  WHET_TRY(const std::vector<double> scales, site.known_numbers(1, "list of scales"));
  WHET_RETURN_IF_ERROR(scale_by(site, site.in(0), scales, op));
  return site.give(op, {site.in(0)});
}

Status import_upsample(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, site.opset() >= 9 ? 2 : 1));
  WHET_TRY(ResizeOperator op, simple_resize(site));
  std::vector<double> scales;
  if (site.opset() >= 9) {
    WHET_RETURN_IF_ERROR(site.expect_inputs(2));
    WHET_TRY(scales, site.known_numbers(1, "list of scales"));
  } else {
    WHET_TRY(scales, site.numbers("scales", {}));
  }
  WHET_RETURN_IF_ERROR(scale_by(site, site.in(0), scales, op));
  return site.give(op, {site.in(0)});
}

}  // namespace whet
