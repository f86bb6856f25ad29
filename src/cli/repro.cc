// whet repro: whether the records of a file are true on this machine.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/version.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/repro_base.h"
#include "cli/table.h"
#include "json/document.h"
#include "json/json.h"
#include "records/base_line.h"
#include "records/record_file.h"
#include "workflow/base.h"
#include "workflow/events.h"
#include "workflow/repro.h"

namespace whet {
namespace {

struct ReproCommand {
  ReproSettings settings;
  double within = 5;           ///< [%]
  std::string origin, output;  ///< of a record base
  std::string events;
  bool json = false, verbose = false;
  std::function<bool(const std::string&)> given;

  const TuneSettings& measuring() const { return settings.measuring; }
  double limit() const { return within / 100; }
};

Json ms(double seconds) { return seconds > 0 ? Json(seconds * 1e3) : Json(); }
Json known(double value) { return value > 0 ? Json(value) : Json(); }
Json known(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const RemeasuredTask& task, const TaskReproduction& found, double within) {
  Json schedules = Json::array();
  for (const Remeasured& each : task.schedules)
    schedules.add(
        Json::object().set("then_ms", ms(each.then)).set("now_ms", ms(each.now)).set("failure", each.failure));
  return Json::object()
      .set("id", task.id)
      .set("name", task.name)
      .set("weight", task.weight)
      .set("default_ms", ms(task.usual))
      .set("drift", known(found.drift))
      .set("worst_drift", known(found.worst_drift))
      .set("correlation", known(found.correlation))
      .set("other_best", found.has_other_best(within))
      .set("estimated", task.estimated)
      .set("schedules", std::move(schedules));
}

Json to_json(const ReproCommand& command, const Repro& repro, const Reproduction& found) {
  Json tasks = Json::array();
  for (std::size_t i = 0; i < repro.tasks.size(); ++i)
    tasks.add(to_json(repro.tasks[i], found.tasks[i], command.limit()));
  return Json::object()
      .set("records", command.measuring().records)
      .set("verdict", name_of(verdict_of(found, command.limit())))
      .set("sentence", verdict_text(found, command.limit()))
      .set("within", command.limit())
      .set("drift", known(found.drift))
      .set("worst_drift", known(found.worst_drift))
      .set("correlation", known(found.correlation))
      .set("schedules", found.schedules)
      .set("failed", found.failed)
      .set("other_best", found.other_best)
      .set("then_ms", ms(found.sums.then))
      .set("now_ms", ms(found.sums.chosen))
      .set("fastest_ms", ms(found.sums.fastest))
      .set("default_ms", ms(found.sums.usual))
      .set("ranges", Json::object()
                         .set("then_ms", ms(found.ranges.then))
                         .set("now_ms", ms(found.ranges.chosen))
                         .set("fastest_ms", ms(found.ranges.fastest))
                         .set("left_out", Json::array_of(repro.left_out_ranges))
                         .set("left_out_share", repro.left_out_ranges_share))
      .set("without_records", repro.without_records)
      .set("left_out", Json::array_of(repro.left_out))
      .set("left_out_share", repro.left_out_share)
      .set("interrupted", repro.interrupted)
      .set("seconds", repro.seconds)
      .set("tasks", std::move(tasks));
}

std::string drift_text(double ratio) { return ratio > 0 ? fmt::format("{:.3f}", ratio) : "–"; }
std::string rank_text(const std::optional<double>& correlation) {
  return correlation ? fmt::format("{:.2f}", *correlation) : "–";
}

/// What is the best now: "the same", "no. 2 (8% faster)", "the default (12% faster)", "it fails".
std::string best_text(const TaskReproduction& task, double within) {
  if (!task.has_other_best(within)) return "the same";
  if (task.first_failed) return "it fails";
  const std::string who = task.fastest_place < 0 ? "the default" : fmt::format("no. {}", task.fastest_place + 1);
  return fmt::format("{} ({:.0f}% faster)", who, 100 * (task.chosen / task.fastest - 1));
}

void print_tasks(const ReproCommand& command, const Repro& repro, const Reproduction& found) {
  constexpr std::size_t kShown = 16;
  std::vector<std::size_t> order(repro.tasks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto cost = [&](std::size_t i) { return repro.tasks[i].weight * found.tasks[i].chosen; };
  std::ranges::stable_sort(order, std::ranges::greater(), cost);
  const std::size_t shown = command.verbose ? order.size() : std::min(order.size(), kShown);
  Table table({{"ID"},
               {"Task", false},
               {"Weight", true, 2},
               {"Then (ms)"},
               {"Now (ms)"},
               {"Drift"},
               {"Farthest", true, 1},
               {"Order", true, 1},
               {"Default (ms)"},
               {"Best now", false}});
  for (const std::size_t i : std::span(order).first(shown)) {
    const RemeasuredTask& task = repro.tasks[i];
    const TaskReproduction& each = found.tasks[i];
    table.add({std::to_string(task.id), task.name, fmt::format("{:.0f}", task.weight),
               milliseconds_if_any(task.schedules.front().then), milliseconds_if_any(task.schedules.front().now),
               drift_text(each.drift), drift_text(each.worst_drift), rank_text(each.correlation),
               milliseconds_if_any(task.usual), best_text(each, command.limit())});
  }
  print(table);
  if (shown < order.size())
    fmt::print("({}; --verbose shows all)\n", counted(std::ssize(order) - std::int64_t(shown), "lighter task"));
}

/// A line for each kind of failure, and for each kind of difference between then and now.
void print_reasons(const Repro& repro) {
  std::map<std::string, std::int64_t> failures, differences;
  for (const RemeasuredTask& task : repro.tasks) {
    if (!task.estimated.empty()) ++differences[task.estimated];
    for (const Remeasured& each : task.schedules)
      if (!each.failure.empty()) ++failures[each.failure];
  }
  for (const auto& [why, count] : failures) fmt::print("  {}: {}\n", counted(count, "schedule"), why);
  for (const auto& [why, count] : differences) fmt::print("  {}: {}\n", counted(count, "task"), why);
}

///   of  of which the time is: "" or " of kernels for ranges"
void print_left_out(const std::vector<std::string>& tasks, double share, const char* of) {
  if (tasks.empty()) return;
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, tasks.size()); ++i) names += (i == 0 ? "" : ", ") + tasks[i];
  if (tasks.size() > kNamed) names += ", ...";
  fmt::print("{} with {:.1f}% of the recorded time{} {} left out: {}\n", counted(std::ssize(tasks), "task"),
             100 * share, of, for_count(std::ssize(tasks), "was", "were"), names);
}

void print_findings(const ReproCommand& command, const Repro& repro, const Reproduction& found) {
  print_tasks(command, repro, found);
  if (found.sums.then > 0)
    fmt::print("Sum of weight x best: {} ms then, {} ms now, {} ms by default schedules\n",
               milliseconds_if_any(found.sums.then), milliseconds_if_any(found.sums.chosen),
               milliseconds_if_any(found.sums.usual));
  if (found.ranges.then > 0)
    fmt::print("Sum of requests x best of kernels for ranges: {} ms then, {} ms now\n",
               milliseconds_if_any(found.ranges.then), milliseconds_if_any(found.ranges.chosen));
  const std::string farthest = found.worst_drift > 0 ? fmt::format(" (task {})", repro.tasks[found.worst_task].id) : "";
  fmt::print("Drift (now / then): median {}, farthest {}{}; order of times (Spearman): {}\n", drift_text(found.drift),
             drift_text(found.worst_drift), farthest, rank_text(found.correlation));
  fmt::print("{} of {} {} another best now; {} of {} {}\n", found.other_best, counted(std::ssize(repro.tasks), "task"),
             for_count(found.other_best, "has", "have"), found.failed, counted(found.schedules, "schedule"),
             for_count(found.failed, "fails", "fail"));
  print_reasons(repro);
}

void print_text(const ReproCommand& command, const Repro& repro, const Reproduction& found) {
  if (!repro.tasks.empty()) print_findings(command, repro, found);
  if (repro.without_records > 0)
    fmt::print("{} of the network {} no records\n", counted(repro.without_records, "task"),
               for_count(repro.without_records, "has", "have"));
  print_left_out(repro.left_out, repro.left_out_share, "");
  print_left_out(repro.left_out_ranges, repro.left_out_ranges_share, " of kernels for ranges");
  if (repro.interrupted) fmt::print("Interrupted; this is what was measured\n");
  fmt::print("{}\n", verdict_text(found, command.limit()));
}

/// Says what happens.
class ReproTalk : public ReproListener {
 public:
  ReproTalk(const ReproCommand& command, EventStream* events) : command_(command), events_(events) {}

