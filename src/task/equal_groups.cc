#include "task/equal_groups.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace whet {
namespace {

/// Groups with one hash that one is compared with.
constexpr std::size_t kMostCompared = 8;

std::uint64_t hash_of(const TensorType& type, std::uint64_t seed) {
  seed = hash_combine(seed, static_cast<std::uint64_t>(type.dtype));
  for (const std::int64_t extent : type.shape) seed = hash_combine(seed, static_cast<std::uint64_t>(extent));
  return seed;
}

/// Of operators, without most of their numbers, and of types.
std::uint64_t hash_of(const Graph& graph, const Group& group) {
  std::uint64_t hash = kHashSeed;
  for (const ValueId id : group.inputs) hash = hash_of(graph.value(id).type, hash);
  for (const NodeId n : group.nodes) {
    const Node& node = graph.node(n);
    hash = hash_combine(hash, node.op.index() * 64 + node.inputs.size());
    if (const auto* unary = std::get_if<UnaryOperator>(&node.op))
      hash = hash_combine(hash, static_cast<std::uint64_t>(unary->kind));
    if (const auto* binary = std::get_if<BinaryOperator>(&node.op))
      hash = hash_combine(hash, static_cast<std::uint64_t>(binary->kind));
    if (const auto* slice = std::get_if<SliceOperator>(&node.op))
      for (const std::int64_t start : slice->starts) hash = hash_combine(hash, static_cast<std::uint64_t>(start));
    hash = hash_of(graph.value(node.output).type, hash);
  }
  return hash;
}

/// Two groups side by side: which values of one stand for which of the other.
class Comparison {
 public:
  Comparison(const Graph& graph, const Group& a, const Group& b) : graph_(graph), a_(a), b_(b) {}

  bool are_equal() {
    if (a_.nodes.size() != b_.nodes.size() || a_.inputs.size() != b_.inputs.size() ||
        a_.outputs.size() != b_.outputs.size())
      return false;
    for (std::size_t k = 0; k < a_.inputs.size(); ++k)
      if (!are_equal_inputs(a_.inputs[k], b_.inputs[k])) return false;
    for (std::size_t n = 0; n < a_.nodes.size(); ++n)
      if (!are_equal_nodes(graph_.node(a_.nodes[n]), graph_.node(b_.nodes[n]))) return false;
    return std::equal(a_.outputs.begin(), a_.outputs.end(), b_.outputs.begin(),
                      [&](ValueId a, ValueId b) { return twins_.at(a.value) == b; });
  }

 private:
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }

  bool are_equal_inputs(ValueId a, ValueId b) {
    twins_.emplace(a.value, b);
    return type(a) == type(b) && graph_.value(a).constant.has_value() == graph_.value(b).constant.has_value();
  }

  bool are_equal_nodes(const Node& a, const Node& b) {
    if (a.inputs.size() != b.inputs.size() || type(a.output) != type(b.output) || a.op != b.op) return false;
    for (std::size_t k = 0; k < a.inputs.size(); ++k) {
      const auto twin = twins_.find(a.inputs[k].value);
      const bool alike =
          twin != twins_.end() ? twin->second == b.inputs[k] : are_equal_literals(a.inputs[k], b.inputs[k]);
      if (!alike) return false;
    }
    twins_.emplace(a.output.value, b.output);
    return true;
  }

  /// What is neither an input nor computed in the group is written into its expressions (`is_literal`).
  bool are_equal_literals(ValueId a, ValueId b) const {
    if (!graph_.value(a).constant || !graph_.value(b).constant || type(a) != type(b)) return false;
    const Tensor &left = *graph_.value(a).constant, &right = *graph_.value(b).constant;
    return std::memcmp(left.data(), right.data(), static_cast<std::size_t>(left.bytes())) == 0 &&
           std::find(b_.inputs.begin(), b_.inputs.end(), b) == b_.inputs.end();
  }

  const Graph& graph_;
  const Group &a_, &b_;
  std::unordered_map<std::int32_t, ValueId> twins_;  ///< of inputs and results of `a`
};

}  // namespace

std::optional<std::size_t> EqualGroups::find(std::size_t group) {
  const Group& own = fused_.groups[group];
  std::vector<std::size_t>& others = seen_[hash_of(fused_.graph, own)];
  for (std::size_t k = others.size(); k-- > 0 && others.size() - k <= kMostCompared;)
    if (Comparison(fused_.graph, fused_.groups[others[k]], own).are_equal()) return others[k];
  others.push_back(group);
  return std::nullopt;
}

}  // namespace whet
