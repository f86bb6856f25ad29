#include <cmath>

#include "import/onnx/importers.h"

namespace whet {
namespace {

Result<std::vector<double>> known_numbers(OnnxSite& site, std::size_t i, const std::string& what) {
  WHET_TRY(const Tensor tensor, site.known(i, what));
  if (!is_float(tensor.dtype()) || tensor.shape().size() != 1) {
    return site.error("its " + what + " is " + to_string(tensor.type()) + "; expected a list of f32");
  }
  if (tensor.size() > 4096) return site.error("its " + what + " has " + std::to_string(tensor.size()) + " entries");
  std::vector<double> values;
  for (std::int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.get(k));
  return values;
}

/// Fills shape and scales from factors, one a dimension of the input.
Status scale_by(OnnxSite& site, const std::vector<double>& factors, ResizeOperator& op) {
  const Shape& x = site.shape(0);
  if (factors.size() != x.size()) {
    return site.error("has " + std::to_string(factors.size()) + " scales for " + to_string(site.type(site.in(0))));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double extent = std::floor(static_cast<double>(x[i]) * factors[i]);
    if (!(factors[i] > 0) || !(extent >= 1) || extent > static_cast<double>(kMaxElements)) {
      return site.error("scales dimension " + std::to_string(i) + " of extent " + std::to_string(x[i]) + " by " +
                        std::to_string(factors[i]));
    }
    op.shape.push_back(static_cast<std::int64_t>(extent));
  }
  op.scales = factors;
  return ok_status();
}

Status scale_to(OnnxSite& site, const std::vector<std::int64_t>& sizes, ResizeOperator& op) {
  const Shape& x = site.shape(0);
  if (sizes.size() != x.size()) {
    return site.error("has " + std::to_string(sizes.size()) + " sizes for " + to_string(site.type(site.in(0))));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (sizes[i] < 1 || x[i] < 1) {
      return site.error("resizes dimension " + std::to_string(i) + " from " + std::to_string(x[i]) + " to " +
                        std::to_string(sizes[i]));
    }
    op.scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(x[i]));
  }
  op.shape = sizes;
  return ok_status();
}

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

Status refuse_attribute(OnnxSite& site, const char* attribute, const char* only) {
  WHET_TRY(const std::string value, site.text(attribute, only));
  if (value == only) return ok_status();
  return site.error("attribute \"" + std::string(attribute) + "\" is \"" + value + "\"; only \"" + only +
                    "\" is supported");
}

Result<ResizeOperator> read_attributes(OnnxSite& site) {
  ResizeOperator op;
  WHET_TRY(const std::size_t mode, site.choice("mode", "nearest", {"nearest", "linear", "cubic"}));
  WHET_TRY(const std::size_t coordinates,
           site.choice("coordinate_transformation_mode", "half_pixel",
                       {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}));
  WHET_TRY(const std::size_t nearest, site.choice("nearest_mode", "round_prefer_floor",
                                                  {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  op.mode = static_cast<ResizeMode>(mode);
  op.coordinates = static_cast<CoordinateMode>(coordinates);
  op.nearest = static_cast<NearestMode>(nearest);
  WHET_TRY(op.cubic_a, site.number("cubic_coeff_a", -0.75));
  WHET_TRY(op.exclude_outside, site.flag("exclude_outside", false));
  site.ignore({"extrapolation_value"});  // of tf_crop_and_resize, which is refused
  WHET_TRY(const bool antialias, site.flag("antialias", false));
  if (antialias) return site.error("attribute \"antialias\" is 1; this is not supported");
  WHET_RETURN_IF_ERROR(refuse_attribute(site, "keep_aspect_ratio_policy", "stretch"));
  return op;
}

}  // namespace

Status import_resize(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 4));
  WHET_TRY(ResizeOperator op, read_attributes(site));
  const Shape& x = site.shape(0);
  const bool some_axes = site.has_attribute("axes");
  WHET_TRY(const std::vector<std::int64_t> axes, site.integers("axes", {}));
  const auto given = [&](std::size_t i) {  // an empty list means "left out"
    return site.has(i) && !(site.rank(i) == 1 && site.shape(i)[0] == 0);
  };
  if (given(3) == given(2)) return site.error("needs either scales or sizes");
  if (given(3)) {
    WHET_TRY(std::vector<std::int64_t> sizes, site.known_integers(3, "list of sizes"));
    if (some_axes) {
      WHET_TRY(sizes, spread(site, sizes, axes, x));
    }
    WHET_RETURN_IF_ERROR(scale_to(site, sizes, op));
  } else {
    WHET_TRY(std::vector<double> scales, known_numbers(site, 2, "list of scales"));
    if (some_axes) {
      WHET_TRY(scales, spread(site, scales, axes, std::vector<double>(x.size(), 1)));
    }
    WHET_RETURN_IF_ERROR(scale_by(site, scales, op));
  }
  return site.give(op, {site.in(0)});
}

Status import_resize_10(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(ResizeOperator op, simple_resize(site));
  WHET_TRY(const std::vector<double> scales, known_numbers(site, 1, "list of scales"));
  WHET_RETURN_IF_ERROR(scale_by(site, scales, op));
  return site.give(op, {site.in(0)});
}

Status import_upsample(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, site.opset() >= 9 ? 2 : 1));
  WHET_TRY(ResizeOperator op, simple_resize(site));
  std::vector<double> scales;
  if (site.opset() >= 9) {
    WHET_RETURN_IF_ERROR(site.expect_inputs(2));
    WHET_TRY(scales, known_numbers(site, 1, "list of scales"));
  } else {
    WHET_TRY(scales, site.numbers("scales", {}));
  }
  WHET_RETURN_IF_ERROR(scale_by(site, scales, op));
  return site.give(op, {site.in(0)});
}

}  // namespace whet
