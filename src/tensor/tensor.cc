#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace whet {

std::string to_string(const TensorType& type) {
  return std::string(name_of(type.dtype)) + "[" + to_string(type.shape) + "]";
}

Tensor::Tensor(DType dtype, Shape shape) : type_{dtype, std::move(shape)} {
  // calloc takes zeroed pages of the system as they are.
  constexpr std::size_t kAlignment = 64;
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes(), 1)) + kAlignment;
  const std::shared_ptr<void> memory(std::calloc(1, size), std::free);
  if (memory == nullptr) throw std::bad_alloc();  // as containers do
  void* aligned = memory.get();
  std::size_t space = size;
  std::align(kAlignment, size - kAlignment, aligned, space);
  bytes_ = std::make_shared<Bytes>(std::shared_ptr<std::byte>(memory, static_cast<std::byte*>(aligned)));
}

Tensor Tensor::later(TensorType type, std::function<Tensor()> make) {
  auto bytes = std::make_shared<Bytes>(type, std::move(make));
  return {std::move(type), std::move(bytes)};
}

std::byte* Tensor::Bytes::made() {
  std::call_once(once_, [this] {
    Tensor tensor = make_();
    WHET_CHECK(tensor.type() == type_);
    tensor.data();  // it may have been left for later, too
    memory_ = tensor.bytes_->memory_;
    make_ = nullptr;  // with what it was made from
    data_.store(memory_.get(), std::memory_order_release);
  });
  return data_;
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
    case DType::bf16:
      return bf16_to_float(static_cast<const std::uint16_t*>(data())[k]);
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
    case DType::bf16:
      static_cast<std::uint16_t*>(data())[k] = float_to_bf16(static_cast<float>(value));
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
    case DType::i16:
      return static_cast<const std::int16_t*>(data())[k];
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
    case DType::i16:
      static_cast<std::int16_t*>(data())[k] = static_cast<std::int16_t>(value);
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

Tensor held_as(const Tensor& tensor, DType wanted) {
  static constexpr std::pair<DType, DType> kHeld[] = {
      {DType::i16, DType::i32}, {DType::bf16, DType::f32}, {DType::f32, DType::bf16}};
  if (std::ranges::find(kHeld, std::pair(tensor.dtype(), wanted)) == std::end(kHeld)) return tensor;
  Tensor held(wanted, tensor.shape());
  for (std::int64_t i = 0; i < tensor.size(); ++i) held.set(i, tensor.get(i));
  return held;
}

}  // namespace whet
