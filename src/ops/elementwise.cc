#include <cmath>
#include <limits>

#include "ops/site.h"

namespace whet {
namespace {

Expr clamp(const Expr& x, double low, double high) { return min(max(x, like(x, low)), like(x, high)); }
/// Zeros and NaN are their own.
Expr sign(const Expr& x) { return select(x > like(x, 0), like(x, 1), select(x < like(x, 0), like(x, -1), x)); }
/// Integers are whole already.
Expr rounded(MathFn fn, const Expr& x) { return is_float(x->dtype) ? call(fn, {x}) : x; }

const double* float_literal(const Expr& e) {
  const auto* constant = std::get_if<FloatConst>(&e->kind);
  return constant ? &constant->value : nullptr;
}

/// What makes the element that `e` loads, where another op without reduction does; `e` itself elsewhere.
Expr made_by(const ComputeDag& dag, const Expr& e) {
  const auto* l = std::get_if<Load>(&e->kind);
  if (l == nullptr || dag.op(OpId(l->source.value)).is_placeholder()) return e;
  const Element& element = dag.op(OpId(l->source.value)).element();
  if (element.reducer) return e;
  return substitute(element.body, [&](VarId v) { return l->index[v.index()]; });
}

/// s, where `e` is softplus(s) or log(1 + exp(s)), in one op or several; undefined elsewhere.
Expr argument_of_softplus(const ComputeDag& dag, const Expr& e) {
  const Expr sum = made_by(dag, e);
  if (const auto* b = std::get_if<Binary>(&sum->kind); b && b->op == BinaryOp::add) {
    const auto* top = std::get_if<Binary>(&b->a->kind);
    return top && same(sum, softplus(top->a)) ? top->a : Expr();
  }
  const auto* log = std::get_if<Call>(&sum->kind);
  if (!log || log->fn != MathFn::log) return {};
  const Expr inner = made_by(dag, log->args[0]);
  const auto* b = std::get_if<Binary>(&inner->kind);
  if (!b || b->op != BinaryOp::add) return {};
  for (const auto& [one, other] : {std::pair(b->a, b->b), std::pair(b->b, b->a)}) {
    const double* literal = float_literal(one);
    if (literal == nullptr || *literal != 1) continue;
    const Expr power = made_by(dag, other);
    if (const auto* exp = std::get_if<Call>(&power->kind); exp && exp->fn == MathFn::exp) return exp->args[0];
  }
  return {};
}

/// tanh(log(1 + exp(s))) = n / (n + 2), n = e (e + 2), e = exp(s): one exponential for three, and nothing cancels.
Expr tanh_of_softplus(const Expr& s) {
  const Expr e = call(MathFn::exp, {min(s, like(s, 20))});  // beyond, the quotient is 1
  const Expr n = e * (e + like(e, 2));
  return n / (n + like(n, 2));
}

/// x / c as a product, where `e` is that in an op of its own: rounded once more, and much cheaper.
Expr without_division(const ComputeDag& dag, const Expr& e) {
  const Expr made = made_by(dag, e);
  const auto* b = std::get_if<Binary>(&made->kind);
  const auto* c = b && b->op == BinaryOp::div ? std::get_if<FloatConst>(&b->b->kind) : nullptr;
  return c && c->value != 0 ? b->a * like(e, 1 / c->value) : e;
}

/// 1 + erf(x), as the complement of the error function: nothing cancels for x < 0, and one formula does for all x.
Expr one_plus_erf(const Expr& x) {
  // log(erfc(t)) / t, 0 <= t <= 5, to 4e-8 of 1
  static constexpr double kTerms[] = {-1.128379962,     -0.6365994632,   -0.10291034,     0.01952883856,
                                      -0.0003792060589, -0.001248801498, 0.0004600855529, -8.471423229e-5,
                                      8.290738478e-6,   -3.413750769e-7};
  const Expr magnitude = absolute(x), t = min(magnitude, like(x, 5));
  Expr sum = like(x, std::end(kTerms)[-1]);
  for (std::size_t k = std::size(kTerms) - 1; k-- > 0;) sum = sum * t + like(x, kTerms[k]);
  const Expr complement = call(MathFn::exp, {sum * magnitude});  // beyond 5 it goes on to 0
  return select(x < like(x, 0), complement, like(x, 2) - complement);
}

/// 1 + erf(x) and 1 + tanh(x), of which GELUs are made, are simpler than their parts; undefined for other sums.
Expr one_plus(const ComputeDag& dag, const Expr& a, const Expr& b) {
  if (a->dtype != DType::f32) return {};
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    const double* literal = float_literal(one);
    if (literal == nullptr || *literal != 1) continue;
    const Expr made = made_by(dag, other);
    const auto* of = std::get_if<Call>(&made->kind);
    if (of == nullptr) return {};
    const Expr& x = of->args[0];
    if (of->fn == MathFn::erf) return one_plus_erf(without_division(dag, x));
    if (of->fn == MathFn::tanh) return like(x, 2) * call(MathFn::sigmoid, {x * like(x, 2)});
  }
  return {};
}

Expr apply(UnaryKind kind, const Expr& x) {
  switch (kind) {
    case UnaryKind::relu:
      return max(x, like(x, 0));
    case UnaryKind::sigmoid:
      return call(MathFn::sigmoid, {x});
    case UnaryKind::tanh:
      return call(MathFn::tanh, {x});
    case UnaryKind::exp:
      return call(MathFn::exp, {x});
    case UnaryKind::log:
      return call(MathFn::log, {x});
    case UnaryKind::sqrt:
      return call(MathFn::sqrt, {x});
    case UnaryKind::reciprocal:
      return like(x, 1) / x;
    case UnaryKind::erf:
      return call(MathFn::erf, {x});
    case UnaryKind::abs:
      return absolute(x);
    case UnaryKind::neg:
      return -x;
    case UnaryKind::floor:
      return rounded(MathFn::floor, x);
    case UnaryKind::ceil:
      return rounded(MathFn::ceil, x);
    case UnaryKind::round:
      return rounded(MathFn::round, x);
    case UnaryKind::sign:
      return sign(x);
    case UnaryKind::logical_not:
      return unary(UnaryOp::logical_not, x);
    case UnaryKind::softplus:
      return softplus(x);
    case UnaryKind::softsign:
      return x / (like(x, 1) + absolute(x));
    case UnaryKind::sin:
      return call(MathFn::sin, {x});
    case UnaryKind::cos:
      return call(MathFn::cos, {x});
    case UnaryKind::hard_swish:
      return x * clamp(x * like(x, 1.0 / 6) + like(x, 0.5), 0, 1);
    case UnaryKind::is_nan:
      return binary(BinaryOp::ne, x, x);
    case UnaryKind::tan:
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atan:
    case UnaryKind::sinh:
    case UnaryKind::cosh:
    case UnaryKind::asinh:
    case UnaryKind::acosh:
    case UnaryKind::atanh:
      return trigonometric(kind, x);
  }
  WHET_CHECK(false);
  return {};
}

/// C's division; by 0 gives the dividend, and the lowest number by -1 itself: both would stop the processor.
Expr integer_divide(const Expr& a, const Expr& b) {
  if (as_int(b) && *as_int(b) != 0 && *as_int(b) != -1) return a / b;
  const Expr zero = like(b, 0), one = like(b, 1);
  if (b->dtype == DType::u8) return a / select(equal(b, zero), one, b);
  const Expr minus = like(b, -1), safe = select(equal(b, zero) || equal(b, minus), one, b);
  return select(equal(b, minus), -a, a / safe);
}

/// base^exponent by squaring, six bits of the exponent: a larger one overflows unless the base is 0, 1 or -1, whose
/// powers repeat. Negative exponents give 0, but of 1 and -1.
Expr integer_power(const Expr& base, const Expr& exponent) {
  const Expr zero = like(base, 0), one = like(base, 1);
  Expr result = one, power = base;
  for (std::int64_t bit = 1; bit < 64; bit *= 2) {
    const Expr set =
        equal(floormod(floordiv(exponent, like(exponent, static_cast<double>(bit))), like(exponent, 2)), one);
    result = result * select(set, power, one);
    power = power * power;
  }
  const Expr unit = equal(base, one) || equal(base, like(base, -1));
  result = select(equal(base, zero), select(equal(exponent, zero), one, zero), result);
  return select(exponent < zero && unary(UnaryOp::logical_not, unit), zero, result);
}

/// Division by a power of two equals multiplication by its reciprocal, bit for bit, except for subnormals.
Expr divide(const Expr& a, const Expr& b) {
  if (!is_float(a->dtype)) return integer_divide(a, b);
  if (const double* d = float_literal(b); d && *d != 0 && std::isfinite(*d)) {
    int exponent = 0;
    if (std::abs(std::frexp(*d, &exponent)) == 0.5 && std::abs(exponent) < 100) return a * like(a, 1 / *d);
  }
  return a / b;
}

Expr power(const Expr& a, const Expr& b) {
  if (const double* p = float_literal(b)) {
    if (*p == 1) return a;
    if (*p == 2) return a * a;
    if (*p == 3) return a * a * a;
    if (*p == 0.5) return call(MathFn::sqrt, {a});
    if (*p == -0.5) return call(MathFn::rsqrt, {a});
    if (*p == -1) return like(a, 1) / a;
    if (*p == 4) return (a * a) * (a * a);
    if (*p == 1.5) return a * call(MathFn::sqrt, {a});
    if (*p == 0.25 || *p == 0.75) {
      const Expr root = call(MathFn::sqrt, {a}), fourth = call(MathFn::sqrt, {root});
      return *p == 0.25 ? fourth : root * fourth;
    }
  }
  return is_float(a->dtype) ? call(MathFn::pow, {a, b}) : integer_power(a, b);
}

/// Integers take the sign of the divisor (Python), floats that of the dividend (C), as ONNX's fmod says.
Expr modulo(const Expr& a, const Expr& b) {
  if (as_int(b) && *as_int(b) > 0) return floormod(a, b);
  if (!is_float(a->dtype)) {  // by 0, which would stop the processor, gives 0, as does -1
    const Expr zero = like(b, 0), one = like(b, 1);
    const Expr unsafe = b->dtype == DType::u8 ? equal(b, zero) : equal(b, zero) || equal(b, like(b, -1));
    return select(unsafe, zero, floormod(a, select(unsafe, one, b)));
  }
  // Of the magnitudes; a quotient that was rounded up to a whole number leaves a negative rest.
  const Expr divisor = absolute(b), dividend = absolute(a);
  const Expr rest = dividend - call(MathFn::floor, {dividend / divisor}) * divisor;
  const Expr whole = select(rest < like(a, 0), rest + divisor, rest);
  const Expr positive = select(dividend < divisor, dividend, whole);  // by infinity too
  return select(a < like(a, 0), -positive, positive);
}

/// min or max of two numbers, NaN where either is. `pick` alone gives `a` where `b` is NaN, so that a literal costs
/// nothing behind the other operand.
Expr picked(BinaryOp pick, const Expr& a, const Expr& b) {
  const auto is_number = [](const Expr& e) {
    const double* literal = float_literal(e);
    return literal && !std::isnan(*literal);
  };
  if (!is_float(a->dtype) || is_number(b)) return binary(pick, a, b);
  if (is_number(a)) return binary(pick, b, a);
  return select(binary(BinaryOp::ne, b, b), b, binary(pick, a, b));
}

Expr apply(BinaryKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case BinaryKind::add:
      return a + b;
    case BinaryKind::sub:
      return a - b;
    case BinaryKind::mul:
      return a * b;
    case BinaryKind::div:
      return divide(a, b);
    case BinaryKind::pow:
      return power(a, b);
    case BinaryKind::min:
      return picked(BinaryOp::min, a, b);
    case BinaryKind::max:
      return picked(BinaryOp::max, a, b);
    case BinaryKind::mod:
      return modulo(a, b);
    case BinaryKind::less:
      return a < b;
    case BinaryKind::less_equal:
      return a <= b;
    case BinaryKind::greater:
      return a > b;
    case BinaryKind::greater_equal:
      return a >= b;
    case BinaryKind::equal:
      return equal(a, b);
    case BinaryKind::logical_and:
      return a && b;
    case BinaryKind::logical_or:
      return a || b;
    case BinaryKind::logical_xor:
      return binary(BinaryOp::ne, a, b);
  }
  WHET_CHECK(false);
  return {};
}

