#include "tuner/suggestions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "base/arithmetic.h"
#include "compute/anchor.h"
#include "tuner/shape_distance.h"

namespace whet {
namespace {

/// Tasks of the same structure that a new one learns from. With a record base they are tasks of the same kind of anchor, and count
/// together with what the base suggests.
constexpr std::size_t kSuggestions = 2, kSuggestionsWithBase = 4;

double distance_of(const TaskTuning& task, const TaskTuning& other, bool by_anchor) {
  if (!by_anchor) return shape_distance(task.measure_task().key, other.measure_task().key);
  const std::optional<Anchor> a = anchor_of(task.measure_task().dag), b = anchor_of(other.measure_task().dag);
  return a && b ? anchor_distance(*a, *b) : kInfinity;
}

}  // namespace

void suggest_neighbours(TaskTuning& task, const std::vector<TaskTuning>& tasks, const Records& records,
                        bool by_anchor) {
  struct Near {
    double distance;
    const Record* best;
    const DesignSpace* space;  ///< null: of another model
  };
  std::vector<Near> list;
  std::set<std::string> seen = {task.measure_task().key};
  if (const auto own = records.best(task.measure_task().key, task.measure_task().within, task.measure_task().target);
      own && !task.applies(*own->record))
    list.push_back({0, own->record, nullptr});
  if (!task.twin().empty() && seen.insert(task.twin()).second)
    if (const auto twin = records.best(task.twin(), task.measure_task().within, task.measure_task().target))
      list.push_back({0, twin->record, nullptr});
  for (const TaskTuning& other : tasks)
    if (const Record* best = other.incumbent(records); best && seen.insert(best->key).second)
      list.push_back({distance_of(task, other, by_anchor), best, &other.space()});
  for (const std::string_view key : records.keys()) {
    const double distance = shape_distance(task.measure_task().key, key);
    if (!std::isfinite(distance) || !seen.insert(std::string(key)).second) continue;
    if (const auto best = records.best(key, task.measure_task().within, task.measure_task().target))
      list.push_back({distance, best->record, nullptr});
  }
  std::erase_if(list, [](const Near& near) { return !std::isfinite(near.distance); });
  std::stable_sort(list.begin(), list.end(), [](const Near& a, const Near& b) { return a.distance < b.distance; });
  const std::size_t suggested = by_anchor ? task.transfers_left() : 0;
  const std::size_t most = by_anchor ? kSuggestionsWithBase : kSuggestions;
  for (std::size_t i = 0; i < list.size() && (list[i].distance == 0 || i + suggested < most); ++i)
    task.suggest({list[i].best->candidate}, list[i].space);
}

void suggest_siblings(TaskTuning& task, const std::vector<TaskTuning>& tasks, const Records& records) {
  for (const TaskTuning& other : tasks) {
    if (&other == &task || !std::isfinite(distance_of(task, other, false))) continue;
    if (const Record* best = other.incumbent(records)) task.suggest({best->candidate}, &other.space());
  }
}

}  // namespace whet
