#pragma once

#include "base/result.h"
#include "import/site.h"

/// Functions that the graph has no operator of, to all digits at every size of x: parts (see arithmetic.h) of one tensor of
/// floats. The result has its type; f16 is computed in f32.
namespace whet {

Result<ValueId> expm1(NodeSite&, ValueId x);  ///< exp(x) - 1
/// The same of x <= 0 for activations, which is cheaper and within 2e-6 in f32; of f16 in f16.
Result<ValueId> expm1_of_negative(NodeSite&, ValueId x);
Result<ValueId> log1p(NodeSite&, ValueId x);   ///< log(1 + x)
Result<ValueId> erfc(NodeSite&, ValueId x);    ///< 1 - erf(x)
Result<ValueId> erfinv(NodeSite&, ValueId x);  ///< of which x is erf; infinite at -1 and 1, NaN outside
Result<ValueId> lgamma(NodeSite&, ValueId x);  ///< log |gamma(x)|, without all digits next to its zeros below 0

}  // namespace whet
