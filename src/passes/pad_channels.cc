#include "passes/pad_channels.h"

#include <algorithm>

#include "passes/rewriter.h"

namespace whet {
namespace {

constexpr std::int64_t kChannels = 8;  ///< 16 bytes of f16

/// [.., channels, outputs] with rows of zeros for the channels that are added.
Tensor padded_weights(const Tensor& w, DType half) {
  Shape shape = w.shape();
  const std::int64_t channels = shape[shape.size() - 2], outputs = shape.back();
  shape[shape.size() - 2] = kChannels;
  return Tensor::later({half, shape}, [=] {
    Tensor all(half, shape);
    for (std::int64_t i = 0; i < all.size(); ++i) {
      const std::int64_t tap = i / (kChannels * outputs), channel = i / outputs % kChannels, out = i % outputs;
      all.set(i, channel < channels ? w.get((tap * channels + channel) * outputs + out) : 0);
    }
    return all;
  });
}

class ChannelPadder {
 public:
  explicit ChannelPadder(const Graph& from) : from_(from), rewriter_(from), producer_(from.values.size(), nullptr) {
    for (const Node& node : from.nodes) {
      producer_[node.output.index()] = &node;
      const auto* cast = std::get_if<CastOperator>(&node.op);
      if (cast != nullptr && cast->to == DType::bf16) half_ = DType::bf16;
    }
  }

  Result<Graph> run() && {
    for (const Node& node : from_.nodes) WHET_RETURN_IF_ERROR(gains(node) ? pad(node) : rewriter_.copy(node));
    return std::move(rewriter_).finish();
  }

 private:
  bool gains(const Node& node) const {
    const auto* conv = std::get_if<ConvOperator>(&node.op);
    if (conv == nullptr || conv->groups != 1 || conv->layout != Layout::channels_last) return false;
    const TensorType& x = from_.value(node.inputs[0]).type;
    const auto& weights = from_.value(node.inputs[1]).constant;
    if (!weights || x.shape.back() >= kChannels || weights->shape().size() != x.shape.size()) return false;
    const Node* producer = producer_[node.inputs[0].index()];
    const bool stored = producer != nullptr && std::holds_alternative<CastOperator>(producer->op);
    if (is_half(x.dtype)) return conv->wide && stored && rewriter_.uses(node.inputs[0]) == 1;
    const std::int64_t terms = weights->size() / weights->shape().back();
    return x.dtype == DType::f32 && weights->dtype() == DType::f32 &&
           num_elements(from_.value(node.output).type.shape) * terms >= kMultiplyAddsForAKernel;
  }

  Status pad(const Node& node) {
    const Value &x = from_.value(node.inputs[0]), &w = from_.value(node.inputs[1]);
    std::vector<ValueId> inputs = {rewriter_.now(node.inputs[0])};
    if (x.type.dtype == DType::f32) {
      WHET_TRY(inputs[0], rewriter_.emit(x.name + "_half", CastOperator{half_}, {inputs[0]}));
    }
    PadOperator pad{PadMode::constant, 0, std::vector<std::int64_t>(x.type.shape.size(), 0), {}};
    pad.end = pad.begin;
    pad.end.back() = kChannels - x.type.shape.back();
    WHET_TRY(inputs[0], rewriter_.emit(x.name + "_padded", pad, {inputs[0]}));
    const DType half = is_half(x.type.dtype) ? x.type.dtype : half_;
    inputs.push_back(rewriter_.constant(w.name + "_padded", padded_weights(*w.constant, half)));
    if (node.inputs.size() > 2) inputs.push_back(rewriter_.now(node.inputs[2]));
    ConvOperator conv = std::get<ConvOperator>(node.op);
    conv.wide = true;
    return rewriter_.copy_as(node, conv, inputs);
  }

  const Graph& from_;
  Rewriter rewriter_;
  std::vector<const Node*> producer_;
  DType half_ = DType::f16;
};

}  // namespace

Result<Graph> pad_channels(const Graph& from) { return ChannelPadder(from).run(); }

bool pads_channels(const Graph& graph, const Node& node) {
  const auto* pad = std::get_if<PadOperator>(&node.op);
  return pad != nullptr && !pad->end.empty() && pad->end.back() > 0 &&
         is_half(graph.value(node.output).type.dtype) && graph.value(node.output).type.shape.back() == kChannels;
}

}  // namespace whet
