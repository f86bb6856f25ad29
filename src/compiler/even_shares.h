#pragma once

#include <optional>

#include "compiler/attempts.h"
#include "compiler/compile.h"
#include "task/task.h"

namespace whet {

/// A schedule that nobody measured, of a task with sizes, changed so that workers have equal shares at other sizes than its own.
/// Where a list of rows was cut into as many blocks as there are workers, a block has as many rows at all sizes, and fewer rows are
/// one worker's: channels are shared out instead. Where few tiles of rows are shared out, a tile is half of the work at some sizes:
/// tiles of rows and of channels are shared out together.
///   sized, exact  the task, and the same at the size that the attempt is for
/// Nothing: the schedule has no such lists, or stays as it is.
std::optional<Attempt> with_even_shares(const Task& sized, const Task& exact, const Attempt&, const ScheduleSource&,
                                        const Target&);

}  // namespace whet
