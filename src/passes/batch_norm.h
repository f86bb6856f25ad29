#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Splits each inference batch normalization into a multiplication by scale / sqrt(variance + epsilon) and an addition,
/// which later passes fold into weights or fuse like every other elementwise operator. Constants are computed in
/// double. Leaves: no BatchNormOperator.
Result<Graph> split_batch_norm(const Graph&);

}  // namespace whet
