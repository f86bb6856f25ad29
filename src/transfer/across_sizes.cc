#include "transfer/across_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "cost/features.h"
#include "lower/lower.h"
#include "schedule/steps_for_sizes.h"
#include "trial/placement.h"

namespace whet {
namespace {

constexpr std::size_t kMostOfAPoint = 3;
/// How much longer than the best a schedule is said to take where nothing can be estimated.
constexpr double kUnknown = 2;

/// A point, and what was measured there.
struct Point {
  SizeValues at;
  double uses;
  ComputeDag dag;
  std::vector<const Record*> ranking;  ///< whose times compare, the best first
  double known = 0, reference = 0;     ///< a time, and the estimate of whose it is; 0: there is none
  double factor = 1;                   ///< of kernels for all sizes over those of this one
  std::optional<DesignSpace> space = {};

  double best_seconds() const { return ranking.front()->outcome.clock_seconds(); }
  std::optional<double> seconds_of(const std::string& steps) const {
    const auto record = std::ranges::find_if(ranking, [&](const Record* r) { return r->steps == steps; });
    return record == ranking.end() ? std::nullopt : std::optional((*record)->outcome.clock_seconds());
  }
};

/// As Records::best compares them.
std::vector<const Record*> ranking_of(std::vector<const Record*> ranking, const SpaceOptions& options) {
  std::erase_if(ranking, [&](const Record* r) { return !permits(options, r->numerics); });
  if (ranking.empty()) return ranking;
  const Record& best = *ranking.front();
  std::erase_if(ranking, [&](const Record* r) {
    return r->codegen != best.codegen || r->outcome.cache != best.outcome.cache || r->within != best.within ||
           r->outcome.emulated() != best.outcome.emulated() || differ(r->outcome.placement, best.outcome.placement);
  });
  return ranking;
}

/// A kernel for all sizes: the schedule, and the size whose it is.
struct KernelId {
  std::string_view steps;
  SizeValues from;
  auto operator<=>(const KernelId&) const = default;
};
KernelId kernel_of(const RangedRecord& r) { return {r.record.steps, r.from}; }

/// Times of kernels for all sizes.
class RangedTimes {
 public:
  RangedTimes(const ComputeDag& dag, const Records& records, const Target& target, const SpaceOptions& options) {
    if (records.ranged().empty()) return;
    for (const RangedRecord* each : records.ranged_of(range_id(dag), target)) {
      if (!permits(options, each->record.numerics) || !check_values(dag.sizes, each->at).ok() ||
          !check_values(dag.sizes, each->from).ok())
        continue;
      if (!each->record.outcome.ok())
        failed_.insert(each->record.steps);
      else
        times_[kernel_of(*each)][each->at] = each;
    }
    std::erase_if(times_, [&](const auto& entry) { return failed_.contains(entry.first.steps); });
  }

  bool has_failed(std::string_view steps) const { return failed_.contains(steps); }
  bool has_point(const SizeValues& at) const {
    return std::ranges::any_of(times_, [&](const auto& entry) { return entry.second.contains(at); });
  }
  const RangedRecord* find(const KernelId& kernel, const SizeValues& at) const {
    const auto entry = times_.find(kernel);
    if (entry == times_.end()) return nullptr;
    const auto time = entry->second.find(at);
    return time == entry->second.end() ? nullptr : time->second;
  }
  /// The fastest at a point; null: none was timed there.
  const RangedRecord* best_at(const SizeValues& at) const {
    const RangedRecord* best = nullptr;
    for (const auto& [kernel, times] : times_)
      if (const auto time = times.find(at); time != times.end())
        if (best == nullptr || seconds_of(*time->second) < seconds_of(*best)) best = time->second;
    return best;
  }
  static double seconds_of(const RangedRecord& r) { return r.record.outcome.clock_seconds(); }

  using Times = std::map<SizeValues, const RangedRecord*>;
  const std::map<KernelId, Times>& all() const { return times_; }

