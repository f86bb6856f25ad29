#pragma once

#include <vector>

#include "records/records.h"
#include "tuner/task_tuning.h"

namespace whet {

/// Gives a task that begins what to measure early: what was best for itself under other settings (threads, processor, an
/// older code generator, another whole), what was best for its twin (Task::twin), then the best of the nearest shapes of the same structure: other tasks of this
/// network, whose spaces are known, and tasks of other models in the records.
void suggest_neighbours(TaskTuning&, const std::vector<TaskTuning>& tasks, const Records&);

}  // namespace whet
