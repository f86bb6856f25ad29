#pragma once

#include "tensor/difference.h"
#include "tensor/tensor.h"

namespace whet {

/// Compares element by element. Both tensors must have the same element count. Equal infinities agree, and so do two
/// NaN.
Difference compare(const Tensor& got, const Tensor& want, double tolerance = 0);

}  // namespace whet
