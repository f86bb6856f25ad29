#include "compiler/kernels.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/parallel.h"
#include "compiler/attempts.h"
#include "compiler/even_shares.h"
#include "compiler/share_constants.h"
#include "compute/round.h"
#include "cost/gpu/estimate.h"
#include "schedule/steps_for_sizes.h"
#include "space/space.h"

namespace whet {
namespace {

using Source = TaskReport::Source;

/// The tasks at the sizes at which their DAGs are: schedules are known for those.
std::vector<Task> at_their_sizes(std::vector<Task> tasks) {
  for (Task& task : tasks)
    if (is_sized(task.dag)) task.dag = dag_at(task.dag, task.dag.at);
  return tasks;
}

Attempt attempt(const RecordedSchedule& recorded) {
  const Source kind = recorded.reason.empty() ? Source::record : Source::near_record;
  return {parse_steps(recorded.steps), kind,       recorded.seconds, recorded.reason, recorded.placement,
          recorded.candidate,          recorded.at};
}

/// Its records, or else what similar tasks run by; the default, and a schedule that always lowers.
Attempts attempts(const Task& task, const MeasuredSchedules& recorded, const ScheduleSource& source,
                  const Target& target) {
  Attempts attempts;
  std::vector<Attempt>& list = attempts.list;
  std::ranges::transform(recorded, std::back_inserter(list), attempt);
  if (recorded.empty() && source.transferred) {
    attempts.transfer = source.transferred(task);
    if (attempts.transfer && !attempts.transfer->steps.empty())
      list.push_back(
          {parse_steps(attempts.transfer->steps), Source::transferred, 0, "", {}, attempts.transfer->candidate});
  }
  list.push_back({source.fallback(task.dag), Source::default_schedule, 0, ""});
  list.push_back({safe_steps(task.dag, target), Source::default_schedule, 0, ""});
  return attempts;
}

///   tasks     at the sizes at which their DAGs are
///   recorded  what was measured at others; what was measured at these comes behind
std::vector<Attempts> attempts_of(const std::vector<Task>& tasks, std::vector<MeasuredSchedules> recorded,
                                  const ScheduleSource& source, const Target& target, int jobs) {
  for (std::size_t t = 0; t < tasks.size() && source.recorded; ++t)
    if (std::optional<RecordedSchedule> own = source.recorded(tasks[t])) recorded[t].push_back(std::move(*own));
  std::vector<Attempts> all(tasks.size());
  parallel_for(static_cast<int>(tasks.size()), jobs, [&](int i) {
    const std::size_t at = static_cast<std::size_t>(i);
    all[at] = attempts(tasks[at], recorded[at], source, target);
  });
  return all;
}

/// Puts a schedule with even shares before the first one that nobody measured.
void add_even_shares(const Task& sized, const Task& exact, const ScheduleSource& source, const Target& target,
                     std::vector<Attempt>& list) {
  const auto first = std::ranges::find_if(list, [](const Attempt& attempt) {
    return attempt.source == Source::transferred || attempt.source == Source::default_schedule;
  });
  if (first == list.end()) return;
  if (std::optional<Attempt> even = with_even_shares(sized, exact, *first, source, target))
    list.insert(first, *std::move(even));
}

Attempt default_at(const ComputeDag& dag, const SizeValues& at, const ScheduleSource& source) {
  return {source.fallback(dag_at(dag, at)), Source::default_schedule, 0, "", {}, {}, at};
}

/// What is left where schedules cannot be made for all sizes of the task: the default one of its largest sizes, where those before are for
/// others, and the DAG as it is, which is right at all sizes.
void add_for_all_sizes(const ComputeDag& dag, const ScheduleSource& source, std::vector<Attempt>& list) {
  SizeValues largest;
  for (const SizeRange& size : dag.sizes) largest.push_back(size.max);
  list.back() = Attempt{Steps(), Source::default_schedule, 0, ""};
  if (largest != dag.at) list.insert(list.end() - 1, default_at(dag, largest, source));
}

/// Sizes whose default schedules are tried before plain loops: all sizes halved, again and again, a few times.
std::vector<SizeValues> smaller_sizes(const ComputeDag& dag) {
  constexpr std::size_t kMost = 4;
  std::vector<SizeValues> all;
  SizeValues at;
  for (const SizeRange& size : dag.sizes) at.push_back(size.max);
  for (bool is_smaller = true; is_smaller && all.size() < kMost;) {
    is_smaller = false;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const SizeRange& size = dag.sizes[k];
      const std::int64_t half = size.min + (std::max(at[k] / 2, size.min) - size.min) / size.step * size.step;
      is_smaller = is_smaller || half < at[k];
      at[k] = half;
    }
    if (is_smaller && at != dag.at) all.push_back(at);
  }
  return all;
}

std::string_view name_of(TaskReport::Source source) {
  switch (source) {
    case TaskReport::Source::record:
    case TaskReport::Source::near_record:
      return "its record";
    case TaskReport::Source::transferred:
      return "a transferred schedule";
    case TaskReport::Source::default_schedule:
      return "a default schedule";
  }
  return "";
}

Status compile(const Task& task, const Attempt& attempt, const std::string& name, const Target& target, bool emulated,
               CompiledTask& out) {
  if (!attempt.steps.ok()) return attempt.steps.error();
  BuildOptions options{.within = task.within, .name = name};
  if (emulated)
    options.emulated_seconds = [](const LoopTree& tree, const Target& t) { return estimate_launches(tree, t); };
  Steps all = *attempt.steps;
  if (is_sized(task.dag)) {
    const SizeValues& at = attempt.at.empty() ? task.dag.at : attempt.at;
    WHET_TRY(all, steps_for_sizes(moved_to(task.dag, at), all));
  }
  WHET_TRY(Built built, build(task.dag, all, target, options));
  if (built.lowered.program.sizes != task.dag.sizes) return Error{"it is not for all sizes"};
  out.lowered = std::move(built.lowered);
  out.kernel = std::move(built.kernel);
  out.emulated = std::move(built.emulated);
  out.report.lower_seconds = built.replay_seconds + built.lower_seconds;
  out.report.codegen_seconds = built.codegen_seconds;
  out.report.object_bytes = static_cast<std::int64_t>(out.kernel.code.size());
  return ok_status();
}

/// The first attempt that succeeds; the note has the failures before it. Of a task with sizes the last one is plain loops, and default
/// schedules of smaller sizes come before it, which are made where all others failed.
Status compile_first(const Task& task, const std::vector<Attempt>& list, const ScheduleSource& source,
                     const std::string& name, const Target& target, bool emulated, CompiledTask& out) {
  std::string failed;
  const auto succeeds = [&](const Attempt& attempt) {
    if (const Status done = compile(task, attempt, name, target, emulated, out); !done.ok()) {
      const std::string why = std::string(name_of(attempt.source)) + " cannot be compiled: " + done.error().message;
      if (failed.find(why) == std::string::npos) failed += (failed.empty() ? "" : "; ") + why;
      return false;
    }
    out.candidate = attempt.candidate;
    out.report.at = attempt.at;
    out.report.source = attempt.source;
    out.report.predicted_seconds = is_sized(task.dag) ? 0 : attempt.seconds;  // of another kernel
    out.report.placement = attempt.placement;
    const auto has = [&](DType half) { return multiplies_halves(task.dag, half) || widens_weights(task.dag, half); };
    out.report.precision = has(DType::f16)    ? Precision::f16
                           : has(DType::bf16) ? Precision::bf16
                                              : numerics_of(attempt.steps.value()).precision;
    out.report.note = attempt.reason + failed;
    return true;
  };
  for (const Attempt& attempt : list) {
    if (is_sized(task.dag) && &attempt == &list.back())
      for (const SizeValues& at : smaller_sizes(task.dag))
        if (succeeds(default_at(task.dag, at, source))) return ok_status();
    if (succeeds(attempt)) return ok_status();
  }
  return Error{"task " + task.name + ": " + failed};
}

}  // namespace

