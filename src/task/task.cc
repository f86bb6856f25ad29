#include "task/task.h"

#include <map>

#include "task/group_dag.h"

namespace whet {

Result<std::vector<Task>> extract_tasks(const FusedGraph& fused, const Target&) {
  std::vector<Task> tasks;
  std::multimap<std::string, std::size_t> by_key;  // more than one where different dags share a key
  for (std::size_t g = 0; g < fused.groups.size(); ++g) {
    WHET_TRY(ComputeDag dag, group_dag(fused, fused.groups[g]));
    std::string key = workload_key(dag);
    std::size_t at = tasks.size();
    for (auto [entry, end] = by_key.equal_range(key); entry != end; ++entry) {
      if (same_dag(tasks[entry->second].dag, dag)) at = entry->second;
    }
    if (at == tasks.size()) {
      by_key.emplace(key, at);
      tasks.push_back({std::move(key), name_of(fused, fused.groups[g]), std::move(dag)});
    }
    ++tasks[at].weight;
    tasks[at].groups.push_back(static_cast<int>(g));
  }
  return tasks;
}

}  // namespace whet
