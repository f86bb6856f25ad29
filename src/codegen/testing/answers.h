#pragma once

#include <vector>

#include "codegen/testing/native.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"

namespace whet {

/// The largest relative difference of the kernel's outputs from the DAG's own evaluation.
inline Result<double> error_of(const ComputeDag& dag, const Lowered& lowered, const Target& target,
                               std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  WHET_TRY(std::vector<Tensor> arguments, testing::arguments_of(lowered, dag, inputs));
  WHET_TRY(arguments, run_native(lowered.program, target, arguments, target.threads));
  return testing::worst_output(lowered, dag, inputs, arguments);
}

}  // namespace whet
