#include "tensor/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace whet {
namespace {
struct Info {
  DType dtype;
  std::int64_t bytes;
  std::string_view name;
};
constexpr std::array<Info, 10> kInfos = {{{DType::f32, 4, "f32"},
                                          {DType::f64, 8, "f64"},
                                          {DType::f16, 2, "f16"},
                                          {DType::i8, 1, "i8"},
                                          {DType::u8, 1, "u8"},
                                          {DType::i32, 4, "i32"},
                                          {DType::i64, 8, "i64"},
                                          {DType::boolean, 1, "bool"},
                                          {DType::bf16, 2, "bf16"},
                                          {DType::i16, 2, "i16"}}};

template <typename T>
std::int64_t saturated(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::int64_t size_of(DType dtype) { return kInfos[static_cast<std::size_t>(dtype)].bytes; }
bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64 || is_half(dtype); }
std::string_view name_of(DType dtype) { return kInfos[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Info& info : kInfos)
    if (info.name == name) return info.dtype;
  return std::nullopt;
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(mantissa), -24), sign ? -1.0f : 1.0f);
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  if (std::isnan(value)) return sign | 0x7e00u;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) return sign | 0x7c00u;
  if (magnitude < 0x1p-14f)  // subnormal: an integer count of 2^-24
    return sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  const std::uint32_t rounded = (bits & 0x7fffffffu) + 0xfffu + ((bits >> 13) & 1u);
  return sign | static_cast<std::uint16_t>((rounded >> 13) - (112u << 10));
}

float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

std::int64_t to_integer(DType dtype, double value) {
  switch (dtype) {
    case DType::i8:
      return saturated<std::int8_t>(value);
    case DType::u8:
      return saturated<std::uint8_t>(value);
    case DType::i16:
      return saturated<std::int16_t>(value);
    case DType::i32:
      return saturated<std::int32_t>(value);
    case DType::boolean:
      return value != 0;
    default:
      return saturated<std::int64_t>(value);
  }
}

}  // namespace whet
