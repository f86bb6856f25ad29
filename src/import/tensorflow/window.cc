#include "import/parts/window.h"

#include <algorithm>

#include "base/nearest.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/move_axis.h"
#include "import/parts/normalize.h"
#include "import/parts/unfold.h"
#include "import/tensorflow/rows.h"

// Images stay as the file has them: convolutions and pools of the graph take channels last.

namespace whet::tensorflow {
namespace {

using Ints = std::vector<std::int64_t>;

/// How a window slides over images of one to three spatial dimensions.
struct Slide {
  bool channels_last = true;
  std::size_t spatial = 2;
  Window window;
  std::string padding;  ///< SAME, VALID or EXPLICIT, whose numbers are in the window

  Layout layout() const { return channels_last ? Layout::channels_last : Layout::channels_first; }
  std::size_t channel() const { return channels_last ? spatial + 1 : 1; }
  std::size_t place(std::size_t d) const { return channels_last ? d + 1 : d + 2; }  ///< of spatial dimension d
  Shape extents(const Shape& x) const {
    Shape result;
    for (std::size_t d = 0; d < spatial; ++d) result.push_back(x[place(d)]);
    return result;
  }
};

/// An entry for each dimension of the image, of which those of batch and channels are 1; gives the spatial ones.
Result<Ints> spatial_entries(TfSite& site, const Slide& slide, const std::string& what, const Ints& list) {
  constexpr std::int64_t kMost = 1 << 20;
  if (list.empty()) return Ints(slide.spatial, 1);
  if (list.size() != slide.spatial + 2 || list[0] != 1 || list[slide.channel()] != 1)
    return site.error("its " + what + " are " + to_string(list) + "; expected " + std::to_string(slide.spatial + 2) +
                      " entries, of which those of batch and channels are 1");
  Ints entries;
  for (std::size_t d = 0; d < slide.spatial; ++d) entries.push_back(list[slide.place(d)]);
  for (const std::int64_t entry : entries)
    if (entry < 1 || entry > kMost) return site.error("its " + what + " are " + to_string(list));
  return entries;
}

Status expect_image(const TfSite& site, const Slide& slide, ValueId x) {
  const Shape& shape = site.shape(x);
  if (shape.size() == slide.spatial + 2 && num_elements(shape) > 0) return ok_status();
  return site.error("the input is " + to_string(site.type(x)) + "; expected a batch, channels and " +
                    std::to_string(slide.spatial) + " dimensions");
}

Result<Slide> read_slide(TfSite& site, std::size_t spatial) {
  Slide slide{true, spatial, {}, ""};
  const std::string last = spatial == 3 ? "NDHWC" : "NHWC", first = spatial == 3 ? "NCDHW" : "NCHW";
  WHET_TRY(const std::string format, site.text("data_format", last));
  if (format != last && format != first)
    return site.error("its data_format is " + format + "; expected " + last + " or " + first);
  slide.channels_last = format == last;
  WHET_TRY(const TfList strides, site.list("strides"));
  WHET_TRY(const TfList dilations, site.list("dilations"));
  WHET_TRY(slide.window.strides, spatial_entries(site, slide, "strides", strides.integers));
  WHET_TRY(slide.window.dilations, spatial_entries(site, slide, "dilations", dilations.integers));
  WHET_TRY(slide.padding, site.text("padding", "VALID"));
  slide.window.pads_begin = slide.window.pads_end = Ints(spatial, 0);
  if (slide.padding != "EXPLICIT") {
    if (slide.padding == "SAME" || slide.padding == "VALID") return slide;
    return site.error("its padding is " + slide.padding + "; expected SAME, VALID or EXPLICIT");
  }
  WHET_TRY(const TfList pads, site.list("explicit_paddings"));
  constexpr std::int64_t kMost = 1 << 20;
  if (pads.integers.size() != 2 * spatial + 4)
    return site.error("has " + std::to_string(pads.integers.size()) + " explicit paddings; expected " +
                      std::to_string(2 * spatial + 4));
  for (std::size_t d = 0; d < spatial; ++d) {
    slide.window.pads_begin[d] = pads.integers[2 * slide.place(d)];
    slide.window.pads_end[d] = pads.integers[2 * slide.place(d) + 1];
    if (slide.window.pads_begin[d] < 0 || slide.window.pads_end[d] < 0 || slide.window.pads_begin[d] > kMost ||
        slide.window.pads_end[d] > kMost)
      return site.error("its explicit paddings are " + to_string(pads.integers));
  }
  return slide;
}

void pad_window(Slide& slide, const Shape& x, const Shape& kernel) {
  if (slide.padding == "SAME") pad_to_same(slide.window, slide.extents(x), kernel, SamePadding::upper);
}

/// Weights [h, w, C, m] of a depthwise convolution as [h, w, 1, C * m].
Result<ValueId> depthwise_weights(TfSite& site, ValueId w) {
  const Shape shape = site.shape(w);
  if (shape.size() != 4) return site.error("the weights are " + to_string(shape) + "; expected four dimensions");
  return site.add("channels", ReshapeOperator{{shape[0], shape[1], 1, shape[2] * shape[3]}}, {w});
}

/// A list [C] along the channels of an image.
Result<ValueId> along_channels(TfSite& site, ValueId list, const Slide& slide) {
  if (slide.channels_last || site.rank(list) != 1) return list;
  Shape shape(slide.spatial + 1, 1);
  shape[0] = site.shape(list)[0];
  return site.add("channels", ReshapeOperator{shape}, {list});
}

/// What the extra inputs of a fused operator are used for, one after the other.
struct Fused {
  std::size_t next = 2;  ///< input
  Slide slide;
};

Result<ValueId> fused_step(TfSite& site, const std::string& op, ValueId y, Fused& fused) {
  const auto take = [&]() -> Result<ValueId> {
    if (fused.next < site.input_count()) return site.in(fused.next++);
    return site.error("has no input for the " + op + " in it");
  };
  if (op == "BiasAdd") {
    WHET_TRY(ValueId bias, take());
    WHET_TRY(bias, along_channels(site, bias, fused.slide));
    return site.add("biased", BinaryOperator{BinaryKind::add}, {y, bias});
  }
  if (op == "FusedBatchNorm") {
    ValueId parameters[4];
    for (ValueId& each : parameters) {
      WHET_TRY(each, take());
    }
    WHET_TRY(const double epsilon, site.number("epsilon", 1e-4));
    return batch_norm(site, y, {parameters[0], parameters[1], parameters[2], parameters[3]},
                      BatchNormOperator{epsilon, fused.slide.layout()});
  }
  if (op == "Prelu") {
    WHET_TRY(const ValueId slopes, take());
    return prelu(site, y, slopes);
  }
  if (op == "LeakyRelu") {
    WHET_TRY(const double alpha, site.number("leakyrelu_alpha", 0.2));
    return site.add("leaky", LeakyReluOperator{alpha}, {y});
  }
  if (op == "Relu") return site.add("relu", UnaryOperator{UnaryKind::relu}, {y});
  if (op == "Relu6") return site.add("clip", ClipOperator{0, 6}, {y});
  if (op == "Elu") return elu(site, y, {});
  if (op == "Sigmoid") return site.add("sigmoid", UnaryOperator{UnaryKind::sigmoid}, {y});
  if (op == "Tanh") return site.add("tanh", UnaryOperator{UnaryKind::tanh}, {y});
  return site.error("has " + in_quotes(op) + " in it, which is not supported");
}

/// What is fused behind a convolution or a product: a bias first, which a convolution takes itself.
Status give_fused(TfSite& site, ValueId y, Fused fused) {
  WHET_TRY(const TfList ops, site.list("fused_ops"));
  for (const std::string& op : ops.texts) {
    WHET_TRY(y, fused_step(site, op, y, fused));
  }
  if (fused.next != site.input_count())
    return site.error("has " + std::to_string(site.input_count()) + " inputs; its fused operators take " +
                      std::to_string(fused.next));
  return site.give(y);
}

Status give_conv(TfSite& site, std::size_t spatial, bool depthwise, bool fused) {
  WHET_RETURN_IF_ERROR(fused ? site.expect_inputs(2, 16) : site.expect_inputs(2));
  WHET_TRY(Slide slide, read_slide(site, spatial));
  ValueId w = site.in(1);
  if (depthwise) {
    const Shape shape = site.shape(w);
    WHET_RETURN_IF_ERROR(expect_image(site, slide, site.in(0)));
    if (shape.size() != 4 || shape[2] != site.shape(site.in(0))[slide.channel()])
      return site.error("convolves " + to_string(site.type(site.in(0))) + " by weights " + to_string(shape) +
                        "; expected [rows, columns, channels, results of each]");
    WHET_TRY(w, depthwise_weights(site, w));
  }
  const ConvForm form{slide.window, slide.padding == "SAME", slide.layout(), WeightOrder::kIO};
  WHET_TRY(const ValueId y, convolution(site, "conv", site.in(0), w, std::nullopt, form));
  return fused ? give_fused(site, y, {2, slide}) : site.give(y);
}

Status give_pool(TfSite& site, PoolKind kind, std::size_t spatial) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, 3));
  WHET_TRY(Slide slide, read_slide(site, spatial));
  WHET_TRY(const TfList sizes, site.list("ksize"));
  Ints kernel_list = sizes.integers;
  if (site.input_count() == 3) {  // MaxPoolV2
    WHET_TRY(kernel_list, site.integers(1, "list of kernel sizes"));
    WHET_TRY(const Ints strides, site.integers(2, "list of strides"));
    WHET_TRY(slide.window.strides, spatial_entries(site, slide, "strides", strides));
  } else if (site.input_count() == 2) {
    return site.error("has 2 inputs; expected 1 or 3");
  }
  ValueId x = site.in(0);
  WHET_RETURN_IF_ERROR(expect_image(site, slide, x));
  WHET_TRY(const Ints kernel, spatial_entries(site, slide, "kernel sizes", kernel_list));
  Shape windows(spatial + 2, 1);
  for (std::size_t d = 0; d < spatial; ++d) windows[slide.place(d)] = kernel[d];
  const bool may_take = kind == PoolKind::max && slide.padding == "VALID";
  if (const auto before = may_take ? pad_of_maximum(site.graph().graph, x, windows) : std::nullopt) {
    x = before->image;
    for (std::size_t d = 0; d < spatial; ++d) {
      slide.window.pads_begin[d] = before->pad.begin[slide.place(d)];
      slide.window.pads_end[d] = before->pad.end[slide.place(d)];
    }
  }
  pad_window(slide, site.shape(x), kernel);
  const Shape extents = slide.extents(site.shape(x));
  if (kind == PoolKind::average && kernel == extents && slide.padding == "VALID") {
    ReduceOperator mean{ReduceKind::mean, {}, true};
    for (std::size_t d = 0; d < spatial; ++d) mean.axes.push_back(static_cast<std::int64_t>(slide.place(d)));
    return site.give(mean, {x});
  }
  PoolOperator op{
      kind, kernel, slide.window.strides, slide.window.dilations, slide.window.pads_begin, slide.window.pads_end};
  op.layout = slide.layout();
  return site.give(op, {x});
}

