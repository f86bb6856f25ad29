#include "compiler/compile.h"

#include <algorithm>
#include <filesystem>

#include "base/counted.h"
#include "base/parallel.h"
#include "compiler/assemble.h"
#include "compiler/kernels.h"
#include "compiler/library.h"
#include "compiler/packing.h"
#include "compiler/scratch.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

/// The constants of a group, in the order of its DAG's constant placeholders.
std::vector<Tensor> constants_of(const FusedGraph& fused, const Group& group) {
  std::vector<Tensor> constants;
  for (ValueId input : group.inputs) {
    const Value& value = fused.graph.value(input);
    if (value.constant) constants.push_back(*value.constant);
  }
  return constants;
}

/// Packs every group's weights.
Result<std::vector<std::vector<Tensor>>> run_packings(const FusedGraph& fused, const std::vector<int>& task_of,
                                                      const std::vector<CompiledTask>& tasks,
                                                      const CompileOptions& options) {
  std::vector<std::vector<Tensor>> packed(fused.groups.size());
  std::vector<std::string> errors(fused.groups.size());
  parallel_for(static_cast<int>(fused.groups.size()), options.jobs, [&](int i) {
    const std::size_t g = static_cast<std::size_t>(i);
    if (task_of[g] < 0) return;
    const ComputeDag& packing = tasks[static_cast<std::size_t>(task_of[g])].lowered.packing;
    if (packing.outputs.empty()) return;
    if (options.packed != nullptr) {
      if (auto known = options.packed->find(g, packing)) {
        packed[g] = std::move(*known);
        return;
      }
    }
    Result<std::vector<Tensor>> tensors = run_packing(packing, constants_of(fused, fused.groups[g]));
    if (tensors.ok()) {
      packed[g] = std::move(tensors).value();
      if (options.packed != nullptr) options.packed->keep(g, packing, packed[g]);
    } else {
      errors[g] = tensors.error().message;
    }
  });
  for (const std::string& error : errors) {
    if (!error.empty()) return Error{"packing weights: " + error};
  }
  return packed;
}

double predicted_seconds(const std::vector<TaskReport>& tasks) {
  double sum = 0;
  for (const TaskReport& task : tasks) {
    if (task.predicted_seconds <= 0) return 0;
    sum += task.weight * task.predicted_seconds;
  }
  return sum;
}

void describe(const FusedGraph& fused, const Target& target, const CompileOptions& options, const CompileReport& report,
              ModelPlan& plan) {
  plan.name = options.name.empty() ? fused.graph.name : options.name;
  plan.target = to_string(target);
  plan.records = summary(report);
  plan.compiler = options.compiler;
  plan.tuned_threads = static_cast<std::uint32_t>(std::max(1, target.threads));
  plan.predicted_seconds = report.predicted_seconds;
  plan.entries = static_cast<std::uint32_t>(report.tasks.size());
  for (const ModelPlan::Step& step : plan.steps) plan.flops += step.flops;
}

/// Fails before minutes of work where the result could not be written.
Status check_output(const std::string& output) {
  const std::filesystem::path directory = std::filesystem::path(output).parent_path();
  std::error_code failed;
  if (!directory.empty() && !std::filesystem::is_directory(directory, failed)) {
    return Error{output + ": there is no directory " + directory.string()};
  }
  if (std::filesystem::is_directory(output, failed))
    return Error{output + ": is a directory; expected the path of a file"};
  if (std::filesystem::exists(output, failed) && !std::filesystem::is_regular_file(output, failed))
    return Error{output + ": is a device or a pipe; expected the path of a file"};
  return can_write_file(output);
}

}  // namespace

std::string summary(const CompileReport& report) {
  using Source = TaskReport::Source;
  const auto count = [&](Source source) {
    return std::to_string(std::ranges::count(report.tasks, source, &TaskReport::source));
  };
  std::string text = count(Source::record) + " of " + counted(std::ssize(report.tasks), "task") + " from records, ";
  if (std::ranges::count(report.tasks, Source::near_record, &TaskReport::source) > 0) {
    text += count(Source::near_record) + " from records of other settings, ";
  }
  text += count(Source::default_schedule) + " by default schedules";
  for (const Precision precision : {Precision::tf32, Precision::f16, Precision::bf16}) {
    const auto rounded = std::ranges::count(report.tasks, precision, &TaskReport::precision);
    if (rounded == 0) continue;
    text += "; products of " + counted(rounded, "task") + " in ";
    text += name_of(precision);
  }
  return text;
}

Result<CompileReport> compile_model(const FusedGraph& fused, const ScheduleSource& source, const Target& target,
                                    const std::string& output, const CompileOptions& options) {
  WHET_RETURN_IF_ERROR(check_output(output));
  WHET_RETURN_IF_ERROR(ScratchDirectory::make());  // the library needs one, after the kernels
  CompileReport report;
  const double begin = seconds_now();
  WHET_TRY(const PlacedTasks placed, place_tasks(fused, target));
  const std::vector<Task>& tasks = placed.tasks;
  report.schedule_seconds = seconds_now() - begin;
  WHET_TRY(const std::vector<CompiledTask> compiled, compile_tasks(tasks, source, target, options, report));
  for (const CompiledTask& task : compiled) report.tasks.push_back(task.report);
  report.predicted_seconds = predicted_seconds(report.tasks);

  const double packing = seconds_now();
  WHET_TRY(const auto packed, run_packings(fused, task_of_group(fused, tasks), compiled, options));
  report.packing_seconds = seconds_now() - packing;

  const double linking = seconds_now();
  WHET_TRY(AssembledModel model, assemble(fused, placed.in_place, tasks, compiled, packed));
  if (options.made_weights) model.weights.make_up();
  describe(fused, target, options, report, model.plan);
  WHET_RETURN_IF_ERROR(write_library(model, compiled, target, output, options));
  report.link_seconds = seconds_now() - linking;
  report.ptx = std::move(model.ptx);

  report.arena_bytes = static_cast<std::int64_t>(model.plan.arena_bytes);
  report.peak_activation_bytes = static_cast<std::int64_t>(model.peak_activation_bytes);
  report.weights_bytes = static_cast<std::int64_t>(model.weights.bytes());
  std::error_code ignored;
  report.file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(output, ignored));
  report.total_seconds = seconds_now() - begin;
  return report;
}

}  // namespace whet
