#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/torch/program.h"

namespace whet::torch {

/// A tensor as a view of a storage, counted in elements.
struct Strided {
  ScalarType type;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
};

/// The tensor in row-major order; bf16 as f32. Errors name it (`what`): a type that whet does not have, or elements outside of
/// the storage.
Result<Tensor> gathered_tensor(std::string_view storage, const Strided&, const std::string& what);

}  // namespace whet::torch
