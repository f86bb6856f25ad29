#pragma once

// Candidates of spaces for GPUs, held against the DAG's own evaluation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/testing/random_cases.h"
#include "lower/testing/arguments.h"
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
  WHET_TRY(std::vector<Tensor> arguments, arguments_of(lowered, task, inputs));
  WHET_RETURN_IF_ERROR(interpret(lowered.program, arguments, InterpretOptions{.seed = 7}));
  return worst_output(lowered, task, inputs, arguments);
}

/// The default and samples of a space compute the task; those of other sketches than `sketch` are left out.
inline void expect_right(const ComputeDag& task, const DesignSpace& space, const Target& target,
                         const std::string& sketch, int samples) {
  Rng rng(3);
  std::vector<Candidate> candidates{space.default_candidate()};
  for (int i = 0; i < random_cases(samples); ++i) candidates.push_back(space.sample(rng));
  for (const Candidate& c : candidates) {
    if (c.sketch != sketch) continue;
    const Result<Scheduled> scheduled = space.schedule(c);
    ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
    const Result<double> error = error_of(task, scheduled->tree, target);
    ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
    const bool halves = task.op(task.outputs.front()).dtype == DType::f16;
    const double most = halves ? 4e-3 : numerics_of(scheduled->steps).exact ? 1e-5 : 1e-4;
    ASSERT_LT(*error, most) << to_json(c) << "\n" << to_text(scheduled->tree);
  }
}

/// The GPUs on which samples are tried. Under the sanitizers it is one: the code that they watch is the same.
inline std::vector<const char*> sampled_gpus() {
  if (kSanitized) return {"sm_80"};
  return {"sm_75", "sm_80", "sm_90"};
}

/// The default of the task is of `sketch`; it and samples of that sketch are right on three GPUs.
inline void expect_right(const std::string& text, const std::string& sketch, int samples) {
  const ComputeDag task = parse_dag(text).value();
  for (const char* arch : sampled_gpus()) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const DesignSpace space = make_space(task, target);
    ASSERT_EQ(space.default_candidate().sketch, sketch) << text;
    expect_right(task, space, target, sketch, samples);
  }
}

/// The same of the sketch that `make` gives, whatever the task's default is.
inline void expect_right(const std::string& text, std::optional<Sketch> (*make)(const ComputeDag&, const Target&),
                         int samples) {
  const ComputeDag task = parse_dag(text).value();
  for (const char* arch : sampled_gpus()) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const std::optional<Sketch> sketch = make(task, target);
    ASSERT_TRUE(sketch.has_value()) << text;
    expect_right(task, DesignSpace(task, {*sketch}), target, sketch->name, samples);
  }
}

}  // namespace whet::testing
