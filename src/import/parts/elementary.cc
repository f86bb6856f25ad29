#include "import/parts/elementary.h"

#include <span>

#include "base/arithmetic.h"
#include "import/parts/activation.h"
#include "import/parts/arithmetic.h"

// The polynomials are our own Chebyshev fits (at 113 bits), for f32 and for f64.

namespace whet {
namespace {

using B = BinaryKind;
using U = UnaryKind;

Result<ValueId> both(NodeSite& site, const char* part, B kind, ValueId a, ValueId b) {
  return site.add(part, BinaryOperator{kind}, {a, b});
}

/// c[0] + x c[1] + x² c[2] + ...
Result<ValueId> polynomial(NodeSite& site, ValueId x, std::span<const double> c) {
  ValueId sum = site.add_scalar("last", site.dtype(x), c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) {
    WHET_TRY(sum, both(site, "times", B::mul, sum, x));
    WHET_TRY(sum, with_number(site, "term", B::add, sum, c[i]));
  }
  return sum;
}

std::span<const double> terms_for(DType dtype, std::span<const double> single, std::span<const double> wide) {
  return dtype == DType::f64 ? wide : single;
}

/// Floats of 16 bits have no digits for what lies on the way.
Result<ValueId> widely(NodeSite& site, ValueId x, Result<ValueId> (*function)(NodeSite&, ValueId)) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  const DType dtype = site.dtype(x);
  if (!is_half(dtype)) return function(site, x);
  WHET_TRY(x, site.add("wide", CastOperator{DType::f32}, {x}));
  WHET_TRY(const ValueId y, function(site, x));
  return site.add("narrow", CastOperator{dtype}, {y});
}

/// 2 t / (1 - t) of t = tanh(x / 2): nothing cancels where x <= 0.5.
Result<ValueId> through_tangent(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId half, with_number(site, "half", B::mul, x, 0.5));
  WHET_TRY(const ValueId t, site.add("t", UnaryOperator{U::tanh}, {half}));
  WHET_TRY(const ValueId twice, with_number(site, "twice", B::mul, t, 2));
  WHET_TRY(const ValueId rest, both(site, "rest", B::sub, site.add_scalar("one", site.dtype(x), 1), t));
  return both(site, "lowered", B::div, twice, rest);
}

Result<ValueId> wide_expm1(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId power, site.add("power", UnaryOperator{U::exp}, {x}));
  WHET_TRY(const ValueId far, with_number(site, "far", B::sub, power, 1));
  WHET_TRY(const ValueId near, through_tangent(site, x));
  WHET_TRY(const ValueId is_near, with_number(site, "is_near", B::less, x, 0.5));
  return site.add("expm1", WhereOperator{}, {is_near, near, far});
}

/// Near 0, where 1 + x loses digits, 2 atanh(x / (x + 2)).
Result<ValueId> wide_log1p(NodeSite& site, ValueId x) {
  WHET_TRY(const ValueId more, with_number(site, "more", B::add, x, 1));
  WHET_TRY(const ValueId far, site.add("far", UnaryOperator{U::log}, {more}));
  WHET_TRY(const ValueId below, with_number(site, "below", B::add, x, 2));
  WHET_TRY(const ValueId quotient, both(site, "quotient", B::div, x, below));
  WHET_TRY(const ValueId half, site.add("half", UnaryOperator{U::atanh}, {quotient}));
  WHET_TRY(const ValueId near, with_number(site, "near", B::mul, half, 2));
  WHET_TRY(const ValueId size, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId is_near, with_number(site, "is_near", B::less, size, 0.5));
  return site.add("log1p", WhereOperator{}, {is_near, near, far});
}

/// exp(-t²) of t >= 0, in two factors: the square of the first is exact, that of the rest is small.
Result<ValueId> bell(NodeSite& site, ValueId t) {
  WHET_TRY(ValueId whole, with_number(site, "sixteenths", B::mul, t, 16));
  WHET_TRY(whole, site.add("counted", UnaryOperator{U::floor}, {whole}));
  WHET_TRY(whole, with_number(site, "whole", B::mul, whole, 1.0 / 16));
  WHET_TRY(ValueId square, both(site, "square", B::mul, whole, whole));
  WHET_TRY(square, site.add("less", UnaryOperator{U::neg}, {square}));
  WHET_TRY(const ValueId coarse, site.add("coarse", UnaryOperator{U::exp}, {square}));
  WHET_TRY(const ValueId difference, both(site, "difference", B::sub, whole, t));
  WHET_TRY(const ValueId sum, both(site, "sum", B::add, whole, t));
  WHET_TRY(ValueId rest, both(site, "rest", B::mul, difference, sum));
  WHET_TRY(rest, site.add("fine", UnaryOperator{U::exp}, {rest}));
  return both(site, "bell", B::mul, coarse, rest);
}

