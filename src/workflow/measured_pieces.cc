#include "workflow/measured_pieces.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "transfer/default_sizes.h"
#include "workflow/cut_regions.h"
#include "workflow/cut_sizes.h"

namespace whet {
namespace {

/// What one more piece has to save of the expected seconds.
constexpr double kWorthAPiece = 0.01;
/// How much longer than a point's own default schedule one is said to take there that has no estimate.
constexpr double kTwiceAsLong = 2;

/// A schedule whose kernel reads the same weights as the task's kernels.
bool packs_as_the_kernels(const TaskAcrossSizes& task, std::size_t k) {
  return task.schedules[k].packing == task.packing;
}

/// Cuts a variant into pieces along its sizes. Tasks of which nothing was measured, as in a run that was too short for them, have a say by
/// the estimate of their default schedules.
class Cutting {
 public:
  Cutting(const Variant& variant, const std::vector<TaskAcrossSizes>& tasks, const std::vector<SizeRange>& sizes,
          const std::vector<TuningSize>& at, const Target& target, const SpaceOptions& options)
      : variant_(variant), tasks_(tasks), sizes_(sizes) {
    for (const TuningSize& size : at)
      if (has_point(variant, size.at)) at_.push_back(&size);
    for (std::size_t i = 0; i < std::min(kMostEstimated, at_.size()); ++i)
      estimated_.push_back(at_.size() <= kMostEstimated ? i : i * (at_.size() - 1) / (kMostEstimated - 1));
    std::vector<ExpectedSeconds> estimates(tasks.size());
    parallel_for(static_cast<int>(tasks.size()), 0, [&](int i) {
      const auto t = static_cast<std::size_t>(i);
      if (tasks[t].schedules.empty() && !variant.tasks[t].sizes.empty()) estimates[t] = estimate_of(t, target, options);
    });
    for (const ExpectedSeconds& task : estimates)
      if (!task.empty()) add(task);
  }

  std::vector<VariantPiece> pieces() const {
    std::vector<VariantPiece> pieces;
    for (const SizeRegion& region : regions()) {
      std::vector<SizeBox> boxes = variant_.boxes;
      for (std::size_t k = 0; k < sizes_.size(); ++k)
        if (region.box.low[k] > 0 || region.box.high[k] < kLargestSize)
          boxes = clipped(std::move(boxes), k, sizes_[k], region.box.low[k], region.box.high[k]);
      pieces.push_back({std::move(boxes), schedules(region.points), usual_at(region.points)});
    }
    return pieces;
  }

 private:
  static constexpr std::size_t kMostPieces = 6;
  /// Points at which default schedules are estimated, each at each.
  static constexpr std::size_t kMostEstimated = 6;
  using Points = std::vector<std::size_t>;  ///< their numbers

  void add(const ExpectedSeconds& estimate) {
    if (untuned_.empty()) untuned_.assign(estimate.size(), std::vector<double>(at_.size(), 0));
    for (std::size_t from = 0; from < estimate.size(); ++from)
      for (std::size_t p = 0; p < at_.size(); ++p) untuned_[from][p] += estimate[from][p];
  }

  std::vector<SizeRegion> regions() const {
    const SizeBox whole{SizeValues(sizes_.size(), 0), SizeValues(sizes_.size(), kLargestSize)};
    if (at_.empty()) return {SizeRegion{{}, whole}};
    std::vector<ExpectedSeconds> tasks;
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      if (!tasks_[t].schedules.empty()) tasks.push_back(expected_of(t));
    if (!untuned_.empty()) tasks.push_back(untuned_);  // as one, since a piece has one point for all of them
    std::vector<SizeValues> at;
    for (const TuningSize* size : at_) at.push_back(size->at);
    std::vector<std::size_t> along;
    for (std::size_t k = 0; k < sizes_.size(); ++k)
      if (changes(variant_, k)) along.push_back(k);
    return cut_regions(tasks, at, along, kMostPieces, kWorthAPiece);
  }

  /// Of the task's kernels, the seconds of all requests at each point.
  ExpectedSeconds expected_of(std::size_t t) const {
    ExpectedSeconds all;
    for (const std::size_t kernel : tasks_[t].kernels.kernels) {
      std::vector<double>& own = all.emplace_back();
      for (std::size_t p = 0; p < at_.size(); ++p) own.push_back(expected(t, kernel, {p}));
    }
    return all;
  }

