#pragma once

#include <optional>

#include "program/program.h"

namespace whet {

/// The part of one lane in a tile of a warp-wide intrinsic, inside a launch (lower/gpu/spread_warps.h):
///   for i in 2 { for j in 2 { for k in K { sums[.., i, j] = sums[.., i, j] + left[.., 8i + g, .., k] * right[.., k, .., 2q + j] } } }
/// with g = lane / 4 and q = lane % 4, the operands rounded. If an operand of mma_tf32 is not rounded here, its elements are rounded
/// already (schedule/tensorize.h): the instruction ignores the bits that tf32 lacks. Each lane's own statements compute its sums. The
/// 32 lanes together compute the tile. Its operands are in block memory, where several lanes read each.
struct WarpTile {
  Intrinsic intrinsic = Intrinsic::none;
  const Loop *rows = nullptr, *columns = nullptr, *depth = nullptr;
  const Store* store = nullptr;
  const Load *left = nullptr, *right = nullptr;
  bool rounds_left = false, rounds_right = false;  ///< the operand is rounded here
};
/// Nothing where the loops are no such tile: of other extents, with a guard, or around another sum.
std::optional<WarpTile> warp_tile(const Loop&);

/// The loop that a thread computes by one dp4a: for k in 4 { sum[..] = sum[..] + i32(left[.., k, ..]) * i32(right[.., k, ..]) }
struct ThreadDot {
  const Loop* depth = nullptr;
  const Store* store = nullptr;
  const Load *left = nullptr, *right = nullptr;
};
/// Nothing where the loop is none: of another extent, with a guard, or around another sum.
std::optional<ThreadDot> thread_dot(const Loop&);

}  // namespace whet
