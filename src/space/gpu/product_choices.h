#pragma once

#include "space/gpu/limits.h"
#include "space/gpu/product_tile.h"

namespace whet {

// The choices of a product, which the templates made of products share.

/// Parts into which a sum of `terms` may be split.
std::vector<std::int64_t> parts_of_sum(std::int64_t terms);
/// The smallest of `options` that gives each SM a block, where tiles have `rows` x `columns` elements; else the largest.
Choice parts_for(const ProductForm&, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                 const std::vector<Choice>& options, int sms);
/// Each operand is copied by enough of a block's threads, a few vectors each.
Objection copies_fit(const ProductForm&, const TileCopy& left, const TileCopy& right, std::int64_t threads);

/// The cut of an axis by a choice: its numbers are the members of TileCut, in order.
TileCut cut_of(const Choice&);
/// Tiles of at most 128 elements, and no longer than the axis. A tile that does not divide the axis is guarded.
std::vector<Choice> cuts_of(std::int64_t extent, const std::vector<std::int64_t>& apart,
                            const std::vector<std::int64_t>& strips);
/// The cut, made smaller until it is one of the options and fits the axis: first one strip in place of several, then fewer
/// threads, then smaller strips.
Choice nearest_cut(TileCut, const std::vector<Choice>& options, std::int64_t extent);
/// The tile is within the axis, and computes little beyond it.
Objection cut_fits(std::int64_t extent, const TileCut&);
/// A block of the tile's threads exists, and its registers.
Objection threads_and_registers_fit(const ProductTile&, const GpuLimits&);

/// The tile of the choices; what is not chosen is as in ProductTile.
ProductTile tile_of(const Choices&);
/// Windows of three dimensions in parts of their sum have more indices in a loop than others: of a block of at most 128 threads two are
/// asked for, so that ptxas keeps all of them in registers.
Choices with_room_for_indices(const Sketch&, const ProductForm&, Choices, std::int64_t threads);
/// rows, columns, depth, stages, pad, split, min_blocks, unroll, raster.
std::vector<Decision> product_decisions(const ProductForm&);
std::vector<Constraint> product_constraints(const ProductForm&, const GpuTarget&);
/// The choices among which a default is chosen. Each comes twice: with the sum in one part, and in the fewest parts that give every
/// SM a block.
std::vector<Choices> product_tiles(const ProductForm&, int sms);

}  // namespace whet
