#include "graph/graph.h"

#include <string_view>
#include <unordered_set>

#include "graph/infer.h"

namespace whet {

Operator::Operator(const Operator&) = default;
Operator::Operator(Operator&&) noexcept = default;
Operator& Operator::operator=(const Operator&) = default;
Operator& Operator::operator=(Operator&&) noexcept = default;
Operator::~Operator() = default;
bool operator==(const Operator& a, const Operator& b) {
  return static_cast<const Operator::variant&>(a) == static_cast<const Operator::variant&>(b);
}

namespace {

bool exists(const Graph& graph, ValueId id) { return id.valid() && id.index() < graph.values.size(); }

std::vector<TensorType> types_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorType> types;
  types.reserve(ids.size());
  for (ValueId id : ids) types.push_back(graph.value(id).type);
  return types;
}

Status verify_values(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  names.reserve(graph.values.size());
  for (const Value& value : graph.values) {
    if (!names.insert(value.name).second) return Error{"two values are called \"" + value.name + "\""};
    if (!is_sane(value.type.shape)) return check_shape("value \"" + value.name + "\"", value.type.shape);
    if (value.constant && value.constant->type() != value.type) {
      return Error{"the constant \"" + value.name + "\" is " + to_string(value.constant->type()) + "; its value says " +
                   to_string(value.type)};
    }
  }
  return ok_status();
}

/// One node: it reads values of the nodes above it, writes a new value, and its type is the inferred one.
Status verify_node(const Graph& graph, const Node& node, std::vector<bool>& defined) {
  for (ValueId id : node.inputs) {
    if (!exists(graph, id)) return Error{node.name + ": reads a value that does not exist"};
    if (!defined[id.index()]) {
      return Error{node.name + ": reads \"" + graph.value(id).name + "\", which no earlier node computes"};
    }
  }
  if (!exists(graph, node.output)) return Error{node.name + ": writes a value that does not exist"};
  const Value& result = graph.value(node.output);
  if (defined[node.output.index()]) return Error{node.name + ": \"" + result.name + "\" is computed twice"};
  defined[node.output.index()] = true;
  WHET_TRY(const TensorType type, infer_type(node.name, node.op, types_of(graph, node.inputs)));
  if (type == result.type) return ok_status();
  return Error{node.name + ": computes " + to_string(type) + "; its value says " + to_string(result.type)};
}

}  // namespace

ValueId Graph::add_value(std::string value_name, TensorType type) {
  values.push_back({std::move(value_name), std::move(type), std::nullopt});
  return ValueId(static_cast<std::int64_t>(values.size()) - 1);
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  TensorType type = tensor.type();
  values.push_back({std::move(value_name), std::move(type), std::move(tensor)});
  return ValueId(static_cast<std::int64_t>(values.size()) - 1);
}

Result<ValueId> Graph::add_node(std::string node_name, Operator op, std::vector<ValueId> node_inputs) {
  for (ValueId id : node_inputs) WHET_CHECK(exists(*this, id), node_name.c_str());
  WHET_TRY(TensorType type, infer_type(node_name, op, types_of(*this, node_inputs)));
  const ValueId output = add_value(node_name, std::move(type));
  nodes.push_back({std::move(node_name), std::move(op), std::move(node_inputs), output});
  return output;
}

Status verify(const Graph& graph) {
  WHET_RETURN_IF_ERROR(verify_values(graph));
  std::vector<bool> defined(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.values.size(); ++i) defined[i] = graph.values[i].constant.has_value();
  for (ValueId id : graph.inputs) {
    if (!exists(graph, id)) return Error{"an input of the graph does not exist"};
    if (defined[id.index()]) return Error{"the input \"" + graph.value(id).name + "\" is a constant or listed twice"};
    defined[id.index()] = true;
  }
  std::unordered_set<std::string_view> names;
  names.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    if (!names.insert(node.name).second) return Error{"two nodes are called \"" + node.name + "\""};
    WHET_RETURN_IF_ERROR(verify_node(graph, node, defined));
  }
  for (ValueId id : graph.outputs) {
    if (!exists(graph, id)) return Error{"an output of the graph does not exist"};
    if (!defined[id.index()]) return Error{"nothing computes the output \"" + graph.value(id).name + "\""};
  }
  return ok_status();
}

}  // namespace whet
