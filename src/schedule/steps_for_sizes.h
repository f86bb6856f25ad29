#pragma once

#include "schedule/steps.h"

namespace whet {

/// A schedule of the DAG at one size as a schedule for all its sizes, so that what was tuned for a size serves a range:
///   split l3 14 overlap   along a size becomes guard: tails are exact then, and no size is left out
///   vectorize l7          of all of an axis that has a size: it is split by the iterations that it has at that size, and the inner
///                         loop is vectorized; unroll and rfactor likewise
/// Unrolling, vectors, prefetches and tiles of intrinsics that cannot be at all sizes are left out. Later steps name the loops that
/// stand for those that they named.
///   steps   of dag_at(dag, dag.at)
///   errors  the steps do not replay there; another step is refused where there are sizes
Result<Steps> steps_for_sizes(const ComputeDag& dag, const Steps& steps);

}  // namespace whet