 private:
  std::map<KernelId, Times> times_;
  std::set<std::string_view> failed_;
};

class Weighing {
 public:
  Weighing(const ComputeDag& dag, const std::vector<SizedPoint>& points, const Records& records, const Target& target,
           const SpaceOptions& options)
      : dag_(dag), target_(target), options_(options), ranged_(dag, records, target, options) {
    for (const SizedPoint& each : points) {
      Point& point = points_.emplace_back(Point{each.at, each.uses, dag_at(dag, each.at), {}});
      point.ranking = ranking_of(records.ranking(workload_key(point.dag), {}, target), options);
      find_reference(point);
    }
  }

  std::vector<SizedSchedule> run() {
    std::vector<SizedSchedule> schedules;
    for (const auto& [kernel, times] : ranged_.all())
      add(times.begin()->second->record, times.begin()->first, kernel.from, schedules);
    for (const Point& point : points_)
      for (std::size_t k = 0; k < std::min(kMostOfAPoint, point.ranking.size()); ++k)
        add(*point.ranking[k], point.at, point.at, schedules);
    std::ranges::stable_sort(schedules, {}, [](const SizedSchedule& each) {
      const bool known = std::ranges::find(each.ranged, true) != each.ranged.end();
      return std::pair(!known, each.expected);
    });
    return schedules;
  }

 private:
  /// 0: there is none.
  double estimate(const ComputeDag& dag, const Steps& steps) const {
    const Result<LoopTree> tree = replay(dag, steps);
    return tree.ok() ? analytic_seconds(*tree, target_) : 0;
  }

  /// What times of the point are estimated from: the fastest kernel for all sizes, else the fastest of the size alone.
  void find_reference(Point& point) const {
    if (const RangedRecord* best = ranged_.best_at(point.at)) {
      point.known = RangedTimes::seconds_of(*best);
      point.reference = estimate_of(best->record.steps, best->from, point.dag);
      find_factor(point);
    } else if (!point.ranking.empty()) {
      point.known = point.best_seconds();
      if (const Result<Steps> steps = parse_steps(point.ranking.front()->steps); steps.ok())
        point.reference = estimate(point.dag, *steps);
    }
  }

  /// Of a kernel for all sizes at one of them.
  double estimate_of(const std::string& text, const SizeValues& from, const ComputeDag& at) const {
    const Result<Steps> own = parse_steps(text);
    if (!own.ok()) return 0;
    const Result<Steps> steps = steps_for_sizes(moved_to(dag_, from), *own);
    return steps.ok() ? estimate(at, *steps) : 0;
  }

  /// How much longer schedules take there as kernels for all sizes, by those that were timed as both.
  void find_factor(Point& point) const {
    double logs = 0;
    int count = 0;
    for (const auto& [kernel, times] : ranged_.all()) {
      const auto time = times.find(point.at);
      const std::optional<double> alone = point.seconds_of(std::string(kernel.steps));
      if (time == times.end() || !alone) continue;
      logs += std::log(RangedTimes::seconds_of(*time->second) / *alone), ++count;
    }
    if (count > 0) point.factor = std::exp(logs / count);
  }

  std::string packing(const ComputeDag& dag, const Steps& steps) const {
    const Result<LoopTree> tree = replay(dag, steps);
    if (!tree.ok()) return "";
    const Result<Lowered> lowered = lower_until(*tree, target_, "generate");
    return lowered.ok() ? to_text(lowered->packing) : "";
  }

  const DesignSpace& space_of(Point& point) const {
    if (!point.space) point.space = make_space(point.dag, target_, options_);
    return *point.space;
  }

