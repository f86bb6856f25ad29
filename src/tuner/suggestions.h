#pragma once

#include <vector>

#include "records/records.h"
#include "tuner/task_tuning.h"

namespace whet {

/// Suggests candidates to a task that begins, to be measured early. In this order:
///   its own best under other settings: threads, processor, an older code generator, another `within`
///   the best of its twin (Task::twin)
///   the best of the nearest shapes of the same structure: other tasks of this network, whose spaces are known, and tasks of
///   other models in the records
///   by_anchor  the nearest of this network are those with the nearest anchors (a record base is there)
void suggest_neighbours(TaskTuning&, const std::vector<TaskTuning>& tasks, const Records&, bool by_anchor);

/// Suggests what is best now for the other tasks of the same structure in this network, fitted to this one. What was measured is not
/// measured again.
void suggest_siblings(TaskTuning&, const std::vector<TaskTuning>& tasks, const Records&);

}  // namespace whet