Result<std::vector<CompiledTask>> compile_tasks(const std::vector<Task>& tasks,
                                                const std::vector<MeasuredSchedules>& measured,
                                                const LibrarySoFar& library, const ScheduleSource& source,
                                                const Target& target, const CompileOptions& options,
                                                CompileReport& report) {
  const int before = library.kernels;
  double begin = seconds_now();
  const std::vector<Task> exact = at_their_sizes(tasks);
  std::vector<Attempts> choices = attempts_of(exact, measured, source, target, options.jobs);
  parallel_for(static_cast<int>(tasks.size()), options.jobs, [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_sized(tasks[at].dag)) add_even_shares(tasks[at], exact[at], source, target, choices[at].list);
  });
  share_constants(exact, library, source, target, options.jobs, choices);
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (is_sized(tasks[t].dag)) add_for_all_sizes(tasks[t].dag, source, choices[t].list);
  report.schedule_seconds += seconds_now() - begin;

  begin = seconds_now();
  std::vector<CompiledTask> compiled(tasks.size());
  std::vector<std::string> errors(tasks.size());
  std::mutex telling;
  int made = 0;
  parallel_for(static_cast<int>(tasks.size()), options.jobs, [&](int i) {
    const std::size_t at = static_cast<std::size_t>(i);
    compiled[at].report.name = tasks[at].name;
    compiled[at].report.label = tasks[at].label;
    compiled[at].report.weight = tasks[at].weight;
    compiled[at].report.transfer = std::move(choices[at].transfer);
    const Status done = compile_first(tasks[at], choices[at].list, source, "kernel_" + std::to_string(before + i),
                                      target, options.emulated, compiled[at]);
    if (!done.ok()) errors[at] = done.error().message;
    if (!options.on_kernel) return;
    const std::lock_guard<std::mutex> lock(telling);
    options.on_kernel(before + ++made, before + static_cast<int>(tasks.size()));
  });
  report.kernel_seconds += seconds_now() - begin;
  for (const std::string& error : errors) {
    if (!error.empty()) return Error{error};
  }
  return compiled;
}

std::optional<RecordedSchedule> untuned_schedule(const Task& task, const ScheduleSource& source, const Target& target) {
  const Task exact = at_their_sizes({task}).front();
  std::vector<Attempt> list = attempts(exact, {}, source, target).list;
  add_even_shares(task, exact, source, target, list);
  for (const Attempt& each : list) {
    if (!each.steps.ok() || !steps_for_sizes(task.dag, *each.steps).ok()) continue;
    const bool is_default = each.candidate.sketch.empty() && source.space;
    return RecordedSchedule{
        to_text(*each.steps), 0, "", {}, is_default ? source.space(exact.dag).default_candidate() : each.candidate,
        task.dag.at};
  }
  return std::nullopt;
}

}  // namespace whet
