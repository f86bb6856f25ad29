#pragma once

#include "base/result.h"
#include "import/site.h"

/// Reductions: parts, see arithmetic.h.
namespace whet {

/// Over axes (counted from 0, each once). The largest and the smallest of booleans are any and all; a reduction over no
/// elements gives what leaves others unchanged.
Result<ValueId> reduced(NodeSite&, ValueId x, const ReduceOperator&);
/// Over no axis: no sum is taken; the function of each element (its absolute value, square or logarithm) remains.
Result<ValueId> reduced_each(NodeSite&, ValueId x, ReduceKind);

}  // namespace whet
