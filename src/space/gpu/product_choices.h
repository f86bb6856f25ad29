#pragma once

#include "space/gpu/limits.h"
#include "space/gpu/product_tile.h"

namespace whet {

// The choices of a product, which the templates made of products share.

/// Parts into which a sum of `terms` may be split.
std::vector<std::int64_t> parts_of_sum(std::int64_t terms);
/// The smallest of `options` that gives each SM one of the blocks whose tiles have so many rows and columns, or the largest.
Choice parts_for(const ProductForm&, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                 const std::vector<Choice>& options, int sms);
/// Each operand is copied by enough of a block's threads, a few vectors each.
Objection copies_fit(const ProductForm&, const TileCopy& left, const TileCopy& right, std::int64_t threads);

/// What the choices say; what is not chosen is as in ProductTile.
ProductTile tile_of(const Choices&);
/// rows, columns, depth, stages, pad, split, min_blocks.
std::vector<Decision> product_decisions(const ProductForm&);
std::vector<Constraint> product_constraints(const ProductForm&, const GpuLimits&);
/// Those among which a default is chosen, each with its sum whole and in the fewest parts that give every SM a block.
std::vector<Choices> product_tiles(const ProductForm&, int sms);

}  // namespace whet
