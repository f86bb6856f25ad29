#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/kernel.h"
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
  struct Launch {
    std::string entry;
    Dim3 grid, block;
    std::uint32_t block_memory = 0;
    bool early = false;
    std::uint32_t first_argument = 0, argument_count = 0;
  };
  struct Step {
    PlanStepKind kind = PlanStepKind::kernel;
    std::uint32_t entry = 0;
    std::vector<PlanArgument> arguments;
    bool parallel = false, barrier = false;
    std::uint64_t workspace_offset = 0, workspace_bytes = 0, worker_bytes = 0;
    double flops = 0, bytes = 0, predicted_seconds = 0;
    std::string node, op;
    std::vector<Launch> launches;  ///< empty for the CPU
    std::uint32_t written = 0;     ///< on a device, see PlanStep
    bool part = false;             ///< on a device, see kStepPart
    bool divisible = false;        ///< on the CPU, see kStepDivisible
  };

  std::string name, target, required_isa, records, compiler;
  std::string device;  ///< "" for the CPU
  std::uint32_t entries = 0;
  std::uint32_t tuned_threads = 1;
  std::uint64_t arena_bytes = 0, weights_bytes = 0;
  double flops = 0, predicted_seconds = 0;
  std::vector<Tensor> inputs, outputs;
  std::vector<Step> steps;
  std::vector<PlanImage> images;  ///< empty for the CPU
  std::uint64_t images_bytes = 0;
};

/// The stored form.
std::string write_plan(const ModelPlan&);
/// Parses and checks a stored plan, of version 1 too; `read_plan(write_plan(p))` equals p.
///   sizes_bytes  as parse_model has it
Result<ModelPlan> read_plan(std::string_view stored, std::uint64_t sizes_bytes = 0);
/// One line a tensor and a step, for people and tests.
std::string to_text(const ModelPlan&);

}  // namespace whet
