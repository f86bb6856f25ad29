#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// A convolution, dense layer or batched product of f32 by the tensor cores of an NVIDIA GPU, the operands rounded to
/// `precision`: a block computes a tile of rows and columns of which each warp has a part, with its sums in the warp's
/// registers; both operands are copied into block memory some steps of the sum ahead. Nothing where the DAG is no such product
/// (product_form.h), has few rows or columns, or the GPU has no such tensor cores.
std::optional<Sketch> mma_sketch(const ComputeDag&, const Target&, Precision);
/// The same of f16 by f16, or of bf16 by bf16, as both are.
std::optional<Sketch> mma_half_sketch(const ComputeDag&, const Target&);
/// The same of bytes by constants that are bytes with a sign, whose sums are exact in i32.
std::optional<Sketch> mma_bytes_sketch(const ComputeDag&, const Target&);

}  // namespace whet
