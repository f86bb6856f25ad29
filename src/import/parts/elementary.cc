#include "import/parts/elementary.h"

#include <span>

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

/// f16 has no digits for what lies on the way.
Result<ValueId> widely(NodeSite& site, ValueId x, Result<ValueId> (*function)(NodeSite&, ValueId)) {
  WHET_RETURN_IF_ERROR(expect_floats(site, x));
  const DType dtype = site.dtype(x);
  if (dtype != DType::f16) return function(site, x);
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

}  // namespace whet
