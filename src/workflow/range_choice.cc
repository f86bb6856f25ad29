#include "workflow/range_choice.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "workflow/cut_sizes.h"
#include "workflow/untuned_pieces.h"

namespace whet {
namespace {

/// Schedules of this number of sizes at most are weighed, each at each.
constexpr std::size_t kMostPoints = 8;
/// Sizes that are looked for in records at most, besides those at which a model is tuned: the key of each task is computed at each.
constexpr std::size_t kMostAsked = 1024;

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

/// At most `count` of them, as evenly as that goes.
std::vector<SizeValues> thinned(const std::vector<SizeValues>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<SizeValues> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * (all.size() - 1) / (count - 1)]);
  return some;
}

/// The sizes that were read, of many as evenly as that goes, and those at which a model is tuned by these options and by none, as far as
/// these are sizes to tune at.
std::vector<SizeValues> sizes_to_ask(const Family& family, const std::vector<WantedSize>& sizes,
                                     const TuningSizeOptions& options) {
  std::vector<SizeValues> read = sizes_to_read(family.sizes);
  std::ranges::sort(read);
  read = thinned(read, kMostAsked);
  std::set<SizeValues> all(read.begin(), read.end());
  for (const TuningSizeOptions& asked : {TuningSizeOptions(), options})
    if (Result<std::vector<TuningSize>> tuned = tuning_sizes(sizes, asked); tuned.ok())
      for (TuningSize& size : *tuned) all.insert(std::move(size.at));
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

/// Cuts a variant into pieces.
class Cutting {
 public:
  Cutting(const Variant& variant, const std::vector<TaskAcrossSizes>& tasks, const std::vector<SizeRange>& sizes,
          const std::vector<TuningSize>& at)
      : variant_(variant), tasks_(tasks), sizes_(sizes) {
    for (const TuningSize& size : at)
      if (has_point(variant, size.at)) at_.push_back(&size);
  }

  std::vector<VariantPiece> pieces() const {
    const std::optional<std::size_t> ranged = only_range(variant_, sizes_.size());
    std::vector<std::size_t> begins = {0};
    if (ranged && at_.size() > 1) begins = cut_points(expected(), at_.size(), kMostPieces, kWorth);
    std::vector<VariantPiece> pieces;
    for (std::size_t k = 0; k < begins.size(); ++k) {
      const std::size_t end = k + 1 < begins.size() ? begins[k + 1] : at_.size();
      VariantPiece& piece = pieces.emplace_back(VariantPiece{variant_.boxes, schedules(begins[k], end)});
      if (!ranged) continue;
      const auto value = [&](std::size_t point) { return at_[point]->at[*ranged]; };
      const std::int64_t low = k > 0 ? last_before(value(begins[k] - 1), value(begins[k])) + 1 : 0;
      const std::int64_t high = end < at_.size() ? last_before(value(end - 1), value(end)) : kLargestSize;
      piece.boxes = clipped(variant_, *ranged, sizes_[*ranged], low, high);
    }
    return pieces;
  }

 private:
  static constexpr std::size_t kMostPieces = 3;
  static constexpr double kWorth = 0.03;

  bool packs_as_the_best(std::size_t t, std::size_t k) const {
    return tasks_[t].schedules[k].packing == tasks_[t].schedules.front().packing;
  }

  /// Of tasks with schedules: the seconds of all requests by those that may be kernels of a piece.
  std::vector<ExpectedSeconds> expected() const {
    std::vector<ExpectedSeconds> all;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (tasks_[t].schedules.empty()) continue;
      const ExpectedSeconds seconds = expected_of(t, 0, at_.size());
      ExpectedSeconds& own = all.emplace_back();
      for (std::size_t k = 0; k < seconds.size(); ++k)
        if (packs_as_the_best(t, k)) own.push_back(seconds[k]);
    }
    return all;
  }
  /// Of points first .. end - 1, one list a schedule.
  ExpectedSeconds expected_of(std::size_t t, std::size_t first, std::size_t end) const {
    const SizedTask& task = variant_.tasks[t];
    ExpectedSeconds seconds(tasks_[t].schedules.size());
    for (std::size_t p = first; p < end; ++p) {
      const auto point = std::ranges::find(tasks_[t].points, own_sizes(task, at_[p]->at), &SizedPoint::at);
      const auto place = static_cast<std::size_t>(point - tasks_[t].points.begin());
      const double uses = static_cast<double>(at_[p]->requests) * task.task.weight;
      for (std::size_t k = 0; k < seconds.size(); ++k)
        seconds[k].push_back(uses * tasks_[t].schedules[k].seconds[place]);
    }
    return seconds;
  }

  /// Of each task, the best at these points first; those that pack otherwise come last.
  std::vector<std::vector<RecordedSchedule>> schedules(std::size_t first, std::size_t end) const {
    std::vector<std::vector<RecordedSchedule>> all;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const ExpectedSeconds seconds = expected_of(t, first, end);
      std::vector<std::pair<std::pair<bool, double>, std::size_t>> order;
      for (std::size_t k = 0; k < seconds.size(); ++k)
        order.push_back({{!packs_as_the_best(t, k), std::accumulate(seconds[k].begin(), seconds[k].end(), 0.0)}, k});
      std::ranges::sort(order);
      std::vector<RecordedSchedule>& own = all.emplace_back();
      for (const auto& [rank, k] : order) {
        const SizedSchedule& each = tasks_[t].schedules[k];
        own.push_back({each.steps, rank.second, "", {}, each.candidate, each.from});
      }
    }
    return all;
  }

  const Variant& variant_;
  const std::vector<TaskAcrossSizes>& tasks_;
  const std::vector<SizeRange>& sizes_;
  std::vector<const TuningSize*> at_;  ///< of the variant, ascending
};

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
  if (records.size() > 0 && options.listed.empty()) {
    std::vector<RequestCount> requests = even_requests(sizes);
    if (!options.lengths.empty()) {
      WHET_TRY(requests, read_lengths(options.lengths, sizes));
    }
    const std::vector<SizeValues> asked = sizes_to_ask(family, sizes, options);
    const std::vector<SizeValues> known = known_sizes(asked, tasks, records, target);
    if (!known.empty()) choice.at = shared_out(requests, thinned(known, kMostPoints));
  } else if (records.size() > 0) {
    WHET_TRY(choice.at, tuning_sizes(sizes, options));
  }
  parallel_for(static_cast<int>(tasks.size()), 0, [&](int i) {
    const PlacedTask& placed = tasks[static_cast<std::size_t>(i)];
    placed.out->points = points_of(placed, choice.at);
    placed.out->schedules = across_sizes(placed.task->task.dag, placed.out->points, records, target, schedules);
  });
  std::vector<TuningSize> untuned;  // where nothing was measured; none: they are no sizes to tune at
  if (Result<std::vector<TuningSize>> usual = tuning_sizes(sizes, options); usual.ok())
    untuned = std::move(usual).value();
  for (std::size_t v = 0; v < family.variants.size(); ++v) {
    const Variant& variant = family.variants[v];
    const bool measured =
        std::ranges::any_of(choice.at, [&](const TuningSize& size) { return has_point(variant, size.at); });
    choice.pieces.push_back(
        measured ? Cutting(variant, choice.tasks[v], family.sizes, choice.at).pieces()
                 : untuned_pieces(variant, family.sizes, untuned, !options.lengths.empty(), target, schedules));
  }
  return choice;
}

}  // namespace whet
