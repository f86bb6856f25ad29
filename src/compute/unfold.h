#pragma once

#include "compute/dag.h"

namespace whet {

/// Gives `reader` a copy of `tensor` in the order of its own axes (im2col): instead of tensor[f(axes)] it reads
///   u[the axes that occur in f] = tensor[f(axes)]
/// In memory of a block, cut by the loops of the reader, the copy makes a convolution a product of two matrices. Its axes are
/// the reader's spatial ones, then its reduce ones; `turned`: the reduce ones first. The copy takes the number of `reader`,
/// which moves up by one with the ops behind it.
/// Source: Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014 (implicit GEMM).
/// Errors: `reader` does not read `tensor`, or at two places, or under a condition, or at one element alone.
Result<ComputeDag> unfold(const ComputeDag&, OpId tensor, OpId reader, bool turned);

/// The same of the factor that `tensor` is read in, where `reader` is or sums up a product of two: of x[i, r] * (s[r] * w[r, j])
/// and `tensor` s or w the copy is u[r, j] = s[r] * w[r, j], which is then computed once for all i.
/// Errors: the body is no product; neither factor reads `tensor`, or both do; the factor is one element alone.
Result<ComputeDag> unfold_factor(const ComputeDag&, OpId tensor, OpId reader, bool turned);

/// Gives `reader`, which sums up products of numbers that were widened from bf16, a copy of the factor that reads `tensor` in pairs of
/// terms, as instructions that multiply pairs take it: instead of f32(tensor[f(.., n, k)]) it reads f32(u[.., k/2, n, k%2]), u of bf16.
/// The factor may be an op of its own that widens, which is left out if nothing else reads it: ops are numbered anew.
/// Errors: those of a factor; the reader has no one axis of an even number of terms, or the factor is no number of bf16 that depends on
/// its terms and on a result's last axis.
Result<ComputeDag> unfold_pairs(const ComputeDag&, OpId tensor, OpId reader);

}  // namespace whet
