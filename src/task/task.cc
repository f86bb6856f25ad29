#include "task/task.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/hash.h"
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

/// The user's tensors that a group with an operator of one's own is measured with, where some are of integers: these may say what it
/// reads.
TaskInputs inputs_of(const FusedGraph& fused, const Group& group) {
  const bool is_own = std::ranges::any_of(group.nodes, [&](NodeId n) {
    const auto* own = std::get_if<CustomOperator>(&fused.graph.node(n).op);
    return own != nullptr && !is_elementwise(*own);
  });
  TaskInputs inputs;
  std::uint64_t hash = kHashSeed;
  bool has_integers = false;
  for (ValueId id : group.inputs) {
    const Value& value = fused.graph.value(id);
    inputs.contents.push_back(value.contents);
    hash = hash_combine(hash, value.contents);
    has_integers = has_integers || (value.contents != 0 && !is_float(value.type.dtype));
  }
  if (!is_own || !has_integers) return {};
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  inputs.hash = text;
  return inputs;
}

Task task_of(const FusedGraph& fused, const Group& group, const DistinctDags::Keyed& keyed, const Shape& within) {
  Task task{keyed.key, name_of(fused, group), keyed.dag};
  task.inputs = inputs_of(fused, group);
  if (!within.empty()) task.name += " in " + to_string(within);
  task.within = within;
  task.label = label_of(fused, group);
  return task;
}

}  // namespace

Result<PlacedTasks> place_tasks(const FusedGraph& fused, const Target&) {
  DistinctDags distinct;
  std::vector<std::size_t> dag_of;  // by group
  std::vector<Shape> layouts;
  for (const Group& group : fused.groups) {
    WHET_TRY(ComputeDag dag, group_dag(fused, group));
    layouts.push_back(dag.op(dag.outputs.front()).shape);
    dag_of.push_back(distinct.add(std::move(dag)));
  }
  PlacedTasks placed{{}, find_in_place(fused.graph, fused.groups, layouts)};
  std::map<std::pair<std::size_t, Shape>, std::size_t> numbers;  // of tasks, by what they compute and where to
  for (std::size_t g = 0; g < fused.groups.size(); ++g) {
    if (placed.in_place.done[g]) continue;
    const Shape within = placed.in_place.within(fused.groups[g]);
    const auto [at, is_new] = numbers.try_emplace({dag_of[g], within}, placed.tasks.size());
    if (is_new) placed.tasks.push_back(task_of(fused, fused.groups[g], distinct[dag_of[g]], within));
    Task& task = placed.tasks[at->second];
    if (task.inputs.hash.empty()) task.inputs = inputs_of(fused, fused.groups[g]);
    ++task.weight;
    task.groups.push_back(static_cast<int>(g));
  }
  return placed;
}

Result<std::vector<Task>> extract_tasks(const FusedGraph& fused, const Target& target) {
  WHET_TRY(PlacedTasks placed, place_tasks(fused, target));
  return std::move(placed.tasks);
}

}  // namespace whet
