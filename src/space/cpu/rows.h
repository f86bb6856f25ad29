#pragma once

#include "space/space.h"

namespace whet {

/// The schedule of all other DAGs (element by element, injective, softmax, layer norm, reductions along any axis): the
/// workers share the outer axes of the output, its innermost axis is vectorized, and the ops that it reads are computed
/// row by row under it.
/// Sums along the innermost axis are kept one a lane, those along another axis in registers. Without a reduction:
/// element_nest.h.
///   decisions: vectors (native vectors in a step along the innermost axis); with a reduction, rows (computed
///   together); without, pixels (elements of the axis before the innermost one in a step); with a transpose, across
///   (elements of a tile along the axis that is read along)
Sketch rows_sketch(const ComputeDag&, const Target&);

}  // namespace whet
