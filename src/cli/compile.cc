// whet compile: the model and its best records become one library.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/quick.h"
#include "cli/table.h"
#include "json/json.h"
#include "machine/detect.h"
#include "tensor_files/file.h"
#include "workflow/events.h"
#include "workflow/opened.h"
#include "workflow/sizes.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

struct CompileCommand {
  ModelOptions model;
  TargetOptions place;
  RecordOptions records;
  double quick = 0;                  ///< seconds; 0: nothing is timed
  std::vector<std::string> devices;  ///< that time
  FleetOptions fleet;
  std::optional<TuneProgress> timed;
  std::string output, ptx, events, weights = "model";
  std::function<bool(const std::string&)> given;
  bool allow_emulated = false, cubin = false, json = false, verbose = false, quiet = false;
};

std::string name_of(TaskReport::Source source) {
  switch (source) {
    case TaskReport::Source::record:
      return "record";
    case TaskReport::Source::near_record:
      return "near record";
    case TaskReport::Source::transferred:
      return "transferred";
    case TaskReport::Source::default_schedule:
      return "default schedule";
  }
  return "";
}

/// What a task runs on, and why.
std::string source_text(const TaskReport& task) {
  std::vector<std::string> why;
  if (!task.at.empty()) why.push_back(fmt::format("of {}", fmt::join(task.at, "x")));
  if (!task.note.empty()) why.push_back(task.note);
  if (task.transfer && task.source == TaskReport::Source::transferred)
    why.push_back(fmt::format("{}, distance {:.1f}; {:.2f} times as fast as the default schedule there",
                              task.transfer->from, task.transfer->distance, task.transfer->gain));
  else if (task.transfer && !task.transfer->why_not.empty())
    why.push_back(task.transfer->why_not);
  return name_of(task.source) + (why.empty() ? "" : fmt::format(" ({})", fmt::join(why, "; ")));
}

void print_tasks(const CompileReport& report) {
  Table table({{"ID"}, {"Task", false}, {"Weight"}, {"Runs on", false}, {"Predicted (ms)"}, {"Code (KB)"}});
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const TaskReport& task = report.tasks[i];
    table.add({std::to_string(i), task.name, std::to_string(task.weight), source_text(task),
               task.predicted_seconds > 0 ? fmt::format("{:.4f}", task.predicted_seconds * 1e3) : "–",
               fmt::format("{:.1f}", static_cast<double>(task.object_bytes) / 1e3)});
  }
  print(table);
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

bool is_measured(const TaskReport& task) {
  return task.source == TaskReport::Source::record || task.source == TaskReport::Source::near_record;
}

/// "x.0 {1,2,4} · 3 plans with 9, 8, 8 kernels of their own", where the first has those that others share; a range is "n 1..512".
std::string sizes_line(const CompileReport& report) {
  std::string text;
  for (const ModelSize& size : report.sizes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", size.name,
                        size.is_range() ? to_text(size) : fmt::format("{{{}}}", fmt::join(size.values, ",")));
  std::vector<int> kernels;
  for (const VariantReport& variant : report.variants) kernels.push_back(variant.kernels);
  return fmt::format("{} · {} with {} kernels that none before has", text, counted(std::ssize(kernels), "plan"),
                     fmt::join(kernels, ", "));
}

/// "3.40 MB", or "0.85 .. 3.40 MB" over all sizes.
std::string activations_text(const CompileReport& report) {
  const auto megabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  if (report.variants.empty()) return fmt::format("{:.2f} MB", megabytes(report.arena_bytes));
  const auto [least, most] = std::ranges::minmax(report.variants, {}, &VariantReport::arena_bytes);
  return fmt::format("{:.2f} .. {:.2f} MB", megabytes(least.arena_bytes), megabytes(most.arena_bytes));
}

