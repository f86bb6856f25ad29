#pragma once

#include "space/gpu/product_form.h"
#include "space/space.h"

namespace whet {

/// An axis of a tile: `apart` strips of each of `threads` threads, `strip` elements wide.
struct TileCut {
  std::int64_t apart = 1, threads = 1, strip = 1;
  std::int64_t whole() const { return apart * threads * strip; }
  std::int64_t sums() const { return apart * strip; }  ///< of a thread
};

constexpr std::int64_t kDotTerms = 4;  ///< products of bytes that dp4a adds up

/// A tile of rows by columns that a block computes, `depth` terms a step.
struct ProductTile {
  TileCut rows, columns;
  std::int64_t depth = 1;
  std::int64_t stages = 1;      ///< copies under way, and the one that is read
  std::int64_t pad = 0;         ///< elements between rows of the left copy; of bytes: of both
  std::int64_t parts = 1;       ///< of the sum; several are added up by a launch of their own
  std::int64_t min_blocks = 0;  ///< that an SM is to hold; 0: as many as fit
  std::int64_t unroll = 0;      ///< steps of the sum that are unrolled; 0: all of a step's terms
  std::int64_t raster = 0;      ///< which blocks are neighbours: 0 of a row, 1 of a column, n in groups of n rows
  std::int64_t threads() const { return rows.threads * columns.threads; }
  std::int64_t sums() const { return rows.sums() * columns.sums(); }
  std::int64_t unrolled() const { return unroll > 0 ? std::min(unroll, depth) : depth; }
};

/// How a block fills a tile in its memory: vectors of `lanes` elements, `across` threads on a row and `down` rows at once, in
/// `times` steps.
struct TileCopy {
  std::int64_t lanes, across, down, times;
};
/// `rows` by `columns` elements, of which `most_lanes` neighbours can be moved at once.
TileCopy tile_copy(std::int64_t rows, std::int64_t columns, std::int64_t most_lanes, std::int64_t threads);
/// Cuts and binds the two loops over such a tile of an op in block memory.
///   trip   rows of a thread that are unrolled together; 0: all of them
void copy_tile(Scheduler&, LoopId rows, LoopId columns, const TileCopy&, std::int64_t trip = 0);

/// The order of blocks by `raster` of a tile, which is that of the loops: blocks that run at the same time share operands in L2.
std::vector<LoopId> order_of_blocks(Scheduler&, LoopId rows, LoopId columns, std::int64_t raster);
/// Binds `leads` and the loops over blocks, of which there may be three.
void bind_blocks(Scheduler&, std::vector<LoopId> leads, const std::vector<LoopId>& blocks, std::int64_t min_blocks);

/// The launch that adds up the parts of the sum: neighbouring threads have neighbouring columns.
void add_parts(Scheduler&, const ProductForm&);

/// The copies of the parts of both operands that a step needs.
TileCopy left_copy(const ProductForm&, const ProductTile&);
TileCopy right_copy(const ProductForm&, const ProductTile&);

/// The loop over parts of the depth, and the innermost one of threads.
struct ProductLoops {
  LoopId depth, threads;
};
/// Makes the ops that are computed ahead of time constants in the order in which tiles copy them. It is the last step.
void pack_weights(Scheduler&, const ProductForm&);

/// Tiles the sum: in registers of the threads of `form.output`, where there is one and the sum is in one part.
ProductLoops tile_product(Scheduler&, const ProductForm& form, const ProductTile&);
/// Puts both operands' parts into block memory, some iterations of the loop over the depth ahead.
void copy_operands(Scheduler&, const ProductForm&, const ProductTile&, LoopId depth);

/// Writes the schedule.
void build_product(Scheduler&, const ProductForm&, const ProductTile&);

}  // namespace whet
