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
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "machine/detect.h"
#include "workflow/compiling.h"
#include "workflow/events.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

struct CompileCommand {
  CompileSettings settings;
  std::string events;
  std::function<bool(const std::string&)> given;
  bool json = false, verbose = false, quiet = false;
};

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

void print_text(const CompileCommand& command, const CompiledModel& compiled) {
  const auto& [report, target, timed_round, symbol, ladder] = compiled;
  fmt::print("{} · {} · {}\n", command.settings.output, to_string(target), summary(report));
  if (!report.sizes.empty()) fmt::print("  {}\n", sizes_line(report));
  if (timed_round) {
    const std::string timed = first_round_text(*timed_round);
    if (!timed.empty() || !ladder)
      fmt::print("  {}\n",
                 timed.empty() ? "No record base promises more than the default schedules: nothing was timed" : timed);
  }
  if (ladder) fmt::print("  {}\n", ladder_text(*ladder));
  if (!report.plan.empty()) fmt::print("  by {}: {}\n", report.plan_source, report.plan);
  if (command.settings.weights == "seed")
    fmt::print("  its large weights are made up: it takes the model's time, and its answers are wrong\n");
  command.verbose ? print_tasks(report) : print_notes(report);
  for (const Precision half : {Precision::f16, Precision::bf16}) {
    const auto untuned = std::ranges::count_if(report.tasks, [&](const TaskReport& task) {
      return task.precision == half && task.source == TaskReport::Source::default_schedule;
    });
    if (untuned > 0 && target.is_cpu())
      fmt::print("  no record base has tasks of {}: {} begin{} with default schedules\n", name_of(half),
                 counted(untuned, "task"), for_count(untuned, "s", ""));
  }
  if (command.settings.weights_only) {
    fmt::print("{:.2f} MB of weights for {} in {:.2f} s; its code is as it was\n",
               static_cast<double>(report.file_bytes) / 1e6, command.settings.like, report.total_seconds);
    fmt::print("next: whet bench {} --weights-file {}\n", command.settings.like, command.settings.output);
    return;
  }
  fmt::print(
      "{:.2f} MB; weights {:.2f} MB, activations {}; compiled in {:.2f} s (choosing {:.2f}, kernels "
      "{:.2f}, packing {:.2f}, linking {:.2f})\n",
      static_cast<double>(report.file_bytes) / 1e6, static_cast<double>(report.weights_bytes) / 1e6,
      activations_text(report), report.total_seconds, report.schedule_seconds, report.kernel_seconds,
      report.packing_seconds, report.link_seconds);
  if (report.predicted_seconds > 0)
    fmt::print("predicted latency {:.3f} ms{}\n", report.predicted_seconds * 1e3,
               report.sizes.empty() ? "" : " at the usual sizes");
  const bool can_be_measured = target.is_cpu() && can_run(target).ok() && !timed_round && report.sizes.empty();
  if (!report.base.empty() && can_be_measured && std::ranges::none_of(report.tasks, is_measured))
    fmt::print(
        "not measured; whet compile {0} --quick times two candidates a task (about 2 s); whet tune {0} --seconds 10 "
        "searches\n",
        command.settings.model.text() + command.settings.records.rounding.text());
  if (!symbol.empty())
    fmt::print("next: link it with a program that calls {} (whet/model.h)\n", symbol);
  else if (is_foreign(target))
    fmt::print("next: run it on a machine with such a processor (whet/model.h)\n");
  else
    fmt::print("next: whet bench {}{}\n", command.settings.output,
               command.settings.weights_file.empty() ? "" : " --weights-file " + command.settings.weights_file);
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

void show_reading(std::int64_t read, std::int64_t all) {
  command_terminal(stderr, "\r\x1b[K");
  if (read < all) fmt::print(stderr, "{} of {} sizes read", read, all);
}

void show_rungs(const LadderProgress& progress) {
  command_terminal(stderr, "\r\x1b[K");
  fmt::print(stderr, "{} of {} for ranges timed", progress.done, counted(progress.tasks, "task"));
}

/// Compiles, and says what became of it. `events` may be null.
Result<int> compile(const CompileCommand& command, Zygote* zygote, EventStream* events) {
  const bool shows = !command.quiet && !command.json && isatty(STDERR_FILENO);
  std::map<int, Json> known;
  CompileWatch watch;
  watch.kernel = [&](int done, int all) {
    if (shows) show_kernels(done, all);
    if (events) events->write("compiling", Json::object().set("done", done).set("all", all));
  };
  watch.reading = [&](std::int64_t read, std::int64_t all) {
    if (shows) show_reading(read, all);
    if (events) events->write("reading", Json::object().set("read", read).set("all", all));
  };
  watch.timed.round = [&](const TuneProgress& progress) {
    if (shows) show_candidates(progress.trials);
    if (events) events->write("round", round_event(progress, known));
  };
  watch.timed.ladder = [&](const LadderProgress& progress) {
    if (shows) show_rungs(progress);
    if (events) events->write("ladder", to_json(progress).set("task", progress.task));
  };
  WHET_TRY(const CompiledModel compiled, compile_as_asked(command.settings, zygote, watch));
  const Json json = compile_json(command.settings.output, compiled);
  if (events) events->write("finished", json);
  if (command.json)
    fmt::print("{}\n", dump(json, 2));
  else if (!command.quiet)
    print_text(command, compiled);
  if (events && !events->status().ok()) return events->status().error();
  return kDone;
}

Result<int> run(CompileCommand& command) {
  std::optional<Zygote> zygote;
  if (command.settings.quick > 0) {
    // Before anything starts a thread or touches LLVM, and opens what builders and runners must not have: they are forked from here.
    WHET_TRY(Zygote started, Zygote::start());
    zygote.emplace(std::move(started));
    const std::string& records = command.settings.records.file;
    end_at_interrupts("Interrupted; nothing was compiled" + (records.empty() ? "" : "; records kept in " + records));
  } else {
    WHET_RETURN_IF_ERROR(refuse_given(command.given, {"--device", "--fleet"}, "compile", "is for --quick"));
  }
  Zygote* const starts = zygote ? &*zygote : nullptr;
  if (command.events.empty()) return compile(command, starts, nullptr);
  WHET_TRY(EventStream events, EventStream::open(command.events));
  return compile(command, starts, &events);
}

}  // namespace

