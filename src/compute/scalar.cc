#include "compute/scalar.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace whet {
namespace {

/// Unsigned arithmetic, because signed overflow has no meaning in C++ but wraps here.
std::int64_t wrapping(BinaryOp op, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  if (op == BinaryOp::add) return static_cast<std::int64_t>(x + y);
  if (op == BinaryOp::sub) return static_cast<std::int64_t>(x - y);
  return static_cast<std::int64_t>(x * y);
}

}  // namespace

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) return wrapping(BinaryOp::sub, 0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t wrap_to(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::i8:
      return static_cast<std::int8_t>(value);
    case DType::u8:
      return static_cast<std::uint8_t>(value);
    case DType::i16:
      return static_cast<std::int16_t>(value);
    case DType::i32:
      return static_cast<std::int32_t>(value);
    case DType::boolean:
      return value != 0;
    default:
      return value;
  }
}

double round_to(DType dtype, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::f32) return static_cast<float>(value);
  if (dtype == DType::f16) return half_to_float(float_to_half(static_cast<float>(value)));
  if (dtype == DType::bf16) return bf16_to_float(float_to_bf16(static_cast<float>(value)));
  return value;
}

std::int64_t bits_of(DType dtype, double value) {
  if (dtype == DType::f64) return std::bit_cast<std::int64_t>(value);
  return std::bit_cast<std::int32_t>(static_cast<float>(value));
}

std::optional<std::int64_t> apply(BinaryOp op, std::int64_t a, std::int64_t b, DType dtype) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
      return wrap_to(dtype, wrapping(op, a, b));
    case BinaryOp::div:
      if (b == 0) return {};
      return wrap_to(dtype, b == -1 ? wrapping(BinaryOp::sub, 0, a) : a / b);
    case BinaryOp::floordiv:
      if (b == 0) return {};
      return wrap_to(dtype, floor_div(a, b));
    case BinaryOp::floormod:
      if (b == 0) return {};
      return wrap_to(dtype, floor_mod(a, b));
    case BinaryOp::min:
      return std::min(a, b);
    case BinaryOp::max:
      return std::max(a, b);
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
    case BinaryOp::logical_and:
      return a != 0 && b != 0;
    case BinaryOp::logical_or:
      return a != 0 || b != 0;
  }
  return {};
}

namespace {

/// `value` with the last `dropped` bits of its f32 gone: `half` below them is added first. Infinities and NaN stay.
double cut_mantissa(double value, int dropped, bool to_even) {
  const auto single = static_cast<float>(value);
  if (!std::isfinite(single)) return value;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(single), unit = 1u << dropped;
  const std::uint32_t half = to_even ? unit / 2 - 1 + (bits >> dropped & 1) : unit / 2;
  return std::bit_cast<float>((bits + half) & ~(unit - 1));
}

}  // namespace

double apply(MathFn fn, double a, double b) {
  switch (fn) {
    case MathFn::exp:
      return std::exp(a);
    case MathFn::log:
      return std::log(a);
    case MathFn::sqrt:
      return std::sqrt(a);
    case MathFn::rsqrt:
      return 1 / std::sqrt(a);
    case MathFn::tanh:
      return std::tanh(a);
    case MathFn::erf:
      return std::erf(a);
    case MathFn::sigmoid:
      return 1 / (1 + std::exp(-a));
    case MathFn::sin:
      return std::sin(a);
    case MathFn::cos:
      return std::cos(a);
    case MathFn::pow:
      return std::pow(a, b);
    case MathFn::floor:
      return std::floor(a);
    case MathFn::ceil:
      return std::ceil(a);
    case MathFn::round:
      return std::nearbyint(a);
    case MathFn::abs:
      return std::abs(a);
    case MathFn::bits_of:
    case MathFn::float_of_bits:
      WHET_CHECK(false, "bits are no numbers");
      return 0;
    case MathFn::round_tf32:
      return cut_mantissa(a, kTf32Dropped, false);
    case MathFn::round_f16:
      return round_to(DType::f16, a);
    case MathFn::round_bf16:
      return cut_mantissa(a, kBf16Dropped, true);
  }
  return 0;
}

}  // namespace whet
