#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Replaces each node whose inputs are all constants, or whose result is empty, by its value, which the reference
/// evaluation computes. A node whose result is much larger than its inputs (an expanded scalar) stays, and so
/// does what would take more than 1 GiB and twice the bytes of all constants.
Result<Graph> fold_constants(const Graph&);

}  // namespace whet
