#pragma once

#include "lower/lower.h"

namespace whet {

/// LoopTree -> loops, buffers and stores, with guards as Ifs.
/// Needs:  a tree made by the primitives.
/// Leaves: one loop a tree loop (fused ones with a Let a digit), multi-dimensional indices, an init nest before each
/// reduction,
///         register caches loaded and stored around their loop, a barrier where a worker waits for another, selects
///         of sums that make padding or say a place as Ifs.
/// `within`: as for `lower`.
Result<Lowered> generate(const LoopTree&, const Shape& within = {});

}  // namespace whet
