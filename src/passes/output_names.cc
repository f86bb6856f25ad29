#include "passes/output_names.h"

#include <algorithm>

#include "passes/rewriter.h"

namespace whet {
namespace {

void rename(Graph& graph, ValueId id, const std::string& name) {
  for (Value& other : graph.values) {
    if (other.name == name) other.name = graph.value(id).name;  // the two swap names, so both stay unique
  }
  graph.value(id).name = name;
}

bool is_computed(const Graph& graph, ValueId id) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.output == id; });
}

std::string free_node_name(const Graph& graph, const std::string& wanted) {
  std::string name = wanted;
  auto taken = [&] {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.name == name; }) ||
           std::any_of(graph.values.begin(), graph.values.end(), [&](const Value& v) { return v.name == name; });
  };
  for (int i = 1; taken(); ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

}  // namespace

Result<Graph> keep_output_names(Graph graph, const Graph& original) {
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const std::string& name = original.value(original.outputs[k]).name;
    const ValueId old = original.outputs[k];
    const ValueId id = graph.outputs[k];
    if (graph.value(id).name == name) continue;
    const auto first = std::find(original.outputs.begin(), original.outputs.end(), old);
    if (first != original.outputs.begin() + static_cast<std::ptrdiff_t>(k)) continue;  // one value listed twice
    const bool shared = std::count(graph.outputs.begin(), graph.outputs.end(), id) > 1;
    if (!shared && is_computed(graph, id)) {
      rename(graph, id, name);
      continue;
    }
    const Shape shape = graph.value(id).type.shape;
    WHET_TRY(const ValueId alias, graph.add_node(free_node_name(graph, name + "_alias"), ReshapeOperator{shape}, {id}));
    for (std::size_t j = k; j < graph.outputs.size(); ++j) {
      if (original.outputs[j] == old) graph.outputs[j] = alias;
    }
    rename(graph, alias, name);
  }
  return graph;
}

}  // namespace whet
