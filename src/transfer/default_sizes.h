#pragma once

#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "target/target.h"

namespace whet {

/// The steps at a size for which they were not made: a split by more iterations than a loop has is one by all of them, as the copy of a
/// tile for a remainder has them. Vectors, unrolling, prefetches and tiles of intrinsics that cannot be there are left out.
///   exact   a DAG of one size
///   errors  another step that cannot be taken there
Result<Steps> cut_to(const ComputeDag& exact, const Steps&);

/// Estimates for a task that nobody has measured: the seconds of the default schedule of each point, made for all sizes, at each point.
/// [schedule of point][point]; 0 where there is none, or no estimate.
///   dag     with sizes, which each point has
std::vector<std::vector<double>> default_seconds(const ComputeDag& dag, const std::vector<SizeValues>& points,
                                                 const Target&, const SpaceOptions&);

}  // namespace whet
