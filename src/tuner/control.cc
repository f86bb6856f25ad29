#include "tuner/control.h"

#include <cmath>

namespace whet {

void Control::watch(std::vector<TaskTuning>& tasks, const Contest& contest, std::int64_t trials) {
  constexpr std::int64_t kTrialsBetween = 400;
  if (task_ && trials < next_) return;
  next_ = trials + kTrialsBetween;
  if (!task_ && !choose(tasks)) return;
  const RunLog::Timed timed(log_, log_.phases.confirm);
  const Outcome seen = measurer_.compare(task_->measure_task(), {steps_})[0];
  const double seconds = seen.best_seconds();
  if (!std::isfinite(seconds) || !contest.is_deciding(seen)) return;
  log_.see(seen);
  if (first_seconds_ == 0 || differ(first_placement_, seen.placement))
    first_seconds_ = seconds, first_placement_ = seen.placement;
  else
    slowdown_ = seconds / first_seconds_;
}

bool Control::choose(std::vector<TaskTuning>& tasks) {
  for (TaskTuning& task : tasks) {
    const Record* best = std::isfinite(task.progress().best_seconds) ? task.incumbent(log_.records()) : nullptr;
    if (best && (!task_ || is_heavier(task, *task_))) task_ = &task, steps_ = best->steps;
  }
  return task_ != nullptr;
}

}  // namespace whet
