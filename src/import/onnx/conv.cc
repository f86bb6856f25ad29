#include <algorithm>

#include "import/onnx/importers.h"
#include "import/onnx/window.h"

namespace whet {
namespace {

enum AutoPad : std::size_t { kNotSet, kSameUpper, kSameLower, kValid };

}  // namespace

Result<Window> read_window(OnnxSite& site, const std::vector<std::int64_t>& kernel) {
  const Shape& x = site.shape(0);
  const std::size_t spatial = kernel.size();
  WHET_RETURN_IF_ERROR(expect_window(site, site.in(0), kernel));
  Window window;
  WHET_TRY(window.strides, site.entries("strides", spatial, 1, 1));
  WHET_TRY(window.dilations, site.entries("dilations", spatial, 1, 1));
  WHET_TRY(const std::size_t mode, site.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
  WHET_TRY(std::vector<std::int64_t> pads, site.entries("pads", 2 * spatial, 0, 0));
  if (mode != kNotSet) std::fill(pads.begin(), pads.end(), 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(spatial);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  if (mode == kSameUpper || mode == kSameLower) {
    const SamePadding odd = mode == kSameUpper ? SamePadding::upper : SamePadding::lower;
    pad_to_same(window, Shape(x.begin() + 2, x.end()), kernel, odd);
  }
  return window;
}

Result<ConvOperator> read_conv(OnnxSite& site, std::size_t weights) {
  const Shape& w = site.shape(weights);
  const std::string are = "the weights are " + to_string(site.type(site.in(weights)));
  if (w.size() < 3) return site.error(are + "; expected output channels, channels of a group and spatial dimensions");
  const std::vector<std::int64_t> kernel(w.begin() + 2, w.end());
  WHET_TRY(const std::vector<std::int64_t> said, site.integers("kernel_shape", kernel));
  if (said != kernel) return site.error("attribute \"kernel_shape\" is " + to_string(said) + "; " + are);
  if (std::any_of(kernel.begin(), kernel.end(), [](std::int64_t extent) { return extent < 1; })) {
    return site.error(are + "; expected no empty dimension");
  }
  WHET_TRY(Window window, read_window(site, kernel));
  ConvOperator op{window.strides, window.dilations, window.pads_begin, window.pads_end};
  WHET_TRY(op.groups, site.integer("group", 1));
  return op;
}

Status import_conv(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  WHET_TRY(const ConvOperator op, read_conv(site, 1));
  return site.give(convolved(site, site.in(0), site.in(1), site.if_given(2), op));
}

}  // namespace whet
