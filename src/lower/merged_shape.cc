#include "lower/merged_shape.h"

namespace whet {

std::optional<Shape> merged_like(const Shape& part, const Shape& whole) {
  Shape result;
  std::size_t next = 0;
  for (std::size_t k = 0; k < part.size(); ++k) {
    const std::size_t first = next;
    result.push_back(whole[next++]);
    while (whole.size() - next > part.size() - k - 1 && (k + 1 == part.size() || result[k] < part[k]))
      result[k] *= whole[next++];
    if (next > first + 1 && result[k] != part[k]) return std::nullopt;
  }
  return result;
}

}  // namespace whet
