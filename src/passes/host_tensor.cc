#include "passes/host_tensor.h"

#include <cstring>

namespace whet {
namespace {

/// Copies elements of `Bytes` bytes row by row of the result.
template <std::size_t Bytes>
void permute(const std::byte* from, std::byte* to, const Shape& shape, const std::vector<std::int64_t>& strides) {
  std::vector<std::int64_t> at(shape.size(), 0);
  const std::int64_t count = num_elements(shape);
  std::int64_t source = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * Bytes, from + static_cast<std::size_t>(source) * Bytes, Bytes);
    for (std::size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++at[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
}

}  // namespace

Tensor transposed(const Tensor& x, const std::vector<std::int64_t>& perm) {
  const std::vector<std::int64_t> in_strides = row_major_strides(x.shape());
  Shape shape;
  std::vector<std::int64_t> strides;
  for (std::int64_t p : perm) {
    shape.push_back(x.shape()[static_cast<std::size_t>(p)]);
    strides.push_back(in_strides[static_cast<std::size_t>(p)]);
  }
  Tensor result(x.dtype(), shape);
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(result.data());
  switch (size_of(x.dtype())) {
    case 1:
      permute<1>(from, to, shape, strides);
      break;
    case 2:
      permute<2>(from, to, shape, strides);
      break;
    case 4:
      permute<4>(from, to, shape, strides);
      break;
    default:
      permute<8>(from, to, shape, strides);
      break;
  }
  return result;
}

std::optional<double> uniform_value(const Tensor& x) {
  if (x.size() == 0) return std::nullopt;
  const double first = x.get(0);
  for (std::int64_t i = 1; i < x.size(); ++i) {
    if (x.get(i) != first) return std::nullopt;
  }
  return first;
}

}  // namespace whet
