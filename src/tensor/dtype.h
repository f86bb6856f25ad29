#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace whet {

/// Element types. `boolean` is one byte, 0 or 1; `bf16` is the upper half of an f32. The numbers are stored in files: never renumber.
enum class DType : std::uint8_t {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  i8 = 3,
  u8 = 4,
  i32 = 5,
  i64 = 6,
  boolean = 7,
  bf16 = 8,
  i16 = 9,
};
inline constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::f16,     DType::i8,   DType::u8,
                                    DType::i32, DType::i64, DType::boolean, DType::bf16, DType::i16};

/// Bytes of one element.
std::int64_t size_of(DType);
bool is_float(DType);
/// f16 or bf16: floats that are stored in 16 bits and computed as f32.
constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
/// "f32", "i64", "bool", ...
std::string_view name_of(DType);
std::optional<DType> parse_dtype(std::string_view name);

/// Converts `value` to the integer dtype, rounding towards zero. A value that does not fit becomes the nearest that
/// fits, and NaN becomes 0. A boolean is value != 0.
std::int64_t to_integer(DType, double value);

/// Conversion between IEEE half and single precision, rounding to nearest even.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);
/// The same of bf16: a NaN keeps its sign and the bits that fit, and is quiet. Subnormals are kept here; compiled code may give 0.
float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);

}  // namespace whet
