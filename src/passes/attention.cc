#include "passes/attention.h"

#include <algorithm>
#include <optional>

#include "passes/fuse.h"
#include "passes/operator_class.h"

namespace whet {
namespace {

/// Fewer queries, keys or dimensions of a head do not fill a register tile.
constexpr std::int64_t kFewest = 16;

class AttentionSearch {
 public:
  explicit AttentionSearch(const Graph& graph)
      : graph_(graph), producer_(graph.values.size()), readers_(graph.values.size()), taken_(graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const NodeId id(static_cast<std::int64_t>(n));
      producer_[graph.nodes[n].output.index()] = id;
      for (ValueId input : graph.nodes[n].inputs) readers_[input.index()].push_back(id);
    }
    for (ValueId output : graph.outputs) readers_[output.index()].push_back(NodeId());
  }

  /// The attention around a softmax, whose operators no later one takes; nothing where it is another softmax.
  std::optional<std::vector<NodeId>> around(NodeId softmax) {
    const Node& node = graph_.node(softmax);
    const auto* op = std::get_if<SoftmaxOperator>(&node.op);
    if (op == nullptr || op->log || op->axis + 1 != static_cast<std::int64_t>(shape(node.output).size())) {
      return std::nullopt;
    }
    const std::optional<NodeId> mix = only_reader(node.output);
    if (!mix || !is_product(*mix) || graph_.node(*mix).inputs[0] != node.output) return std::nullopt;
    std::vector<NodeId> nodes = {softmax, *mix};
    const std::optional<NodeId> scores = scores_of(node.inputs[0], shape(node.output), nodes);
    if (!scores || !is_worth_it(*scores, *mix)) return std::nullopt;
    nodes.push_back(*scores);
    for (ValueId operand :
         {graph_.node(*scores).inputs[0], graph_.node(*scores).inputs[1], graph_.node(*mix).inputs[1]}) {
      take_moves_before(operand, nodes);
    }
    take_nodes_after(*mix, nodes);
    if (nodes.size() > kMostMapped) return std::nullopt;
    std::sort(nodes.begin(), nodes.end());
    for (NodeId node : nodes) taken_[node.index()] = true;
    return nodes;
  }

 private:
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  std::optional<NodeId> producer(ValueId id) const {
    const NodeId node = producer_[id.index()];
    return node.valid() && !taken_[node.index()] ? std::optional(node) : std::nullopt;
  }
  std::optional<NodeId> only_reader(ValueId id) const {
    const std::vector<NodeId>& readers = readers_[id.index()];
    const bool is_free = readers.size() == 1 && readers[0].valid() && !taken_[readers[0].index()];
    return is_free ? std::optional(readers[0]) : std::nullopt;
  }

