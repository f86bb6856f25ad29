#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/champion.h"

namespace whet {

/// One schedule, of the heaviest task, that is measured now and then: when it becomes slower, the deciding device has. Where the
/// processors move, it begins anew: times of two placements do not compare.
class Control {
 public:
  Control(Measurer& measurer, RunLog& log) : measurer_(measurer), log_(log) {}

  /// Times it again if enough trials have passed since the last time. Nothing is chosen before a task has a best schedule.
  void watch(std::vector<TaskTuning>&, const Contest&, std::int64_t trials);
  /// The last time against the first; 0: not measured again yet.
  double slowdown() const { return slowdown_; }

 private:
  /// The best schedule of the heaviest task that has one; false: none has.
  bool choose(std::vector<TaskTuning>&);

  Measurer& measurer_;
  RunLog& log_;
  TaskTuning* task_ = nullptr;
  std::string steps_;  ///< empty for the naive one
  double first_seconds_ = 0, slowdown_ = 0;
  ProcessorPlacement first_placement_;
  std::int64_t next_ = 0;  ///< trials at which it is measured again
};

}  // namespace whet
