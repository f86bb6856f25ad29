#pragma once

#include <string>

#include "workflow/fleet.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/rounding.h"

namespace whet {

/// The question of `whet explain layout` about measured layouts, and of `whet explain cover`.
struct PlanQuestion {
  std::string node;  ///< "": all
  std::string
      contains;  ///< a form, or a part of a cover's name: what the best plan with it at the node takes; "": of all
  ModelOptions model;
  TargetOptions place;
  std::string device;  ///< elsewhere, whose rates bound what was not measured; "": this machine
  FleetOptions fleet;
  std::string records;
  bool of_covers = false;    ///< the node's kernel with others, not its forms
  RoundingOptions rounding;  ///< records that it leaves out do not count
};

/// Why the kernels of a network read and write their activations as they do: the sums of measured and estimated times. Gives
/// the exit code.
int explain_plan(const PlanQuestion&);

}  // namespace whet
