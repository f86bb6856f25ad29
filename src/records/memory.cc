#include "records/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace whet {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kHeap = 64 << 20;  ///< glibc's heaps of threads are as large, and begin at multiples of it

/// A large piece is a whole number of huge pages: the last one is touched in small ones otherwise.
std::size_t size_of(std::size_t bytes) {
  return bytes < kHugePage ? bytes : (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

std::align_val_t alignment_of(std::size_t bytes, std::size_t alignment) {
  return std::align_val_t(bytes < kHugePage ? alignment : std::max(kHugePage, alignment));
}

}  // namespace

void* LargeMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  void* const memory = ::operator new(size_of(bytes), alignment_of(bytes, alignment));
  if (bytes >= kHugePage) (void)madvise(memory, size_of(bytes), MADV_HUGEPAGE);
  return memory;
}

void make_large_heaps() { (void)mallopt(M_TOP_PAD, kHeap); }

void use_huge_pages() {
  thread_local bool asked = false;
  if (std::exchange(asked, true)) return;
  void* volatile next = std::malloc(1);  // volatile: or the compiler leaves both out
  char* const at = static_cast<char*>(next);
  char* const page = at - reinterpret_cast<std::uintptr_t>(at) % kHugePage;
  (void)madvise(page, kHeap, MADV_HUGEPAGE);  // advice alone, whatever else lies there
  std::free(next);
}

void LargeMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  ::operator delete(memory, size_of(bytes), alignment_of(bytes, alignment));
}

}  // namespace whet
