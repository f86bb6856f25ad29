#pragma once

#include <string_view>

#include "base/result.h"
#include "graph/graph.h"
#include "passes/fuse.h"

namespace whet {

struct PassOptions {
  bool channels_last = true;  ///< store activations channels last; off: in the file's order
  bool fuse = true;           ///< off: each operator is a group of its own (except aliases)
  bool halves = false;        ///< round the operands of products to f16, and store them so (halves.h)
};

struct Pass {
  std::string_view name;
  Result<Graph> (*run)(const Graph&);
};

/// The passes that run before fusion, in order; some run more than once.
const std::vector<Pass>& graph_passes();

/// Runs the passes of the table. The graph computes the same outputs (same names, types and order) from the same
/// inputs, up to rounding.
Result<Graph> run_passes(Graph, const PassOptions&);

/// Runs the passes, then fuses the graph into groups. Each group becomes one kernel.
Result<FusedGraph> optimize(Graph, const PassOptions&);

}  // namespace whet
