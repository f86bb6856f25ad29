#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Drops nodes and constants that no output needs. Inputs stay, even those that nothing needs.
Result<Graph> remove_dead_code(const Graph&);

}  // namespace whet
