#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace whet {

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
/// "f32[1x3x224x224]"
std::string to_string(const TensorType&);

/// A host tensor: row-major, contiguous, 64-byte aligned. Copies share the bytes, so a shared tensor must not be
/// written.
class Tensor {
 public:
  Tensor() : Tensor(DType::f32, Shape{0}) {}
  /// Zero-filled.
  Tensor(DType, Shape);
  /// The tensor that `make` gives, which must have this type. `make` is called once, by whoever reads the elements
  /// first: the weights of a model are large, and much is asked of a model without them.
  static Tensor later(TensorType, std::function<Tensor()> make);

  template <typename T>
  static Tensor of(DType dtype, Shape shape, const std::vector<T>& values) {
    Tensor t(dtype, std::move(shape));
    WHET_CHECK(static_cast<std::int64_t>(values.size()) == t.size());
    for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(values[static_cast<std::size_t>(i)]));
    return t;
  }
  /// Seeded, uniform in [low, high); integers are rounded down, booleans are value >= (low + high) / 2.
  static Tensor random(const TensorType&, Rng&, double low = -1, double high = 1);

  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  const TensorType& type() const { return type_; }
  std::int64_t size() const { return num_elements(type_.shape); }
  std::int64_t bytes() const { return size() * size_of(type_.dtype); }

  void* data() { return bytes_->get(); }
  const void* data() const { return bytes_->get(); }
  /// The elements as T; sizeof(T) must be the size of the dtype.
  template <typename T>
  std::span<T> as() {
    WHET_CHECK(static_cast<std::int64_t>(sizeof(T)) == size_of(dtype()));
    return {static_cast<T*>(data()), static_cast<std::size_t>(size())};
  }
  template <typename T>
  std::span<const T> as() const {
    WHET_CHECK(static_cast<std::int64_t>(sizeof(T)) == size_of(dtype()));
    return {static_cast<const T*>(data()), static_cast<std::size_t>(size())};
  }

  /// Element `i` in row-major order, by value, of any dtype. An i64 beyond 2^53 loses digits: use `integer`.
  double get(std::int64_t i) const;
  void set(std::int64_t i, double value);
  /// Element `i` of an integer or boolean tensor, exactly.
  std::int64_t integer(std::int64_t i) const;
  void set_integer(std::int64_t i, std::int64_t value);

  Tensor clone() const;
  /// The same bytes under another shape of equal element count.
  Tensor reshaped(Shape) const;

 private:
  /// The elements, or how to make them. Several threads may ask at the same time.
  class Bytes {
   public:
    explicit Bytes(std::shared_ptr<std::byte> memory) : memory_(std::move(memory)), data_(memory_.get()) {}
    Bytes(TensorType type, std::function<Tensor()> make) : type_(std::move(type)), make_(std::move(make)) {}
    std::byte* get() {
      std::byte* data = data_.load(std::memory_order_acquire);
      return data != nullptr ? data : made();
    }

   private:
    std::byte* made();

    std::shared_ptr<std::byte> memory_;
    std::atomic<std::byte*> data_{nullptr};
    std::once_flag once_;
    TensorType type_;  ///< of what `make_` gives
    std::function<Tensor()> make_;
  };
  Tensor(TensorType type, std::shared_ptr<Bytes> bytes) : type_(std::move(type)), bytes_(std::move(bytes)) {}

  TensorType type_;
  std::shared_ptr<Bytes> bytes_;
};

/// The tensor as a model takes `wanted`, where one type holds the numbers of the other: i16 in i32 and bf16 in f32, as models
/// that do not have these types hold them, and f32 in bf16, rounded half to even. Any other tensor as it is.
Tensor held_as(const Tensor&, DType wanted);

}  // namespace whet
