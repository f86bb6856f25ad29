#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of convolutions and pools one behind the other. Rows of the last one are computed block by block. The rows of
/// the others that a block needs are computed just before it, into buffers that stay in the cache. Rows that the next block reads
/// again are kept (roll). Each op has register tiles as in the template `tile`.
///   decisions: rows (of the last op, computed at a time), block (rows that one worker computes one after another), oc,
///              ow, ic (tile of the last op, as in tile.h), order (0: columns, channels; 1: channels, rows, columns);
///              oc0, ow0, ic0, oc1, ... (tiles of the ops before it), group (channels that go through the chain together, one group
///              after the other. They are channels of the result, where the last op computes each channel from the same channel
///              and the workers divide the groups; or those of a depthwise convolution or a pool, over which the last op sums)
/// Returns nothing where the DAG is not of this form.
std::optional<Sketch> row_chain_sketch(const ComputeDag&, const Target&);

}  // namespace whet
