#include "passes/rewriter.h"

#include <utility>

namespace whet {

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) ++uses[id.index()];
  }
  for (ValueId id : graph.outputs) ++uses[id.index()];
  return uses;
}

Rewriter::Rewriter(const Graph& from) : from_(from), now_(from.values.size()), uses_(count_uses(from)) {
  to_.name = from.name;
  to_.values.reserve(from.values.size());
  to_.nodes.reserve(from.nodes.size());
  for (ValueId id : from.inputs) {
    const ValueId input = to_.add_value(from.value(id).name, from.value(id).type);
    to_.inputs.push_back(input);
    replace(id, input);
  }
}

ValueId Rewriter::now(ValueId old) {
  ValueId& id = now_[old.index()];
  if (!id.valid()) {
    const Value& value = from_.value(old);
    WHET_CHECK(value.constant.has_value(), value.name.c_str());
    id = to_.add_constant(value.name, *value.constant);
  }
  return id;
}

std::vector<ValueId> Rewriter::now(const std::vector<ValueId>& old) {
  std::vector<ValueId> ids;
  ids.reserve(old.size());
  for (ValueId id : old) ids.push_back(now(id));
  return ids;
}

Result<ValueId> Rewriter::emit(const std::string& name, Operator op, std::vector<ValueId> inputs) {
  WHET_TRY(const ValueId value, to_.add_node(unique(name), std::move(op), std::move(inputs)));
  note_producer(value);
  return value;
}

ValueId Rewriter::constant(const std::string& name, Tensor tensor) {
  return to_.add_constant(unique(name), std::move(tensor));
}

Status Rewriter::copy(const Node& node) { return copy_over(node, now(node.inputs)); }

Status Rewriter::copy_over(const Node& node, std::vector<ValueId> inputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (type(inputs[k]) != from_.value(node.inputs[k]).type) return copy_as(node, node.op, std::move(inputs));
  const Value& result = from_.value(node.output);  // the same operator of the same types: nothing is inferred anew
  const ValueId value = to_.add_value(result.name, result.type);
  to_.nodes.push_back({node.name, node.op, std::move(inputs), value});
  note_producer(value);
  replace(node.output, value);
  return ok_status();
}

Status Rewriter::copy_as(const Node& node, Operator op, std::vector<ValueId> inputs) {
  WHET_TRY(const ValueId value, to_.add_node(node.name, std::move(op), std::move(inputs)));
  note_producer(value);
  to_.value(value).name = from_.value(node.output).name;
  replace(node.output, value);
  return ok_status();
}

void Rewriter::note_producer(ValueId now) {
  producers_.resize(to_.values.size(), kNone);
  producers_[now.index()] = to_.nodes.size() - 1;
}

const Node* Rewriter::producer(ValueId now) const {
  const std::size_t node = now.index() < producers_.size() ? producers_[now.index()] : kNone;
  return node == kNone ? nullptr : &to_.nodes[node];
}

Graph Rewriter::finish() && {
  for (ValueId id : from_.outputs) to_.outputs.push_back(now(id));
  return std::move(to_);
}

std::string Rewriter::unique(const std::string& wanted) {
  if (names_.empty()) {  // most passes change nothing of most graphs
    for (const Value& value : from_.values) names_.insert(value.name);
    for (const Node& node : from_.nodes) names_.insert(node.name);
  }
  if (names_.insert(wanted).second) return wanted;
  int& number = numbers_[wanted];
  std::string name;
  do {
    name = wanted + "_" + std::to_string(++number);
  } while (!names_.insert(name).second);
  return name;
}

}  // namespace whet
