#pragma once

// Candidates of spaces for GPUs, held against the DAG's own evaluation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/testing/random_cases.h"
#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "lower/testing/verify_passes.h"
#include "program/interpret.h"
#include "space/space.h"
#include "tensor/compare.h"

namespace whet::testing {

/// Interprets a schedule after all passes; the largest relative difference of an output from the DAG's own evaluation.
inline Result<double> error_of(const ComputeDag& task, const LoopTree& tree, const Target& target) {
  WHET_TRY(const Lowered lowered, lower(tree, target, {}, verify_gpu_passes(target)));
  Rng rng(5);
  const std::vector<Tensor> inputs = random_inputs(task, rng);
  std::vector<Tensor> arguments;
  for (const KernelArgument& a : lowered.arguments)
    arguments.push_back(a.kind == KernelArgument::Kind::input ? inputs[static_cast<std::size_t>(a.index)]
                                                              : Tensor(a.type.dtype, a.type.shape));
  WHET_RETURN_IF_ERROR(interpret(lowered.program, arguments, InterpretOptions{.seed = 7}));
  WHET_TRY(const std::vector<Tensor> want, evaluate(task, inputs));
  double worst = 0;
  for (std::size_t k = 0; k < lowered.arguments.size(); ++k)
    if (lowered.arguments[k].kind == KernelArgument::Kind::output)
      worst =
          std::max(worst, compare(arguments[k], want[static_cast<std::size_t>(lowered.arguments[k].index)]).relative);
  return worst;
}

/// The default of the task is of `sketch`; it and samples of that sketch compute what the task says, on three GPUs.
inline void expect_right(const std::string& text, const std::string& sketch, int samples) {
  const ComputeDag task = parse_dag(text).value();
  for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const DesignSpace space = make_space(task, target);
    ASSERT_EQ(space.default_candidate().sketch, sketch) << text;
    Rng rng(3);
    std::vector<Candidate> candidates{space.default_candidate()};
    for (int i = 0; i < random_cases(samples); ++i) candidates.push_back(space.sample(rng));
    for (const Candidate& c : candidates) {
      if (c.sketch != sketch) continue;
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      const Result<double> error = error_of(task, scheduled->tree, target);
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
      ASSERT_LT(*error, 1e-5) << to_json(c) << "\n" << to_text(scheduled->tree);
    }
  }
}

}  // namespace whet::testing
