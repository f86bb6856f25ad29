#pragma once

#include "lower/lower.h"

namespace whet {

/// LoopTree -> loops, buffers and stores, with guards as Ifs.
///   Needs   a tree that the primitives made
///   Leaves  one loop for each loop of the tree (a fused one with a Let for each digit);
///           indices of one expression a dimension;
///           a nest that sets the elements of a reduction before it;
///           loads and stores of register caches around their loops;
///           a barrier where a worker waits for another;
///           Ifs for the selects of sums that pad or that compare places
///   Errors  `within` has dimensions of its own that the output has merged with others
/// `within`: as for `lower`.
Result<Lowered> generate(const LoopTree&, const Shape& within = {});

}  // namespace whet
