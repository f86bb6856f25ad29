#include <algorithm>
#include <utility>

#include "compute/anchor.h"
#include "compute/expr.h"
#include "compute/names.h"
#include "task/task.h"

namespace whet {
namespace {

bool is_depthwise(const Graph& graph, const Node& node, const ConvOperator& op) {
  const Shape &x = graph.value(node.inputs[0]).type.shape, &w = graph.value(node.inputs[1]).type.shape;
  if (op.layout != Layout::channels_first) return w.size() == op.strides.size() + 1;
  return op.groups > 1 && op.groups == x[1] && op.groups == w[0];
}

std::string operator_name(const Graph& graph, const Node& node) {
  const auto* conv = std::get_if<ConvOperator>(&node.op);
  if (!conv) return std::holds_alternative<MatMulOperator>(node.op) ? "dense" : name_of(node.op);
  return is_depthwise(graph, node, *conv) ? "depthwise" : "conv" + std::to_string(conv->strides.size()) + "d";
}

bool has_bias(const Node& node) { return std::holds_alternative<ConvOperator>(node.op) && node.inputs.size() == 3; }

template <typename... Operators>
bool is_any_of(const Operator& op) {
  return (std::holds_alternative<Operators>(op) || ...);
}

/// Of an operator by its definition: of what it does most.
OperatorKind kind_of(const ComputeDag& definition) {
  const std::optional<Anchor> anchor = anchor_of(definition);
  if (!anchor) return OperatorKind::elementwise;
  const auto is = [&](OpFamily family) { return anchor->kind.starts_with(name_of(family)); };
  if (is(OpFamily::conv)) return OperatorKind::convolution;
  if (is(OpFamily::depthwise)) return OperatorKind::depthwise;
  return is(OpFamily::matmul) ? OperatorKind::matrix_product : OperatorKind::pool_or_reduction;
}

OperatorKind kind_of(const Graph& graph, const Node& node) {
  const Operator& op = node.op;
  if (const auto* conv = std::get_if<ConvOperator>(&op))
    return is_depthwise(graph, node, *conv) ? OperatorKind::depthwise : OperatorKind::convolution;
  if (const auto* own = std::get_if<CustomOperator>(&op)) return kind_of(*own->definition);
  if (is_any_of<MatMulOperator>(op)) return OperatorKind::matrix_product;
  if (is_any_of<PoolOperator, ReduceOperator, SoftmaxOperator>(op)) return OperatorKind::pool_or_reduction;
  if (is_any_of<TransposeOperator, ConcatOperator, SliceOperator, PadOperator, GatherOperator, GatherElementsOperator,
                GatherNdOperator, ResizeOperator>(op))
    return OperatorKind::copy;
  return OperatorKind::elementwise;
}

/// "3" for equal entries, "3x5" otherwise.
std::string short_list(const std::vector<std::int64_t>& list) {
  const bool equal = std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v == list[0]; });
  return equal && !list.empty() ? std::to_string(list[0]) : to_string(Shape(list));
}

bool all_are(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v == value; });
}

template <typename Window>
std::string window_text(const Window& op, const Shape& kernel) {
  std::string text = " k" + short_list(kernel) + " s" + short_list(op.strides) + " p" + short_list(op.pads_begin);
  if (op.pads_end != op.pads_begin) text += ":" + short_list(op.pads_end);
  if (!all_are(op.dilations, 1)) text += " d" + short_list(op.dilations);
  return text;
}

std::string window_of(const Graph& graph, const Node& node) {
  if (const auto* pool = std::get_if<PoolOperator>(&node.op)) return window_text(*pool, pool->kernel);
  const auto* conv = std::get_if<ConvOperator>(&node.op);
  if (!conv) return "";
  const Shape& w = graph.value(node.inputs[1]).type.shape;
  const auto dims = std::ssize(conv->strides);
  const auto first = w.begin() + (conv->layout == Layout::channels_first ? 2 : 0);
  std::string text = window_text(*conv, Shape(first, first + dims));
  return conv->groups > 1 && !is_depthwise(graph, node, *conv) ? text + " g" + std::to_string(conv->groups) : text;
}

/// Two products around a softmax, with all that belongs to them.
bool is_attention(const Graph& graph, const Group& group) {
  const auto holds = [&](auto is) { return std::any_of(group.nodes.begin(), group.nodes.end(), is); };
  return holds([&](NodeId n) { return std::holds_alternative<SoftmaxOperator>(graph.node(n).op); }) &&
         holds([&](NodeId n) { return std::holds_alternative<MatMulOperator>(graph.node(n).op); });
}

/// "conv2d+add+relu"; of many operators the first and the last: a name must fit on a screen.
std::string joined(std::vector<std::string> operators) {
  constexpr std::size_t kMost = 10, kFirst = 6, kLast = 2;
  if (operators.size() > kMost) {
    operators.erase(operators.begin() + kFirst, operators.end() - kLast);
    operators.insert(operators.begin() + kFirst, "...");
  }
  std::string text;
  for (const std::string& name : operators) text += (text.empty() ? "" : "+") + name;
  return text;
}

}  // namespace

std::string name_of(const FusedGraph& fused, const Group& group) {
  if (is_attention(fused.graph, group)) {
    return "attention " + to_string(fused.graph.value(group.outputs[0]).type.shape);
  }
  std::vector<std::string> operators;
  std::string window;
  for (NodeId n : group.nodes) {
    const Node& node = fused.graph.node(n);
    operators.push_back(operator_name(fused.graph, node) + (has_bias(node) ? "+bias" : ""));
    if (window.empty()) window = window_of(fused.graph, node);
  }
  return joined(std::move(operators)) + " " + to_string(fused.graph.value(group.outputs[0]).type.shape) + window;
}

TaskLabel label_of(const FusedGraph& fused, const Group& group) {
  const Graph& graph = fused.graph;
  TaskLabel label{OperatorKind::elementwise, ""};
  if (is_attention(graph, group)) label = {OperatorKind::matrix_product, "attention"};
  for (NodeId n : group.nodes) {
    const Node& node = graph.node(n);
    const OperatorKind kind = kind_of(graph, node);
    if (label.op.empty() || kind < label.kind) label.kind = kind, label.op = operator_name(graph, node);
    if (const std::string window = window_of(graph, node); label.window.empty() && !window.empty())
      label.window = window.substr(1, window.find(' ', 1) - 1);  // "k3" of " k3 s1 p1"
  }
  label.shape = to_string(graph.value(group.outputs[0]).type.shape);
  if (label.shape.starts_with("1x")) label.shape.erase(0, 2);
  return label;
}

std::string to_text(const TaskLabel& label) {
  std::string text = label.op;
  for (const std::string* part : {&label.shape, &label.window})
    if (!part->empty()) text += " " + *part;
  return text;
}

}  // namespace whet
