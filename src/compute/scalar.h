#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "compute/expr.h"

namespace whet {

/// The meaning of single operations, shared by folding, evaluation and interpretation.

/// `value` as the integer dtype stores it: integers wrap around, booleans are 0 or 1.
std::int64_t wrap_to(DType, std::int64_t value);
/// `value` rounded to the float dtype.
double round_to(DType, double value);

/// Applies the operation to operands of an integer dtype. Comparisons and logic give 0 or 1. Nothing for a division by
/// zero.
std::optional<std::int64_t> apply(BinaryOp, std::int64_t a, std::int64_t b, DType operands);
/// Bits of an f32's mantissa that tf32 and bf16 do not have.
constexpr int kTf32Dropped = 13, kBf16Dropped = 16;

/// Applies the function to floats, in double.
double apply(MathFn, double a, double b = 0);

/// MathFn::bits_of a float of `dtype`, f32 or f64.
std::int64_t bits_of(DType dtype, double value);

/// Arithmetic in T: add, sub, mul, div, min (b < a ? b : a), max (a < b ? b : a).
template <typename T>
T apply_float(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::min:
      return b < a ? b : a;
    case BinaryOp::max:
      return a < b ? b : a;
    default:
      WHET_CHECK(false, "not an operation of floats");
      return a;
  }
}

/// lt, le, gt, ge, eq, ne
template <typename T>
bool compare_floats(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::gt:
      return a > b;
    case BinaryOp::ge:
      return a >= b;
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    default:
      WHET_CHECK(false, "not a comparison");
      return false;
  }
}

inline bool is_comparison(BinaryOp op) { return op >= BinaryOp::lt && op <= BinaryOp::ne; }
inline bool is_logic(BinaryOp op) { return op >= BinaryOp::logical_and; }

}  // namespace whet
