#pragma once

#include <optional>
#include <string>
#include <vector>

#include "artifact/kernel.h"
#include "codegen/build.h"
#include "compiler/compile.h"
#include "compiler/stored_constants.h"

namespace whet {

/// A task as it will run.
struct CompiledTask {
  Lowered lowered;
  Kernel kernel;
  std::optional<Kernel> emulated;  ///< the same for the emulated device
  Candidate candidate;             ///< of its schedule; no sketch: the default one's
  TaskReport report;
};

/// The kernel of a task at another size, on the same constants.
struct OtherSize {
  const ComputeDag* dag = nullptr;       ///< of its task
  const CompiledTask* kernel = nullptr;  ///< null: there is none
  std::vector<Tensor> constants = {};    ///< in the order of the DAG's constant placeholders
};

/// What a library has when tasks are added to it.
struct LibrarySoFar {
  int kernels = 0;
  const StoredConstants* constants = nullptr;
  std::vector<OtherSize> others;  ///< one a task
};

/// What was measured of a task with sizes at some of them, the best first.
using MeasuredSchedules = std::vector<RecordedSchedule>;

/// Chooses a schedule for each task, of those measured where there are any, and compiles it, `jobs` at a time. Tasks read constants that the library has, where
/// that takes little time (share_constants.h); the kernels' symbols differ, also from those of its kernels. In the report,
/// every task's share of schedule_seconds and kernel_seconds is added.
///   measured  one a task
Result<std::vector<CompiledTask>> compile_tasks(const std::vector<Task>&,
                                                const std::vector<MeasuredSchedules>& measured, const LibrarySoFar&,
                                                const ScheduleSource&, const Target&, const CompileOptions&,
                                                CompileReport& report);

/// By what a library without records runs a task with sizes: by what similar tasks taught, or the default schedule, with equal shares
/// for workers at all sizes (even_shares.h). Nothing where none of them can be made for all sizes.
///   task  its DAG is at the sizes for which the schedule is chosen
std::optional<RecordedSchedule> untuned_schedule(const Task& task, const ScheduleSource&, const Target&);

}  // namespace whet
