#include "workflow/untuned_pieces.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

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

/// The point of the piece first .. end - 1 whose schedules take the least time in it.
std::size_t best_of(const ExpectedSeconds& seconds, std::size_t first, std::size_t end) {
  const auto of_piece = [&](std::size_t from) {
    return std::accumulate(seconds[from].begin() + static_cast<std::ptrdiff_t>(first),
                           seconds[from].begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  };
  std::size_t best = end - 1;  // of equal ones the largest
  for (std::size_t from = end - 1; from-- > first;)
    if (of_piece(from) < of_piece(best)) best = from;
  return best;
}

}  // namespace

std::vector<VariantPiece> untuned_pieces(const Variant& variant, const std::vector<SizeRange>& sizes,
                                         const std::vector<TuningSize>& at, bool by_requests, const Target& target,
                                         const SpaceOptions& options) {
  const std::optional<std::size_t> ranged = only_range(variant, sizes.size());
  Points points;
  for (const TuningSize& size : at)
    if (has_point(variant, size.at)) points.push_back(&size);
  const std::vector<std::vector<RecordedSchedule>> none(variant.tasks.size());
  if (!ranged || points.size() < 2) return {VariantPiece{variant.boxes, none}};
  const ExpectedSeconds seconds = of_network(variant, points, by_requests, target, options);
  const std::vector<std::size_t> begins = cut_points({seconds}, points.size(), kMostPieces, kWorth);
  const auto value = [&](std::size_t point) { return points[point]->at[*ranged]; };
  std::vector<VariantPiece> pieces;
  for (std::size_t k = 0; k < begins.size(); ++k) {
    const std::size_t end = k + 1 < begins.size() ? begins[k + 1] : points.size();
    const std::int64_t low = k > 0 ? last_before(value(begins[k] - 1), value(begins[k])) + 1 : 0;
    const std::int64_t high = end < points.size() ? last_before(value(end - 1), value(end)) : kLargestSize;
    pieces.push_back(
        {clipped(variant, *ranged, sizes[*ranged], low, high), none, points[best_of(seconds, begins[k], end)]->at});
  }
  return pieces;
}

}  // namespace whet
