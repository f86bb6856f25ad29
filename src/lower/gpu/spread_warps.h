#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Gives each thread of a warp its part of the tiles that the warp computes together. Lane 4g + q owns the elements
/// (8a + g, 8b + 2q) and (8a + g, 8b + 2q + 1) of the sums: PTX's layout of the result of an mma.
///   warp w { for i in 16 { for j in 8 { for k { c[i, j] += a[i, k] * b[k, j] } } }; for i in 16 { for j in 8 { y[i, j] = c[i, j] } } }  =>
///   thread w { thread g in 8 { thread q in 4 {
///     for i in 2 { for j in 2 { for k { c[i, j] += a[8i + g, k] * b[k, 2q + j] } } }      # still marked as a tile
///     for i in 2 { for j in 2 { y[8i + g, 2q + j] = c[i, j] } } } } }
/// A left operand in registers (E of schedule/online.h) lies as sums do, so that four lanes have a row of it together (Buffer::quad). What is
/// added up of all columns of a row is begun with the reducer's identity; behind its nest each lane gets the parts of the other three.
/// So sums are registers of a thread for all later passes, and a marked tile is the part of a lane in a tile of the warp
/// (program/warp_tile.h).
/// Needs:  loops bound to warps; under them tiles of warp-wide intrinsics, nests over whole tiles of sums, and statements that
///         fill block memory.
/// Leaves: no loop bound to warps.
/// Errors: name the part that lanes cannot share: sums that are not read element by element, memory of a thread that
///         holds no sums, a guard or other loops inside a tile.
Result<Program> spread_warps(Program);

}  // namespace whet
