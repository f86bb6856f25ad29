#pragma once

#include "base/result.h"
#include "import/onnx/site.h"

namespace whet {

/// The product of `a` and `b` as numpy.matmul has it: vectors are rows and columns for a while.
Result<ValueId> add_matmul(OnnxSite&, ValueId a, ValueId b);

}  // namespace whet
