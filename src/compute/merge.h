#pragma once

#include "compute/dag.h"

namespace whet {

/// Merges axes `axis` and `axis` + 1 of `op` into one; spatial axes come first, then reduce axes. The dimensions that they write and read in every tensor, and the
/// axes of every op that passes these on, are merged too. Rows and columns of pictures that are only read pixel by
/// pixel become a list of pixels, which can be cut anywhere. Memory stays the same: a merged dimension counts the two
/// in row-major order. Ops keep their ids. Constants are not touched.
/// An unfolded copy (compute/unfold.h) may read the two otherwise: it divides the merged axis into them. Where `op` reads such
/// copies, so may its readers: what they read at i and j they read at i*extent + j.
/// Errors: no such axes; one of the two is read alone, shifted, strided, turned or reduced over; a constant has them.
Result<ComputeDag> merge_axes(const ComputeDag&, OpId op, std::int64_t axis);

}  // namespace whet
