#include "runner/cpu/cache.h"

#include <algorithm>

namespace whet {
namespace {

constexpr std::size_t kFlushedLine = 64;

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

void flush(MemoryRange range) {
#if defined(__x86_64__)
  for (std::size_t at = 0; at < range.bytes; at += kFlushedLine) __builtin_ia32_clflush(range.data + at);
  __builtin_ia32_mfence();
#else
  (void)range;
#endif
}

}  // namespace whet
