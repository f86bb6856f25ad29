#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "import_mxnet/testing/symbol_writer.h"
#include "import_tf/testing/graph_writer.h"
#include "import_tf/tflite/testing/flat_writer.h"

/// Networks of the zoo (convolutions, normalization, relu, sums, pools, a product) as other frameworks write them; test code.
namespace whet {

inline const std::string& name_in(const Graph& graph, ValueId id) { return graph.value(id).name; }

/// Channels last, as Keras exports: pads are nodes of their own, and convolutions VALID.
class GraphDefWriter {
 public:
  explicit GraphDefWriter(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs) file_.input(name_in(graph, input), graph.value(input).type.shape);
    for (const Value& value : graph.values)
      if (value.constant) file_.constant(value.name, *value.constant);
    for (const Node& node : graph.nodes) std::visit([&](const auto& op) { write(node, op); }, node.op);
  }
  std::string bytes() const { return file_.bytes(); }

 private:
  using Attributes = tensorflow::Attributes;

  std::string in(const Node& node, std::size_t i) const { return name_in(graph_, node.inputs[i]); }
  void add(const Node& node, const std::string& op, const std::vector<std::string>& inputs,
           const Attributes& attributes = {}) {
    file_.node(name_in(graph_, node.output), op, inputs, attributes);
  }
  /// The image, padded by a node of its own where there are pads.
  std::string padded(const Node& node, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end) {
    if (begin[0] + begin[1] + end[0] + end[1] == 0) return in(node, 0);
    const std::string pad = name_in(graph_, node.output) + "/pad";
    file_.constant(pad + "/paddings",
                   Tensor::of<std::int64_t>(DType::i32, {4, 2}, {0, 0, begin[0], end[0], begin[1], end[1], 0, 0}));
    file_.node(pad, "Pad", {in(node, 0), pad + "/paddings"});
    return pad;
  }
  static tensorflow::Message around(const std::vector<std::int64_t>& list) {
    return tensorflow::of_integers({1, list[0], list[1], 1});
  }

  void write(const Node& node, const ConvOperator& op) {
    add(node, "Conv2D", {padded(node, op.pads_begin, op.pads_end), in(node, 1)},
        {{"strides", around(op.strides)}, {"padding", tensorflow::of_text("VALID")}});
  }
  void write(const Node& node, const BatchNormOperator& op) {
    add(node, "FusedBatchNormV3", {in(node, 0), in(node, 1), in(node, 2), in(node, 3), in(node, 4)},
        {{"is_training", tensorflow::of_flag(false)},
         {"epsilon", tensorflow::of_real(static_cast<float>(op.epsilon))}});
  }
  void write(const Node& node, const UnaryOperator&) { add(node, "Relu", {in(node, 0)}); }
  void write(const Node& node, const BinaryOperator&) { add(node, "AddV2", {in(node, 0), in(node, 1)}); }
  void write(const Node& node, const PoolOperator& op) {
    add(node, "MaxPool", {padded(node, op.pads_begin, op.pads_end)},
        {{"ksize", around(op.kernel)}, {"strides", around(op.strides)}, {"padding", tensorflow::of_text("VALID")}});
  }
  void write(const Node& node, const ReduceOperator& op) {
    const std::string axes = name_in(graph_, node.output) + "/axes";
    file_.integers(axes, op.axes);
    add(node, "Mean", {in(node, 0), axes}, {{"keep_dims", tensorflow::of_flag(op.keep_dims)}});
  }
  void write(const Node& node, const ReshapeOperator& op) {
    const std::string shape = name_in(graph_, node.output) + "/shape";
    file_.integers(shape, {-1, op.shape.back()});
    add(node, "Reshape", {in(node, 0), shape});
  }
  void write(const Node& node, const MatMulOperator& op) {
    add(node, "MatMul", {in(node, 0), in(node, 1)}, {{"transpose_b", tensorflow::of_flag(op.transpose_b)}});
  }
  template <typename Other>
  void write(const Node& node, const Other&) {
    ADD_FAILURE() << node.name;
  }

  const Graph& graph_;
  tensorflow::GraphWriter file_;
};