CommandAction make_compile(Arguments& arguments) {
  auto command = std::make_shared<CompileCommand>();
  add_options(arguments, command->settings.model);
  arguments.add("--input", command->settings.model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_sizes(arguments, command->settings.model);
  add_tuning_sizes(arguments, command->settings.records.tuning_sizes);
  add_hot_sizes(arguments, command->settings.records.tuning_sizes);
  add_options(arguments, command->settings.where.place);
  add_options(arguments, command->settings.records);
  arguments.flag(
      "--quick", command->settings.quick, 2, 0.01, 86400, "SECONDS",
      "First time the default schedule of each task and what the record base knows beside it, here or on --device, for "
      "2 seconds or as many as are given, the heaviest tasks first; --records keeps the figures");
  {
    const auto group = arguments.group("Where it runs");
    arguments.add("--device", command->settings.where.devices,
                  "With --quick: device to time on (may be repeated), as whet tune takes it: ssh://user@host:port, "
                  "exec:COMMAND or fleet:KEY (default: this machine)");
    add_options(arguments, command->settings.where.fleet);
  }
  arguments.add("-o,--output", command->settings.output,
                "The library to write, or libNAME.a, a static archive (default: the model's name with .so, here)");
  arguments.writes(
      "--output", command->settings.output,
      [&only = command->settings.weights_only] { return only ? FileKind::weights : FileKind::model; },
      [&model = command->settings.model, &only = command->settings.weights_only] {
        return model.name() + (only ? ".weights" : ".so");
      });
  arguments.add("--weights-file", command->settings.weights_file,
                "Write the weights to this file, which the library is opened with; they may change without another "
                "library");
  arguments.writes("--weights-file", command->settings.weights_file, FileKind::weights);
  arguments.flag("--weights-only", command->settings.weights_only,
                 "Write nothing but the weights, to --output, for the library that --like names, whose kernels stay");
  arguments.add("--like", command->settings.like,
                "With --weights-only: a library that was compiled with --weights-file");
  arguments.reads(command->settings.like);
  arguments.add("--samples", command->settings.samples,
                "With --weights-only: your data, as whet check takes it, by which the answers are judged before the "
                "weights are written; --precision asks for it");
  arguments.reads(command->settings.samples);
  arguments.add("--max-error", command->settings.max_error,
                "With --samples: what the answers to each may err by, as whet check takes it; may be repeated");
  arguments.add("--name", command->settings.name,
                "Of an archive: its name in C, which exports whet_NAME_v1 (default: that of libNAME.a)");
  arguments.add("--header", command->settings.header, "Of an archive: also write a C header to this file");
  arguments.writes("--header", command->settings.header, FileKind::header);
  arguments.choice("--weights", command->settings.weights, {"model", "seed"},
                   "seed: large weights are made up, for a library that is only timed; a device elsewhere makes them "
                   "itself, so that they do not travel");
  arguments.add(
      "--dump-code", command->settings.listing,
      "For a CPU: also write the instructions of all kernels to this file, to FILE.ll the LLVM IR that they are "
      "made of");
  arguments.writes("--dump-code", command->settings.listing, FileKind::code);
  arguments.add("--ptx", command->settings.ptx, "For a GPU: also write the PTX of all kernels to this file");
  arguments.writes("--ptx", command->settings.ptx, FileKind::ptx);
  arguments.flag("--cubin", command->settings.cubin,
                 "For a GPU: also put machine code into the library (needs ptxas), which opens faster on a GPU of the "
                 "target's architecture");
  arguments.flag("--allow-emulated", command->settings.where.allow_emulated,
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
