#include "runner/cpu/memory_guard.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "base/arithmetic.h"
#include "runtime/memory.h"

namespace whet {
namespace {

constexpr std::size_t kAlignment = 64;
/// Stores this far outside a large buffer are found at once. A whole number of pages of any system.
constexpr std::size_t kGuardBytes = 64 << 10;
constexpr std::byte kPattern{0xa5};

std::size_t append(char* text, std::size_t at, std::size_t capacity, const char* part) {
  while (*part && at < capacity) text[at++] = *part++;
  return at;
}
std::size_t append(char* text, std::size_t at, std::size_t capacity, std::uintptr_t number) {
  char digits[24];
  std::size_t n = sizeof digits;
  digits[--n] = '\0';
  do digits[--n] = static_cast<char>('0' + number % 10), number /= 10;
  while (number != 0);
  return append(text, at, capacity, digits + n);
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::size_t bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  const std::size_t inner = round_up(bytes + kAlignment, page_bytes());
  mapped_bytes_ = inner + 2 * kGuardBytes;
  void* mapped = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return;
  mapped_ = static_cast<std::byte*>(mapped);
  if (mprotect(mapped_ + kGuardBytes, inner, PROT_READ | PROT_WRITE) != 0) return;
  data_ = mapped_ + kGuardBytes + inner - round_up(bytes, kAlignment);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(name_, other.name_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapped_) munmap(mapped_, mapped_bytes_);
}

void GuardedBuffer::set_writable(bool writable) {
  mprotect(mapped_ + kGuardBytes, mapped_bytes_ - 2 * kGuardBytes, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

void GuardedBuffer::poison() {
  std::byte *begin = mapped_ + kGuardBytes, *end = mapped_ + mapped_bytes_ - kGuardBytes;
  std::memset(begin, static_cast<int>(kPattern), static_cast<std::size_t>(data_ - begin));
  std::memset(data_, 0xff, bytes_);
  std::memset(data_ + bytes_, static_cast<int>(kPattern), static_cast<std::size_t>(end - (data_ + bytes_)));
}

std::string GuardedBuffer::damage() const {
  const std::byte *begin = mapped_ + kGuardBytes, *end = mapped_ + mapped_bytes_ - kGuardBytes;
  for (const std::byte* p = data_ + bytes_; p < end; ++p)
    if (*p != kPattern) return "it wrote " + std::to_string(p - (data_ + bytes_)) + " bytes beyond the end of " + name_;
  for (const std::byte* p = data_; p > begin; --p)
    if (p[-1] != kPattern) return "it wrote " + std::to_string(data_ - p + 1) + " bytes before " + name_;
  return "";
}

std::size_t GuardedBuffer::describe(std::uintptr_t address, char* text, std::size_t capacity) const {
  const auto first = reinterpret_cast<std::uintptr_t>(mapped_), data = reinterpret_cast<std::uintptr_t>(data_);
  if (!mapped_ || address < first || address >= first + mapped_bytes_) return 0;
  const bool before = address < data, inside = !before && address < data + bytes_;
  std::size_t at = append(text, 0, capacity,
                          before   ? data - address
                          : inside ? address - data
                                   : address - (data + bytes_));
  at = append(text, at, capacity,
              before   ? " bytes before "
              : inside ? " bytes into read-only "
                       : " bytes beyond the end of ");
  return append(text, at, capacity, name_.c_str());
}

}  // namespace whet
