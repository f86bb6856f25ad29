#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import_torch/program.h"

namespace whet::torch {

/// A tensor as a view of a storage, counted in elements.
struct Strided {
  ScalarType type;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
};

/// Whether all elements, of which there are some, lie in a storage of `count` elements.
bool is_inside(const Strided&, std::int64_t count);
/// Needs: is_inside.
bool is_row_major(const Strided&);
/// Of each element in row-major order. Needs: is_inside.
std::vector<std::int64_t> places_of(const Strided&);
/// The tensor in row-major order, of the type that `dtype_of` gives. Errors name it (`what`): a type that whet does not have, or
/// elements outside of the storage.
Result<Tensor> gathered_tensor(std::string_view storage, const Strided&, bool native_types, const std::string& what);

}  // namespace whet::torch
