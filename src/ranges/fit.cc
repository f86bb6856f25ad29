#include "ranges/fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "compute/scalar.h"

namespace whet {
namespace {

using Values = std::vector<std::int64_t>;

/// Larger divisors than 64 are not looked for: five halvings are 32.
constexpr std::int64_t kLargestDivisor = 64;
/// Pairs of functions are tried among the first ones.
constexpr std::size_t kMostKnown = 24;
/// Numbers of networks are smaller, and so are factors: no product of two of them overflows.
constexpr std::int64_t kLargestNumber = std::int64_t{1} << 31, kSteepest = std::int64_t{1} << 28;

/// c·x + b for all points, where x changes and c is an integer.
struct Line {
  std::int64_t factor, rest;
};
template <typename X>
std::optional<Line> line_through(const Values& values, const X& x) {
  std::size_t other = 1;
  while (other < values.size() && x(other) == x(0)) ++other;
  if (other >= values.size()) return {};
  const std::int64_t run = x(other) - x(0), rise = values[other] - values[0];
  if (rise % run != 0 || std::abs(rise / run) > kSteepest || std::abs(x(0)) >= kLargestNumber) return {};
  const Line line{rise / run, values[0] - rise / run * x(0)};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::abs(x(i)) >= kLargestNumber || line.factor * x(i) + line.rest != values[i]) return {};
  return line;
}

Expr scaled(const Expr& e, std::int64_t factor) { return factor == 1 ? e : e * factor; }
Expr shifted(const Expr& e, std::int64_t rest) { return rest < 0 ? e - (-rest) : e + rest; }

bool are_small(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return std::abs(v) < kLargestNumber; });
}

/// The integer of least magnitude in low..high.
std::int64_t nearest_zero(std::int64_t low, std::int64_t high) { return low > 0 ? low : high < 0 ? high : 0; }

}  // namespace

bool close(DType dtype, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  if (dtype == DType::f64) return std::nextafter(a, b) == b;
  if (dtype == DType::f32) return std::nextafter(static_cast<float>(a), static_cast<float>(b)) == static_cast<float>(b);
  return std::abs(a - b) <= std::ldexp(1.0, -10) * std::max(std::abs(a), std::abs(b));
}

Fitter::Fitter(const std::vector<std::string>& names, std::vector<SizeValues> points)
    : points_(std::move(points)), pairs_(names.size()) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    sizes_.push_back(size_expr(k, names[k]));
    std::map<SizeValues, Pair> ends;  // by the other sizes
    for (std::size_t i = 0; i < points_.size(); ++i) {
      SizeValues others = points_[i];
      others[k] = 0;
      Pair& pair = ends.emplace(std::move(others), Pair{i, i}).first->second;
      if (points_[i][k] < points_[pair.low][k]) pair.low = i;
      if (points_[i][k] > points_[pair.high][k]) pair.high = i;
    }
    std::int64_t widest = 0;
    for (const auto& [others, pair] : ends) {
      const std::int64_t width = points_[pair.high][k] - points_[pair.low][k];
      if (width > widest) widest = width, pairs_[k] = pair;
    }
    Values values;
    for (const SizeValues& point : points_) values.push_back(point[k]);
    if (widest > 0) known_.push_back({sizes_[k], std::move(values)});
  }
}

const Fitter::Known* Fitter::known(const Values& values) const {
  for (const Known& each : known_)
    if (each.values == values) return &each;
  return nullptr;
}

Expr Fitter::remember(Expr function, const Values& values) {
  if (function.defined()) known_.push_back({function, values});
  return function;
}

Expr Fitter::simple(const Values& values) {
  if (const Known* found = known(values)) return found->function;
  if (!are_small(values)) return {};
  Expr function = affine(values);
  if (!function.defined()) function = quotient(values);
  return remember(function, values);
}

Expr Fitter::composed(const Values& values) {
  if (Expr function = simple(values); function.defined()) return function;
  if (!are_small(values)) return {};
  Expr function = of_one(values);
  if (!function.defined()) function = clamped(values);
  if (!function.defined()) function = of_two(values);
  return remember(function, values);
}

Expr Fitter::affine(const Values& values) const {
  std::vector<std::int64_t> slopes(sizes_.size(), 0);
  std::int64_t rest = values[0];
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    if (!pairs_[k]) continue;
    const auto& [low, high] = *pairs_[k];
    const std::int64_t run = points_[high][k] - points_[low][k], rise = values[high] - values[low];
    if (rise % run != 0) return {};
    slopes[k] = rise / run;
    if (std::abs(slopes[k]) > kSteepest) return {};
    rest -= slopes[k] * points_[0][k];
  }
  for (std::size_t i = 0; i < points_.size(); ++i) {
    std::int64_t sum = rest;
    for (std::size_t k = 0; k < slopes.size(); ++k) sum += slopes[k] * points_[i][k];
    if (sum != values[i]) return {};
  }
  Expr sum;
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    if (slopes[k] == 0) continue;
    sum = sum.defined() ? sum + scaled(sizes_[k], slopes[k]) : scaled(sizes_[k], slopes[k]);
  }
  return sum.defined() ? shifted(sum, rest) : Expr();
}