/// Of t = |x| as exp(-t²) times a smooth function; that of -t is the rest of 2.
Result<ValueId> wide_erfc(NodeSite& site, ValueId x) {
  // erfc(t) exp(t²) (1 + 2t) of (t - 3) / (t + 3), t <= 10.5 and t <= 28
  static constexpr double kSingle[] = {1.253008058,    -0.1356211491,   -0.04756231817,  0.1296467149,
                                       -0.1192719193,  0.06829302906,   -0.02379466453,  0.002576856517,
                                       0.002001771226, -0.000788120753, -0.0002735959993};
  static constexpr double kDouble[] = {
      1.25300805826972961,     -0.135621106124581087,    -0.0475622943534530634,   0.129645158702750257,
      -0.119273663415168568,   0.0683080273444060387,    -0.0237705149219376473,   0.00252939180790006301,
      0.00188869039816968011,  -0.000779832185525928005, -0.000105160062412995483, 0.0001250987929274765,
      4.95055234963466689e-06, -2.00982538376259265e-05, -7.3416316546683903e-07,  3.46615967127961731e-06,
      3.60668634754241263e-07, -6.05658638933765913e-07, -1.44103543796816878e-07, 8.97748061160850375e-08,
      4.1134756392158016e-08,  -5.75650399614750696e-09, -6.46784445578298721e-09, -1.06725952149769159e-09};
  const double end = site.dtype(x) == DType::f64 ? 28 : 10.5;  // beyond, the result is 0
  WHET_TRY(ValueId t, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(t, site.add("t", ClipOperator{0, end}, {t}));
  WHET_TRY(const ValueId above, with_number(site, "above", B::sub, t, 3));
  WHET_TRY(const ValueId below, with_number(site, "below", B::add, t, 3));
  WHET_TRY(const ValueId place, both(site, "place", B::div, above, below));
  WHET_TRY(const ValueId smooth, polynomial(site, place, terms_for(site.dtype(x), kSingle, kDouble)));
  WHET_TRY(ValueId divisor, with_number(site, "twice", B::mul, t, 2));
  WHET_TRY(divisor, with_number(site, "divisor", B::add, divisor, 1));
  WHET_TRY(const ValueId slow, both(site, "slow", B::div, smooth, divisor));
  WHET_TRY(const ValueId fast, bell(site, t));
  WHET_TRY(const ValueId complement, both(site, "complement", B::mul, fast, slow));
  WHET_TRY(const ValueId other, both(site, "other", B::sub, site.add_scalar("two", site.dtype(x), 2), complement));
  WHET_TRY(const ValueId is_negative, with_number(site, "is_negative", B::less, x, 0));
  return site.add("erfc", WhereOperator{}, {is_negative, other, complement});
}

/// Of t = |x| by the logarithm w of 1 - t²: t times a smooth function of w, or of its root where w is large. In f64 two steps of
/// Newton's method follow.
Result<ValueId> wide_erfinv(NodeSite& site, ValueId x) {
  // erfinv(t) / t of w - 2.5, w <= 5; and of sqrt(w) - 3, w <= 36
  static constexpr double kNear[] = {1.501409351,     0.2466407663,    -0.004177346517,
                                     -0.001253758885, 0.0002183129798, -4.380346714e-6,
                                     -3.454779514e-6, 3.42224709e-7,   2.260597774e-8};
  static constexpr double kFar[] = {2.832976888,      1.001675706,     0.009442316513,  -0.007648668,
                                    0.00570711087,    -0.00355137566,  0.001425860388,  -0.0001254071818,
                                    -0.0002274936597, 0.0001456646349, -4.277898308e-5, 6.471170582e-6,
                                    -4.061775837e-7};
  const ValueId one = site.add_scalar("one", site.dtype(x), 1);
  WHET_TRY(const ValueId t, site.add("size", UnaryOperator{U::abs}, {x}));
  WHET_TRY(const ValueId rest, both(site, "rest", B::sub, one, t));
  WHET_TRY(ValueId w, both(site, "more", B::add, one, t));
  WHET_TRY(w, both(site, "product", B::mul, rest, w));
  WHET_TRY(w, site.add("log", UnaryOperator{U::log}, {w}));
  WHET_TRY(w, site.add("w", UnaryOperator{U::neg}, {w}));
  WHET_TRY(const ValueId place, with_number(site, "place", B::sub, w, 2.5));
  WHET_TRY(const ValueId near, polynomial(site, place, kNear));
  WHET_TRY(ValueId root, site.add("root", UnaryOperator{U::sqrt}, {w}));
  WHET_TRY(root, with_number(site, "far_place", B::sub, root, 3));
  WHET_TRY(const ValueId far, polynomial(site, root, kFar));
  WHET_TRY(const ValueId is_near, with_number(site, "is_near", B::less, w, 5));
  WHET_TRY(ValueId y, site.add("factor", WhereOperator{}, {is_near, near, far}));
  WHET_TRY(y, both(site, "y", B::mul, y, t));
  for (int step = 0; step < (site.dtype(x) == DType::f64 ? 2 : 0); ++step) {
    WHET_TRY(ValueId small, site.add("erf", UnaryOperator{U::erf}, {y}));
    WHET_TRY(small, both(site, "small_error", B::sub, t, small));
    WHET_TRY(ValueId large, wide_erfc(site, y));
    WHET_TRY(large, both(site, "large_error", B::sub, large, rest));
    WHET_TRY(const ValueId is_small, with_number(site, "is_small", B::less, t, 0.5));
    WHET_TRY(ValueId error, site.add("error", WhereOperator{}, {is_small, small, large}));
    WHET_TRY(ValueId slope, both(site, "square", B::mul, y, y));
    WHET_TRY(slope, site.add("slope", UnaryOperator{U::exp}, {slope}));
    WHET_TRY(slope, with_number(site, "inverse", B::mul, slope, 0.886226925452758014));
    WHET_TRY(error, both(site, "step", B::mul, error, slope));
    WHET_TRY(y, both(site, "y", B::add, y, error));
  }
  WHET_TRY(const ValueId is_end, both(site, "is_end", B::equal, t, one));
  WHET_TRY(y, site.add("or_end", WhereOperator{}, {is_end, site.add_scalar("end", site.dtype(x), kInfinity), y}));
  WHET_TRY(const ValueId turned, site.add("turned", UnaryOperator{U::neg}, {y}));
  WHET_TRY(const ValueId is_negative, with_number(site, "is_negative", B::less, x, 0));
  return site.add("erfinv", WhereOperator{}, {is_negative, turned, y});
}

/// Of y = x, or 1 - x where that is negative: from 1 to 3 by a smooth function that its zeros are taken out of; below by that of
/// y + 1 less log(y); above by Stirling's formula and a smooth function.
Result<ValueId> wide_lgamma(NodeSite& site, ValueId x) {
  // lgamma(t + 2) / (t (t + 1)), |t| <= 1; and y (lgamma(y) - Stirling's formula) of 18 / y² - 1, y >= 3
  static constexpr double kSingle[] = {0.4227843351,    -0.1003172746,   0.03296498784,   -0.01238494322,
                                       0.004998996089,  -0.002102242432, 0.0009125944839, -0.000425154131,
                                       0.0001917396867, -5.283973561e-5, 2.388160727e-5,  -3.858047519e-5,
                                       1.80915131e-5};
  static constexpr double kSingleRest[] = {0.08318136698, -0.0001497000829, 2.183408112e-6, -7.80286712e-8,
                                           4.806163997e-9};
  static constexpr double kDouble[] = {
      0.422784335098467139,    -0.100317301674354209,     0.0329650006211559659,    -0.0123841921933364025,
      0.00499864116468036015,  -0.00210813083520551129,   0.000915376922859274743,  -0.000405707376718340237,
      0.000182552628961646087, -0.0000830953205143400953, 0.0000381689838392897344, -0.0000176605494368599631,
      8.22164118468845867e-6,  -3.85162802456863467e-6,   1.81019653745853811e-6,   -8.41787818556620709e-7,
      3.98291986191765263e-7,  -2.11602094152952679e-7,   1.00900825014163906e-7,   -1.91557989128059159e-8,
      8.98075293131932845e-9,  -2.96893772361782225e-8,   1.43546025381865477e-8,   7.54698210604421572e-9,
      -3.6707781973177215e-9,  -3.04508310461640577e-9,   1.47567844979562575e-9};
  static constexpr double kDoubleRest[] = {
      0.083181366976551971,    -0.000149700218364814053, 2.18342433850295942e-6,  -7.74892428196251251e-8,
      4.74168913810003441e-9,  -4.23881394373258546e-10, 5.02296771654257193e-11, -7.40353108103215145e-12,
      1.28011910814192943e-12, -2.57005429101905873e-13, 7.47639749369612413e-14, -1.95924270776002942e-14};
  const DType dtype = site.dtype(x);
  WHET_TRY(const ValueId is_negative, with_number(site, "is_negative", B::less, x, 0));
  WHET_TRY(ValueId y, both(site, "other", B::sub, site.add_scalar("one", dtype, 1), x));
  WHET_TRY(y, site.add("y", WhereOperator{}, {is_negative, y, x}));
  WHET_TRY(const ValueId is_small, with_number(site, "is_small", B::less, y, 1));
  WHET_TRY(const ValueId log, site.add("log", UnaryOperator{U::log}, {y}));
  WHET_TRY(const ValueId less_1, with_number(site, "less_1", B::sub, y, 1));
  WHET_TRY(const ValueId less_2, with_number(site, "less_2", B::sub, y, 2));
  WHET_TRY(const ValueId first, site.add("first", WhereOperator{}, {is_small, y, less_1}));
  WHET_TRY(const ValueId t, site.add("t", WhereOperator{}, {is_small, less_1, less_2}));
  WHET_TRY(ValueId near, polynomial(site, t, terms_for(dtype, kSingle, kDouble)));
  WHET_TRY(near, both(site, "one_zero", B::mul, near, first));
  WHET_TRY(near, both(site, "both_zeros", B::mul, near, t));
  WHET_TRY(const ValueId lowered, both(site, "lowered", B::sub, near, log));
  WHET_TRY(near, site.add("near", WhereOperator{}, {is_small, lowered, near}));
  WHET_TRY(const ValueId inverse, site.add("inverse", UnaryOperator{U::reciprocal}, {y}));
  WHET_TRY(ValueId rest, both(site, "square", B::mul, inverse, inverse));
  WHET_TRY(rest, with_number(site, "scaled", B::mul, rest, 18));
  WHET_TRY(rest, with_number(site, "place", B::sub, rest, 1));
  WHET_TRY(rest, polynomial(site, rest, terms_for(dtype, kSingleRest, kDoubleRest)));
  WHET_TRY(rest, both(site, "rest", B::mul, rest, inverse));
  WHET_TRY(rest, with_number(site, "and_constant", B::add, rest, 0.418938533204672742));
  WHET_TRY(const ValueId half, with_number(site, "half", B::sub, y, 0.5));
  WHET_TRY(ValueId far, with_number(site, "slope", B::sub, log, 1));
  WHET_TRY(far, both(site, "line", B::mul, far, half));
  WHET_TRY(far, both(site, "far", B::add, far, rest));
  WHET_TRY(const ValueId is_near, with_number(site, "is_near", B::less, y, 3));
  WHET_TRY(y, site.add("upper", WhereOperator{}, {is_near, near, far}));
  // gamma(x) gamma(1 - x) = pi / sin(pi x)
  WHET_TRY(ValueId sine, site.add("whole", UnaryOperator{U::round}, {x}));
  WHET_TRY(sine, both(site, "part", B::sub, x, sine));
  WHET_TRY(sine, with_number(site, "angle", B::mul, sine, 3.14159265358979324));
  WHET_TRY(sine, site.add("sine", UnaryOperator{U::sin}, {sine}));
  WHET_TRY(sine, site.add("size", UnaryOperator{U::abs}, {sine}));
  WHET_TRY(sine, site.add("log_sine", UnaryOperator{U::log}, {sine}));
  WHET_TRY(ValueId turned, both(site, "sum", B::add, sine, y));
  WHET_TRY(turned, both(site, "turned", B::sub, site.add_scalar("log_pi", dtype, 1.14472988584940017), turned));
  return site.add("lgamma", WhereOperator{}, {is_negative, turned, y});
}

}  // namespace

