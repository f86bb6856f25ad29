#include "import/parts/window.h"

#include <algorithm>
#include <limits>

#include "import/parts/adaptive.h"
#include "import/parts/arithmetic.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/deform_conv.h"
#include "import/parts/normalize.h"
#include "import/parts/resize.h"
#include "import/parts/shape.h"
#include "import_mxnet/rows.h"

namespace whet::mxnet {
namespace {

/// How a window slides over the spatial dimensions of an image with channels first, or last.
struct Slide {
  Shape kernel;
  Window window;
  bool channels_last = false;
};

Result<bool> is_channels_last(const MxSite& site) {
  WHET_TRY(const std::int64_t layout, site.choice("layout", "NCHW", {"NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"}));
  return layout >= 3;
}

Result<Slide> read_slide(MxSite& site, ValueId x, const Ints& kernel) {
  WHET_RETURN_IF_ERROR(expect_window(site, x, kernel));
  if (num_elements(site.shape(x)) == 0) return site.error("the input is " + to_string(site.type(x)));
  Slide slide;
  WHET_TRY(slide.kernel, site.entries("kernel", kernel.size(), 1, 1));
  WHET_TRY(slide.window.strides, site.entries("stride", kernel.size(), 1, 1));
  WHET_TRY(slide.window.dilations, site.entries("dilate", kernel.size(), 1, 1));
  WHET_TRY(slide.window.pads_begin, site.entries("pad", kernel.size(), 0, 0));
  slide.window.pads_end = slide.window.pads_begin;
  WHET_TRY(slide.channels_last, is_channels_last(site));
  return slide;
}

enum class PoolType : std::uint8_t { max, avg, sum, lp };
/// Windows of `full` may reach beyond the padding.
enum class Convention : std::uint8_t { valid, full, same };

Result<ValueId> pooled_globally(NodeSite& site, ValueId x, PoolType type, std::int64_t p) {
  constexpr ReduceKind kKinds[] = {ReduceKind::max, ReduceKind::mean, ReduceKind::sum};
  return type == PoolType::lp ? lp_pooled_whole(site, x, p)
                              : pooled_whole(site, x, kKinds[static_cast<std::size_t>(type)]);
}

/// Of "full" the last window may lie beyond the image, where other frameworks have none: there is no largest pixel, and the
/// mean is 0.
Result<ValueId> with_windows_outside(NodeSite& site, ValueId x, ValueId y, const Slide& slide, PoolKind kind) {
  PadOperator pad{PadMode::constant, 0, {0, 0}, {0, 0}};
  for (std::size_t d = 0; d < slide.kernel.size(); ++d) {
    const Window& window = slide.window;
    const std::int64_t span = site.shape(x)[d + 2] + 2 * window.pads_begin[d] - slide.kernel[d];
    const std::int64_t positions = 1 + (span + window.strides[d] - 1) / window.strides[d];
    pad.begin.push_back(0);
    pad.end.push_back(std::max<std::int64_t>(positions - site.shape(y)[d + 2], 0));
  }
  if (std::all_of(pad.end.begin(), pad.end.end(), [](std::int64_t n) { return n == 0; })) return y;
  if (kind == PoolKind::max)
    pad.value = site.dtype(x) == DType::f16 ? -65504 : double{std::numeric_limits<float>::lowest()};
  return site.add("outside", pad, {y});
}

Result<ValueId> pooled_by(NodeSite& site, ValueId x, const Slide& slide, PoolType type, Convention convention,
                          bool count_include_pad, std::int64_t p) {
  Pooling pooling{type == PoolType::max ? PoolKind::max : PoolKind::average, slide.kernel, slide.window};
  const Shape shape = site.shape(x);
  pooling.ceil_mode = convention == Convention::full;
  if (convention == Convention::same)
    pad_to_same(pooling.window, Shape(shape.begin() + 2, shape.end()), slide.kernel, SamePadding::upper);
  pooling.count_include_pad = count_include_pad;
  if (type != PoolType::sum) {
    WHET_TRY(const ValueId y, type == PoolType::lp ? lp_pooled(site, x, pooling, p) : pooled(site, x, pooling));
    return pooling.ceil_mode ? with_windows_outside(site, x, y, slide, pooling.kind) : y;
  }
  // A sum is the mean of all taps times their number: those of the padding are zeros.
  pooling.count_include_pad = true;
  if (pooling.ceil_mode) return site.error("sums up windows of pooling_convention full, which is not supported");
  WHET_TRY(const ValueId mean, pooled(site, x, pooling));
  return with_number(site, "sum", BinaryKind::mul, mean, static_cast<double>(num_elements(slide.kernel)));
}

Result<ValueId> import_convolution(MxSite& site, ValueId x, ValueId weights, std::optional<ValueId> bias, bool no_bias,
                                   const Ints& kernel, std::int64_t groups) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(no_bias ? 2 : 3));
  WHET_TRY(const Slide slide, read_slide(site, x, kernel));
  if (groups < 1) return site.error("has " + std::to_string(groups) + " groups");
  ConvForm form{.window = slide.window, .groups = groups};
  if (slide.channels_last) {
    form.layout = Layout::channels_last;
    form.weights = WeightOrder::OkI;
  }
  return convolution(site, "conv", x, weights, bias, form);
}

