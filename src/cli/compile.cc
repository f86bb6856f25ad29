// whet compile: the model and its best records become one library.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/counted.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "machine/detect.h"
#include "tensor_files/file.h"
#include "workflow/events.h"
#include "workflow/opened.h"

namespace whet {
namespace {

struct CompileCommand {
  ModelOptions model;
  TargetOptions place;
  RecordOptions records;
  std::string output, ptx, events, weights = "model";
  bool allow_emulated = false, cubin = false, json = false, verbose = false, quiet = false;
};

const char* name_of(TaskReport::Source source) {
  switch (source) {
    case TaskReport::Source::record:
      return "record";
    case TaskReport::Source::near_record:
      return "near record";
    case TaskReport::Source::default_schedule:
      return "default schedule";
  }
  return "";
}

void print_tasks(const CompileReport& report) {
  Table table({{"ID"}, {"Task", false}, {"Weight"}, {"Runs on", false}, {"Predicted (ms)"}, {"Code (KB)"}});
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const TaskReport& task = report.tasks[i];
    const std::string source = name_of(task.source) + (task.note.empty() ? "" : " (" + task.note + ")");
    table.add({std::to_string(i), task.name, std::to_string(task.weight), source,
               task.predicted_seconds > 0 ? fmt::format("{:.4f}", task.predicted_seconds * 1e3) : "–",
               fmt::format("{:.1f}", static_cast<double>(task.object_bytes) / 1e3)});
  }
  fmt::print("{}", table.to_text());
}

/// A line for each thing that is strange about tasks: the task by its name, or how many have it.
void print_notes(const CompileReport& report) {
  std::vector<std::pair<const TaskReport*, std::int64_t>>
      kinds;  // the first of the tasks with equal notes, and how many
  for (const TaskReport& task : report.tasks) {
    if (task.note.empty()) continue;
    const auto same = std::ranges::find_if(
        kinds, [&](const auto& kind) { return kind.first->source == task.source && kind.first->note == task.note; });
    same == kinds.end() ? void(kinds.emplace_back(&task, 1)) : void(++same->second);
  }
  for (const auto& [task, count] : kinds)
    fmt::print("  {}: {}{} ({})\n", count == 1 ? task->name : counted(count, "task"), name_of(task->source),
               for_count(count, "", "s"), task->note);
}

void print_text(const CompileCommand& command, const CompileReport& report, const Target& target) {
  fmt::print("{} · {} · {}\n", command.output, to_string(target), summary(report));
  if (!report.plan.empty()) fmt::print("  by {}: {}\n", report.plan_source, report.plan);
  if (command.weights == "seed")
    fmt::print("  its large weights are made up: it takes the model's time, and its answers are wrong\n");
  command.verbose ? print_tasks(report) : print_notes(report);
  fmt::print(
      "{:.2f} MB; weights {:.2f} MB, activations {:.2f} MB; compiled in {:.2f} s (kernels {:.2f}, packing {:.2f}, "
      "linking {:.2f})\n",
      static_cast<double>(report.file_bytes) / 1e6, static_cast<double>(report.weights_bytes) / 1e6,
      static_cast<double>(report.arena_bytes) / 1e6, report.total_seconds, report.kernel_seconds,
      report.packing_seconds, report.link_seconds);
  if (report.predicted_seconds > 0) fmt::print("predicted latency {:.3f} ms\n", report.predicted_seconds * 1e3);
  if (is_foreign(target))
    fmt::print("next: run it on a machine with such a processor (whet/model.h)\n");
  else
    fmt::print("next: whet bench {}\n", command.output);
}

Json to_json(const CompileCommand& command, const CompileReport& report, const Target& target) {
  Json tasks = Json::array();
  for (const TaskReport& task : report.tasks) {
    tasks.add(Json::object()
                  .set("name", task.name)
                  .set("weight", task.weight)
                  .set("source", name_of(task.source))
                  .set("note", task.note)
                  .set("precision", std::string(name_of(task.precision)))
                  .set("predicted_ms", task.predicted_seconds * 1e3)
                  .set("object_bytes", task.object_bytes));
  }
  Json out = Json::object();
  out.set("output", command.output).set("target", to_string(target)).set("summary", summary(report));
  out.set("file_bytes", report.file_bytes).set("weights_bytes", report.weights_bytes);
  out.set("arena_bytes", report.arena_bytes).set("seconds", report.total_seconds);
  out.set("kernel_seconds", report.kernel_seconds).set("prologue_seconds", report.packing_seconds);
  if (!report.plan.empty()) out.set("plan", report.plan).set("plan_source", report.plan_source);
  out.set("link_seconds", report.link_seconds).set("predicted_ms", report.predicted_seconds * 1e3).set("tasks", tasks);
  return out;
}

/// On a terminal: how far the compilation is. The line is gone when all kernels are made.
void show_kernels(int done, int all) {
  command_terminal(stderr, "\r\x1b[K");
  if (done < all) fmt::print(stderr, "{} of {} kernels", done, all);
}

/// Compiles, and says what became of it. `events` may be null.
int compile(CompileCommand& command, const TargetOnCores& place, const FusedGraph& fused, EventStream* events) {
  CompileOptions compiling;
  compiling.name = command.model.name();
  compiling.cubin = command.cubin;
  compiling.made_weights = command.weights == "seed";
  command.records.emulated = command.allow_emulated;
  compiling.emulated = command.allow_emulated && place.target.is_gpu();
  command.records.gpu = place.gpu;
  const bool shows = !command.quiet && !command.json && isatty(STDERR_FILENO);
  compiling.on_kernel = [&](int done, int all) {
    if (shows) show_kernels(done, all);
    if (events) events->write("compiling", Json::object().set("done", done).set("all", all));
  };
  const Result<CompileReport> report =
      compile_with_records(fused, command.records, place.target, command.output, compiling);
  if (!report.ok()) return fail(report.error());
  if (!command.ptx.empty())
    if (const Status written = write_file(command.ptx, report->ptx); !written.ok()) return fail(written.error());
  if (events) events->write("finished", to_json(command, *report, place.target));
  if (command.json)
    fmt::print("{}\n", dump(to_json(command, *report, place.target), 2));
  else if (!command.quiet)
    print_text(command, *report, place.target);
  return events && !events->status().ok() ? fail(events->status().error()) : kDone;
}

int run(CompileCommand& command) {
  const Result<TargetOnCores> place = choose_target(command.place);
  if (!place.ok()) return wrong_use(place.error());
  if (!place->note.empty()) fmt::print(stderr, "{}\n", place->note);
  for (const auto& [option, asked] : {std::pair("--ptx", !command.ptx.empty()), std::pair("--cubin", command.cubin)})
    if (asked && !place->target.is_gpu())
      return wrong_use({fmt::format("{} is for GPU targets; the target is \"{}\"", option, to_string(place->target))});
  const Result<InputFiles> files = read_named_inputs(command.model);
  if (!files.ok()) return fail(files.error());
  const Result<FusedGraph> fused = load_fused(command.model, *files, command.records.rounding.passes());
  if (!fused.ok()) return fail(fused.error());
  if (command.events.empty()) return compile(command, *place, *fused, nullptr);
  Result<EventStream> events = EventStream::open(command.events);
  if (!events.ok()) return fail(events.error());
  return compile(command, *place, *fused, &*events);
}

}  // namespace

