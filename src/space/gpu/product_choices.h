#pragma once

#include "space/gpu/limits.h"
#include "space/gpu/product_tile.h"

namespace whet {

// The choices of a product, which the templates made of products share.

/// What the choices say; what is not chosen is as in ProductTile.
ProductTile tile_of(const Choices&);
/// rows, columns, depth, stages, pad, split, min_blocks.
std::vector<Decision> product_decisions(const ProductForm&);
std::vector<Constraint> product_constraints(const ProductForm&, const GpuLimits&);
/// Those among which a default is chosen, each with its sum whole and in the fewest parts that give every SM a block.
std::vector<Choices> product_tiles(const ProductForm&, int sms);

}  // namespace whet
