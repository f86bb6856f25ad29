#include "compute/op_evaluator.h"

namespace whet {

Status check_inputs(const ComputeDag& dag, const std::vector<Tensor>& inputs) {
  std::size_t count = 0;
  for (const Op& op : dag.ops) {
    if (!op.is_placeholder()) continue;
    if (count < inputs.size() && inputs[count].type() != TensorType{op.dtype, op.shape}) {
      return Error{"the input '" + op.name + "' is " + to_string(inputs[count].type()) + ", expected " +
                   to_string(TensorType{op.dtype, op.shape})};
    }
    ++count;
  }
  if (count == inputs.size()) return ok_status();
  return Error{"the DAG has " + std::to_string(count) + " placeholders, but " + std::to_string(inputs.size()) +
               " inputs were given"};
}

Result<std::vector<Tensor>> evaluate_all(const ComputeDag& dag, const std::vector<Tensor>& inputs) {
  if (is_sized(dag)) return evaluate_all(dag_at(dag, dag.at), inputs);
  WHET_RETURN_IF_ERROR(check_inputs(dag, inputs));
  std::vector<Tensor> values;
  std::size_t input = 0;
  for (const Op& op : dag.ops) {
    if (op.is_placeholder()) {
      values.push_back(inputs[input++]);
    } else {
      Tensor value(op.dtype, op.shape);
      WHET_RETURN_IF_ERROR(OpEvaluator(dag, op, values, OpEvaluator::lane_of_all(op)).all(value));
      values.push_back(std::move(value));
    }
  }
  return values;
}

Result<std::vector<Tensor>> evaluate(const ComputeDag& dag, const std::vector<Tensor>& inputs) {
  WHET_TRY(const std::vector<Tensor> values, evaluate_all(dag, inputs));
  std::vector<Tensor> outputs;
  for (OpId id : dag.outputs) outputs.push_back(values[id.index()]);
  return outputs;
}

}  // namespace whet
