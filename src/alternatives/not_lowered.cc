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

std::string why_not_lowered(const FusedGraph& fused, const Group& group, const std::vector<StoredAs>& types,
                            const StoredForms& stored) {
  const std::vector<NodeId> products = products_of(fused, group);
  if (products.empty()) return "it has no product";
  if (products.size() > 1) return fmt::format("it has {} products, as an attention has", products.size());
  const Graph& graph = fused.graph;
  const Node& node = graph.node(products.front());
  const Value &x = graph.value(node.inputs[0]), &weights = graph.value(node.inputs[1]), &y = graph.value(node.output);
  if (x.type.dtype != DType::f32) return "it reads " + std::string(name_of(x.type.dtype)) + ", not f32";
  if (!weights.constant) return "both of its factors are activations";
  if (std::ranges::none_of(types, [&](StoredAs type) { return stored.numbers(node.inputs[0], type).has_value(); }))
    return "the samples have no range of what it reads";
  const std::int64_t terms = x.type.shape.back(), results = y.type.shape.back();
  const auto* conv = std::get_if<ConvOperator>(&node.op);
  if (conv != nullptr && conv->groups > 1 && (conv->groups != terms || conv->groups != results))
    return fmt::format("its convolution has {} groups", conv->groups);
  if (std::ranges::any_of(types, [&](StoredAs type) { return stored.product(node, type) != nullptr; }))
    return "what is computed with its product would be a kernel of its own";
  const bool pairs = std::ranges::any_of(types, [](StoredAs type) { return type != StoredAs::u8; });
  if (terms % (pairs ? 2 : 4) != 0) return fmt::format("its {} terms are no {}", terms, pairs ? "pairs" : "fours");
  if (results < kSums) return fmt::format("its {} results are fewer than the {} of an instruction", results, kSums);
  return "no instruction fits its product";
}

}  // namespace whet
