#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// unfold — a reader gets a copy of a tensor in the order of its own axes (compute/unfold.h).
///   for i { for r { S(X[f(i, r)]) } }   unfold(X, S)  =>   for i, r { U[i, r] = X[f(i, r)] }  for i { for r { S(U[i, r]) } }
/// Computed at a loop of the reader it is the tile that the loop reads, dense, with padding filled in.
///   tensor  an input (constant or not) or an op, read by `reader` at one place
///   order   turned: the reduce axes come first; pairs: the copy is of the factor, of bf16, in pairs of terms: U[.., r/2, i, r%2]
///           (unfold_pairs). What only the factor needed is left out, so that all ops are numbered anew
///   what    factor: the copy is of the whole factor that the tensor is read in, where the reader's body is a product
///   yields  the copy gets the id of `reader`; `reader` and the ops behind it move up by one, and all loops are
///   those of the new DAG
///   errors  those of compute/unfold.h; anything was scheduled before
enum class UnfoldOrder : std::uint8_t { spatial_first, turned, pairs };
enum class UnfoldWhat : std::uint8_t { tensor, factor };
struct Unfold {
  OpId tensor, reader;
  UnfoldOrder order = UnfoldOrder::spatial_first;
  UnfoldWhat what = UnfoldWhat::tensor;
};
Status apply(LoopTree&, const Unfold&);

}  // namespace whet
