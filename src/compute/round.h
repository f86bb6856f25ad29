#pragma once

#include "compute/dag.h"

namespace whet {

/// The elements of `op` are rounded when they are computed, to what tensor cores take as operands.
///   round_f16   it becomes a tensor of f16, whose readers read f32(op[..]): half the memory
///   round_tf32  it stays f32, and the low bits of its elements are zeros
/// Errors: another function; `op` is an input, an output, a reduction or not of f32.
Result<ComputeDag> round_elements(const ComputeDag&, OpId op, MathFn rounding);

/// Whether rounding the elements of `op` again changes nothing: they are rounded, or copied from what is, or zeros beside it.
bool is_rounded(const ComputeDag&, OpId op, MathFn rounding);

/// Whether an op multiplies f32 by constants of f16, or of bf16, and adds up in f32 (passes/half_weights.h).
bool widens_weights(const ComputeDag&, DType half);

/// Whether an op sums up products of f16, or of bf16, in f32. No other op does so of f32.
bool multiplies_halves(const ComputeDag&, DType half = DType::f16);

}  // namespace whet
