// whet diff: what became slower between two compiled models, record files or benchmarks.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "base/counted.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "diff/compare_benchmarks.h"
#include "diff/compare_models.h"
#include "diff/compare_records.h"
#include "json/json.h"
#include "tensor_files/file.h"
#include "workflow/alternate.h"

namespace whet {
namespace {

struct DiffCommand {
  std::string before, after;
  RunnableOptions runnable;  ///< how models run; its model is the one whose weights tasks of records have
  double threshold = 2;      ///< [%]
  double seconds = 5;
  bool json = false;
};

/// Wider names are cut in the table, not in JSON.

enum class Kind { model, benchmark, records };
constexpr const char* kKindNames[] = {"a compiled model", "a benchmark", "a record file"};

struct Side {
  Kind kind = Kind::records;
  Json benchmark;
};

Result<Side> look_at(const std::string& path) {
  if (path.ends_with(".so")) return Side{Kind::model, {}};
  WHET_TRY(const std::string text, read_file(path));
  Result<Json> json = parse_json(text);
  if (json.ok() && json->find("median_ms") != nullptr) return Side{Kind::benchmark, std::move(*json)};
  return Side{Kind::records, {}};
}

struct OpenedSide {
  Runnable runnable;
  MeasuredModel measured;
};

Result<OpenedSide> open_side(const DiffCommand& command, const std::string& path) {
  RunnableOptions options = command.runnable;
  options.model.model = path;
  options.model.fill = "random";
  Result<Runnable> runnable = open_runnable(options, {});
  if (!runnable.ok()) return Error{path + " cannot be measured here: " + runnable.error().message};
  OpenedModel& model = runnable->model;
  WHET_TRY(std::vector<Tensor> inputs, inputs_of(model, options.model, {}));
  WHET_RETURN_IF_ERROR(model.set_inputs(std::move(inputs)));
  MeasuredModel measured{model.info().name, model.info().target, model.info().records, model.info().compiler,
                         threads_text(model)};
  return OpenedSide{std::move(*runnable), std::move(measured)};
}

Status profile_side(OpenedSide& side) {
  constexpr int kWarmup = 5, kRuns = 50;
  OpenedModel& model = side.runnable.model;
  WHET_RETURN_IF_ERROR(model.profile_runs(kWarmup, kRuns));
  const whet_profile profile = model.profile();
  for (std::uint32_t i = 0; i < profile.steps; ++i) {
    const whet_step_profile& step = profile.step[i];
    side.measured.steps.push_back({step.node, step.op, static_cast<double>(step.min_ns) / 1e9});
  }
  return ok_status();
}

Result<Comparison> diff_models(const DiffCommand& command) {
  WHET_TRY(OpenedSide before, open_side(command, command.before));
  WHET_TRY(OpenedSide after, open_side(command, command.after));
  WHET_TRY(AlternateTimes times, time_alternately(before.runnable.model, after.runnable.model, command.seconds, {}));
  before.measured.seconds = std::move(times.before);
  after.measured.seconds = std::move(times.after);
  WHET_RETURN_IF_ERROR(profile_side(before));
  WHET_RETURN_IF_ERROR(profile_side(after));
  return compare_models(before.measured, after.measured);
}

Result<Comparison> diff_records(const DiffCommand& command) {
  WHET_TRY(const RecordsRead before, read_records(command.before));
  WHET_TRY(const RecordsRead after, read_records(command.after));
  for (const auto& [read, path] : {std::pair(&before, &command.before), std::pair(&after, &command.after)}) {
    for (const std::string& note : read->notes) tell_user(note);
    if (read->records.size() == 0 && !read->base_lines.empty())
      return Error{*path + " is a record base, which has no times to compare; `whet records show` prints it"};
  }
  TaskWeights weights;
  if (!command.runnable.model.model.empty()) {
    WHET_TRY(const TargetOnCores place, choose_target(command.runnable.place));
    const RoundingOptions& rounding = command.runnable.records.rounding;
    WHET_RETURN_IF_ERROR(rounding.check(place.target));
    WHET_TRY(const FusedGraph fused, load_fused(command.runnable.model, {}, rounding.passes(place.target)));
    WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, place.target));
    for (const Task& task : tasks) weights[{task.key, task.within}] += task.weight;
  }
  return compare_records(before.records, after.records, weights);
}