/// Channels last: normalization is a product and a sum.
class TfliteWriter {
 public:
  explicit TfliteWriter(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs) numbers_[input.value] = tensor(input);
    for (const Node& node : graph.nodes) std::visit([&](const auto& op) { write(node, op); }, node.op);
  }
  std::string bytes() const {
    return file_.bytes({numbers_.at(graph_.inputs[0].value)}, {numbers_.at(graph_.outputs[0].value)});
  }

 private:
  using FlatRecord = tflite::FlatRecord;

  static std::vector<std::int32_t> extents(const Shape& shape) { return {shape.begin(), shape.end()}; }
  int tensor(ValueId id) { return file_.tensor(name_in(graph_, id), extents(graph_.value(id).type.shape)); }
  int constant(const std::string& name, const Tensor& t) {
    const auto values = t.as<float>();
    return file_.constant<float>(name, extents(t.shape()), 0, {values.begin(), values.end()});
  }
  const Tensor& weights(const Node& node, std::size_t i) const { return *graph_.value(node.inputs[i]).constant; }
  int in(const Node& node, std::size_t i) {
    const auto found = numbers_.find(node.inputs[i].value);
    if (found != numbers_.end()) return found->second;
    return numbers_[node.inputs[i].value] = constant(name_in(graph_, node.inputs[i]), weights(node, i));
  }
  void add(const Node& node, int code, const std::vector<std::int32_t>& inputs, const FlatRecord& options = {}) {
    numbers_[node.output.value] = tensor(node.output);
    file_.operation(code, inputs, {numbers_[node.output.value]}, options);
  }
  int padded(const Node& node, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end) {
    if (begin[0] + begin[1] + end[0] + end[1] == 0) return in(node, 0);
    const std::string name = name_in(graph_, node.output) + "/pad";
    Shape shape = graph_.value(node.inputs[0]).type.shape;
    for (std::size_t d = 0; d < 2; ++d) shape[d + 1] += begin[d] + end[d];
    std::vector<std::int32_t> pads = {0, 0};
    for (std::size_t d = 0; d < 2; ++d) {
      pads.push_back(static_cast<std::int32_t>(begin[d]));
      pads.push_back(static_cast<std::int32_t>(end[d]));
    }
    pads.insert(pads.end(), {0, 0});
    const int list = file_.constant<std::int32_t>(name + "/paddings", {4, 2}, 2, pads);
    const int result = file_.tensor(name, extents(shape));
    file_.operation(34, {in(node, 0), list}, {result});
    return result;
  }
  static FlatRecord slide(const std::vector<std::int64_t>& strides) {
    return FlatRecord()
        .number<std::int8_t>(0, 1)
        .number(1, static_cast<std::int32_t>(strides[1]))
        .number(2, static_cast<std::int32_t>(strides[0]));
  }

  void write(const Node& node, const ConvOperator& op) {  // [h, w, I, O] becomes [O, h, w, I]
    const Tensor& w = weights(node, 1);
    const Shape s = w.shape();
    Tensor turned(DType::f32, {s[3], s[0], s[1], s[2]});
    const std::int64_t taps = s[0] * s[1] * s[2];
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t o = 0; o < s[3]; ++o) turned.set(o * taps + tap, w.get(tap * s[3] + o));
    const int image = padded(node, op.pads_begin, op.pads_end);
    add(node, 3, {image, constant(name_in(graph_, node.inputs[1]), turned), -1}, slide(op.strides));
  }
  void write(const Node& node, const BatchNormOperator& op) {
    const Tensor &gamma = weights(node, 1), &beta = weights(node, 2), &mean = weights(node, 3), &var = weights(node, 4);
    Tensor scale(DType::f32, gamma.shape()), shift(DType::f32, gamma.shape());
    for (std::int64_t c = 0; c < scale.size(); ++c) {
      scale.set(c, gamma.get(c) / std::sqrt(var.get(c) + op.epsilon));
      shift.set(c, beta.get(c) - mean.get(c) * scale.get(c));
    }
    const std::string name = name_in(graph_, node.output);
    const int scaled = file_.tensor(name + "/scaled", extents(graph_.value(node.output).type.shape));
    file_.operation(18, {in(node, 0), constant(name + "/scale", scale)}, {scaled});
    add(node, 0, {scaled, constant(name + "/shift", shift)});
  }
  void write(const Node& node, const UnaryOperator&) { add(node, 19, {in(node, 0)}); }
  void write(const Node& node, const BinaryOperator&) {
    const int left = in(node, 0), right = in(node, 1);
    add(node, 0, {left, right});
  }
  void write(const Node& node, const PoolOperator& op) {
    FlatRecord options = slide(op.strides);
    options.number(3, static_cast<std::int32_t>(op.kernel[1])).number(4, static_cast<std::int32_t>(op.kernel[0]));
    add(node, 17, {padded(node, op.pads_begin, op.pads_end)}, options);
  }
  void write(const Node& node, const ReduceOperator&) {
    const int axes = file_.constant<std::int32_t>(name_in(graph_, node.output) + "/axes", {2}, 2, {1, 2});
    add(node, 40, {in(node, 0), axes}, FlatRecord().number<std::uint8_t>(0, 1));
  }
  void write(const Node& node, const ReshapeOperator& op) {
    const int shape = file_.constant<std::int32_t>(name_in(graph_, node.output) + "/shape", {2}, 2, extents(op.shape));
    add(node, 22, {in(node, 0), shape});
  }
  void write(const Node& node, const MatMulOperator&) {
    const int x = in(node, 0), w = in(node, 1);
    add(node, 9, {x, w, -1});
  }
  template <typename Other>
  void write(const Node& node, const Other&) {
    ADD_FAILURE() << node.name;
  }

  const Graph& graph_;
  tflite::ModelWriter file_;
  std::map<std::int32_t, int> numbers_;
};

