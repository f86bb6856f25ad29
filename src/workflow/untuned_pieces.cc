#include "workflow/untuned_pieces.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "transfer/across_sizes.h"
#include "transfer/default_sizes.h"
#include "workflow/cut_sizes.h"

namespace whet {
namespace {

constexpr std::size_t kMostPieces = 3;
constexpr double kWorth = 0.03;
/// How much longer than a point's own schedule one is said to take there that has no estimate.
constexpr double kUnknown = 2;

using Points = std::vector<const TuningSize*>;

/// Seconds of a task's runs in a request: [schedules of point][point]. Empty: it has no sizes, or there is no estimate.
ExpectedSeconds of_task(const SizedTask& task, const Points& points, const Target& target,
                        const SpaceOptions& options) {
  if (task.sizes.empty()) return {};
  std::vector<SizeValues> own;  // each once
  std::vector<std::size_t> place;
  for (const TuningSize* point : points) {
    SizeValues at;
    for (const Expr& size : task.sizes) at.push_back(value_at(size, point->at));
    const auto known = std::ranges::find(own, at);
    place.push_back(static_cast<std::size_t>(known - own.begin()));
    if (known == own.end()) own.push_back(std::move(at));
  }
  const std::vector<std::vector<double>> each = default_seconds(task.task.dag, own, target, options);
  ExpectedSeconds seconds(points.size(), std::vector<double>(points.size(), 0));
  for (std::size_t p = 0; p < points.size(); ++p) {
    const double best = each[place[p]][place[p]];
    if (best <= 0) return {};
    for (std::size_t from = 0; from < points.size(); ++from) {
      const double there = each[place[from]][place[p]];
      seconds[from][p] = task.task.weight * (there > 0 ? there : kUnknown * best);
    }
  }
  return seconds;
}

/// The same of all tasks, as they count.
ExpectedSeconds of_network(const Variant& variant, const Points& points, bool by_requests, const Target& target,
                           const SpaceOptions& options) {
  std::vector<ExpectedSeconds> tasks(variant.tasks.size());
  parallel_for(static_cast<int>(tasks.size()), 0, [&](int i) {
    const auto t = static_cast<std::size_t>(i);
    tasks[t] = of_task(variant.tasks[t], points, target, options);
  });
  ExpectedSeconds sums(points.size(), std::vector<double>(points.size(), 0));
  for (const ExpectedSeconds& task : tasks)
    for (std::size_t from = 0; from < task.size(); ++from)
      for (std::size_t p = 0; p < points.size(); ++p) sums[from][p] += task[from][p];
  for (std::size_t p = 0; p < points.size(); ++p) {
    double least = sums[0][p];
    for (const std::vector<double>& of_point : sums) least = std::min(least, of_point[p]);
    const double counts = by_requests ? static_cast<double>(points[p]->requests) : least > 0 ? 1 / least : 0;
    for (std::vector<double>& of_point : sums) of_point[p] *= counts;
  }
  return sums;
}

/// Pieces along a size, each beginning with one of the values that the points have.
struct UntunedCut {
  std::size_t size = 0;
  std::vector<std::int64_t> values;  ///< ascending
  std::vector<std::size_t> begins;   ///< their numbers, one a piece; empty: there is none
  std::vector<SizeValues> at;        ///< one a piece: the point whose schedules it has
  double seconds = kInfinity;

  std::size_t end_of(std::size_t piece) const { return piece + 1 < begins.size() ? begins[piece + 1] : values.size(); }
};

/// Chooses the point whose schedules a piece has: of those in it the one whose schedules take the least time there, of equal ones the
/// largest.
void choose_points(const Points& points, const ExpectedSeconds& by_value, UntunedCut& cut) {
  cut.seconds = 0;
  for (std::size_t piece = 0; piece < cut.begins.size(); ++piece) {
    const std::size_t first = cut.begins[piece], end = cut.end_of(piece);
    double least = kInfinity;
    SizeValues& at = cut.at.emplace_back();
    for (std::size_t from = points.size(); from-- > 0;) {
      const std::int64_t value = points[from]->at[cut.size];
      if (value < cut.values[first] || value > cut.values[end - 1]) continue;
      const auto begin = by_value[from].begin();
      const double sum =
          std::accumulate(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end), 0.0);
      if (sum < least) least = sum, at = points[from]->at;
    }
    cut.seconds += least;
  }
}

///   seconds  [schedules of point][point]
UntunedCut untuned_cut_along(std::size_t k, const Points& points, const ExpectedSeconds& seconds) {
  UntunedCut cut{k, {}, {}, {}, 0};
  for (const TuningSize* point : points) cut.values.push_back(point->at[k]);
  std::ranges::sort(cut.values);
  cut.values.erase(std::ranges::unique(cut.values).begin(), cut.values.end());
  ExpectedSeconds by_value(points.size(), std::vector<double>(cut.values.size(), 0));
  for (std::size_t from = 0; from < points.size(); ++from)
    for (std::size_t p = 0; p < points.size(); ++p) {
      const auto value = std::ranges::lower_bound(cut.values, points[p]->at[k]);
      by_value[from][static_cast<std::size_t>(value - cut.values.begin())] += seconds[from][p];
    }
  cut.begins = cut_points({by_value}, cut.values.size(), kMostPieces, kWorth);
  choose_points(points, by_value, cut);
  return cut;
}

}  // namespace

std::vector<VariantPiece> untuned_pieces(const Variant& variant, const std::vector<SizeRange>& sizes,
                                         const std::vector<TuningSize>& at, bool by_requests, const Target& target,
                                         const SpaceOptions& options) {
  Points points;
  for (const TuningSize& size : at)
    if (has_point(variant, size.at)) points.push_back(&size);
  std::vector<std::size_t> along;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (changes(variant, k)) along.push_back(k);
  const std::vector<std::vector<RecordedSchedule>> none(variant.tasks.size());
  if (along.empty() || points.size() < 2) return {VariantPiece{variant.boxes, none}};
  const ExpectedSeconds seconds = of_network(variant, points, by_requests, target, options);
  UntunedCut cut;
  for (const std::size_t k : along)
    if (UntunedCut other = untuned_cut_along(k, points, seconds); other.seconds < cut.seconds) cut = std::move(other);
  std::vector<VariantPiece> pieces;
  for (std::size_t piece = 0; piece < cut.begins.size(); ++piece) {
    const std::size_t first = cut.begins[piece], end = cut.end_of(piece);
    const std::int64_t low = piece > 0 ? last_before(cut.values[first - 1], cut.values[first]) + 1 : 0;
    const std::int64_t high =
        end < cut.values.size() ? last_before(cut.values[end - 1], cut.values[end]) : kLargestSize;
    pieces.push_back({clipped(variant.boxes, cut.size, sizes[cut.size], low, high), none, cut.at[piece]});
  }
  return pieces;
}

}  // namespace whet
