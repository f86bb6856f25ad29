#pragma once

#include <vector>

#include "compiler/attempts.h"
#include "compiler/kernels.h"

namespace whet {

/// Lets the tasks of a further size read the constants that their library has: puts schedules in front that need hardly any others.
///   - A record gives way to another record of its task that took at most 3% longer (ScheduleSource::close); of a task with sizes to
///     another schedule that was measured at some of them, as other schedules do:
///   - Schedules without a record give way to themselves without packing, and to the schedule of the task at another size, fitted to this one,
///     if that one is as well founded (of records, transferred, default). The tasks together lose 5% of their time at most, those
///     that lose least for a byte first; times are estimates.
void share_constants(const std::vector<Task>&, const LibrarySoFar&, const ScheduleSource&, const Target&, int jobs,
                     std::vector<Attempts>&);

}  // namespace whet