Result<ValueId> import_modulated_convolution(MxSite& site, ValueId x, ValueId offsets, ValueId mask, ValueId weights,
                                             std::optional<ValueId> bias, bool no_bias, const Ints& kernel,
                                             std::int64_t groups, std::int64_t parts) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(no_bias ? 4 : 5));
  WHET_TRY(const Slide slide, read_slide(site, x, kernel));
  if (slide.kernel.size() != 2 || slide.channels_last)
    return site.error("has a kernel of " + std::to_string(slide.kernel.size()) +
                      " dimensions, or channels last; expected images with channels first");
  const Window& window = slide.window;
  const ConvOperator op{window.strides, window.dilations, window.pads_begin, window.pads_end, groups};
  return deform_convolved(site, {x, weights, offsets, bias, mask}, op, parts);
}

Result<ValueId> import_deconvolution(MxSite& site, ValueId x, ValueId weights, std::optional<ValueId> bias,
                                     bool no_bias, const Ints& kernel, std::int64_t groups) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(no_bias ? 2 : 3));
  WHET_TRY(const Slide slide, read_slide(site, x, kernel));
  if (slide.channels_last) return site.error("has channels last, which is not supported");
  ConvTranspose form{.groups = groups, .window = slide.window, .output_padding = {}};
  WHET_TRY(form.output_padding, site.entries("adj", slide.kernel.size(), 0, 0));
  if (site.has_attribute("target_shape")) {
    WHET_TRY(form.output_extents, site.entries("target_shape", slide.kernel.size(), 0, 0));
    form.odd = SamePadding::lower;
    if (std::count(form.output_extents.begin(), form.output_extents.end(), 0) > 0) form.output_extents.clear();
  }
  return conv_transposed(site, x, weights, bias, form);
}

Result<ValueId> import_pooling(MxSite& site, ValueId given, PoolType type, bool is_global, const Ints& kernel,
                               Convention convention, bool count_include_pad, std::int64_t p) {
  WHET_TRY(const bool last, is_channels_last(site));
  WHET_TRY(const ValueId x, channels_first(site, given, last));
  if (is_global) {
    WHET_TRY(const ValueId y, pooled_globally(site, x, type, p));
    return channels_back(site, y, last);
  }
  WHET_TRY(const Slide slide, read_slide(site, x, kernel));
  WHET_TRY(const ValueId y, pooled_by(site, x, slide, type, convention, count_include_pad, p));
  return channels_back(site, y, last);
}

