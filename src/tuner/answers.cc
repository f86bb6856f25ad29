#include "tuner/answers.h"

#include <utility>

namespace whet {

bool says_nothing(OutcomeCode code) { return code == OutcomeCode::device_lost || code == OutcomeCode::unknown; }

bool has_right_answers(TaskTuning& task, Trial& trial, Measurer& measurer, RunLog& log) {
  if (task.is_verified(trial.steps)) return true;
  const RunLog::Timed timed(log, log.phases.check);
  Outcome& outcome = trial.measured.outcome;
  Outcome found = measurer.check(task.measure_task(), trial.steps, trial.numerics.precision);
  if (found.ok()) {
    task.set_verified(trial.steps);
    return true;
  }
  found.build_seconds = outcome.build_seconds;
  found.run_seconds = outcome.run_seconds;
  found.registers = outcome.registers;
  found.spill_bytes = outcome.spill_bytes;
  outcome = std::move(found);
  return false;
}

}  // namespace whet
