#pragma once

#include <vector>

#include "base/result.h"
#include "import/parts/window.h"
#include "import_onnx/site.h"

namespace whet {

/// Reads "strides", "dilations", "pads" and "auto_pad" for windows of `kernel` over `x` (channels first).
Result<Window> read_window(OnnxSite&, ValueId x, const std::vector<std::int64_t>& kernel);
/// Reads the attributes of a pool over `x`. Callers read "count_include_pad".
Result<Pooling> read_pooling(OnnxSite&, ValueId x, PoolKind);
/// Reads all attributes of a convolution of `x`.
Result<ConvOperator> read_conv(OnnxSite&, ValueId x, ValueId weights);

}  // namespace whet
