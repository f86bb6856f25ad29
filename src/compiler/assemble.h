#pragma once

#include <string>
#include <vector>

#include "artifact/sized_model_plan.h"
#include "compiler/kernels.h"
#include "compiler/weights.h"
#include "ranges/ranges.h"
#include "task/in_place.h"

namespace whet {

/// A model for one size, or for some boxes of sizes, without its weights.
struct AssembledModel {
  ModelPlan plan;
  PlanFunctions functions;  ///< of the sizes: what changes in the plan
  std::vector<std::vector<bool>>
      written;             ///< for each step, for each of its arguments: whether the kernel stores to it
  std::vector<bool> part;  ///< for each step: its output is a part of a larger tensor
  std::uint64_t peak_activation_bytes = 0;  ///< the largest sum of tensors that live at the same time
};

/// What only has to be linked: models on the same kernels and weights, one a choice of the sizes.
struct AssembledLibrary {
  std::vector<ModelSize> sizes;  ///< none: it has one model
  std::vector<AssembledModel> variants;
  std::vector<ModelBox> boxes;  ///< of the variants' sizes; none: as SizedModelPlan has it
  std::size_t usual = 0;
  WeightTable weights;
  std::string ptx;  ///< of a GPU's library, once it is written
};
/// Its plan as it is stored.
std::string stored_plan(const AssembledLibrary&);

/// Makes the plan: one step a group in order; the rest are aliases; outputs are written where the user reads them,
/// unless they are inputs, constants or another output, which are copied; everything else lies in the arena as long as
/// it is read.
///   task_of  for each group, its task
///   tasks    those, and others; what was compiled of them lies at the same numbers
///   packed   for each group, its task's packing run on its constants
///   weights  gets what the steps read
Result<AssembledModel> assemble(const FusedGraph&, const InPlace&, const std::vector<int>& task_of,
                                const std::vector<Task>& tasks, const std::vector<CompiledTask>&,
                                const std::vector<std::vector<Tensor>>& packed, WeightTable& weights);

/// The same of a variant of a family with these sizes, whose tasks have kernels for all of them. Buffers of the arena lie where they
/// lie at the largest sizes, at all; what changes is in `functions`.
/// Errors: a constant that changes otherwise than at its end.
Result<AssembledModel> assemble(const Variant&, const std::vector<SizeRange>& sizes, const std::vector<int>& task_of,
                                const std::vector<Task>& tasks, const std::vector<CompiledTask>&,
                                const std::vector<std::vector<Tensor>>& packed, WeightTable& weights);

/// The groups' tasks: task number of each group, -1 for those without one.
std::vector<int> task_of_group(const FusedGraph&, const std::vector<Task>&);

}  // namespace whet
