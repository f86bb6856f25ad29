#pragma once

#include <algorithm>
#include <vector>

#include "codegen/testing/native.h"
#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "tensor/compare.h"

namespace whet {

/// The largest relative difference of the kernel's outputs from the DAG's own evaluation.
inline Result<double> error_of(const ComputeDag& dag, const Lowered& lowered, const Target& target,
                               std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  std::vector<Tensor> constants;
  std::size_t placeholder = 0;
  for (const Op& op : dag.ops) {
    if (!op.is_placeholder()) continue;
    if (std::get<Placeholder>(op.def).constant) constants.push_back(inputs[placeholder]);
    ++placeholder;
  }
  WHET_TRY(const std::vector<Tensor> packed, evaluate(lowered.packing, constants));
  std::vector<Tensor> arguments;
  for (const KernelArgument& a : lowered.arguments) {
    const auto index = static_cast<std::size_t>(a.index);
    switch (a.kind) {
      case KernelArgument::Kind::input:
        arguments.push_back(inputs[index]);
        break;
      case KernelArgument::Kind::packed:
        arguments.push_back(packed[index]);
        break;
      case KernelArgument::Kind::output:
        arguments.emplace_back(a.type.dtype, a.type.shape);
    }
  }
  WHET_TRY(arguments, run_native(lowered.program, target, arguments, target.threads));
  WHET_TRY(const std::vector<Tensor> want, evaluate(dag, inputs));
  double worst = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (lowered.arguments[i].kind == KernelArgument::Kind::output)
      worst =
          std::max(worst, compare(arguments[i], want[static_cast<std::size_t>(lowered.arguments[i].index)]).relative);
  return worst;
}

}  // namespace whet
