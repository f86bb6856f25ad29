#pragma once

// What runner/wire.h has, for a program without a C++ library.

#include <unistd.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace whet {

/// Where memory ends, the program does.
inline void* memory_or_end(void* memory) {
  constexpr int kNoMemory = 5;
  if (memory == nullptr) _exit(kNoMemory);
  return memory;
}

/// Bytes that grow at their end.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { std::free(data_); }

  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  /// Room for `bytes` more, which the caller fills.
  char* grow(std::size_t bytes) {
    if (size_ + bytes > capacity_) {
      capacity_ = 2 * (size_ + bytes);
      data_ = static_cast<char*>(memory_or_end(std::realloc(data_, capacity_)));
    }
    size_ += bytes;
    return data_ + size_ - bytes;
  }
  void add(const void* bytes, std::size_t count) {
    if (count > 0) std::memcpy(grow(count), bytes, count);
  }
  void u8(std::uint8_t value) { add(&value, 1); }
  void u32(std::uint32_t value) { add(&value, sizeof value); }
  void u64(std::uint64_t value) { add(&value, sizeof value); }
  void i64(std::int64_t value) { u64(static_cast<std::uint64_t>(value)); }
  void f64(double value) { add(&value, sizeof value); }
  void text(const char* value) {
    u64(std::strlen(value));
    add(value, std::strlen(value));
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they lie in memory");

/// Reads from the front. After the first thing that does not fit, everything reads as zero and `ok` is false.
class ByteReader {
 public:
  ByteReader(const char* data, std::size_t size) : at_(data), left_(size) {}

  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_ == 0; }
  const char* at() const { return at_; }
  /// Null where there are fewer.
  const char* take(std::size_t bytes) {
    if (!ok_ || bytes > left_) return ok_ = false, nullptr;
    at_ += bytes;
    left_ -= bytes;
    return at_ - bytes;
  }
  template <typename Number>
  Number number() {
    Number value{};
    if (const char* bytes = take(sizeof value)) std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  /// A list's length, at most `most`.
  std::uint64_t count(std::uint64_t most) {
    const auto value = number<std::uint64_t>();
    if (value > most) ok_ = false;
    return ok_ ? value : 0;
  }

 private:
  const char* at_;
  std::size_t left_;
  bool ok_ = true;
};

}  // namespace whet
