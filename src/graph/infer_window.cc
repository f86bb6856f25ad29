#include "base/counted.h"
#include "graph/border.h"
#include "graph/infer.h"

namespace whet {

ChannelPlace channel_place(Layout layout, std::size_t rank) {
  switch (layout) {
    case Layout::channels_first:
      return {1, 2, rank - 2};
    case Layout::channels_last:
      return {rank - 1, 1, rank - 2};
    case Layout::channels_blocked:
      break;
  }
  return {1, 2, rank - 3};
}

Result<std::int64_t> window_positions(const InferSite& site, std::size_t spatial_dimension, std::int64_t extent,
                                      std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                                      std::int64_t pad_begin, std::int64_t pad_end) {
  const std::int64_t reach = dilation * (kernel - 1) + 1, padded = extent + pad_begin + pad_end;
  if (padded < reach) {
    return site.error("a window of " + std::to_string(reach) + " does not fit into spatial dimension " +
                      std::to_string(spatial_dimension) + " of extent " + std::to_string(extent) + " with padding " +
                      std::to_string(pad_begin) + " and " + std::to_string(pad_end));
  }
  return (padded - reach) / stride + 1;
}

namespace {

/// What convolutions and pools share: the attributes' sizes and signs, and the spatial extents of the result.
template <typename Window>
Result<Shape> slide(const InferSite& site, const Window& op, const std::vector<std::int64_t>& kernel) {
  const Shape& x = site.in(0).shape;
  const auto [channel, first, spatial] = channel_place(op.layout, x.size());
  WHET_RETURN_IF_ERROR(site.expect_entries("kernel_shape", kernel, spatial, 1));
  WHET_RETURN_IF_ERROR(site.expect_entries("strides", op.strides, spatial, 1));
  WHET_RETURN_IF_ERROR(site.expect_entries("dilations", op.dilations, spatial, 1));
  WHET_RETURN_IF_ERROR(site.expect_entries("pads (begin)", op.pads_begin, spatial, 0));
  WHET_RETURN_IF_ERROR(site.expect_entries("pads (end)", op.pads_end, spatial, 0));
  Shape result = x;
  for (std::size_t i = 0; i < spatial; ++i) {
    WHET_TRY(result[first + i], window_positions(site, i, x[first + i], kernel[i], op.strides[i], op.dilations[i],
                                                 op.pads_begin[i], op.pads_end[i]));
  }
  return result;
}

Status expect_activation(const InferSite& site, Layout layout) {
  const std::size_t rank = site.in(0).shape.size(), blocks = layout == Layout::channels_blocked ? 1 : 0;
  if (rank >= 3 + blocks && rank <= 5 + blocks) return ok_status();
  return site.error("input 0 is " + to_string(site.in(0)) + "; " + site.operation + " needs a batch, channels" +
                    (blocks > 0 ? " in blocks" : "") + " and one to three spatial dimensions");
}

std::int64_t channels_of(Layout layout, const Shape& x) {
  const std::int64_t outer = x[channel_place(layout, x.size()).channel];
  return layout == Layout::channels_blocked ? outer * x.back() : outer;
}

/// Quantized networks add up in i32, also numbers of i16.
Status expect_float_or_i32(const InferSite& site, bool wide) {
  const DType dtype = site.in(0).dtype;
  if (is_float(dtype) || dtype == DType::i32 || (wide && dtype == DType::i16)) return ok_status();
  return site.error("input 0 is " + to_string(site.in(0)) + "; " + site.operation + " needs f32, f64, f16 or i32");
}

/// The weights' extents, whichever way the layout orders them.
struct ConvWeights {
  std::int64_t outputs, inputs;  ///< inputs: channels read by one group
  Shape kernel;
};

Result<ConvWeights> conv_weights(const InferSite& site, const ConvOperator& op, std::int64_t channels) {
  const Shape& w = site.in(1).shape;
  const std::size_t spatial = channel_place(op.layout, site.in(0).shape.size()).spatial;
  const bool last = op.layout != Layout::channels_first;
  if (last && op.groups > 1 && op.groups == channels && w.size() == spatial + 1 && w.back() == channels) {
    return ConvWeights{channels, 1, Shape(w.begin(), w.end() - 1)};
  }
  if (w.size() != spatial + 2) {
    return site.error("the weights are " + to_string(site.in(1)) + " and the input is " + to_string(site.in(0)) +
                      "; expected " + std::to_string(spatial + 2) + " dimensions of weights");
  }
  if (last) return ConvWeights{w.back(), w[spatial], Shape(w.begin(), w.end() - 2)};
  return ConvWeights{w[0], w[1], Shape(w.begin() + 2, w.end())};
}

Status expect_channels(const InferSite& site, const ConvOperator& op, const ConvWeights& w, std::int64_t channels) {
  const std::int64_t g = op.groups;
  if (g < 1 || w.outputs < 1 || channels < 1 || w.outputs % g != 0 || channels % g != 0) {
    return site.error("attribute \"group\" is " + std::to_string(g) + "; it must divide the " +
                      std::to_string(channels) + " input channels and the " + std::to_string(w.outputs) +
                      " output channels");
  }
  if (w.inputs == channels / g) return ok_status();
  return site.error("the weights are " + to_string(site.in(1)) + ", which read " + std::to_string(w.inputs) +
                    " channels a group; the input has " + std::to_string(channels) + " channels in " +
                    counted(g, "group"));
}

/// The result's channels are whole blocks, and a depthwise convolution keeps the blocks of its input.
Status expect_blocks(const InferSite& site, const ConvOperator& op, std::int64_t outputs) {
  if (op.layout != Layout::channels_blocked) return ok_status();
  if (op.block < 1 || outputs % op.block != 0)
    return site.error("blocks of " + std::to_string(op.block) + " channels do not divide the " +
                      std::to_string(outputs) + " output channels");
  if (op.groups == 1) return ok_status();
  if (op.groups == outputs && site.in(1).shape.size() == op.strides.size() + 1 && op.block == site.in(0).shape.back())
    return ok_status();
  return site.error("channels in blocks of " + std::to_string(site.in(0).shape.back()) + " and " +
                    std::to_string(op.block) + " with " + std::to_string(op.groups) +
                    " groups; expected one group, or a depthwise convolution of equal blocks");
}

/// One value for each output channel, or for each of these and each place of the borders.
Status expect_bias(const InferSite& site, const ConvOperator& op, const TensorType& sum, std::int64_t outputs) {
  const TensorType& bias = site.in(2);
  if (bias.dtype != sum.dtype)
    return site.error("the bias is " + to_string(bias) + " and the sums are " + std::string(name_of(sum.dtype)));
  if (bias.shape == Shape{outputs}) return ok_status();
  if (bias.shape.size() == op.strides.size() + 1 &&
      bias.shape == border_bias_shape(op, site.in(0).shape, site.in(1).shape, sum.shape))
    return ok_status();
  return site.error("the bias is " + to_string(bias) + "; expected one value for each of the " +
                    std::to_string(outputs) + " output channels");
}

/// A window that sees padding alone has no maximum and no mean.
Status expect_windows_on_input(const InferSite& site, const PoolOperator& op, std::size_t i, std::int64_t extent,
                               std::int64_t positions) {
  const std::int64_t reach = op.dilations[i] * (op.kernel[i] - 1) + 1;
  if (op.pads_begin[i] < reach && (positions - 1) * op.strides[i] < extent + op.pads_begin[i]) return ok_status();
  return site.error("a window of " + std::to_string(reach) + " lies wholly in the padding of spatial dimension " +
                    std::to_string(i) + ": extent " + std::to_string(extent) + ", padding " +
                    std::to_string(op.pads_begin[i]) + " and " + std::to_string(op.pads_end[i]));
}

}  // namespace

Result<TensorType> infer(const InferSite& site, const ConvOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  const bool bytes = is_product_of_bytes(site);
  if (!bytes) WHET_RETURN_IF_ERROR(expect_float_or_i32(site, op.wide));
  const bool has_wide_weights = op.wide && site.in(1).dtype == DType::f32;
  if (!bytes && !has_wide_weights) WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, 1));
  WHET_RETURN_IF_ERROR(expect_activation(site, op.layout));
  WHET_TRY(const DType sum, dtype_of_sums(site, op.wide));
  const Shape& x = site.in(0).shape;
  const std::int64_t channels = channels_of(op.layout, x);
  WHET_TRY(const ConvWeights w, conv_weights(site, op, channels));
  WHET_RETURN_IF_ERROR(expect_channels(site, op, w, channels));
  WHET_TRY(Shape result, slide(site, op, w.kernel));
  WHET_RETURN_IF_ERROR(expect_blocks(site, op, w.outputs));
  const bool blocked = op.layout == Layout::channels_blocked;
  result[channel_place(op.layout, x.size()).channel] = blocked ? w.outputs / op.block : w.outputs;
  if (blocked) result.back() = op.block;
  if (site.inputs.size() == 3) WHET_RETURN_IF_ERROR(expect_bias(site, op, {sum, result}, w.outputs));
  return TensorType{sum, result};
}

Result<TensorType> infer(const InferSite& site, const PoolOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  if (op.kind == PoolKind::average) WHET_RETURN_IF_ERROR(site.expect_float(0));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  WHET_RETURN_IF_ERROR(expect_activation(site, op.layout));
  WHET_TRY(Shape result, slide(site, op, op.kernel));
  const std::size_t first = channel_place(op.layout, result.size()).first_spatial;
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    WHET_RETURN_IF_ERROR(expect_windows_on_input(site, op, i, site.in(0).shape[first + i], result[first + i]));
  }
  return TensorType{site.in(0).dtype, result};
}

}  // namespace whet
