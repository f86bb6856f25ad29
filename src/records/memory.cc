#include "records/memory.h"

#include <sys/mman.h>

#include "base/check.h"

namespace whet {

std::unique_ptr<char, FreeMemory> allocate_memory(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const bool large = bytes >= kHugePage;
  const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const memory = large ? std::aligned_alloc(kHugePage, rounded) : std::malloc(bytes);
  WHET_CHECK(memory != nullptr || bytes == 0, "memory of records");
  if (large) (void)madvise(memory, rounded, MADV_HUGEPAGE);
  return std::unique_ptr<char, FreeMemory>(static_cast<char*>(memory));
}

}  // namespace whet
