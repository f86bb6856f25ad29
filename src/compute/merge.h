#pragma once

#include "compute/dag.h"

namespace whet {

/// The same DAG with axes `axis` and `axis` + 1 of `op` as one, and so the dimensions that they write and read in every
/// tensor and the axes of every op that passes these on: rows and columns of pictures that are only ever met pixel by
/// pixel become a list of pixels, which can be cut anywhere. Memory stays as it is: a merged dimension counts the two in
/// row-major order. Ops keep their ids; constants are not touched.
/// Errors: no such axes; one of the two is read alone, shifted, strided, turned or reduced over; a constant has them.
Result<ComputeDag> merge_axes(const ComputeDag&, OpId op, std::int64_t axis);

}  // namespace whet