/// `fixed`, which is usual, makes the scale 1 whatever the file has.
Result<ValueId> import_batch_norm(NodeSite& site, ValueId x, ValueId scale, ValueId bias, ValueId mean,
                                  ValueId variance, bool fixed, double epsilon, std::int64_t axis) {
  if (fixed) {
    Tensor ones(DType::f32, site.shape(scale));
    for (float& one : ones.as<float>()) one = 1;
    scale = site.add_constant("scale", ones);
  }
  const std::size_t rank = site.rank(x);
  const bool last = axis != 1 && axis == static_cast<std::int64_t>(rank) - 1;
  if (axis != 1 && !last) return site.error("normalizes axis " + std::to_string(axis) + "; expected 1 or the last");
  if (rank < 2) return site.error("normalizes " + to_string(site.type(x)) + "; expected channels");
  return batch_norm(site, x, {scale, bias, mean, variance},
                    BatchNormOperator{epsilon, last ? Layout::channels_last : Layout::channels_first});
}

Result<ValueId> import_layer_norm(MxSite& site, ValueId x, ValueId scale, ValueId bias, std::int64_t axis,
                                  double epsilon) {
  const auto d = static_cast<std::size_t>(axis);
  const Shape along = shape_along(d, site.rank(x), site.shape(x)[d]);
  for (const std::size_t i : {1, 2})
    if (num_elements(site.shape(i)) != num_elements(along))
      return site.error("input " + std::to_string(i) + " is " + to_string(site.type(i)));
  LayerNorm form{{axis}, epsilon};
  WHET_TRY(form.scale, site.add("scale", ReshapeOperator{along}, {scale}));
  WHET_TRY(form.bias, site.add("bias", ReshapeOperator{along}, {bias}));
  return layer_norm(site, x, form);
}
/// Over all but the batch, the channels of each place, or the places of each channel.
enum class L2Mode : std::uint8_t { instance, channel, spatial };
/// x / sqrt(sum of squares + epsilon)
Status import_l2_normalization(NodeSite& site, ValueId x, L2Mode mode, double epsilon) {
  if (site.rank(x) < (mode == L2Mode::spatial ? 3 : 2)) return site.error("normalizes " + to_string(site.type(x)));
  const Ints axes = mode == L2Mode::channel ? Ints{1} : axes_from(mode == L2Mode::spatial ? 2 : 1, site.rank(x));
  WHET_TRY(const ValueId sum, site.add("squares", ReduceOperator{ReduceKind::sum_square, axes, true}, {x}));
  WHET_TRY(const ValueId more, with_number(site, "more", BinaryKind::add, sum, epsilon));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{UnaryKind::sqrt}, {more}));
  return site.give(BinaryOperator{BinaryKind::div}, {x, size});
}

Status give_resized(NodeSite& site, ValueId x, ResizeOperator op, std::int64_t rows, std::int64_t columns) {
  const Shape shape = site.shape(x);
  WHET_RETURN_IF_ERROR(scale_to(site, x, {shape[0], shape[1], rows, columns}, op));
  return site.give(op, {x});
}

