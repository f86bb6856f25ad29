#pragma once

#include <optional>
#include <string>
#include <vector>

#include "artifact/kernel.h"
#include "codegen/build.h"
#include "compiler/compile.h"

namespace whet {

/// A task as it will run.
struct CompiledTask {
  Lowered lowered;
  Kernel kernel;
  std::optional<Kernel> emulated;  ///< the same for the emulated device
  TaskReport report;
};

/// Chooses a schedule for each task and compiles it, `jobs` at a time. The kernels' symbols differ, also from those of the
/// `before` kernels that the library has. In the report, every task's share of schedule_seconds and kernel_seconds is added.
Result<std::vector<CompiledTask>> compile_tasks(const std::vector<Task>&, int before, const ScheduleSource&,
                                                const Target&, const CompileOptions&, CompileReport& report);

}  // namespace whet
