#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/counted.h"
#include "base/nearest.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/explain_gpu.h"
#include "cli/explain_passes.h"
#include "cli/explain_transfers.h"
#include "cli/output.h"
#include "cli/table.h"
#include "codegen/build.h"
#include "codegen/machine_loops.h"
#include "lower/lower.h"
#include "records/record_file.h"
#include "records/record_line.h"
#include "schedule/steps.h"
#include "task/task.h"
#include "tuner/footprint.h"
#include "workflow/opened.h"
#include "workflow/own_inputs.h"
#include "workflow/rates.h"
#include "workflow/record_rates.h"
#include "workflow/remote.h"

namespace whet {
namespace {

/// Candidates shown of a task.
constexpr std::size_t kShown = 8;

struct Opened {
  MeasuringPlace where;
  TargetOnCores place;
  FusedGraph fused;
  std::vector<Task> tasks;
  RecordsRead read;
};

Result<Opened> open(const Question& question) {
  Opened opened;
  WHET_TRY(opened.where, choose_asked_place(question.place, question.device, question.fleet, tell_user));
  opened.place = opened.where.target;
  WHET_RETURN_IF_ERROR(question.rounding.check(opened.place.target));
  WHET_TRY(const InputFiles files, read_named_inputs(question.model));
  WHET_TRY(opened.fused, load_fused(question.model, files, question.rounding.passes(opened.place.target)));
  WHET_TRY(opened.tasks, extract_tasks(opened.fused, opened.place.target));
  if (question.records.empty()) return opened;
  WHET_TRY(opened.read, read_records(question.records));
  opened.read.records.count(EmulatedRecords::too);
  opened.read.records.count_inputs(input_hashes(opened.tasks));
  for (const std::string& note : opened.read.notes) tell_user(note);
  for (const std::string& note :
       strangers_of(question.records, opened.read.records, opened.fused, opened.place.target, TargetUse::near))
    tell_user(note);
  return opened;
}

/// True of the limits that are tighter than the one that holds.
bool disproved(const Limit& limit, const std::vector<Limit>& limits, double seconds) {
  const Limit* holding = holding_limit(limits, seconds);
  return holding && &limit < holding;
}

void print_limits(const std::vector<Limit>& limits, double seconds, const RecordRates& known) {
  if (!known.known()) return fmt::print("Limits {}\n", known.text);
  fmt::print("Limits {} (direct algorithm; an algorithm with fewer operations passes the first):\n", known.text);
  for (const Limit& limit : limits) {
    fmt::print("  {:8} {} ms: {}", limit.what, exact_milliseconds(limit.seconds), limit.why);
    if (seconds > 0) fmt::print("; {:.0f}% of it reached", 100 * limit.seconds / seconds);
    if (disproved(limit, limits, seconds)) fmt::print(", so the bytes lie nearer, or the figure is too low");
    fmt::print("\n");
  }
}

/// The sentence that the figures add up to.
std::string verdict(const std::vector<Limit>& limits, double seconds) {
  const Limit* holding = holding_limit(limits, seconds);
  if (!holding) return "";
  const double share = holding->seconds / seconds;
  const std::string& what = holding->what;
  if (share > 1.02 && what == "compute")
    return "It needs fewer operations than the direct algorithm, by whose operations the speed is counted.";
  if (share > 0.8) return fmt::format("It is held by {}: little is left to gain by other schedules.", what);
  if (share > 0.5)
    return fmt::format("{} is the nearest limit, but half as fast again is not excluded: more trials may help.", what);
  return fmt::format(
      "No limit is near ({} is the nearest): starting, waiting and latency take the rest, or no good "
      "schedule was found yet.",
      what);
}

/// What is known of a task.
struct TaskAnswer {
  const Task& task;
  std::vector<const Record*> list;  ///< the schedules that ran, the best first
  RecordRates known;
  std::vector<Limit> limits;
  double seconds = 0;  ///< of the best; 0: none ran
  TransferAnswer transfers;
};

Json to_json(const TaskAnswer& answer, std::size_t id) {
  Json limits = Json::array(), best = Json::array();
  for (const Limit& limit : answer.limits)
    limits.add(Json::object().set("what", limit.what).set("seconds", limit.seconds).set("why", limit.why));
  for (std::size_t i = 0; i < std::min(kShown, answer.list.size()); ++i) {
    Json schedule = Json::object()
                        .set("seconds", answer.list[i]->outcome.best_seconds())
                        .set("candidate", answer.list[i]->tree_hash)
                        .set("choices", parse_json(to_json(answer.list[i]->candidate)).value());
    if (const ProcessorPlacement& placement = answer.list[i]->outcome.placement; placement.is_known())
      schedule.set("round_trip_ns", placement.round_trip_ns);
    best.add(std::move(schedule));
  }
  Json out = Json::object();
  if (!answer.transfers.base.empty()) out.set("base", to_json(answer.transfers));
  return out.set("id", static_cast<std::int64_t>(id))
      .set("name", answer.task.name)
      .set("weight", answer.task.weight)
      .set("flops", flops(answer.task.dag))
      .set("rates", answer.known.text)
      .set("limits", limits)
      .set("schedules", std::ssize(answer.list))
      .set("verdict", answer.list.empty() ? "" : verdict(answer.limits, answer.seconds))
      .set("best", best);
}

int print_task(const Opened& opened, const Question& question) {
  std::size_t id = 0;
  const char* end = question.what.data() + question.what.size();
  const auto [read, code] = std::from_chars(question.what.data(), end, id);
  if (code != std::errc() || read != end || id >= opened.tasks.size()) {
    std::vector<std::string> names;
    for (const Task& each : opened.tasks) names.push_back(each.name);
    // A number that no task has is no part of a name, though sizes in names may have it.
    if (question.what.find_first_not_of("0123456789") == std::string::npos) names.clear();
    const Result<std::size_t> found = find_name(question.what, names, "is no task of this model");
    if (!found.ok())
      return wrong_use({fmt::format("explain task: {} (0 to {}, or a name: `whet tasks`)", found.error().message,
                                    opened.tasks.size() - 1)});
    id = *found;
  }
  const Task& task = opened.tasks[id];
  const Target& target = opened.place.target;
  const std::vector<const Record*> list = opened.read.records.ranking(task.key, task.within, target);
  const double seconds = list.empty() ? 0 : list.front()->outcome.best_seconds();
  const std::int64_t footprint = network_footprint(opened.fused, opened.tasks, false).least();
  const RecordRates known = rates_for(opened.where, list.empty() ? "" : measured_elsewhere(list.front()->outcome));
  const std::vector<Limit> limits = limits_of(task.dag, known.rates, footprint);
  const std::shared_ptr<const RecordBase> base = choose_base(question.base, target, tell_user);
  const TransferAnswer transfers =
      transfer_answer(task, opened.read.records, *base, target, question.rounding.schedules());
  if (question.json) return print(to_json(TaskAnswer{task, list, known, limits, seconds, transfers}, id));
  fmt::print("Task {}: {}, {} in the network\n", id, task.name, counted(task.weight, "time"));
  print_limits(limits, seconds, known);
  if (list.empty()) {
    fmt::print("{}: it runs on {}.\n",
               question.records.empty()
                   ? "No records are given"
                   : fmt::format("No trial of it on {} is in {}", to_string(target), question.records),
               transfers.is_one_taken() ? "a schedule of a similar task" : "its default schedule");
    print_transfers(transfers);
    return kDone;
  }
  if (list.front()->outcome.emulated()) fmt::print("{}\n", target.is_gpu() ? kEstimates : kEmulatorTimes);
  fmt::print("{} ms is the best of {} that ran: {:.1f} GFLOPS. {}\n", exact_milliseconds(seconds),
             counted(std::ssize(list), "schedule"), flops(task.dag) / seconds / 1e9, verdict(limits, seconds));
  const std::size_t shown = std::min(kShown, list.size());
  const bool moved = std::any_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(shown), [&](const Record* r) {
    return differ(r->outcome.placement, list.front()->outcome.placement);
  });
  Table table = moved ? Table({{"Time (ms)"}, {"Placement", false}, {"Candidate", false}, {"Choices", false}})
                      : Table({{"Time (ms)"}, {"Candidate", false}, {"Choices", false}});
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> row = {exact_milliseconds(list[i]->outcome.best_seconds()), list[i]->tree_hash,
                                    to_json(list[i]->candidate)};
    if (moved) row.insert(row.begin() + 1, to_text(list[i]->outcome.placement));
    table.add(std::move(row));
  }
  const std::string wanted = question.device.empty() ? question.place.target : to_string(target);
  print(table);
  print_transfers(transfers);
  fmt::print("Next: whet explain candidate {} --model {} --records {}{}{}\n", list.front()->tree_hash,
             question.model.model, question.records, wanted.empty() ? "" : " --target \"" + wanted + "\"",
             question.rounding.text());
  return kDone;
}

