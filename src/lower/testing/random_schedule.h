#pragma once

// Random DAGs and random schedules of them, for the property tests of lowering and of code generation.

#include "base/rng.h"
#include "compute/dag.h"
#include "schedule/steps.h"

namespace whet::testing {

/// A small DAG of one to five ops: convolutions with padding, depthwise ones, matrix products, pools, softmax-like
/// rows, concatenations, transposes and element chains, with extents that tiles do not divide.
ComputeDag random_dag(Rng&);

/// The same kinds of DAGs with one or two sizes, which rows, columns, terms of sums, and heights and widths of pictures have.
ComputeDag random_sized_dag(Rng&);
/// Values of the sizes: both ends, those next to the least, and some between.
std::vector<SizeValues> some_values(const std::vector<SizeRange>&, Rng&);

/// Up to `tries` random primitives; those that are refused are left out. The steps always replay.
Steps random_steps(const ComputeDag&, Rng&, int tries);

/// Seeded inputs, one a placeholder, legal for it.
std::vector<Tensor> random_inputs(const ComputeDag&, Rng&);

}  // namespace whet::testing
