#include "passes/squeeze_excite.h"

#include <algorithm>
#include <optional>

#include "passes/fuse.h"
#include "passes/operator_class.h"

namespace whet {
namespace {

/// Follows the value of a channel from its mean on.
class SqueezeExciteSearch {
 public:
  explicit SqueezeExciteSearch(const Graph& graph) : graph_(graph), readers_(graph.values.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (ValueId input : graph.nodes[n].inputs) {
        std::vector<NodeId>& readers = readers_[input.index()];
        const NodeId id(static_cast<std::int64_t>(n));
        if (readers.empty() || readers.back() != id) readers.push_back(id);
      }
    }
    for (ValueId output : graph.outputs) readers_[output.index()].push_back(NodeId());
  }

  /// Up to the factors; nothing where the mean is for something else.
  std::optional<std::vector<NodeId>> from(NodeId mean) const {
    const Node& node = graph_.node(mean);
    if (!is_mean_of_channels(node)) return std::nullopt;
    std::vector<NodeId> nodes = {mean};
    ValueId value = node.output;
    int products = 0;
    std::size_t after_product = 0;  // nodes
    while (std::optional<std::vector<NodeId>> next = nodes.size() > kMostMapped ? std::nullopt : step(value)) {
      const bool product = class_of(graph_.node(next->back()).op) == OperatorClass::anchor;
      if (product && products == 2) break;
      nodes.insert(nodes.end(), next->begin(), next->end());
      value = graph_.node(next->back()).output;
      products += product;
      if (product) after_product = nodes.size();
    }
    // One factor a channel, out of an activation: a classifier's last layers are no such thing.
    if (products != 2 || nodes.size() == after_product || elements(value) != elements(node.output)) return std::nullopt;
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

 private:
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  std::int64_t elements(ValueId id) const { return num_elements(type(id).shape); }

  bool is_mean_of_channels(const Node& node) const {
    const auto* op = std::get_if<ReduceOperator>(&node.op);
    if (op == nullptr || op->kind != ReduceKind::mean || type(node.output).dtype != DType::f32) return false;
    const Shape& shape = type(node.inputs[0]).shape;
    return shape.size() == 4 && op->axes == std::vector<std::int64_t>{1, 2} && shape[0] == 1;
  }

  /// The only reader of `value`, where it has one result: a product with constants, a reshape, an elementwise operator
  /// over as many elements, or such a one of the value and a function of it.
  std::optional<std::vector<NodeId>> step(ValueId value) const {
    const std::vector<NodeId>& readers = readers_[value.index()];
    if (readers.empty() || readers.size() > 2 || !readers[0].valid() || !readers.back().valid()) return std::nullopt;
    if (!is_step(readers[0], value)) return std::nullopt;
    if (readers.size() == 1) return readers;
    const std::vector<NodeId>& inner = readers_[graph_.node(readers[0]).output.index()];
    const bool function_first = inner.size() == 1 && inner[0] == readers[1];
    if (!function_first || class_of(graph_.node(readers[1]).op) != OperatorClass::elementwise) return std::nullopt;
    return elements(graph_.node(readers[1]).output) == elements(value) ? std::optional(readers) : std::nullopt;
  }

  bool is_step(NodeId id, ValueId value) const {
    const Node& node = graph_.node(id);
    const bool others_constant = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == value || graph_.value(input).constant.has_value();
    });
    if (!others_constant || node.inputs[0] != value) return false;
    if (const auto* conv = std::get_if<ConvOperator>(&node.op)) {
      const Shape& weights = type(node.inputs[1]).shape;
      return conv->layout == Layout::channels_last && conv->groups == 1 &&
             elements(node.inputs[1]) == weights[weights.size() - 1] * weights[weights.size() - 2] &&
             elements(node.output) == weights.back();
    }
    if (std::holds_alternative<MatMulOperator>(node.op)) return type(node.inputs[1]).shape.size() == 2;
    const bool maps =
        class_of(node.op) == OperatorClass::elementwise || std::holds_alternative<ReshapeOperator>(node.op);
    return maps && elements(node.output) == elements(value);
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;  ///< of a value, each once; an invalid one for the user
};

}  // namespace

std::vector<std::vector<NodeId>> find_squeeze_excites(const Graph& graph) {
  const SqueezeExciteSearch search(graph);
  std::vector<std::vector<NodeId>> found;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (auto nodes = search.from(NodeId(static_cast<std::int64_t>(n)))) found.push_back(std::move(*nodes));
  }
  return found;
}

}  // namespace whet
