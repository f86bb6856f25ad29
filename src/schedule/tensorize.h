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
/// Where lowering puts a test inside the tile, or later steps change what it computes, the loops run as they are.
struct Tensorize {
  LoopId loop;
  Intrinsic intrinsic;
};
Status apply(LoopTree&, const Tensorize&);

}  // namespace whet
