#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Computes equal things once: nodes with equal operators over the same values, and small constants of equal bytes,
/// become one.
Result<Graph> share_common_subexpressions(const Graph&);

}  // namespace whet
