#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "import_onnx/quantized_parts.h"
#include "import_onnx/writer.h"

namespace whet {

/// Writes what a file has as bytes: QuantizeLinear and DequantizeLinear around activations, DequantizeLinear behind constants. Each call
/// gives the name of a value of f32, whose nodes are there then.
class ByteWriter {
 public:
  explicit ByteWriter(OnnxWriter& writer) : writer_(writer) {}

  /// An activation, by its name in the file. Its nodes are written once.
  std::string rounded(const std::string& name, const ByteScale&);
  /// Weights of i8 with a scale for each extent of a dimension.
  std::string weights(const std::string& stem, const Tensor&, const std::vector<double>& scales, std::int64_t axis);
  /// A bias of f32 [O] as multiples of what sums of 1 stand for, by output channel, in i32.
  std::string bias(const std::string& stem, const Tensor&, const std::vector<double>& units);

 private:
  std::string constant(const std::string& wanted, const Tensor&);
  std::string widened(const std::string& stem, const Tensor& whole, const std::vector<double>& scales,
                      std::int64_t axis);

  OnnxWriter& writer_;
  std::unordered_map<std::string, std::string> rounded_;  ///< by the activation's name
};

}  // namespace whet
