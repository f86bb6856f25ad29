#pragma once

#include <vector>

#include "graph/graph.h"

namespace whet {

/// For each node whether an output needs it.
std::vector<bool> live_nodes(const Graph&);

/// Drops nodes that no output needs, and values that then nothing names. Inputs stay, needed or not; what is kept keeps
/// its order.
void drop_dead_code(Graph&);

}  // namespace whet
