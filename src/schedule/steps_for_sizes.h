#pragma once

#include "schedule/steps.h"

namespace whet {

/// A schedule of the DAG at one size as a schedule for all its sizes, so that what was tuned for a size serves a range:
///   split l3 14 overlap   along a size becomes guard: tails are exact then, and no size is left out. Tiles of an intrinsic, which are
///                         computed whole, overlap still where all sizes have one
///   split l3 128 overlap  of blocks that are cut into tiles: about as many iterations, so that all of the tiles are whole ones
///   vectorize l7          of all of an axis that has a size: it is split by the iterations that it has at that size, and the inner
///                         loop is vectorized; unroll and rfactor likewise
/// Rows with a size whose distance would crowd a cache at all sizes are padded.
/// Unrolling, vectors, prefetches and tiles of intrinsics that cannot be at all sizes are left out; a transposed tile is unrolled instead. Later steps name the loops that
/// stand for those that they named.
///   steps   of dag_at(dag, dag.at)
///   errors  the steps do not replay there; another step is refused where there are sizes
Result<Steps> steps_for_sizes(const ComputeDag& dag, const Steps& steps);

}  // namespace whet
