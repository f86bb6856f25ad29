#pragma once

#include <string>
#include <vector>

#include "artifact/kernel.h"
#include "compiler/compile.h"
#include "lower/lower.h"

namespace whet {

/// A task as it will run.
struct CompiledTask {
  Lowered lowered;
  Kernel kernel;
  TaskReport report;
};

/// Chooses a schedule for each task and compiles it, `jobs` at a time. The kernels' symbols differ. In the report, every task's share of schedule_seconds and
/// kernel_seconds is added.
Result<std::vector<CompiledTask>> compile_tasks(const std::vector<Task>&, const ScheduleSource&, const Target&,
                                                int jobs, CompileReport& report);

}  // namespace whet
