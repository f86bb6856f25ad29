#pragma once

// Internal to spread_warps: which memory of a warp its lanes share, and how.

#include <cstdint>
#include <map>
#include <optional>

#include "base/result.h"
#include "lower/gpu/collective.h"
#include "program/program.h"

namespace whet {

// Of the sums of a warp, which lie in groups of 8 x 8: a lane has a row, and two neighbours of it.
constexpr std::int64_t kWarpGroup = 8, kWarpPair = 2;

/// The loops of a tile of a warp-wide intrinsic, and what it adds to.
struct WarpTileNest {
  const Loop *rows, *columns, *depth;
  const Store* store;
};
bool is_warp_tile(const Stmt&);
/// Nothing where there are other loops, or a guard.
std::optional<WarpTileNest> warp_tile_nest(const Stmt&);
/// The factor of the variable in an index that is a sum.
std::int64_t factor_in(const Expr& index, VarId);

/// The dimensions of a buffer that are rows and columns of a warp's tile.
struct WarpLayout {
  std::size_t rows = 0;
  std::optional<std::size_t> columns = {};  ///< none: one value a row, which each of the row's four lanes has
  bool quad = false;                        ///< the left operand of tiles (Buffer::quad)
};
using WarpLayouts = std::map<std::size_t, WarpLayout>;  ///< by buffer

/// The sums of tiles, left operands in memory of a thread, and what is computed of them element by element or row by row.
/// Errors: a tile with other loops, or one that does not move through its operands by rows and columns; extents that are no
/// multiples of 8.
Result<WarpLayouts> find_warp_layouts(const Program&, const Stmt& body, const Collectives&);

}  // namespace whet
