#pragma once

#include <cstdint>

#include "tensor/difference.h"
#include "tensor/tensor.h"

namespace whet {

/// Compares element by element. Both tensors must have the same element count. Equal infinities agree, and so do two
/// NaN.
Difference compare(const Tensor& got, const Tensor& want, double tolerance = 0);

// The figures of tensor/difference.h. Both tensors must have the same element count.
double relative_l2(const Tensor& got, const Tensor& want);
double cosine(const Tensor& got, const Tensor& want);
double psnr(const Tensor& got, const Tensor& want);
/// Of rows along the last axis; a tensor without axes is one row.
struct Top1 {
  std::int64_t same = 0, rows = 0;
};
Top1 top1(const Tensor& got, const Tensor& want);

}  // namespace whet