Result<int> print_pass(const LoweringTrace& trace, const std::string& pass) {
  if (const LoweringStep* step = trace.find(pass)) {
    fmt::print("{}", step->text);
    return kDone;
  }
  if (trace.error) return *trace.error;
  std::vector<std::string> names;
  std::string list;
  for (const LoweringStep& step : trace.steps) {
    names.push_back(step.pass);
    list += (list.empty() ? "" : ", ") + step.pass;
  }
  return wrong_use({fmt::format("explain candidate: \"{}\" is no lowering pass; expected one of {}{}", pass, list,
                                did_you_mean(pass, names))});
}

std::string code_text(const Result<Built>& built, const Target& target) {
  if (built.ok() && target.is_gpu()) return "\n" + built->kernel.code;
  const Result<std::vector<MachineLoop>> loops =
      built.ok() ? innermost_loops(built->kernel, target) : Result<std::vector<MachineLoop>>(built.error());
  if (!loops.ok()) return fmt::format("It does not compile: {}\n", loops.error().message);
  const auto fullest = std::max_element(loops->begin(), loops->end(), [](const MachineLoop& a, const MachineLoop& b) {
    return a.multiply_adds < b.multiply_adds;
  });
  const MachineLoop shown = fullest == loops->end() ? MachineLoop() : *fullest;
  return fmt::format("\n{} bytes of code, {}. The one with most multiply-adds ({}; {} use the stack):\n{}",
                     built->kernel.code.size(), counted(std::ssize(*loops), "innermost loop"), shown.multiply_adds,
                     shown.spills.size(), shown.text);
}

