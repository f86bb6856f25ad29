#pragma once

#include "base/result.h"
#include "import/onnx/site.h"
#include "import/parts/matrix.h"

namespace whet {

/// Reads the inputs and attributes of Gemm and computes it.
Result<ValueId> read_gemm(OnnxSite&);

}  // namespace whet
