#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Group normalization as exporters write it: [N, C, H, W] is reshaped to [N, G, M], whose last dimension is reduced, and
/// the result is reshaped back. Here all of it is computed of the picture itself: reductions go over H and W first and
/// then over the C/G channels of a group, and what there is one of a group (means, deviations) becomes one of a channel,
/// [N, C, 1, 1]. No element moves, and no kernel divides channels by groups: channels last, all are rows of channels.
/// (x - mean) / deviation becomes x times a factor minus a shift: nothing as large as the picture lies in between.
Result<Graph> spread_channel_groups(const Graph&);

}  // namespace whet
