#include "import/parts/window.h"

#include <algorithm>

#include "import/parts/adaptive.h"
#include "import/parts/arithmetic.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/deform_conv.h"
#include "import/parts/roi_align.h"
#include "import/parts/shape.h"
#include "import/parts/unfold.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

using Ints = std::vector<std::int64_t>;

/// An image without a batch gets one of 1, which goes again behind the operator.
struct Batched {
  ValueId x;
  bool added = false;
};
Result<Batched> with_batch(TorchSite& site, ValueId x, std::size_t spatial) {
  if (site.rank(x) == spatial + 2) return Batched{x};
  if (site.rank(x) != spatial + 1)
    return site.error("the input is " + to_string(site.type(x)) + "; expected channels and " + std::to_string(spatial) +
                      " spatial dimensions, and a batch before them");
  WHET_TRY(const ValueId batched, unsqueezed(site, x, {0}));
  return Batched{batched, true};
}
Status give_batched(TorchSite& site, ValueId y, bool added, std::size_t i = 0) {
  if (!added) return site.give(y, i);
  return site.give(squeezed(site, y, Ints{0}), i);
}

/// Weights [O, I / groups, kernel...]: the extents of the kernel.
Result<Shape> kernel_of(TorchSite& site, ValueId weights) {
  const Shape& w = site.shape(weights);
  if (w.size() >= 3 && w.size() <= 5 && num_elements(w) > 0) return Shape(w.begin() + 2, w.end());
  return site.error("the weights are " + to_string(site.type(weights)) +
                    "; expected output channels, channels of a group and one to three spatial dimensions");
}

struct ConvParts {
  ValueId x, weights;
  std::optional<ValueId> bias;
  Shape kernel;
  bool added = false;
};
Result<ConvParts> conv_parts(TorchSite& site) {
  ConvParts parts;
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(parts.weights, site.tensor("weight"));
  WHET_TRY(parts.bias, site.optional_tensor("bias"));
  WHET_TRY(parts.kernel, kernel_of(site, parts.weights));
  WHET_TRY(const Batched batched, with_batch(site, x, parts.kernel.size()));
  parts.x = batched.x;
  parts.added = batched.added;
  return parts;
}

/// "same" puts the odd pixel behind; else one number a dimension, on both sides.
Status read_padding(TorchSite& site, const ConvParts& parts, Window& window) {
  const std::size_t spatial = parts.kernel.size();
  if (const auto text = site.text("padding"); text.ok()) {
    if (*text != "same" && *text != "valid")
      return site.error("argument \"padding\" is " + *text + "; expected same or valid");
    window.pads_begin = window.pads_end = Ints(spatial, 0);
    const Shape& x = site.shape(parts.x);
    if (*text == "same") pad_to_same(window, Shape(x.begin() + 2, x.end()), parts.kernel, SamePadding::upper);
    return ok_status();
  }
  WHET_TRY(window.pads_begin, site.entries("padding", spatial, 0));
  window.pads_end = window.pads_begin;
  return ok_status();
}

Status give_conv(TorchSite& site) {
  WHET_TRY(const ConvParts parts, conv_parts(site));
  const std::size_t spatial = parts.kernel.size();
  WHET_RETURN_IF_ERROR(expect_window(site, parts.x, parts.kernel));
  Window window;
  WHET_TRY(window.strides, site.entries("stride", spatial, 1));
  WHET_TRY(window.dilations, site.entries("dilation", spatial, 1));
  WHET_RETURN_IF_ERROR(read_padding(site, parts, window));
  ConvOperator op{window.strides, window.dilations, window.pads_begin, window.pads_end};
  WHET_TRY(op.groups, site.integer("groups"));
  WHET_TRY(const ValueId y, convolved(site, parts.x, parts.weights, parts.bias, op));
  return give_batched(site, y, parts.added);
}

Status give_conv_transpose(TorchSite& site) {
  WHET_TRY(const ConvParts parts, conv_parts(site));
  const std::size_t spatial = parts.kernel.size();
  WHET_RETURN_IF_ERROR(expect_window(site, parts.x, parts.kernel));
  ConvTranspose form;
  WHET_TRY(form.groups, site.integer("groups"));
  WHET_TRY(form.window.strides, site.entries("stride", spatial, 1));
  WHET_TRY(form.window.dilations, site.entries("dilation", spatial, 1));
  WHET_TRY(form.window.pads_begin, site.entries("padding", spatial, 0));
  form.window.pads_end = form.window.pads_begin;
  WHET_TRY(form.output_padding, site.entries("output_padding", spatial, 0));
  WHET_TRY(const ValueId y, conv_transposed(site, parts.x, parts.weights, parts.bias, form));
  return give_batched(site, y, parts.added);
}