/// Each kind of sides has options of its own.
Status check_options(Kind kind, bool has_model, const std::function<bool(const std::string&)>& given) {
  std::vector<std::string> of_place = {"--target", "--threads", "--cores"}, of_model = shape_options();
  const std::string of_records = "is for record files, with --model";
  if (kind == Kind::model) {
    of_model.push_back("--model");
    of_model.push_back("--target");
    std::erase(of_model, "--seed");
    std::erase(of_model, "--shape");  // of libraries for several sizes
    return refuse_given(given, of_model, "diff", of_records + "; compiled models are as they are");
  }
  WHET_RETURN_IF_ERROR(refuse_given(given, {"--seconds"}, "diff", "is for compiled models, which are measured now"));
  of_model.insert(of_model.end(), of_place.begin(), of_place.end());
  if (kind == Kind::benchmark) of_model.push_back("--model");
  return kind == Kind::records && has_model ? ok_status() : refuse_given(given, of_model, "diff", of_records);
}

Result<Comparison> compare(const DiffCommand& command, const std::function<bool(const std::string&)>& given) {
  WHET_TRY(const Side before, look_at(command.before));
  WHET_TRY(const Side after, look_at(command.after));
  if (before.kind != after.kind)
    return Error{fmt::format("{} is {} and {} {}; expected two of a kind", command.before,
                             kKindNames[static_cast<int>(before.kind)], command.after,
                             kKindNames[static_cast<int>(after.kind)])};
  WHET_RETURN_IF_ERROR(check_options(before.kind, !command.runnable.model.model.empty(), given));
  if (before.kind == Kind::model) return diff_models(command);
  if (before.kind == Kind::benchmark) return compare_benchmarks(before.benchmark, after.benchmark);
  return diff_records(command);
}

std::string ratio_text(double ratio) {
  if (ratio >= 2) return fmt::format("{:.2f} times as long", ratio);
  if (ratio == 1) return "no difference";
  const double percent = 100 * (ratio - 1);
  return fmt::format("{:.1f}% {}", std::abs(percent), percent < 0 ? "faster" : "slower");
}

/// The end of the first line, behind the ratio.
std::string judgement(const Comparison& comparison, double threshold) {
  const Verdict verdict = verdict_of(comparison, threshold);
  if (verdict != Verdict::same || comparison.ratio() == 1) return "";
  if (!is_unclear(comparison, threshold)) return fmt::format("; within the threshold of {:g}%", 100 * threshold);
  return fmt::format("; not clear, since new/old lies between {:.3f} and {:.3f}", comparison.low_ratio,
                     comparison.high_ratio);
}

/// Why the part takes another time, and how that compares with the threshold.
std::string change_text(const Comparison::Part& part, double threshold) {
  if (part.old_seconds <= 0 || part.new_seconds <= 0) return part.change;
  const std::string_view word = word_of(part.new_seconds / part.old_seconds, threshold);
  return part.change.empty() ? std::string(word) : fmt::format("{}, {}", part.change, word);
}

void print_parts(const Comparison& comparison, double threshold) {
  if (!comparison.parts.empty()) {
    Table table(
        {{"Part", false}, {"Weight"}, {"Old (ms)"}, {"New (ms)"}, {"New/old"}, {"Adds (ms)"}, {"Change", false}});
    for (const Comparison::Part& part : comparison.parts) {
      const bool both = part.old_seconds > 0 && part.new_seconds > 0;
      table.add({part.name, fmt::format("{:.0f}", part.weight), milliseconds_if_any(part.old_seconds),
                 milliseconds_if_any(part.new_seconds),
                 both ? fmt::format("{:.3f}", part.new_seconds / part.old_seconds) : "–",
                 both ? fmt::format("{:+.3g}", part.added() * 1e3) : "–", change_text(part, threshold)});
    }
    print(table);
  }
  if (comparison.unchanged > 0)
    fmt::print("{} {} by less than 1%\n", counted(comparison.unchanged, "part"),
               for_count(comparison.unchanged, "differs", "differ"));
}

