// whet tasks: lists the tasks of a model.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "alternatives/alternatives.h"
#include "base/counted.h"
#include "base/nearest.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/layouts.h"
#include "cli/output.h"
#include "cli/sizes_text.h"
#include "cli/table.h"
#include "compute/anchor.h"
#include "compute/dag.h"
#include "json/json.h"
#include "plan/price.h"
#include "records/record_file.h"
#include "task/task.h"
#include "workflow/model.h"
#include "workflow/opened.h"
#include "workflow/options.h"
#include "workflow/rounding.h"
#include "workflow/sizes.h"
#include "workflow/task_json.h"

namespace whet {
namespace {

struct TasksCommand {
  ModelOptions model;
  TargetOptions place;
  LayoutOptions layouts;
  RoundingOptions rounding;
  std::string records;
  std::vector<std::string> operators;
  bool dag = false, json = false, alternatives = false;
};

double work_of(const Task& task) { return task.weight * flops(task.dag); }

/// What --op may name: the operators of the task's name, and the family of what it is mostly about, which a long name leaves out.
std::vector<std::string> operators_of(const Task& task) {
  std::vector<std::string> operators;
  const std::string names = task.name.substr(0, task.name.find(' '));
  for (std::size_t begin = 0, end = 0; end < names.size(); begin = end + 1) {
    end = std::min(names.find('+', begin), names.size());
    operators.push_back(names.substr(begin, end - begin));
  }
  if (const std::optional<Anchor> anchor = anchor_of(task.dag))
    operators.push_back(anchor->kind.substr(0, anchor->kind.find(' ')));
  return operators;
}

/// A task with its number in the model.
struct Numbered {
  int id;
  const Task* task;
};

/// The tasks with an operator of which one of `wanted` is a part; all of them where nothing is wanted. `tasks` has to outlive the result.
Result<std::vector<Numbered>> with_operators(const std::vector<Task>& tasks, const std::vector<std::string>& wanted) {
  std::vector<Numbered> chosen;
  std::set<std::string> known, found;
  for (const Task& task : tasks) {
    const std::vector<std::string> operators = operators_of(task);
    known.insert(operators.begin(), operators.end());
    bool has_one = wanted.empty();
    for (const std::string& part : wanted) {
      const auto has = [&](const std::string& each) { return each.find(part) != std::string::npos; };
      if (std::ranges::any_of(operators, has)) found.insert(part), has_one = true;
    }
    if (has_one) chosen.push_back({static_cast<int>(&task - tasks.data()), &task});
  }
  for (const std::string& part : wanted)
    if (!found.contains(part))
      return Error{"tasks: --op is " + in_quotes(part) + ", and no task has such an operator" +
                       did_you_mean(part, {known.begin(), known.end()}),
                   ErrorKind::wrong_use};
  return chosen;
}

/// "29 tasks", "20 of 29 tasks"
std::string shown_text(const std::vector<Numbered>& shown, const std::vector<Task>& tasks) {
  return (shown.size() < tasks.size() ? fmt::format("{} of ", shown.size()) : "") + counted(std::ssize(tasks), "task");
}

void print_table(const std::vector<Numbered>& shown, double total) {
  Table table({{"ID"}, {"Task", false}, {"Weight"}, {"FLOP"}, {"Bytes"}, {"Share"}});
  for (const auto& [id, task] : shown)
    table.add({std::to_string(id), task->name, std::to_string(task->weight), si(flops(task->dag)), si(bytes(task->dag)),
               fmt::format("{:.1f}%", total > 0 ? 100 * work_of(*task) / total : 0)});
  print(table);
}

void print_dags(const std::vector<Numbered>& shown) {
  for (const auto& [id, task] : shown) fmt::print("\n# {}: {}\n{}", id, task->name, to_text(task->dag));
}

Json to_json(const Numbered& shown, double total, bool dag) {
  const Task& task = *shown.task;
  Json out = Json::object();
  out.set("id", shown.id).set("name", task.name).set("key", task.key).set("weight", task.weight);
  out.set("flops", flops(task.dag)).set("bytes", bytes(task.dag));
  out.set("share", total > 0 ? work_of(task) / total : 0.0);
  if (!task.inputs.hash.empty()) out.set("inputs", task.inputs.hash);
  if (dag) out.set("dag", to_text(task.dag)).set("ops", ops_json(task.dag));
  return out;
}

/// One object an alternative; with a record file also what its kernel and the usual one were measured to take.
Result<Json> alternatives_json(const FusedGraph& fused, const Target& target, const Alternatives& found,
                               const std::string& file) {
  RecordsRead read;
  if (!file.empty()) {
    WHET_TRY(read, read_records(file));
    for (const std::string& note : read.notes) tell_user(note);
    for (const std::string& note : strangers_of(file, read.records, fused, target, TargetUse::near)) tell_user(note);
  }
  const std::vector<Price> prices = prices_of(found, read.records, target, {});
  const auto ms = [&](std::size_t a) {
    return prices[a].kind == PriceKind::estimated ? Json() : Json(prices[a].seconds * 1e3);
  };
  std::map<int, std::size_t> usual;  // by group
  const auto usual_ms = [&](const std::vector<int>& groups) {
    double sum = 0;
    for (int group : groups) {
      if (prices[usual.at(group)].kind == PriceKind::estimated) return Json();
      sum += prices[usual.at(group)].seconds * 1e3;
    }
    return Json(sum);
  };
  Json list = Json::array();
  for (std::size_t a = 0; a < found.all.size(); ++a) {
    const Alternative& alternative = found.all[a];
    if (alternative.kind == AlternativeKind::usual) usual[alternative.group] = a;
    if (a < found.usual) continue;
    Json row = Json::object();
    row.set("kind", std::string(name_of(alternative.kind)))
        .set("node", fused.graph.value(alternative.fragment.writes.front().value).name)
        .set("forms", alternative.name)
        .set("padded", pads(fused, alternative))
        .set("task", alternative.task < 0 ? Json() : Json(found.tasks[static_cast<std::size_t>(alternative.task)].name))
        .set("ms", ms(a));
    if (const std::vector<int>& groups = alternative.instead; !groups.empty()) row.set("usual_ms", usual_ms(groups));
    list.add(row);
  }
  return list;
}

/// Every group on other forms of its activations, the copies between forms, and several groups as one kernel.
Result<int> print_alternatives(const TasksCommand& command, const FusedGraph& fused, const Target& target) {
  const Result<AlternativeOptions> options = command.layouts.alternatives(target);
  if (!options.ok()) return wrong_use(options.error());
  WHET_TRY(const Alternatives found, find_alternatives(fused, target, *options));
  if (command.json) {
    WHET_TRY(const Json list, alternatives_json(fused, target, found, command.records));
    fmt::print("{}\n", dump(Json::object().set("model", command.model.name()).set("alternatives", list), 2));
    return kDone;
  }
  Table table({{"ID"}, {"Alternative", false}, {"Node", false}, {"Stored", false}, {"Task", false}});
  for (std::size_t a = found.usual; a < found.all.size(); ++a) {
    const Alternative& alternative = found.all[a];
    const std::string& node = fused.graph.value(alternative.fragment.writes.front().value).name;
    table.add({std::to_string(a), std::string(name_of(alternative.kind)), node,
               alternative.name + (pads(fused, alternative) ? " (padded)" : ""),
               alternative.task < 0 ? "no kernel" : found.tasks[static_cast<std::size_t>(alternative.task)].name});
  }
  std::string forms = "nhwc";
  for (ActivationLayout form : options->forms) forms += ", " + to_text(form);
  print(table);
  fmt::print("{} beside {}, {} in all; forms: {}\n",
             counted(std::ssize(found.all) - std::int64_t(found.usual), "alternative"),
             counted(std::int64_t(found.usual), "usual one"), counted(std::ssize(found.tasks), "task"), forms);
  return kDone;
}

/// The tasks at all sizes of ranges, one variant after the other.
Result<int> print_sized(const TasksCommand& command, const Target& target) {
  WHET_TRY(const Family family, load_family(command.model, command.rounding.passes(target)));
  Json variants = Json::array();
  for (std::size_t v = 0; v < family.variants.size(); ++v) {
    const Variant& variant = family.variants[v];
    std::vector<Task> tasks;
    double total = 0;
    for (const SizedTask& task : variant.tasks) {
      tasks.push_back(task.task);
      total += work_of(task.task);
    }
    WHET_TRY(const std::vector<Numbered> shown, with_operators(tasks, command.operators));
    if (command.json) {
      Json list = Json::array();
      for (const Numbered& each : shown)
        list.add(to_json(each, total, command.dag)
                     .set("sizes", sizes_json(family, variant.tasks[static_cast<std::size_t>(each.id)])));
      variants.add(to_json(family, variant).set("tasks", list));
      continue;
    }
    fmt::print("{}{} · {} · variant {}: {} · {} at {}\n", v > 0 ? "\n" : "", command.model.name(),
               to_text(family.sizes), v + 1, boxes_text(family, variant.boxes), shown_text(shown, tasks),
               to_text(family.sizes, variant.at));
    print_table(shown, total);
    if (command.dag) print_dags(shown);
  }
  if (command.json)
    fmt::print("{}\n", dump(Json::object().set("model", command.model.name()).set("variants", variants), 2));
  return kDone;
}

Result<int> run(const TasksCommand& command, const std::function<bool(const std::string&)>& given) {
  WHET_RETURN_IF_ERROR(
      command.alternatives
          ? refuse_given(given, {"--dag", "--sizes", "--op"}, "tasks", "counts only without --alternatives")
          : refuse_given(given, {"--layouts", "--covers"}, "tasks", "counts only with --alternatives; give it too"));
  if (!command.records.empty() && !(command.alternatives && command.json))
    return wrong_use({"tasks: --records counts only with --alternatives and --json; give both too"});
  const Result<TargetOnCores> place = choose_target(command.place);
  if (!place.ok()) return wrong_use(place.error());
  if (const Status rounding = command.rounding.check(place->target); !rounding.ok()) return wrong_use(rounding.error());
  if (!command.model.sizes.empty()) return print_sized(command, place->target);
  WHET_TRY(const InputFiles files, read_named_inputs(command.model));
  WHET_TRY(const FusedGraph fused, load_fused(command.model, files, command.rounding.passes(place->target)));
  if (command.alternatives) return print_alternatives(command, fused, place->target);
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, place->target));
  WHET_TRY(const std::vector<Numbered> shown, with_operators(tasks, command.operators));
  double total = 0;
  for (const Task& task : tasks) total += work_of(task);
  if (command.json) {
    Json list = Json::array();
    for (const Numbered& each : shown) list.add(to_json(each, total, command.dag));
    fmt::print("{}\n",
               dump(Json::object().set("model", command.model.name()).set("flops", total).set("tasks", list), 2));
    return kDone;
  }
  std::int64_t kernels = 0;
  double work = 0;
  std::string ids;
  for (const auto& [id, task] : shown) {
    kernels += task->weight;
    work += work_of(*task);
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
  }
  fmt::print("{} · {} for {} · {}\n", command.model.name(), shown_text(shown, tasks), counted(kernels, "kernel"),
             with_unit(work, "FLOP"));
  print_table(shown, total);
  if (command.dag) print_dags(shown);
  if (!command.operators.empty()) fmt::print("Next: whet tune MODEL --tasks {}{}\n", ids, command.rounding.text());
  return kDone;
}

}  // namespace

CommandAction make_tasks(Arguments& arguments) {
  auto command = std::make_shared<TasksCommand>();
  add_options(arguments, command->model);
  add_sizes(arguments, command->model);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input that decides shapes");
  add_options(arguments, command->place);
  add_precision(
      arguments, command->rounding,
      "List the tasks of `whet tune` with this precision: with f16, on CPUs with bf16, they have tensors of it");
  arguments.flag("--alternatives", command->alternatives,
                 "Print the other layouts that kernels may work on, the copies between them, and the groups that may "
                 "be one kernel");
  command->layouts.add_to(arguments);
  arguments.add("--records", command->records, "--alternatives --json: a record file with their times");
  arguments.add("--op", command->operators,
                "Only tasks with such an operator, or a part of its name, like conv; may be repeated");
  arguments.flag("--dag", command->dag, "Also print the computation of each task");
  arguments.flag("--json", command->json, "Print JSON");
  return [command, given = arguments.given()] { return run(*command, given); };
}

}  // namespace whet
