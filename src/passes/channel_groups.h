#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Rewrites group normalization as exporters write it: [N, C, H, W] is reshaped to [N, G, M], whose last dimension is
/// reduced, and the result is reshaped back. The new nodes compute on the picture: reductions go over H and W first and
/// then over the C/G channels of a group, and each value of a group (mean, deviation) becomes a value of each of its
/// channels, [N, C, 1, 1]. No element moves, and no kernel divides channels by groups: channels last, all values are
/// rows of channels.
/// (x - mean) / deviation becomes x times a factor minus a shift, so that no intermediate value is as large as the
/// picture.
Result<Graph> spread_channel_groups(const Graph&);

}  // namespace whet
