#include "workflow/range_choice.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/parallel.h"

namespace whet {
namespace {

/// A task, and the variant that it is of.
struct PlacedTask {
  const Variant* variant;
  const SizedTask* task;
  TaskAcrossSizes* out;
};

/// The task's own sizes.
SizeValues own_sizes(const SizedTask& task, const SizeValues& at) {
  SizeValues own;
  for (const Expr& size : task.sizes) own.push_back(value_at(size, at));
  return own;
}

bool has_point(const Variant& variant, const SizeValues& at) {
  return std::ranges::any_of(variant.boxes, [&](const SizeBox& box) { return contains(box, at); });
}

/// The sizes that were read, and those at which a model is tuned where nobody says otherwise.
Result<std::vector<SizeValues>> sizes_to_ask(const Family& family, const std::vector<WantedSize>& sizes) {
  std::set<SizeValues> all;
  for (SizeValues& at : sizes_to_read(family.sizes)) all.insert(std::move(at));
  WHET_TRY(std::vector<TuningSize> usual, tuning_sizes(sizes, {}));
  for (TuningSize& size : usual) all.insert(std::move(size.at));
  return std::vector<SizeValues>(all.begin(), all.end());
}

/// Those of which there are records: of at least half as many tasks as at any. Where a task is the same at several sizes, those of one
/// speak for all, and say nothing of which it was.
std::vector<SizeValues> known_sizes(const std::vector<SizeValues>& asked, const std::vector<PlacedTask>& tasks,
                                    const Records& records, const Target& target) {
  std::vector<std::set<SizeValues>> known(tasks.size());
  parallel_for(static_cast<int>(tasks.size()), 0, [&](int i) {
    const auto t = static_cast<std::size_t>(i);
    std::map<SizeValues, std::vector<SizeValues>> by_own;  // the network's sizes by the task's
    for (const SizeValues& at : asked)
      if (has_point(*tasks[t].variant, at)) by_own[own_sizes(*tasks[t].task, at)].push_back(at);
    std::vector<SizeValues> own;
    for (const auto& [values, of] : by_own) own.push_back(values);
    const std::vector<bool> has = known_at(tasks[t].task->task.dag, own, records, target);
    for (std::size_t k = 0; k < own.size(); ++k)
      if (has[k]) known[t].insert(by_own[own[k]].begin(), by_own[own[k]].end());
  });
  std::map<SizeValues, int> counts;
  for (const std::set<SizeValues>& of_task : known)
    for (const SizeValues& at : of_task) ++counts[at];
  int most = 0;
  for (const auto& [at, count] : counts) most = std::max(most, count);
  std::vector<SizeValues> all;
  for (const auto& [at, count] : counts)
    if (2 * count >= most) all.push_back(at);
  return all;
}

/// Where the network's sizes are, in those of a task.
std::vector<SizedPoint> points_of(const PlacedTask& placed, const std::vector<TuningSize>& at) {
  std::map<SizeValues, double> uses;
  for (const TuningSize& size : at)
    if (has_point(*placed.variant, size.at))
      uses[own_sizes(*placed.task, size.at)] +=
          static_cast<double>(size.requests) * static_cast<double>(placed.task->task.weight);
  std::vector<SizedPoint> points;
  for (const auto& [own, count] : uses) points.push_back({own, count});
  return points;
}

}  // namespace

Result<RangeChoice> choose_for_ranges(const Family& family, const std::vector<WantedSize>& sizes,
                                      const TuningSizeOptions& options, const Records& records, const Target& target,
                                      const SpaceOptions& schedules) {
  RangeChoice choice;
  for (const Variant& variant : family.variants) choice.tasks.emplace_back(variant.tasks.size());
  std::vector<PlacedTask> tasks;
  for (std::size_t v = 0; v < family.variants.size(); ++v)
    for (std::size_t t = 0; t < choice.tasks[v].size(); ++t)
      if (!family.variants[v].tasks[t].sizes.empty())
        tasks.push_back({&family.variants[v], &family.variants[v].tasks[t], &choice.tasks[v][t]});
  if (options.listed.empty()) {
    std::vector<RequestCount> requests = even_requests(sizes);
    if (!options.lengths.empty()) {
      WHET_TRY(requests, read_lengths(options.lengths, sizes));
    }
    WHET_TRY(const std::vector<SizeValues> asked, sizes_to_ask(family, sizes));
    const std::vector<SizeValues> known = known_sizes(asked, tasks, records, target);
    if (!known.empty()) choice.at = shared_out(requests, known);
  } else {
    WHET_TRY(choice.at, tuning_sizes(sizes, options));
  }
  parallel_for(static_cast<int>(tasks.size()), 0, [&](int i) {
    const PlacedTask& placed = tasks[static_cast<std::size_t>(i)];
    placed.out->points = points_of(placed, choice.at);
    placed.out->schedules =
        across_sizes(placed.task->task.dag, placed.out->points, records, target, schedules);
  });
  return choice;
}

std::function<std::vector<RecordedSchedule>(const Task&)> ranged_by(const Family& family, const RangeChoice& choice) {
  return [&family, &choice](const Task& task) {
    std::vector<RecordedSchedule> recorded;
    for (std::size_t v = 0; v < family.variants.size(); ++v)
      for (std::size_t t = 0; t < choice.tasks[v].size(); ++t) {
        const Task& known = family.variants[v].tasks[t].task;
        if (known.key != task.key || known.within != task.within || !same_dag(known.dag, task.dag)) continue;
        for (const SizedSchedule& each : choice.tasks[v][t].schedules) {
          recorded.push_back({each.steps, each.expected, "", {}, each.candidate, each.from});
        }
        return recorded;
      }
    return recorded;
  };
}

}  // namespace whet
