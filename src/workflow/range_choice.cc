#include "workflow/range_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "compiler/kernels.h"
#include "schedule/steps_for_sizes.h"
#include "workflow/cut_sizes.h"
#include "workflow/measured_pieces.h"
#include "workflow/untuned_pieces.h"

namespace whet {
namespace {

/// Schedules of this number of sizes at most are weighed, each at each.
constexpr std::size_t kMostPoints = 16;
/// Kernels of a task, and what one more has to save of the expected seconds.
constexpr std::size_t kMostKernels = 3;
constexpr double kWorthAKernel = 0.01;
/// Sizes that are looked for in records at most, besides those at which a model is tuned: the key of each task is computed at each.
constexpr std::size_t kMostAsked = 1024;

/// A task, and the variant that it is of.
struct PlacedTask {
  const Variant* variant;
  const SizedTask* task;
  TaskAcrossSizes* out;
};

/// At most `count` of them, as evenly as that goes.
std::vector<SizeValues> thinned(const std::vector<SizeValues>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<SizeValues> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * (all.size() - 1) / (count - 1)]);
  return some;
}

/// The sizes that were read, of many as evenly as that goes, and those at which a model is tuned and its kernels are timed by these
/// options and by none, as far as these are sizes to tune at.
std::vector<SizeValues> sizes_to_ask(const Family& family, const std::vector<WantedSize>& sizes,
                                     const TuningSizeOptions& options) {
  std::vector<SizeValues> read = sizes_to_read(family.sizes);
  std::ranges::sort(read);
  read = thinned(read, kMostAsked);
  std::set<SizeValues> all(read.begin(), read.end());
  for (const TuningSizeOptions& asked : {TuningSizeOptions(), options})
    if (Result<std::vector<TuningSize>> tuned = ladder_sizes(sizes, asked); tuned.ok())
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

/// The kernels of a task over all of its points, of the schedules that count.
KernelChoice kernels_of(const TaskAcrossSizes& task, const std::function<bool(const SizedSchedule&)>& counts) {
  constexpr std::size_t kMostWeighed = 64;  // all sets of three of them are
  std::vector<std::size_t> numbers;
  ExpectedSeconds seconds;
  for (std::size_t k = 0; k < task.schedules.size(); ++k) {
    if (!counts(task.schedules[k])) continue;
    if (numbers.size() == kMostWeighed) break;  // the best are first
    numbers.push_back(k);
    std::vector<double>& own = seconds.emplace_back();
    for (std::size_t p = 0; p < task.points.size(); ++p)
      own.push_back(task.points[p].uses * task.schedules[k].seconds[p]);
  }
  if (seconds.empty()) return {};
  KernelChoice choice = choose_kernels(seconds, kMostKernels, kWorthAKernel);
  for (std::size_t& kernel : choice.kernels) kernel = numbers[kernel];
  return choice;
}

/// How the schedules pack the constants whose kernels take the least time together, each being worth its own. Where some were timed as
/// kernels for all sizes, these say so: a hopeful estimate takes no packing from them.
std::string packing_of(const TaskAcrossSizes& task) {
  const auto is_known = [](const SizedSchedule& each) {
    return std::ranges::find(each.ranged, true) != each.ranged.end();
  };
  std::string best;
  double least = kInfinity;
  std::set<std::string_view> seen;
  for (const SizedSchedule& each : task.schedules) {
    if (is_known(each) != is_known(task.schedules.front()) || !seen.insert(each.packing).second) continue;
    const KernelChoice choice = kernels_of(task, [&](const SizedSchedule& other) {
      return other.packing == each.packing && is_known(other) == is_known(each);
    });
    const double seconds = choice.seconds / std::pow(1 - kWorthAKernel, static_cast<double>(choice.kernels.size()));
    if (seconds < least) least = seconds, best = each.packing;
  }
  return best;
}

/// Fills `packing` and `kernels`.
void choose_kernels_of(TaskAcrossSizes& task) {
  task.packing = packing_of(task);
  task.kernels = kernels_of(task, [&](const SizedSchedule& each) { return each.packing == task.packing; });
}

/// The kernels of a task in a library without records that has these pieces, and by the default schedules of sizes.
std::vector<SizedSchedule> untuned_kernels(const Variant& variant, const SizedTask& task, const UntunedRanges& untuned,
                                           const std::vector<VariantPiece>& pieces, const Target& target) {
  std::vector<SizedSchedule> kernels;
  for (const VariantPiece& piece : pieces)
    if (const auto known = untuned_schedule(task_at(task, piece.at), untuned.source, target))
      kernels.push_back({known->steps, known->candidate, "", known->at, {}, {}, {}});
  for (const TuningSize& size : untuned.tuned) {
    if (!has_point(variant, size.at)) continue;
    const SizeValues own = own_sizes(task, size.at);
    const ComputeDag dag = dag_at(task.task.dag, own);
    const Result<Steps> usual = untuned.source.fallback(dag);
    if (usual.ok() && steps_for_sizes(moved_to(task.task.dag, own), *usual).ok())
      kernels.push_back({to_text(*usual), untuned.source.space(dag).default_candidate(), "", own, {}, {}, {}});
  }
  return kernels;
}

/// Where nothing was measured; none: they are no sizes to tune at.
std::vector<TuningSize> sizes_to_estimate(const std::vector<WantedSize>& sizes, const TuningSizeOptions& options) {
  Result<std::vector<TuningSize>> usual = tuning_sizes(sizes, options);
  return usual.ok() ? std::move(usual).value() : std::vector<TuningSize>();
}

}  // namespace