/// The gradient of a convolution, which is the transposed one: (shape of the result, weights [kernel..., O, I], image).
Status give_transposed(TfSite& site, std::size_t spatial) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3));
  WHET_TRY(Slide slide, read_slide(site, spatial));
  WHET_TRY(Ints result, site.integers(0, "shape"));
  ValueId x = site.in(2), w = site.in(1);
  WHET_RETURN_IF_ERROR(expect_image(site, slide, x));
  const Shape weights = site.shape(w);
  // Some files give the spatial extents alone.
  if (result.size() == spatial) {
    Ints whole = site.shape(x);
    for (std::size_t d = 0; d < spatial; ++d) whole[slide.place(d)] = result[d];
    if (weights.size() == spatial + 2) whole[slide.channel()] = weights[spatial];
    result = whole;
  }
  if (weights.size() != spatial + 2 || result.size() != spatial + 2 ||
      weights[spatial + 1] != site.shape(x)[slide.channel()])
    return site.error("convolves " + to_string(site.type(x)) + " by weights " + to_string(weights) + " to " +
                      to_string(result));
  ConvTranspose form;
  form.window = slide.window;
  form.output_padding = Ints(spatial, 0);
  const Shape extents = slide.extents(result);
  for (const std::int64_t extent : extents)
    if (extent < 1 || extent > kMaxElements) return site.error("makes an image of " + to_string(result));
  pad_window(slide, result, Shape(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(spatial)));
  form.window = slide.window;
  const Shape own = slide.extents(site.shape(x));
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::int64_t reach = form.window.dilations[d] * (weights[d] - 1) + 1;
    const std::int64_t made =
        (own[d] - 1) * form.window.strides[d] + reach - form.window.pads_begin[d] - form.window.pads_end[d];
    form.output_padding[d] = extents[d] - made;
    if (form.output_padding[d] < 0 || form.output_padding[d] >= form.window.strides[d])
      return site.error("makes " + std::to_string(extents[d]) + " pixels of " + std::to_string(own[d]));
  }
  TransposeOperator turn{{static_cast<std::int64_t>(spatial) + 1, static_cast<std::int64_t>(spatial)}};
  for (std::size_t d = 0; d < spatial; ++d) turn.perm.push_back(static_cast<std::int64_t>(d));
  if (slide.channels_last) {
    WHET_TRY(x, site.add("channels_first", move_axis(spatial + 2, spatial + 1, 1), {x}));
  }
  WHET_TRY(w, site.add("weights", turn, {w}));  // [I, O, kernel...]
  WHET_TRY(ValueId y, conv_transposed(site, x, w, std::nullopt, form));
  if (slide.channels_last) {
    WHET_TRY(y, site.add("channels_last", move_axis(spatial + 2, 1, spatial + 1), {y}));
  }
  return site.give(y);
}

