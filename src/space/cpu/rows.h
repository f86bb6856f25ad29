#pragma once

#include "space/space.h"

namespace whet {

/// The schedule of all other DAGs (element by element, injective, softmax, layer norm, reductions along any axis): the
/// workers share the outer axes of the output, its innermost axis is vectorized, and the ops that it reads are computed
/// row by row under it.
/// Sums along the innermost axis have a partial sum in each lane; sums along another axis are in registers. Without a
/// reduction: element_nest.h.
///   decisions: vectors (native vectors in a step along the innermost axis); with a reduction, rows (computed
///   together); without, pixels (elements of the axis before the innermost one in a step); with a transpose, across
///   (elements of a tile along the axis of contiguous reads)
Sketch rows_sketch(const ComputeDag&, const Target&);

}  // namespace whet
