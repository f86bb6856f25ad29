#include "lower/expand_math.h"

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "compute/scalar.h"
#include "lower/expand_double.h"
#include "lower/notation.h"

namespace whet {
namespace {

using namespace notation;

// The polynomials below are our own minimax fits (Lawson's iteration at 40 digits) of the function that the comment
// beside each names, weighted by what the error means in the result. Splitting ln 2 and pi/2 into parts whose products
// with small integers are exact is Cody and Waite's method.

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kMantissa = std::int64_t{1} << 23;
/// Adding and subtracting this rounds to an integer (half to even), which is then also in the sum's last bits.
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23

/// Where intermediate values go.
class LetScope {
 public:
  explicit LetScope(Program& program) : program_(program) {}

  /// A name for `value`, computed once. Under a condition that may protect a load the value itself, shared.
  Expr bind(Expr value) {
    if (is_leaf(value) || (conditional && holds_load(value))) return value;
    const VarId id = program_.fresh_var();
    const Var variable{id, "m" + std::to_string(id.value)};
    const DType dtype = value->dtype;
    const int lanes = value->lanes;
    lets_.emplace_back(variable, std::move(value));
    return make_expr(dtype, lanes, variable);
  }

  Stmt wrap(Stmt body) {
    for (; !lets_.empty(); lets_.pop_back())
      body = make_stmt(Let{lets_.back().first.id, lets_.back().first.name, lets_.back().second, std::move(body)});
    return body;
  }

  bool conditional = false;  ///< inside a side of a select

  /// What a call became before, if the same one stood in this statement; undefined else.
  Expr known(const Expr& call) const {
    for (const auto& [given, made] : calls_)
      if (same(given, call)) return made;
    return {};
  }
  Expr remember(const Expr& call, Expr made) {
    calls_.emplace_back(call, made);
    return made;
  }

 private:
  static bool is_leaf(const Expr& e) {
    const Broadcast* b = std::get_if<Broadcast>(&e->kind);
    const ExprNode& node = b != nullptr ? *b->a : *e;
    return std::holds_alternative<FloatConst>(node.kind) || std::holds_alternative<IntConst>(node.kind) ||
           std::holds_alternative<Var>(e->kind);
  }
  static bool holds_load(const Expr& e) {
    bool found = false;
    for_each(e, [&](const Expr& part) { found |= std::holds_alternative<Load>(part->kind); });
    return found;
  }

