#include <algorithm>

#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

/// Equal parts, the last smaller where the operator set lets it.
Result<Ints> equal_parts(OnnxSite& site, std::int64_t extent) {
  const auto count = static_cast<std::int64_t>(site.output_count());
  const std::int64_t part = (extent + count - 1) / std::max<std::int64_t>(count, 1);
  if (extent % std::max<std::int64_t>(count, 1) != 0 && site.opset() < 18) {
    return site.error("cannot split an extent of " + std::to_string(extent) + " into " + std::to_string(count) +
                      " equal parts");
  }
  Ints parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(std::clamp<std::int64_t>(extent - i * part, 0, part));
  return parts;
}

Result<ValueIds> import_split(OnnxSite& site, ValueId x, Ints parts, std::int64_t axis) {
  const auto count = static_cast<std::int64_t>(site.output_count());
  WHET_TRY(const std::int64_t said, site.integer("num_outputs", count));
  if (said != count) {
    return site.error("attribute \"num_outputs\" is " + std::to_string(said) + "; the node has " +
                      std::to_string(count) + " outputs");
  }
  if (parts.empty()) {
    WHET_TRY(parts, equal_parts(site, site.shape(x)[static_cast<std::size_t>(axis)]));
  }
  if (static_cast<std::int64_t>(parts.size()) != count)
    return site.error("has " + std::to_string(count) + " outputs for parts " + to_string(parts));
  return split(site, x, axis, parts);
}

Result<ValueId> import_slice_attributes(OnnxSite& site, ValueId x, const Ints& starts, const Ints& ends,
                                        const std::optional<Ints>& axes) {
  return sliced(site, x, starts, ends, axes, Ints(starts.size(), 1));
}

Result<ValueId> import_slice(OnnxSite& site, ValueId x, const Ints& starts, const std::vector<Size>& ends,
                             const std::optional<Ints>& axes, const std::optional<Ints>& steps) {
  return sliced_to(site, x, starts, ends, axes, steps.value_or(Ints(starts.size(), 1)));
}

Result<ValueId> import_pad_attributes(OnnxSite& site, ValueId x, const Ints& pads, PadMode mode, double value) {
  return padded(site, x, pads, every_axis(site.rank(x)), mode, value);
}

Result<ValueId> import_pad(OnnxSite& site, ValueId x, const Ints& pads, double value, PadMode mode) {
  Ints axes = every_axis(site.rank(x));
  if (site.has(3)) {
    WHET_TRY(axes, site.known_integers(3, "list of axes"));
    WHET_RETURN_IF_ERROR(site.resolve_axes(axes, site.rank(x)));  // each once
  }
  return padded(site, x, pads, axes, mode, value);
}

/// The middle of what is too long, and zeros around what is too short; of an odd number the larger half behind.
Result<ValueId> import_center_crop_pad(OnnxSite& site, ValueId x, const Ints& wanted,
                                       const std::optional<Ints>& given) {
  const Ints axes = given.value_or(every_axis(site.rank(x)));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", wanted));
  WHET_RETURN_IF_ERROR(site.resolve_axes(axes, site.rank(x)));  // each once
  if (wanted.size() != axes.size()) {
    return site.error("has " + std::to_string(wanted.size()) + " extents for " + std::to_string(axes.size()) + " axes");
  }
  Ints pads, end;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WHET_TRY(const std::int64_t axis, site.resolve_axis(axes[i], site.rank(x)));
    const std::int64_t missing = wanted[i] - site.shape(x)[static_cast<std::size_t>(axis)];
    pads.push_back(missing / 2);
    end.push_back(missing - missing / 2);
  }
  pads.insert(pads.end(), end.begin(), end.end());
  return padded(site, x, pads, axes, PadMode::constant, 0);
}

}  // namespace

OnnxRows onnx_data() {
  static constexpr OnnxRow kRows[] = {
      {"CenterCropPad", 18, "x shape @axes?", calls<import_center_crop_pad>},
      {"Concat", 1, "values... @axis(values)=1", calls<joined>},
      {"Concat", 4, "values... @axis(values)", calls<joined>},
      {"Gather", 1, "x places @axis(x)=0", calls<gather>},
      {"Pad", 1, "x @paddings @mode:constant|reflect|edge|wrap=constant @value=0", calls<import_pad_attributes>},
      {"Pad", 2, "x @pads @mode:constant|reflect|edge|wrap=constant @value=0", calls<import_pad_attributes>},
      {"Pad", 11, "x padding padding_value=0 @mode:constant|reflect|edge|wrap=constant", calls<import_pad>},
      {"Pad", 18, "x padding padding_value=0 @mode:constant|reflect|edge|wrap=constant list_of_axes?",
       calls<import_pad>},
      {"Slice", 1, "x @starts @ends @axes?", calls<import_slice_attributes>},
      {"Slice", 10, "x list_of_starts list_of_ends list_of_axes? list_of_steps?", calls<import_slice>},
      {"Split", 1, "x @split= @axis(x)=0 @num_outputs?", calls<import_split>},
      {"Split", 13, "x list_of_parts? @axis(x)=0 @num_outputs?", calls<import_split>},
  };
  return kRows;
}

}  // namespace whet
