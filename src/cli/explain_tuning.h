#pragma once

#include <string>

#include "workflow/fleet.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/rounding.h"

namespace whet {

/// The question of `whet explain task` and `whet explain candidate`.
struct TuningQuestion {
  std::string what;  ///< the task's number; the candidate's ID, a prefix of its tree's hash
  ModelOptions model;
  TargetOptions place;
  std::string device;  ///< elsewhere, whose rates limit the task; "": this machine
  FleetOptions fleet;
  std::string records;
  RoundingOptions rounding;
  bool code = false;    ///< the innermost loops of the machine code as well
  bool passes = false;  ///< the lines that each lowering pass changed as well
  std::string pass;     ///< the Program behind this pass and nothing else
};

/// Prints a task: its computation, its limits where it was timed, its best candidates. Returns the exit code.
int explain_task(const TuningQuestion&);
/// Prints a candidate: its choices, its loop tree, its times. Returns the exit code.
int explain_candidate(const TuningQuestion&);

}  // namespace whet
