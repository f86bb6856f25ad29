#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Replaces each node whose inputs are all constants, or whose result is empty, by its value (computed by the reference
/// evaluation). A result much larger than its inputs (an expanded scalar) stays a node.
Result<Graph> fold_constants(const Graph&);

}  // namespace whet
