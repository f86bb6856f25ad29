#include "passes/dead_code.h"

#include "graph/dead_code.h"
#include "passes/rewriter.h"

namespace whet {

Result<Graph> remove_dead_code(const Graph& from) {
  const std::vector<bool> live = live_nodes(from);
  Rewriter rewriter(from);
  for (std::size_t n = 0; n < live.size(); ++n) {
    if (live[n]) WHET_RETURN_IF_ERROR(rewriter.copy(from.nodes[n]));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
