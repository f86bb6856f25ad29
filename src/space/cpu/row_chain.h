#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of convolutions and pools one behind the other: rows of the last one are
/// computed block by block, and the rows of the others that they need just before, into buffers that stay in the cache. Rows
/// that the next block reads again are kept (roll). Each one has register tiles as in the template `tile`.
///   decisions: rows (of the last one, computed at a time), block (rows that one worker computes one after another), oc,
///              ow, ic (tile of the last one, as in tile.h), order (0: columns, channels; 1: channels, rows, columns);
///              oc0, ow0, ic0, oc1, ... (tiles of the ones before it), group (of channels, which go through the chain one group after
///              the other: those of the result, where the last one computes each from itself alone and workers share groups out; or
///              those of a depthwise convolution or a pool, which the last one adds up)
/// Returns nothing where the DAG is not of this form.
std::optional<Sketch> row_chain_sketch(const ComputeDag&, const Target&);

}  // namespace whet