/// A bound that is infinite, or beyond the integer type, bounds nothing.
bool is_bound(const Expr& x, double value) {
  if (!std::isfinite(value)) return false;
  if (is_float(x->dtype)) return true;
  const double top = std::ldexp(1.0, static_cast<int>(size_of(x->dtype)) * 8 - 1);
  return value >= (x->dtype == DType::u8 ? 0 : -top) && value < (x->dtype == DType::u8 ? 256 : top);
}

}  // namespace

Expr absolute(const Expr& x) {
  if (x->dtype == DType::u8) return x;
  return is_float(x->dtype) ? call(MathFn::abs, {x}) : max(x, -x);
}

OpId define_at(const Site& site, const UnaryOperator& op) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    const Expr x = site.read(0, i);
    if (op.kind == UnaryKind::tanh && (x->dtype == DType::f32 || x->dtype == DType::f64)) {
      if (const Expr s = argument_of_softplus(site.dag, x); s.defined()) return tanh_of_softplus(s);
    }
    return apply(op.kind, x);
  });
}

OpId define_at(const Site& site, const ClipOperator& op) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    Expr x = site.read(0, i);
    if (is_bound(x, op.low)) x = max(x, like(x, op.low));
    if (is_bound(x, op.high)) x = min(x, like(x, op.high));
    return x;
  });
}

