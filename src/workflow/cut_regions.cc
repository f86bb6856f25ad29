#include "workflow/cut_regions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/arithmetic.h"
#include "workflow/cut_sizes.h"

namespace whet {
namespace {

using PointNumbers = std::vector<std::size_t>;

/// PointNumbers by their values of a size.
struct LineOfPoints {
  std::size_t size = 0;
  std::vector<std::int64_t> values;  ///< ascending
  std::vector<PointNumbers> points;  ///< of each

  std::size_t count() const { return values.size(); }
  /// Of the values first .. last.
  PointNumbers between(std::size_t first, std::size_t last) const {
    PointNumbers all;
    for (std::size_t k = first; k <= last; ++k) all.insert(all.end(), points[k].begin(), points[k].end());
    return all;
  }
  /// The values for which the points of first .. last stand, in the box.
  SizeBox box_of(std::size_t first, std::size_t last, SizeBox box) const {
    if (first > 0) box.low[size] = last_before(values[first - 1], values[first]) + 1;
    if (last + 1 < count()) box.high[size] = last_before(values[last], values[last + 1]);
    return box;
  }
};

/// What is cut along a line into 1, 2, ... pieces.
struct CutsOfALine {
  std::vector<double> seconds;
  std::vector<PointNumbers> begins;  ///< of the pieces, by the values of the line
};

/// The seconds of all tasks at points that become more, each by the kernel that is best for all of them.
class RunningSeconds {
 public:
  explicit RunningSeconds(const std::vector<ExpectedSeconds>& tasks) : tasks_(tasks) {
    for (const ExpectedSeconds& task : tasks) sums_.emplace_back(task.size(), 0.0);
  }
  void add(const PointNumbers& points) {
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      for (std::size_t k = 0; k < sums_[t].size(); ++k)
        for (const std::size_t p : points) sums_[t][k] += tasks_[t][k][p];
  }
  double seconds() const {
    double sum = 0;
    for (const std::vector<double>& kernels : sums_) {
      double least = kInfinity;
      for (const double seconds : kernels) least = std::min(least, seconds);
      sum += least;
    }
    return sum;
  }

 private:
  const std::vector<ExpectedSeconds>& tasks_;
  std::vector<std::vector<double>> sums_;  ///< [task][kernel]
};

class RegionCutter {
 public:
  RegionCutter(const std::vector<ExpectedSeconds>& tasks, const std::vector<SizeValues>& at, std::size_t most,
               double worth)
      : tasks_(tasks), at_(at), most_(most), worth_(worth) {}