void print_text(const CompileCommand& command, const CompileReport& report, const Target& target) {
  fmt::print("{} · {} · {}\n", command.output, to_string(target), summary(report));
  if (!report.sizes.empty()) fmt::print("  {}\n", sizes_line(report));
  if (command.timed) {
    const std::string timed = first_round_text(*command.timed);
    fmt::print("  {}\n",
               timed.empty() ? "No record base promises more than the default schedules: nothing was timed" : timed);
  }
  if (!report.plan.empty()) fmt::print("  by {}: {}\n", report.plan_source, report.plan);
  if (command.weights == "seed")
    fmt::print("  its large weights are made up: it takes the model's time, and its answers are wrong\n");
  command.verbose ? print_tasks(report) : print_notes(report);
  fmt::print(
      "{:.2f} MB; weights {:.2f} MB, activations {}; compiled in {:.2f} s (choosing {:.2f}, kernels "
      "{:.2f}, packing {:.2f}, linking {:.2f})\n",
      static_cast<double>(report.file_bytes) / 1e6, static_cast<double>(report.weights_bytes) / 1e6,
      activations_text(report), report.total_seconds, report.schedule_seconds, report.kernel_seconds,
      report.packing_seconds, report.link_seconds);
  if (report.predicted_seconds > 0)
    fmt::print("predicted latency {:.3f} ms{}\n", report.predicted_seconds * 1e3,
               report.sizes.empty() ? "" : " at the usual sizes");
  const bool can_be_measured = target.is_cpu() && can_run(target).ok() && !command.timed && report.sizes.empty();
  if (!report.base.empty() && can_be_measured && std::ranges::none_of(report.tasks, is_measured))
    fmt::print(
        "not measured; whet compile {0} --quick times two candidates a task (about 2 s); whet tune {0} --seconds 10 "
        "searches\n",
        command.model.text());
  if (is_foreign(target))
    fmt::print("next: run it on a machine with such a processor (whet/model.h)\n");
  else
    fmt::print("next: whet bench {}\n", command.output);
}

/// What similar tasks said of a task.
Json to_json(const TransferredSchedule& transfer) {
  if (transfer.from.empty()) return Json::object().set("why_not", transfer.why_not);
  return Json::object()
      .set("from", transfer.from)
      .set("distance", transfer.distance)
      .set("gain", transfer.gain)
      .set("why_not", transfer.why_not);
}

Json sizes_json(const CompileReport& report) {
  Json sizes = Json::array();
  for (const ModelSize& size : report.sizes) {
    Json row = Json::object();
    row.set("name", size.name).set("input", static_cast<std::int64_t>(size.input));
    row.set("dimension", static_cast<std::int64_t>(size.dimension)).set("values", Json::array_of(size.values));
    if (size.is_range()) row.set("min", size.min).set("max", size.max).set("step", size.step);
    sizes.add(std::move(row));
  }
  return sizes;
}

Json variants_json(const CompileReport& report) {
  Json variants = Json::array();
  for (const VariantReport& variant : report.variants) {
    Json row = Json::object();
    row.set("at", Json::array_of(variant.at)).set("kernels", variant.kernels);
    row.set("arena_bytes", variant.arena_bytes).set("predicted_ms", variant.predicted_seconds * 1e3);
    Json boxes = Json::array();
    for (const SizeBox& box : variant.boxes)
      boxes.add(Json::object().set("low", Json::array_of(box.low)).set("high", Json::array_of(box.high)));
    if (!variant.boxes.empty()) row.set("boxes", boxes);
    variants.add(std::move(row));
  }
  return variants;
}

