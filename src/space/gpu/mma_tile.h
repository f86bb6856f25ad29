#pragma once

#include "space/gpu/product_tile.h"

namespace whet {

constexpr std::int64_t kMmaRows = 16, kMmaColumns = 8;  ///< of a tile of the intrinsic
/// Terms that one intrinsic adds up.
inline std::int64_t step_of(Intrinsic i) { return op_of(i).element().reduce_axes.front().extent; }

/// The intrinsic that multiplies operands of this precision; nothing for f32.
std::optional<Intrinsic> mma_of(Precision);

/// The intrinsic of products whose operands are all f16, or all bf16, in memory; nothing where they are neither.
std::optional<Intrinsic> mma_of_halves(const ComputeDag&);

/// A tile that a block computes by warps, each with `warp_rows` by `warp_columns` of it.
struct MmaTile {
  Intrinsic intrinsic = Intrinsic::mma_tf32;
  std::int64_t row_warps = 1, warp_rows = kMmaRows, column_warps = 1, warp_columns = kMmaColumns;
  std::int64_t depth = 16;                   ///< terms of the sum that are copied together
  std::int64_t stages = 1;                   ///< copies under way, and the one that is read
  std::int64_t left_pad = 0, right_pad = 0;  ///< elements between rows of the copies
  bool swizzled = false;                     ///< parts of the copies' rows change places instead
  std::int64_t parts = 1;                    ///< of the sum
  std::int64_t min_blocks = 0;               ///< that an SM is to hold; 0: as many as fit
  std::int64_t raster = 0;                   ///< as in ProductTile

  std::int64_t rows() const { return row_warps * warp_rows; }
  std::int64_t columns() const { return column_warps * warp_columns; }
  std::int64_t threads() const { return row_warps * column_warps * 32; }
  std::int64_t intrinsics() const {  ///< that a warp runs in a step of `depth`
    return (warp_rows / kMmaRows) * (warp_columns / kMmaColumns) * (depth / step_of(intrinsic));
  }
  std::int64_t sums() const { return warp_rows * warp_columns / 32; }  ///< registers of a thread
  /// Registers of a thread that hold operands of one step.
  std::int64_t operands() const { return warp_rows / kMmaRows * 4 + warp_columns / kMmaColumns * 2; }
};

/// Bytes of a row of each copy, without what is between two.
std::int64_t left_row_bytes(const ProductForm&, const MmaTile&);
std::int64_t right_row_bytes(const ProductForm&, const MmaTile&);
/// Bytes of block memory that holds both operands.
std::int64_t bytes_of(const ProductForm&, const MmaTile&);
/// How a block copies the part of each operand that a step needs.
TileCopy left_copy(const ProductForm&, const MmaTile&);
TileCopy right_copy(const ProductForm&, const MmaTile&);

/// A sum of products that warps compute, `depth` terms of it a step.
struct WarpSum {
  OpId op;
  Intrinsic intrinsic;
  std::int64_t depth;
  bool has_outer = false;  ///< a reduce loop in front of that over the depth
};
/// Cuts a warp's part of the sum into tiles of the intrinsic. Returns the loop over steps.
///   loops   (lead,) rows, columns(, outer) and depth of a warp
///   cache   the innermost loop of warps, where sums become registers there; invalid: they are already
LoopId sum_by_warps(Scheduler&, const WarpSum&, std::vector<LoopId> loops, LoopId cache = LoopId());

/// Writes the schedule.
void build_mma(Scheduler&, const ProductForm&, const MmaTile&);

}  // namespace whet
