#include "tuner/shape_distance.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/arithmetic.h"

namespace whet {
namespace {

/// The numbers behind the structure's hash.
std::vector<std::int64_t> extents_of(std::string_view key) {
  std::vector<std::int64_t> extents;
  for (std::size_t at = key.find(','); at != std::string_view::npos; at = key.find(',', at + 1)) {
    std::int64_t extent = 0;
    std::from_chars(key.data() + at + 1, key.data() + key.size(), extent);
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace

double shape_distance(std::string_view key, std::string_view other) {
  if (key.substr(0, key.find(',')) != other.substr(0, other.find(','))) return kInfinity;
  const std::vector<std::int64_t> a = extents_of(key), b = extents_of(other);
  if (a.size() != b.size()) return kInfinity;
  double distance = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i])
      distance +=
          std::abs(std::log2((1 + std::abs(static_cast<double>(a[i]))) / (1 + std::abs(static_cast<double>(b[i])))));
  return distance;
}

}  // namespace whet
