#pragma once

#include <vector>

#include "base/result.h"
#include "import/parts/taps.h"
#include "import/site.h"

/// Images sampled at the points of a grid: parts, see arithmetic.h.
namespace whet {

/// Images [N, C, spatial...] at `grid` [N, spatial of the result..., dimensions], whose numbers are -1 .. 1 from one end of
/// an image to the other, those of the last dimension first. Gives [N, C, spatial of the result...].
Result<ValueId> grid_sampled(NodeSite&, ValueId images, ValueId grid, const Sampling&);

/// The grid of an image of shape `size` [N, C, spatial...] that matrices [N, 2, 3] or [N, 3, 4] turn and move. `align`: -1 and
/// 1 are the centres of the outer pixels, else their outer edges.
Result<ValueId> affine_grid(NodeSite&, ValueId matrices, const Shape& size, bool align);

}  // namespace whet