  std::vector<SizeRegion> run(const std::vector<std::size_t>& along) {
    const SizeBox everywhere{SizeValues(at_.front().size(), 0), SizeValues(at_.front().size(), kLargestSize)};
    PointNumbers all(at_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    best_.assign(1, SizeRegion{all, everywhere});
    score_ = score_of(seconds_of(all), 1);
    for (const std::size_t k : along) cut(line_along(k, all), std::nullopt, everywhere);
    for (const std::size_t k : along)
      for (const std::size_t l : along)
        if (k != l) cut(line_along(k, all), l, everywhere);
    return std::move(best_);
  }

 private:
  /// A part of a line whose points are cut into some pieces along another size.
  struct Slab {
    std::size_t first = 0, pieces = 0;
  };

  double score_of(double seconds, std::size_t regions) const {
    return seconds / std::pow(1 - worth_, static_cast<double>(regions));
  }

  double seconds_of(const PointNumbers& points) const {
    RunningSeconds sums(tasks_);
    sums.add(points);
    return sums.seconds();
  }

  LineOfPoints line_along(std::size_t size, const PointNumbers& points) const {
    std::map<std::int64_t, PointNumbers> by_value;
    for (const std::size_t p : points) by_value[at_[p][size]].push_back(p);
    LineOfPoints line;
    line.size = size;
    for (auto& [value, own] : by_value) line.values.push_back(value), line.points.push_back(std::move(own));
    return line;
  }

  /// The points of a slab in one piece, and cut along another size.
  CutsOfALine cuts_of(const PointNumbers& points, std::optional<std::size_t> other) const {
    CutsOfALine cuts{{seconds_of(points)}, {{0}}};
    if (!other) return cuts;
    const LineOfPoints line = line_along(*other, points);
    std::vector<std::vector<double>> seconds(line.count(), std::vector<double>(line.count(), 0));
    for (std::size_t i = 0; i < line.count(); ++i) {
      RunningSeconds sums(tasks_);
      for (std::size_t j = i; j < line.count(); ++j) sums.add(line.points[j]), seconds[i][j] = sums.seconds();
    }
    // least[n][j]: of the values 0 .. j in n + 1 pieces, of which the last begins at begins[n][j].
    const std::size_t most = std::min(most_, line.count());
    std::vector<std::vector<double>> least(most, std::vector<double>(line.count(), kInfinity));
    std::vector<PointNumbers> begins(most, PointNumbers(line.count(), 0));
    for (std::size_t j = 0; j < line.count(); ++j) {
      least[0][j] = seconds[0][j];
      for (std::size_t n = 1; n < most; ++n)
        for (std::size_t i = n; i <= j; ++i)
          if (const double sum = least[n - 1][i - 1] + seconds[i][j]; sum < least[n][j])
            least[n][j] = sum, begins[n][j] = i;
    }
    for (std::size_t n = 1; n < most; ++n) {
      PointNumbers own = {0};
      for (std::size_t k = n, j = line.count(); k > 0; --k) {
        j = begins[k][j - 1];
        own.insert(own.begin() + 1, j);
      }
      cuts.seconds.push_back(least[n].back());
      cuts.begins.push_back(std::move(own));
    }
    return cuts;
  }

  /// Slabs of the line, each cut along `other` or whole; kept where they are the best so far.
  void cut(const LineOfPoints& line, std::optional<std::size_t> other, const SizeBox& everywhere) {
    const std::size_t count = line.count();
    std::vector<std::vector<CutsOfALine>> cuts(count, std::vector<CutsOfALine>(count));
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i; j < count; ++j) cuts[i][j] = cuts_of(line.between(i, j), other);
    // least[n][j]: of the values 0 .. j in n pieces, the last of which are those of last[n][j].
    std::vector<std::vector<double>> least(most_ + 1, std::vector<double>(count, kInfinity));
    std::vector<std::vector<Slab>> last(most_ + 1, std::vector<Slab>(count));
    for (std::size_t n = 1; n <= most_; ++n)
      for (std::size_t j = 0; j < count; ++j)
        for (std::size_t i = 0; i <= j; ++i)
          for (std::size_t c = 1; c <= std::min(n, cuts[i][j].seconds.size()); ++c) {
            const double before = i > 0 ? least[n - c][i - 1] : n == c ? 0 : kInfinity;
            if (const double sum = before + cuts[i][j].seconds[c - 1]; sum < least[n][j])
              least[n][j] = sum, last[n][j] = {i, c};
          }
    std::size_t taken = 1;
    for (std::size_t n = 2; n <= most_; ++n)
      if (score_of(least[n].back(), n) < score_of(least[taken].back(), taken)) taken = n;
    const double score = score_of(least[taken].back(), taken);
    if (score >= score_) return;
    score_ = score;
    best_.clear();
    for (std::size_t n = taken, end = count; n > 0;) {
      const Slab slab = last[n][end - 1];
      add(line, slab, end - 1, other, cuts[slab.first][end - 1].begins[slab.pieces - 1], everywhere);
      n -= slab.pieces, end = slab.first;
    }
    std::ranges::sort(best_, {}, [](const SizeRegion& each) { return each.box.low; });
  }

  /// The pieces of a slab, which begin at these values of its points.
  void add(const LineOfPoints& line, const Slab& slab, std::size_t last, std::optional<std::size_t> other,
           const PointNumbers& begins, const SizeBox& everywhere) {
    const PointNumbers points = line.between(slab.first, last);
    const SizeBox box = line.box_of(slab.first, last, everywhere);
    if (begins.size() == 1) return best_.push_back({points, box});
    const LineOfPoints inner = line_along(*other, points);
    for (std::size_t k = 0; k < begins.size(); ++k) {
      const std::size_t end = k + 1 < begins.size() ? begins[k + 1] : inner.count();
      best_.push_back({inner.between(begins[k], end - 1), inner.box_of(begins[k], end - 1, box)});
    }
  }

  const std::vector<ExpectedSeconds>& tasks_;
  const std::vector<SizeValues>& at_;
  const std::size_t most_;
  const double worth_;
  std::vector<SizeRegion> best_;
  double score_ = kInfinity;
};

}  // namespace

std::vector<SizeRegion> cut_regions(const std::vector<ExpectedSeconds>& tasks, const std::vector<SizeValues>& at,
                                    const std::vector<std::size_t>& along, std::size_t most, double worth) {
  return RegionCutter(tasks, at, most, worth).run(along);
}

}  // namespace whet
