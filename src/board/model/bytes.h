#pragma once

// Bytes of messages, for a program without a C++ library.

#include <unistd.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/message.h"

namespace whet {

/// Where memory ends, the program does.
inline void* memory_or_end(void* memory) {
  constexpr int kNoMemory = 5;
  if (memory == nullptr) _exit(kNoMemory);
  return memory;
}

/// Bytes that grow at their end.
class GrowingBytes : public Puts<GrowingBytes> {
 public:
  GrowingBytes() = default;
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { std::free(data_); }

  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {data_, size_}; }
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
  void add(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(grow(bytes.size()), bytes.data(), bytes.size());
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace whet