  void started(const Prepared& prepared, std::size_t tasks) override {
    if (!command_.json)
      fmt::print("whet {} · {} · {} of {} · {}\n", version(), command_.measuring().model.name(),
                 counted(std::int64_t(tasks), "task"), command_.measuring().records, place_text(prepared));
    if (events_)
      events_->write("started", Json::object()
                                    .set("whet", version())
                                    .set("model", command_.measuring().model.text())
                                    .set("records", command_.measuring().records)
                                    .set("target", to_string(prepared.place.target))
                                    .set("where", place_text(prepared))
                                    .set("emulated", prepared.emulated)
                                    .set("tasks", static_cast<std::int64_t>(tasks)));
    if (prepared.emulated && !command_.json) fmt::print("Emulated: the times are estimates\n");
  }
  void reading(std::int64_t read, std::int64_t all) override {
    if (!command_.json) show_progress(static_cast<std::size_t>(read), static_cast<std::size_t>(all), "sizes read");
    if (events_) events_->write("reading", Json::object().set("read", read).set("all", all));
  }
  void task(const RemeasuredTask& task, std::size_t done, std::size_t tasks) override {
    if (!command_.json) show_progress(done, tasks, "tasks");
    if (events_)
      events_->write("remeasured", Json::object()
                                       .set("done", static_cast<std::int64_t>(done))
                                       .set("all", static_cast<std::int64_t>(tasks))
                                       .set("task", to_json(task, reproduction_of(task), command_.limit())));
  }