bool fits(const Record& record, const Task& task, const std::string& id) {
  return (record.within.empty() || record.within == task.within) && record.tree_hash.starts_with(id);
}

/// "0183f0c2 (conv2d 1x56x56x64)": those whose IDs begin so.
std::vector<std::string> candidates_of(const Opened& opened, const std::string& id) {
  std::vector<std::string> list;
  std::set<std::string> ids;
  for (const Task& task : opened.tasks)
    for (const Record* record : opened.read.records.of(task.key))
      if (fits(*record, task, id) && ids.insert(record->tree_hash).second)
        list.push_back(fmt::format("{} ({})", record->tree_hash, task.name));
  return list;
}

/// The record that counts for a candidate: its last one, one of this target before those of others.
const Record* find_candidate(const Records& records, const Task& task, const Target& target, const std::string& id) {
  const Record* found = nullptr;
  for (const Record* record : records.of(task.key)) {
    if (!fits(*record, task, id)) continue;
    if (!found || record->target == to_string(target) || found->target != to_string(target)) found = record;
  }
  return found;
}

void print_record(const Record& record, const Task& task) {
  const Outcome& outcome = record.outcome;
  fmt::print("Candidate {} of {}\n", record.tree_hash, task.name);
  fmt::print("  measured   {} {}{}, on {}, weights {}\n", static_cast<int>(outcome.code), name_of(outcome.code),
             outcome.ok() ? fmt::format(", {} ms{}", exact_milliseconds(outcome.best_seconds()),
                                        outcome.truncated ? " (ended early as clearly slower than the best)" : "")
                          : ": " + outcome.message,
             record.target, record.outcome.cache);
  if (outcome.placement.is_known()) fmt::print("  placement  the processors lay at {}\n", to_text(outcome.placement));
  if (std::abs(outcome.pace - 1) >= 0.005)
    fmt::print("  pace       {:.2f}: the clock time was {} ms; the champion took this much longer than when it won\n",
               outcome.pace, exact_milliseconds(outcome.best_seconds() * outcome.pace));
  fmt::print("  when       {} on {}, whet {}, code generator {}, round {}\n", record.at, record.outcome.device,
             record.whet, record.codegen, record.round);
  fmt::print("  choices    {}\n  steps      {}\n\n", to_json(record.candidate), record.steps);
}

