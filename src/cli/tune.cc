// whet tune: searches on this machine and appends what it measures to a record file.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/parallel.h"
#include "base/version.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/layouts.h"
#include "cli/output.h"
#include "cli/records_text.h"
#include "cli/screen.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/thread_counts.h"
#include "cli/units.h"
#include "json/json.h"
#include "machine/stolen.h"
#include "search/budget.h"
#include "search/strategy.h"
#include "workflow/events.h"
#include "workflow/lowering.h"
#include "workflow/outputs.h"
#include "workflow/remote.h"
#include "workflow/reporting.h"
#include "workflow/tune_json.h"
#include "workflow/tuning.h"

namespace whet {
namespace {

struct TuneCommand {
  TuneSettings settings;
  std::vector<std::string> models;  ///< as they were written
  std::string objective = "sum";
  LayoutOptions layouts;
  std::string threads, events;
  std::string report;               ///< a page to write; "": none
  double seconds = 0, minutes = 0;  ///< of the whole command; 0: no limit
  bool asks_for_layouts = false;
  bool json = false, quiet = false;

  bool talks() const { return !json && !quiet; }
  /// The record file where none is named; "" where several models share one.
  std::string usual_records() const {
    return models.size() == 1 ? ModelOptions{.model = models.front()}.name() + ".jsonl" : "";
  }
};

void print_header(const TuneSettings& settings, const Prepared& prepared, const RecordFile& file) {
  fmt::print("whet {} · {} · {} · {} · records {} ({} there)\n", version(), prepared.name,
             counted(std::ssize(prepared.chosen), "task"), place_text(prepared), settings.records,
             file.records().size());
  if (!prepared.place.note.empty()) fmt::print("{}\n", prepared.place.note);
  for (const std::string& line : samples_text(prepared)) fmt::print("{}\n", line);
  if (prepared.at.empty()) return;
  std::vector<TuningSize> sizes;
  for (const PreparedSize& each : prepared.at) sizes.push_back(each.size);
  fmt::print("Weights and sums are of {}\n", requests_text(prepared.sizes, sizes));
}

/// The sizes that were tuned, a row each.
void print_sizes(const Tuned& tuned) {
  std::vector<Table::Column> columns;
  for (const std::string& name : tuned.size_names) columns.push_back({name});
  for (const char* title : {"Requests", "Tasks", "Default (ms)", "Tuned (ms)", "Gain"}) columns.push_back({title});
  Table table(columns);
  for (const TunedSize& each : tuned.sizes) {
    std::vector<std::string> row;
    for (const std::int64_t value : each.size.at) row.push_back(std::to_string(value));
    const ComparedSums& sums = each.sums;
    row.push_back(std::to_string(each.size.requests));
    row.push_back(std::to_string(sums.tasks));
    row.push_back(milliseconds_if_any(sums.default_seconds));
    row.push_back(milliseconds_if_any(sums.best_seconds));
    row.push_back(sums.best_seconds > 0 ? fmt::format("{:.2f}", sums.default_seconds / sums.best_seconds) : "–");
    table.add(std::move(row));
  }
  fmt::print("\nOne inference of each size, by the sums of its tasks:\n");
  print(table);
}

/// The whole network at sizes of its ranges, a row each.
void print_at_sizes(const Tuned& tuned) {
  std::vector<Table::Column> columns;
  for (const std::string& name : tuned.size_names) columns.push_back({name});
  for (const char* title : {"Share of time", "Untuned (ms)", "Tuned (ms)", "Gain", "For it alone (ms)"})
    columns.push_back({title});
  columns.push_back({"Kernels", false});
  Table table(columns);
  for (const TimedAtSizes& each : tuned.at_sizes->points) {
    std::vector<std::string> row;
    for (const std::int64_t value : each.at) row.push_back(std::to_string(value));
    row.push_back(each.share > 0 ? fmt::format("{:.0f}%", 100 * each.share) : "–");
    row.push_back(milliseconds_if_any(each.untuned));
    row.push_back(milliseconds_if_any(each.ranged));
    row.push_back(each.untuned > 0 && each.ranged > 0 ? fmt::format("{:.2f}", each.untuned / each.ranged) : "–");
    row.push_back(milliseconds_if_any(each.exact));
    row.push_back(each.hot ? "of its own" : each.keeps_untuned ? "untuned" : "");
    table.add(std::move(row));
  }
  fmt::print("\nOne inference of the whole network, libraries for ranges alternately:\n");
  print(table);
  fmt::print("{}", alone_text(tuned.at_sizes->points));
  if (tuned.requests)
    fmt::print("By these times a request takes {:.4f} ms in the mean, untuned {:.4f}\n", tuned.requests->tuned * 1e3,
               tuned.requests->untuned * 1e3);
}

/// What `whet compile` must be told again, where it would not know it.
std::string next_options(const TuneSettings& settings, const Prepared& prepared, const Tuned& tuned) {
  std::string options;
  if (tuned.precision && tuned.precision->adopted) options += " --precision " + settings.rounding.precision;
  if (is_remote(prepared))
    options += " --target \"" + to_string(prepared.place.target) + "\"";
  else if (!settings.where.place.target.empty())
    options += " --target \"" + settings.where.place.target + "\"";
  if (!settings.rounding.is_of_plans()) options += settings.rounding.text();
  if (!settings.tuning_sizes.lengths.empty()) options += " --lengths " + settings.tuning_sizes.lengths;
  if (prepared.emulated) options += " --allow-emulated";
  return options;
}

void print_text(const TuneSettings& settings, const Prepared& prepared, const Tuned& tuned) {
  fmt::print("\n{}{}",
             closing_report(tuned.progress, tuned.rates.gflops, tuned.limits, tuned.builders, output_columns()),
             network_report(tuned.truth));
  for (const NetworkTruth& truth : tuned.truths) fmt::print("{}", network_report(truth));
  if (!tuned.sizes.empty()) print_sizes(tuned);
  if (tuned.ladder) fmt::print("{}\n", ladder_text(*tuned.ladder));
  if (tuned.at_sizes) print_at_sizes(tuned);
  if (tuned.plans) fmt::print("{}", plan_report(*tuned.plans));
  if (tuned.precision) fmt::print("{}", precision_report(*tuned.precision, prepared.accuracy));
  // Of a fleet the devices are no machines: shares_report has the units.
  if (!has_fleet(prepared.devices)) fmt::print("{}", units_report(tuned.units, tuned.progress.seconds));
  if (prepared.emulated) fmt::print("{}\n", is_remote(prepared) ? kEmulatorTimes : kEstimates);
  if (const std::string stolen = stolen_text(tuned.stolen); !stolen.empty())
    fmt::print("While tuning {}: figures are as good as their fastest runs\n", stolen);
  fmt::print("{}records kept in {}; next: whet compile {} --records {}{}\n",
             tuned.progress.interrupted ? "Interrupted; " : "", settings.records, settings.model.text(),
             settings.records, next_options(settings, prepared, tuned));
}

/// Says on standard output what happens.
class TuneTalk : public TuneListener {
 public:
  explicit TuneTalk(const TuneSettings& settings) : settings_(settings) {}

