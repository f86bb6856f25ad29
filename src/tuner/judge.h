#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "measure/measurer.h"
#include "tuner/run_log.h"
#include "tuner/task_tuning.h"

namespace whet {

/// The fastest of a task that matters that are measured again together.
constexpr std::size_t kFinalists = 4;

/// Decides which schedule of a task is the best. It keeps each task's champion (the schedule that won the last
/// comparison), its pace (how much longer the champion takes now than when it won), by which a trial's time is divided,
/// and a control schedule (one schedule that is measured now and then). A champion whose processors have moved since it won is measured
/// again, with the fastest of before: their times belong to another placement. A measurer in jobs finds the pace of each trial itself:
/// so times of different devices rank together. Nothing counts as the best before its answers were checked. Measurements
/// are remembered in the log. Keep the tasks where they are.
class Judge {
 public:
  Judge(Measurer&, RunLog&, const TuneOptions&);
  ~Judge();

  /// Measures trials, remembers those that were tried, and returns these. A trial that would be the best waits until all
  /// are measured (of a task's first trials, all wait). Then it has to beat the champion, timed alternately with it, and
  /// to give the right answers.
  Result<std::vector<Trial>> measure_and_judge(TaskTuning&, std::vector<Trial>&);
  /// Checks the answers of the best of the records, and of the next best where they are wrong.
  Status verify_best(TaskTuning&);
  /// Times the `count` fastest of a task again, alternately with the champion and the default schedule. The later figures
  /// count. If the winner won by luck, the others are measured again.
  Status confirm(TaskTuning&, std::size_t count);
  /// Where the processors moved in the run, ranks the schedule first that is the best over the time of each placement.
  Status rank_over_placements(TaskTuning&);

  /// Times the control schedule again if enough trials have passed since the last time. If it is slower than at first, the deciding
  /// device has become slower.
  void watch_control(std::vector<TaskTuning>&, std::int64_t trials);
  /// The control schedule's last time against its first; 0: not measured again yet.
  double slowdown() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whet