OpId define_at(const Site& site, const HardSigmoidOperator& op) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    const Expr x = site.read(0, i);
    return clamp(x * like(x, op.alpha) + like(x, op.beta), 0, 1);
  });
}

OpId define_at(const Site& site, const LeakyReluOperator& op) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    const Expr x = site.read(0, i);
    return select(x >= like(x, 0), x, x * like(x, op.alpha));
  });
}

OpId define_at(const Site& site, const BinaryOperator& op) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    const Expr a = site.read_broadcast(0, i), b = site.read_broadcast(1, i);
    const Expr simpler = op.kind == BinaryKind::add ? one_plus(site.dag, a, b) : Expr();
    return simpler.defined() ? simpler : apply(op.kind, a, b);
  });
}

OpId define_at(const Site& site, const WhereOperator&) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    return select(site.read_broadcast(0, i), site.read_broadcast(1, i), site.read_broadcast(2, i));
  });
}

OpId define_at(const Site& site, const CastOperator& op) {
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    const Expr x = site.read(0, i);
    if (op.to != DType::boolean || x->dtype == DType::boolean) return cast(op.to, x);
    return binary(BinaryOp::ne, x, like(x, 0));
  });
}

OpId define_at(const Site& site, const BatchNormOperator& op) {
  const std::size_t channel = op.layout == Layout::channels_first ? 1 : site.shape(0).size() - 1;
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    auto parameter = [&](std::size_t k) { return site.read(k, {i[channel]}); };
    const Expr deviation = call(MathFn::sqrt, {parameter(4) + like(parameter(4), op.epsilon)});
    return (site.read(0, i) - parameter(3)) * (parameter(1) / deviation) + parameter(2);
  });
}

}  // namespace whet