  void started(const Prepared& prepared, const RecordFile& file, const MachineRates& rates) override {
    print_header(settings_, prepared, file);
    screen_.emplace(isatty(STDOUT_FILENO), rates.gflops, settings_.per_task);
  }
  void round(const TuneProgress& progress) override { screen_->show(progress); }
  void compiling(int done, int all) override { screen_->show_compiling(done, all, settings_.time.left(seconds_now())); }
  void reading(std::int64_t read, std::int64_t all) override {
    screen_->show_reading(read, all, settings_.time.left(seconds_now()));
  }
  void ladder(const LadderProgress& progress) override {
    screen_->show_ladder(progress, settings_.time.left(seconds_now()));
  }
  void lowering(const PrecisionProgress& progress) override {
    const std::string text = progress_text(progress);
    const double left = settings_.time.left(seconds_now());
    if (!text.empty()) fmt::print("{}{}\n", text, std::isfinite(left) ? fmt::format("; ETA: {:.0f} s", left) : "");
    std::fflush(stdout);
  }
  void planning(const PlanProgress& progress) override {
    const double left = settings_.time.left(seconds_now());
    fmt::print("layouts: a plan is hoped to take {:.4f} ms of the usual {:.4f}; {} of its tasks {} measured now{}\n",
               progress.hoped_seconds * 1e3, progress.usual_seconds * 1e3, progress.measuring,
               for_count(std::int64_t(progress.measuring), "is", "are"),
               std::isfinite(left) ? fmt::format("; ETA: {:.0f} s", left) : "");
  }

