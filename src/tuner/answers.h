#pragma once

#include "measure/measurer.h"
#include "tuner/run_log.h"
#include "tuner/task_tuning.h"

namespace whet {

/// What says nothing against a candidate.
bool says_nothing(OutcomeCode);

/// True when the answers of the trial's schedule are right, which the task remembers; else the trial's outcome becomes what was found.
/// The seconds count as those of checking.
bool has_right_answers(TaskTuning&, Trial&, Measurer&, RunLog&);

}  // namespace whet
