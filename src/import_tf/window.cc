#include "import/parts/window.h"

#include <algorithm>

#include "base/nearest.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"
#include "import/parts/constant.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/normalize.h"
#include "import/parts/unfold.h"
#include "import_tf/rows.h"

// Images stay as the file has them: convolutions and pools of the graph take channels last.

namespace whet::tensorflow {
namespace {

constexpr std::int64_t kMostPixels = 1 << 20;

/// An entry for each dimension of the image, of which those of batch and channels are 1; gives the spatial ones.
Result<Ints> spatial_entries(const NodeSite& site, std::size_t spatial, Layout layout, const std::string& what,
                             const Ints& list) {
  if (list.empty()) return Ints(spatial, 1);
  if (list.size() != spatial + 2 || list[0] != 1 || list[channel_of(layout, spatial)] != 1)
    return site.error("its " + what + " are " + to_string(list) + "; expected " + std::to_string(spatial + 2) +
                      " entries, of which those of batch and channels are 1");
  Ints entries;
  for (std::size_t d = 0; d < spatial; ++d) entries.push_back(list[place_of(layout, d)]);
  for (const std::int64_t entry : entries)
    if (entry < 1 || entry > kMostPixels) return site.error("its " + what + " are " + to_string(list));
  return entries;
}

/// "NHWC" and the like.
Result<Layout> read_layout(const CallSite& site) {
  WHET_TRY(const std::int64_t format, site.choice("data_format", "NHWC", {"NCHW", "NHWC", "NCDHW", "NDHWC"}));
  return format % 2 == 0 ? Layout::channels_first : Layout::channels_last;
}

/// How a window slides over x: layout, padding and dilations.
Result<ConvForm> read_form(const CallSite& site, ValueId x, const Ints& strides) {
  const Shape& shape = site.shape(x);
  if (shape.size() < 3 || shape.size() > 5 || num_elements(shape) == 0)
    return site.error("the input is " + to_string(site.type(x)) +
                      "; expected a batch, channels and one to three dimensions");
  const std::size_t spatial = shape.size() - 2;
  WHET_TRY(const Layout layout, read_layout(site));
  WHET_TRY(const std::int64_t padding, site.choice("padding", "VALID", {"VALID", "SAME", "EXPLICIT"}));
  WHET_TRY(const Ints dilations, site.integers("dilations", {}));
  ConvForm form{.same = padding == 1, .layout = layout, .weights = WeightOrder::kIO};
  Window& window = form.window;
  WHET_TRY(window.strides, spatial_entries(site, spatial, layout, "strides", strides));
  WHET_TRY(window.dilations, spatial_entries(site, spatial, layout, "dilations", dilations));
  window.pads_begin = window.pads_end = Ints(spatial, 0);
  if (padding != 2) return form;
  WHET_TRY(const Ints pads, site.integers("explicit_paddings", {}));
  const bool fits = pads.size() == 2 * spatial + 4 && std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) {
                      return pad >= 0 && pad <= kMostPixels;
                    });
  if (!fits)
    return site.error("its explicit paddings are " + to_string(pads) + "; expected " + std::to_string(2 * spatial + 4) +
                      " of at least 0");
  for (std::size_t d = 0; d < spatial; ++d) {
    window.pads_begin[d] = pads[2 * place_of(layout, d)];
    window.pads_end[d] = pads[2 * place_of(layout, d) + 1];
  }
  return form;
}

/// TensorFlow Lite has a bias, and other orders of weights.
Result<ValueId> conv(CallSite& site, ValueId x, ValueId w, std::optional<ValueId> bias, const Ints& strides,
                     WeightOrder order) {
  WHET_TRY(ConvForm form, read_form(site, x, strides));
  form.weights = order;
  return convolution(site, "conv", x, w, bias, form);
}

/// Weights [h, w, C, m].
Result<ValueId> depthwise_conv(CallSite& site, ValueId x, ValueId w, const Ints& strides) {
  WHET_TRY(const ConvForm form, read_form(site, x, strides));
  const Shape shape = site.shape(w);
  if (shape.size() != 4 || site.rank(x) != 4 || shape[2] != site.shape(x)[channel_of(form.layout, 2)])
    return site.error("convolves " + to_string(site.type(x)) + " by weights " + to_string(shape) +
                      "; expected [rows, columns, channels, results of each]");
  WHET_TRY(w, site.add("channels", ReshapeOperator{{shape[0], shape[1], 1, shape[2] * shape[3]}}, {w}));
  return convolution(site, "conv", x, w, std::nullopt, form);
}