/// Near 0, where the difference would cancel, by a polynomial, which is cheaper than what has all digits.
Result<ValueId> expm1_of_negative(NodeSite& site, ValueId x) {
  if (site.dtype(x) == DType::f64) return through_tangent(site, x);
  // expm1(x) / x, |x| <= 0.1
  static constexpr double kTerms[] = {1, 0.4999999566, 0.1666666605, 0.04168403088, 0.008335813837};
  WHET_TRY(const ValueId power, site.add("power", UnaryOperator{U::exp}, {x}));
  WHET_TRY(const ValueId far, with_number(site, "far", B::sub, power, 1));
  WHET_TRY(const ValueId quotient, polynomial(site, x, kTerms));
  WHET_TRY(const ValueId near, both(site, "near", B::mul, quotient, x));
  WHET_TRY(const ValueId is_near, with_number(site, "is_near", B::greater, x, -0.1));
  return site.add("lowered", WhereOperator{}, {is_near, near, far});
}

Result<ValueId> expm1(NodeSite& site, ValueId x) { return widely(site, x, wide_expm1); }
Result<ValueId> log1p(NodeSite& site, ValueId x) { return widely(site, x, wide_log1p); }
Result<ValueId> erfc(NodeSite& site, ValueId x) { return widely(site, x, wide_erfc); }
Result<ValueId> erfinv(NodeSite& site, ValueId x) { return widely(site, x, wide_erfinv); }
Result<ValueId> lgamma(NodeSite& site, ValueId x) { return widely(site, x, wide_lgamma); }

}  // namespace whet
