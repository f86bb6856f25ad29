#include "transfer/across_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/arithmetic.h"
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
  double best_estimate = 0;            ///< of the best
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

class Weighing {
 public:
  Weighing(const ComputeDag& dag, const std::vector<SizedPoint>& points, const Records& records, const Target& target,
           const SpaceOptions& options)
      : dag_(dag), target_(target), options_(options) {
    for (const SizedPoint& each : points) {
      Point& point = points_.emplace_back(Point{each.at, each.uses, dag_at(dag, each.at), {}});
      point.ranking = ranking_of(records.ranking(workload_key(point.dag), {}, target), options);
      if (point.ranking.empty()) continue;
      const Result<Steps> best = parse_steps(point.ranking.front()->steps);
      if (best.ok()) point.best_estimate = estimate(point.dag, *best);
    }
  }

  std::vector<SizedSchedule> run() {
    std::vector<SizedSchedule> schedules;
    for (std::size_t p = 0; p < points_.size(); ++p)
      for (std::size_t k = 0; k < std::min(kMostOfAPoint, points_[p].ranking.size()); ++k)
        add(*points_[p].ranking[k], p, schedules);
    std::ranges::stable_sort(schedules, {}, &SizedSchedule::expected);
    return schedules;
  }

 private:
  /// 0: there is none.
  double estimate(const ComputeDag& dag, const Steps& steps) const {
    const Result<LoopTree> tree = replay(dag, steps);
    return tree.ok() ? analytic_seconds(*tree, target_) : 0;
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

  void add(const Record& record, std::size_t from, std::vector<SizedSchedule>& schedules) {
    if (std::ranges::find(schedules, record.steps, &SizedSchedule::steps) != schedules.end()) return;
    const Result<Steps> own = parse_steps(record.steps);
    if (!own.ok()) return;
    const Result<Steps> steps = steps_for_sizes(moved_to(dag_, points_[from].at), *own);
    if (!steps.ok()) return;  // no kernel of a range can run by it
    SizedSchedule schedule{record.steps, record.candidate, packing(points_[from].dag, *own), points_[from].at, {}, {}};
    const double own_seconds = record.outcome.clock_seconds(), own_estimate = estimate(points_[from].dag, *own);
    for (Point& point : points_) {
      const std::optional<double> measured = point.seconds_of(schedule.steps);
      double seconds = measured.value_or(0);
      if (!measured) {
        const double estimated = estimate_at(point, *steps, schedule.candidate, points_[from]);
        const double reference = point.ranking.empty() ? own_estimate : point.best_estimate;
        const double known = point.ranking.empty() ? own_seconds : point.best_seconds();
        seconds = known * (estimated <= 0 || reference <= 0 ? kUnknown
                           : point.ranking.empty()          ? estimated / reference
                                                            : std::max(1.0, estimated / reference));
      }
      schedule.seconds.push_back(seconds);
      schedule.measured.push_back(measured.has_value());
      schedule.expected += point.uses * seconds;
    }
    schedules.push_back(std::move(schedule));
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
  std::vector<Point> points_;
};

}  // namespace

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
  for (const SizeValues& at : points)
    known.push_back(!records.ranking(workload_key(dag_at(dag, at)), {}, target).empty());
  return known;
}

}  // namespace whet
