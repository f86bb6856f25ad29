#include "passes/common_subexpressions.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

/// Larger constants are weights, which differ; comparing them costs more than it finds.
constexpr std::int64_t kComparedBytes = 4096;

std::string key_of(const Tensor& tensor) {
  return to_string(tensor.type()) +
         std::string(static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
}

/// Of what tells most nodes apart. A loop takes one slice after another of the same value.
std::uint64_t hash_of(const Operator& op, const std::vector<ValueId>& inputs) {
  std::uint64_t hash = hash_combine(kHashSeed, op.index());
  for (const ValueId id : inputs) hash = hash_combine(hash, id.index());
  if (const auto* slice = std::get_if<SliceOperator>(&op))
    for (const std::int64_t start : slice->starts) hash = hash_combine(hash, static_cast<std::uint64_t>(start));
  return hash;
}

class Sharing {
 public:
  explicit Sharing(const Graph& from) : rewriter_(from) { seen_.reserve(from.nodes.size()); }

  Status visit(const Node& node) {
    std::vector<ValueId> inputs;
    inputs.reserve(node.inputs.size());
    for (ValueId id : node.inputs) inputs.push_back(shared(id));
    const std::uint64_t hash = hash_of(node.op, inputs);
    for (auto [seen, end] = seen_.equal_range(hash); seen != end; ++seen) {
      const Node& other = rewriter_.graph().nodes[seen->second];
      if (other.inputs != inputs || other.op != node.op) continue;
      rewriter_.replace(node.output, other.output);
      return ok_status();
    }
    seen_.emplace(hash, rewriter_.graph().nodes.size());
    return rewriter_.copy_over(node, std::move(inputs));
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  ValueId shared(ValueId old) {
    const auto& constant = rewriter_.from().value(old).constant;
    if (!constant || constant->bytes() > kComparedBytes) return rewriter_.now(old);
    const auto [entry, is_new] = constants_.try_emplace(key_of(*constant), ValueId());
    if (is_new) entry->second = rewriter_.now(old);
    return entry->second;
  }

  Rewriter rewriter_;
  std::unordered_multimap<std::uint64_t, std::size_t> seen_;  ///< numbers of nodes, by hash_of
  std::unordered_map<std::string, ValueId> constants_;
};

}  // namespace

Result<Graph> share_common_subexpressions(const Graph& from) {
  Sharing sharing(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(sharing.visit(node));
  return std::move(sharing).finish();
}

}  // namespace whet