Status import_conv2d(TfSite& site) { return give_conv(site, 2, false, false); }
Status import_conv3d(TfSite& site) { return give_conv(site, 3, false, false); }
Status import_depthwise(TfSite& site) { return give_conv(site, 2, true, false); }
Status import_fused_conv2d(TfSite& site) { return give_conv(site, 2, false, true); }
Status import_fused_depthwise(TfSite& site) { return give_conv(site, 2, true, true); }
Status import_conv2d_transpose(TfSite& site) { return give_transposed(site, 2); }
Status import_conv3d_transpose(TfSite& site) { return give_transposed(site, 3); }
Status import_max_pool(TfSite& site) { return give_pool(site, PoolKind::max, 2); }
Status import_max_pool3d(TfSite& site) { return give_pool(site, PoolKind::max, 3); }
Status import_average_pool(TfSite& site) { return give_pool(site, PoolKind::average, 2); }
Status import_average_pool3d(TfSite& site) { return give_pool(site, PoolKind::average, 3); }

Status import_bias_add(TfSite& site) {
  WHET_TRY(const std::string format, site.text("data_format", "NHWC"));
  ValueId bias = site.in(1);
  const std::size_t rank = site.rank(site.in(0));
  if (site.rank(bias) != 1 || rank < 2)
    return site.error("adds a bias of " + to_string(site.type(bias)) + " to " + to_string(site.type(site.in(0))));
  if (format == "NCHW" && rank > 2) {
    Shape shape(rank - 1, 1);
    shape[0] = site.shape(bias)[0];
    WHET_TRY(bias, site.add("channels", ReshapeOperator{shape}, {bias}));
  }
  return site.give(BinaryOperator{BinaryKind::add}, {site.in(0), bias});
}

