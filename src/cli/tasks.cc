// whet tasks: lists the tasks of a model.

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/table.h"
#include "compute/dag.h"
#include "json/json.h"
#include "task/task.h"

namespace whet {
namespace {

struct TasksCommand {
  ModelOptions model;
  TargetOptions place;
  bool dag = false, json = false;
};

double work_of(const Task& task) { return task.weight * flops(task.dag); }

void print_table(const std::vector<Task>& tasks, double total) {
  Table table({{"ID"}, {"Task", false}, {"Weight"}, {"FLOP"}, {"Bytes"}, {"Share"}});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    table.add({std::to_string(i), task.name, std::to_string(task.weight), si(flops(task.dag)), si(bytes(task.dag)),
               fmt::format("{:.1f}%", total > 0 ? 100 * work_of(task) / total : 0)});
  }
  fmt::print("{}", table.to_text());
}

Json to_json(const Task& task, std::size_t id, double total, bool dag) {
  Json out = Json::object();
  out.set("id", static_cast<std::int64_t>(id)).set("name", task.name).set("key", task.key).set("weight", task.weight);
  out.set("flops", flops(task.dag)).set("bytes", bytes(task.dag));
  out.set("share", total > 0 ? work_of(task) / total : 0.0);
  if (dag) out.set("dag", to_text(task.dag));
  return out;
}

int run(const TasksCommand& command) {
  const Result<TargetOnCores> place = choose_target(command.place);
  if (!place.ok()) return wrong_use(place.error());
  const Result<InputFiles> files = read_inputs(command.model.inputs);
  if (!files.ok()) return fail(files.error());
  const Result<FusedGraph> fused = load_fused(command.model, *files);
  if (!fused.ok()) return fail(fused.error());
  const Result<std::vector<Task>> tasks = extract_tasks(*fused, place->target);
  if (!tasks.ok()) return fail(tasks.error());
  double total = 0;
  for (const Task& task : *tasks) total += work_of(task);
  if (command.json) {
    Json list = Json::array();
    for (std::size_t i = 0; i < tasks->size(); ++i) list.add(to_json((*tasks)[i], i, total, command.dag));
    fmt::print("{}\n", dump(Json::object().set("model", fused->graph.name).set("flops", total).set("tasks", list), 2));
    return kDone;
  }
  std::int64_t kernels = 0;
  for (const Task& task : *tasks) kernels += task.weight;
  fmt::print("{} · {} tasks for {} kernels · {}FLOP\n", fused->graph.name, tasks->size(), kernels, si(total));
  print_table(*tasks, total);
  if (!command.dag) return kDone;
  for (std::size_t i = 0; i < tasks->size(); ++i)
    fmt::print("\n# {}: {}\n{}", i, (*tasks)[i].name, to_text((*tasks)[i].dag));
  return kDone;
}

}  // namespace

std::function<int()> make_tasks(Arguments& arguments) {
  auto command = std::make_shared<TasksCommand>();
  command->model.add_to(arguments);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input that decides shapes");
  command->place.add_to(arguments);
  arguments.flag("--dag", command->dag, "Also print the computation of each task");
  arguments.flag("--json", command->json, "Print JSON");
  return [command] { return run(*command); };
}

}  // namespace whet
