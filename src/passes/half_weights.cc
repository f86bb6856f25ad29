#include "passes/half_weights.h"

#include <algorithm>
#include <cmath>

#include "passes/host_tensor.h"
#include "passes/rewriter.h"
#include "passes/squeeze_excite.h"

namespace whet {
namespace {

/// Rows that share a weight: a core multiplies and adds some ten rows in the time in which a weight of f32 comes from memory.
constexpr std::int64_t kMostRows = 8;
/// Fewer weights lie in a core's cache, from which reading is no bound.
constexpr std::int64_t kFewestWeights = 1 << 16;

bool all_fit(const Tensor& weights, DType to) {
  if (to != DType::f16) return true;
  constexpr float kLargest = 65504;
  return std::ranges::none_of(weights.as<float>(), [](float weight) { return std::abs(weight) > kLargest; });
}

/// A product of a matrix of few rows by a constant that nothing else reads.
bool is_bound_by_memory(const Graph& graph, const Node& node, const std::vector<int>& uses, DType to) {
  const auto* product = std::get_if<MatMulOperator>(&node.op);
  if (product == nullptr || product->transpose_a) return false;
  const Value &x = graph.value(node.inputs[0]), &w = graph.value(node.inputs[1]);
  if (x.constant || !w.constant || x.type.dtype != DType::f32 || w.type.dtype != DType::f32) return false;
  if (w.type.shape.size() != 2 || num_elements(w.type.shape) < kFewestWeights || uses[node.inputs[1].index()] != 1)
    return false;
  const std::int64_t rows = num_elements(x.type.shape) / x.type.shape.back();
  return rows <= kMostRows && all_fit(*w.constant, to);
}

Result<Graph> store_weights(const Graph& from, DType to) {
  const std::vector<int> uses = count_uses(from);
  std::vector<bool> closed(from.nodes.size(), false);  // of a group that is one kernel as it is
  for (const std::vector<NodeId>& nodes : find_squeeze_excites(from))
    for (NodeId node : nodes) closed[node.index()] = true;
  Rewriter rewriter(from);
  for (std::size_t n = 0; n < from.nodes.size(); ++n) {
    const Node& node = from.nodes[n];
    if (closed[n] || !is_bound_by_memory(from, node, uses, to)) {
      WHET_RETURN_IF_ERROR(rewriter.copy(node));
      continue;
    }
    const Value& weights = from.value(node.inputs[1]);
    const ValueId half =
        rewriter.constant(weights.name + "_" + std::string(name_of(to)), stored_as(*weights.constant, to));
    MatMulOperator product = std::get<MatMulOperator>(node.op);
    product.wide = true;
    WHET_RETURN_IF_ERROR(rewriter.copy_as(node, product, {rewriter.now(node.inputs[0]), half}));
  }
  return std::move(rewriter).finish();
}

}  // namespace

Result<Graph> store_f16_weights(const Graph& from) { return store_weights(from, DType::f16); }

Result<Graph> store_bf16_weights(const Graph& from) { return store_weights(from, DType::bf16); }

}  // namespace whet
