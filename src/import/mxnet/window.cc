#include "import/parts/window.h"

#include <algorithm>
#include <limits>

#include "import/mxnet/rows.h"
#include "import/parts/activation.h"
#include "import/parts/adaptive.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/deform_conv.h"
#include "import/parts/move_axis.h"
#include "import/parts/normalize.h"
#include "import/parts/resize.h"
#include "import/parts/shape.h"

namespace whet::mxnet {
namespace {

using Ints = std::vector<std::int64_t>;

/// How a window slides over the spatial dimensions of an image with channels first, or last.
struct Slide {
  Shape kernel;
  Window window;
  bool channels_last = false;
};

Result<bool> is_channels_last(const MxSite& site) {
  const std::string layout = site.text("layout", "NCHW");
  if (layout == "NCW" || layout == "NCHW" || layout == "NCDHW") return false;
  if (layout == "NWC" || layout == "NHWC" || layout == "NDHWC") return true;
  return site.error("its layout is " + layout + "; expected NCHW or NHWC");
}

Status expect_image(const MxSite& site, ValueId x, std::size_t spatial) {
  const Shape& shape = site.shape(x);
  if (spatial >= 1 && spatial <= 3 && shape.size() == spatial + 2 && num_elements(shape) > 0) return ok_status();
  return site.error("the input is " + to_string(site.type(x)) + " and the kernel has " + std::to_string(spatial) +
                    " dimensions; expected a batch, channels and as many dimensions (one to three)");
}

Result<Slide> read_slide(MxSite& site) {
  Slide slide;
  WHET_TRY(slide.kernel, site.integers("kernel"));
  const std::size_t spatial = slide.kernel.size();
  WHET_RETURN_IF_ERROR(expect_image(site, site.in(0), spatial));
  WHET_TRY(slide.kernel, site.entries("kernel", spatial, 1, 1));
  WHET_TRY(slide.window.strides, site.entries("stride", spatial, 1, 1));
  WHET_TRY(slide.window.dilations, site.entries("dilate", spatial, 1, 1));
  WHET_TRY(slide.window.pads_begin, site.entries("pad", spatial, 0, 0));
  slide.window.pads_end = slide.window.pads_begin;
  WHET_TRY(slide.channels_last, is_channels_last(site));
  return slide;
}

Result<ValueId> channels_first(MxSite& site, ValueId x, bool is_last) {
  return is_last ? site.add("channels_first", move_axis(site.rank(x), site.rank(x) - 1, 1), {x}) : Result<ValueId>(x);
}
Result<ValueId> channels_back(MxSite& site, ValueId x, bool is_last) {
  return is_last ? site.add("channels_last", move_axis(site.rank(x), 1, site.rank(x) - 1), {x}) : Result<ValueId>(x);
}

/// The bias, unless the attribute says that there is none.
Result<std::vector<ValueId>> read_bias(MxSite& site, bool none) {
  WHET_TRY(const bool no_bias, site.flag("no_bias", none));
  WHET_RETURN_IF_ERROR(site.expect_inputs(no_bias ? 2 : 3));
  return no_bias ? std::vector<ValueId>() : std::vector<ValueId>{site.in(2)};
}

/// "valid", "full" (windows may reach beyond the padding) or "same".
Status read_convention(MxSite& site, const Slide& slide, Pooling& pooling, const Shape& extents) {
  const std::string convention = site.text("pooling_convention", "valid");
  if (convention == "full") {
    pooling.ceil_mode = true;
  } else if (convention == "same") {
    pad_to_same(pooling.window, extents, slide.kernel, SamePadding::upper);
  } else if (convention != "valid") {
    return site.error("its pooling_convention is " + convention + "; expected valid, full or same");
  }
  return ok_status();
}

Result<ValueId> pooled_globally(MxSite& site, ValueId x, const std::string& kind) {
  if (kind == "max") return pooled_whole(site, x, ReduceKind::max);
  if (kind == "avg") return pooled_whole(site, x, ReduceKind::mean);
  if (kind == "sum") return pooled_whole(site, x, ReduceKind::sum);
  WHET_TRY(const std::int64_t p, site.integer("p_value", 2));
  return lp_pooled_whole(site, x, p);
}

/// Of "full" the last window may lie beyond the image, where other frameworks have none: there is no largest pixel, and the
/// mean is 0.
Result<ValueId> with_windows_outside(MxSite& site, ValueId x, ValueId y, const Slide& slide, PoolKind kind) {
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

Result<ValueId> pooled_by(MxSite& site, ValueId x, const Slide& slide, const std::string& kind) {
  Pooling pooling{kind == "max" ? PoolKind::max : PoolKind::average, slide.kernel, slide.window};
  const Shape shape = site.shape(x);
  WHET_RETURN_IF_ERROR(read_convention(site, slide, pooling, Shape(shape.begin() + 2, shape.end())));
  WHET_TRY(pooling.count_include_pad, site.flag("count_include_pad", true));
  if (kind == "max" || kind == "avg") {
    WHET_TRY(const ValueId y, pooled(site, x, pooling));
    return pooling.ceil_mode ? with_windows_outside(site, x, y, slide, pooling.kind) : y;
  }
  WHET_TRY(const std::int64_t p, site.integer("p_value", 2));
  if (kind == "lp") {
    WHET_TRY(const ValueId y, lp_pooled(site, x, pooling, p));
    return pooling.ceil_mode ? with_windows_outside(site, x, y, slide, pooling.kind) : y;
  }
  // A sum is the mean of all taps times their number: those of the padding are zeros.
  pooling.count_include_pad = true;
  if (pooling.ceil_mode) return site.error("sums up windows of pooling_convention full, which is not supported");
  WHET_TRY(const ValueId mean, pooled(site, x, pooling));
  const ValueId count = site.add_scalar("taps", site.dtype(mean), static_cast<double>(num_elements(slide.kernel)));
  return site.add("sum", BinaryOperator{BinaryKind::mul}, {mean, count});
}

Status import_convolution(MxSite& site) {
  WHET_TRY(const std::vector<ValueId> bias, read_bias(site, false));
  WHET_TRY(const Slide slide, read_slide(site));
  ConvForm form{slide.window};
  WHET_TRY(form.groups, site.integer("num_group", 1));
  if (form.groups < 1) return site.error("has " + std::to_string(form.groups) + " groups");
  if (slide.channels_last) {
    form.layout = Layout::channels_last;
    form.weights = WeightOrder::OkI;
  }
  const auto added = bias.empty() ? std::nullopt : std::optional(bias[0]);
  return site.give(convolution(site, "conv", site.in(0), site.in(1), added, form));
}

/// (image, offsets of the taps, a factor for each, weights, bias)
Status import_modulated_convolution(MxSite& site) {
  WHET_TRY(const bool no_bias, site.flag("no_bias", false));
  WHET_RETURN_IF_ERROR(site.expect_inputs(no_bias ? 4 : 5));
  WHET_TRY(const Slide slide, read_slide(site));
  if (slide.kernel.size() != 2 || slide.channels_last)
    return site.error("has a kernel of " + std::to_string(slide.kernel.size()) +
                      " dimensions, or channels last; expected images with channels first");
  ConvOperator op{slide.window.strides, slide.window.dilations, slide.window.pads_begin, slide.window.pads_end};
  WHET_TRY(op.groups, site.integer("num_group", 1));
  WHET_TRY(const std::int64_t parts, site.integer("num_deformable_group", 1));
  DeformInputs inputs{.x = site.in(0), .weights = site.in(3), .offsets = site.in(1), .mask = site.in(2)};
  if (!no_bias) inputs.bias = site.in(4);
  return site.give(deform_convolved(site, inputs, op, parts));
}

Status import_deconvolution(MxSite& site) {
  WHET_TRY(const std::vector<ValueId> bias, read_bias(site, true));
  WHET_TRY(const Slide slide, read_slide(site));
  if (slide.channels_last) return site.error("has channels last, which is not supported");
  ConvTranspose form;
  WHET_TRY(form.groups, site.integer("num_group", 1));
  form.window = slide.window;
  WHET_TRY(form.output_padding, site.entries("adj", slide.kernel.size(), 0, 0));
  if (site.has("target_shape")) {
    WHET_TRY(form.output_extents, site.entries("target_shape", slide.kernel.size(), 0, 0));
    form.odd = SamePadding::lower;
    if (std::any_of(form.output_extents.begin(), form.output_extents.end(), [](std::int64_t n) { return n == 0; }))
      form.output_extents.clear();
  }
  return site.give(
      conv_transposed(site, site.in(0), site.in(1), bias.empty() ? std::nullopt : std::optional(bias[0]), form));
}

Status import_pooling(MxSite& site) {
  const std::string kind = site.text("pool_type", "max");
  if (kind != "max" && kind != "avg" && kind != "sum" && kind != "lp")
    return site.error("its pool_type is " + kind + "; expected max, avg, sum or lp");
  WHET_TRY(const bool global, site.flag("global_pool", false));
  WHET_TRY(const bool last, is_channels_last(site));
  WHET_TRY(const ValueId x, channels_first(site, site.in(0), last));
  if (global) {
    WHET_TRY(const ValueId y, pooled_globally(site, x, kind));
    return site.give(channels_back(site, y, last));
  }
  WHET_TRY(const Slide slide, read_slide(site));
  WHET_TRY(const ValueId y, pooled_by(site, x, slide, kind));
  return site.give(channels_back(site, y, last));
}

/// fix_gamma, which is usual, makes the scale 1 whatever the file has.
Status import_batch_norm(MxSite& site) {
  WHET_TRY(const bool fixed, site.flag("fix_gamma", true));
  WHET_TRY(const double epsilon, site.number("eps", 1e-3));
  WHET_TRY(const std::int64_t axis, site.axis("axis", 1, site.rank(site.in(0))));
  ValueId scale = site.in(1), x = site.in(0);
  if (fixed) {
    Tensor ones(DType::f32, site.shape(scale));
    for (float& one : ones.as<float>()) one = 1;
    scale = site.add_constant("scale", ones);
  }
  const std::size_t rank = site.rank(x);
  const bool last = axis != 1 && axis == static_cast<std::int64_t>(rank) - 1;
  if (axis != 1 && !last) return site.error("normalizes axis " + std::to_string(axis) + "; expected 1 or the last");
  if (rank < 2) return site.error("normalizes " + to_string(site.type(x)) + "; expected channels");
  return site.give(batch_norm(site, x, {scale, site.in(2), site.in(3), site.in(4)},
                              BatchNormOperator{epsilon, last ? Layout::channels_last : Layout::channels_first}));
}

Status import_instance_norm(MxSite& site) {
  WHET_TRY(const double epsilon, site.number("eps", 1e-3));
  return site.give(instance_norm(site, site.in(0), site.in(1), site.in(2), epsilon));
}
Status import_group_norm(MxSite& site) {
  WHET_TRY(const std::int64_t groups, site.integer("num_groups", 1));
  WHET_TRY(const double epsilon, site.number("eps", 1e-5));
  return site.give(group_norm(site, site.in(0), groups, site.in(1), site.in(2), epsilon));
}
Status import_layer_norm(MxSite& site) {
  const ValueId x = site.in(0);
  WHET_TRY(const std::int64_t axis, site.axis("axis", -1, site.rank(x)));
  LayerNorm form{{axis}};
  WHET_TRY(form.epsilon, site.number("eps", 1e-5));
  Shape along(site.rank(x), 1);
  along[static_cast<std::size_t>(axis)] = site.shape(x)[static_cast<std::size_t>(axis)];
  for (const std::size_t i : {1, 2})
    if (num_elements(site.shape(site.in(i))) != num_elements(along))
      return site.error("input " + std::to_string(i) + " is " + to_string(site.type(site.in(i))));
  WHET_TRY(form.scale, site.add("scale", ReshapeOperator{along}, {site.in(1)}));
  WHET_TRY(form.bias, site.add("bias", ReshapeOperator{along}, {site.in(2)}));
  return site.give(layer_norm(site, x, form));
}
Status import_lrn(MxSite& site) {
  Lrn form;
  WHET_TRY(form.size, site.integer("nsize", 5));
  WHET_TRY(form.alpha, site.number("alpha", 1e-4));
  WHET_TRY(form.beta, site.number("beta", 0.75));
  WHET_TRY(form.bias, site.number("knorm", 2));
  if (form.size < 1 || form.size > (1 << 20) || site.rank(site.in(0)) < 2)
    return site.error("normalizes " + to_string(site.type(site.in(0))) + " over " + std::to_string(form.size) +
                      " channels");
  return site.give(lrn(site, site.in(0), form));
}
/// x / sqrt(sum of squares + eps), over all but the batch, the channels of each place, or the places of each channel.
Status import_l2_normalization(MxSite& site) {
  const std::string mode = site.text("mode", "instance");
  WHET_TRY(const double epsilon, site.number("eps", 1e-10));
  const ValueId x = site.in(0);
  Ints axes;
  if (mode == "channel") axes = {1};
  for (std::size_t d = mode == "spatial" ? 2 : 1; mode != "channel" && d < site.rank(x); ++d)
    axes.push_back(static_cast<std::int64_t>(d));
  if (axes.empty() || axes.back() >= static_cast<std::int64_t>(site.rank(x)))
    return site.error("normalizes " + to_string(site.type(x)) + " in mode " + mode);
  WHET_TRY(const ValueId sum, site.add("squares", ReduceOperator{ReduceKind::sum_square, axes, true}, {x}));
  const ValueId least = site.add_scalar("least", site.dtype(sum), epsilon);
  WHET_TRY(const ValueId more, site.add("more", BinaryOperator{BinaryKind::add}, {sum, least}));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{UnaryKind::sqrt}, {more}));
  return site.give(BinaryOperator{BinaryKind::div}, {x, size});
}

Status give_resized(MxSite& site, ResizeOperator op, const Ints& sizes) {
  const ValueId x = site.in(0);
  const Shape shape = site.shape(x);
  if (shape.size() != 4 || sizes.size() != 2) return site.error("resizes " + to_string(site.type(x)));
  WHET_RETURN_IF_ERROR(scale_to(site, x, {shape[0], shape[1], sizes[0], sizes[1]}, op));
  return site.give(op, {x});
}

/// Nearest pixels; the bilinear one is a transposed convolution by weights.
Status import_up_sampling(MxSite& site) {
  WHET_TRY(const std::int64_t scale, site.integer("scale", 1));
  const std::string kind = site.text("sample_type", "nearest");
  if (kind != "nearest") return site.error("its sample_type is " + kind + "; expected nearest");
  if (scale < 1 || scale > 4096 || site.rank(site.in(0)) != 4)
    return site.error("enlarges " + to_string(site.type(site.in(0))) + " by " + std::to_string(scale));
  const Shape shape = site.shape(site.in(0));
  ResizeOperator op{ResizeMode::nearest, CoordinateMode::asymmetric, NearestMode::floor};
  return give_resized(site, op, {shape[2] * scale, shape[3] * scale});
}
Status import_bilinear_resize(MxSite& site) {
  WHET_TRY(const bool align, site.flag("align_corners", true));
  if (site.text("mode", "size") != "size")
    return site.error("its mode is " + site.text("mode", "") + "; expected size");
  Ints sizes(2);
  const Shape shape = site.shape(site.in(0));
  if (shape.size() != 4) return site.error("resizes " + to_string(site.type(site.in(0))));
  for (std::size_t d = 0; d < 2; ++d) {
    WHET_TRY(sizes[d], site.integer(d == 0 ? "height" : "width", 1));
    WHET_TRY(const double scale, site.number(d == 0 ? "scale_height" : "scale_width", 0));
    if (site.has(d == 0 ? "scale_height" : "scale_width")) {
      const double size = scale * static_cast<double>(shape[d + 2]);
      if (!(size >= 1 && size <= 1e6)) return site.error("enlarges by " + std::to_string(scale));
      sizes[d] = static_cast<std::int64_t>(size);
    }
  }
  return give_resized(site, {ResizeMode::linear, align ? CoordinateMode::align_corners : CoordinateMode::half_pixel},
                      sizes);
}
Status import_adaptive_average(MxSite& site) {
  WHET_TRY(Ints sizes, site.integers("output_size"));
  if (sizes.empty()) sizes = {1};
  if (sizes.size() == 1) sizes.push_back(sizes[0]);
  const bool fits = sizes.size() == 2 && sizes[0] >= 1 && sizes[1] >= 1 && sizes[0] <= 4096 && sizes[1] <= 4096;
  if (!fits || site.rank(site.in(0)) != 4)
    return site.error("pools " + to_string(site.type(site.in(0))) + " to " + to_string(sizes));
  return site.give(adaptive_average(site, site.in(0), sizes));
}

}  // namespace

