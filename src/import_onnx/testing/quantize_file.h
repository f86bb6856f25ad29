#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace whet::testing {

/// The least and the largest number of a value.
struct TensorRange {
  double low = 0, high = 0;
};

/// An ONNX file of floats as ONNX Runtime's own static quantizer writes it, with QuantizeLinear and DequantizeLinear around
/// convolutions, matrix products, sums, maxima and means: activations of u8 with a scale each, weights of i8 with a scale
/// for each output channel and no zero point, biases of i32 in units of the sums. Products of two activations stay in floats (its option MatMulConstBOnly). What a Relu or Clip alone reads stays
/// as it is. `ranges`: of each value of the file by its name; what has none stays in floats. Errors: the bytes are no ONNX model.
Result<std::string> quantized_onnx(const std::string& bytes, const std::map<std::string, TensorRange>& ranges);

}  // namespace whet::testing
