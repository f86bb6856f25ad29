#pragma once

#include "space/space.h"

namespace whet {

/// Reductions whose threads work on one sum together, and what is computed of them, in one launch: softmax, layer norm,
/// means over pictures, products with a vector.
///   threads     that add up one sum
///   rows        rows of the result that a block computes
///   vector      neighbouring elements that a thread takes at once: terms of a sum along memory, else sums
///   min_blocks  that an SM is to hold at once; 0: as many as fit
/// Empty where sums are short or not one for each row, and where the result is a patch of windows.
std::optional<Sketch> gpu_rows_sketch(const ComputeDag&, const Target&);

}  // namespace whet
