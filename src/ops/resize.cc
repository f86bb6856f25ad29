#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "ops/site.h"

namespace whet {
namespace {

struct Fraction {
  std::int64_t p, q;
};

/// The fraction of least denominator that is `value` up to what a float of a file can say.
Fraction fraction_of(double value) {
  std::int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double rest = value;
  for (int step = 0; step < 32; ++step) {
    const double whole = std::floor(rest);
    const auto w = static_cast<std::int64_t>(whole);
    const std::int64_t p2 = w * p1 + p0, q2 = w * q1 + q0;
    if (q2 > (1 << 20)) break;
    p0 = p1, q0 = q1, p1 = p2, q1 = q2;
    if (std::abs(static_cast<double>(p1) / static_cast<double>(q1) - value) <= 1e-7 * value || rest == whole) break;
    rest = 1 / (rest - whole);
  }
  return p1 > 0 ? Fraction{p1, q1} : Fraction{1, q1 == 0 ? 1 : q1};
}

/// The source coordinate of output position i is (a*i + b) / d, exactly: scales are rational, so rounding to an index
/// and the distance to it are integer arithmetic.
constexpr std::int64_t kFixedPoint = std::int64_t{1} << 24;  ///< the denominator where numbers are not rational

struct Coordinate {
  std::int64_t a, b, d;
  bool is_identity() const { return a == d && b == 0; }
};

Coordinate reduced(Coordinate c) {
  const std::int64_t g = std::max<std::int64_t>(std::gcd(std::gcd(c.a, c.b), c.d), 1);
  return {c.a / g, c.b / g, c.d / g};
}

Coordinate coordinate_of(const ResizeOperator& op, std::size_t dim, std::int64_t in, std::int64_t out) {
  const double ratio = static_cast<double>(out) / static_cast<double>(in);
  const Fraction s = std::abs(op.scales[dim] - ratio) < 1e-6 * ratio ? Fraction{out, in} : fraction_of(op.scales[dim]);
  const Coordinate half{2 * s.q, s.q - s.p, 2 * s.p};  // (i + 1/2) * q/p - 1/2
  switch (op.coordinates) {
    case CoordinateMode::asymmetric:
      return reduced({s.q, 0, s.p});
    case CoordinateMode::align_corners:  // the last of whole positions, whatever the scale
      return out == 1 ? Coordinate{0, 0, 1} : reduced({in - 1, 0, out - 1});
    case CoordinateMode::tf_half_pixel_for_nn:  // (i + 1/2) * q/p
      return reduced({2 * s.q, s.q, 2 * s.p});
    case CoordinateMode::tf_crop_and_resize: {
      const double last = static_cast<double>(in - 1), from = op.roi_begin[dim], to = op.roi_end[dim];
      const double step = out > 1 ? (to - from) * last / static_cast<double>(out - 1) : 0;
      const double start = out > 1 ? from * last : (from + to) / 2 * last;
      const auto fixed = [](double value) { return static_cast<std::int64_t>(std::llround(value * kFixedPoint)); };
      return reduced({fixed(step), fixed(start), kFixedPoint});
    }
    case CoordinateMode::pytorch_half_pixel:
      return out == 1 ? Coordinate{0, 0, 1} : reduced(half);
    case CoordinateMode::half_pixel:
      return reduced(half);
    case CoordinateMode::half_pixel_symmetric:
      // The centres of input and output stay together when the scale is not exactly out / in.
      return reduced({2 * s.q, s.q - s.p + in * s.p - out * s.q, 2 * s.p});
  }
  WHET_CHECK(false);
  return {};
}

/// A denominator that is a power of two, with the same floor for 0 <= i < positions and a fraction at most `slack` more:
/// a shift is cheaper than a division, and vectors have no other.
Coordinate shifted(const Coordinate& c, std::int64_t positions, double slack) {
  const bool whole_steps = c.a == 1 && c.b == 0;  // tiles of d positions read one
  if (whole_steps || std::has_single_bit(static_cast<std::uint64_t>(c.d))) return c;
  // Rounded up, a and b are wrong by less than (i + 1) / d together: less than the next fraction, which is 1 / d away.
  const double needed = static_cast<double>(positions + 1) * std::max(static_cast<double>(c.d), 1 / slack);
  const int bits = static_cast<int>(std::ceil(std::log2(needed))) + 1;
  const double largest = static_cast<double>(std::abs(c.a)) * static_cast<double>(positions) +
                         static_cast<double>(std::abs(c.b)) + static_cast<double>(c.d);
  if (std::ldexp(largest, bits) > 0x1p62) return c;
  const auto scaled = [&](std::int64_t x) { return -floor_div(-(x << bits), c.d); };
  return {scaled(c.a), scaled(c.b), std::int64_t{1} << bits};
}

/// floor((a*i + b) / d) kept inside 0..extent-1; no clamp where none is needed.
Expr index_at(const Expr& i, std::int64_t positions, const Coordinate& c, std::int64_t extent) {
  const std::int64_t first = floor_div(c.b, c.d), last = floor_div(c.a * (positions - 1) + c.b, c.d);
  const std::int64_t lowest = std::min(first, last), highest = std::max(first, last);
  const Coordinate s = shifted(c, positions, 1);
  Expr index = floordiv(i * s.a + s.b, s.d);
  if (lowest < 0) index = max(index, int_const(0));
  if (highest >= extent) index = min(index, int_const(extent - 1));
  return index;
}

Coordinate nearest_of(const Coordinate& c, NearestMode mode) {
  switch (mode) {
    case NearestMode::floor:
      return c;
    case NearestMode::ceil:
      return {c.a, c.b + c.d - 1, c.d};
    case NearestMode::round_prefer_ceil:
      return reduced({2 * c.a, 2 * c.b + c.d, 2 * c.d});
    // ceil(x - 1/2) = floor((2(a i + b) - d + 2d - 1) / 2d)
    case NearestMode::round_prefer_floor:
      return {2 * c.a, 2 * c.b + c.d - 1, 2 * c.d};
  }
  WHET_CHECK(false);
  return {};
}

/// One source position of a dimension and its weight (undefined: 1).
struct Tap {
  Expr index, weight;
};

/// Distance to the position below, in 0..1, as `dtype`, which holds the numerators: 2^24 is no number of f16.
Expr distance(const Expr& i, std::int64_t positions, const Coordinate& exact, DType dtype) {
  const Coordinate c = dtype == DType::f64 ? exact : shifted(exact, positions, 0x1p-26);
  return cast(dtype, floormod(i * c.a + c.b, c.d)) * float_const(1.0 / static_cast<double>(c.d), dtype);
}

std::vector<Tap> linear_taps(const Expr& i, std::int64_t positions, const Coordinate& c, std::int64_t extent,
                             DType dtype) {
  const Expr t = distance(i, positions, c, dtype);
  return {{index_at(i, positions, c, extent), float_const(1, dtype) - t},
          {index_at(i, positions, {c.a, c.b + c.d, c.d}, extent), t}};
}

/// Keys' cubic convolution weights for the positions -1, 0, 1, 2 around the coordinate, at distance t from position 0.
std::vector<Expr> cubic_weights(const Expr& t, double a) {
  auto k = [&](double value) { return constant_like(t, value); };
  auto near = [&](const Expr& x) { return ((x * k(a + 2) - k(a + 3)) * x) * x + k(1); };
  auto far = [&](const Expr& x) { return ((x * k(a) - k(5 * a)) * x + k(8 * a)) * x - k(4 * a); };
  return {far(t + k(1)), near(t), near(k(1) - t), far(k(2) - t)};
}

std::vector<Tap> cubic_taps(const ResizeOperator& op, const Expr& i, std::int64_t positions, const Coordinate& c,
                            std::int64_t extent, DType dtype) {
  const std::vector<Expr> weights = cubic_weights(distance(i, positions, c, dtype), op.cubic_a);
  std::vector<Tap> taps;
  Expr total = float_const(0, dtype);
  for (std::int64_t k = -1; k <= 2; ++k) {
    Expr weight = weights[static_cast<std::size_t>(k + 1)];
    if (op.exclude_outside) {
      const Expr raw = floordiv(i * c.a + c.b, c.d) + k;
      weight = select(raw >= int_const(0) && raw < int_const(extent), weight, float_const(0, dtype));
      total = k == -1 ? weight : total + weight;
    }
    taps.push_back({index_at(i, positions, {c.a, c.b + k * c.d, c.d}, extent), weight});
  }
  if (op.exclude_outside) {
    for (Tap& tap : taps) tap.weight = tap.weight / total;
  }
  return taps;
}

std::vector<Tap> taps_of(const ResizeOperator& op, const Site& site, std::size_t dim, const Expr& i) {
  const std::int64_t in = site.shape(0)[dim], out = site.output.shape[dim];
  const Coordinate c = coordinate_of(op, dim, in, out);
  if (in == out && c.is_identity()) return {{i, Expr()}};
  if (in == 1) return {{int_const(0), Expr()}};
  if (op.mode == ResizeMode::nearest) return {{index_at(i, out, nearest_of(c, op.nearest), in), Expr()}};
  const DType dtype = wide_type(site.output.dtype);
  if (op.mode == ResizeMode::linear) return linear_taps(i, out, c, in, dtype);
  return cubic_taps(op, i, out, c, in, dtype);
}

/// Whether the coordinate lies outside of the input in some dimension; nothing where it never does.
Expr outside(const ResizeOperator& op, const Site& site, const Exprs& i) {
  Expr any;
  for (std::size_t dim = 0; dim < i.size(); ++dim) {
    const std::int64_t in = site.shape(0)[dim], out = site.output.shape[dim];
    const Coordinate c = coordinate_of(op, dim, in, out);
    const std::int64_t first = c.b, last = c.a * (out - 1) + c.b;
    const Expr at = i[dim] * c.a + c.b;
    if (std::min(first, last) < 0) any = any.defined() ? any || at < int_const(0) : at < int_const(0);
    const Expr above = at > int_const((in - 1) * c.d);
    if (std::max(first, last) > (in - 1) * c.d) any = any.defined() ? any || above : above;
  }
  return any;
}

/// The weighted sum over the taps of dimensions dim, dim+1, ...: separable, the outer weight times the inner sum, in the
/// type of the weights.
Expr weighted(const Site& site, OpId from, const std::vector<std::vector<Tap>>& taps, std::size_t dim, Exprs& index) {
  if (dim == taps.size()) return site.read(from, index);
  Expr sum;
  for (const Tap& tap : taps[dim]) {
    index[dim] = tap.index;
    Expr value = weighted(site, from, taps, dim + 1, index);
    if (tap.weight.defined()) value = cast(tap.weight->dtype, value) * tap.weight;
    sum = sum.defined() ? sum + value : value;
  }
  return sum;
}

}  // namespace

namespace {

/// The dimension whose taps are summed by an op of their own, behind those of all others: the last one that is resized,
/// where vectors along it would gather every tap of the others, or where the taps are many together. Nothing: one op.
std::optional<std::size_t> apart(const ResizeOperator& op, const Site& site) {
  std::optional<std::size_t> last;
  std::size_t taps = 1, resized = 0, innermost = 0;
  const Shape& out = site.output.shape;
  for (std::size_t dim = 0; dim < out.size(); ++dim) {
    if (out[dim] > 1) innermost = dim;
    const std::size_t here = taps_of(op, site, dim, int_const(0)).size();
    if (here > 1) last = dim, taps *= here, ++resized;
  }
  const bool worth = resized > 1 && (*last == innermost || taps > 4);
  return worth ? last : std::nullopt;
}

}  // namespace

OpId define_at(const Site& site, const ResizeOperator& op) {
  OpId from = site.inputs[0];
  const std::optional<std::size_t> last = apart(op, site);
  const auto taps_at = [&](const Exprs& i, const std::function<bool(std::size_t)>& left_out) {
    std::vector<std::vector<Tap>> taps;
    for (std::size_t dim = 0; dim < i.size(); ++dim)
      taps.push_back(left_out(dim) ? std::vector<Tap>{{i[dim], Expr()}} : taps_of(op, site, dim, i[dim]));
    return taps;
  };
  if (last) {
    std::vector<Axis> axes = axes_of(site.output.shape);
    axes[*last].extent = site.shape(0)[*last];
    from = site.map(site.part("others"), axes, OpFamily::resize, [&](const Exprs& i) {
      Exprs index(i.size());
      return weighted(site, from, taps_at(i, [&](std::size_t dim) { return dim == *last; }), 0, index);
    });
  }
  return site.result(op.mode == ResizeMode::nearest ? OpFamily::injective : OpFamily::resize, [&](const Exprs& i) {
    Exprs index(i.size());
    const auto taps = taps_at(i, [&](std::size_t dim) { return last && dim != *last; });
    const Expr value = cast(site.output.dtype, weighted(site, from, taps, 0, index));
    if (op.coordinates != CoordinateMode::tf_crop_and_resize) return value;
    const Expr none = outside(op, site, i);
    return none.defined() ? select(none, constant_like(value, op.extrapolation), value) : value;
  });
}

}  // namespace whet