/// Keras writes a layer normalization as a batch normalization of one image, whose channels are the rows.
Result<bool> normalizes_rows(TfSite& site) {
  WHET_TRY(const std::string format, site.text("data_format", "NHWC"));
  const Shape& x = site.shape(site.in(0));
  return format == "NCHW" && x.size() == 4 && x[0] == 1 && num_elements(x) > 0;
}
Status give_normalized_rows(TfSite& site) {
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-4));
  const std::int64_t size = site.shape(site.in(0))[1];
  for (const std::size_t i : {1, 2})
    if (site.shape(site.in(i)) != Shape{size})
      return site.error("scales " + to_string(site.type(site.in(0))) + " by " + to_string(site.type(site.in(i))));
  return site.give(instance_norm(site, site.in(0), site.in(1), site.in(2), epsilon));
}

/// (x, mean, variance, shift, scale), which is not read unless an attribute says so.
Status import_global_batch_norm(TfSite& site) {
  WHET_TRY(const double epsilon, site.number("variance_epsilon", 1e-3));
  WHET_TRY(const bool scaled, site.flag("scale_after_normalization", true));
  ValueId scale = site.in(4);
  if (!scaled) {
    const Shape channels = site.shape(site.in(1));
    WHET_TRY(scale, filled(site, channels, Tensor::of<double>(site.dtype(site.in(0)), {}, {1})));
  }
  return site.give(batch_norm(site, site.in(0), {scale, site.in(3), site.in(1), site.in(2)},
                              BatchNormOperator{epsilon, Layout::channels_last}));
}