Expr Fitter::quotient(const Values& values) const {
  Expr best;
  std::int64_t least_cost = kLargestNumber;
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    if (!pairs_[k]) continue;
    const auto& [first, last] = *pairs_[k];
    const std::int64_t run = points_[last][k] - points_[first][k], rise = values[last] - values[first];
    for (std::int64_t c = 2; c <= kLargestDivisor; ++c) {
      // a·run lies between c·rise - (c - 1) and c·rise + (c - 1).
      const std::int64_t least = -floor_div(c - 1 - c * rise, run), most = floor_div(c * rise + c - 1, run);
      for (std::int64_t a = least; a <= most; ++a) {
        if (a == 0 || std::abs(a) > kSteepest) continue;
        std::int64_t low = -kLargestNumber, high = kLargestNumber;  // of b
        for (std::size_t i = 0; i < points_.size() && low <= high; ++i) {
          const std::int64_t begin = values[i] * c - a * points_[i][k];
          low = std::max(low, begin);
          high = std::min(high, begin + c - 1);
        }
        if (low > high) continue;
        // Of those that are right at the points the one that a network would have: strides are powers of two.
        const std::int64_t cost = std::abs(a) + std::abs(nearest_zero(low, high)) +
                                  (std::has_single_bit(static_cast<std::uint64_t>(c)) ? 0 : c);
        if (cost >= least_cost) continue;
        least_cost = cost;
        // The least b keeps the windows of a pool inside its input: of 3 rows by 2 at odd n, floordiv(n - 1, 2) steps end there, and
        // floordiv(n, 2) would not at an even n, which the proof does not know to be none of the sizes. It also keeps functions
        // that differ by a constant so.
        best = floordiv(shifted(scaled(sizes_[k], a), low), c);
      }
    }
  }
  return best;
}

Expr Fitter::of_one(const Values& values) const {
  for (const Known& f : known_) {
    const auto line = line_through(values, [&](std::size_t i) { return f.values[i]; });
    if (line && line->factor != 0) return shifted(scaled(f.function, line->factor), line->rest);
  }
  return {};
}

Expr Fitter::clamped(const Values& values) const {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  for (const Known& f : known_) {
    const auto is = [&](const auto& clamp) {
      for (std::size_t i = 0; i < values.size(); ++i)
        if (clamp(f.values[i]) != values[i]) return false;
      return true;
    };
    if (is([&](std::int64_t v) { return std::min(v, *high); })) return min(f.function, int_const(*high));
    if (is([&](std::int64_t v) { return std::max(v, *low); })) return max(f.function, int_const(*low));
  }
  return {};
}

Expr Fitter::of_two(const Values& values) const {
  const std::size_t count = std::min(known_.size(), kMostKnown);
  for (std::size_t i = 0; i < count; ++i) {
    const Known& f = known_[i];
    for (std::size_t j = i; j < count; ++j) {
      const Known& g = known_[j];
      const auto line = line_through(values, [&](std::size_t p) { return f.values[p] * g.values[p]; });
      if (line && line->factor != 0) return shifted(scaled(f.function * g.function, line->factor), line->rest);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Known& f = known_[i];
    Values rest = values;
    for (std::size_t p = 0; p < rest.size(); ++p) rest[p] -= f.values[p];
    for (std::size_t j = 0; j < count; ++j) {
      const Known& g = known_[j];
      const auto line = line_through(rest, [&](std::size_t p) { return g.values[p]; });
      if (line && line->factor != 0) return shifted(f.function + scaled(g.function, line->factor), line->rest);
    }
  }
  return {};
}

Expr Fitter::floats(DType dtype, const std::vector<double>& values) {
  for (const bool exactly : {true, false})
    if (Expr function = floats(dtype, values, exactly); function.defined()) return function;
  return {};
}

Expr Fitter::floats(DType dtype, const std::vector<double>& values, bool exactly) const {
  const auto constant = [&](double value) { return float_const(value, dtype); };
  const auto is = [&](const Expr& function) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = float_at(function, points_[i]);
      if (exactly ? value != values[i] : !close(dtype, value, values[i])) return false;
    }
    return true;
  };
  const auto times = [&](const Expr& number) {
    const double factor = values[0] / float_at(number, points_[0]);
    return close(dtype, factor, 1) ? number : number * constant(factor);
  };
  // c·x, c/x or 1/(c·x), where x is an integer.
  const auto of = [&](const Expr& integer) -> Expr {
    if (value_at(integer, points_[0]) == 0 || values[0] == 0) return {};
    const Expr number = cast(dtype, integer);
    if (const Expr product = times(number); is(product)) return product;
    const double part = values[0] * float_at(number, points_[0]);
    const double whole = std::nearbyint(part), parts = std::nearbyint(1 / part);
    if (whole != 0)
      if (const Expr quotient = constant(whole) / number; is(quotient)) return quotient;
    if (std::abs(parts) > 1 && std::abs(parts) < static_cast<double>(kSteepest))
      if (const Expr quotient = constant(1) / cast(dtype, integer * static_cast<std::int64_t>(parts)); is(quotient))
        return quotient;
    const Expr quotient = constant(part) / number;
    return is(quotient) ? quotient : Expr();
  };
  const std::size_t count = std::min(known_.size(), kMostKnown);
  for (std::size_t i = 0; i < count; ++i)
    if (Expr function = of(known_[i].function); function.defined()) return function;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i; j < count; ++j)
      if (Expr function = of(known_[i].function * known_[j].function); function.defined()) return function;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j || known_[i].values[0] == 0 || known_[j].values[0] == 0) continue;
      const Expr function = times(cast(dtype, known_[i].function) / cast(dtype, known_[j].function));
      if (is(function)) return function;
    }
  }
  return {};
}

}  // namespace whet
