#include "passes/dead_code.h"

#include "passes/rewriter.h"

namespace whet {

Result<Graph> remove_dead_code(const Graph& from) {
  std::vector<bool> needed(from.values.size(), false);
  for (ValueId id : from.outputs) needed[id.index()] = true;
  for (std::size_t n = from.nodes.size(); n-- > 0;) {
    if (!needed[from.nodes[n].output.index()]) continue;
    for (ValueId id : from.nodes[n].inputs) needed[id.index()] = true;
  }
  Rewriter rewriter(from);
  for (const Node& node : from.nodes) {
    if (needed[node.output.index()]) WHET_RETURN_IF_ERROR(rewriter.copy(node));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
