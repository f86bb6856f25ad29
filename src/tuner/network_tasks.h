#pragma once

#include <vector>

#include "measure/measurer.h"
#include "tuner/network_models.h"

namespace whet {

/// Adds the tasks' times to `truth`: each task alone, alternately with the network, so that the sum and the whole see the same
/// machine: the times of the records were measured minutes ago, at another pace. Nothing where a task has no record, cannot be
/// timed, or no time is left.
///   best      what the tuned network runs by
///   compiled  the library by it; null: it is compiled here
Status time_tasks(const std::vector<Task>&, const Target&, const ScheduleSource& best, Measurer&, NetworkModels&,
                  const ModelLibrary* compiled, NetworkTruth& truth);

}  // namespace whet
