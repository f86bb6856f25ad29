#include "passes/output_names.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "passes/rewriter.h"

namespace whet {
namespace {

/// The names of a graph's values and nodes, and who has them.
class NameTable {
 public:
  explicit NameTable(Graph& graph) : graph_(graph), is_computed_(graph.values.size(), false) {
    for (std::size_t v = 0; v < graph.values.size(); ++v)
      values_[graph.values[v].name] = ValueId(static_cast<std::int64_t>(v));
    for (const Node& node : graph.nodes) {
      nodes_.insert(node.name);
      is_computed_[node.output.index()] = true;
    }
  }

  bool is_computed(ValueId id) const { return is_computed_[id.index()]; }

  /// A value that is called so gets the name of `id`: both stay unique.
  void rename(ValueId id, const std::string& name) {
    if (const auto other = values_.find(name); other != values_.end()) {
      graph_.value(other->second).name = graph_.value(id).name;
      values_[graph_.value(id).name] = other->second;
    } else {
      values_.erase(graph_.value(id).name);
    }
    graph_.value(id).name = name;
    values_[name] = id;
  }

  /// Another name of the value, under `name` with something behind it.
  Result<ValueId> add_alias(ValueId id, const std::string& name) {
    const Shape shape = graph_.value(id).type.shape;
    const std::string free = free_name(name + "_alias");
    WHET_TRY(const ValueId alias, graph_.add_node(free, ReshapeOperator{shape}, {id}));
    nodes_.insert(free);
    values_[free] = alias;
    is_computed_.push_back(true);
    return alias;
  }

 private:
  std::string free_name(const std::string& wanted) const {
    std::string name = wanted;
    for (int i = 1; nodes_.contains(name) || values_.contains(name); ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  Graph& graph_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_set<std::string> nodes_;
  std::vector<bool> is_computed_;
};

}  // namespace

Result<Graph> keep_output_names(Graph graph, const Graph& original) {
  const auto keeps_name = [&](ValueId now, ValueId old) { return graph.value(now).name == original.value(old).name; };
  if (std::equal(graph.outputs.begin(), graph.outputs.end(), original.outputs.begin(), keeps_name)) return graph;
  NameTable names(graph);
  std::unordered_map<std::int32_t, int> listed, times;  // as outputs: values of the original, and what stands for them
  for (ValueId id : original.outputs) ++listed[id.value];
  for (ValueId id : graph.outputs) ++times[id.value];
  std::unordered_map<std::int32_t, ValueId> now;  // of the original's outputs so far
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const ValueId old = original.outputs[k];
    const std::string& name = original.value(old).name;
    if (const auto before = now.find(old.value); before != now.end()) {  // one value listed twice
      graph.outputs[k] = before->second;
      continue;
    }
    ValueId id = graph.outputs[k];
    if (graph.value(id).name != name) {
      if (times.at(id.value) > 1 || !names.is_computed(id)) {
        times[id.value] -= listed[old.value];
        WHET_TRY(id, names.add_alias(id, name));
      }
      names.rename(id, name);
    }
    now[old.value] = graph.outputs[k] = id;
  }
  return graph;
}

}  // namespace whet
