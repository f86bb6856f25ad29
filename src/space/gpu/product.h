#pragma once

#include "space/space.h"

namespace whet {

/// Convolutions, dense layers and batched products as tiles of a product of two matrices (implicit GEMM).
///   Both operands are unfolded, the axes of the result become (batch,) rows and columns, all reduce axes one. A block
///   computes a tile of rows by columns; a few steps of the sum at a time, both operands' parts are copied to block memory,
///   some steps ahead. A thread keeps its sums in registers: strips of `r` rows and columns, `v` of them apart (virtual
///   threads), so that neighbouring threads read neighbouring elements.
/// Empty where the DAG is no sum of products of two tensors that this form has.
std::optional<Sketch> product_sketch(const ComputeDag&, const Target&);

}  // namespace whet
