#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "import_onnx/quantized_parts.h"
#include "plan/layer_precisions.h"

/// `whet tune --write-quantized`: a plan in fewer bits as an ONNX file that other programs run.
namespace whet {

/// What of a plan such a file can say.
struct QuantizedFile {
  QuantizedParts parts;
  std::size_t in_bytes = 0;  ///< layers that multiply bytes
  std::size_t in_f32 = 0;    ///< layers of bf16 and i16, which it has in f32
};
/// A kernel that reads bytes reads rounded ones there, and a product of bytes has weights of bytes.
///   plan    numbers of the alternatives
///   ranges  that these were found with
QuantizedFile quantized_file(const FusedGraph&, const Alternatives&, const std::vector<int>& plan, const ValueRanges&);

/// "q.onnx was not written: WHY", and that a file which is there is an older one.
std::string not_written(const std::string& path, const std::string& why);
/// Writes the network with the bytes of its last plan, as the passes left it: names of inputs and outputs are those of the model's file.
/// The sentence says what is in it, or why it was not written: the plan has no bytes.
Result<std::string> write_quantized(const FusedGraph&, const LoweredKernels&, const std::string& path);

}  // namespace whet
