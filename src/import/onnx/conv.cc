#include <algorithm>

#include "import/onnx/importers.h"
#include "import/onnx/window.h"

namespace whet {
namespace {

enum AutoPad : std::size_t { kNotSet, kSameUpper, kSameLower, kValid };

/// Pads so that every stride-th element is the centre of a window; the odd one goes to the end (upper) or the
/// beginning.
void pad_to_same(Window& window, std::size_t i, std::int64_t extent, std::int64_t kernel, bool upper) {
  const std::int64_t stride = window.strides[i], positions = (extent + stride - 1) / stride;
  const std::int64_t reach = window.dilations[i] * (kernel - 1) + 1;
  const std::int64_t total = std::max<std::int64_t>((positions - 1) * stride + reach - extent, 0);
  const std::int64_t smaller = total / 2;
  window.pads_begin[i] = upper ? smaller : total - smaller;
  window.pads_end[i] = total - window.pads_begin[i];
}

}  // namespace

Result<Window> read_window(OnnxSite& site, const std::vector<std::int64_t>& kernel) {
  const Shape& x = site.shape(0);
  const std::size_t spatial = kernel.size();
  if (x.size() != spatial + 2 || spatial < 1 || spatial > 3) {
    return site.error("the input is " + to_string(site.type(site.in(0))) + " and the window has " +
                      std::to_string(spatial) +
                      " dimensions; expected a batch, channels and as many dimensions (one to three)");
  }
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
    for (std::size_t i = 0; i < spatial; ++i) pad_to_same(window, i, x[i + 2], kernel[i], mode == kSameUpper);
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
  std::vector<ValueId> inputs = {site.in(0), site.in(1)};
  if (site.has(2)) inputs.push_back(site.in(2));
  return site.give(op, inputs);
}

}  // namespace whet
