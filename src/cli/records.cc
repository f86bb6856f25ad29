// whet records: what a record file holds.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/counted.h"
#include "cli/command.h"
#include "json/json.h"
#include "records/digest.h"
#include "records/plan_line.h"
#include "records/record_file.h"
#include "records/record_line.h"
#include "session/options.h"

namespace whet {
namespace {

struct RecordsCommand {
  std::string action;
  std::vector<std::string> files;
  std::string output;
  bool json = false;
};

Json stats_json(const RecordStats& stats) {
  Json out = Json::object();
  out.set("trials", stats.trials)
      .set("compared", stats.compared)
      .set("tasks", stats.tasks)
      .set("truncated", stats.truncated);
  out.set("build_seconds", stats.build_seconds).set("run_seconds", stats.run_seconds);
  Json outcomes = Json::object();
  for (int code = 0; code < kOutcomeCodes; ++code) {
    const auto count = stats.outcomes[static_cast<std::size_t>(code)];
    if (count > 0) outcomes.set(std::string(name_of(static_cast<OutcomeCode>(code))), count);
  }
  Json failed = Json::array();
  for (const FailureGroup& group : stats.failures) {
    failed.add(Json::object()
                   .set("outcome", static_cast<int>(group.code))
                   .set("name", name_of(group.code))
                   .set("count", group.count)
                   .set("message", group.message));
  }
  Json ranking = Json::array();
  for (const RankingQuality& each : stats.ranking) {
    ranking.add(Json::object()
                    .set("round", each.round)
                    .set("tasks", each.tasks)
                    .set("trials", each.trials)
                    .set("correlation", each.correlation));
  }
  return out.set("outcomes", outcomes).set("failures", failed).set("ranking", ranking);
}

/// The records as lines, to `-o` or to standard output.
int write(const RecordsCommand& command, const std::vector<Record>& records, const std::vector<Plan>& plans,
          const std::vector<std::string>& newer) {
  if (command.output.empty()) {
    for (const Record& record : records) fmt::print("{}\n", to_line(record));
    for (const Plan& plan : plans) fmt::print("{}\n", to_line(plan));
    for (const std::string& line : newer) fmt::print("{}\n", line);
    return kDone;
  }
  const Status status = write_records(command.output, records, plans, newer);
  if (!status.ok()) return fail(status.error());
  fmt::print("{}: {}{}\n", command.output, counted(std::ssize(records), "record"),
             plans.empty() ? "" : ", " + counted(std::ssize(plans), "plan"));
  return kDone;
}

/// "; 96 registers, none spilled", where an assembler has told.
std::string registers_of(const Outcome& outcome) {
  if (outcome.registers == 0) return "";
  return fmt::format("; {} registers, {} spilled", outcome.registers,
                     outcome.spill_bytes > 0 ? fmt::format("{} bytes", outcome.spill_bytes) : "none");
}

/// "0.9012 ms  plan of NAME  [cpu ...]: 12 kernels differ from the usual ones, which take 0.9200 ms"
void print_plans(const Records& records, bool json) {
  for (const Plan& plan : distill_plans(records)) {
    if (json) {
      fmt::print("{}\n", to_line(plan));
      continue;
    }
    const std::string differs =
        plan.kernels.empty()
            ? "the usual kernels"
            : fmt::format("{} {} from the usual ones, which take {:.4f} ms",
                          counted(std::ssize(plan.kernels), "kernel"),
                          for_count(std::ssize(plan.kernels), "differs", "differ"), plan.usual_seconds * 1e3) +
                  (plan.excess == NetworkExcess() ? "" : "; both with what the network takes longer than its kernels");
    fmt::print("{:10.4f} ms  plan of {}  [{}]: {}\n", plan.seconds * 1e3, plan.name, plan.target, differs);
  }
}

int print_best(const RecordsCommand& command, const Records& records) {
  for (const Record& record : distill(records)) {
    if (command.json) {
      fmt::print("{}\n", to_line(record));
      continue;
    }
    fmt::print("{:10.4f} ms  {}  [{}]\n            {}  {}{}\n", record.outcome.best_seconds() * 1e3, record.task,
               record.target, record.tree_hash, to_json(record.candidate), registers_of(record.outcome));
  }
  print_plans(records, command.json);
  return kDone;
}

int run(const RecordsCommand& command) {
  std::deque<RecordsRead> read;
  std::vector<std::string> newer;
  for (const std::string& file : command.files) {
    Result<RecordsRead> one = read_records(file);
    if (!one.ok()) return fail(one.error());
    one->records.count(EmulatedRecords::too);
    for (const std::string& note : one->notes) fmt::print(stderr, "{}\n", note);
    if (one->records.size() == 0 && distill_plans(one->records).empty() && one->newer_lines.empty())
      fmt::print(stderr, "{}: holds no records\n", file);
    for (std::string& line : one->newer_lines)
      if (std::find(newer.begin(), newer.end(), line) == newer.end()) newer.push_back(std::move(line));
    read.push_back(std::move(*one));
  }
  std::vector<const Records*> all;
  for (const RecordsRead& one : read) all.push_back(&one.records);
  if (command.action == "merge") return write(command, merge(all), merge_plans(all), newer);
  if (read.size() > 1)
    return wrong_use(
        {"records " + command.action + ": one file is expected; `whet records merge` makes one of several"});
  const Records& records = read.front().records;
  if (command.action == "distill") return write(command, distill(records), distill_plans(records), newer);
  if (command.action == "best") return print_best(command, records);
  if (command.action == "show") {
    fmt::print("{}", show(records));
    print_plans(records, false);
    return kDone;
  }
  const RecordStats totals = stats(records);
  fmt::print("{}", command.json ? dump(stats_json(totals), 2) + "\n" : to_text(totals));
  return kDone;
}

}  // namespace

std::function<int()> make_records(Arguments& arguments) {
  auto command = std::make_shared<RecordsCommand>();
  arguments.require_choice(
      "action", command->action, {"best", "distill", "show", "merge", "stats"},
      "best: print the fastest record of each task; distill: write these records alone; show: "
      "print a table; merge: write the union of several files; stats: print the time spent and the failures");
  arguments.require("file", command->files, "Record files (JSON lines)");
  arguments.add("-o,--output", command->output, "distill, merge: the file to write (default: standard output)");
  arguments.flag("--json", command->json, "best, stats: print JSON");
  return [command] { return run(*command); };
}

}  // namespace whet