/// A list [C] along the channels of images that y is of.
Result<ValueId> along_channels(NodeSite& site, ValueId list, ValueId y, Layout layout) {
  if (layout == Layout::channels_last || site.rank(list) != 1 || site.rank(y) < 3) return list;
  Shape shape(site.rank(y) - 1, 1);
  shape[0] = site.shape(list)[0];
  return site.add("channels", ReshapeOperator{shape}, {list});
}

/// An operator that is fused behind a convolution or a product, which takes what it needs of `rest`.
Result<ValueId> fused_step(CallSite& site, const std::string& op, ValueId y, Layout layout, ValueIds& rest) {
  const auto take = [&]() -> Result<ValueId> {
    if (rest.empty()) return site.error("has no input for the " + op + " in it");
    const ValueId next = rest.front();
    rest.erase(rest.begin());
    return next;
  };
  if (op == "BiasAdd") {
    WHET_TRY(ValueId bias, take());
    WHET_TRY(bias, along_channels(site, bias, y, layout));
    return site.add("biased", BinaryOperator{BinaryKind::add}, {y, bias});
  }
  if (op == "FusedBatchNorm") {
    ValueId parameters[4];
    for (ValueId& each : parameters) {
      WHET_TRY(each, take());
    }
    WHET_TRY(const double epsilon, site.number("epsilon", 1e-4));
    return batch_norm(site, y, {parameters[0], parameters[1], parameters[2], parameters[3]},
                      BatchNormOperator{epsilon, layout});
  }
  if (op == "Prelu") {
    WHET_TRY(const ValueId slopes, take());
    return prelu(site, y, slopes);
  }
  if (op == "LeakyRelu") {
    WHET_TRY(const double alpha, site.number("leakyrelu_alpha", 0.2));
    return site.add("leaky", LeakyReluOperator{alpha}, {y});
  }
  if (op == "Elu") return elu(site, y, {});
  if (op == "Relu") return site.add("relu", UnaryOperator{UnaryKind::relu}, {y});
  if (op == "Relu6") return site.add("clip", ClipOperator{0, 6}, {y});
  if (op == "Sigmoid") return site.add("sigmoid", UnaryOperator{UnaryKind::sigmoid}, {y});
  if (op == "Tanh") return site.add("tanh", UnaryOperator{UnaryKind::tanh}, {y});
  return site.error("has " + in_quotes(op) + " in it, which is not supported");
}

Result<ValueId> fused(CallSite& site, ValueId y, ValueIds rest) {
  WHET_TRY(const Texts ops, site.texts("fused_ops", {}));
  WHET_TRY(const Layout layout, read_layout(site));
  for (const std::string& op : ops) {
    WHET_TRY(y, fused_step(site, op, y, layout, rest));
  }
  if (rest.empty()) return y;
  return site.error("has " + std::to_string(site.input_count()) + " inputs; its fused operators take " +
                    std::to_string(site.input_count() - rest.size()));
}
template <bool depthwise>
Result<ValueId> fused_conv(CallSite& site, ValueId x, ValueId w, const ValueIds& rest, const Ints& strides) {
  WHET_TRY(const ValueId y,
           depthwise ? depthwise_conv(site, x, w, strides) : conv(site, x, w, std::nullopt, strides, WeightOrder::kIO));
  return fused(site, y, rest);
}
Result<ValueId> fused_matmul(CallSite& site, ValueId a, ValueId b, const ValueIds& rest, bool turn_a, bool turn_b) {
  WHET_TRY(const ValueId y, site.add("product", MatMulOperator{turn_a, turn_b}, {a, b}));
  return fused(site, y, rest);
}

