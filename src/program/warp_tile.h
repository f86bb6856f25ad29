#pragma once

#include <optional>

#include "program/program.h"

namespace whet {

/// What one lane of a warp has of a tile of a warp-wide intrinsic, inside a launch (lower/gpu/spread_warps.h):
///   for i in 2 { for j in 2 { for k in K { sums[.., i, j] = sums[.., i, j] + left[.., 8i + g, .., k] * right[.., k, .., 2q + j] } } }
/// with g = lane / 4 and q = lane % 4, the operands rounded. An operand of mma_tf32 that is not rounded here has rounded
/// elements (schedule/tensorize.h): the bits that tf32 lacks are not seen. Each lane's own statements compute its sums. All 32
/// together are the tile, whose operands are in block memory, where each is read by several lanes.
struct WarpTile {
  Intrinsic intrinsic = Intrinsic::none;
  const Loop *rows = nullptr, *columns = nullptr, *depth = nullptr;
  const Store* store = nullptr;
  const Load *left = nullptr, *right = nullptr;
  bool rounds_left = false, rounds_right = false;  ///< what it loads
};
/// Nothing where the loops are no such tile: of other extents, with a guard, or around another sum.
std::optional<WarpTile> warp_tile(const Loop&);

/// What a thread computes by dp4a: for k in 4 { sum[..] = sum[..] + i32(left[.., k, ..]) * i32(right[.., k, ..]) }
struct ThreadDot {
  const Loop* depth = nullptr;
  const Store* store = nullptr;
  const Load *left = nullptr, *right = nullptr;
};
/// Nothing where the loop is none: of another extent, with a guard, or around another sum.
std::optional<ThreadDot> thread_dot(const Loop&);

}  // namespace whet