/// How many spatial dimensions "aten.max_pool2d.default" has.
std::size_t spatial_of(const std::string& op) {
  for (std::size_t d = 1; d <= 3; ++d)
    if (op.find(std::to_string(d) + "d") != std::string::npos) return d;
  return 2;
}

struct PoolParts {
  ValueId x;
  bool added = false;
  Pooling pooling;
};
Result<PoolParts> read_pool(TorchSite& site, PoolKind kind) {
  const std::size_t spatial = spatial_of(site.op());
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Batched batched, with_batch(site, x, spatial));
  PoolParts parts{batched.x, batched.added, {.kind = kind}};
  Pooling& pooling = parts.pooling;
  WHET_TRY(pooling.kernel, site.entries("kernel_size", spatial, 1));
  WHET_RETURN_IF_ERROR(expect_window(site, parts.x, pooling.kernel));
  WHET_TRY(const Ints strides, site.integers("stride"));
  pooling.window.strides = pooling.kernel;
  if (!strides.empty()) {
    WHET_TRY(pooling.window.strides, site.entries("stride", spatial, 1));
  }
  WHET_TRY(pooling.window.pads_begin, site.entries("padding", spatial, 0));
  pooling.window.pads_end = pooling.window.pads_begin;
  pooling.window.dilations = Ints(spatial, 1);
  WHET_TRY(pooling.ceil_mode, site.flag("ceil_mode"));
  return parts;
}

Result<PoolParts> read_adaptive(TorchSite& site, Shape& extents) {
  const std::size_t spatial = spatial_of(site.op());
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Batched batched, with_batch(site, x, spatial));
  WHET_TRY(extents, site.entries("output_size", spatial, 1));
  return PoolParts{batched.x, batched.added, {}};
}

/// The arguments that the two ways between images and columns share.
Status read_blocks(TorchSite& site, std::vector<std::int64_t>& block, Window& window) {
  WHET_TRY(block, site.entries("kernel_size", 2, 1));
  WHET_TRY(window.dilations, site.entries("dilation", 2, 1));
  WHET_TRY(window.pads_begin, site.entries("padding", 2, 0));
  WHET_TRY(window.strides, site.entries("stride", 2, 1));
  window.pads_end = window.pads_begin;
  return ok_status();
}

Status import_conv(TorchSite& site) { return give_conv(site); }
Status import_conv_transpose(TorchSite& site) { return give_conv_transpose(site); }
Status import_convolution(TorchSite& site) {
  WHET_TRY(const bool transposed, site.flag("transposed"));
  return transposed ? give_conv_transpose(site) : give_conv(site);
}

Status import_max_pool(TorchSite& site) {
  WHET_TRY(PoolParts parts, read_pool(site, PoolKind::max));
  WHET_TRY(parts.pooling.window.dilations, site.entries("dilation", parts.pooling.kernel.size(), 1));
  WHET_TRY(const ValueId top, pooled(site, parts.x, parts.pooling));
  if (!site.wants_output(1)) return give_batched(site, top, parts.added);
  // Places count within an image and channel; the part counts through the whole input.
  WHET_TRY(ValueId places, max_pool_indices(site, parts.x, parts.pooling, top, false));
  const Shape x = site.shape(parts.x);
  const std::int64_t plane = num_elements(Shape(x.begin() + 2, x.end()));
  Tensor extent(DType::i64, {});
  extent.set_integer(0, plane);
  WHET_TRY(places, site.add("place", BinaryOperator{BinaryKind::mod}, {places, site.add_constant("plane", extent)}));
  WHET_RETURN_IF_ERROR(give_batched(site, places, parts.added, 1));
  return give_batched(site, top, parts.added);
}

