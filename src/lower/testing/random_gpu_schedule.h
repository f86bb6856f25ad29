#pragma once

#include "lower/testing/random_schedule.h"

namespace whet::testing {

/// A random DAG, or rows that are long enough for several warps.
ComputeDag random_gpu_dag(Rng&);

/// Random steps of a schedule for a GPU: blocks, threads and virtual threads of every root, copies in block memory and in
/// registers, sums across threads, pipelines, vectors. Steps that are refused are left out, so the steps replay. Lowering may refuse the result.
Steps random_gpu_steps(const ComputeDag&, Rng&);

}  // namespace whet::testing