  /// A schedule of the task at `from`, which the record has a time of at `timed`.
  void add(const Record& record, const SizeValues& timed, const SizeValues& from,
           std::vector<SizedSchedule>& schedules) {
    if (ranged_.has_failed(record.steps) ||
        std::ranges::find(schedules, record.steps, &SizedSchedule::steps) != schedules.end())
      return;
    const Result<Steps> own = parse_steps(record.steps);
    if (!own.ok()) return;
    const Result<Steps> steps = steps_for_sizes(moved_to(dag_, from), *own);
    if (!steps.ok()) return;  // no kernel of a range can run by it
    Point origin{from, 1, dag_at(dag_, from), {}};
    SizedSchedule schedule{record.steps, record.candidate, packing(origin.dag, *own), from, {}, {}, {}};
    Own known{record.outcome.clock_seconds(), 0};
    known.estimate = timed == from ? estimate(origin.dag, *own) : estimate(dag_at(dag_, timed), *steps);
    for (Point& point : points_) {
      const RangedRecord* ranged = ranged_.find({schedule.steps, from}, point.at);
      const std::optional<double> alone = point.seconds_of(schedule.steps);
      const bool is_measured = ranged != nullptr || (alone && !ranged_.has_point(point.at));
      const double seconds = ranged != nullptr ? RangedTimes::seconds_of(*ranged)
                             : alone           ? *alone * point.factor
                                               : estimated(point, *steps, schedule.candidate, origin, known);
      schedule.seconds.push_back(seconds);
      schedule.measured.push_back(is_measured);
      schedule.ranged.push_back(ranged != nullptr);
      schedule.expected += point.uses * seconds;
    }
    schedules.push_back(std::move(schedule));
  }

  /// A time of a schedule, and the estimate there.
  struct Own {
    double seconds, estimate;
  };

  double estimated(Point& point, const Steps& steps, const Candidate& candidate, Point& origin, const Own& own) const {
    const double seconds = estimate_at(point, steps, candidate, origin);
    const bool alone = point.known == 0;
    const double reference = alone ? own.estimate : point.reference, known = alone ? own.seconds : point.known;
    if (seconds <= 0 || reference <= 0) return known * kUnknown;
    return known * (alone ? seconds / reference : std::max(1.0, seconds / reference));
  }

  /// Of the schedule as a range has it; where its tiles are larger than the point, of the one that is fitted there.
  double estimate_at(Point& point, const Steps& steps, const Candidate& candidate, Point& from) const {
    if (const double whole = estimate(point.dag, steps); whole > 0) return whole;
    if (candidate.sketch.empty()) return 0;
    const auto fitted = space_of(point).refit(candidate, space_of(from).extents(candidate.sketch));
    if (!fitted) return 0;
    const Result<Scheduled> scheduled = space_of(point).schedule(*fitted);
    return scheduled.ok() ? analytic_seconds(scheduled->tree, target_) : 0;
  }

