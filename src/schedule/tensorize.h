#pragma once

#include "program/intrinsic.h"
#include "schedule/loop_tree.h"

namespace whet {

/// tensorize — a tile is computed by an intrinsic of the processor.
///   for i in 0..16 { for j in 0..16 { Y[a + i, b + j] = X[b + j, a + i] } }   tensorize(i, transpose16)  =>
///   the same elements, rows loaded and stored whole and turned in registers
///   loop       with the loops inside it, all of one op and down to its leaf: the axes of the intrinsic's own
///              definition in order, with its extents; none has a tail that is guarded
///   intrinsic  what the op computes is what its definition does; each operand's rows lie densely (those of a packed
///              constant lie as they are packed)
///   yields     nothing: the loops keep their ids; they are frozen, and nothing is computed under them
///   errors     no such loop; other loops, extents, dtypes or expressions than the definition has; rows that are not
///              dense; a factored reduction, or one that begins inside the tile
/// Loops of tile_bf16 and tile_u8 may have fewer iterations than the definition's axes, all of them but the last; they go i, k, j,
/// w, and b has to be packed in that order. Code for a CPU without a unit of tiles has the loops as they are.
/// dp4a_s8 and dp4a_u8 have no axis but that of the sum: the loop is over four neighbours of both operands.
/// A warp-wide intrinsic (mma_tf32, mma_f16, mma_bf16) is computed by the threads of a warp together. It is under a loop
/// bound to warps, at which the op keeps its sums in registers (cache_write, or compute_at .. registers); no reduce loop is
/// around the warps. Its operands are ops that are placed in block memory afterwards, with rows of whole 16 bytes. Their
/// rounding becomes a part of what the op computes. Rows of the right operand lie along the columns or, unless it is of bytes,
/// along the depth. A tail that is guarded may cut the tile: operands are zeros there.
/// `lower` refuses it for a GPU without such tensor cores (sm_75 and older: m16n8k8 of tf32 and m16n8k16 do not exist there).
/// Where lowering puts a test inside another tile, or later steps change what it computes, the loops run as they are.
struct Tensorize {
  LoopId loop;
  Intrinsic intrinsic;
};
Status apply(LoopTree&, const Tensorize&);

}  // namespace whet