Json to_json(const CompileCommand& command, const CompileReport& report, const Target& target) {
  Json tasks = Json::array();
  for (const TaskReport& task : report.tasks) {
    Json row = Json::object();
    row.set("name", task.name).set("weight", task.weight).set("source", name_of(task.source)).set("note", task.note);
    if (!task.at.empty()) row.set("at", Json::array_of(task.at));
    if (task.transfer) row.set("transfer", to_json(*task.transfer));
    row.set("precision", std::string(name_of(task.precision)));
    row.set("predicted_ms", task.predicted_seconds * 1e3).set("object_bytes", task.object_bytes);
    tasks.add(std::move(row));
  }
  Json out = Json::object();
  out.set("output", command.output).set("target", to_string(target)).set("summary", summary(report));
  out.set("file_bytes", report.file_bytes).set("weights_bytes", report.weights_bytes);
  out.set("arena_bytes", report.arena_bytes).set("seconds", report.total_seconds);
  if (!report.base.empty()) out.set("base", report.base);
  out.set("choosing_seconds", report.schedule_seconds)
      .set("kernel_seconds", report.kernel_seconds)
      .set("prologue_seconds", report.packing_seconds);
  if (!report.plan.empty()) out.set("plan", report.plan).set("plan_source", report.plan_source);
  if (!report.sizes.empty()) out.set("sizes", sizes_json(report)).set("variants", variants_json(report));
  out.set("link_seconds", report.link_seconds).set("predicted_ms", report.predicted_seconds * 1e3).set("tasks", tasks);
  if (command.timed) out.set("first_round", first_round_json(*command.timed));
  return out;
}

/// On a terminal: how far the compilation is. The line is gone when all kernels are made.
void show_kernels(int done, int all) {
  command_terminal(stderr, "\r\x1b[K");
  if (done < all) fmt::print(stderr, "{} of {} kernels", done, all);
}

/// The same of the round of measurements before.
void show_candidates(std::int64_t timed) {
  command_terminal(stderr, "\r\x1b[K");
  fmt::print(stderr, "{} candidates timed", timed);
}

/// Makes the library.
using Make = std::function<Result<CompileReport>(const CompileOptions&)>;

/// The one of a network.
Make of_network(const CompileCommand& command, const TargetOnCores& place, const FusedGraph& fused) {
  return [&](const CompileOptions& compiling) {
    return compile_with_records(fused, command.records, place.target, command.output, compiling);
  };
}

/// Compiles, and says what became of it. `events` may be null.
Result<int> compile(CompileCommand& command, const TargetOnCores& place, const Make& make, EventStream* events) {
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
  WHET_TRY(const CompileReport report, make(compiling));
  if (!command.ptx.empty()) WHET_RETURN_IF_ERROR(write_file(command.ptx, report.ptx));
  if (events) events->write("finished", to_json(command, report, place.target));
  if (command.json)
    fmt::print("{}\n", dump(to_json(command, report, place.target), 2));
  else if (!command.quiet)
    print_text(command, report, place.target);
  if (events && !events->status().ok()) return events->status().error();
  return kDone;
}

Status check_gpu_options(const CompileCommand& command, const Target& target) {
  for (const auto& [option, asked] : {std::pair("--ptx", !command.ptx.empty()), std::pair("--cubin", command.cubin)})
    if (asked && !target.is_gpu())
      return Error{fmt::format("{} is for GPU targets; the target is \"{}\"", option, to_string(target)),
                   ErrorKind::wrong_use};
  return ok_status();
}

/// The same behind a round of measurements.
Result<int> compile_quickly(CompileCommand& command) {
  if (command.records.base.none)
    return wrong_use({"compile: --quick times what the record base knows, which --no-base leaves out"});
  if (!command.model.sizes.empty())
    return wrong_use({"compile: --quick times a model for one size, which --shape gives it"});
  MeasuringOptions where;
  where.place = command.place, where.devices = command.devices, where.fleet = command.fleet;
  where.allow_emulated = command.allow_emulated;
  // Before anything starts a thread or touches LLVM, and opens what builders and runners must not have: they are forked from here.
  WHET_TRY(Zygote zygote, Zygote::start());
  std::optional<EventStream> events;
  if (!command.events.empty()) {
    WHET_TRY(EventStream opened, EventStream::open(command.events));
    events.emplace(std::move(opened));
  }
  const bool shows = !command.quiet && !command.json && isatty(STDERR_FILENO);
  std::map<int, Json> known;
  const auto on_round = [&](const TuneProgress& progress) {
    if (shows) show_candidates(progress.trials);
    if (events) events->write("round", round_event(progress, known));
  };
  WHET_TRY(QuickCompile quick,
           time_for_compile(command.model, where, command.records, command.quick, zygote, on_round));
  if (shows) command_terminal(stderr, "\r\x1b[K");
  WHET_RETURN_IF_ERROR(check_gpu_options(command, quick.place.target));
  command.timed = std::move(quick.progress);
  return compile(command, quick.place, of_network(command, quick.place, quick.fused), events ? &*events : nullptr);
}

