#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace whet {

std::string to_string(const TensorType& type) {
  return std::string(name_of(type.dtype)) + "[" + to_string(type.shape) + "]";
}

Tensor::Tensor(DType dtype, Shape shape) : type_{dtype, std::move(shape)} {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes(), 1) + 63) / 64 * 64;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, size));
  WHET_CHECK(memory != nullptr, "out of memory for a host tensor");
  std::memset(memory, 0, size);
  data_ = std::shared_ptr<std::byte>(memory, std::free);
}

Tensor Tensor::random(const TensorType& type, Rng& rng, double low, double high) {
  Tensor t(type.dtype, type.shape);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const double value = rng.uniform(low, high);
    if (type.dtype == DType::boolean) {
      t.set(i, value >= (low + high) / 2 ? 1 : 0);
    } else {
      t.set(i, is_float(type.dtype) ? value : std::floor(value));
    }
  }
  return t;
}

double Tensor::get(std::int64_t i) const {
  const auto k = static_cast<std::size_t>(i);
  switch (dtype()) {
    case DType::f32:
      return static_cast<const float*>(data())[k];
    case DType::f64:
      return static_cast<const double*>(data())[k];
    case DType::f16:
      return half_to_float(static_cast<const std::uint16_t*>(data())[k]);
    default:
      return static_cast<double>(integer(i));
  }
}

void Tensor::set(std::int64_t i, double value) {
  const auto k = static_cast<std::size_t>(i);
  switch (dtype()) {
    case DType::f32:
      static_cast<float*>(data())[k] = static_cast<float>(value);
      return;
    case DType::f64:
      static_cast<double*>(data())[k] = value;
      return;
    case DType::f16:
      static_cast<std::uint16_t*>(data())[k] = float_to_half(static_cast<float>(value));
      return;
    case DType::boolean:
      static_cast<std::uint8_t*>(data())[k] = value != 0;
      return;
    default:
      set_integer(i, to_integer(dtype(), value));
      return;
  }
}

std::int64_t Tensor::integer(std::int64_t i) const {
  const auto k = static_cast<std::size_t>(i);
  switch (dtype()) {
    case DType::i8:
      return static_cast<const std::int8_t*>(data())[k];
    case DType::u8:
    case DType::boolean:
      return static_cast<const std::uint8_t*>(data())[k];
    case DType::i32:
      return static_cast<const std::int32_t*>(data())[k];
    case DType::i64:
      return static_cast<const std::int64_t*>(data())[k];
    default:
      return static_cast<std::int64_t>(get(i));
  }
}

void Tensor::set_integer(std::int64_t i, std::int64_t value) {
  const auto k = static_cast<std::size_t>(i);
  switch (dtype()) {
    case DType::i8:
      static_cast<std::int8_t*>(data())[k] = static_cast<std::int8_t>(value);
      return;
    case DType::u8:
      static_cast<std::uint8_t*>(data())[k] = static_cast<std::uint8_t>(value);
      return;
    case DType::boolean:
      static_cast<std::uint8_t*>(data())[k] = value != 0;
      return;
    case DType::i32:
      static_cast<std::int32_t*>(data())[k] = static_cast<std::int32_t>(value);
      return;
    case DType::i64:
      static_cast<std::int64_t*>(data())[k] = value;
      return;
    default:
      set(i, static_cast<double>(value));
      return;
  }
}

Tensor Tensor::clone() const {
  Tensor t(dtype(), shape());
  std::memcpy(t.data(), data(), static_cast<std::size_t>(bytes()));
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  WHET_CHECK(num_elements(shape) == size());
  Tensor t = *this;
  t.type_.shape = std::move(shape);
  return t;
}

}  // namespace whet