MxRows window_rows() {
  static constexpr MxRow kRows[] = {
      {"BatchNorm", 5, import_batch_norm},
      {"BatchNorm_v1", 5, import_batch_norm},
      {"Convolution", {2, 3}, import_convolution},
      {"Convolution_v1", {2, 3}, import_convolution},
      {"Deconvolution", {2, 3}, import_deconvolution},
      {"GroupNorm", 3, import_group_norm},
      {"InstanceNorm", 3, import_instance_norm},
      {"L2Normalization", 1, import_l2_normalization},
      {"LRN", 1, import_lrn},
      {"LayerNorm", 3, import_layer_norm},
      {"Pooling", 1, import_pooling},
      {"Pooling_v1", 1, import_pooling},
      {"UpSampling", 1, import_up_sampling},
      {"_contrib_AdaptiveAvgPooling2D", 1, import_adaptive_average},
      {"_contrib_BilinearResize2D", 1, import_bilinear_resize},
      {"_contrib_ModulatedDeformableConvolution", import_modulated_convolution},
      {"_npx_batch_norm", 5, import_batch_norm},
      {"_npx_convolution", {2, 3}, import_convolution},
      {"_npx_layer_norm", 3, import_layer_norm},
      {"_npx_pooling", 1, import_pooling},
  };
  return kRows;
}

}  // namespace whet::mxnet
