#pragma once

#include <functional>

#include "base/result.h"
#include "import/onnx/site.h"

namespace whet {

/// The product of `a` and `b` as numpy.matmul has it: vectors are rows and columns for a while.
Result<ValueId> add_matmul(OnnxSite&, ValueId a, ValueId b);
/// alpha * a * b + beta * c, as Gemm has it; `give` gets its last step.
Status give_gemm(OnnxSite&, const std::function<Status(const Operator&, std::vector<ValueId>)>& give);

}  // namespace whet
