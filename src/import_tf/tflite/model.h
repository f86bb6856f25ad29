#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import_tf/tflite/flat.h"
#include "tensor/tensor.h"

namespace whet::tflite {

/// (number - zero point) * scale; one for the tensor, or one for each place of a dimension.
struct Quantization {
  std::vector<float> scales;
  std::vector<std::int64_t> zeros;
  int dimension = 0;
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

struct TensorInfo {
  std::string name;        ///< unique in its graph
  int type = 0;            ///< the file's number of it
  Shape shape, signature;  ///< -1 in the signature: open
  Quantization quantization;
  bool is_variable = false;
  std::optional<Tensor> value;
};

struct Operation {
  int code = 0;
  std::string name;                  ///< "CONV_2D", or a custom one's own
  std::string label;                 ///< begins messages: the name of its first result
  std::vector<int> inputs, outputs;  ///< tensors; -1: left out
  FlatTable options;
  std::string_view custom_options;
};

struct Subgraph {
  std::vector<TensorInfo> tensors;
  std::vector<Operation> operations;
  std::vector<int> inputs, outputs;
};

/// A file; tables refer to its bytes.
struct TfliteModel {
  std::string bytes;
  FlatBytes flat;
  std::vector<Subgraph> graphs;
  std::size_t main = 0;  ///< the graph that is imported
};

/// i32 holds numbers of 16 bits.
std::optional<DType> dtype_of_tflite(int type);
constexpr int kInt16 = 7;
std::string tflite_type_name(int type);

/// Reads a file. `entry`: which of its signatures. Errors name the file and the tensor at fault.
Result<std::shared_ptr<TfliteModel>> parse_tflite(std::string bytes, const std::string& entry, const std::string& what);

}  // namespace whet::tflite
