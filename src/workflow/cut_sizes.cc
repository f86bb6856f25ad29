#include "workflow/cut_sizes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/arithmetic.h"

namespace whet {

bool has_point(const Variant& variant, const SizeValues& at) {
  return std::ranges::any_of(variant.boxes, [&](const SizeBox& box) { return contains(box, at); });
}

bool changes(const Variant& variant, std::size_t k) {
  return std::ranges::any_of(variant.boxes, [&](const SizeBox& box) {
    return box.low[k] != box.high[k] || box.low[k] != variant.boxes.front().low[k];
  });
}

std::int64_t last_before(std::int64_t point, std::int64_t next) {
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(point) * static_cast<double>(next)));
}

std::vector<SizeBox> clipped(std::vector<SizeBox> boxes, std::size_t k, const SizeRange& range, std::int64_t low,
                             std::int64_t high) {
  for (SizeBox& box : boxes) {
    if (low > box.low[k]) box.low[k] = range.min + round_up(low - range.min, range.step);
    if (high < box.high[k]) box.high[k] = range.min + (high - range.min) / range.step * range.step;
  }
  std::erase_if(boxes, [&](const SizeBox& box) { return box.low[k] > box.high[k]; });
  return boxes;
}

}  // namespace whet
