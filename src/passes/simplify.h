#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Removes operators that change nothing, and replaces operators by plainer ones:
///   reshapes, casts, slices, pads, expands, pools and resizes of nothing; x*1, x+0, x-0, x/1, x^1; an open clip;
///   reshape of a reshape, transpose of a transpose; a transpose that only moves extents of 1 (a reshape);
///   a reduction over extents of 1; concatenation of one, or with empty tensors, or with constants of one value (a
///   padding); gather of one constant index (a slice); an expand before an operator that broadcasts anyway; an
///   elementwise operator behind a reshape (moved before it); zero padding before a convolution (its own padding); a
///   transposed constant of a matmul; a bias of zeros.
Result<Graph> simplify_graph(const Graph&);

}  // namespace whet
