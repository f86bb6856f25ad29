#include "import/parts/window.h"

#include <algorithm>

#include "import/parts/adaptive.h"
#include "import/parts/arithmetic.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/deform_conv.h"
#include "import/parts/roi_align.h"
#include "import/parts/shape.h"
#include "import/parts/unfold.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

/// What `operate` makes of images of `spatial` dimensions. One without a batch gets one of 1, which goes again behind it.
template <typename Operate>
Result<ValueId> batched(TorchSite& site, ValueId x, std::size_t spatial, Operate operate) {
  if (site.rank(x) == spatial + 2) return operate(x);
  if (site.rank(x) != spatial + 1)
    return site.error("the input is " + to_string(site.type(x)) + "; expected channels and " + std::to_string(spatial) +
                      " spatial dimensions, and a batch before them");
  WHET_TRY(const ValueId image, unsqueezed(site, x, {0}));
  WHET_TRY(const ValueId y, operate(image));
  return squeezed(site, y, Ints{0});
}

Shape spatial_of(TorchSite& site, ValueId x) { return Shape(site.shape(x).begin() + 2, site.shape(x).end()); }

/// Weights [O, I / groups, kernel...]: the extents of the kernel.
Result<Shape> kernel_of(TorchSite& site, ValueId weights) {
  const Shape& w = site.shape(weights);
  if (w.size() >= 3 && w.size() <= 5 && num_elements(w) > 0) return spatial_of(site, weights);
  return site.error("the weights are " + to_string(site.type(weights)) +
                    "; expected output channels, channels of a group and one to three spatial dimensions");
}

/// "stride" (an empty list: the kernel's extents), "dilation", and "padding": one number a dimension, on both sides. Convolutions of x
/// also have words for it, of which "same" puts the odd pixel behind.
Result<Window> read_window(TorchSite& site, const Shape& kernel, OptionalId x = std::nullopt) {
  Window window{kernel, {}, Ints(kernel.size(), 0), {}};
  WHET_TRY(const Ints strides, site.integers("stride"));
  if (!strides.empty()) {
    WHET_TRY(window.strides, site.entries("stride", kernel.size(), 1));
  }
  WHET_TRY(window.dilations, site.entries("dilation", kernel.size(), 1));
  const auto text = site.text("padding");
  if (!x || !text.ok()) {
    WHET_TRY(window.pads_begin, site.entries("padding", kernel.size(), 0));
  } else if (*text != "same" && *text != "valid") {
    return site.error("argument \"padding\" is " + *text + "; expected same or valid");
  }
  window.pads_end = window.pads_begin;
  if (x && text.ok() && *text == "same") pad_to_same(window, spatial_of(site, *x), kernel, SamePadding::upper);
  return window;
}

Result<ValueId> import_conv(TorchSite& site, ValueId x, ValueId weights, OptionalId bias) {
  WHET_TRY(const Shape kernel, kernel_of(site, weights));
  WHET_TRY(const std::int64_t groups, site.integer("groups"));
  return batched(site, x, kernel.size(), [&](ValueId image) -> Result<ValueId> {
    WHET_RETURN_IF_ERROR(expect_window(site, image, kernel));
    WHET_TRY(const Window window, read_window(site, kernel, image));
    const ConvOperator op{window.strides, window.dilations, window.pads_begin, window.pads_end, groups};
    return convolved(site, image, weights, bias, op);
  });
}

Result<ValueId> import_conv_transpose(TorchSite& site, ValueId x, ValueId weights, OptionalId bias) {
  WHET_TRY(const Shape kernel, kernel_of(site, weights));
  ConvTranspose form;
  WHET_TRY(form.groups, site.integer("groups"));
  WHET_TRY(form.window, read_window(site, kernel));
  WHET_TRY(form.output_padding, site.entries("output_padding", kernel.size(), 0));
  return batched(site, x, kernel.size(), [&](ValueId image) -> Result<ValueId> {
    WHET_RETURN_IF_ERROR(expect_window(site, image, kernel));
    return conv_transposed(site, image, weights, bias, form);
  });
}

Result<ValueId> import_convolution(TorchSite& site, ValueId x, ValueId weights, OptionalId bias) {
  WHET_TRY(const bool transposed, site.flag("transposed"));
  return transposed ? import_conv_transpose(site, x, weights, bias) : import_conv(site, x, weights, bias);
}

