#include "passes/fold_constants.h"

#include <algorithm>
#include <set>

#include "ops/evaluate_graph.h"
#include "passes/host_tensor.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

/// Above this a folded value has to be no larger than what it is computed from.
constexpr std::int64_t kFreeBytes = 1 << 20;
/// All folded values together may take this and twice the bytes of the graph's constants: a few nodes can make much.
constexpr std::int64_t kFreeBytesInAll = std::int64_t{1} << 30;

std::int64_t bytes_of(const TensorType& type) { return num_elements(type.shape) * size_of(type.dtype); }

std::int64_t bytes_to_spend(const Graph& graph) {
  std::int64_t bytes = kFreeBytesInAll;
  for (const Value& value : graph.values)
    if (value.constant) bytes += 2 * bytes_of(value.type);
  return bytes;
}

/// An input that is read twice counts once: a chain of concatenations of a value with itself doubles it each time.
bool is_worth_folding(const Rewriter& rewriter, const Node& node, const std::vector<ValueId>& inputs) {
  const TensorType& type = rewriter.from().value(node.output).type;
  if (num_elements(type.shape) == 0) return true;
  std::int64_t bytes_in = 0;
  std::set<std::int64_t> counted;
  for (ValueId id : inputs) {
    const Tensor* constant = rewriter.constant_of(id);
    if (!constant) return false;
    if (counted.insert(id.value).second) bytes_in += constant->bytes();
  }
  return bytes_of(type) <= std::max(kFreeBytes, bytes_in);
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
  std::int64_t left = bytes_to_spend(from);
  for (const Node& node : from.nodes) {
    const std::vector<ValueId> inputs = rewriter.now(node.inputs);
    const std::int64_t bytes = bytes_of(from.value(node.output).type);
    if (bytes > left || !is_worth_folding(rewriter, node, inputs)) {
      WHET_RETURN_IF_ERROR(rewriter.copy(node));
      continue;
    }
    WHET_TRY(Tensor value, value_of(rewriter, node, inputs));
    left -= bytes;
    rewriter.replace(node.output, rewriter.constant(from.value(node.output).name, std::move(value)));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
