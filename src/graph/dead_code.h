#pragma once

#include <vector>

#include "graph/graph.h"

namespace whet {

/// For each node, whether an output needs it.
std::vector<bool> live_nodes(const Graph&);

/// Drops nodes that no output needs, and values that no node names any more. Inputs stay, even those that nothing
/// needs. The rest keeps its order.
void drop_dead_code(Graph&);

}  // namespace whet