 private:
  const TuneSettings& settings_;
  std::optional<TuneScreen> screen_;
};

/// What runs of several numbers of threads leave behind.
struct Runs {
  std::vector<Prepared> prepared;  ///< one a run
  std::vector<Json> json;          ///< what each has to tell
  std::optional<Error> unwritten;  ///< as Tuned has it: the command fails when all is told
  double table_seconds = 0;        ///< that comparing them takes, as far as it is known
};

/// A run for the number of threads that the command has now.
Result<int> run_once(const TuneCommand& command, std::size_t counts, Zygote& zygote, TuneListener& listener,
                     Runs& runs) {
  const TuneSettings& settings = command.settings;
  WHET_TRY(Workplace place, make_workplace(settings, zygote));
  const Prepared& prepared = place.prepared;
  const bool chooses = !settings.no_network && prepared.at.empty() && prepared.chosen.size() == prepared.tasks.size() &&
                       prepared.place.target.is_cpu() && !prepared.emulated;
  if (command.asks_for_layouts && !chooses)
    tell(settings.where.tell,
         "--layouts and --covers choose nothing here: that is for processors, all tasks and a network that is timed");
  await_interrupts("Interrupted; records kept in " + settings.records);
  WHET_TRY(RecordFile file, open_records(settings, place.prepared, place.devices));
  WHET_TRY(Tuned tuned, tune_model(settings, place.prepared, zygote, place.devices, file, listener));
  runs.json.push_back(to_json(tuned, settings.records));
  if (command.talks()) print_text(settings, place.prepared, tuned);
  if (command.talks() && place.tally) fmt::print("{}", shares_report(place.tally->shares()));
  runs.unwritten = tuned.unwritten;
  runs.table_seconds = thread_table_seconds(counts, tuned);
  runs.prepared.push_back(std::move(place.prepared));
  return tuned.progress.interrupted ? kInterrupted : kDone;
}

/// What the best of the runs for each number of threads takes on the others.
Result<int> compare_runs(const TuneCommand& command, const std::vector<int>& counts, Zygote& zygote,
                         EventStream* events, const Runs& runs, Json& json) {
  const TuneSettings& settings = command.settings;
  if (const double left = settings.time.left(seconds_now()); left < runs.table_seconds) {
    tell(settings.where.tell, settings.time.too_short(left, "the table of threads, whose measurement takes",
                                                      runs.table_seconds, "it is not made"));
    return kDone;
  }
  WHET_TRY(const ThreadTable table, compare_threads(command.settings, counts, runs.prepared, zygote));
  json.set("threads", to_json(table));
  if (events) events->write("threads", Json::object().set("threads", to_json(table)));
  if (command.talks()) fmt::print("\n{}", thread_table_text(table));
  return is_interrupted() ? kInterrupted : kDone;
}

/// Tunes for each number of threads, and compares them where there are several.
Result<int> run_for(TuneCommand& command, const std::vector<int>& counts, Zygote& zygote, EventStream* events) {
  TuneListeners listeners;
  TuneTalk talk(command.settings);
  if (command.talks()) listeners.all.push_back(&talk);
  std::optional<TuneEvents> writer;
  if (events) listeners.all.push_back(&writer.emplace(*events, command.settings));
  RunReport report(command.settings, command.report);
  if (!command.report.empty()) listeners.all.push_back(&report);
  Runs runs;
  int status = kDone;
  const TimeBudget whole = command.settings.time;
  for (std::size_t i = 0; i < counts.size() && status == kDone; ++i) {
    command.settings.where.place.threads = counts[i];
    if (counts.size() > 1)
      command.settings.time = whole.next_run(seconds_now(), static_cast<int>(counts.size() - i), runs.table_seconds);
    WHET_TRY(status, run_once(command, counts.size(), zygote, listeners, runs));
  }
  if (counts.size() == 1) {
    if (command.json && !runs.json.empty()) fmt::print("{}\n", dump(runs.json[0], 2));
    if (runs.unwritten) return *runs.unwritten;
    return status;
  }
  Json json = Json::object().set("runs", Json::array_of(runs.json));
  if (status == kDone) {
    WHET_TRY(status, compare_runs(command, counts, zygote, events, runs, json));
  }
  if (command.json) fmt::print("{}\n", dump(json, 2));
  return status;
}

/// The time of the whole command.
TimeBudget time_budget(const TuneCommand& command, double begun) {
  if (command.seconds > 0) return {command.seconds, begun, fmt::format("--seconds {}", command.seconds)};
  if (command.minutes > 0) return {60 * command.minutes, begun, fmt::format("--minutes {}", command.minutes)};
  return {};
}

/// One model, or several that are tuned together.
Status read_models(TuneCommand& command, const std::function<bool(const std::string&)>& given) {
  TuneSettings& settings = command.settings;
  settings.model.model = command.models.front();
  if (command.models.size() == 1)
    return refuse_given(given, {"--objective"}, "tune", "chooses between networks; give several models");
  std::vector<std::string> of_one = {"--input",   "--sizes",     "--tuning-sizes",   "--lengths", "--hot-sizes",
                                     "--tasks",   "--templates", "--layouts",        "--covers",  "--report",
                                     "--samples", "--max-error", "--write-quantized"};
  for (const std::string& option : shape_options())
    if (option != "--seed") of_one.push_back(option);
  WHET_RETURN_IF_ERROR(refuse_given(given, of_one, "tune", "is of one MODEL, and several are given"));
  if (settings.records.empty())
    return Error{"tune: several models share a record file; name it with -o", ErrorKind::wrong_use};
  if (command.threads.find(',') != std::string::npos)
    return Error{"tune: --threads is a list, and several models are given; tune them for one number at a time",
                 ErrorKind::wrong_use};
  std::vector<std::string> files;
  for (const std::string& text : command.models) {
    ModelRuns asked = parse_runs(text);
    asked.model.seed = settings.model.seed;
    files.push_back(asked.model.model);
    settings.together.push_back(std::move(asked));
  }
  settings.model.model = files.front();
  settings.objective = *parse_objective(command.objective);
  const bool repeats = std::ranges::any_of(settings.together, [](const ModelRuns& asked) { return asked.runs > 1; });
  if (repeats && settings.objective == Objective::worst)
    return Error{"tune: --objective worst looks at each network's gain; leave out how often one runs",
                 ErrorKind::wrong_use};
  return check_outputs({{"--output", settings.records, FileKind::records}}, files);
}

Result<int> run(TuneCommand& command, const std::function<bool(const std::string&)>& given) {
  const double begun = seconds_now();
  TuneSettings& settings = command.settings;
  WHET_RETURN_IF_ERROR(read_models(command, given));
  WHET_RETURN_IF_ERROR(check_repeat(settings, "tune"));
  WHET_RETURN_IF_ERROR(check_lowering(settings));
  if (settings.per_task)
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--scheduler"}, "tune", "counts only without --per-task"));
  command.asks_for_layouts = (given("--layouts") && command.layouts.layouts != "nhwc") ||
                             (given("--covers") && command.layouts.covers != "off");
  if (given("--seconds"))
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--minutes"}, "tune", "is said by --seconds too; give one of the two"));
  if (settings.model.sizes.empty())
    WHET_RETURN_IF_ERROR(refuse_given(given, {"--tuning-sizes", "--lengths", "--hot-sizes"}, "tune",
                                      "counts only for a model with --sizes"));
  settings.time = time_budget(command, begun);
  settings.has_page = !command.report.empty();
  settings.where.interrupted = is_interrupted;
  if (settings.together.empty())
    settings.alternatives = [&command](const Target& target) { return command.layouts.alternatives(target); };
  std::vector<int> counts = {0};
  if (!command.threads.empty()) {
    const Result<std::vector<int>> wished = parse_thread_counts(command.threads);
    if (!wished.ok()) return wrong_use(wished.error());
    counts = *wished;
  }
  if (counts.size() > 1 && !settings.write_quantized.empty())
    return Error{"tune: --threads is a list, and --write-quantized is of one plan; give one number of threads",
                 ErrorKind::wrong_use};
  // Before anything starts a thread or touches LLVM: builders and runners are forked from here.
  WHET_TRY(Zygote zygote, Zygote::start());
  end_at_interrupts("Interrupted before anything was measured");
  if (command.events.empty()) return run_for(command, counts, zygote, nullptr);
  WHET_TRY(EventStream events, EventStream::open(command.events));
  settings.where.tell = [&events](const std::string& note) {
    tell_user(note);
    events.write("note", Json::object().set("text", note));
  };
  WHET_TRY(const int status, run_for(command, counts, zygote, &events));
  if (const Status& written = events.status(); !written.ok()) return Error(written.error());
  return status;
}

}  // namespace

CommandAction make_tune(Arguments& arguments) {
  auto command = std::make_shared<TuneCommand>();
  TuneSettings& settings = command->settings;
  arguments.require(
      "MODEL", command->models,
      "A model file, or zoo:NAME; several are tuned together, and of these FILE:3 runs three times as often");
  arguments.offers("MODEL", built_in_networks());
  arguments.reads(command->models);
  add_shapes(arguments, settings.model);
  arguments.add("--input", settings.model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_sizes(arguments, settings.model);
  add_tuning_sizes(arguments, settings.tuning_sizes);
  add_hot_sizes(arguments, settings.tuning_sizes);
  add_options(arguments, settings.where, &command->threads);
  arguments.add("-o,--output", settings.records,
                "Record file to append to and to resume from (default: the model's name with .jsonl, here)");
  arguments.writes("--output", settings.records, FileKind::records,
                   [&tune = *command] { return tune.usual_records(); });
  {
    const auto group = arguments.group("How long");
    arguments.add("--trials", settings.trials, 1, 1000000000,
                  "Candidates to measure, over all tasks (default: 64 a task, unless a time is given)", 0);
    arguments.add("--seconds", command->seconds, 0, 1e8, "Time of the whole command [seconds] (default: no limit)", 0);
    arguments.add("--minutes", command->minutes, 0, 1e6, "The same in minutes", 0);
    arguments.add("--early-stop", settings.early_stop, 0, 1000000000,
                  "End a task after this number of trials without a better candidate (0: never)");
    arguments.add(
        "--until-ms", settings.until_ms,
        "End when the tasks take this together [ms]; of several models NAME=MS, which ends the tasks that only "
        "this one has; may be repeated");
    arguments.add("--least-gain", settings.least_gain, 0, 100,
                  "A task rests when as many trials again promise less than this share of the network's latency [%]");
  }
  auto group = arguments.group("How it searches");
  arguments.add("--round", settings.round, 1, 100000, "Trials of one task before the next task is chosen");
  std::string strategies;
  for (const std::string& name : known_strategies())
    strategies += (strategies.empty() ? ": " : "; ") + name + ", " + what_is_strategy(name);
  arguments.choice("--strategy", settings.strategy, known_strategies(), "How candidates are proposed" + strategies);
  arguments.add(
      "--templates", settings.templates,
      "Also search templates of your own: a file of requests `template` of whet serve (docs/formats/serve.md)");
  arguments.reads(settings.templates);
  arguments.choice(
      "--scheduler", settings.scheduler, {"gradient", "round-robin"},
      "Which task is next: the one that promises to save most latency for a second of tuning, or one after the other");
  arguments.choice(
      "--objective", command->objective, known_objectives(),
      "What is made small of several models: the sum of their latencies, each as often as it runs, their geometric "
      "mean, or the one that gained least");
  arguments.flag("--per-task", settings.per_task,
                 "Tune one task after the other, each with an equal part of the trials");
  arguments.add("--tasks", settings.only,
                "Tune only these tasks, by their numbers in `whet tasks`: 0,2-5 (default: all)");
  arguments.flag("--no-seeds", settings.no_seeds,
                 "Begin neither with the default schedule nor with seeds, to see the worth of the search alone");
  add_options(arguments, settings.base);
  arguments.flag("--no-network", settings.no_network, "Do not compile and time the whole network at the end");
  add_options(arguments, settings.rounding, "schedules");
  {
    const auto precision = arguments.group("Precision");
    arguments.add("--samples", settings.samples,
                  "With --precision auto or int8: your data, a folder with an .npz or .npy file for each sample, or "
                  "one such file with samples along a new first dimension; half of them are held out until the end");
    arguments.reads(settings.samples);
    arguments.add("--max-error", settings.max_error,
                  "With --precision auto: what the answers to each sample may err by: 1% (relative L2 of each output), "
                  "boxes:abs<=2, max<=1e-3, cos>=0.999, psnr>=40, or scores:top1>=99% over all; may be repeated. With "
                  "int8 it may be left out: without it the errors are told, with it they decide");
    arguments.add("--write-quantized", settings.write_quantized,
                  "Also write the plan that was adopted as an ONNX file for other programs: QuantizeLinear and "
                  "DequantizeLinear around what reads bytes; layers of bf16 and i16 are f32 there");
    arguments.writes("--write-quantized", settings.write_quantized, FileKind::onnx);
  }
  command->layouts.add_to(arguments);
  add_measuring(arguments, settings);
  group.reset();
  arguments.add("--report", command->report,
                "A page about the run (HTML), written anew while it goes on: see `whet report`");
  arguments.writes("--report", command->report, FileKind::page);
  arguments.add("--events", command->events,
                "Also write what happens, a JSON object a line, to this open file descriptor or file "
                "(docs/formats/events.md)");
  arguments.writes("--events", command->events, FileKind::events);
  arguments.flag("--json", command->json, "Print JSON at the end, and nothing else");
  arguments.flag("-q,--quiet", command->quiet, "Print nothing");
  return [command, given = arguments.given()] { return run(*command, given); };
}

}  // namespace whet
