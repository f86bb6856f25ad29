#include "ranges/boxes.h"

#include <algorithm>
#include <set>

#include "base/rng.h"

namespace whet {
namespace {

/// Calls `visit` with each combination of the sizes, of which those in `fixed` have their two ends alone.
template <typename F>
void for_each_point(const std::vector<SizeRange>& sizes, const std::vector<bool>& only_ends, SizeValues& at,
                    const F& visit) {
  const std::size_t k = at.size();
  if (k == sizes.size()) return visit(at);
  const SizeRange& size = sizes[k];
  const std::int64_t step = only_ends[k] ? std::max<std::int64_t>(size.max - size.min, 1) : size.step;
  for (std::int64_t value = size.min; value <= size.max; value += step) {
    at.push_back(value);
    for_each_point(sizes, only_ends, at, visit);
    at.pop_back();
  }
}

/// The box that both are, where they differ in one size and touch there.
std::optional<SizeBox> union_of(const std::vector<SizeRange>& sizes, const SizeBox& a, const SizeBox& b) {
  std::optional<std::size_t> along;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (a.low[k] == b.low[k] && a.high[k] == b.high[k]) continue;
    if (along || b.low[k] != a.high[k] + sizes[k].step) return {};
    along = k;
  }
  if (!along) return {};
  SizeBox both = a;
  both.high[*along] = b.high[*along];
  return both;
}

}  // namespace

std::int64_t count_points(const std::vector<SizeRange>& sizes) {
  constexpr std::int64_t kMany = std::int64_t{1} << 62;
  std::int64_t points = 1;
  for (const SizeRange& size : sizes) points = points > kMany / count_of(size) ? kMany : points * count_of(size);
  return points;
}

std::vector<SizeValues> points_to_read(const std::vector<SizeRange>& sizes, std::int64_t most, std::int64_t seeded,
                                       std::uint64_t seed) {
  std::set<SizeValues> points;
  SizeValues at;
  const auto add = [&](const SizeValues& point) { points.insert(point); };
  std::vector<bool> only_ends(sizes.size(), false);
  if (count_points(sizes) <= most) {
    for_each_point(sizes, only_ends, at, add);
    return {points.begin(), points.end()};
  }
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    only_ends.assign(sizes.size(), true);
    only_ends[k] = false;
    for_each_point(sizes, only_ends, at, add);
  }
  Rng rng(seed);
  for (std::int64_t i = 0; i < seeded; ++i) {
    SizeValues point;
    for (const SizeRange& size : sizes) point.push_back(size.min + size.step * rng.below(count_of(size)));
    points.insert(std::move(point));
  }
  return {points.begin(), points.end()};
}

std::vector<Cell> cells_of(const std::vector<SizeRange>& sizes, const std::map<SizeValues, int>& kinds) {
  constexpr std::int64_t kMostCells = 4096;
  std::vector<std::set<std::int64_t>> begins(sizes.size());  // of intervals
  for (std::size_t k = 0; k < sizes.size(); ++k) begins[k].insert(sizes[k].min);
  for (const auto& [point, kind] : kinds) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      SizeValues next = point;
      next[k] += sizes[k].step;
      const auto found = kinds.find(next);
      if (found != kinds.end() && found->second != kind) begins[k].insert(next[k]);
    }
  }
  std::int64_t count = 1;
  for (const auto& each : begins) count *= static_cast<std::int64_t>(each.size());
  if (count > kMostCells) return {};
  std::map<SizeValues, Cell> cells;  // by their least values
  const auto add = [&](const SizeValues& low) {
    Cell cell{{low, {}}, {}, false};
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const auto next = begins[k].upper_bound(low[k]);
      cell.box.high.push_back(next == begins[k].end() ? sizes[k].max : *next - sizes[k].step);
    }
    cells.emplace(low, std::move(cell));
  };
  std::vector<SizeValues> lows = {{}};
  for (const auto& each : begins) {
    std::vector<SizeValues> longer;
    for (const SizeValues& low : lows)
      for (const std::int64_t begin : each) longer.push_back(low), longer.back().push_back(begin);
    lows = std::move(longer);
  }
  for (const SizeValues& low : lows) add(low);
  for (const auto& [point, kind] : kinds) {
    SizeValues low;
    for (std::size_t k = 0; k < sizes.size(); ++k) low.push_back(*std::prev(begins[k].upper_bound(point[k])));
    Cell& cell = cells.at(low);
    cell.mixed = cell.mixed || (cell.kind && *cell.kind != kind);
    cell.kind = kind;
  }
  std::vector<Cell> all;
  for (auto& [low, cell] : cells) all.push_back(std::move(cell));
  return all;
}

std::vector<SizeBox> joined(const std::vector<SizeRange>& sizes, std::vector<SizeBox> boxes) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < boxes.size() && !again; ++i) {
      for (std::size_t j = 0; j < boxes.size() && !again; ++j) {
        const auto both = i == j ? std::nullopt : union_of(sizes, boxes[i], boxes[j]);
        if (!both) continue;
        boxes[i] = *both;
        boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(j));
        again = true;
      }
    }
  }
  std::sort(boxes.begin(), boxes.end(), [](const SizeBox& a, const SizeBox& b) { return a.low < b.low; });
  return boxes;
}

}  // namespace whet
