#pragma once

#include "space/space.h"

namespace whet {

/// Depthwise convolutions and pools: a thread computes a patch of outputs of a few channels, all in registers. What it
/// reads of a padded input is copied to registers first, so that each element is tested and loaded once.
///   rows, columns  of the patch
///   vector         channels
///   threads        of a block
///   min_blocks     that an SM is to hold at once; 0: as many as fit
/// Empty where the DAG is no reduction over a small window that moves with rows or columns, or its result has no
/// neighbouring channels.
std::optional<Sketch> window_sketch(const ComputeDag&, const Target&);

}  // namespace whet
