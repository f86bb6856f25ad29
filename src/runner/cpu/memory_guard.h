#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace whet {

/// Memory between two pages that may not be touched. Its last byte is next to the page behind it, except for the rest that
/// 64-byte alignment leaves. The free bytes on both sides hold a pattern, so that stray stores are found there too.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// `ok()` is false when the system gives no memory.
  GuardedBuffer(std::size_t bytes, std::string name);
  GuardedBuffer(GuardedBuffer&&) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) noexcept;
  ~GuardedBuffer();

  bool ok() const { return data_ != nullptr; }
  std::byte* data() { return data_; }
  std::size_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

  void set_writable(bool);
  /// Every byte 0xff (NaN as a float), and the pattern around it renewed.
  void poison();
  /// Empty, or what was overwritten outside the buffer.
  std::string damage() const;
  /// Where `address` lies, if it belongs to this buffer or its guard pages: "4096 bytes beyond the end of output 0".
  /// Async-signal-safe: writes at most `capacity` bytes into `text` and gives the length, 0 when it lies elsewhere.
  std::size_t describe(std::uintptr_t address, char* text, std::size_t capacity) const;

 private:
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;  ///< guard pages included
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::string name_;
};

}  // namespace whet
