#pragma once

#include <optional>

#include "space/space.h"

namespace whet {

/// The template of 3x3 convolutions of stride 1 by Winograd's algorithm (compute/winograd.h), in three launches. The first transforms
/// input tiles; a thread has a tile of some channels. The second computes the (m+2)² products of matrices as one batched product,
/// tiled as in the template `product`. The third transforms the results back, together with the epilogue. Weights are transformed
/// ahead of time.
///   decisions: tile (m: outputs of a tile along each axis), channels (of a thread that transforms), those of `product`
/// Nothing where the DAG is not of this form, or where the convolution is dilated.
std::optional<Sketch> gpu_winograd_sketch(const ComputeDag&, const Target&);

/// What the threads of a launch that transforms tiles do.
struct TileTransform {
  std::int64_t m = 2;         ///< outputs of a tile along each axis
  std::int64_t channels = 1;  ///< of a thread
  bool of_results = false;    ///< back from the products; else of inputs
};
/// Schedules `op`, the transform, as a launch: blocks and threads over tiles and channels, with `half`, its first half, in each
/// thread's registers.
void launch_transform(Scheduler&, OpId op, OpId half, const TileTransform&);

}  // namespace whet
