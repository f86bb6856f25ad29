#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "import_tf/tflite/flat.h"
#include "tensor/tensor.h"

namespace whet::tflite {

/// The dense tensor of sparse data: `sparsity` is a SparsityParameters table. Errors name the tensor (`what`).
Result<Tensor> densified(DType, const Shape&, std::string_view data, const FlatTable& sparsity,
                         const std::string& what);

}  // namespace whet::tflite