Result<Pooling> read_pool(TorchSite& site, PoolKind kind, std::size_t spatial) {
  Pooling pooling{.kind = kind};
  WHET_TRY(pooling.kernel, site.entries("kernel_size", spatial, 1));
  WHET_TRY(pooling.window, read_window(site, pooling.kernel));
  WHET_TRY(pooling.ceil_mode, site.flag("ceil_mode"));
  return pooling;
}

/// Also the places of the maxima, which count within an image and channel; the part counts through the whole input.
Result<ValueId> max_pool(TorchSite& site, ValueId x, std::size_t spatial) {
  WHET_TRY(const Pooling pooling, read_pool(site, PoolKind::max, spatial));
  return batched(site, x, spatial, [&](ValueId image) -> Result<ValueId> {
    WHET_RETURN_IF_ERROR(expect_window(site, image, pooling.kernel));
    WHET_TRY(const ValueId top, pooled(site, image, pooling));
    if (!site.wants_output(1)) return top;
    WHET_TRY(ValueId places, max_pool_indices(site, image, pooling, top, false));
    Tensor plane(DType::i64, {});
    plane.set_integer(0, num_elements(spatial_of(site, image)));
    WHET_TRY(places, site.add("place", BinaryOperator{BinaryKind::mod}, {places, site.add_constant("plane", plane)}));
    WHET_RETURN_IF_ERROR(site.give(image == x ? places : squeezed(site, places, Ints{0}), 1));
    return top;
  });
}

Result<ValueId> average_pool(TorchSite& site, ValueId x, std::size_t spatial) {
  WHET_TRY(Pooling pooling, read_pool(site, PoolKind::average, spatial));
  const Ints& pads = pooling.window.pads_begin;
  const bool pads_any = std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  WHET_TRY(const bool counts_pads, site.flag("count_include_pad"));
  double factor = 1;
  if (site.has("divisor_override")) {
    WHET_TRY(const double divisor, site.number("divisor_override"));
    if (divisor == 0) return site.error("argument \"divisor_override\" is 0");
    if (pooling.ceil_mode) return site.error("argument \"divisor_override\" beside \"ceil_mode\" is not supported");
    factor = static_cast<double>(num_elements(pooling.kernel)) / divisor;
  }
  pooling.count_include_pad = site.has("divisor_override") || (counts_pads && pads_any);
  return batched(site, x, spatial, [&](ValueId image) -> Result<ValueId> {
    WHET_RETURN_IF_ERROR(expect_window(site, image, pooling.kernel));
    WHET_TRY(const ValueId y, pooled(site, image, pooling));
    return site.has("divisor_override") ? with_number(site, "divided", BinaryKind::mul, y, factor) : y;
  });
}

/// A pool of as many spatial dimensions.
template <std::size_t spatial, auto pool>
Result<ValueId> import_pool(TorchSite& site, ValueId x) {
  return pool(site, x, spatial);
}
template <std::size_t spatial, auto pool>
Result<ValueId> import_adaptive(TorchSite& site, ValueId x) {
  WHET_TRY(const Ints extents, site.entries("output_size", spatial, 1));
  return batched(site, x, spatial, [&](ValueId image) { return pool(site, image, extents); });
}

Result<ValueId> import_im2col(TorchSite& site, ValueId x) {
  UnfoldForm form;
  WHET_TRY(form.block, site.entries("kernel_size", 2, 1));
  WHET_TRY(form.window, read_window(site, form.block));
  return batched(site, x, 2, [&](ValueId image) { return unfold(site, image, form); });
}

Result<ValueId> import_col2im(TorchSite& site, ValueId x) {
  FoldForm form;
  WHET_TRY(form.image, site.entries("output_size", 2, 1));
  WHET_TRY(form.block, site.entries("kernel_size", 2, 1));
  WHET_TRY(form.window, read_window(site, form.block));
  return batched(site, x, 1, [&](ValueId columns) { return fold(site, columns, form); });
}

Result<ValueId> import_deform_conv(TorchSite& site, ValueId x, ValueId weights, ValueId offsets, OptionalId mask,
                                   OptionalId bias, std::int64_t stride_h, std::int64_t stride_w, std::int64_t pad_h,
                                   std::int64_t pad_w, std::int64_t dilation_h, std::int64_t dilation_w,
                                   std::int64_t groups, std::int64_t parts, bool is_masked) {
  if (std::min({stride_h, stride_w, dilation_h, dilation_w}) < 1 || std::min(pad_h, pad_w) < 0)
    return site.error("has a stride or dilation below 1, or a padding below 0");
  const ConvOperator op{{stride_h, stride_w}, {dilation_h, dilation_w}, {pad_h, pad_w}, {pad_h, pad_w}, groups};
  WHET_TRY(const Shape kernel, kernel_of(site, weights));
  WHET_RETURN_IF_ERROR(expect_window(site, x, kernel));
  return deform_convolved(site, {x, weights, offsets, bias, is_masked ? mask : std::nullopt}, op, parts);
}

