#include "ops/evaluate_graph.h"

#include "ops/define.h"

namespace whet {

Result<Tensor> evaluate_operator(const Operator& op, const std::vector<Tensor>& inputs, const TensorType& output,
                                 const std::string& node_name) {
  if (num_elements(output.shape) == 0) return Tensor(output.dtype, output.shape);
  if (std::holds_alternative<ReshapeOperator>(op)) return inputs[0].reshaped(output.shape);
  ComputeDag dag;
  std::vector<OpId> ids;
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    types.push_back(inputs[k].type());
    ids.push_back(dag.add({"p" + std::to_string(k), types[k].dtype, types[k].shape, Placeholder{}}));
  }
  WHET_TRY(const OpId result, define(dag, op, ids, types, output, name_of(op)));
  dag.outputs = {result};
  auto values = evaluate(dag, inputs);
  if (!values.ok()) return values.error().at(node_name);
  return values.value()[0];
}

Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return Error{"the graph has " + std::to_string(graph.inputs.size()) + " inputs; " + std::to_string(inputs.size()) +
                 " were given"};
  }
  std::vector<Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].constant) values[i] = *graph.values[i].constant;
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Value& input = graph.value(graph.inputs[k]);
    if (inputs[k].type() != input.type) {
      return Error{"input \"" + input.name + "\" is " + to_string(input.type) + "; " + to_string(inputs[k].type()) +
                   " was given"};
    }
    values[graph.inputs[k].index()] = inputs[k];
  }
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> operands;
    for (ValueId id : node.inputs) operands.push_back(values[id.index()]);
    WHET_TRY(values[node.output.index()],
             evaluate_operator(node.op, operands, graph.value(node.output).type, node.name));
  }
  return values;
}

}  // namespace whet
