#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/result.h"
#include "measure/measurer.h"
#include "tuner/run_log.h"
#include "tuner/task_tuning.h"

namespace whet {

/// What the order of a quick round goes by, of one task.
struct QuickTask {
  double seconds = 0;   ///< of the network that it takes by its default schedule: weight x time, or the estimate of it
  double gain = 1;      ///< the most that a schedule of the base promises over the default one; 1: there is none
  bool is_new = false;  ///< nothing of it ran before
};
/// The numbers of the tasks that are worth their time: where most is to be gained, then the heaviest. Those below 0.1% of the sum
/// are not, and those with nothing to try.
std::vector<std::size_t> quick_order(const std::vector<QuickTask>&);
/// How many schedules of the base each of `tasks` has beside its default one, where there is room for `room` schedules in all: two, or
/// one where they would not all have two.
std::size_t quick_candidates(std::size_t tasks, double room);

struct QuickOptions {
  /// Second of the run's clock from which on no task is begun while some were never timed, and the one from which on none is begun again.
  double until = std::numeric_limits<double>::infinity();
  double again_until = std::numeric_limits<double>::infinity();
  std::int64_t trials = 0;  ///< schedules that were not measured before; 0: no limit
  /// A task was timed: its number, how many new trials it had, and the seconds for it. May be empty.
  std::function<void(std::size_t task, int trials, double seconds)> on_task;
};

/// Times the best schedule of each task so far, at first the default one, alternately with what the record base suggested to it, two at a
/// time and in short bursts; while time allows, again with the next ones. The answers of each winner are checked, and where they are
/// wrong those of the next. All new figures are records, and the tasks learn from them. There is no champion: the search begins with
/// those. It stops between two tasks. What was not timed stays suggested.
/// Errors: a record that cannot be written.
///   measurer  while answers are checked it builds for the next task
Result<QuickRound> quick_round(std::span<TaskTuning>, Measurer& measurer, RunLog&, const QuickOptions&);

}  // namespace whet