Result<ValueId> import_roi_align(TorchSite& site, ValueId x, ValueId regions, double scale, std::int64_t rows,
                                 std::int64_t columns, std::int64_t samples, bool aligned) {
  WHET_TRY(const RoiInputs in, regions_of_rows(site, x, regions));
  return roi_aligned(
      site, in,
      {.cells = {rows, columns}, .samples = std::max<std::int64_t>(samples, 0), .scale = scale, .half_pixel = aligned});
}

constexpr std::string_view kConv = "input weight bias? stride=1 padding=0 dilation=1 groups=1",
                           kConvTranspose =
                               "input weight bias? stride=1 padding=0 output_padding=0 groups=1 dilation=1",
                           kAveragePool =
                               "self kernel_size stride=[] padding=0 ceil_mode=false count_include_pad=true "
                               "divisor_override? dilation=1",
                           kMaxPool = "self kernel_size stride=[] padding=0 dilation=1 ceil_mode=false",
                           kAdaptive = "self output_size";

}  // namespace

/// What the windows are read from is behind the parameters.
TorchRows window_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._adaptive_avg_pool2d", "default", kAdaptive, calls<import_adaptive<2, adaptive_average>>},
      {"aten._adaptive_avg_pool3d", "default", kAdaptive, calls<import_adaptive<3, adaptive_average>>},
      {"aten._convolution", "default deprecated",
       "input weight bias? stride padding dilation transposed output_padding groups ~benchmark ~deterministic "
       "~cudnn_enabled ~allow_tf32",
       calls<import_convolution>},
      {"aten._convolution_mode", "default", kConv, calls<import_conv>},
      {"aten.adaptive_avg_pool1d", "default", kAdaptive, calls<import_adaptive<1, adaptive_average>>, kWide},
      {"aten.adaptive_avg_pool2d", "default", kAdaptive, calls<import_adaptive<2, adaptive_average>>, kWide},
      {"aten.adaptive_avg_pool3d", "default", kAdaptive, calls<import_adaptive<3, adaptive_average>>, kWide},
      {"aten.adaptive_max_pool1d", "default", kAdaptive, calls<import_adaptive<1, adaptive_maximum>>},
      {"aten.adaptive_max_pool2d", "default", kAdaptive, calls<import_adaptive<2, adaptive_maximum>>},
      {"aten.adaptive_max_pool3d", "default", kAdaptive, calls<import_adaptive<3, adaptive_maximum>>},
      {"aten.avg_pool1d", "default", kAveragePool, calls<import_pool<1, average_pool>>},
      {"aten.avg_pool2d", "default", kAveragePool, calls<import_pool<2, average_pool>>},
      {"aten.avg_pool3d", "default", kAveragePool, calls<import_pool<3, average_pool>>},
      {"aten.col2im", "default", "self output_size kernel_size dilation padding stride", calls<import_col2im>},
      {"aten.conv1d aten.conv2d aten.conv3d", "default padding", kConv, calls<import_conv>},
      {"aten.conv_transpose1d", "default", kConvTranspose, calls<import_conv_transpose>},
      {"aten.conv_transpose2d aten.conv_transpose3d", "input", kConvTranspose, calls<import_conv_transpose>},
      {"aten.convolution", "default", "input weight bias? stride padding dilation transposed output_padding groups",
       calls<import_convolution>},
      {"aten.im2col", "default", "self kernel_size dilation padding stride", calls<import_im2col>},
      {"aten.max_pool1d", "default", kMaxPool, calls<import_pool<1, max_pool>>},
      {"aten.max_pool2d aten.max_pool2d_with_indices", "default", kMaxPool, calls<import_pool<2, max_pool>>},
      {"aten.max_pool3d aten.max_pool3d_with_indices", "default", kMaxPool, calls<import_pool<3, max_pool>>},
      {"torchvision.deform_conv2d", "default",
       "input weight offset mask? bias? stride_h stride_w pad_h pad_w dilation_h dilation_w groups offset_groups "
       "use_mask",
       calls<import_deform_conv>},
      {"torchvision.roi_align", "default", "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned",
       calls<import_roi_align>},
  };
  return kRows;
}

}  // namespace whet::torch