/// TensorFlow Lite has the root of the mean of squares.
template <PoolKind kind>
Result<ValueId> pool(CallSite& site, ValueId x, const Ints& sizes, const Ints& strides, bool of_squares) {
  WHET_TRY(ConvForm form, read_form(site, x, strides));
  Window& window = form.window;
  const std::size_t spatial = window.strides.size();
  WHET_TRY(const Ints kernel, spatial_entries(site, spatial, form.layout, "kernel sizes", sizes));
  const Ints none(spatial, 0);
  const bool is_padded = form.same || window.pads_begin != none || window.pads_end != none;
  Shape windows(spatial + 2, 1);
  ReduceOperator mean{ReduceKind::mean, {}, true};
  for (std::size_t d = 0; d < spatial; ++d) {
    windows[place_of(form.layout, d)] = kernel[d];
    mean.axes.push_back(static_cast<std::int64_t>(place_of(form.layout, d)));
  }
  const bool may_take = kind == PoolKind::max && !is_padded;
  if (const auto before = may_take ? pad_of_maximum(site.graph().graph, x, windows) : std::nullopt) {
    x = before->image;
    for (std::size_t d = 0; d < spatial; ++d) {
      window.pads_begin[d] = before->pad.begin[place_of(form.layout, d)];
      window.pads_end[d] = before->pad.end[place_of(form.layout, d)];
    }
  }
  const Shape extents = spatial_extents(site.shape(x), form.layout);
  if (form.same) pad_to_same(window, extents, kernel, SamePadding::upper);
  if (of_squares) {
    WHET_TRY(x, site.add("squares", BinaryOperator{BinaryKind::mul}, {x, x}));
  }
  PoolOperator op{kind, kernel, window.strides, window.dilations, window.pads_begin, window.pads_end};
  op.layout = form.layout;
  const bool is_mean = kind == PoolKind::average && kernel == extents && !is_padded;
  WHET_TRY(const ValueId y, is_mean ? site.add("mean", mean, {x}) : site.add("pool", op, {x}));
  return of_squares ? site.add("root", UnaryOperator{UnaryKind::sqrt}, {y}) : Result<ValueId>(y);
}

/// The gradient of a convolution, which is the transposed one. Some files give the spatial extents of the result alone.
Result<ValueId> conv_back(CallSite& site, const Ints& result, ValueId w, ValueId x, std::optional<ValueId> bias,
                          const Ints& strides, WeightOrder order) {
  WHET_TRY(ConvForm form, read_form(site, x, strides));
  form.weights = order;
  const Shape image = site.shape(x), weights = site.shape(w);
  const bool whole = result.size() == image.size();
  if (weights.size() != image.size() || (!whole && result.size() + 2 != image.size()))
    return site.error("convolves " + to_string(site.type(x)) + " by weights " + to_string(weights) + " to " +
                      to_string(result));
  return transposed_convolution(site, x, w, bias, form, whole ? spatial_extents(result, form.layout) : result);
}

Status bias_add(CallSite& site, ValueId x, ValueId bias) {
  WHET_TRY(const Layout layout, read_layout(site));
  if (site.rank(bias) != 1 || site.rank(x) < 2)
    return site.error("adds a bias of " + to_string(site.type(bias)) + " to " + to_string(site.type(x)));
  WHET_TRY(bias, along_channels(site, bias, x, layout));
  return site.give(BinaryOperator{BinaryKind::add}, {x, bias});
}

/// (x, mean, variance, shift, scale), which is not read unless it is `scaled`.
Result<ValueId> global_batch_norm(NodeSite& site, ValueId x, ValueId mean, ValueId variance, ValueId shift,
                                  ValueId scale, double epsilon, bool scaled) {
  if (!scaled) {
    const Shape channels = site.shape(mean);
    WHET_TRY(scale, filled(site, channels, Tensor::of<double>(site.dtype(x), {}, {1})));
  }
  return batch_norm(site, x, {scale, shift, mean, variance}, BatchNormOperator{epsilon, Layout::channels_last});
}

/// The pixels of each window, row by row, behind each other: [N, rows, columns, taps * C].
Result<ValueId> image_patches(CallSite& site, ValueId x, const Ints& sizes, const Ints& strides, const Ints& rates) {
  WHET_TRY(const ConvForm form, read_form(site, x, strides));
  const Shape shape = site.shape(x);
  if (shape.size() != 4) return site.error("takes windows of " + to_string(site.type(x)) + "; expected images");
  UnfoldForm unfolding{{}, form.window};
  WHET_TRY(unfolding.block, spatial_entries(site, 2, Layout::channels_last, "sizes", sizes));
  Window& window = unfolding.window;
  WHET_TRY(window.dilations, spatial_entries(site, 2, Layout::channels_last, "rates", rates));
  if (form.same) pad_to_same(window, {shape[1], shape[2]}, unfolding.block, SamePadding::upper);
  WHET_TRY(const ValueId image, site.add("channels_first", TransposeOperator{{0, 3, 1, 2}}, {x}));
  WHET_TRY(ValueId y, unfold(site, image, unfolding));
  const std::int64_t taps = num_elements(unfolding.block), count = site.shape(y)[2];
  Shape places(2);
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t reach = window.dilations[d] * (unfolding.block[d] - 1) + 1;
    places[d] = (shape[d + 1] + window.pads_begin[d] + window.pads_end[d] - reach) / window.strides[d] + 1;
  }
  if (num_elements(places) != count) return site.error("has " + std::to_string(count) + " windows");
  WHET_TRY(y, site.add("taps", ReshapeOperator{{shape[0], shape[3], taps, count}}, {y}));
  WHET_TRY(y, site.add("channels_last", TransposeOperator{{0, 3, 2, 1}}, {y}));
  return site.add("patches", ReshapeOperator{{shape[0], places[0], places[1], taps * shape[3]}}, {y});
}

