#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/error_uses.h"
#include "plan/plan.h"

namespace whet {

/// A kernel that computes a layer on activations in fewer bits.
struct LoweredWay {
  std::string forms;            ///< "bf16", "nhwc -> bf16": what it reads and writes
  double seconds = 0;           ///< of its best schedule; 0: nobody measured it
  std::optional<double> error;  ///< relative L2 of the network's answers with it alone; nothing: nobody measured it
};

/// What a layer's precision is, costs and saves. A layer is a group with a product, or one for which some kernel rounds.
struct LayerPrecision {
  std::string node;          ///< the value that it computes
  std::string is = "f32";    ///< how the plan computes it: "f32", or the forms of its kernel
  std::string numbers;       ///< as the plan stores what its product reads, "14 bits, step 0.00021"; "" of f32 and bf16
  bool lowered = false;      ///< its kernel in the plan rounds
  double seconds = 0;        ///< of its kernel in the plan; 0: nobody measured it
  double usual_seconds = 0;  ///< of its usual kernel; the same
  std::optional<double>
      error;         ///< of its kernel in the plan; where that rounds nothing, of the one that it is weighed against
  double saves = 0;  ///< what that kernel saves of `usual_seconds`, below 0 where it is slower; 0: not known
  double share = 0;  ///< of the plan's budget of squared errors, that it uses; 0 where it is f32
  std::vector<LoweredWay> ways;  ///< the kernels that round; empty: there is none
  std::string why;               ///< why it is f32, a clause; "" where it is something else
};

/// The layers in the order in which they run.
///   plan    numbers of the plan's alternatives; empty: all is f32
///   budget  of squared errors, with which it was chosen; 0: there is none, and a plan is one of a single type
///   ranges  that the alternatives were found with
std::vector<LayerPrecision> layer_precisions(const FusedGraph&, const Alternatives&, const std::vector<Price>&,
                                             const ErrorUses&, const std::vector<int>& plan, double budget,
                                             const ValueRanges& ranges);

/// A network with its kernels in fewer bits, as the records know them.
struct LoweredKernels {
  const Plan* line = nullptr;  ///< the plan that was adopted last, of whichever kind; null: there is none that counts
  std::string note;            ///< why the plan that the records have does not count; "" otherwise
  std::vector<LayerError> errors;  ///< of the plan's samples; without a plan of those that were used last
  ValueRanges ranges;              ///< on these samples, that scales of whole numbers follow from
  Alternatives alternatives;
  std::vector<Price> prices;
  ErrorUses uses;
  std::vector<int> plan;  ///< numbers of its alternatives
};
/// Errors: alternatives that cannot be listed; a plan of kernels that the network does not have.
///   schedules  only records that these permit count
Result<LoweredKernels> lowered_kernels(const FusedGraph&, const Records&, const Target&,
                                       const SpaceOptions& schedules = {});
/// The layers of the plan and of what it left in f32.
std::vector<LayerPrecision> layer_precisions(const FusedGraph&, const LoweredKernels&);

/// What a budget would give, by the times and errors that are known. Nothing of it was run on samples.
struct BudgetEstimate {
  double part = 1;          ///< sum of kernels' times / that of the usual ones
  std::size_t lowered = 0;  ///< layers that round
  double error = 0;         ///< predicted: relative L2 over the samples
};
/// Nothing where a usual kernel has no time, or where no plan was found.
std::optional<BudgetEstimate> estimate_within(const FusedGraph&, const LoweredKernels&, double budget);

}  // namespace whet
