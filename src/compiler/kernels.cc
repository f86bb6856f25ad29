#include "compiler/kernels.h"

#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "compute/round.h"
#include "cost/gpu/estimate.h"
#include "space/space.h"

namespace whet {
namespace {

/// A schedule to try, the best first.
struct Attempt {
  Result<Steps> steps;
  TaskReport::Source source;
  double seconds = 0;
  std::string reason;
};

/// What to try for a task: its record, the default, and a schedule that always lowers.
std::vector<Attempt> attempts(const Task& task, const ScheduleSource& source, const Target& target) {
  std::vector<Attempt> list;
  if (const std::optional<RecordedSchedule> found = source.recorded ? source.recorded(task) : std::nullopt) {
    const auto kind = found->reason.empty() ? TaskReport::Source::record : TaskReport::Source::near_record;
    list.push_back({parse_steps(found->steps), kind, found->seconds, found->reason});
  }
  list.push_back({source.fallback(task.dag), TaskReport::Source::default_schedule, 0, ""});
  list.push_back({safe_steps(task.dag, target), TaskReport::Source::default_schedule, 0, ""});
  return list;
}

Status compile(const Task& task, const Steps& steps, const std::string& name, const Target& target, bool emulated,
               CompiledTask& out) {
  BuildOptions options{.within = task.within, .name = name};
  if (emulated)
    options.emulated_seconds = [](const LoopTree& tree, const Target& t) { return estimate_launches(tree, t); };
  WHET_TRY(Built built, build(task.dag, steps, target, options));
  out.lowered = std::move(built.lowered);
  out.kernel = std::move(built.kernel);
  out.emulated = std::move(built.emulated);
  out.report.lower_seconds = built.replay_seconds + built.lower_seconds;
  out.report.codegen_seconds = built.codegen_seconds;
  out.report.object_bytes = static_cast<std::int64_t>(out.kernel.code.size());
  return ok_status();
}

/// The first attempt that succeeds; the note has the failures before it.
Status compile_first(const Task& task, const std::vector<Attempt>& list, const std::string& name, const Target& target,
                     bool emulated, CompiledTask& out) {
  std::string failed;
  for (const Attempt& attempt : list) {
    const Status done = attempt.steps.ok() ? compile(task, attempt.steps.value(), name, target, emulated, out)
                                           : Status(attempt.steps.error());
    if (done.ok()) {
      out.report.source = attempt.source;
      out.report.predicted_seconds = attempt.seconds;
      out.report.precision =
          multiplies_halves(task.dag) ? Precision::f16 : numerics_of(attempt.steps.value()).precision;
      out.report.note = attempt.reason + failed;
      return ok_status();
    }
    const bool record = attempt.source != TaskReport::Source::default_schedule;
    failed += (failed.empty() ? "" : "; ") + std::string(record ? "its record" : "a default schedule") +
              " cannot be compiled: " + done.error().message;
  }
  return Error{"task " + task.name + ": " + failed};
}

}  // namespace

Result<std::vector<CompiledTask>> compile_tasks(const std::vector<Task>& tasks, const ScheduleSource& source,
                                                const Target& target, const CompileOptions& options,
                                                CompileReport& report) {
  double begin = seconds_now();
  std::vector<std::vector<Attempt>> lists;
  for (const Task& task : tasks) lists.push_back(attempts(task, source, target));
  report.schedule_seconds += seconds_now() - begin;

  begin = seconds_now();
  std::vector<CompiledTask> compiled(tasks.size());
  std::vector<std::string> errors(tasks.size());
  std::mutex telling;
  int made = 0;
  parallel_for(static_cast<int>(tasks.size()), options.jobs, [&](int i) {
    const std::size_t at = static_cast<std::size_t>(i);
    compiled[at].report.name = tasks[at].name;
    compiled[at].report.weight = tasks[at].weight;
    const Status done =
        compile_first(tasks[at], lists[at], "kernel_" + std::to_string(i), target, options.emulated, compiled[at]);
    if (!done.ok()) errors[at] = done.error().message;
    if (!options.on_kernel) return;
    const std::lock_guard<std::mutex> lock(telling);
    options.on_kernel(++made, static_cast<int>(tasks.size()));
  });
  report.kernel_seconds += seconds_now() - begin;
  for (const std::string& error : errors) {
    if (!error.empty()) return Error{error};
  }
  return compiled;
}

}  // namespace whet
