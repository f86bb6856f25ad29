#pragma once

#include <span>

#include "compute/expr.h"

/// Internal to the room: operators and functions for formulas of vector math. A number takes the type and lanes of the
/// expression that it is combined with.
namespace whet::notation {

inline Expr number(const Expr& like, double value) { return broadcast(float_const(value, like->dtype), like->lanes); }
inline Expr whole(const Expr& like, std::int64_t value) {
  return broadcast(int_const(value, like->dtype), like->lanes);
}
inline Expr operator+(const Expr& a, double b) { return a + number(a, b); }
inline Expr operator-(const Expr& a, double b) { return a - number(a, b); }
inline Expr operator*(const Expr& a, double b) { return a * number(a, b); }
inline Expr operator<(const Expr& a, double b) { return a < number(a, b); }
inline Expr operator>(const Expr& a, double b) { return a > number(a, b); }
inline Expr operator>=(const Expr& a, double b) { return a >= number(a, b); }
inline Expr choose(Expr condition, double a, Expr b) { return select(std::move(condition), number(b, a), b); }
inline Expr bits_of(const Expr& x) {
  return make_expr(x->dtype == DType::f64 ? DType::i64 : DType::i32, x->lanes, Call{MathFn::bits_of, {x}});
}
inline Expr float_of_bits(const Expr& x) {
  return make_expr(x->dtype == DType::i64 ? DType::f64 : DType::f32, x->lanes, Call{MathFn::float_of_bits, {x}});
}
inline Expr absolute(const Expr& x) { return make_expr(x->dtype, x->lanes, Call{MathFn::abs, {x}}); }
/// c[0] + x c[1] + x² c[2] + ...
inline Expr polynomial(const Expr& x, std::span<const double> c) {
  Expr sum = number(x, c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

}  // namespace whet::notation