Status import_average_pool(TorchSite& site) {
  WHET_TRY(PoolParts parts, read_pool(site, PoolKind::average));
  const Ints& pads = parts.pooling.window.pads_begin;
  const bool pads_any = std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  WHET_TRY(parts.pooling.count_include_pad, site.flag("count_include_pad"));
  parts.pooling.count_include_pad = parts.pooling.count_include_pad && pads_any;
  const bool overrides = site.op().find("pool1d") == std::string::npos && site.has("divisor_override");
  if (overrides) {
    WHET_TRY(const double divisor, site.number("divisor_override"));
    if (divisor == 0) return site.error("argument \"divisor_override\" is 0");
    if (parts.pooling.ceil_mode)
      return site.error("argument \"divisor_override\" beside \"ceil_mode\" is not supported");
    parts.pooling.count_include_pad = true;
    WHET_TRY(ValueId y, pooled(site, parts.x, parts.pooling));
    const auto taps = static_cast<double>(num_elements(parts.pooling.kernel));
    WHET_TRY(y, with_number(site, "divided", BinaryKind::mul, y, taps / divisor));
    return give_batched(site, y, parts.added);
  }
  WHET_TRY(const ValueId y, pooled(site, parts.x, parts.pooling));
  return give_batched(site, y, parts.added);
}

Status import_adaptive_average_pool(TorchSite& site) {
  Shape extents;
  WHET_TRY(const PoolParts parts, read_adaptive(site, extents));
  WHET_TRY(const ValueId y, adaptive_average(site, parts.x, extents));
  return give_batched(site, y, parts.added);
}

Status import_adaptive_max_pool(TorchSite& site) {
  Shape extents;
  WHET_TRY(const PoolParts parts, read_adaptive(site, extents));
  WHET_TRY(const ValueId y, adaptive_maximum(site, parts.x, extents));
  return give_batched(site, y, parts.added);
}

Status import_im2col(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Batched batched, with_batch(site, x, 2));
  UnfoldForm form;
  WHET_RETURN_IF_ERROR(read_blocks(site, form.block, form.window));
  WHET_TRY(const ValueId y, unfold(site, batched.x, form));
  return give_batched(site, y, batched.added);
}

Status import_col2im(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("self"));
  WHET_TRY(const Batched batched, with_batch(site, x, 1));
  FoldForm form;
  WHET_TRY(form.image, site.entries("output_size", 2, 1));
  WHET_RETURN_IF_ERROR(read_blocks(site, form.block, form.window));
  WHET_TRY(const ValueId y, fold(site, batched.x, form));
  return give_batched(site, y, batched.added);
}

Status import_deform_conv(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const ValueId weights, site.tensor("weight"));
  DeformInputs inputs{.x = x, .weights = weights, .offsets = x};
  WHET_TRY(inputs.offsets, site.tensor("offset"));
  WHET_TRY(inputs.bias, site.optional_tensor("bias"));
  WHET_TRY(const bool masked, site.flag("use_mask"));
  if (masked) {
    WHET_TRY(inputs.mask, site.optional_tensor("mask"));
  }
  ConvOperator op{{1, 1}, {1, 1}, {0, 0}, {0, 0}};
  const char* const kSides[] = {"h", "w"};
  for (std::size_t d = 0; d < 2; ++d) {
    const std::string side = kSides[d];
    WHET_TRY(op.strides[d], site.integer("stride_" + side));
    WHET_TRY(op.dilations[d], site.integer("dilation_" + side));
    WHET_TRY(op.pads_begin[d], site.integer("pad_" + side));
    if (op.strides[d] < 1 || op.dilations[d] < 1 || op.pads_begin[d] < 0)
      return site.error("has a stride or dilation below 1, or a padding below 0");
  }
  op.pads_end = op.pads_begin;
  WHET_TRY(op.groups, site.integer("groups"));
  WHET_TRY(const std::int64_t parts, site.integer("offset_groups"));
  WHET_TRY(const Shape kernel, kernel_of(site, weights));
  WHET_RETURN_IF_ERROR(expect_window(site, x, kernel));
  return site.give(deform_convolved(site, inputs, op, parts));
}

