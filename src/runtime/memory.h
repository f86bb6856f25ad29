#pragma once

#include <unistd.h>

#include <cstddef>

namespace whet {

/// Zeroed memory for tensors, aligned to at least 64 bytes. From 2 MiB on it is aligned to huge pages, and huge pages
/// are requested.
struct Pages {
  void* data = nullptr;
  std::size_t bytes = 0;   ///< as requested
  std::size_t mapped = 0;  ///< as mapped

  bool ok() const { return data != nullptr; }
};

/// Of this system: 4 KiB on x86-64, up to 64 KiB elsewhere.
inline std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Allocates memory. `data` is null when the system refuses. Zero bytes give a valid pointer too.
Pages allocate_pages(std::size_t bytes);
void free_pages(Pages* pages);

/// Releases the whole pages of [begin, end), which are of a mapped file. The system reads them from the file again at the next access.
void drop_pages(const char* begin, const char* end);

}  // namespace whet
