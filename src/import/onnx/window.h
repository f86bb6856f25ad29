#pragma once

#include <vector>

#include "base/result.h"
#include "import/onnx/site.h"
#include "import/parts/window.h"

namespace whet {

/// Reads "strides", "dilations", "pads" and "auto_pad" for windows of `kernel` over input 0 (channels first).
Result<Window> read_window(OnnxSite&, const std::vector<std::int64_t>& kernel);
/// Reads the attributes of a pool over input 0. Callers read "count_include_pad".
Result<Pooling> read_pooling(OnnxSite&, PoolKind);
/// Reads all attributes of a convolution whose weights are input `weights`.
Result<ConvOperator> read_conv(OnnxSite&, std::size_t weights);

}  // namespace whet