  /// A product of two activations as they are stored.
  bool is_product(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto* op = std::get_if<MatMulOperator>(&node.op);
    if (op == nullptr || op->transpose_a || op->transpose_b || shape(node.output).size() < 3) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      const Value& value = graph_.value(input);
      return (value.type.dtype == DType::f32 || is_half(value.type.dtype)) && !value.constant &&
             value.type.shape.size() == shape(node.output).size();
    });
  }

  /// Up from `value` through elementwise operators over all scores, whose other operands are masks and biases.
  std::optional<NodeId> scores_of(ValueId value, const Shape& whole, std::vector<NodeId>& nodes) const {
    const std::optional<NodeId> from = producer(value);
    if (!from || !only_reader(value) || shape(value) != whole || nodes.size() > kMostMapped) return std::nullopt;
    if (is_product(*from)) return from;
    if (class_of(graph_.node(*from).op) != OperatorClass::elementwise) return std::nullopt;
    for (ValueId input : graph_.node(*from).inputs) {
      const std::size_t before = nodes.size();
      nodes.push_back(*from);
      if (const auto found = scores_of(input, whole, nodes)) return found;
      nodes.resize(before);
    }
    return std::nullopt;
  }

  bool is_worth_it(NodeId scores, NodeId mix) const {
    const Shape &s = shape(graph_.node(scores).output), &y = shape(graph_.node(mix).output);
    const std::int64_t depth = shape(graph_.node(scores).inputs[0]).back();
    return std::min({s[s.size() - 2], s.back(), y.back(), depth}) >= kFewest;
  }

  static bool is_move(const Operator& op) {
    return std::holds_alternative<TransposeOperator>(op) || std::holds_alternative<ReshapeOperator>(op) ||
           std::holds_alternative<SliceOperator>(op);
  }

  /// The activation that an operator with one constant number scales or shifts.
  std::optional<ValueId> scaled_by_number(const Node& node) const {
    if (!std::holds_alternative<BinaryOperator>(node.op)) return std::nullopt;
    for (std::size_t k : {0, 1}) {
      const auto& constant = graph_.value(node.inputs[1 - k]).constant;
      if (constant && constant->size() == 1 && shape(node.inputs[k]) == shape(node.output)) return node.inputs[k];
    }
    return std::nullopt;
  }

  /// A scale or a cast before the first move is left to what computes its operand.
  void take_moves_before(ValueId value, std::vector<NodeId>& nodes) const {
    std::vector<NodeId> scales;
    while (const std::optional<NodeId> from = producer(value)) {
      const Node& node = graph_.node(*from);
      if (!only_reader(value) || scales.size() > kMostMapped) return;
      if (is_move(node.op)) {
        nodes.insert(nodes.end(), scales.begin(), scales.end());
        scales.clear();
        nodes.push_back(*from);
        value = node.inputs[0];
      } else if (const std::optional<ValueId> operand = scaled_by_number(node)) {
        scales.push_back(*from);
        value = *operand;
      } else if (std::holds_alternative<CastOperator>(node.op)) {
        scales.push_back(*from);
        value = node.inputs[0];
      } else {
        return;
      }
    }
  }

  /// What moves the result, and a rounding to 16 bits in front of it or behind it.
  void take_nodes_after(NodeId mix, std::vector<NodeId>& nodes) const {
    const NodeId rounded = take_rounding_after(mix, nodes), last = take_moves_after(rounded, nodes);
    if (rounded == mix) take_rounding_after(last, nodes);
  }

  /// Gives the rounding, or the node where there is none.
  NodeId take_rounding_after(NodeId node, std::vector<NodeId>& nodes) const {
    const std::optional<NodeId> next = only_reader(graph_.node(node).output);
    const auto* cast = next ? std::get_if<CastOperator>(&graph_.node(*next).op) : nullptr;
    if (cast == nullptr || !is_half(cast->to)) return node;
    nodes.push_back(*next);
    return *next;
  }

  /// [..., L, d] to [..., L, ..., d]: a transpose that keeps the last dimension, perhaps after a reshape that leaves the
  /// last two alone.
  /// Gives the last of them, or the node.
  NodeId take_moves_after(NodeId node, std::vector<NodeId>& nodes) const {
    std::vector<NodeId> taken;
    ValueId value = graph_.node(node).output;
    std::optional<NodeId> next = only_reader(value);
    if (next && std::holds_alternative<ReshapeOperator>(graph_.node(*next).op)) {
      const Shape &from = shape(value), &to = shape(graph_.node(*next).output);
      if (to.size() < 2 || !std::equal(from.end() - 2, from.end(), to.end() - 2)) return node;
      taken.push_back(*next);
      value = graph_.node(*next).output;
      next = only_reader(value);
    }
    const auto* transpose = next ? std::get_if<TransposeOperator>(&graph_.node(*next).op) : nullptr;
    if (transpose == nullptr || transpose->perm.back() + 1 != static_cast<std::int64_t>(transpose->perm.size()))
      return node;
    taken.push_back(*next);
    nodes.insert(nodes.end(), taken.begin(), taken.end());
    return *next;
  }

  const Graph& graph_;
  std::vector<NodeId> producer_;
  std::vector<std::vector<NodeId>> readers_;  ///< of a value; an invalid one for the user
  std::vector<bool> taken_;                   ///< nodes of an attention
};

}  // namespace

std::vector<std::vector<NodeId>> find_attentions(const Graph& graph) {
  AttentionSearch search(graph);
  std::vector<std::vector<NodeId>> found;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (auto nodes = search.around(NodeId(static_cast<std::int64_t>(n)))) found.push_back(std::move(*nodes));
  }
  return found;
}

}  // namespace whet