  Program& program_;
  std::vector<std::pair<Var, Expr>> lets_;
  std::vector<std::pair<Expr, Expr>> calls_;
};

// ---- Notation

Expr square_root(const Expr& x) { return make_expr(x->dtype, x->lanes, Call{MathFn::sqrt, {x}}); }
/// `x` times 2^n, for a result that is neither subnormal nor infinite: n goes straight into the exponent.
Expr scale(const Expr& x, const Expr& n) { return float_of_bits(bits_of(x) + n * whole(n, kMantissa)); }
/// `x` times 2^n for any result, rounded once: 2^n is two factors, neither of which is subnormal. `biased` has n + kBias in
/// its last nine bits, and -150 <= n <= 128.
constexpr int kBias = 2 * 127;
Expr scale_far(const Expr& x, const Expr& biased, LetScope& scope) {
  Expr half = scope.bind(floordiv(biased, whole(biased, 2)));
  Expr rest = biased - half;
  return x * float_of_bits(half * whole(half, kMantissa)) * float_of_bits(rest * whole(rest, kMantissa));
}

// ---- exp

// e^r by powers of r, |r| <= ln 2 / 2; fitted is (e^r - 1 - r) / r²
constexpr double kExpTerms[] = {1, 1, 0.499999934, 0.1666651991, 0.04166839713, 0.008368802469, 0.001381436855};

/// x = n ln 2 + r, |r| <= ln 2 / 2.
struct Reduced {
  Expr r, n;  ///< n + bias in the last nine bits of an integer; scale() drops the others
};

Reduced reduce(const Expr& x, LetScope& scope, int bias = 0) {
  const float magic = kMagic + static_cast<float>(bias);
  Expr shifted = scope.bind(x * 1.44269504 + magic);
  Expr n = scope.bind(shifted - magic);
  // ln 2 in two parts, both positive: r of x = -0 is -0.
  Expr r = scope.bind(x - n * 0.693145751953125 - n * 1.42860677e-6);
  // The bits of `shifted` are those of kMagic plus n, and the exponent's place is beyond all bits of kMagic, also of half
  // of them.
  static_assert(std::bit_cast<std::uint32_t>(kMagic) << 22 == 0);
  return {r, bits_of(shifted)};
}

/// e^x for -87.3 <= x <= 88.7, anything elsewhere.
Expr exp_inside(const Expr& x, LetScope& scope) {
  const auto [r, n] = reduce(x, scope);
  return scale(polynomial(r, kExpTerms), n);
}

// x + x p keeps the sign of x = -0 where p is +0, not -0; hence p + 0 where it vanishes with x.

/// e^x - 1 for |x| <= 87, anything elsewhere. Its error is relative where x is small as well, and -0 stays.
Expr exp_less_one(const Expr& x, LetScope& scope) {
  const auto [r, n] = reduce(x, scope);
  Expr power = scope.bind(scale(number(x, 1), n));
  Expr p = r * polynomial(r, std::span(kExpTerms).subspan(2)) + 0.0;
  return power * (r + r * p) - (number(x, 1) - power);
}

Expr expand_exp(const Expr& x, LetScope& scope) {
  Expr below = scope.bind(choose(number(x, 89) < x, 89, x));      // of larger ones it is infinite
  Expr inside = scope.bind(choose(below < -104.0, -104, below));  // of smaller ones 0. NaN stays
  const auto [r, n] = reduce(inside, scope, kBias);
  return scale_far(polynomial(r, kExpTerms), scope.bind(n), scope);
}

// ---- log

struct Parts {
  Expr mantissa, exponent;  ///< x = mantissa * 2^exponent, sqrt(1/2) <= mantissa < sqrt(2); the exponent is an i32
};

/// For finite x > 0.
Parts split(const Expr& x, LetScope& scope) {
  constexpr std::int64_t kSqrtHalf = 0x3f3504f3;
  Expr subnormal = scope.bind(x < 0x1p-126);
  Expr bits = scope.bind(bits_of(select(subnormal, x * 0x1p23, x)));
  Expr exponent = scope.bind(floordiv(bits - whole(bits, kSqrtHalf), whole(bits, kMantissa)));
  Expr mantissa = float_of_bits(bits - exponent * whole(bits, kMantissa));
  return {mantissa, exponent - select(subnormal, whole(bits, 23), whole(bits, 0))};
}

Expr expand_log(const Expr& x, LetScope& scope) {
  // (log(1 + f) - f + f²/2) / f³, sqrt(1/2) - 1 <= f <= sqrt(2) - 1
  static constexpr double kTerms[] = {0.3333331252,  -0.2500000949, 0.2000212468,  -0.1666800646, 0.1421943292,
                                      -0.1240531352, 0.118888062,   -0.1167768165, 0.06747684191};
  const Parts parts = split(x, scope);
  Expr f = scope.bind(parts.mantissa - 1.0);
  Expr e = scope.bind(cast(DType::f32, parts.exponent));
  Expr z = scope.bind(f * f);
  Expr tail = polynomial(f, kTerms) * (f * z) + e * -2.12194440e-4 - z * 0.5;
  Expr inside = (tail + f) + e * 0.693359375;
  Expr positive = select(x < kInfinity, inside, x);
  Expr otherwise = select(equal(x, number(x, 0)), number(x, -kInfinity), number(x, NAN));
  return select(x > 0.0, positive, otherwise);
}

// ---- tanh, sigmoid, erf

Expr with_sign_of(const Expr& sign, const Expr& magnitude) { return select(sign < 0.0, -magnitude, magnitude); }

Expr expand_tanh(const Expr& x, LetScope& scope) {
  constexpr float kOne = 9.1f;  // tanh of larger ones is 1
  Expr below = scope.bind(choose(number(x, kOne) < x, kOne, x));
  Expr inside = choose(below < -kOne, -kOne, below);
  Expr m = scope.bind(exp_less_one(scope.bind(inside * 2.0), scope));
  return m / (m + 2.0);
}

/// e^-r by powers of r.
constexpr auto kExpOfLessTerms = [] {
  auto terms = std::to_array(kExpTerms);
  for (std::size_t i = 1; i < terms.size(); i += 2) terms[i] = -terms[i];
  return terms;
}();

/// 1 / (1 + 2^n e^-r) with x = r - n ln 2. 2^n is a factor, which may be 0 or infinity. NaN stays.
Expr expand_sigmoid(const Expr& x, LetScope& scope) {
  constexpr float kBiased = kMagic + 127;  // its last bits are 127, so those of `shifted` are the exponent of 2^n
  static_assert(std::bit_cast<std::uint32_t>(kBiased) << 23 == std::uint32_t{127} << 23);
  Expr below = scope.bind(choose(number(x, 87) < x, 87, x));    // of larger ones e^-x is nothing beside 1
  Expr inside = scope.bind(choose(below < -89.0, -89, below));  // n = 128 gives infinity
  Expr shifted = scope.bind(inside * -1.44269504 + kBiased);
  Expr n = scope.bind(shifted - kBiased);
  Expr r = scope.bind(inside + n * 0.693145751953125 + n * 1.42860677e-6);
  Expr power = float_of_bits(bits_of(shifted) * whole(bits_of(shifted), kMantissa));
  return number(x, 1) / (polynomial(r, kExpOfLessTerms) * power + 1.0);
}

/// `fused`: products and sums contract to one rounding.
Expr expand_erf(const Expr& x, LetScope& scope, bool fused) {
  // erf(sqrt(y)) / sqrt(y) - 1, y <= 1
  static constexpr double kSmall[] = {0.128379167 - 1.273401839e-9,
                                      -0.3761262582,
                                      0.1128358514,
                                      -0.02685381157,
                                      0.005188326984,
                                      -0.0008010187459,
                                      7.853840995e-5};
  // log(1 - erf(t)) / t, 0.95 <= t <= 4
  static constexpr double kLarge[] = {-1.128567894,    -0.6355514836,  -0.105404172,  0.02282154614,
                                      -0.003020255043, 8.187513535e-5, 3.93013254e-5, -4.426975913e-6};
  Expr a = scope.bind(absolute(x));
  Expr y = scope.bind(x * x);
  Expr p = polynomial(y, kSmall);
  // Without a fused multiply-add x p is rounded. That of a small x would be subnormal and vanish, so it is made of a larger x.
  Expr larger = fused ? x : scope.bind(x * 0x1p24);
  Expr small = fused ? x + x * p : (larger + larger * p) * 0x1p-24;
  Expr t = scope.bind(min(a, number(a, 4)));
  Expr large = number(x, 1) - exp_inside(scope.bind(t * polynomial(t, kLarge)), scope);
  return select(a >= 1.0, with_sign_of(x, large), small);
}

// ---- sin, cos

/// sin(x + quarter * pi/2). The argument is reduced in f64.
Expr expand_sine(const Expr& x, int quarter, LetScope& scope) {
  // (sin(sqrt(y)) / sqrt(y) - 1) / y and (cos(sqrt(y)) - 1 + y/2) / y², sqrt(y) <= pi/4
  static constexpr double kSin[] = {-0.1666666664, 0.008333329284, -0.0001983930568, 2.718058916e-6};
  static constexpr double kCos[] = {0.04166666662, -0.001388888347, 2.479945307e-5, -2.72051723e-7};
  constexpr double kMagic64 = 0x1.8p52;
  // pi/2 in three parts; products of the first two with integers below 2^20 are exact.
  constexpr double kFirst = 0x1.921fb544p+0, kSecond = 0x1.0b4611a6p-34, kThird = 0x1.3198a2e037073p-69;
  Expr fits = scope.bind(absolute(x) < 0x1p30);
  Expr wide = scope.bind(cast(DType::f64, select(fits, x, number(x, 0))));
  Expr shifted = scope.bind(wide * 0.63661977236758134 + kMagic64);  // its last bits are those of n
  Expr n = scope.bind(shifted - kMagic64);
  Expr r = scope.bind(cast(DType::f32, wide - n * kFirst - n * kSecond - n * kThird));
  Expr turns = cast(DType::i32, bits_of(shifted));
  Expr turn = scope.bind(turns + whole(turns, quarter));
  Expr y = scope.bind(r * r);
  Expr sine = r + r * (y * polynomial(y, kSin) + 0.0);
  Expr cosine = (polynomial(y, kCos) * (y * y) - y * 0.5) + 1.0;
  Expr zero = whole(turn, 0);
  Expr value = scope.bind(select(equal(floormod(turn, whole(turn, 2)), zero), sine, cosine));
  Expr negative = floormod(turn, whole(turn, 4)) >= whole(turn, 2);
  return select(fits, select(negative, -value, value), number(x, NAN));
}

// ---- pow

/// `x` rounded to an integer, half to even; a processor without the instruction gets the sum and difference.
Expr rounded(const Expr& x, bool has_instruction) {
  if (has_instruction) return make_expr(x->dtype, x->lanes, Call{MathFn::round, {x}});
  const double limit = x->dtype == DType::f64 ? 0x1p52 : 0x1p23;
  Expr a = absolute(x);
  Expr r = (a + limit) - limit;
  return select(a < limit && a > 0.0, select(x < 0.0, -r, r), x);  // -0 stays
}

/// a^y for a >= 0 or NaN, but 0^0, inf^0, 1^inf: NaN. The error of the logarithm is multiplied by up to 128, so that is
/// f64; what remains of the exponent behind its whole part is f32 again.
Expr pow_of_magnitude(const Expr& a, const Expr& y, LetScope& scope) {
  // log2(1 + f) / f, sqrt(1/2) - 1 <= f <= sqrt(2) - 1; (2^r - 1) / r, |r| <= 1/2
  static constexpr double kLog[] = {1.4426950409393279,   -0.72134752521310043, 0.48089832074122822,
                                    -0.36067280056578741, 0.2885406424280288,   -0.24050417266360689,
                                    0.20609629197989753,  -0.17904700212869238, 0.15900104630929109,
                                    -0.15698153460399142, 0.15485951763490311,  -0.086349682588738869};
  static constexpr double kExp[] = {0.69314718803,  0.24022651085,   0.055503571076,
                                    0.009618030662, 0.0013390866165, 0.00015469770044};
  constexpr double kMagic64 = 0x1.8p52 + kBias;
  const Parts parts = split(a, scope);
  Expr f = scope.bind(cast(DType::f64, parts.mantissa) - 1.0);  // within its bounds whatever a is
  Expr e = select(a < kInfinity, cast(DType::f32, parts.exponent), a);
  e = choose(equal(a, number(a, 0)), -kInfinity, e);
  Expr t = scope.bind(cast(DType::f64, y) * (f * polynomial(f, kLog) + cast(DType::f64, e)));
  Expr shifted = scope.bind(t + kMagic64);  // its last bits are those of the nearest integer and kBias; 0 of NaN
  Expr r = scope.bind(cast(DType::f32, t - (shifted - kMagic64)));
  Expr inside = scale_far(r * polynomial(r, kExp) + 1.0, scope.bind(cast(DType::i32, bits_of(shifted))), scope);
  return choose(t >= 128.0, kInfinity, choose(t < -150.0, 0, inside));
}

Expr expand_pow(const Expr& x, const Expr& y, LetScope& scope, bool has_round) {
  Expr a = scope.bind(absolute(x));
  Expr r = pow_of_magnitude(a, y, scope);
  r = scope.bind(choose(equal(y, number(y, 0)) || equal(a, number(a, 1)), 1, r));
  Expr integer = scope.bind(equal(rounded(y, has_round), y));
  Expr half = scope.bind(y * 0.5);
  Expr odd = integer && binary(BinaryOp::ne, rounded(half, has_round), half);
  Expr bits = bits_of(x);
  Expr undefined = x < 0.0 && a < kInfinity && unary(UnaryOp::logical_not, integer);
  return choose(undefined, NAN, select(bits < whole(bits, 0) && odd, -r, r));
}

/// Powers that need no logarithm. Undefined: another one.
Expr small_power(const Expr& x, const Expr& y) {
  const auto* b = std::get_if<Broadcast>(&y->kind);
  const auto* c = std::get_if<FloatConst>(b != nullptr ? &b->a->kind : &y->kind);
  if (c == nullptr) return {};
  if (c->value == 1) return x;
  if (c->value == 2) return x * x;
  if (c->value == 3) return x * x * x;
  if (c->value == -1) return number(x, 1) / x;
  return {};
}

// ---- floor, ceil, round without an instruction

/// Truncates through integers; numbers too large to have a fraction stay, and so do zeros, infinities and NaN.
Expr expand_rounding(MathFn fn, const Expr& x, LetScope& scope) {
  if (fn == MathFn::round) return rounded(x, false);
  if (fn == MathFn::ceil) return -expand_rounding(MathFn::floor, scope.bind(-x), scope);  // -0 for -1 < x < 0
  const bool wide = x->dtype == DType::f64;
  Expr a = absolute(x);
  Expr fits = scope.bind(a < (wide ? 0x1p52 : 0x1p23) && a > 0.0);
  Expr inside = scope.bind(select(fits, x, number(x, 0)));
  Expr t = scope.bind(cast(x->dtype, cast(wide ? DType::i64 : DType::i32, inside)));
  return select(fits, t - select(t > inside, number(x, 1), number(x, 0)), x);
}

/// As an operand of tensor cores. Adding to the bits carries into the exponent as rounding does.
Expr expand_operand(MathFn fn, const Expr& x, LetScope& scope) {
  if (fn == MathFn::round_f16) return cast(DType::f32, cast(DType::f16, x));
  const Expr bits = scope.bind(bits_of(x));
  const bool to_even = fn == MathFn::round_bf16;
  const std::int64_t unit = std::int64_t{1} << (to_even ? kBf16Dropped : kTf32Dropped);
  Expr half = whole(bits, unit / 2);
  if (to_even) half = whole(bits, unit / 2 - 1) + floormod(floordiv(bits, whole(bits, unit)), whole(bits, 2));
  const Expr above = scope.bind(bits + half);
  return select(absolute(x) < kInfinity, float_of_bits(above - floormod(above, whole(above, unit))), x);
}

// ---- The pass

class Pass {
 public:
  Pass(Program& program, MathSupport support)
      : program_(program),
        has_round_(support.round),
        has_fma_(support.multiply_add),
        has_warp_tiles_(support.warp_tiles),
        has_round_tf32_(support.round_tf32),
        has_exp_(support.exp) {}

