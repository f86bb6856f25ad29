#include "task/task.h"

#include <map>
#include <utility>

#include "task/group_dag.h"

namespace whet {
namespace {

/// Collects groups that compute the same into the same place.
class Collector {
 public:
  void add(const FusedGraph& fused, std::size_t g, ComputeDag dag, Shape within) {
    std::string key = workload_key(dag);
    std::size_t at = tasks_.size();
    for (auto [entry, end] = by_key_.equal_range(key); entry != end; ++entry) {
      const Task& known = tasks_[entry->second];
      if (known.within == within && same_dag(known.dag, dag)) at = entry->second;
    }
    if (at == tasks_.size()) {
      by_key_.emplace(key, at);
      std::string name = name_of(fused, fused.groups[g]);
      if (!within.empty()) name += " in " + to_string(within);
      tasks_.push_back({std::move(key), std::move(name), std::move(dag), 0, {}, std::move(within)});
    }
    ++tasks_[at].weight;
    tasks_[at].groups.push_back(static_cast<int>(g));
  }
  std::vector<Task> take() { return std::move(tasks_); }

 private:
  std::vector<Task> tasks_;
  std::multimap<std::string, std::size_t> by_key_;  // more than one where different dags share a key
};

}  // namespace

Result<PlacedTasks> place_tasks(const FusedGraph& fused, const Target&) {
  std::vector<ComputeDag> dags;
  std::vector<Shape> layouts;
  for (const Group& group : fused.groups) {
    WHET_TRY(ComputeDag dag, group_dag(fused, group));
    layouts.push_back(dag.op(dag.outputs.front()).shape);
    dags.push_back(std::move(dag));
  }
  PlacedTasks placed{{}, find_in_place(fused.graph, fused.groups, layouts)};
  Collector collector;
  for (std::size_t g = 0; g < fused.groups.size(); ++g)
    if (!placed.in_place.done[g]) collector.add(fused, g, std::move(dags[g]), placed.in_place.within(fused.groups[g]));
  placed.tasks = collector.take();
  return placed;
}

Result<std::vector<Task>> extract_tasks(const FusedGraph& fused, const Target& target) {
  WHET_TRY(PlacedTasks placed, place_tasks(fused, target));
  return std::move(placed.tasks);
}

}  // namespace whet
