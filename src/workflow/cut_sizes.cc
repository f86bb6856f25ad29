#include "workflow/cut_sizes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/arithmetic.h"

namespace whet {

bool has_point(const Variant& variant, const SizeValues& at) {
  return std::ranges::any_of(variant.boxes, [&](const SizeBox& box) { return contains(box, at); });
}

std::optional<std::size_t> only_range(const Variant& variant, std::size_t sizes) {
  std::optional<std::size_t> ranged;
  for (std::size_t k = 0; k < sizes; ++k) {
    const bool changes = std::ranges::any_of(variant.boxes, [&](const SizeBox& box) {
      return box.low[k] != box.high[k] || box.low[k] != variant.boxes.front().low[k];
    });
    if (changes && ranged) return std::nullopt;
    if (changes) ranged = k;
  }
  return ranged;
}

std::int64_t last_before(std::int64_t point, std::int64_t next) {
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(point) * static_cast<double>(next)));
}

std::vector<SizeBox> clipped(const Variant& variant, std::size_t k, const SizeRange& range, std::int64_t low,
                             std::int64_t high) {
  std::vector<SizeBox> boxes;
  for (SizeBox box : variant.boxes) {
    if (low > box.low[k]) box.low[k] = range.min + round_up(low - range.min, range.step);
    if (high < box.high[k]) box.high[k] = range.min + (high - range.min) / range.step * range.step;
    if (box.low[k] <= box.high[k]) boxes.push_back(std::move(box));
  }
  return boxes;
}

}  // namespace whet