  Stmt stmt(const Stmt& s) {
    return rewrite(s, [&](const Stmt& inner) { return statement(inner); }, {});
  }

 private:
  /// Statements that hold calls in their own expressions; the rest is walked through.
  Stmt statement(const Stmt& s) {
    LetScope scope(program_);
    auto map = [&](const Expr& e) { return e.defined() && holds_call(e) ? expr(e, scope) : e; };
    if (const auto* n = std::get_if<Store>(&s->kind)) {
      std::vector<Expr> index;
      for (const Expr& i : n->index) index.push_back(map(i));
      Expr value = map(n->value), mask = map(n->mask);
      return scope.wrap(make_stmt(n->with(std::move(index), std::move(value), std::move(mask))));
    }
    if (const auto* n = std::get_if<Let>(&s->kind)) {
      Expr value = map(n->value);
      return scope.wrap(make_stmt(Let{n->var, n->name, std::move(value), stmt(n->body)}));
    }
    if (const auto* n = std::get_if<If>(&s->kind)) {
      Expr condition = map(n->condition);
      Stmt otherwise = n->else_body.defined() ? stmt(n->else_body) : Stmt();
      return scope.wrap(make_stmt(If{std::move(condition), stmt(n->then_body), std::move(otherwise)}));
    }
    if (const auto* n = std::get_if<Loop>(&s->kind)) {
      if (has_warp_tiles_ && is_warp_wide(n->intrinsic)) return s;
      Expr min = map(n->min), extent = map(n->extent);
      return scope.wrap(make_stmt(Loop{n->index, n->name, std::move(min), std::move(extent), n->kind, stmt(n->body),
                                       n->intrinsic, n->min_blocks}));
    }
    return {};
  }

