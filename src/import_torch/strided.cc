#include "import_torch/strided.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace whet::torch {
namespace {

/// A type of fewer bits than the one that whet has for it.
struct Narrow {
  std::int64_t number, bytes;
  double (*value)(std::uint32_t bits);
};
/// A float of 8 bits with `digits` of its fraction; all bits set are no number (and, where there are infinities, the highest exponent).
template <int digits, bool has_infinities>
double small_float(std::uint32_t bits) {
  constexpr int kExponents = 7 - digits, kBias = (1 << (kExponents - 1)) - 1;
  const int exponent = static_cast<int>(bits >> digits) & ((1 << kExponents) - 1);
  const int fraction = static_cast<int>(bits) & ((1 << digits) - 1);
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  const bool is_highest = exponent == (1 << kExponents) - 1;
  if (has_infinities && is_highest && fraction == 0) return sign * std::numeric_limits<double>::infinity();
  if (is_highest && (has_infinities || fraction == (1 << digits) - 1)) return std::numeric_limits<double>::quiet_NaN();
  return sign * std::ldexp(fraction + (exponent == 0 ? 0 : 1 << digits), std::max(exponent, 1) - kBias - digits);
}
constexpr Narrow kNarrow[] = {
    {3, 2, [](std::uint32_t bits) -> double { return static_cast<std::int16_t>(bits); }},
    {13, 2, [](std::uint32_t bits) -> double { return std::bit_cast<float>(bits << 16); }},  // bfloat16
    {28, 2, [](std::uint32_t bits) -> double { return bits; }},                              // uint16
    {29, 1, small_float<3, false>},                                                          // float8_e4m3fn
    {30, 1, small_float<2, true>},                                                           // float8_e5m2
};
/// Null: whet has the type itself.
const Narrow* narrow_of(ScalarType type, bool native_types) {
  if (native_types && (type.number == 3 || type.number == 13)) return nullptr;
  const auto* row = std::find_if(std::begin(kNarrow), std::end(kNarrow),
                                 [&](const Narrow& each) { return each.number == type.number; });
  return row == std::end(kNarrow) ? nullptr : row;
}

/// Calls `visit(place in the storage)` for each element in row-major order.
template <typename Visit>
void walk(const Strided& s, Visit visit) {
  std::vector<std::int64_t> at(s.sizes.size(), 0);
  std::int64_t place = s.offset;
  while (true) {
    visit(place);
    std::size_t d = s.sizes.size();
    while (d-- > 0) {
      if (s.sizes[d] != 1) place += s.strides[d];  // of 1 it may be any number
      if (++at[d] < s.sizes[d]) break;
      if (s.sizes[d] != 1) place -= s.strides[d] * s.sizes[d];
      at[d] = 0;
      if (d == 0) return;
    }
    if (s.sizes.empty()) return;
  }
}

/// Complex numbers as real ones: the parts side by side in a last dimension.
Result<Tensor> pairs_of(std::string_view storage, const Strided& s, bool native_types, const std::string& what) {
  Strided parts = s;
  parts.type.number -= 3;  // complex64 is three behind float32, and so on
  const auto twice = [](std::int64_t n) { return 2 * std::clamp(n, std::int64_t{-1}, std::int64_t{1} << 61); };
  for (std::int64_t& stride : parts.strides) stride = twice(stride);
  parts.offset = twice(parts.offset);
  parts.sizes.push_back(2);
  parts.strides.push_back(1);
  return gathered_tensor(storage, parts, native_types, what);
}

}  // namespace

bool is_inside(const Strided& s, std::int64_t count) {
  if (s.offset < 0 || s.offset >= count) return false;
  std::int64_t last = s.offset;
  for (std::size_t d = 0; d < s.sizes.size(); ++d) {
    const std::int64_t steps = s.sizes[d] - 1;
    if (s.strides[d] < 0) return false;
    if (s.strides[d] == 0 || steps == 0) continue;
    if (steps > (count - 1 - last) / s.strides[d]) return false;
    last += steps * s.strides[d];
  }
  return true;
}

bool is_row_major(const Strided& s) {
  std::int64_t expected = 1;
  for (std::size_t d = s.sizes.size(); d-- > 0;) {
    if (s.sizes[d] != 1 && s.strides[d] != expected) return false;
    expected *= s.sizes[d];
  }
  return true;
}

std::vector<std::int64_t> places_of(const Strided& s) {
  std::vector<std::int64_t> places;
  walk(s, [&](std::int64_t place) { places.push_back(place); });
  return places;
}

Result<Tensor> gathered_tensor(std::string_view storage, const Strided& s, bool native_types, const std::string& what) {
  if (type_of_parts(s.type)) return pairs_of(storage, s, native_types, what);
  const auto dtype = dtype_of(s.type, native_types);
  if (!dtype) return Error{what + " is of type " + name_of(s.type) + ", which is not supported"};
  WHET_RETURN_IF_ERROR(check_shape(what, s.sizes));
  const Narrow* narrow = narrow_of(s.type, native_types);
  const std::int64_t size = narrow != nullptr ? narrow->bytes : size_of(*dtype),
                     count = static_cast<std::int64_t>(storage.size()) / size;
  const std::int64_t wanted = num_elements(s.sizes);
  if (wanted > 0 && !is_inside(s, count))
    return Error{what + " reaches beyond its storage of " + std::to_string(storage.size()) + " bytes"};
  // Strides of 0 make much of little.
  if (wanted > count + (std::int64_t{1} << 24))
    return Error{what + " has " + std::to_string(wanted) + " elements of a storage of " + std::to_string(count)};
  Tensor tensor(*dtype, s.sizes);
  if (wanted == 0) return tensor;
  auto* out = static_cast<char*>(tensor.data());
  const char* in = storage.data();
  if (narrow != nullptr) {
    std::int64_t i = 0;
    walk(s, [&](std::int64_t place) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, in + place * size, static_cast<std::size_t>(size));
      tensor.set(i++, narrow->value(bits));
    });
  } else if (is_row_major(s)) {
    std::memcpy(out, in + s.offset * size, static_cast<std::size_t>(wanted * size));
  } else {
    walk(s, [&](std::int64_t place) {
      std::memcpy(out, in + place * size, static_cast<std::size_t>(size));
      out += size;
    });
  }
  // One byte each, which must be 0 or 1.
  if (*dtype == DType::boolean)
    for (std::uint8_t& truth : tensor.as<std::uint8_t>()) truth = truth != 0;
  return tensor;
}

}  // namespace whet::torch