 private:
  const ReproCommand& command_;
  EventStream* events_;
};

int exit_code(const Repro& repro, ReproVerdict verdict) {
  if (repro.interrupted) return kInterrupted;
  return verdict == ReproVerdict::reproduced || verdict == ReproVerdict::choices_hold ? kDone : kFailed;
}

/// A record file may have lines of bases, too.
bool is_base(const std::string& path) {
  const Result<RecordsRead> read = read_records(path);
  if (!read.ok() || read->records.size() > 0) return false;
  const auto is_line_of_base = [](const std::string& line) {
    JsonDocument json;
    return json.parse(line).ok() && is_of_base(json.root());
  };
  return !read->base_lines.empty() || std::ranges::any_of(read->newer_lines, is_line_of_base);
}

/// The base that the file is; nothing where it is a record file.
Result<std::optional<RecordBase>> base_in(const ReproCommand& command) {
  const std::string& path = command.measuring().records;
  const bool wants_base = !command.origin.empty() || !command.output.empty();
  if (!wants_base && !is_base(path)) return std::optional<RecordBase>();
  WHET_TRY(RecordBase base, read_base(path));
  for (const std::string& note : base.notes()) tell(command.measuring().where.tell, note);
  return std::optional(std::move(base));
}

Result<int> remeasure(ReproCommand& command, Zygote& zygote, EventStream* events) {
  WHET_TRY(const std::optional<RecordBase> base, base_in(command));
  if (base)
    WHET_RETURN_IF_ERROR(
        refuse_given(command.given, {"--best"}, "repro", "is for record files; of a base, all entries are tested"));
  if (base)
    WHET_RETURN_IF_ERROR(refuse_given(command.given, {"--sizes"}, "repro",
                                      "is for record files; a base is tested on a model of one size"));
  WHET_TRY(Workplace place, make_workplace(command.measuring(), zygote));
  await_interrupts("Interrupted");
  if (base) {
    const BaseQuestion question{command.origin, command.output, command.limit(), command.json, command.verbose};
    return remeasure_base(command.settings, question, *base, place, zygote, events);
  }
  ReproTalk talk(command, events);
  WHET_TRY(const Repro repro, repro_records(command.settings, place, zygote, talk));
  const Reproduction found = reproduction_of(repro.tasks, command.limit());
  const Json json = to_json(command, repro, found);
  if (events) events->write("finished", json);
  if (command.json)
    fmt::print("{}\n", dump(json, 2));
  else
    print_text(command, repro, found);
  if (events && !events->status().ok()) return events->status().error();
  return exit_code(repro, verdict_of(found, command.limit()));
}

Result<int> run(ReproCommand& command) {
  TuneSettings& measuring = command.settings.measuring;
  if (measuring.model.model.empty()) return wrong_use({"repro: no model is given; give --model MODEL"});
  if (measuring.model.sizes.empty())
    WHET_RETURN_IF_ERROR(
        refuse_given(command.given, {"--tuning-sizes", "--lengths"}, "repro", "counts only for a model with --sizes"));
  measuring.where.interrupted = is_interrupted;
  WHET_TRY(Zygote zygote, Zygote::start());
  end_at_interrupts("Interrupted before anything was measured");
  if (command.events.empty()) return remeasure(command, zygote, nullptr);
  WHET_TRY(EventStream events, EventStream::open(command.events));
  measuring.where.tell = [&events](const std::string& note) {
    tell_user(note);
    events.write("note", Json::object().set("text", note));
  };
  return remeasure(command, zygote, &events);
}

}  // namespace

