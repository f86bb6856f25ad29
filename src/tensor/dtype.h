#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace whet {

/// Element types. `boolean` is one byte, 0 or 1. The numbers are stored in files: never renumber.
enum class DType : std::uint8_t { f32 = 0, f64 = 1, f16 = 2, i8 = 3, u8 = 4, i32 = 5, i64 = 6, boolean = 7 };

/// Bytes of one element.
std::int64_t size_of(DType);
bool is_float(DType);
/// "f32", "i64", "bool", ...
std::string_view name_of(DType);
std::optional<DType> parse_dtype(std::string_view name);

/// Converts `value` to the integer dtype, rounding towards zero. A value that does not fit becomes the nearest that
/// fits, and NaN becomes 0. A boolean is value != 0.
std::int64_t to_integer(DType, double value);

/// Conversion between IEEE half and single precision, rounding to nearest even.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);

}  // namespace whet
