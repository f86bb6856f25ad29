#pragma once

#include <optional>
#include <vector>

#include "program/program.h"

namespace whet {

/// Of a row that four lanes have together (Buffer::quad): how many, and which of them has an element.
constexpr std::int64_t kQuadLanes = 4;
constexpr std::int64_t quad_lane(std::int64_t column) { return column % 8 / 2; }
/// The number of the element among those that its lane has.
constexpr std::int64_t quad_element(std::int64_t column) { return column / 8 * 2 + column % 2; }

/// The part of one lane in a tile of a warp-wide intrinsic, inside a launch (lower/gpu/spread_warps.h):
///   for i in 2 { for j in 2 { for k in K { sums[.., i, j] = sums[.., i, j] + left[.., 8i + g, .., k] * right[.., k, .., 2q + j] } } }
/// with g = lane / 4 and q = lane % 4, the operands rounded. If an operand of mma_tf32 is not rounded here, its elements are rounded
/// already (schedule/tensorize.h): the instruction ignores the bits that tf32 lacks. Each lane's own statements compute its sums. The
/// 32 lanes together compute the tile. Its operands are in block memory, where several lanes read each, or the left one is in registers
/// that a row's four lanes have together (Buffer::quad).
struct WarpTile {
  Intrinsic intrinsic = Intrinsic::none;
  const Loop *rows = nullptr, *columns = nullptr, *depth = nullptr;
  const Store* store = nullptr;
  const Load *left = nullptr, *right = nullptr;
  bool rounds_left = false, rounds_right = false;  ///< the operand is rounded here
};
/// Nothing where the loops are no such tile: of other extents, with a guard, or around another sum.
std::optional<WarpTile> warp_tile(const Loop&);

/// The flat indices, two lanes wide, of what a lane has of a left operand in registers: by words of the fragment, those of rows i = 0
/// and 1 of the tile's first eight terms, then of the next eight where it has 16. A tile of eight terms, whose order does not matter, takes
/// the first of each pair as its first four terms.
std::vector<Expr> own_pairs(const WarpTile&);

/// The loop that a thread computes by one dp4a: for k in 4 { sum[..] = sum[..] + i32(left[.., k, ..]) * i32(right[.., k, ..]) }
struct ThreadDot {
  const Loop* depth = nullptr;
  const Store* store = nullptr;
  const Load *left = nullptr, *right = nullptr;
};
/// Nothing where the loop is none: of another extent, with a guard, or around another sum.
std::optional<ThreadDot> thread_dot(const Loop&);

}  // namespace whet
