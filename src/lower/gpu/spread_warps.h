#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// Gives each thread of a warp its part of what the warp computes together. Lane 4g + q owns the elements (8a + g, 8b + 2q)
/// and (8a + g, 8b + 2q + 1) of the sums, as PTX lays out the result of an mma.
///   warp w { for i in 16 { for j in 8 { for k { c[i, j] += a[i, k] * b[k, j] } } }; for i in 16 { for j in 8 { y[i, j] = c[i, j] } } }  =>
///   thread w { thread g in 8 { thread q in 4 {
///     for i in 2 { for j in 2 { for k { c[i, j] += a[8i + g, k] * b[k, 2q + j] } } }      # still marked as a tile
///     for i in 2 { for j in 2 { y[8i + g, 2q + j] = c[i, j] } } } } }
/// So sums are registers of a thread for all passes behind this one, and a marked tile tells what its lanes compute together
/// (program/warp_tile.h).
/// Needs:  loops bound to warps; under them tiles of warp-wide intrinsics, nests over whole tiles of sums, and what fills
///         block memory.
/// Leaves: no loop bound to warps.
/// Errors: name what the lanes cannot share: sums that are read otherwise than element by element, memory of a thread that
///         holds no sums, a guard or other loops inside a tile.
Result<Program> spread_warps(Program);

}  // namespace whet