std::vector<LadderTask> ladder_tasks(const Family& family, const std::vector<TuningSize>& at,
                                     const UntunedRanges& untuned, const Target& target) {
  std::vector<LadderTask> tasks;
  std::vector<std::pair<std::size_t, const SizedTask*>> of;  // the variant and the task of each
  for (std::size_t v = 0; v < family.variants.size(); ++v)
    for (const SizedTask& task : family.variants[v].tasks) {
      if (task.sizes.empty()) continue;
      std::vector<SizedPoint> points = points_of({&family.variants[v], &task, nullptr}, at);
      if (points.empty()) continue;
      tasks.push_back({task.task.name, task.task.dag, std::move(points)});
      of.emplace_back(v, &task);
    }
  if (untuned.pieces.empty()) return tasks;
  parallel_for(static_cast<int>(tasks.size()), 0, [&](int i) {
    const auto t = static_cast<std::size_t>(i);
    const auto [v, task] = of[t];
    tasks[t].always = untuned_kernels(family.variants[v], *task, untuned, untuned.pieces[v], target);
  });
  return tasks;
}

FamilyPieces untuned_choice(const Family& family, const std::vector<WantedSize>& sizes,
                            const TuningSizeOptions& options, const Target& target, const SpaceOptions& schedules) {
  const std::vector<TuningSize> usual = sizes_to_estimate(sizes, options);
  FamilyPieces pieces;
  for (const Variant& variant : family.variants)
    pieces.push_back(untuned_pieces(variant, family.sizes, usual, !options.lengths.empty(), target, schedules));
  return pieces;
}

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
  const bool has_records = records.size() > 0 || !records.ranged().empty();
  if (has_records && options.listed.empty()) {
    WHET_TRY(const std::vector<RequestCount> requests, requests_of(sizes, options));
    const std::vector<SizeValues> asked = sizes_to_ask(family, sizes, options);
    const std::vector<SizeValues> known = known_sizes(asked, tasks, records, target);
    if (!known.empty()) choice.at = shared_out(requests, thinned(known, kMostPoints));
  } else if (has_records) {
    WHET_TRY(choice.at, tuning_sizes(sizes, options));
  }
  parallel_for(static_cast<int>(tasks.size()), 0, [&](int i) {
    const PlacedTask& placed = tasks[static_cast<std::size_t>(i)];
    placed.out->points = points_of(placed, choice.at);
    placed.out->schedules = across_sizes(placed.task->task.dag, placed.out->points, records, target, schedules);
    choose_kernels_of(*placed.out);
  });
  const std::vector<TuningSize> untuned = sizes_to_estimate(sizes, options);
  for (std::size_t v = 0; v < family.variants.size(); ++v) {
    const Variant& variant = family.variants[v];
    const bool is_measured =
        std::ranges::any_of(choice.tasks[v], [](const TaskAcrossSizes& task) { return !task.schedules.empty(); });
    choice.pieces.push_back(
        is_measured ? measured_pieces(variant, choice.tasks[v], family.sizes, choice.at, target, schedules)
                    : untuned_pieces(variant, family.sizes, untuned, !options.lengths.empty(), target, schedules));
  }
  return choice;
}

}  // namespace whet
