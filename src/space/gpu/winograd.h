#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of 3x3 convolutions of stride 1 by Winograd's algorithm (compute/winograd.h), in three launches: input tiles are
/// transformed, a tile of some channels a thread; the (m+2)² products of matrices are one batched product, tiled as those of
/// the template `product`; results are transformed back together with the epilogue. Weights are transformed ahead.
///   decisions: tile (m: outputs of a tile along each axis), channels (of a thread that transforms), those of `product`
/// Nothing where the DAG is not of this form, or where the convolution is dilated.
std::optional<Sketch> gpu_winograd_sketch(const ComputeDag&, const Target&);

}  // namespace whet
