#pragma once

#include "lower/testing/random_schedule.h"

namespace whet::testing {

/// A random DAG, or rows that are long enough for several warps.
ComputeDag random_gpu_dag(Rng&);

/// A product with a softmax, whose terms steps may cut into parts.
ComputeDag random_softmax_product(Rng&);

/// Random steps of a schedule for a GPU: blocks, threads and virtual threads of every root, copies in block memory and in
/// registers, sums across threads, pipelines, vectors. Steps that are refused are left out, so the steps replay. Lowering may refuse the result.
Steps random_gpu_steps(const ComputeDag&, Rng&);

/// A product by the tensor cores or, of bytes, by `dp4a`, with random steps behind those that it needs. The DAG that the steps make
/// says where operands are rounded.
struct RandomTensorized {
  ComputeDag dag;
  Steps steps;
};
RandomTensorized random_tensorized(Rng&);

}  // namespace whet::testing