  const ComputeDag& dag_;
  const Target& target_;
  const SpaceOptions& options_;
  const RangedTimes ranged_;
  std::vector<Point> points_;
};

/// Calls `found` with each subset of `size` of the numbers first .. end - 1, behind those that `chosen` has.
void each_subset(std::size_t first, std::size_t end, std::size_t size, std::vector<std::size_t>& chosen,
                 const std::function<void()>& found) {
  if (size == 0) return found();
  for (std::size_t k = first; k + size <= end; ++k) {
    chosen.push_back(k);
    each_subset(k + 1, end, size - 1, chosen, found);
    chosen.pop_back();
  }
}

/// The sum over the points of the least of these.
double sum_of_least(const ExpectedSeconds& seconds, const std::vector<std::size_t>& kernels) {
  double sum = 0;
  for (std::size_t p = 0; p < seconds.front().size(); ++p) {
    double least = kInfinity;
    for (const std::size_t k : kernels) least = std::min(least, seconds[k][p]);
    sum += least;
  }
  return sum;
}

}  // namespace

std::string range_id(const ComputeDag& dag) {
  SizeValues low;
  for (const SizeRange& size : dag.sizes) low.push_back(size.min);
  std::uint64_t hash = hash_bytes(workload_key(dag_at(dag, low)));
  SizeValues high = low;
  for (std::size_t k = 0; k < dag.sizes.size(); ++k) {
    const SizeRange& size = dag.sizes[k];
    for (const std::int64_t number : {size.min, size.max, size.step})
      hash = hash_combine(hash, static_cast<std::uint64_t>(number));
    SizeValues one = low;
    one[k] = high[k] = size.max;
    hash = hash_bytes(workload_key(dag_at(dag, one)), hash);
  }
  return fmt::format("{:016x}", hash_bytes(workload_key(dag_at(dag, high)), hash));
}

KernelChoice choose_kernels(const ExpectedSeconds& seconds, std::size_t most, double worth) {
  KernelChoice taken;
  std::vector<std::size_t> all(seconds.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const double bound = sum_of_least(seconds, all);
  for (std::size_t size = 1; size <= std::min(most, seconds.size()); ++size) {
    KernelChoice best{{}, kInfinity, bound};
    std::vector<std::size_t> chosen;
    each_subset(0, seconds.size(), size, chosen, [&] {
      const double sum = sum_of_least(seconds, chosen);
      if (best.kernels.empty() || sum < best.seconds) best.kernels = chosen, best.seconds = sum;
    });
    const auto more = static_cast<double>(size - taken.kernels.size());
    if (taken.kernels.empty() || best.seconds < taken.seconds * std::pow(1 - worth, more)) taken = std::move(best);
  }
  return taken;
}

std::vector<SizedSchedule> across_sizes(const ComputeDag& dag, const std::vector<SizedPoint>& points,
                                        const Records& records, const Target& target, const SpaceOptions& options) {
  return Weighing(dag, points, records, target, options).run();
}

std::vector<std::size_t> cut_points(const std::vector<ExpectedSeconds>& tasks, std::size_t points, std::size_t most,
                                    double worth) {
  // seconds[i][j]: of the points i .. j as one piece.
  std::vector<std::vector<double>> seconds(points, std::vector<double>(points, 0));
  for (const ExpectedSeconds& task : tasks)
    for (std::size_t i = 0; i < points; ++i) {
      std::vector<double> sums(task.size(), 0);
      for (std::size_t j = i; j < points; ++j) {
        for (std::size_t k = 0; k < task.size(); ++k) sums[k] += task[k][j];
        seconds[i][j] += *std::ranges::min_element(sums);
      }
    }
  // least[n][j]: of the points 0 .. j in n + 1 pieces, of which the last begins at begins[n][j].
  const std::size_t pieces = std::min(most, points);
  std::vector<std::vector<double>> least(pieces, std::vector<double>(points, kInfinity));
  std::vector<std::vector<std::size_t>> begins(pieces, std::vector<std::size_t>(points, 0));
  for (std::size_t j = 0; j < points; ++j) {
    least[0][j] = seconds[0][j];
    for (std::size_t n = 1; n < pieces; ++n)
      for (std::size_t i = n; i <= j; ++i)
        if (const double sum = least[n - 1][i - 1] + seconds[i][j]; sum < least[n][j])
          least[n][j] = sum, begins[n][j] = i;
  }
  std::vector<std::size_t> cuts = {0};
  std::size_t taken = 0;
  for (std::size_t n = 1; n < pieces; ++n)
    if (least[n].back() < least[taken].back() * std::pow(1 - worth, static_cast<double>(n - taken))) taken = n;
  for (std::size_t n = taken, j = points; n > 0; --n) {
    j = begins[n][j - 1];
    cuts.insert(cuts.begin() + 1, j);
  }
  return cuts;
}

std::vector<bool> known_at(const ComputeDag& dag, const std::vector<SizeValues>& points, const Records& records,
                           const Target& target) {
  std::vector<bool> known;
  const RangedTimes ranged(dag, records, target, {});
  for (const SizeValues& at : points)
    known.push_back(ranged.has_point(at) || !records.ranking(workload_key(dag_at(dag, at)), {}, target).empty());
  return known;
}

}  // namespace whet