CommandAction make_repro(Arguments& arguments) {
  auto command = std::make_shared<ReproCommand>();
  TuneSettings& measuring = command->settings.measuring;
  arguments.require("FILE", measuring.records, "The record file, or a record base");
  arguments.reads(measuring.records);
  arguments.add("--model", measuring.model.model, "The model whose tasks they are of: a model file, or zoo:NAME");
  arguments.offers("--model", built_in_networks());
  arguments.reads(measuring.model.model);
  arguments.add("--best", command->settings.best, 1, 1000, "Schedules of each task, the fastest as recorded");
  arguments.add("--within", command->within, 0, 1000,
                "What counts as reproduced: times and choices that are off by this at most [%]");
  arguments.add("--seconds", command->settings.seconds, 0.001, 1e6,
                "No task but the first begins after this time; the heaviest go first [s] (default: no limit)", 0);
  {
    const auto group = arguments.group("Record bases");
    arguments.add("--origin", command->origin,
                  "The network whose entries are tested, as the base calls it (default: the model's name)");
    arguments.add("-o,--output", command->output, "The base to write, without the entries that go out");
    arguments.writes("--output", command->output, FileKind::records);
  }
  add_shapes(arguments, measuring.model);
  add_sizes(arguments, measuring.model);
  add_tuning_sizes(arguments, measuring.tuning_sizes);
  arguments.add("--input", measuring.model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_options(arguments, measuring.where);
  add_options(arguments, measuring.rounding, "records");
  arguments.flag("--no-pin", measuring.no_pin, "Do not pin threads to cores");
  arguments.add("--events", command->events,
                "Also write what happens, a JSON object a line, to this open file descriptor or file "
                "(docs/formats/events.md)");
  arguments.writes("--events", command->events, FileKind::events);
  arguments.flag("--json", command->json, "Print JSON at the end, and nothing else");
  arguments.flag("-v,--verbose", command->verbose, "Print every task");
  command->given = arguments.given();
  return [command] { return run(*command); };
}

}  // namespace whet
