#pragma once

#include "base/result.h"
#include "import/site.h"

/// Pools to a given number of windows: parts, see arithmetic.h.
namespace whet {

/// x [N, C, spatial...] to [N, C, extents...]: window i of n over h pixels is floor(i h / n) up to ceil((i + 1) h / n). Needs:
/// one to three spatial dimensions, as many extents of 1 or more. Errors: more than 4096 windows of a dimension, where they are
/// not of equal size.
Result<ValueId> adaptive_average(NodeSite&, ValueId x, const Shape& extents);
Result<ValueId> adaptive_maximum(NodeSite&, ValueId x, const Shape& extents);

}  // namespace whet
