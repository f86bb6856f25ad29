#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Splits each inference batch normalization into a multiplication by scale / sqrt(variance + epsilon) and an addition.
/// Later passes fold these into weights or fuse them like other elementwise operators. Constants are computed in
/// double. Leaves: no BatchNormOperator.
Result<Graph> split_batch_norm(const Graph&);

}  // namespace whet
