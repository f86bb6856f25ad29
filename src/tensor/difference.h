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

// Figures for whole tensors. Of elements that are equal infinities, or NaN on both sides, the difference is 0; of others that are not
// finite on one side it is infinite, and so are the figures.

/// got - want as these figures have it.
inline double error_of(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double error = got - want;
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

/// The root of the sum of squared differences over that of the squares of `want`: 0 where all are equal, infinite where `want` has zeros
/// alone and `got` has not.
template <typename Got, typename Want>
double relative_l2(const Got& got, const Want& want, std::int64_t count) {
  double errors = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double error = error_of(got(i), want(i)), w = want(i);
    errors += error * error;
    if (std::isfinite(w)) squares += w * w;
  }
  if (errors == 0) return 0;
  return squares > 0 ? std::sqrt(errors / squares) : std::numeric_limits<double>::infinity();
}

/// The cosine of the angle between both: 1 where they are equal, or both zeros alone; 0 where one is, or where an element is not finite on one
/// side alone.
template <typename Got, typename Want>
double cosine(const Got& got, const Want& want, std::int64_t count) {
  double both = 0, of_got = 0, of_want = 0;
  bool equal = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const double g = got(i), w = want(i);
    const double error = error_of(g, w);
    if (std::isinf(error)) return 0;
    equal &= error == 0;
    if (!std::isfinite(w)) continue;
    both += g * w, of_got += g * g, of_want += w * w;
  }
  if (equal) return 1;
  if (of_got == 0 || of_want == 0) return 0;
  return std::clamp(both / (std::sqrt(of_got) * std::sqrt(of_want)), -1.0, 1.0);
}

/// The peak of the signal over the noise [dB]: 20 log10 of the range of `want` over the root mean square of the differences. Infinite where all
/// are equal, minus infinity where `want` has one value alone or a difference is not finite.
template <typename Got, typename Want>
double psnr(const Got& got, const Want& want, std::int64_t count) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  double errors = 0, least = kInfinite, most = -kInfinite;
  for (std::int64_t i = 0; i < count; ++i) {
    const double error = error_of(got(i), want(i)), w = want(i);
    errors += error * error;
    if (std::isfinite(w)) least = std::min(least, w), most = std::max(most, w);
  }
  if (errors == 0) return kInfinite;
  if (!(most > least) || std::isinf(errors)) return -kInfinite;
  return 20 * std::log10((most - least) / std::sqrt(errors / static_cast<double>(count)));
}

/// Of rows of `classes` elements: in how many the largest element is at the same place. Of equal elements the first is the largest.
template <typename Got, typename Want>
std::int64_t top1_agreements(const Got& got, const Want& want, std::int64_t rows, std::int64_t classes) {
  const auto largest = [&](const auto& of, std::int64_t row) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (of(row * classes + c) > of(row * classes + best)) best = c;
    return best;
  };
  std::int64_t same = 0;
  for (std::int64_t row = 0; row < rows; ++row) same += largest(got, row) == largest(want, row);
  return same;
}

}  // namespace whet
