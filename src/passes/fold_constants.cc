#include "passes/fold_constants.h"

#include "ops/evaluate_graph.h"
#include "passes/host_tensor.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

/// Above this a folded value has to be no larger than what it is computed from.
constexpr std::int64_t kFreeBytes = 1 << 20;

bool is_worth_folding(const Rewriter& rewriter, const Node& node, const std::vector<ValueId>& inputs) {
  const TensorType& type = rewriter.from().value(node.output).type;
  if (num_elements(type.shape) == 0) return true;
  std::int64_t bytes_in = 0;
  for (ValueId id : inputs) {
    const Tensor* constant = rewriter.constant_of(id);
    if (!constant) return false;
    bytes_in += constant->bytes();
  }
  return num_elements(type.shape) * size_of(type.dtype) <= std::max(kFreeBytes, bytes_in);
}

Result<Tensor> value_of(const Rewriter& rewriter, const Node& node, const std::vector<ValueId>& inputs) {
  const TensorType& type = rewriter.from().value(node.output).type;
  if (num_elements(type.shape) == 0) return Tensor(type.dtype, type.shape);
  std::vector<Tensor> operands;
  for (ValueId id : inputs) operands.push_back(*rewriter.constant_of(id));
  if (const auto* transpose = std::get_if<TransposeOperator>(&node.op)) return transposed(operands[0], transpose->perm);
  return evaluate_operator(node.op, operands, type, node.name);
}

}  // namespace

Result<Graph> fold_constants(const Graph& from) {
  Rewriter rewriter(from);
  for (const Node& node : from.nodes) {
    const std::vector<ValueId> inputs = rewriter.now(node.inputs);
    if (!is_worth_folding(rewriter, node, inputs)) {
      WHET_RETURN_IF_ERROR(rewriter.copy(node));
      continue;
    }
    WHET_TRY(Tensor value, value_of(rewriter, node, inputs));
    rewriter.replace(node.output, rewriter.constant(from.value(node.output).name, std::move(value)));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