/// The pixels of each window, row by row, behind each other: [N, rows, columns, taps * C].
Status import_image_patches(TfSite& site) {
  const Shape x = site.shape(site.in(0));
  WHET_TRY(const TfList sizes, site.list("ksizes"));
  WHET_TRY(const TfList strides, site.list("strides"));
  WHET_TRY(const TfList rates, site.list("rates"));
  WHET_TRY(const std::string padding, site.text("padding", "VALID"));
  constexpr std::int64_t kMost = 1 << 20;
  const auto fits = [](const TfList& list) {
    return list.integers.size() == 4 && list.integers[0] == 1 && list.integers[3] == 1 &&
           std::all_of(list.integers.begin(), list.integers.end(), [](std::int64_t v) { return v >= 1 && v <= kMost; });
  };
  if (x.size() != 4 || num_elements(x) == 0 || !fits(sizes) || !fits(strides) || !fits(rates) ||
      (padding != "SAME" && padding != "VALID"))
    return site.error("takes windows of " + to_string(site.type(site.in(0))) +
                      "; expected a batch of images, and sizes, strides and rates [1, rows, columns, 1]");
  UnfoldForm form{{sizes.integers[1], sizes.integers[2]},
                  {{strides.integers[1], strides.integers[2]}, {rates.integers[1], rates.integers[2]}, {0, 0}, {0, 0}}};
  if (padding == "SAME") pad_to_same(form.window, {x[1], x[2]}, form.block, SamePadding::upper);
  WHET_TRY(const ValueId image, site.add("channels_first", TransposeOperator{{0, 3, 1, 2}}, {site.in(0)}));
  WHET_TRY(ValueId y, unfold(site, image, form));
  const std::int64_t taps = num_elements(form.block), count = site.shape(y)[2];
  Shape places(2);
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t reach = form.window.dilations[d] * (form.block[d] - 1) + 1;
    places[d] = (x[d + 1] + form.window.pads_begin[d] + form.window.pads_end[d] - reach) / form.window.strides[d] + 1;
  }
  if (num_elements(places) != count) return site.error("has " + std::to_string(count) + " windows");
  WHET_TRY(y, site.add("taps", ReshapeOperator{{x[0], x[3], taps, count}}, {y}));
  WHET_TRY(y, site.add("channels_last", TransposeOperator{{0, 3, 2, 1}}, {y}));
  return site.give(ReshapeOperator{{x[0], places[0], places[1], taps * x[3]}}, {y});
}

