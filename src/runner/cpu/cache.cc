#include "runner/cpu/cache.h"

#include <algorithm>

namespace whet {
namespace {

constexpr std::size_t kFlushedLine = 64, kPage = 4096;

}  // namespace

MemoryRange share_of(MemoryRange whole, std::uint32_t worker, std::uint32_t workers) {
  const std::size_t lines = (whole.bytes + kFlushedLine - 1) / kFlushedLine;
  const std::size_t first = std::min(whole.bytes, lines * worker / workers * kFlushedLine);
  const std::size_t last = std::min(whole.bytes, lines * (worker + 1) / workers * kFlushedLine);
  return {whole.data + first, last - first};
}

void rewrite(MemoryRange range) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= range.bytes; at += sizeof(std::uint64_t)) {
    auto* word = reinterpret_cast<volatile std::uint64_t*>(range.data + at);
    *word = *word;
  }
}

void rewrite_pages(MemoryRange whole, std::uint32_t worker, std::uint32_t workers) {
  for (std::size_t at = worker * kPage; at < whole.bytes; at += workers * kPage)
    rewrite({whole.data + at, std::min(kPage, whole.bytes - at)});
}

void flush(MemoryRange range) {
#if defined(__x86_64__)
  for (std::size_t at = 0; at < range.bytes; at += kFlushedLine) __builtin_ia32_clflush(range.data + at);
  __builtin_ia32_mfence();
#elif defined(__aarch64__)
  std::uint64_t type;  // of the caches: bits 16 to 19 have the smallest line, in words of 4 bytes as a power of two
  asm("mrs %0, ctr_el0" : "=r"(type));
  const std::uintptr_t line = std::uintptr_t{4} << (type >> 16 & 15);
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data);
  for (std::uintptr_t at = begin & ~(line - 1); at < begin + range.bytes; at += line)
    asm volatile("dc civac, %0" : : "r"(at) : "memory");
  asm volatile("dsb sy" : : : "memory");
#else
  (void)range;
#endif
}

}  // namespace whet
