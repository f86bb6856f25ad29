#include "task/task.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/hash.h"
#include "task/equal_groups.h"
#include "task/group_dag.h"

namespace whet {
namespace {

/// The DAGs of groups, equal ones once: a long network has few.
class DistinctDags {
 public:
  struct Keyed {
    std::string key;
    ComputeDag dag;
  };

  /// Gives the number of the DAG.
  std::size_t add(ComputeDag dag) {
    std::string key = workload_key(dag);
    for (auto [entry, end] = by_key_.equal_range(key); entry != end; ++entry)
      if (same_dag(dags_[entry->second].dag, dag)) return entry->second;
    by_key_.emplace(key, dags_.size());
    dags_.push_back({std::move(key), std::move(dag)});
    return dags_.size() - 1;
  }
  const Keyed& operator[](std::size_t number) const { return dags_[number]; }

 private:
  std::vector<Keyed> dags_;
  std::multimap<std::string, std::size_t> by_key_;  // more than one where different dags share a key
};

std::string hexadecimal(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

/// The user's tensors that a group with an operator of one's own is measured with, where some are of integers: these may say what it
/// reads.
TaskInputs inputs_of(const FusedGraph& fused, const Group& group) {
  const bool is_own = std::ranges::any_of(group.nodes, [&](NodeId n) {
    const auto* own = std::get_if<CustomOperator>(&fused.graph.node(n).op);
    return own != nullptr && !is_elementwise(*own);
  });
  TaskInputs inputs;
  if (!is_own) return inputs;
  std::uint64_t hash = kHashSeed;
  bool has_integers = false;
  for (ValueId id : group.inputs) {
    const Value& value = fused.graph.value(id);
    inputs.contents.push_back(value.contents);
    hash = hash_combine(hash, value.contents);
    has_integers = has_integers || (value.contents != 0 && !is_float(value.type.dtype));
  }
  if (!has_integers) return {};
  inputs.hash = hexadecimal(hash);
  return inputs;
}

/// Of the groups of one task that have some: the inputs of most groups, the first of equally many. The hash is of all that differ:
/// with others in any of the groups its records are of other inputs.
TaskInputs inputs_of_most(const std::vector<TaskInputs>& of_groups) {
  if (of_groups.empty()) return {};
  std::map<std::string, int> times;
  for (const TaskInputs& inputs : of_groups) ++times[inputs.hash];
  TaskInputs most =
      *std::ranges::max_element(of_groups, {}, [&](const TaskInputs& inputs) { return times.at(inputs.hash); });
  if (times.size() == 1) return most;
  std::uint64_t hash = kHashSeed;
  for (const auto& [each, count] : times) hash = hash_bytes(each, hash);
  most.hash = hexadecimal(hash);
  return most;
}

Task task_of(const FusedGraph& fused, const Group& group, const DistinctDags::Keyed& keyed, const Shape& within) {
  Task task{keyed.key, name_of(fused, group), keyed.dag};
  if (!within.empty()) task.name += " in " + to_string(within);
  task.within = within;
  task.label = label_of(fused, group);
  return task;
}

}  // namespace

Result<PlacedTasks> place_tasks(const FusedGraph& fused, const Target&) {
  DistinctDags distinct;
  EqualGroups equal(fused);
  std::vector<std::size_t> dag_of;  // by group
  std::vector<Shape> layouts;
  for (std::size_t g = 0; g < fused.groups.size(); ++g) {
    if (const auto other = equal.find(g)) {
      dag_of.push_back(dag_of[*other]);
    } else {
      WHET_TRY(ComputeDag dag, group_dag(fused, fused.groups[g]));
      dag_of.push_back(distinct.add(std::move(dag)));
    }
    const ComputeDag& dag = distinct[dag_of.back()].dag;
    layouts.push_back(dag.op(dag.outputs.front()).shape);
  }
  PlacedTasks placed{{}, find_in_place(fused.graph, fused.groups, layouts)};
  std::map<std::pair<std::size_t, Shape>, std::size_t> numbers;  // of tasks, by what they compute and where to
  std::map<std::size_t, std::vector<TaskInputs>> given;          // to groups, by task
  for (std::size_t g = 0; g < fused.groups.size(); ++g) {
    if (placed.in_place.done[g]) continue;
    const Shape within = placed.in_place.within(fused.groups[g]);
    const auto [at, is_new] = numbers.try_emplace({dag_of[g], within}, placed.tasks.size());
    if (is_new) placed.tasks.push_back(task_of(fused, fused.groups[g], distinct[dag_of[g]], within));
    Task& task = placed.tasks[at->second];
    if (TaskInputs inputs = inputs_of(fused, fused.groups[g]); !inputs.hash.empty())
      given[at->second].push_back(std::move(inputs));
    ++task.weight;
    task.groups.push_back(static_cast<int>(g));
  }
  for (const auto& [number, of_groups] : given) placed.tasks[number].inputs = inputs_of_most(of_groups);
  return placed;
}

Result<std::vector<Task>> extract_tasks(const FusedGraph& fused, const Target& target) {
  WHET_TRY(PlacedTasks placed, place_tasks(fused, target));
  return std::move(placed.tasks);
}

}  // namespace whet