Status import_fused_batch_norm(TfSite& site) {
  WHET_TRY(const bool training, site.flag("is_training", true));
  if (training) {
    WHET_TRY(const bool rows, normalizes_rows(site));
    if (rows) return give_normalized_rows(site);
    return site.error(
        "was saved in training mode; in Python: export a function that calls the model with training=False");
  }
  WHET_TRY(const double epsilon, site.number("epsilon", 1e-4));
  WHET_TRY(const std::string format, site.text("data_format", "NHWC"));
  const Layout layout = format.starts_with("NC") ? Layout::channels_first : Layout::channels_last;
  return site.give(batch_norm(site, site.in(0), {site.in(1), site.in(2), site.in(3), site.in(4)},
                              BatchNormOperator{epsilon, layout}));
}

Status import_matmul(TfSite& site) {
  WHET_TRY(const bool a, site.flag("transpose_a", false));
  WHET_TRY(const bool b, site.flag("transpose_b", false));
  return site.give(MatMulOperator{a, b}, {site.in(0), site.in(1)});
}
Status import_fused_matmul(TfSite& site) {
  WHET_TRY(const bool a, site.flag("transpose_a", false));
  WHET_TRY(const bool b, site.flag("transpose_b", false));
  WHET_TRY(const ValueId y, site.add("product", MatMulOperator{a, b}, {site.in(0), site.in(1)}));
  return give_fused(site, y, {});
}
Status import_batch_matmul(TfSite& site) {
  WHET_TRY(const bool a, site.flag("adj_x", false));
  WHET_TRY(const bool b, site.flag("adj_y", false));
  return site.give(MatMulOperator{a, b}, {site.in(0), site.in(1)});
}

/// Over the last dimension: channels within a radius of each.
Status import_lrn(TfSite& site) {
  WHET_TRY(const std::int64_t radius, site.integer("depth_radius", 5));
  WHET_TRY(const double bias, site.number("bias", 1));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  WHET_TRY(const double beta, site.number("beta", 0.5));
  if (radius < 0 || radius > (1 << 20) || site.rank(site.in(0)) != 4)
    return site.error("normalizes " + to_string(site.type(site.in(0))) + " within " + std::to_string(radius) +
                      " channels");
  WHET_TRY(const ValueId x, site.add("channels_first", TransposeOperator{{0, 3, 1, 2}}, {site.in(0)}));
  const std::int64_t size = 2 * radius + 1;
  WHET_TRY(const ValueId y, lrn(site, x, {size, alpha * static_cast<double>(size), beta, bias}));
  return site.give(TransposeOperator{{0, 2, 3, 1}}, {y});
}

}  // namespace

TfRows window_rows() {
  static constexpr TfRow kRows[] = {
      {"AvgPool", import_average_pool},
      {"AvgPool3D", import_average_pool3d},
      {"BatchMatMul", 2, import_batch_matmul},
      {"BatchMatMulV2", 2, import_batch_matmul},
      {"BatchMatMulV3", 2, import_batch_matmul},
      {"BatchNormWithGlobalNormalization", 5, import_global_batch_norm},
      {"BiasAdd", 2, import_bias_add},
      {"Conv2D", import_conv2d},
      {"Conv2DBackpropInput", import_conv2d_transpose},
      {"Conv3D", import_conv3d},
      {"Conv3DBackpropInputV2", import_conv3d_transpose},
      {"DepthwiseConv2dNative", import_depthwise},
      {"ExtractImagePatches", 1, import_image_patches},
      {"FusedBatchNorm", 5, import_fused_batch_norm},
      {"FusedBatchNormV2", 5, import_fused_batch_norm},
      {"FusedBatchNormV3", 5, import_fused_batch_norm},
      {"FusedDepthwiseConv2dNative", import_fused_depthwise},
      {"LRN", 1, import_lrn},
      {"MatMul", 2, import_matmul},
      {"MaxPool", import_max_pool},
      {"MaxPool3D", import_max_pool3d},
      {"MaxPoolV2", import_max_pool},
      {"_FusedConv2D", import_fused_conv2d},
      {"_FusedDepthwiseConv2dNative", import_fused_depthwise},
      {"_FusedMatMul", {2, 16}, import_fused_matmul},
  };
  return kRows;
}

}  // namespace whet::tensorflow
