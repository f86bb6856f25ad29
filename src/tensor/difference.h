#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace whet {

struct Difference {
  double max_abs = 0;           ///< largest |got - want|; infinity where one is not finite and the other differs
  double largest = 0;           ///< largest |want|
  double relative = 0;          ///< max_abs / max(largest, 1e-30)
  std::int64_t where = -1;      ///< row-major index of the largest difference, -1 for empty tensors
  std::int64_t mismatches = 0;  ///< elements with |got - want| > tolerance * largest
};

/// Compares `count` elements, which `got(i)` and `want(i)` give as doubles. Equal infinities agree, and so do two NaN.
template <typename Got, typename Want>
Difference difference(const Got& got, const Want& want, std::int64_t count, double tolerance) {
  Difference d;
  for (std::int64_t i = 0; i < count; ++i)
    if (const double w = std::fabs(want(i)); std::isfinite(w)) d.largest = std::max(d.largest, w);
  for (std::int64_t i = 0; i < count; ++i) {
    const double g = got(i), w = want(i);
    double error = 0;
    if (g != w && !(std::isnan(g) && std::isnan(w))) error = std::fabs(g - w);
    if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
    if (error > tolerance * d.largest) ++d.mismatches;
    if (error > d.max_abs || d.where < 0) d.max_abs = std::max(d.max_abs, error), d.where = i;
  }
  d.relative = d.max_abs / std::max(d.largest, 1e-30);
  return d;
}

}  // namespace whet
