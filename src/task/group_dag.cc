#include "task/group_dag.h"

#include <map>
#include <optional>

#include "ops/define.h"
#include "passes/permutation.h"

namespace whet {
namespace {

/// An op that is one constant; `define` reads it as a literal, and then nothing needs it.
Op literal_op(const std::string& name, const Tensor& value) {
  Element element;
  for (std::int64_t extent : value.shape()) element.axes.push_back({"i" + std::to_string(element.axes.size()), extent});
  element.body =
      is_float(value.dtype()) ? float_const(value.get(0), value.dtype()) : int_const(value.integer(0), value.dtype());
  return {name, value.dtype(), value.shape(), std::move(element)};
}

/// The DAG of a group that is one transpose, over its essential dimensions: its kernel has longer rows, and more transposes are
/// the same task. Nothing for other groups.
Result<std::optional<ComputeDag>> lone_transpose(const Graph& graph, const Group& group) {
  const Node& node = graph.node(group.nodes.front());
  const auto* op = std::get_if<TransposeOperator>(&node.op);
  if (!op || group.nodes.size() != 1) return std::optional<ComputeDag>();
  const Value& from = graph.value(node.inputs[0]);
  const Move move = essential({from.type.shape, op->perm});
  if (move.source.size() < 2) return std::optional<ComputeDag>();
  const TensorType source{from.type.dtype, move.source}, result{from.type.dtype, permuted(move.source, move.perm)};
  ComputeDag dag;
  const OpId in = dag.add({"p0", source.dtype, source.shape, Placeholder{.constant = from.constant.has_value()}});
  WHET_TRY(const OpId out, define(dag, TransposeOperator{move.perm}, {in}, {source}, result, name_of(node.op)));
  dag.outputs = {out};
  return std::optional(std::move(dag));
}

}  // namespace

Result<ComputeDag> group_dag(const FusedGraph& fused, const Group& group) {
  const Graph& graph = fused.graph;
  WHET_TRY(std::optional<ComputeDag> transpose, lone_transpose(graph, group));
  if (transpose) return std::move(*transpose);
  ComputeDag dag;
  OpNames names;
  std::map<ValueId, OpId> ops;
  for (ValueId id : group.inputs) {
    const Value& value = graph.value(id);
    const std::string name = "p" + std::to_string(dag.ops.size());
    ops[id] = dag.add({name, value.type.dtype, value.type.shape, Placeholder{.constant = value.constant.has_value()}});
  }
  for (NodeId n : group.nodes) {
    const Node& node = graph.node(n);
    std::vector<OpId> inputs;
    std::vector<TensorType> types;
    for (ValueId id : node.inputs) {
      if (!ops.contains(id)) {
        WHET_CHECK(is_literal(graph, group.nodes, id), node.name.c_str());
        ops[id] = dag.add(literal_op("literal" + std::to_string(dag.ops.size()), *graph.value(id).constant));
      }
      inputs.push_back(ops.at(id));
      types.push_back(graph.value(id).type);
    }
    auto result = define(dag, names, node.op, inputs, types, graph.value(node.output).type, name_of(node.op));
    if (!result.ok()) return result.error().at(node.name);
    ops[node.output] = *result;
  }
  for (ValueId id : group.outputs) dag.outputs.push_back(ops.at(id));
  dag = without_dead_ops(dag);
  WHET_RETURN_IF_ERROR(verify(dag));
  return dag;
}

}  // namespace whet