  bool is_expanded(const Expr& e) const {
    const auto* n = std::get_if<Call>(&e->kind);
    if (n == nullptr) return false;
    switch (n->fn) {
      case MathFn::sqrt:
      case MathFn::abs:
      case MathFn::bits_of:
      case MathFn::float_of_bits:
        return false;
      case MathFn::floor:
      case MathFn::ceil:
      case MathFn::round:
        return !has_round_;
      case MathFn::round_tf32:
        return !has_round_tf32_;
      case MathFn::exp:
        return !has_exp_ || e->dtype != DType::f32;
      default:
        return true;
    }
  }

  bool holds_call(const Expr& e) const {
    bool found = false;
    for_each(e, [&](const Expr& part) { found |= is_expanded(part); });
    return found;
  }

  Expr expr(const Expr& e, LetScope& scope) {
    return rewrite(e, [&](const Expr& part) -> Expr {
      if (const auto* n = std::get_if<Select>(&part->kind)) return select_expr(*n, scope);
      if (!is_expanded(part)) return {};
      if (Expr known = scope.known(part); known.defined()) return known;
      const auto& n = std::get<Call>(part->kind);
      std::vector<Expr> args;
      for (const Expr& arg : n.args) {
        Expr inner = expr(arg, scope);
        args.push_back(scope.bind(is_half(part->dtype) ? cast(DType::f32, inner) : inner));
      }
      return scope.remember(part, scope.bind(cast(part->dtype, expand(n.fn, args, scope))));
    });
  }

