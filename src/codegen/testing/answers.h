#pragma once

#include <vector>

#include "codegen/testing/native.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"

namespace whet {

/// Random inputs of a DAG, and what it is evaluated to: kernels of it are compared with this.
struct Evaluated {
  std::vector<Tensor> inputs, outputs;
};
inline Result<Evaluated> evaluated(const ComputeDag& dag, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  WHET_TRY(std::vector<Tensor> outputs, evaluate(dag, inputs));
  return Evaluated{std::move(inputs), std::move(outputs)};
}

/// The largest relative difference of the kernel's outputs from the DAG's own evaluation. `sizes`: where the kernel has some, those
/// of which the DAG is.
inline Result<double> error_of(const ComputeDag& dag, const Lowered& lowered, const Target& target,
                               const Evaluated& want, const SizeValues& sizes = {}) {
  WHET_TRY(std::vector<Tensor> arguments, testing::arguments_of(lowered, dag, want.inputs, sizes));
  WHET_TRY(arguments, run_native(lowered.program, target, arguments, target.threads));
  return testing::worst_output(lowered, want.outputs, arguments);
}
inline Result<double> error_of(const ComputeDag& dag, const Lowered& lowered, const Target& target,
                               std::uint64_t seed) {
  WHET_TRY(const Evaluated want, evaluated(dag, seed));
  return error_of(dag, lowered, target, want);
}

}  // namespace whet
