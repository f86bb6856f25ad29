#include "runtime/memory.h"

#include <stdint.h>
#include <sys/mman.h>

namespace whet {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Pages allocate_pages(std::size_t bytes) {
  Pages pages;
  const bool huge = bytes >= kHugePage;
  // The last huge page is left to small ones where most of it would lie empty. Else it is whole: what lies at the end is often a
  // classifier's weights, which are streamed.
  const bool fills_last = huge && bytes % kHugePage >= kHugePage / 2;
  const std::size_t size = round_up(bytes == 0 ? 1 : bytes, fills_last ? kHugePage : page_bytes());
  const std::size_t asked = huge ? size + kHugePage : size;
  if (size < bytes || asked < size) return pages;
  void* mapped = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return pages;
  char* begin = static_cast<char*>(mapped);
  if (huge) {
    char* aligned = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(begin), kHugePage));
    if (aligned > begin) munmap(begin, static_cast<std::size_t>(aligned - begin));
    char* end = aligned + size;
    if (begin + asked > end) munmap(end, static_cast<std::size_t>(begin + asked - end));
    begin = aligned;
    madvise(begin, size, MADV_HUGEPAGE);
  }
  pages.data = begin;
  pages.bytes = bytes;
  pages.mapped = size;
  return pages;
}

void free_pages(Pages* pages) {
  if (pages->data != nullptr) munmap(pages->data, pages->mapped);
  *pages = Pages{};
}

void drop_pages(const char* begin, const char* end) {
  const std::size_t page = page_bytes();
  const std::size_t first = round_up(reinterpret_cast<std::size_t>(begin), page);
  const std::size_t last = reinterpret_cast<std::size_t>(end) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace whet