/// Channels first: a symbol and its parameters.
class MxnetWriter {
 public:
  explicit MxnetWriter(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs) numbers_[input.value] = symbol_.null(name_in(graph, input));
    for (const Node& node : graph.nodes) std::visit([&](const auto& op) { write(node, op); }, node.op);
  }
  std::string json() const { return symbol_.json({numbers_.at(graph_.outputs[0].value)}); }
  std::string params() const { return mxnet::params_bytes(params_); }

 private:
  using Attributes = mxnet::SymbolWriter::Attributes;

  static std::string listed(const std::vector<std::int64_t>& values) {
    std::string text;
    for (const std::int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
    return "(" + text + ")";
  }
  int in(const Node& node, std::size_t i, const std::string& kind = "arg:") {
    const ValueId id = node.inputs[i];
    const auto found = numbers_.find(id.value);
    if (found != numbers_.end()) return found->second;
    params_.emplace_back(kind + name_in(graph_, id), *graph_.value(id).constant);
    return numbers_[id.value] = symbol_.null(name_in(graph_, id));
  }
  void add(const Node& node, const std::string& op, const std::vector<int>& inputs, const Attributes& attributes = {}) {
    numbers_[node.output.value] = symbol_.node(op, name_in(graph_, node.output), inputs, attributes);
  }

  void write(const Node& node, const ConvOperator& op) {
    const std::vector<int> inputs = {in(node, 0), in(node, 1)};
    const Shape w = graph_.value(node.inputs[1]).type.shape;
    add(node, "Convolution", inputs,
        {{"kernel", listed({w[2], w[3]})},
         {"stride", listed(op.strides)},
         {"pad", listed(op.pads_begin)},
         {"num_filter", std::to_string(w[0])},
         {"no_bias", "True"},
         {"layout", "NCHW"}});
  }
  void write(const Node& node, const BatchNormOperator& op) {
    std::vector<int> inputs = {in(node, 0), in(node, 1), in(node, 2)};
    inputs.push_back(in(node, 3, "aux:"));
    inputs.push_back(in(node, 4, "aux:"));
    char epsilon[64];
    std::snprintf(epsilon, sizeof epsilon, "%.17g", op.epsilon);
    add(node, "BatchNorm", inputs, {{"eps", epsilon}, {"fix_gamma", "False"}});
  }
  void write(const Node& node, const UnaryOperator&) { add(node, "Activation", {in(node, 0)}, {{"act_type", "relu"}}); }
  void write(const Node& node, const BinaryOperator&) {
    const std::vector<int> inputs = {in(node, 0), in(node, 1)};
    const bool bias = graph_.value(node.inputs[1]).constant.has_value();
    add(node, bias ? "broadcast_add" : "elemwise_add", inputs);
  }
  void write(const Node& node, const PoolOperator& op) {
    add(node, "Pooling", {in(node, 0)},
        {{"kernel", listed(op.kernel)},
         {"stride", listed(op.strides)},
         {"pad", listed(op.pads_begin)},
         {"pool_type", "max"}});
  }
  void write(const Node& node, const ReduceOperator&) {
    add(node, "Pooling", {in(node, 0)}, {{"kernel", "(1, 1)"}, {"global_pool", "True"}, {"pool_type", "avg"}});
  }
  void write(const Node& node, const ReshapeOperator&) { add(node, "Flatten", {in(node, 0)}); }
  void write(const Node& node, const MatMulOperator&) {
    const std::vector<int> inputs = {in(node, 0), in(node, 1)};
    add(node, "FullyConnected", inputs, {{"no_bias", "True"}});
  }
  template <typename Other>
  void write(const Node& node, const Other&) {
    ADD_FAILURE() << node.name;
  }

  const Graph& graph_;
  mxnet::SymbolWriter symbol_;
  std::vector<std::pair<std::string, Tensor>> params_;
  std::map<std::int32_t, int> numbers_;
};

}  // namespace whet
