#include "passes/common_subexpressions.h"

#include <map>
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

/// What tells most nodes of equal inputs apart. A loop takes one slice after another of the same value.
std::vector<std::int64_t> kind_of(const Operator& op) {
  std::vector<std::int64_t> kind = {static_cast<std::int64_t>(op.index())};
  if (const auto* slice = std::get_if<SliceOperator>(&op))
    kind.insert(kind.end(), slice->starts.begin(), slice->starts.end());
  return kind;
}

class Sharing {
 public:
  explicit Sharing(const Graph& from) : rewriter_(from) {}

  Status visit(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(shared(id));
    std::vector<std::size_t>& candidates = seen_[{inputs, kind_of(node.op)}];
    for (std::size_t k : candidates) {
      const Node& other = rewriter_.graph().nodes[k];
      if (other.op != node.op) continue;
      rewriter_.replace(node.output, other.output);
      return ok_status();
    }
    candidates.push_back(rewriter_.graph().nodes.size());
    return rewriter_.copy_as(node, node.op, inputs);
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
  std::map<std::pair<std::vector<ValueId>, std::vector<std::int64_t>>, std::vector<std::size_t>> seen_;  ///< nodes
  std::map<std::string, ValueId> constants_;
};

}  // namespace

Result<Graph> share_common_subexpressions(const Graph& from) {
  Sharing sharing(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(sharing.visit(node));
  return std::move(sharing).finish();
}

}  // namespace whet