/// Regions are [R, 5]: the image's number before the corners.
Status import_roi_align(TorchSite& site) {
  WHET_TRY(const ValueId x, site.tensor("input"));
  WHET_TRY(const ValueId regions, site.tensor("rois"));
  RoiAlign form;
  WHET_TRY(form.cells[0], site.integer("pooled_height"));
  WHET_TRY(form.cells[1], site.integer("pooled_width"));
  WHET_TRY(form.samples, site.integer("sampling_ratio"));
  WHET_TRY(form.scale, site.number("spatial_scale"));
  WHET_TRY(form.half_pixel, site.flag("aligned"));
  const Shape shape = site.shape(regions);
  if (shape.size() != 2 || shape[1] != 5)
    return site.error("the regions are " + to_string(site.type(regions)) + "; expected [R, 5]");
  if (form.samples < 1)
    return site.error("argument \"sampling_ratio\" is " + std::to_string(form.samples) + "; expected 1 or more");
  WHET_TRY(const std::vector<ValueId> columns, split(site, regions, 1, {1, 4}));
  WHET_TRY(ValueId images, site.add("list", ReshapeOperator{{shape[0]}}, {columns[0]}));
  WHET_TRY(images, site.cast("images", images, DType::i64));
  return site.give(roi_aligned(site, {x, columns[1], images}, form));
}

constexpr std::string_view kConv = "input weight bias=none stride=1 padding=0 dilation=1 groups=1";
constexpr std::string_view kConvTranspose =
    "input weight bias=none stride=1 padding=0 output_padding=0 groups=1 dilation=1";
constexpr std::string_view kAveragePool =
    "self kernel_size stride=[] padding=0 ceil_mode=false count_include_pad=true divisor_override=none";
constexpr std::string_view kMaxPool = "self kernel_size stride=[] padding=0 dilation=1 ceil_mode=false";

}  // namespace

TorchRows window_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._adaptive_avg_pool2d", "default", "self output_size", import_adaptive_average_pool},
      {"aten._adaptive_avg_pool3d", "default", "self output_size", import_adaptive_average_pool},
      {"aten._convolution", "default deprecated",
       "input weight bias stride padding dilation transposed output_padding groups benchmark=none deterministic=none "
       "cudnn_enabled=none allow_tf32=none",
       import_convolution},
      {"aten._convolution_mode", "default", "input weight bias stride padding dilation groups", import_conv},
      {"aten.adaptive_avg_pool1d", "default", "self output_size", import_adaptive_average_pool},
      {"aten.adaptive_avg_pool2d", "default", "self output_size", import_adaptive_average_pool},
      {"aten.adaptive_avg_pool3d", "default", "self output_size", import_adaptive_average_pool},
      {"aten.adaptive_max_pool1d", "default", "self output_size", import_adaptive_max_pool},
      {"aten.adaptive_max_pool2d", "default", "self output_size", import_adaptive_max_pool},
      {"aten.adaptive_max_pool3d", "default", "self output_size", import_adaptive_max_pool},
      {"aten.avg_pool1d", "default", "self kernel_size stride=[] padding=0 ceil_mode=false count_include_pad=true",
       import_average_pool},
      {"aten.avg_pool2d", "default", kAveragePool, import_average_pool},
      {"aten.avg_pool3d", "default", kAveragePool, import_average_pool},
      {"aten.col2im", "default", "self output_size kernel_size dilation padding stride", import_col2im},
      {"aten.conv1d", "default padding", kConv, import_conv},
      {"aten.conv2d", "default padding", kConv, import_conv},
      {"aten.conv3d", "default padding", kConv, import_conv},
      {"aten.conv_transpose1d", "default", kConvTranspose, import_conv_transpose},
      {"aten.conv_transpose2d", "input", kConvTranspose, import_conv_transpose},
      {"aten.conv_transpose3d", "input", kConvTranspose, import_conv_transpose},
      {"aten.convolution", "default", "input weight bias stride padding dilation transposed output_padding groups",
       import_convolution},
      {"aten.im2col", "default", "self kernel_size dilation padding stride", import_im2col},
      {"aten.max_pool1d", "default", kMaxPool, import_max_pool},
      {"aten.max_pool2d", "default", kMaxPool, import_max_pool},
      {"aten.max_pool2d_with_indices", "default", kMaxPool, import_max_pool},
      {"aten.max_pool3d", "default", kMaxPool, import_max_pool},
      {"aten.max_pool3d_with_indices", "default", kMaxPool, import_max_pool},
      {"torchvision.deform_conv2d", "default",
       "input weight offset mask bias stride_h stride_w pad_h pad_w dilation_h dilation_w groups offset_groups "
       "use_mask",
       import_deform_conv},
      {"torchvision.roi_align", "default", "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned",
       import_roi_align},
  };
  return kRows;
}

}  // namespace whet::torch