/// A library is for all sizes that the file bounds, where its target has kernels for them and the user says nothing.
void take_bounds(CompileCommand& command, const Target& target, const InputFiles& files) {
  const Result<std::vector<OpenSize>> bounded = bounded_sizes(command.model, files);
  if (!bounded.ok() || bounded->empty()) return;  // what cannot be read has its sentence later
  std::string ranges, one;
  for (const OpenSize& size : *bounded) {
    ranges += (ranges.empty() ? "" : ", ") + example_of(size);
    one += fmt::format(" --sizes {}={}", size.name(), size.usual.value_or(*size.most));
    if (target.is_cpu()) command.model.sizes.push_back(example_of(size));
  }
  tell(command.records.tell,
       target.is_cpu()
           ? fmt::format("The library is for all sizes that the file allows, {}; for one:{}", ranges, one)
           : fmt::format("The file allows {}; {} has no sized kernels, and the library is for one size", ranges,
                         target.kind()));
}

/// Sizes that count for nothing here.
Status check_tuning_sizes(const CompileCommand& command) {
  const Result<std::vector<WantedSize>> sizes = parse_sizes(command.model.sizes);
  if (!sizes.ok() || (command.quick == 0 && has_ranges(*sizes) && !command.records.file.empty())) return ok_status();
  return refuse_given(command.given, {"--tuning-sizes", "--lengths"}, "compile",
                      "counts only for --sizes of a range with --records");
}

Result<int> run(CompileCommand& command) {
  if (command.quick > 0) {
    WHET_RETURN_IF_ERROR(check_tuning_sizes(command));
    return compile_quickly(command);
  }
  WHET_RETURN_IF_ERROR(refuse_given(command.given, {"--device", "--fleet"}, "compile", "is for --quick"));
  const Result<TargetOnCores> place = choose_target(command.place);
  if (!place.ok()) return wrong_use(place.error());
  if (!place->note.empty()) fmt::print(stderr, "{}\n", place->note);
  WHET_RETURN_IF_ERROR(check_gpu_options(command, place->target));
  WHET_TRY(const InputFiles files, read_named_inputs(command.model));
  if (command.model.sizes.empty()) take_bounds(command, place->target, files);
  WHET_RETURN_IF_ERROR(check_tuning_sizes(command));
  std::optional<FusedGraph> fused;
  Make make = [&](const CompileOptions& compiling) {
    return compile_sizes_with_records(command.model, files, command.records, place->target, command.output, compiling);
  };
  if (command.model.sizes.empty()) {
    WHET_TRY(fused, load_fused(command.model, files, command.records.rounding.passes()));
    make = of_network(command, *place, *fused);
  }
  if (command.events.empty()) return compile(command, *place, make, nullptr);
  WHET_TRY(EventStream events, EventStream::open(command.events));
  return compile(command, *place, make, &events);
}

}  // namespace

CommandAction make_compile(Arguments& arguments) {
  auto command = std::make_shared<CompileCommand>();
  add_options(arguments, command->model);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_sizes(arguments, command->model);
  add_tuning_sizes(arguments, command->records.tuning_sizes);
  add_options(arguments, command->place);
  add_options(arguments, command->records);
  arguments.flag(
      "--quick", command->quick, 2, 0.01, 86400, "SECONDS",
      "First time the default schedule of each task and what the record base knows beside it, here or on --device, for "
      "2 seconds or as many as are given, the heaviest tasks first; --records keeps the figures");
  {
    const auto group = arguments.group("Where it runs");
    arguments.add("--device", command->devices,
                  "With --quick: device to time on (may be repeated), as whet tune takes it: ssh://user@host:port, "
                  "exec:COMMAND or fleet:KEY (default: this machine)");
    add_options(arguments, command->fleet);
  }
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
  command->given = arguments.given();
  return [command] { return run(*command); };
}

}  // namespace whet
