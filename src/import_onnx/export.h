#pragma once

#include <string>

#include "base/result.h"
#include "graph/graph.h"
#include "import_onnx/quantized_parts.h"

namespace whet {

/// The graph as an ONNX file that other tools open: operator set 13, or the first one that has what the graph uses (14
/// for hard_swish, 19 for half_pixel_symmetric). Names stay. Operators with channels last get transposes around; runs
/// of them and of elementwise operators between stay channels first, so that few remain. Errors: the file would exceed
/// 2 GiB.
///   parts  what it has as bytes, with QuantizeLinear and DequantizeLinear around operators of floats
Result<std::string> onnx_bytes(const Graph&, const QuantizedParts& parts = {});
/// Writes `onnx_bytes` to a file.
Status export_onnx(const Graph&, const std::string& path);

}  // namespace whet