  /// The seconds of requests at some points by one schedule of a task.
  double expected(std::size_t t, std::size_t schedule, const Points& points) const {
    const SizedTask& task = variant_.tasks[t];
    double seconds = 0;
    for (const std::size_t p : points) {
      const auto point = std::ranges::find(tasks_[t].points, own_sizes(task, at_[p]->at), &SizedPoint::at);
      const auto place = static_cast<std::size_t>(point - tasks_[t].points.begin());
      seconds +=
          static_cast<double>(at_[p]->requests) * task.task.weight * tasks_[t].schedules[schedule].seconds[place];
    }
    return seconds;
  }

  /// Of a task of which nothing was measured: the default schedule of each estimated point at all points, in seconds of all requests. Those
  /// at other points are as long as at the nearest one. Empty: there is no estimate.
  ExpectedSeconds estimate_of(std::size_t t, const Target& target, const SpaceOptions& options) const {
    const SizedTask& task = variant_.tasks[t];
    std::vector<SizeValues> own;
    for (const std::size_t p : estimated_) own.push_back(own_sizes(task, at_[p]->at));
    const std::vector<std::vector<double>> each = default_seconds(task.task.dag, own, target, options);
    ExpectedSeconds all(each.size());
    for (std::size_t from = 0; from < each.size(); ++from)
      for (std::size_t p = 0; p < at_.size(); ++p) {
        const std::size_t e = nearest_estimated(p);
        if (each[e][e] <= 0) return {};
        const double there = each[from][e] > 0 ? each[from][e] : kTwiceAsLong * each[e][e];
        all[from].push_back(static_cast<double>(at_[p]->requests) * task.task.weight * there);
      }
    return all;
  }

  std::size_t nearest_estimated(std::size_t p) const {
    std::size_t best = 0;
    for (std::size_t e = 1; e < estimated_.size(); ++e)
      if (distance_of(at_[estimated_[e]]->at, at_[p]->at) < distance_of(at_[estimated_[best]]->at, at_[p]->at))
        best = e;
    return best;
  }

  /// The point for which tasks without records have their default schedules: of the estimated ones that whose schedules take the least
  /// time at these points together; of equal ones one of these points, and the largest.
  SizeValues usual_at(const Points& points) const {
    if (untuned_.empty()) return heaviest(points);
    std::size_t best = 0;
    std::pair<double, bool> least(kInfinity, true);
    for (std::size_t from = estimated_.size(); from-- > 0;) {
      double sum = 0;
      for (const std::size_t p : points) sum += untuned_[from][p];
      const std::pair score(sum, std::ranges::find(points, estimated_[from]) == points.end());
      if (score < least) least = score, best = from;
    }
    return at_[estimated_[best]]->at;
  }

  /// The point whose requests take most time, where time grows with the product of the sizes.
  SizeValues heaviest(const Points& points) const {
    SizeValues at;
    double most = 0;
    for (const std::size_t p : points) {
      double time = static_cast<double>(at_[p]->requests);
      for (const std::int64_t value : at_[p]->at) time *= static_cast<double>(value);
      if (time > most) at = at_[p]->at, most = time;
    }
    return at;
  }

  /// Of each task, the best at these points first: its kernels, then the others, and last those that pack otherwise.
  std::vector<std::vector<RecordedSchedule>> schedules(const Points& points) const {
    std::vector<std::vector<RecordedSchedule>> all;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const TaskAcrossSizes& task = tasks_[t];
      std::vector<std::tuple<int, double, std::size_t>> order;
      for (std::size_t k = 0; k < task.schedules.size(); ++k) {
        const bool is_kernel = std::ranges::find(task.kernels.kernels, k) != task.kernels.kernels.end();
        order.emplace_back(is_kernel ? 0 : packs_as_the_kernels(task, k) ? 1 : 2, expected(t, k, points), k);
      }
      std::ranges::sort(order);
      std::vector<RecordedSchedule>& own = all.emplace_back();
      for (const auto& [rank, seconds, k] : order) {
        const SizedSchedule& each = task.schedules[k];
        own.push_back({each.steps, seconds, "", {}, each.candidate, each.from});
      }
    }
    return all;
  }

  const Variant& variant_;
  const std::vector<TaskAcrossSizes>& tasks_;
  const std::vector<SizeRange>& sizes_;
  std::vector<const TuningSize*> at_;  ///< of the variant, ascending
  Points estimated_;                   ///< some of them, evenly
  /// Of all tasks of which nothing was measured: [default schedules of estimated point][point]; empty: there are none.
  ExpectedSeconds untuned_;
};

}  // namespace

std::vector<VariantPiece> measured_pieces(const Variant& variant, const std::vector<TaskAcrossSizes>& tasks,
                                          const std::vector<SizeRange>& sizes, const std::vector<TuningSize>& at,
                                          const Target& target, const SpaceOptions& options) {
  return Cutting(variant, tasks, sizes, at, target, options).pieces();
}

}  // namespace whet
