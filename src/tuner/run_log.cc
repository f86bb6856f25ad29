#include "tuner/run_log.h"

#include <algorithm>

#include "base/parallel.h"

namespace whet {

Status RunLog::remember(TaskTuning& task, const Trial& trial) {
  const Timed timed(*this, phases.record);
  see(trial.measured.outcome);
  const Record record = task.record(trial);
  WHET_RETURN_IF_ERROR(file_.append(record));
  if (!trial.measured.outcome.ok()) failed_.add(record);
  task.progress().best_seconds = std::min(task.progress().best_seconds, trial.measured.outcome.best_seconds());
  return ok_status();
}

double RunLog::now() const { return options_.clock ? options_.clock() : seconds_now(); }

}  // namespace whet
