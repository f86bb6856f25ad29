#include "tuner/placements.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/arithmetic.h"

namespace whet {
namespace {

/// A placement that had less of the run decides nothing.
constexpr double kRare = 0.05;
/// Times of another placement are estimates: another algorithm may be so much slower there and the fastest here.
constexpr double kNearElsewhere = 1.5;

std::string_view first_step(std::string_view steps) { return steps.substr(0, steps.find(';')); }

/// Of one placement, the fastest first.
std::vector<const Record*> timed_in(const PlacedRecords& group) {
  std::vector<const Record*> list;
  for (const auto& [steps, record] : group.last)
    if (record->outcome.ok() && !record->outcome.truncated) list.push_back(record);
  std::ranges::stable_sort(list, {}, [](const Record* r) { return r->outcome.best_seconds(); });
  return list;
}

void keep_nearest(std::vector<const Record*>& list, std::size_t n, double ratio) {
  const auto slower = [&](const Record* r) {
    return r->outcome.best_seconds() > ratio * list.front()->outcome.best_seconds();
  };
  while (!list.empty() && (list.size() > n || slower(list.back()))) list.pop_back();
}

const PlacedRecords* find(const std::vector<PlacedRecords>& groups, const ProcessorPlacement& placement) {
  const auto found =
      std::ranges::find_if(groups, [&](const PlacedRecords& each) { return !differ(each.placement, placement); });
  return found == groups.end() ? nullptr : &*found;
}

}  // namespace

std::vector<PlacedRecords> by_placement(const std::vector<const Record*>& records, const ProcessorPlacement& at_hand) {
  std::vector<PlacedRecords> groups = {{at_hand, {}}};
  PlacedRecords everywhere;
  for (const Record* record : records) {
    const ProcessorPlacement& placement = record->outcome.placement;
    if (!placement.is_known()) {
      everywhere.last[record->steps] = record;
      for (PlacedRecords& each : groups) each.last[record->steps] = record;
      continue;
    }
    const PlacedRecords* known = find(groups, placement);
    PlacedRecords& group =
        known ? groups[static_cast<std::size_t>(known - groups.data())] : groups.emplace_back(everywhere);
    if (!group.placement.is_known()) group.placement = placement;
    group.last[record->steps] = record;
  }
  return groups;
}

std::vector<const Record*> finalists_of(const std::vector<PlacedRecords>& groups, std::size_t n, double ratio) {
  std::vector<const Record*> all;
  for (const PlacedRecords& group : groups) {
    const bool elsewhere = &group != &groups.front();
    std::vector<const Record*> list = timed_in(group);
    std::set<std::string_view> algorithms;
    if (elsewhere)
      std::erase_if(list, [&](const Record* r) { return !algorithms.insert(first_step(r->steps)).second; });
    keep_nearest(list, n, elsewhere ? kNearElsewhere : ratio);
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

const Record* best_over(const PlacementTimes& times, const std::vector<PlacedRecords>& groups) {
  const Record* best = nullptr;
  double least = kInfinity;
  for (const auto& [steps, at_hand] : groups.front().last) {
    if (!at_hand->outcome.ok() || at_hand->outcome.truncated) continue;
    double seconds = 0;
    for (const PlacementTimes::Part& part : times.parts()) {
      if (times.share(part) < kRare) continue;
      const PlacedRecords* group = find(groups, part.placement);
      const auto own = group ? group->last.find(steps) : groups.front().last.end();
      const bool known = group && own != group->last.end() && own->second->outcome.ok();
      seconds += known ? times.share(part) * own->second->outcome.best_seconds() : kInfinity;
    }
    if (seconds < least) least = seconds, best = at_hand;
  }
  return best;
}

bool streams(const MeasureTask& task) {
  if (!task.target.is_cpu()) return false;
  return bytes(task.dag) > static_cast<double>(task.target.cpu().l2_bytes * task.target.threads);
}

}  // namespace whet
