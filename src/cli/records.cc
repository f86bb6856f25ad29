// whet records: what a record file holds.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/counted.h"
#include "base/shown.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/records_pack.h"
#include "cli/records_text.h"
#include "json/json.h"
#include "records/digest.h"
#include "records/plan_line.h"
#include "records/record_file.h"
#include "records/record_line.h"
#include "workflow/base.h"
#include "workflow/options.h"

namespace whet {
namespace {

struct RecordsCommand {
  std::string action;
  std::vector<std::string> files;
  std::string output;
  bool json = false;
  PackOptions pack;  ///< without its files
};

Json stats_json(const RecordStats& stats) {
  Json out = Json::object();
  out.set("trials", stats.trials)
      .set("ranged", stats.ranged)
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

/// The files of the command, as they are read; the one that is written is held all the while.
struct RecordFiles {
  std::optional<RecordRewrite> output;
  std::deque<RecordsRead> read;
  std::vector<RecordsRead*> all;  ///< one a file
  std::vector<std::string> kept;  ///< lines of newer versions, each once, and of record bases, each base once
  std::int64_t base_lines = 0;    ///< among them
};

/// "; 12 lines left out": of those that the file had.
std::string left_out(std::int64_t lines) { return lines == 0 ? "" : "; " + counted(lines, "line") + " left out"; }

/// The records as lines, to `-o` or to standard output.
Result<int> write(const RecordsCommand& command, RecordFiles& files, const std::vector<Record>& records,
                  const std::vector<Plan>& plans, const std::vector<std::string>& ranged) {
  if (!files.output) {
    for (const Record& record : records) fmt::print("{}\n", to_line(record));
    for (const Plan& plan : plans) fmt::print("{}\n", to_line(plan));
    for (const std::string& line : ranged) fmt::print("{}\n", line);
    for (const std::string& line : files.kept) fmt::print("{}\n", line);
    return kDone;
  }
  std::vector<std::string> others = ranged;
  others.insert(others.end(), files.kept.begin(), files.kept.end());
  WHET_TRY(const std::int64_t lost, files.output->replace(records, plans, others));
  fmt::print("{}: {}{}{}{}{}\n", command.output, counted(std::ssize(records), "record"),
             plans.empty() ? "" : ", " + counted(std::ssize(plans), "plan"),
             ranged.empty() ? "" : ", " + counted(std::ssize(ranged), "line") + " of ranges of sizes",
             files.base_lines == 0 ? "" : ", " + counted(files.base_lines, "line") + " of record bases",
             left_out(lost));
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
    fmt::print("{:10.4f} ms  plan of {}  [{}]: {}\n", plan.seconds * 1e3, shown(plan.name), shown(plan.target),
               differs);
  }
}

void print_best(const RecordsCommand& command, const Records& records) {
  if (command.json)
    for (const std::string& line : distill_ranged(records)) fmt::print("{}\n", line);
  for (const Record& record : distill(records)) {
    if (command.json) {
      fmt::print("{}\n", to_line(record));
      continue;
    }
    fmt::print("{:10.4f} ms  {}  [{}]\n            {}  {}{}\n", record.outcome.best_seconds() * 1e3, shown(record.task),
               shown(record.target), shown(record.tree_hash), to_json(record.candidate), registers_of(record.outcome));
  }
}

/// The record base of a file.
Status print_base(const RecordsCommand& command) {
  WHET_TRY(const RecordBase base, read_base(command.files.front()));
  for (const std::string& note : base.notes()) fmt::print(stderr, "{}\n", note);
  fmt::print("{}", command.json ? base.text() : command.action == "best" ? best_text(base) : show_text(base));
  return ok_status();
}

bool writes(const RecordsCommand& command) {
  return !command.output.empty() && (command.action == "merge" || command.action == "distill");
}

Status read_one(const std::string& path, RecordFiles& files) {
  if (files.output && files.output->is(path)) {
    files.all.push_back(&files.output->there());
  } else {
    WHET_TRY(RecordsRead read, read_records(path));
    files.all.push_back(&files.read.emplace_back(std::move(read)));
  }
  RecordsRead& file = *files.all.back();
  file.records.count(EmulatedRecords::too);
  for (const std::string& note : file.notes) fmt::print(stderr, "{}\n", note);
  if (file.records.size() == 0 && distill_plans(file.records).empty() && file.records.ranged().empty() &&
      file.records.networks().empty() && file.newer_lines.empty() && file.base_lines.empty() &&
      file.error_lines.empty())
    fmt::print(stderr, "{}: holds no records\n", path);
  for (const std::string& line : file.newer_lines)
    if (std::ranges::find(files.kept, line) == files.kept.end()) files.kept.push_back(line);
  for (const std::string& line : file.error_lines)
    if (std::ranges::find(files.kept, line) == files.kept.end()) files.kept.push_back(line);
  if (std::ranges::search(files.kept, file.base_lines).empty()) {
    files.kept.insert(files.kept.end(), file.base_lines.begin(), file.base_lines.end());
    files.base_lines += std::ssize(file.base_lines);
  }
  return ok_status();
}

Status read_all(const RecordsCommand& command, RecordFiles& files) {
  if (writes(command)) {
    WHET_TRY(RecordRewrite output, RecordRewrite::open(command.output));
    files.output.emplace(std::move(output));
  }
  for (const std::string& file : command.files) WHET_RETURN_IF_ERROR(read_one(file, files));
  return ok_status();
}

Status check_options(const RecordsCommand& command, const std::function<bool(const std::string&)>& given) {
  const std::string where = "records " + command.action;
  const bool reads = command.action == "best" || command.action == "show" || command.action == "stats";
  std::vector<std::string> of_pack = shape_options();
  const char* const of_sizes[] = {"--tuning-sizes", "--lengths"};
  for (const char* option : {"--model", "--name", "--without", "--sizes", "--tuning-sizes", "--lengths"})
    of_pack.emplace_back(option);
  if (command.action != "pack")
    WHET_RETURN_IF_ERROR(refuse_given(given, of_pack, where, "is for pack"));
  else if (command.pack.model.model.empty())
    WHET_RETURN_IF_ERROR(refuse_given(given, shape_options(), where, "is for --model"));
  if (command.pack.model.model.empty()) WHET_RETURN_IF_ERROR(refuse_given(given, {"--sizes"}, where, "is for --model"));
  if (command.pack.model.sizes.empty())
    WHET_RETURN_IF_ERROR(
        refuse_given(given, {std::begin(of_sizes), std::end(of_sizes)}, where, "counts only for a model with --sizes"));
  WHET_RETURN_IF_ERROR(
      reads ? refuse_given(given, {"--output"}, where, "is for distill, merge and pack; this is printed")
            : refuse_given(given, {"--json"}, where, "is for best and stats; record files are lines of JSON anyway"));
  return command.action == "show" && command.json
             ? Status(Error{"records show: --json is for best and stats", ErrorKind::wrong_use})
             : ok_status();
}

Result<int> run(RecordsCommand& command, const std::function<bool(const std::string&)>& given) {
  WHET_RETURN_IF_ERROR(check_options(command, given));
  if (command.action == "pack") {
    command.pack.files = command.files;
    return pack_records(command.pack, command.output);
  }
  RecordFiles files;
  WHET_RETURN_IF_ERROR(read_all(command, files));
  std::vector<const Records*> all;
  for (const RecordsRead* one : files.all) all.push_back(&one->records);
  if (command.action == "merge") return write(command, files, merge(all), merge_plans(all), merge_ranged(all));
  if (all.size() > 1)
    return wrong_use(
        {"records " + command.action + ": one file is expected; `whet records merge` makes one of several"});
  const Records& records = *all.front();
  if (command.action == "distill")
    return write(command, files, distill(records), distill_plans(records), distill_ranged(records));
  const bool has_base = !files.all.front()->base_lines.empty(), has_records = records.size() > 0 || !has_base;
  if (command.action == "stats") {
    const RecordStats totals = stats(records);
    fmt::print("{}", command.json ? dump(stats_json(totals), 2) + "\n" : stats_text(totals));
    return kDone;
  }
  if (command.action == "best")
    print_best(command, records);
  else if (has_records)
    fmt::print("{}", show_text(records));
  print_plans(records, command.json);
  if (!command.json) fmt::print("{}{}", command.action == "best" ? ranged_text(records) : "", networks_text(records));
  if (has_base) WHET_RETURN_IF_ERROR(print_base(command));
  return kDone;
}

}  // namespace

CommandAction make_records(Arguments& arguments) {
  auto command = std::make_shared<RecordsCommand>();
  arguments.require_choice("action", command->action, {"best", "distill", "show", "merge", "pack", "stats"},
                           "best: print the fastest record of each task; distill: write these records alone; show: "
                           "print a table; merge: write the union of several files; pack: write a record base, what "
                           "they teach about other networks; "
                           "stats: print the time spent and the failures");
  arguments.require("file", command->files, "Record files (JSON lines), or record bases");
  arguments.add("-o,--output", command->output, "distill, merge, pack: the file to write (default: standard output)");
  arguments.writes("--output", command->output, FileKind::records);  // which may be among those that are read
  arguments.flag("--json", command->json, "best, stats: print JSON");
  {
    const auto group = arguments.group("pack");
    PackOptions& pack = command->pack;
    arguments.add("--model", pack.model.model,
                  "The model whose records they are; without it the files are record bases");
    arguments.offers("--model", built_in_networks());
    arguments.add("--name", pack.network, "What the base calls the model (default: its file's name, and --batch)");
    arguments.add("--without", pack.without,
                  "Leave out what this network taught, alone or in batches; may be repeated");
  }
  add_shapes(arguments, command->pack.model);
  add_sizes(arguments, command->pack.model);
  add_tuning_sizes(arguments, command->pack.tuning_sizes);
  return [command, given = arguments.given()] { return run(*command, given); };
}

}  // namespace whet
