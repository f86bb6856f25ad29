#include "alternatives/not_lowered.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace whet {
namespace {

/// Results that an instruction adds up to, side by side.
constexpr std::int64_t kSums = 16;

std::vector<NodeId> products_of(const FusedGraph& fused, const Group& group) {
  std::vector<NodeId> products;
  for (NodeId n : group.nodes) {
    const Operator& op = fused.graph.node(n).op;
    if (std::holds_alternative<ConvOperator>(op) || std::holds_alternative<MatMulOperator>(op)) products.push_back(n);
  }
  return products;
}

}  // namespace

bool has_product(const FusedGraph& fused, const Group& group) { return !products_of(fused, group).empty(); }

std::string why_not_lowered(const FusedGraph& fused, const Group& group) {
  const std::vector<NodeId> products = products_of(fused, group);
  if (products.empty()) return "it has no product";
  if (products.size() > 1) return fmt::format("it has {} products, as an attention has", products.size());
  const Graph& graph = fused.graph;
  const Node& node = graph.node(products.front());
  const Value &x = graph.value(node.inputs[0]), &weights = graph.value(node.inputs[1]), &y = graph.value(node.output);
  if (x.type.dtype != DType::f32) return "it reads " + std::string(name_of(x.type.dtype)) + ", not f32";
  if (!weights.constant) return "both of its factors are activations";
  if (x.type.shape.back() % 2 != 0) return fmt::format("its {} terms are no pairs", x.type.shape.back());
  if (y.type.shape.back() < kSums)
    return fmt::format("its {} results are fewer than the {} of an instruction", y.type.shape.back(), kSums);
  return "what is computed with its product would be a kernel of its own";
}

}  // namespace whet
