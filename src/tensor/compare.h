#pragma once

#include <string>

#include "tensor/tensor.h"

namespace whet {

struct Difference {
  double max_abs = 0;           ///< largest |got - want|; infinity where one is not finite and the other differs
  double largest = 0;           ///< largest |want|
  double relative = 0;          ///< max_abs / max(largest, 1e-30)
  std::int64_t where = -1;      ///< row-major index of the largest difference, -1 for empty tensors
  std::int64_t mismatches = 0;  ///< elements with |got - want| > tolerance * largest
};

/// Compares element by element. Both tensors must have the same element count. Equal infinities agree, and so do two
/// NaN.
Difference compare(const Tensor& got, const Tensor& want, double tolerance = 0);

}  // namespace whet