void print_text(const DiffCommand& command, const Comparison& comparison) {
  const double threshold = command.threshold / 100;
  fmt::print("{} -> {}: {} -> {} ms, {}{}\n", command.before, command.after,
             milliseconds_if_any(comparison.old_seconds), milliseconds_if_any(comparison.new_seconds),
             ratio_text(comparison.ratio()), judgement(comparison, threshold));
  fmt::print("  {}", comparison.whole);
  if (comparison.low_ratio != comparison.high_ratio && !is_unclear(comparison, threshold))
    fmt::print("; new/old between {:.3f} and {:.3f}", comparison.low_ratio, comparison.high_ratio);
  fmt::print("\n");
  for (const std::string& circumstance : comparison.circumstances) fmt::print("  {}\n", circumstance);
  print_parts(comparison, threshold);
}

void print_json(const DiffCommand& command, const Comparison& comparison, Verdict verdict) {
  const auto ms = [](double seconds) { return seconds > 0 ? Json(seconds * 1e3) : Json(); };
  Json parts = Json::array();
  for (const Comparison::Part& part : comparison.parts)
    parts.add(Json::object()
                  .set("name", part.name)
                  .set("weight", part.weight)
                  .set("old_ms", ms(part.old_seconds))
                  .set("new_ms", ms(part.new_seconds))
                  .set("added_ms", part.added() * 1e3)
                  .set("change", part.change));
  fmt::print("{}\n", dump(Json::object()
                              .set("verdict", name_of(verdict))
                              .set("clear", !is_unclear(comparison, command.threshold / 100))
                              .set("threshold", command.threshold / 100)
                              .set("whole", comparison.whole)
                              .set("old_ms", ms(comparison.old_seconds))
                              .set("new_ms", ms(comparison.new_seconds))
                              .set("ratio", comparison.ratio())
                              .set("low_ratio", comparison.low_ratio)
                              .set("high_ratio", comparison.high_ratio)
                              .set("circumstances", Json::array_of(comparison.circumstances))
                              .set("unchanged", comparison.unchanged)
                              .set("parts", std::move(parts)),
                          2));
}

Result<int> run(const DiffCommand& command, const std::function<bool(const std::string&)>& given) {
  WHET_TRY(const Comparison comparison, compare(command, given));
  const Verdict verdict = verdict_of(comparison, command.threshold / 100);
  if (verdict == Verdict::unknown)
    return Error{command.before + " and " + command.after + " have times of no task in common"};
  command.json ? print_json(command, comparison, verdict) : print_text(command, comparison);
  return verdict == Verdict::slower ? kFailed : kDone;
}

}  // namespace

CommandAction make_diff(Arguments& arguments) {
  auto command = std::make_shared<DiffCommand>();
  arguments.require("OLD", command->before,
                    "A compiled model (.so), a record file, or the output of `whet bench --json`");
  arguments.require("NEW", command->after, "Another of the same kind");
  arguments.add("--threshold", command->threshold, 0, 1000,
                "The exit code is 1 where the new one is slower by more than this [%], and clearly so");
  arguments.add("--seconds", command->seconds, 0, 86400, "Compiled models: time to measure both alternately [s]");
  arguments.add("--model", command->runnable.model.model,
                "Record files: the model whose tasks are compared, each by how often the model runs it");
  add_shapes(arguments, command->runnable.model);
  add_options(arguments, command->runnable.place);
  arguments.flag("--json", command->json, "Print JSON");
  return [command, given = arguments.given()] { return run(*command, given); };
}

}  // namespace whet