/// Keras writes a layer normalization as a batch normalization of one image, whose channels are the rows.
Result<ValueId> fused_batch_norm(CallSite& site, ValueId x, ValueId scale, ValueId shift, ValueId mean,
                                 ValueId variance, double epsilon, bool training) {
  WHET_TRY(const Layout layout, read_layout(site));
  if (!training) return batch_norm(site, x, {scale, shift, mean, variance}, BatchNormOperator{epsilon, layout});
  const Shape& shape = site.shape(x);
  if (layout != Layout::channels_first || shape.size() != 4 || shape[0] != 1 || num_elements(shape) == 0)
    return site.error(
        "was saved in training mode; in Python: export a function that calls the model with training=False");
  for (const ValueId list : {scale, shift})
    if (site.shape(list) != Shape{shape[1]})
      return site.error("scales " + to_string(site.type(x)) + " by " + to_string(site.type(list)));
  return instance_norm(site, x, scale, shift, epsilon);
}

/// Over the last dimension: channels within a radius of each.
Status lrn_of_last(NodeSite& site, ValueId x, std::int64_t radius, double bias, double alpha, double beta) {
  if (radius < 0 || radius > kMostPixels || site.rank(x) != 4)
    return site.error("normalizes " + to_string(site.type(x)) + " within " + std::to_string(radius) + " channels");
  WHET_TRY(x, site.add("channels_first", TransposeOperator{{0, 3, 1, 2}}, {x}));
  const std::int64_t size = 2 * radius + 1;
  WHET_TRY(const ValueId y, lrn(site, x, size, alpha * static_cast<double>(size), beta, bias));
  return site.give(TransposeOperator{{0, 2, 3, 1}}, {y});
}

}  // namespace

/// What `read_form`, `read_layout` and fused operators read is behind the parameters.
TfRows window_rows() {
  static constexpr std::string_view kConv = "x w bias? @strides= @weights:OIk|OkI|kIO|one_kO|kOI=kIO",
                                    kConvBack = "shape w x bias? @strides= @weights:OIk|OkI|kIO|one_kO|kOI=kOI",
                                    kPool = "x @ksize= @strides= @of_squares=0", kMatMul = "a b @adj_x=0 @adj_y=0",
                                    kNorm = "x scale shift mean variance @epsilon=1e-4 @is_training=1";
  constexpr auto matmul = calls<two_operands<MatMulOperator, bool, bool>>;
  static constexpr TfRow kRows[] = {
      {"AvgPool AvgPool3D", kPool, calls<pool<PoolKind::average>>},
      {"BatchMatMul BatchMatMulV2 BatchMatMulV3", kMatMul, matmul},
      {"BatchNormWithGlobalNormalization",
       "x mean variance shift scale @variance_epsilon=1e-3 @scale_after_normalization=1", calls<global_batch_norm>},
      {"BiasAdd", "x bias", calls<bias_add>},
      {"Conv2D Conv3D", kConv, calls<conv>},
      {"Conv2DBackpropInput Conv3DBackpropInputV2", kConvBack, calls<conv_back>},
      {"DepthwiseConv2dNative", "x w @strides=", calls<depthwise_conv>},
      {"ExtractImagePatches", "x @ksizes= @strides= @rates=", calls<image_patches>},
      {"FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", kNorm, calls<fused_batch_norm>},
      {"FusedDepthwiseConv2dNative _FusedDepthwiseConv2dNative", "x w rest...? @strides=", calls<fused_conv<true>>},
      {"LRN", "x @depth_radius=5 @bias=1 @alpha=1 @beta=0.5", calls<lrn_of_last>},
      {"MatMul", "a b @transpose_a=0 @transpose_b=0", matmul},
      {"MaxPool MaxPool3D", kPool, calls<pool<PoolKind::max>>},
      {"MaxPoolV2", "x list_of_kernel_sizes list_of_strides =0", calls<pool<PoolKind::max>>},
      {"_FusedConv2D", "x w rest...? @strides=", calls<fused_conv<false>>},
      {"_FusedMatMul", "a b rest...? @transpose_a=0 @transpose_b=0", calls<fused_matmul>},
  };
  return kRows;
}

}  // namespace whet::tensorflow