  Expr select_expr(const Select& n, LetScope& scope) {
    Expr condition = expr(n.condition, scope);
    const bool outer = std::exchange(scope.conditional, true);
    Expr if_true = expr(n.if_true, scope), if_false = expr(n.if_false, scope);
    scope.conditional = outer;
    return select(std::move(condition), std::move(if_true), std::move(if_false));
  }

  Expr expand(MathFn fn, const std::vector<Expr>& args, LetScope& scope) const {
    const Expr& x = args[0];
    const bool rounds = fn == MathFn::floor || fn == MathFn::ceil || fn == MathFn::round;
    if (x->dtype == DType::f64 && fn != MathFn::rsqrt && !rounds) {
      Expr small = fn == MathFn::pow ? small_power(x, args[1]) : Expr();
      if (small.defined()) return small;
      return expand_double(fn, args, [&](Expr e) { return scope.bind(std::move(e)); }, has_round_);
    }
    switch (fn) {
      case MathFn::exp:
        return has_exp_ ? call(MathFn::exp, {x}) : expand_exp(x, scope);
      case MathFn::log:
        return expand_log(x, scope);
      case MathFn::tanh:
        return expand_tanh(x, scope);
      case MathFn::erf:
        return expand_erf(x, scope, has_fma_);
      case MathFn::sigmoid:
        return expand_sigmoid(x, scope);
      case MathFn::rsqrt:
        return number(x, 1) / square_root(x);
      case MathFn::sin:
        return expand_sine(x, 0, scope);
      case MathFn::cos:
        return expand_sine(x, 1, scope);
      case MathFn::pow: {
        Expr small = small_power(x, args[1]);
        return small.defined() ? small : expand_pow(x, args[1], scope, has_round_);
      }
      case MathFn::round_tf32:
      case MathFn::round_f16:
      case MathFn::round_bf16:
        return expand_operand(fn, x, scope);
      default:
        return expand_rounding(fn, x, scope);
    }
  }

  Program& program_;
  bool has_round_, has_fma_, has_warp_tiles_, has_round_tf32_, has_exp_;
};

}  // namespace

Program expand_math(const Program& program, MathSupport support) {
  Program out = program;
  out.body = Pass(out, support).stmt(program.body);
  return out;
}

}  // namespace whet
