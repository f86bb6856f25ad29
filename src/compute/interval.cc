#include "compute/interval.h"

#include <algorithm>

#include "compute/scalar.h"

namespace whet {

using End = Interval::End;

End plus(End a, End b) {
  std::int64_t sum;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return {};
  return sum;
}

End times(End a, std::int64_t factor) {
  std::int64_t product;
  if (!a || __builtin_mul_overflow(*a, factor, &product)) return {};
  return product;
}

End tighter_upper(End a, End b) { return !a ? b : !b ? a : std::min(*a, *b); }
End tighter_lower(End a, End b) { return !a ? b : !b ? a : std::max(*a, *b); }
End looser_upper(End a, End b) { return a && b ? End(std::max(*a, *b)) : End(); }
End looser_lower(End a, End b) { return a && b ? End(std::min(*a, *b)) : End(); }

Interval Interval::of(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    case DType::i16:
      return {INT16_MIN, INT16_MAX};
    case DType::i32:
      return {INT32_MIN, INT32_MAX};
    case DType::boolean:
      return {0, 1};
    default:
      return {};
  }
}

bool Interval::inside(const Interval& outer) const {
  return (!outer.min || (min && *min >= *outer.min)) && (!outer.max || (max && *max <= *outer.max));
}

Interval operator+(const Interval& a, const Interval& b) { return {plus(a.min, b.min), plus(a.max, b.max)}; }

Interval operator-(const Interval& a) { return a * -1; }

Interval operator*(const Interval& x, std::int64_t factor) {
  if (factor == 0) return Interval::point(0);
  if (factor > 0) return {times(x.min, factor), times(x.max, factor)};
  return {times(x.max, factor), times(x.min, factor)};
}

Interval operator*(const Interval& a, const Interval& b) {
  if (a.is_point()) return b * *a.min;
  if (b.is_point()) return a * *b.min;
  if (!a.min || !a.max || !b.min || !b.max) {
    const bool positive = a.min && *a.min >= 0 && b.min && *b.min >= 0;
    return positive ? Interval{times(a.min, *b.min), {}} : Interval{};
  }
  return hull(a * *b.min, a * *b.max);
}

Interval floordiv(const Interval& x, std::int64_t divisor) {
  const auto divide = [&](End end) { return end ? End(floor_div(*end, divisor)) : End(); };
  if (divisor > 0) return {divide(x.min), divide(x.max)};
  if (divisor < 0) return {divide(x.max), divide(x.min)};
  return {};
}

Interval floormod(const Interval& x, std::int64_t divisor) {
  if (divisor == 0) return {};
  if (divisor < 0) return {divisor + 1, 0};
  if (x.min && x.max && floor_div(*x.min, divisor) == floor_div(*x.max, divisor))
    return {floor_mod(*x.min, divisor), floor_mod(*x.max, divisor)};
  return {0, divisor - 1};
}

Interval hull(const Interval& a, const Interval& b) { return {looser_lower(a.min, b.min), looser_upper(a.max, b.max)}; }

Interval binary(BinaryOp op, const Interval& a, const Interval& b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a + -b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::floordiv:
      return b.is_point() ? floordiv(a, *b.min) : Interval{};
    case BinaryOp::floormod:
      return b.is_point() ? floormod(a, *b.min) : Interval{};
    case BinaryOp::min:
      return {looser_lower(a.min, b.min), tighter_upper(a.max, b.max)};
    case BinaryOp::max:
      return {tighter_lower(a.min, b.min), looser_upper(a.max, b.max)};
    default:
      return {};
  }
}

}  // namespace whet
