#include "lower/expand_double.h"

#include <limits>
#include <span>

#include "base/arithmetic.h"
#include "lower/notation.h"

namespace whet {
namespace {

using namespace notation;

// The polynomials are our own Chebyshev fits at 40 digits of the function that the comment beside each names.

using Bind = std::function<Expr(Expr)>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// Adding and subtracting this rounds to an integer, half to even.
constexpr double kMagic = 0x1.8p52;
/// ln 2 in two parts: the first times integers below 2^11 is exact.
constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;

Expr with_sign_of(const Expr& sign, const Expr& magnitude) { return select(sign < 0.0, -magnitude, magnitude); }

Expr exponential(const Expr& x, const Bind& bind) {
  // (e^r - 1 - r) / r², |r| <= ln 2 / 2
  static constexpr double kTerms[] = {0.5,
                                      0.16666666666666671,
                                      0.0416666666666666698,
                                      0.00833333333332608312,
                                      0.00138888888888837112,
                                      0.000198412698750022788,
                                      0.0000248015873256774619,
                                      2.75572551700008874e-6,
                                      2.75572734787185805e-7,
                                      2.51053127296221018e-8,
                                      2.09147553258932022e-9};
  Expr inside = bind(min(max(x, number(x, -746)), number(x, 710)));  // of NaN some number
  Expr n = bind((inside * 1.4426950408889634 + kMagic) - kMagic);
  Expr r = bind(inside - n * kLn2High - n * kLn2Low);
  Expr p = polynomial(r, kTerms) * (r * r) + r + 1.0;
  Expr exponent = bind(cast(DType::i64, n));
  Expr half = bind(floordiv(exponent, whole(exponent, 2)));  // 2^n alone may be no f64
  auto power = [](const Expr& e) { return float_of_bits((e + whole(e, 1023)) * whole(e, std::int64_t{1} << 52)); };
  Expr value = (p * power(half)) * power(exponent - half) + x * 0.0;
  return choose(x > 709.782712893384, kInfinity, choose(x < -745.2, 0, value));
}

Expr logarithm(const Expr& x, const Bind& bind) {
  // (atanh(sqrt(z)) / sqrt(z) - 1) / z, z <= ((sqrt 2 - 1) / (sqrt 2 + 1))²
  static constexpr double kTerms[] = {0.333333333333333333,  0.199999999999999962,  0.142857142857177038,
                                      0.111111111099221156,  0.0909090929788453234, 0.0769228748323045341,
                                      0.0666782292097468856, 0.0584398149877107785, 0.0594172619705392978};
  constexpr std::int64_t kMantissa = std::int64_t{1} << 52, kSqrtHalf = 0x3fe6a09e667f3bcd;
  Expr subnormal = bind(x < 0x1p-1022);
  Expr bits = bind(bits_of(select(subnormal, x * 0x1p52, x)));
  Expr exponent = bind(floordiv(bits - whole(bits, kSqrtHalf), whole(bits, kMantissa)));
  Expr f = bind(float_of_bits(bits - exponent * whole(bits, kMantissa)) - 1.0);
  Expr e = bind(cast(DType::f64, exponent - select(subnormal, whole(bits, 52), whole(bits, 0))));
  // log(1 + f) = 2 atanh(s) = f - s f + 2 s z (...)
  Expr s = bind(f / (f + 2.0)), z = bind(s * s);
  Expr tail = s * z * polynomial(z, kTerms) * 2.0 - s * f + e * kLn2Low;
  Expr inside = (tail + f) + e * kLn2High;
  Expr otherwise = select(equal(x, number(x, 0)), number(x, -kInfinity), number(x, kNan));
  return select(x > 0.0, select(x < kInfinity, inside, x), otherwise);
}

Expr hyperbolic_tangent(const Expr& x, const Bind& bind) {
  // (tanh(sqrt(y)) / sqrt(y) - 1) / y, y <= 0.625²
  static constexpr double kTerms[] = {-0.333333333333333329,    0.133333333333330416,    -0.0539682539678969917,
                                      0.0218694885190083058,    -0.00886323510324087792, 0.00359212175115496227,
                                      -0.00145577541204781055,  0.000589660657775704335, -0.000237590649605556196,
                                      0.0000925711612955676827, -0.0000312011014257974,  6.48516348279311315e-6};
  Expr a = bind(absolute(x)), y = bind(x * x);
  Expr small = x + x * (y * polynomial(y, kTerms) + 0.0);
  Expr e = exponential(bind(min(a, number(a, 20)) * 2.0), bind);
  Expr large = number(x, 1) - number(x, 2) / (e + 1.0);
  return select(a >= 0.625, with_sign_of(x, large), small);
}

Expr error_function(const Expr& x, const Bind& bind) {
  // erf(sqrt(y)) / sqrt(y) - 1, y <= 1
  static constexpr double kSmall[] = {0.128379167095512574,    -0.376126389031837524,     0.112837916709551202,
                                      -0.0268661706451298408,  0.00522397762542329831,    -0.00085483270219348296,
                                      0.000120553329028887354, -0.0000149256475675193321, 1.64620454414684189e-6,
                                      -1.63646421581676153e-7, 1.4792401209404813e-8,     -1.21645600572834501e-9,
                                      8.70904512905310669e-11, -4.23094582429533782e-12};
  // log(1 - erf(t)) / t, 0.95 <= t <= 6
  static constexpr double kLarge[] = {
      -1.12837929310071995,     -0.636618446418588582,   -0.102779187628506768,     0.019148985180739935,
      0.000164011510008542295,  -0.00162160970577091428, 0.000494158921762343393,   0.0000726324243854866893,
      -0.00014633323020697314,  0.000085077822009199366, -0.0000337733891836404381, 0.0000104167150381880728,
      -2.60679859092662791e-6,  5.38224492323641611e-7,  -9.21136450719674159e-8,   1.30338686567110858e-8,
      -1.51224440558086817e-9,  1.41862301102964287e-10, -1.05334922390674608e-11,  5.99725003193135374e-13,
      -2.49294210781691418e-14, 6.97172054448991479e-16, -1.12124884744168601e-17,  6.94642342014705632e-20};
  Expr a = bind(absolute(x)), y = bind(x * x);
  Expr small = x + x * polynomial(y, kSmall);
  Expr t = bind(min(a, number(a, 6)));
  Expr large = number(x, 1) - exponential(bind(t * polynomial(t, kLarge)), bind);
  return select(a >= 1.0, with_sign_of(x, large), small);
}

/// sin(x + quarter * pi/2)
Expr sine(const Expr& x, int quarter, const Bind& bind) {
  // (sin(sqrt(y)) / sqrt(y) - 1) / y and (cos(sqrt(y)) - 1 + y/2) / y², sqrt(y) <= pi/4
  static constexpr double kSin[] = {-0.166666666666666667,   0.00833333333333333333,  -0.000198412698412698376,
                                    2.75573192239810759e-6,  -2.50521083823778275e-8, 1.60590427779211718e-10,
                                    -7.6469609480714161e-13, 2.79122410084156065e-15};
  static constexpr double kCos[] = {0.0416666666666666667,   -0.00138888888888888879, 0.0000248015873015846331,
                                    -2.75573192213924907e-7, 2.08767557874926059e-9,  -1.14704603192095118e-11,
                                    4.74583841253102297e-14};
  // pi/2 in three parts; products of the first two with integers below 2^20 are exact.
  constexpr double kFirst = 0x1.921fb544p+0, kSecond = 0x1.0b4611a6p-34, kThird = 0x1.3198a2e037073p-69;
  Expr fits = bind(absolute(x) < 0x1p30);
  Expr inside = bind(select(fits, x, number(x, 0)));
  Expr n = bind((inside * 0.63661977236758134 + kMagic) - kMagic);
  Expr r = bind(inside - n * kFirst - n * kSecond - n * kThird);
  Expr turns = cast(DType::i64, n);
  Expr turn = bind(turns + whole(turns, quarter));
  Expr y = bind(r * r);
  Expr value = bind(select(equal(floormod(turn, whole(turn, 2)), whole(turn, 0)),
                           r + r * (y * polynomial(y, kSin) + 0.0), (polynomial(y, kCos) * (y * y) - y * 0.5) + 1.0));
  Expr negative = floormod(turn, whole(turn, 4)) >= whole(turn, 2);
  return select(fits, select(negative, -value, value), number(x, kNan));
}

/// `x` rounded to an integer, half to even.
Expr rounded(const Expr& x, bool has_instruction) {
  if (has_instruction) return make_expr(x->dtype, x->lanes, Call{MathFn::round, {x}});
  Expr a = absolute(x);
  Expr r = (a + 0x1p52) - 0x1p52;
  return select(a < 0x1p52, select(x < 0.0, -r, r), x);
}

Expr power(const Expr& x, const Expr& y, const Bind& bind, bool has_round) {
  Expr zero = number(x, 0), one = number(x, 1), infinity = number(x, kInfinity);
  Expr a = bind(absolute(x));
  Expr r = exponential(bind(y * logarithm(a, bind)), bind);
  r = select(equal(a, zero), select(y < 0.0, infinity, zero), r);
  r = select(equal(a, infinity), select(y < 0.0, zero, infinity), r);
  r = bind(select(equal(a, one), one, r));
  Expr integer = bind(equal(rounded(y, has_round), y)), half = bind(y * 0.5);
  Expr odd = integer && binary(BinaryOp::ne, rounded(half, has_round), half);
  Expr negative = bits_of(x) < whole(bits_of(x), 0);
  Expr undefined = x < 0.0 && a < kInfinity && unary(UnaryOp::logical_not, integer);
  r = choose(undefined, kNan, select(negative && odd, -r, r));
  r = choose(binary(BinaryOp::ne, x, x) || binary(BinaryOp::ne, y, y), kNan, r);
  return choose(equal(y, zero) || equal(x, one), 1, r);
}

}  // namespace

Expr expand_double(MathFn fn, const std::vector<Expr>& args, const Bind& bind, bool has_round) {
  const Expr& x = args[0];
  switch (fn) {
    case MathFn::exp:
      return exponential(x, bind);
    case MathFn::log:
      return logarithm(x, bind);
    case MathFn::tanh:
      return hyperbolic_tangent(x, bind);
    case MathFn::erf:
      return error_function(x, bind);
    case MathFn::sigmoid:
      return number(x, 1) / (exponential(bind(-x), bind) + 1.0);
    case MathFn::sin:
      return sine(x, 0, bind);
    case MathFn::cos:
      return sine(x, 1, bind);
    case MathFn::pow:
      return power(x, args[1], bind, has_round);
    default:
      WHET_CHECK(false, "has an instruction");
      return x;
  }
}

}  // namespace whet
