#pragma once

#include <string>
#include <vector>

#include "artifact/model_plan.h"
#include "compiler/kernels.h"
#include "compiler/weights.h"
#include "task/in_place.h"

namespace whet {

/// A model that only has to be linked.
struct AssembledModel {
  ModelPlan plan;
  WeightTable weights;
  std::vector<std::vector<bool>>
      written;             ///< for each step, for each of its arguments: whether the kernel stores to it
  std::vector<bool> part;  ///< for each step: its output is a part of a larger tensor
  std::string ptx;         ///< of a GPU's library, once it is written
  std::uint64_t peak_activation_bytes = 0;  ///< the largest sum of tensors that live at the same time
};

/// Makes the plan: one step a group in order; the rest are aliases; outputs are written where the user reads them,
/// unless they are inputs, constants or another output, which are copied; everything else lies in the arena as long as
/// it is read.
///   packed  for each group, its task's packing run on its constants
Result<AssembledModel> assemble(const FusedGraph&, const InPlace&, const std::vector<Task>&,
                                const std::vector<CompiledTask>&, const std::vector<std::vector<Tensor>>& packed);

/// The groups' tasks: task number of each group, -1 for those without one.
std::vector<int> task_of_group(const FusedGraph&, const std::vector<Task>&);

}  // namespace whet
