#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "base/result.h"
#include "import/weight_files.h"
#include "tensor/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

/// The tensors of ONNX files. Errors begin with `what`.
namespace whet {

/// What lies beside the model, and the tensors that were read of it.
struct Beside {
  std::string directory = {};
  WeightFiles files = {};
  std::map<std::tuple<std::string, std::uint64_t, std::int32_t, Shape>, Tensor> tensors = {};
  /// How many bytes may still be made of sparse tensors: their files say little about it.
  std::int64_t sparse_bytes = std::int64_t{1} << 28;
  bool native_types = false;  ///< BFLOAT16 and INT16 are taken as they are
};

/// Whether a type, by the standard's number, is held in a wider one: dtype_of_onnx.
bool is_held_wider(int type, bool native_types);
Result<Tensor> decode_tensor(const onnx::TensorProto&, Beside&, const std::string& what);
/// With zeros where the file has no value.
Result<Tensor> decode_sparse(const onnx::SparseTensorProto&, Beside&, const std::string& what);

}  // namespace whet