Result<ValueId> enlarged(NodeSite& site, ValueId x, std::int64_t rows, std::int64_t columns) {
  const Shape shape = site.shape(x);
  if (shape.size() != 4) return site.error("enlarges " + to_string(site.type(x)) + "; expected images [N, C, H, W]");
  ResizeOperator op{ResizeMode::nearest, CoordinateMode::asymmetric, NearestMode::floor};
  WHET_RETURN_IF_ERROR(scale_to(site, x, {shape[0], shape[1], rows, columns}, op));
  return site.add("enlarged", op, {x});
}
/// Nearest pixels, which the one choice of `sample_type` is; the bilinear one is a transposed convolution by weights. Further images
/// get the size of the first one's result, beside whose channels they are, or to which they are added.
Result<ValueId> import_up_sampling(NodeSite& site, const ValueIds& images, std::int64_t scale, bool adds,
                                   std::int64_t) {
  const Shape first = site.shape(images[0]);
  if (scale < 1 || scale > 4096 || first.size() != 4)
    return site.error("enlarges " + to_string(site.type(images[0])) + " by " + std::to_string(scale));
  ValueIds results;
  for (const ValueId x : images) {
    WHET_TRY(const ValueId y, enlarged(site, x, first[2] * scale, first[3] * scale));
    results.push_back(y);
  }
  if (results.size() == 1 || adds) return chained(site, BinaryKind::add, results);
  return site.add("channels", ConcatOperator{1}, results);
}
/// A scale decides before a size.
Status import_bilinear_resize(NodeSite& site, ValueId x, bool align, std::int64_t, std::int64_t height,
                              std::int64_t width, std::optional<double> scale_height,
                              std::optional<double> scale_width) {
  const Shape shape = site.shape(x);
  if (shape.size() != 4) return site.error("resizes " + to_string(site.type(x)));
  const auto scaled = [&](std::int64_t size, std::optional<double> scale, std::size_t d) -> Result<std::int64_t> {
    const double wanted = scale ? *scale * static_cast<double>(shape[d]) : static_cast<double>(size);
    if (!scale || (wanted >= 1 && wanted <= 1e6)) return scale ? static_cast<std::int64_t>(wanted) : size;
    return site.error("enlarges by " + std::to_string(*scale));
  };
  WHET_TRY(const std::int64_t rows, scaled(height, scale_height, 2));
  WHET_TRY(const std::int64_t columns, scaled(width, scale_width, 3));
  const CoordinateMode corners = align ? CoordinateMode::align_corners : CoordinateMode::half_pixel;
  return give_resized(site, x, {ResizeMode::linear, corners}, rows, columns);
}
Result<ValueId> import_adaptive_average(NodeSite& site, ValueId x, Ints sizes) {
  if (sizes.size() == 1) sizes.push_back(sizes[0]);
  const bool fits = sizes.size() == 2 && sizes[0] >= 1 && sizes[1] >= 1 && sizes[0] <= 4096 && sizes[1] <= 4096;
  if (!fits || site.rank(x) != 4) return site.error("pools " + to_string(site.type(x)) + " to " + to_string(sizes));
  return adaptive_average(site, x, sizes);
}

}  // namespace

/// What `read_slide` reads is behind the parameters.
MxRows window_rows() {
  static constexpr MxRow kRows[] = {
      {"BatchNorm BatchNorm_v1 _npx_batch_norm", "x scale bias mean variance @fix_gamma=1 @eps=1e-3 @axis(x)=1",
       calls<import_batch_norm>},
      {"Convolution Convolution_v1 _npx_convolution",
       "x weights bias? @no_bias=0 @kernel @num_group=1 @stride? @dilate? @pad? @layout?", calls<import_convolution>},
      {"Deconvolution",
       "x weights bias? @no_bias=1 @kernel @num_group=1 @adj? @target_shape? @stride? @dilate? @pad? @layout?",
       calls<import_deconvolution>},
      {"GroupNorm", "x @num_groups=1 scale bias @eps=1e-5", calls<group_norm>},
      {"InstanceNorm", "x scale bias @eps=1e-3", calls<instance_norm>},
      {"L2Normalization", "x @mode:instance|channel|spatial=instance @eps=1e-10", calls<import_l2_normalization>},
      {"LRN", "x @nsize=5 @alpha=1e-4 @beta=0.75 @knorm=2", calls<lrn>},
      {"LayerNorm _npx_layer_norm", "x scale bias @axis(x)=-1 @eps=1e-5", calls<import_layer_norm>},
      {"Pooling Pooling_v1 _npx_pooling",
       "x @pool_type:max|avg|sum|lp=max @global_pool=0 @kernel= @pooling_convention:valid|full|same=valid "
       "@count_include_pad=1 @p_value=2 @stride? @dilate? @pad? @layout?",
       calls<import_pooling>},
      {"UpSampling", "images... @scale=1 @multi_input_mode:concat|sum=concat @sample_type:nearest=nearest",
       calls<import_up_sampling>},
      {"_contrib_AdaptiveAvgPooling2D", "x @output_size=1", calls<import_adaptive_average>},
      {"_contrib_BilinearResize2D",
       "x @align_corners=1 @mode:size=size @height=1 @width=1 @scale_height? @scale_width?",
       calls<import_bilinear_resize>},
      {"_contrib_ModulatedDeformableConvolution",
       "x offsets mask weights bias? @no_bias=0 @kernel @num_group=1 @num_deformable_group=1 @stride? @dilate? @pad? "
       "@layout?",
       calls<import_modulated_convolution>},
  };
  return kRows;
}

}  // namespace whet::mxnet
