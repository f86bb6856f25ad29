#include "passes/pad_pictures.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "passes/operator_class.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

constexpr std::int64_t kPair = 2;  ///< pixels that are one of eight channels to the convolution

/// [rows, columns, channels, outputs] as a tensor with more columns and channels, zeros behind those that there were, and pairs of columns
/// as one.
Tensor padded_weights(const Tensor& w, std::int64_t columns, DType half) {
  const Shape from = w.shape();
  const Shape shape = {from[0], columns, kPictureChannels, from[3]};
  const Shape pairs = {from[0], columns / kPair, kPair * kPictureChannels, from[3]};
  return Tensor::later({half, pairs}, [=] {
    Tensor all(half, pairs);
    std::int64_t i = 0;
    for (std::int64_t row = 0; row < shape[0]; ++row)
      for (std::int64_t column = 0; column < shape[1]; ++column)
        for (std::int64_t channel = 0; channel < shape[2]; ++channel)
          for (std::int64_t out = 0; out < shape[3]; ++out, ++i) {
            const bool is_there = column < from[1] && channel < from[2];
            all.set(i, is_there ? w.get(((row * from[1] + column) * from[2] + channel) * from[3] + out) : 0);
          }
    return all;
  });
}

class PicturePadder {
 public:
  explicit PicturePadder(const Graph& from) : from_(from), rewriter_(from), producer_(from.values.size(), nullptr) {
    for (const Node& node : from.nodes) {
      producer_[node.output.index()] = &node;
      const auto* cast = std::get_if<CastOperator>(&node.op);
      if (cast != nullptr && cast->to == DType::bf16) half_ = DType::bf16;
    }
  }

  Result<Graph> run() && {
    for (const Node& node : from_.nodes) {
      const std::optional<Padded> padded = padded_picture(node);
      WHET_RETURN_IF_ERROR(padded ? pad(node, *padded) : rewriter_.copy(node));
    }
    return std::move(rewriter_).finish();
  }

 private:
  /// The extents of the stored picture, and the taps of a row.
  struct Padded {
    std::int64_t rows, columns, taps;
  };

  std::optional<Padded> padded_picture(const Node& node) const {
    const auto* conv = std::get_if<ConvOperator>(&node.op);
    if (conv == nullptr || conv->groups != 1 || conv->layout != Layout::channels_last) return std::nullopt;
    const TensorType &x = from_.value(node.inputs[0]).type, &y = from_.value(node.output).type;
    const auto& weights = from_.value(node.inputs[1]).constant;
    if (!weights || x.shape.size() != 4 || weights->shape().size() != 4 || x.shape.back() >= kPictureChannels)
      return std::nullopt;
    if (conv->strides[1] % kPair != 0 || conv->dilations != std::vector<std::int64_t>{1, 1}) return std::nullopt;
    if (!(is_half(x.dtype) ? is_stored(node) : pays(node, *weights))) return std::nullopt;
    const Shape& kernel = weights->shape();
    Padded padded{0, 0, round_up(kernel[1], kPair)};
    const auto extent = [&](std::size_t d, std::int64_t taps) {
      return std::max(x.shape[d + 1] + conv->pads_begin[d], (y.shape[d + 1] - 1) * conv->strides[d] + taps);
    };
    padded.rows = extent(0, kernel[0]), padded.columns = round_up(extent(1, padded.taps), kPair);
    const std::int64_t results = (padded.columns - padded.taps) / conv->strides[1] + 1;
    return results == y.shape[2] ? std::optional(padded) : std::nullopt;
  }

  /// A kernel that only maps and moves an input rounds the picture, for this convolution alone.
  bool is_stored(const Node& conv) const {
    const ValueId picture = conv.inputs[0];
    return std::get<ConvOperator>(conv.op).wide && producer_[picture.index()] != nullptr &&
           rewriter_.uses(picture) == 1 && is_mapped_input(picture);
  }

  bool pays(const Node& conv, const Tensor& weights) const {
    const std::int64_t terms = weights.size() / weights.shape().back();
    return from_.value(conv.inputs[0]).type.dtype == DType::f32 && weights.dtype() == DType::f32 &&
           num_elements(from_.value(conv.output).type.shape) * terms >= kMultiplyAddsForAKernel &&
           is_mapped_input(conv.inputs[0]);
  }

  /// An input, or what maps and moves one alone.
  bool is_mapped_input(ValueId id) const {
    while (const Node* node = producer_[id.index()]) {
      const OperatorClass kind = class_of(node->op);
      std::vector<ValueId> activations = node->inputs;
      std::erase_if(activations, [&](ValueId input) { return from_.value(input).constant.has_value(); });
      if (activations.size() != 1 || (kind != OperatorClass::elementwise && kind != OperatorClass::injective))
        return false;
      id = activations[0];
    }
    return true;
  }

  Status pad(const Node& node, const Padded& padded) {
    const Value &x = from_.value(node.inputs[0]), &w = from_.value(node.inputs[1]);
    ConvOperator conv = std::get<ConvOperator>(node.op);
    std::vector<ValueId> inputs = {rewriter_.now(node.inputs[0])};
    if (x.type.dtype == DType::f32) {
      WHET_TRY(inputs[0], rewriter_.emit(x.name + "_half", CastOperator{half_}, {inputs[0]}));
    }
    const Shape& shape = x.type.shape;
    const std::vector<std::int64_t> begin = {0, conv.pads_begin[0], conv.pads_begin[1], 0};
    const std::vector<std::int64_t> end = {0, padded.rows - shape[1] - begin[1], padded.columns - shape[2] - begin[2],
                                           kPictureChannels - shape[3]};
    WHET_TRY(inputs[0], rewriter_.emit(x.name + "_padded", PadOperator{PadMode::constant, 0, begin, end}, {inputs[0]}));
    const Shape pairs = {shape[0], padded.rows, padded.columns / kPair, kPair * kPictureChannels};
    WHET_TRY(inputs[0], rewriter_.emit(x.name + "_pairs", ReshapeOperator{pairs}, {inputs[0]}));
    const DType half = is_half(x.type.dtype) ? x.type.dtype : half_;
    inputs.push_back(rewriter_.constant(w.name + "_padded", padded_weights(*w.constant, padded.taps, half)));
    if (node.inputs.size() > 2) inputs.push_back(rewriter_.now(node.inputs[2]));
    conv.wide = true;
    conv.pads_begin = conv.pads_end = {0, 0};
    conv.strides[1] /= kPair;
    return rewriter_.copy_as(node, conv, inputs);
  }

  const Graph& from_;
  Rewriter rewriter_;
  std::vector<const Node*> producer_;
  DType half_ = DType::f16;
};

}  // namespace

Result<Graph> pad_pictures(const Graph& from) { return PicturePadder(from).run(); }

bool pads_channels(const Graph& graph, const Node& node) {
  const auto* pad = std::get_if<PadOperator>(&node.op);
  const TensorType& type = graph.value(node.output).type;
  return pad != nullptr && is_half(type.dtype) && !pad->end.empty() && pad->end.back() > 0 &&
         type.shape.back() == kPictureChannels;
}

}  // namespace whet