int print_candidate_json(const Record& record, const Task& task, const Target& target, const Question& question) {
  Json out = Json::object().set("task", task.name).set("record", parse_json(to_line(record)).value());
  const Result<Steps> steps = parse_steps(record.steps);
  const Result<LoopTree> tree = steps.ok() ? replay(task.dag, *steps) : Result<LoopTree>(steps.error());
  if (!tree.ok()) return print(out.set("error", tree.error().message));
  out.set("loops", to_text(*tree));
  if (question.passes) {
    const LoweringTrace trace = trace_lowering(*tree, target, record.within);
    Json passes = Json::array();
    for (const LoweringStep& step : trace.steps)
      passes.add(Json::object().set("pass", step.pass).set("seconds", step.seconds).set("program", step.text));
    out.set("passes", passes).set("error", trace.error ? Json(trace.error->message) : Json());
  }
  if (question.code) out.set("code", code_text(build(task.dag, *steps, target, {.within = record.within}), target));
  return print(out);
}

/// Of an ID that several begin with.
int refuse_several(const std::string& id, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMost = 12;
  const std::size_t shown = std::min(kMost, candidates.size());
  return wrong_use(
      {fmt::format("explain candidate: {} candidates begin with \"{}\"; expected one of {}{}", candidates.size(), id,
                   fmt::join(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                   shown < candidates.size() ? fmt::format(", and {} others", candidates.size() - shown) : "")});
}

Result<int> print_candidate(const Opened& opened, const Question& question) {
  if (const auto candidates = candidates_of(opened, question.what); candidates.size() > 1)
    return refuse_several(question.what, candidates);
  for (const Task& task : opened.tasks) {
    const Record* record = find_candidate(opened.read.records, task, opened.place.target, question.what);
    if (!record) continue;
    const Result<Steps> steps = parse_steps(record->steps);
    const Result<LoopTree> tree = steps.ok() ? replay(task.dag, *steps) : Result<LoopTree>(steps.error());
    const Target& target = opened.place.target;
    if (!question.pass.empty() && tree.ok())
      return print_pass(trace_lowering(*tree, target, record->within), question.pass);
    if (question.json) return print_candidate_json(*record, task, target, question);
    print_record(*record, task);
    if (!tree.ok()) {
      fmt::print("It cannot be replayed: {}\n", tree.error().message);
      return kDone;
    }
    fmt::print("{}", to_text(*tree));
    std::optional<Result<Built>> built;
    if (target.is_gpu() || question.code) built = build(task.dag, *steps, target, {.within = record->within});
    if (target.is_gpu()) {
      print_launches(*tree, target);
      print_assembled(*built, target);
    }
    if (question.passes) fmt::print("\n{}", to_text(trace_lowering(*tree, target, record->within)));
    if (question.code) fmt::print("{}", code_text(*built, target));
    return kDone;
  }
  return wrong_use(
      {fmt::format("explain candidate: no record of this model in {} begins with \"{}\"; `whet records best` "
                   "and `whet explain task` name them",
                   question.records, question.what)});
}

}  // namespace

Result<int> explain_task(const Question& question) {
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_RETURN_IF_ERROR(question.base.check());
  WHET_TRY(const Opened opened, open(question));
  return print_task(opened, question);
}

Result<int> explain_candidate(const Question& question) {
  if (question.what.empty())
    return wrong_use({"explain candidate: no candidate is given; `whet explain task` lists their IDs"});
  WHET_RETURN_IF_ERROR(needs_model(question));
  WHET_RETURN_IF_ERROR(needs_records(question));
  WHET_TRY(const Opened opened, open(question));
  return print_candidate(opened, question);
}

}  // namespace whet