std::function<int()> make_compile(Arguments& arguments) {
  auto command = std::make_shared<CompileCommand>();
  add_options(arguments, command->model);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_options(arguments, command->place);
  add_options(arguments, command->records);
  arguments.add("-o,--output", command->output, "The library to write (default: the model's name with .so, here)");
  arguments.writes("--output", command->output, FileKind::model,
                   [&model = command->model] { return model.name() + ".so"; });
  arguments.choice("--weights", command->weights, {"model", "seed"},
                   "seed: large weights are made up, for a library that is only timed; a device elsewhere makes them "
                   "itself, so that they do not travel");
  arguments.add("--ptx", command->ptx, "For a GPU: also write the PTX of all kernels to this file");
  arguments.writes("--ptx", command->ptx, FileKind::ptx);
  arguments.flag("--cubin", command->cubin,
                 "For a GPU: also put machine code into the library (needs ptxas), which opens faster on a GPU of the "
                 "target's architecture");
  arguments.flag("--allow-emulated", command->allow_emulated,
                 "Take records of emulated devices too; for a GPU, put code for the emulated device into the library");
  arguments.add("--events", command->events,
                "Also write how far it is, a JSON object a line, to this open file descriptor or file");
  arguments.writes("--events", command->events, FileKind::events);
  arguments.flag("--json", command->json, "Print JSON");
  arguments.flag("-v,--verbose", command->verbose, "Print the source of each task's schedule");
  arguments.flag("-q,--quiet", command->quiet, "Print nothing");
  return [command] { return run(*command); };
}

}  // namespace whet
