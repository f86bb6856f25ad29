#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace whet {

/// The tensor with its dimensions in another order: dimension i of the result is dimension perm[i] of `x`. It is made when somebody reads
/// it: `x` must not change until then.
Tensor transposed(const Tensor& x, const std::vector<std::int64_t>& perm);
/// The tensor at the beginning of one of `shape`, which has as many dimensions and is nowhere smaller; zeros around it.
Tensor extended(const Tensor& x, const Shape& shape);
/// The numbers of a tensor as another type holds them. It is made when somebody reads it, as `transposed` is.
Tensor stored_as(const Tensor& x, DType to);
/// The value of all elements, where all are equal.
std::optional<double> uniform_value(const Tensor& x);

}  // namespace whet
