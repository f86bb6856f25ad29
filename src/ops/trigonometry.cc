#include <span>

#include "ops/site.h"

// The functions that no MathFn is: made of those that are one, so that schedules, vectors and the interpreter need
// nothing new. The polynomials are our own Chebyshev fits (at 40 digits), each to half a unit in the last place.

namespace whet {
namespace {

constexpr double kPi = 3.14159265358979323846;

Expr root(const Expr& x) { return call(MathFn::sqrt, {x}); }
Expr magnitude(const Expr& x) { return call(MathFn::abs, {x}); }
Expr with_sign_of(const Expr& x, const Expr& value) { return select(x < like(x, 0), -value, value); }

/// c[0] + x c[1] + x² c[2] + ...
Expr polynomial(const Expr& x, std::span<const double> c) {
  Expr sum = like(x, c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = sum * x + like(x, c[i]);
  return sum;
}

/// log(1 + t) for t >= -1 (half of t's digits may lie below 1's): what 1 + t lost is divided out again.
Expr log_of_one_plus(const Expr& t) {
  const Expr one = like(t, 1), sum = one + t, lost = sum - one;
  const Expr safe = select(equal(lost, like(t, 0)), one, lost);
  const Expr corrected = call(MathFn::log, {sum}) * (t / safe);
  // Infinities have lost nothing, and infinity / infinity is no number.
  return select(equal(lost, like(t, 0)), t, select(t < like(t, 1e15), corrected, call(MathFn::log, {sum})));
}

/// Through atan of |x| <= tan(pi / 8).
Expr arc_tangent(const Expr& x) {
  // atan(sqrt(z)) / sqrt(z), z <= tan(pi / 8)²
  static constexpr double kSingle[] = {1, -0.33333306893, 0.19998183041, -0.1423953267, 0.10569828806, -0.060263052277};
  static constexpr double kDouble[] = {1,
                                       -0.333333333333331212,
                                       0.199999999999408915,
                                       -0.142857142792502449,
                                       0.111111107449196582,
                                       -0.0909089680906402708,
                                       0.0769204533090222495,
                                       -0.0666295181362919009,
                                       0.0584687829733087252,
                                       -0.0503510245660155184,
                                       0.0379652574538659362,
                                       -0.0178053972054194452};
  const Expr a = magnitude(x), one = like(x, 1);
  const Expr large = a > like(x, 2.41421356237309505), middle = a > like(x, 0.41421356237309505);
  // atan(a) = pi/2 + atan(-1/a) = pi/4 + atan((a - 1) / (a + 1))
  const Expr numerator = select(large, like(x, -1), select(middle, a - one, a));
  const Expr denominator = select(large, a, select(middle, a + one, one));
  const Expr base = select(large, like(x, kPi / 2), select(middle, like(x, kPi / 4), like(x, 0)));
  const Expr t = numerator / denominator, z = t * t;
  const auto terms = x->dtype == DType::f64 ? std::span<const double>(kDouble) : std::span<const double>(kSingle);
  return with_sign_of(x, base + t * polynomial(z, terms));
}

/// atan(x / sqrt(1 - x²)); at the ends the quotient is infinite, outside no number.
Expr arc_sine(const Expr& x) {
  const Expr one = like(x, 1);
  return arc_tangent(x / root((one - x) * (one + x)));
}

Expr arc_cosine(const Expr& x) {
  const Expr one = like(x, 1);
  return like(x, 2) * arc_tangent(root((one - x) / (one + x)));
}

Expr hyperbolic_sine(const Expr& x) {
  // sinh(sqrt(y)) / sqrt(y), y <= 1
  static constexpr double kSingle[] = {1, 0.16666666418, 0.0083333532055, 0.00019835713876, 2.8190187928e-6};
  static constexpr double kDouble[] = {1,
                                       0.166666666666666678,
                                       0.00833333333333310003,
                                       0.000198412698414564452,
                                       2.75573191507048919e-6,
                                       2.50521240089533342e-8,
                                       1.60571994541795184e-10,
                                       7.7604064183362388e-13};
  const auto terms = x->dtype == DType::f64 ? std::span<const double>(kDouble) : std::span<const double>(kSingle);
  // e^(x/2) twice: e^x alone overflows before the half of it does.
  const Expr a = magnitude(x), half = call(MathFn::exp, {a * like(x, 0.5)});
  const Expr large = half * like(x, 0.5) * half - like(x, 0.5) / (half * half);
  return select(a < like(x, 1), x * polynomial(x * x, terms), with_sign_of(x, large));
}

Expr hyperbolic_cosine(const Expr& x) {
  const Expr half = call(MathFn::exp, {magnitude(x) * like(x, 0.5)});
  return half * like(x, 0.5) * half + like(x, 0.5) / (half * half);
}

/// log(a + sqrt(a² + 1)); where squares overflow, the root is a.
Expr area_sine(const Expr& x) {
  const Expr one = like(x, 1), a = magnitude(x), small = min(a, like(x, 1e9));
  const Expr near = log_of_one_plus(small + small * small / (one + root(small * small + one)));
  const Expr far = call(MathFn::log, {a}) + like(x, 0.693147180559945309);
  return with_sign_of(x, select(a > like(x, 1e9), far, near));
}

Expr area_cosine(const Expr& x) {
  const Expr t = x - like(x, 1), small = min(max(t, like(x, -1)), like(x, 1e9));  // of -1 the root is NaN
  const Expr near = log_of_one_plus(small + root(small * (small + like(x, 2))));
  const Expr far = call(MathFn::log, {x}) + like(x, 0.693147180559945309);
  return select(t > like(x, 1e9), far, near);
}

Expr area_tangent(const Expr& x) {
  const Expr a = magnitude(x);
  return with_sign_of(x, like(x, 0.5) * log_of_one_plus((a + a) / (like(x, 1) - a)));
}

Expr apply_wide(UnaryKind kind, const Expr& x) {
  switch (kind) {
    case UnaryKind::tan:
      return call(MathFn::sin, {x}) / call(MathFn::cos, {x});
    case UnaryKind::asin:
      return arc_sine(x);
    case UnaryKind::acos:
      return arc_cosine(x);
    case UnaryKind::atan:
      return arc_tangent(x);
    case UnaryKind::sinh:
      return hyperbolic_sine(x);
    case UnaryKind::cosh:
      return hyperbolic_cosine(x);
    case UnaryKind::asinh:
      return area_sine(x);
    case UnaryKind::acosh:
      return area_cosine(x);
    case UnaryKind::atanh:
      return area_tangent(x);
    default:
      WHET_CHECK(false, "no function of angles or areas");
      return x;
  }
}

}  // namespace

Expr softplus(const Expr& x) {
  // log(1 + u) / u, 0 <= u <= 1
  static constexpr double kTerms[] = {0.9999999953,  -0.4999990242, 0.3332996229,   -0.2495413246, 0.1967593376,
                                      -0.1530557827, 0.1060363289,  -0.05695933581, 0.01985136511, -0.003244005164};
  if (is_half(x->dtype)) return cast(x->dtype, softplus(cast(DType::f32, x)));
  const Expr u = call(MathFn::exp, {-magnitude(x)});
  const Expr log = x->dtype == DType::f32 ? u * polynomial(u, kTerms) : log_of_one_plus(u);
  return max(x, like(x, 0)) + log;
}

Expr trigonometric(UnaryKind kind, const Expr& x) {
  if (is_half(x->dtype)) return cast(x->dtype, apply_wide(kind, cast(DType::f32, x)));
  return apply_wide(kind, x);
}

}  // namespace whet
