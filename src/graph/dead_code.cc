#include "graph/dead_code.h"

namespace whet {
namespace {

/// Keeping the others' order.
void drop_unread_values(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    used[node.output.index()] = true;
    for (ValueId id : node.inputs) used[id.index()] = true;
  }
  for (ValueId id : graph.inputs) used[id.index()] = true;
  for (ValueId id : graph.outputs) used[id.index()] = true;
  std::vector<ValueId> renumbered(graph.values.size());
  std::vector<Value> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = ValueId(static_cast<std::int64_t>(kept.size()));
    kept.push_back(std::move(graph.values[i]));
  }
  graph.values = std::move(kept);
  const auto renumber = [&](ValueId& id) { id = renumbered[id.index()]; };
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) renumber(id);
    renumber(node.output);
  }
  for (ValueId& id : graph.inputs) renumber(id);
  for (ValueId& id : graph.outputs) renumber(id);
}

}  // namespace

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId id : graph.outputs) needed[id.index()] = true;
  std::vector<bool> live(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    live[n] = needed[graph.nodes[n].output.index()];
    if (!live[n]) continue;
    for (ValueId id : graph.nodes[n].inputs) needed[id.index()] = true;
  }
  return live;
}

void drop_dead_code(Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  std::vector<Node> kept;
  for (std::size_t n = 0; n < live.size(); ++n) {
    if (live[n]) kept.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(kept);
  drop_unread_values(graph);
}

}  // namespace whet
