#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/model_format.h"
#include "base/result.h"

namespace whet {

/// The plan of a compiled model as the compiler builds it; `write_plan` gives its stored form (model_format.h has the
/// meaning of every field).
struct ModelPlan {
  struct Tensor {
    std::string name;
    std::uint32_t dtype = 0;  ///< the number of DType
    std::vector<std::int64_t> shape;
    std::uint64_t bytes = 0;
  };
  struct Step {
    PlanStepKind kind = PlanStepKind::kernel;
    std::uint32_t entry = 0;
    std::vector<PlanArgument> arguments;
    bool parallel = false, barrier = false;
    std::uint64_t shared_offset = 0, shared_bytes = 0, worker_bytes = 0;
    std::uint64_t prefetch_offset = 0, prefetch_bytes = 0;
    double flops = 0, bytes = 0, predicted_seconds = 0;
    std::string node, op;
  };

  std::string name, target, required_isa, records, compiler;
  std::uint32_t entries = 0;
  std::uint32_t tuned_threads = 1;
  std::uint64_t arena_bytes = 0, weights_bytes = 0;
  double flops = 0, predicted_seconds = 0;
  std::vector<Tensor> inputs, outputs;
  std::vector<Step> steps;
};

/// The stored form.
std::string write_plan(const ModelPlan&);
/// Parses and checks a stored plan; `read_plan(write_plan(p))` equals p.
Result<ModelPlan> read_plan(std::string_view stored);
/// One line a tensor and a step, for people and tests.
std::string to_text(const ModelPlan&);

}  // namespace whet
