#include "graph/infer.h"

namespace whet {

ChannelPlace channel_place(Layout layout, std::size_t rank) {
  return layout == Layout::channels_first ? ChannelPlace{1, 2} : ChannelPlace{rank - 1, 1};
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
  const std::size_t spatial = x.size() - 2;
  WHET_RETURN_IF_ERROR(site.expect_entries("kernel_shape", kernel, spatial, 1));
  WHET_RETURN_IF_ERROR(site.expect_entries("strides", op.strides, spatial, 1));
  WHET_RETURN_IF_ERROR(site.expect_entries("dilations", op.dilations, spatial, 1));
  WHET_RETURN_IF_ERROR(site.expect_entries("pads (begin)", op.pads_begin, spatial, 0));
  WHET_RETURN_IF_ERROR(site.expect_entries("pads (end)", op.pads_end, spatial, 0));
  Shape result = x;
  const std::size_t first = channel_place(op.layout, x.size()).first_spatial;
  for (std::size_t i = 0; i < spatial; ++i) {
    WHET_TRY(result[first + i], window_positions(site, i, x[first + i], kernel[i], op.strides[i], op.dilations[i],
                                                 op.pads_begin[i], op.pads_end[i]));
  }
  return result;
}

Status expect_activation(const InferSite& site) {
  const std::size_t rank = site.in(0).shape.size();
  if (rank >= 3 && rank <= 5) return ok_status();
  return site.error("input 0 is " + to_string(site.in(0)) + "; " + site.operation +
                    " needs a batch, channels and one to three spatial dimensions");
}

/// Quantized networks add up in i32.
Status expect_float_or_i32(const InferSite& site) {
  if (is_float(site.in(0).dtype) || site.in(0).dtype == DType::i32) return ok_status();
  return site.error("input 0 is " + to_string(site.in(0)) + "; " + site.operation + " needs f32, f64, f16 or i32");
}

/// The weights' extents, whichever way the layout orders them.
struct ConvWeights {
  std::int64_t outputs, inputs;  ///< inputs: channels read by one group
  Shape kernel;
};

Result<ConvWeights> conv_weights(const InferSite& site, const ConvOperator& op, std::int64_t channels) {
  const Shape& w = site.in(1).shape;
  const std::size_t spatial = site.in(0).shape.size() - 2;
  const bool last = op.layout == Layout::channels_last;
  if (last && op.groups > 1 && op.groups == channels && w.size() == spatial + 1 && w.back() == channels) {
    return ConvWeights{channels, 1, Shape(w.begin(), w.end() - 1)};
  }
  if (w.size() != spatial + 2) {
    return site.error("the weights are " + to_string(site.in(1)) + " and the input is " + to_string(site.in(0)) +
                      "; expected equal numbers of dimensions");
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
                    std::to_string(g) + (g == 1 ? " group" : " groups"));
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
  WHET_RETURN_IF_ERROR(expect_float_or_i32(site));
  WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, 1));
  WHET_RETURN_IF_ERROR(expect_activation(site));
  const Shape& x = site.in(0).shape;
  const std::size_t channel = channel_place(op.layout, x.size()).channel;
  WHET_TRY(const ConvWeights w, conv_weights(site, op, x[channel]));
  WHET_RETURN_IF_ERROR(expect_channels(site, op, w, x[channel]));
  if (site.inputs.size() == 3) {
    WHET_RETURN_IF_ERROR(site.expect_same_dtype(0, 2));
    if (site.in(2).shape != Shape{w.outputs}) {
      return site.error("the bias is " + to_string(site.in(2)) + "; expected one value for each of the " +
                        std::to_string(w.outputs) + " output channels");
    }
  }
  WHET_TRY(Shape result, slide(site, op, w.kernel));
  result[channel] = w.outputs;
  return TensorType{site.in(0).dtype, result};
}

Result<TensorType> infer(const InferSite& site, const PoolOperator& op) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  if (op.kind == PoolKind::average) WHET_RETURN_IF_ERROR(site.expect_float(0));
  WHET_RETURN_IF_ERROR(site.expect_number(0));
  WHET_RETURN_IF_ERROR(expect_activation(site));
  WHET_TRY(Shape result, slide(site, op, op.kernel));
  const std::size_t first = channel_place(op.layout, result.size()).first_spatial;
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    WHET_RETURN_IF_ERROR(expect_windows_on_input(site, op, i, site.in(0).shape[first + i], result[first + i]));
  }
  return TensorType{site.in(0).dtype, result};
}

}  // namespace whet
