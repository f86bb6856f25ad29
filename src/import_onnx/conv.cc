#include <algorithm>

#include "import/parts/conv_transpose.h"
#include "import/parts/deform_conv.h"
#include "import/parts/unfold.h"
#include "import_onnx/rows.h"
#include "import_onnx/window.h"

namespace whet {
namespace {

enum class AutoPad : std::uint8_t { not_set, same_upper, same_lower, valid };

Status read_strides_and_pads(OnnxSite& site, std::size_t spatial, AutoPad mode, Window& window) {
  WHET_TRY(window.strides, site.entries("strides", spatial, 1, 1));
  WHET_TRY(window.dilations, site.entries("dilations", spatial, 1, 1));
  WHET_TRY(Ints pads, site.entries("pads", 2 * spatial, 0, 0));
  if (mode != AutoPad::not_set) std::fill(pads.begin(), pads.end(), 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(spatial);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  return ok_status();
}

Result<AutoPad> read_auto_pad(OnnxSite& site) {
  WHET_TRY(const std::int64_t mode, site.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
  return static_cast<AutoPad>(mode);
}

/// The window's extents, by the weights [O, I, kernel...] or [I, O, kernel...].
Result<Ints> read_kernel(OnnxSite& site, ValueId weights) {
  const Shape& w = site.shape(weights);
  const Ints kernel(w.begin() + 2, w.end());
  WHET_TRY(const Ints said, site.integers("kernel_shape", kernel));
  if (said == kernel) return kernel;
  return site.error("attribute \"kernel_shape\" is " + to_string(said) + "; the weights are " +
                    to_string(site.type(weights)));
}

Status import_conv(OnnxSite& site, ValueId x, ValueId w, std::optional<ValueId> bias) {
  WHET_TRY(const ConvOperator op, read_conv(site, x, w));
  return site.give(convolved(site, x, w, bias, op));
}

Result<ValueId> import_deform_conv(OnnxSite& site, ValueId x, ValueId w, ValueId offsets, std::optional<ValueId> bias,
                                   std::optional<ValueId> mask, std::int64_t parts) {
  WHET_TRY(const ConvOperator conv, read_conv(site, x, w));
  return deform_convolved(site, {x, w, offsets, bias, mask}, conv, parts);
}

Result<ValueId> import_col2im(OnnxSite& site, ValueId x, const Ints& image, const Ints& block) {
  FoldForm form{image, block, {}};
  WHET_RETURN_IF_ERROR(read_strides_and_pads(site, image.size(), AutoPad::not_set, form.window));
  return fold(site, x, form);
}

/// Less than the stride or the dilation.
Status check_output_padding(OnnxSite& site, const ConvTranspose& form) {
  const Window& w = form.window;
  for (std::size_t d = 0; d < form.output_padding.size(); ++d) {
    if (form.output_padding[d] < std::max(w.strides[d], w.dilations[d])) continue;
    return site.error("attribute \"output_padding\" holds " + std::to_string(form.output_padding[d]) +
                      "; expected less than the stride or the dilation, " + std::to_string(w.strides[d]) + " and " +
                      std::to_string(w.dilations[d]));
  }
  return ok_status();
}

/// What decides the result's extents: `wanted`, or "auto_pad" by the strides.
Status find_extents(OnnxSite& site, const Shape& x, AutoPad mode, Ints wanted, ConvTranspose& form) {
  const std::size_t dims = x.size() - 2;
  if (wanted.size() == dims + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != dims) {
    return site.error("attribute \"output_shape\" is " + to_string(wanted) + "; expected " + std::to_string(dims) +
                      " extents");
  }
  const bool same = mode == AutoPad::same_upper || mode == AutoPad::same_lower;
  for (std::size_t d = 0; wanted.size() < dims && same && d < dims; ++d) {
    WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", {x[d + 2], form.window.strides[d]}));
    wanted.push_back(x[d + 2] * form.window.strides[d]);
  }
  form.output_extents = wanted;
  form.odd = mode == AutoPad::same_upper ? SamePadding::upper : SamePadding::lower;
  return ok_status();
}

Result<ValueId> import_conv_transpose(OnnxSite& site, ValueId x, ValueId w, std::optional<ValueId> bias,
                                      std::int64_t groups, const Ints& extents) {
  const Shape shape = site.shape(x);
  if (shape.size() < 3 || site.rank(w) != shape.size()) {
    return site.error("the input is " + to_string(site.type(x)) + " and the weights are " + to_string(site.type(w)) +
                      "; expected one to three spatial dimensions in both");
  }
  WHET_RETURN_IF_ERROR(read_kernel(site, w));
  WHET_TRY(const AutoPad mode, read_auto_pad(site));
  ConvTranspose form{.groups = groups, .window = {}, .output_padding = {}};
  WHET_RETURN_IF_ERROR(read_strides_and_pads(site, shape.size() - 2, mode, form.window));
  WHET_TRY(form.output_padding, site.entries("output_padding", shape.size() - 2, 0, 0));
  WHET_RETURN_IF_ERROR(check_output_padding(site, form));
  WHET_RETURN_IF_ERROR(find_extents(site, shape, mode, extents, form));
  return conv_transposed(site, x, w, bias, form);
}

}  // namespace

Result<Window> read_window(OnnxSite& site, ValueId x, const Ints& kernel) {
  WHET_RETURN_IF_ERROR(expect_window(site, x, kernel));
  WHET_TRY(const AutoPad mode, read_auto_pad(site));
  Window window;
  WHET_RETURN_IF_ERROR(read_strides_and_pads(site, kernel.size(), mode, window));
  if (mode == AutoPad::same_upper || mode == AutoPad::same_lower) {
    const SamePadding odd = mode == AutoPad::same_upper ? SamePadding::upper : SamePadding::lower;
    pad_to_same(window, Shape(site.shape(x).begin() + 2, site.shape(x).end()), kernel, odd);
  }
  return window;
}

Result<ConvOperator> read_conv(OnnxSite& site, ValueId x, ValueId weights) {
  const std::string are = "the weights are " + to_string(site.type(weights));
  if (site.rank(weights) < 3)
    return site.error(are + "; expected output channels, channels of a group and spatial dimensions");
  WHET_TRY(const Ints kernel, read_kernel(site, weights));
  if (std::any_of(kernel.begin(), kernel.end(), [](std::int64_t extent) { return extent < 1; })) {
    return site.error(are + "; expected no empty dimension");
  }
  WHET_TRY(Window window, read_window(site, x, kernel));
  ConvOperator op{window.strides, window.dilations, window.pads_begin, window.pads_end};
  WHET_TRY(op.groups, site.integer("group", 1));
  return op;
}

/// What `read_conv` reads is behind the parameters.
OnnxRows onnx_conv() {
  static constexpr OnnxRow kRows[] = {
      {"Col2Im", 18, "x shape_of_the_image shape_of_a_block @strides? @dilations? @pads?", calls<import_col2im>},
      {"Conv", 1, "x w bias? @kernel_shape? @strides? @dilations? @pads? @auto_pad? @group?", calls<import_conv>},
      {"ConvTranspose", 1,
       "x w bias? @group=1 @output_shape= @kernel_shape? @strides? @dilations? @pads? @auto_pad? @output_padding?",
       calls<import_conv_transpose>},
      {"DeformConv", 19,
       "x w offsets bias? mask? @offset_group=1 @kernel_shape? @strides? @dilations? @pads? @auto_pad? @group?",
       calls<import_deform_conv>},
  };
  return kRows;
}

}  // namespace whet
