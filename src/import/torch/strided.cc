#include "import/torch/strided.h"

#include <bit>
#include <cstring>

namespace whet::torch {
namespace {

constexpr std::int64_t kBfloat16 = 13;

std::int64_t bytes_of(ScalarType type, DType dtype) { return type.number == kBfloat16 ? 2 : size_of(dtype); }

/// Whether all elements lie in a storage of `count` elements.
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

/// Calls `visit(place in the storage)` for each element in row-major order.
template <typename Visit>
void walk(const Strided& s, Visit visit) {
  std::vector<std::int64_t> at(s.sizes.size(), 0);
  std::int64_t place = s.offset;
  while (true) {
    visit(place);
    std::size_t d = s.sizes.size();
    while (d-- > 0) {
      place += s.strides[d];
      if (++at[d] < s.sizes[d]) break;
      place -= s.strides[d] * s.sizes[d];
      at[d] = 0;
      if (d == 0) return;
    }
    if (s.sizes.empty()) return;
  }
}

}  // namespace

Result<Tensor> gathered_tensor(std::string_view storage, const Strided& s, const std::string& what) {
  const auto dtype = dtype_of(s.type);
  if (!dtype) return Error{what + " is of type " + name_of(s.type) + ", which is not supported"};
  WHET_RETURN_IF_ERROR(check_shape(what, s.sizes));
  const std::int64_t size = bytes_of(s.type, *dtype), count = static_cast<std::int64_t>(storage.size()) / size;
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
  if (s.type.number == kBfloat16) {
    auto values = tensor.as<float>();
    std::size_t i = 0;
    walk(s, [&](std::int64_t place) {
      std::uint16_t half = 0;
      std::memcpy(&half, in + place * 2, 2);
      values[i++] = std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
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
