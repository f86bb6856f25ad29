#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Group normalization as exporters write it: [N, C, H, W] is reshaped to [N, G, M], whose last dimension is reduced, and
/// the result is reshaped back. Here it becomes the same over [N, G, C/G, H, W] (with one group over [N, C, H, W]
/// itself), which moves no element when channels come last; to get M together a picture would have to be turned.
Result<Graph> spread_channel_groups(const Graph&);

}  // namespace whet
