#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Computes equal values once: nodes with equal operators over the same values become one, and so do small constants of
/// equal bytes.
Result<Graph> share_common_subexpressions(const Graph&);

}  // namespace whet
