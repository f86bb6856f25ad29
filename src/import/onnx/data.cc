#include <algorithm>

#include "import/onnx/importers.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

const std::vector<std::string_view> kPadModes = {"constant", "reflect", "edge", "wrap"};

/// The extents of Split's parts: as given, or equal ones, the last smaller.
Result<std::vector<std::int64_t>> split_extents(OnnxSite& site, std::int64_t extent) {
  const auto count = static_cast<std::int64_t>(site.output_count());
  std::vector<std::int64_t> parts;
  if (site.opset() >= 13) {
    if (site.has(1)) {
      WHET_TRY(parts, site.known_integers(1, "list of parts"));
    }
  } else {
    WHET_TRY(parts, site.integers("split", {}));
  }
  WHET_TRY(const std::int64_t said, site.integer("num_outputs", count));
  if (said != count) {
    return site.error("attribute \"num_outputs\" is " + std::to_string(said) + "; the node has " +
                      std::to_string(count) + " outputs");
  }
  if (!parts.empty()) return parts;
  const std::int64_t part = (extent + count - 1) / std::max<std::int64_t>(count, 1);
  if (extent % std::max<std::int64_t>(count, 1) != 0 && site.opset() < 18) {
    return site.error("cannot split an extent of " + std::to_string(extent) + " into " + std::to_string(count) +
                      " equal parts");
  }
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(std::clamp<std::int64_t>(extent - i * part, 0, part));
  return parts;
}

}  // namespace

Status import_concat(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 65536));
  if (site.opset() >= 4) WHET_RETURN_IF_ERROR(site.expect_attribute("axis"));
  WHET_TRY(const std::int64_t given, site.integer("axis", 1));
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < site.input_count(); ++i) {
    if (!site.has(i)) return site.error("input " + std::to_string(i) + " is left out");
    inputs.push_back(site.in(i));
  }
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  if (inputs.size() == 1) return site.pass(inputs[0]);
  return site.give(ConcatOperator{axis}, inputs);
}

Status import_split(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, site.opset() >= 13 ? 2 : 1));
  WHET_TRY(const std::int64_t given, site.integer("axis", 0));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  const auto d = static_cast<std::size_t>(axis);
  const Shape x = site.shape(0);
  WHET_TRY(const std::vector<std::int64_t> parts, split_extents(site, x[d]));
  std::int64_t left = x[d];
  bool fits = parts.size() == site.output_count();
  for (std::int64_t part : parts) {
    fits = fits && part >= 0 && part <= left;
    if (fits) left -= part;
  }
  if (!fits || left != 0) {
    return site.error("splits an extent of " + std::to_string(x[d]) + " into parts " + to_string(parts) + " for " +
                      std::to_string(site.output_count()) + " outputs");
  }
  WHET_TRY(const std::vector<ValueId> values, split(site, site.in(0), axis, parts));
  for (std::size_t i = 0; i < values.size(); ++i) WHET_RETURN_IF_ERROR(site.give(values[i], i));
  return ok_status();
}

Status import_slice_attributes(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("starts"));
  WHET_RETURN_IF_ERROR(site.expect_attribute("ends"));
  WHET_TRY(const std::vector<std::int64_t> starts, site.integers("starts", {}));
  WHET_TRY(const std::vector<std::int64_t> ends, site.integers("ends", {}));
  std::optional<std::vector<std::int64_t>> axes;
  if (site.has_attribute("axes")) {
    WHET_TRY(axes, site.integers("axes", {}));
  }
  return site.give(sliced(site, site.in(0), starts, ends, axes, std::vector<std::int64_t>(starts.size(), 1)));
}

Status import_slice(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 5));
  WHET_TRY(const std::vector<std::int64_t> starts, site.known_integers(1, "list of starts"));
  WHET_TRY(const std::vector<Size> ends, site.known_sizes(site.in(2), "list of ends"));
  std::optional<std::vector<std::int64_t>> axes;
  if (site.has(3)) {
    WHET_TRY(axes, site.known_integers(3, "list of axes"));
  }
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (site.has(4)) {
    WHET_TRY(steps, site.known_integers(4, "list of steps"));
  }
  return site.give(sliced_to(site, site.in(0), starts, ends, axes, steps));
}

Status import_gather(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::int64_t given, site.integer("axis", 0));
  WHET_TRY(const std::int64_t axis, site.resolve_axis(given, site.rank(0)));
  return site.give(gather(site, site.in(0), site.in(1), axis));
}

Status import_pad_attributes(OnnxSite& site) {
  const char* attribute = site.opset() == 1 ? "paddings" : "pads";
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute(attribute));
  WHET_TRY(const std::vector<std::int64_t> pads, site.integers(attribute, {}));
  WHET_TRY(const std::size_t mode, site.choice("mode", "constant", kPadModes));
  WHET_TRY(const double value, site.number("value", 0));
  return site.give(padded(site, site.in(0), pads, every_axis(site.rank(0)), static_cast<PadMode>(mode), value));
}

Status import_pad(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, site.opset() >= 18 ? 4 : 3));
  WHET_TRY(const std::vector<std::int64_t> pads, site.known_integers(1, "padding"));
  WHET_TRY(const std::size_t mode, site.choice("mode", "constant", kPadModes));
  double value = 0;
  if (site.has(2)) {
    WHET_TRY(value, site.known_number(2, "padding value"));
  }
  std::vector<std::int64_t> axes = every_axis(site.rank(0));
  if (site.has(3)) {
    WHET_TRY(axes, site.known_integers(3, "list of axes"));
    WHET_RETURN_IF_ERROR(site.resolve_axes(axes, site.rank(0)));  // each once
  }
  return site.give(padded(site, site.in(0), pads, axes, static_cast<PadMode>(mode), value));
}

/// The middle of what is too long, and zeros around what is too short; of an odd number the larger half behind.
Status import_center_crop_pad(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<std::int64_t> axes, site.integers("axes", every_axis(site.rank(0))));
  WHET_TRY(const std::vector<std::int64_t> wanted, site.known_integers(1, "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", wanted));
  WHET_RETURN_IF_ERROR(site.resolve_axes(axes, site.rank(0)));  // each once
  if (wanted.size() != axes.size()) {
    return site.error("has " + std::to_string(wanted.size()) + " extents for " + std::to_string(axes.size()) + " axes");
  }
  std::vector<std::int64_t> begin, end;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], site.rank(0)));
    const std::int64_t missing = wanted[i] - site.shape(0)[static_cast<std::size_t>(axis)];
    begin.push_back(missing / 2);
    end.push_back(missing - missing / 2);
  }
  std::vector<std::int64_t> pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  return site.give(padded(site, site.in(0), pads, axes, PadMode::constant, 0));
}

}  // namespace whet
