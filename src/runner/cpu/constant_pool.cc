#include "runner/cpu/constant_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "runner/fill.h"
#include "runtime/memory.h"

namespace whet {
namespace {

constexpr std::size_t kGuard = 64 << 10, kPoolAlignment = 64;
/// One random block is repeated: caches do not look at contents.
constexpr std::size_t kBlock = 256 << 10;

std::size_t total(const std::vector<std::size_t>& sizes) {
  std::size_t sum = 0;
  for (auto size : sizes) sum += round_up(size, kPoolAlignment);
  return sum;
}

}  // namespace

std::size_t bytes_of_pool(std::size_t own, std::size_t network) {
  return own == 0 ? network : std::max(own, round_up(network, own));
}

bool ConstantPool::reserve(std::size_t bytes, DType dtype) {
  walked_ = bytes;
  if (bytes <= bytes_) return true;
  release();
  const std::size_t size = round_up(bytes, bytes >= kHugePage / 2 ? kHugePage : page_bytes());
  void* mapped =
      mmap(nullptr, size + kHugePage + kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  mapped_ = static_cast<std::byte*>(mapped);
  mapped_bytes_ = size + kHugePage + kGuard;
  data_ = mapped_ +
          (round_up(reinterpret_cast<std::uintptr_t>(mapped_), kHugePage) - reinterpret_cast<std::uintptr_t>(mapped_));
  madvise(data_, size, MADV_HUGEPAGE);
  if (mprotect(data_, size, PROT_READ | PROT_WRITE) != 0) return release(), false;
  bytes_ = size;
  const std::size_t block = std::min(kBlock, size);
  fill_argument({ArgumentRole::constant, dtype, static_cast<std::int64_t>(block), 1}, data_);
  for (std::size_t at = block; at < size; at += block) std::memcpy(data_ + at, data_, std::min(block, size - at));
  mprotect(data_, size, PROT_READ);
  return true;
}

void ConstantPool::release() {
  if (mapped_) munmap(mapped_, mapped_bytes_);
  mapped_ = data_ = nullptr;
  bytes_ = cursor_ = 0;
}

bool ConstantPool::contains(std::uintptr_t address) const {
  const auto first = reinterpret_cast<std::uintptr_t>(mapped_);
  return mapped_ && address >= first && address < first + mapped_bytes_;
}

std::vector<const std::byte*> ConstantPool::at_start(const std::vector<std::size_t>& sizes) const {
  std::vector<const std::byte*> places;
  std::size_t at = 0;
  for (auto size : sizes) {
    places.push_back(data_ + at);
    at += round_up(size, kPoolAlignment);
  }
  return places;
}

std::vector<const std::byte*> ConstantPool::at_end(const std::vector<std::size_t>& sizes) const {
  auto places = at_start(sizes);
  for (auto& place : places) place += bytes_ - total(sizes);
  return places;
}

void ConstantPool::next(const std::vector<std::size_t>& sizes, const std::byte** places) {
  if (cursor_ + total(sizes) > walked_) cursor_ = 0;
  for (auto size : sizes) {
    *places++ = data_ + cursor_;
    cursor_ += round_up(size, kPoolAlignment);
  }
}

}  // namespace whet
