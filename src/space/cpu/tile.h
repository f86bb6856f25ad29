#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of convolutions, depthwise convolutions, matrix products, pools and reductions whose innermost result
/// axis is not reduced: a register tile of pixels x vectors, weights packed in the order in which the tiles read them,
/// the epilogue on the tile.
///   decisions: oc (elements of the innermost axis in a tile), ow and oh (pixels), ic (unrolled reduction steps),
///              k (reduction block), order (of the outer loops), parallel (how many outer loops the workers divide),
///              group (tiles of channels that run inside of them), ahead (weights prefetched), taps (unrolled)
/// Returns nothing where the DAG is not of this form.
std::optional<Sketch> tile_sketch(const ComputeDag&, const Target&);

/// The same of one product of two activations of f32 whose right operand has rows so far apart that a tile's share few sets of the
/// caches: each tile of channels is copied once, in front of all rows. Returns nothing where rows lie otherwise, where few rows would
/// read the copy, or where the tiles of channels are no even shares for the workers.
std::optional<Sketch> tile_copy_sketch(const ComputeDag&, const Target&);

}  // namespace whet
