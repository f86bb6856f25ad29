#pragma once

#include "space/space.h"

namespace whet {

/// Convolutions, dense layers and batched products as tiles of a product of two matrices (implicit GEMM).
///   Both operands are unfolded. The axes of the result become (batch,) rows and columns; all reduce axes become one. A block
///   computes a tile of rows by columns. The operands' parts for a few steps of the sum are copied to block memory together, some
///   steps ahead. A thread keeps its sums in registers: strips of `r` rows and columns, `v` of them apart (virtual threads), so
///   that neighbouring threads read neighbouring elements.
/// Empty where the DAG is no sum of products of two tensors that this form has.
std::optional<Sketch> product_sketch(const ComputeDag&, const Target&);

}  // namespace whet
