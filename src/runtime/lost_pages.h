#pragma once

#include <cstdint>

namespace whet {

/// Pages of mapped files that kernels read. A page is lost where the file is cut, or its disk fails: who reads it gets SIGBUS, which
/// ends the process. While pages are in use, zeros take the place of lost ones, and it is known that they are no part of the file.
/// The program's own handler of SIGBUS has all that is not about these pages, and stands again when none is in use.
/// All functions may be called from any thread.

struct WatchedPages;

/// Watches a mapping from now on. Null where there is no memory.
WatchedPages* watch_pages(const void* begin, std::uint64_t bytes);
/// Before the mapping goes.
void forget_pages(WatchedPages*);
/// Whether a page was lost while it was in use. It stays so, whatever becomes of the file.
bool has_lost_pages(const WatchedPages*);

/// While it lives, watched pages are in use; of null nothing is.
class PagesInUse {
 public:
  explicit PagesInUse(const WatchedPages*);
  ~PagesInUse();
  PagesInUse(const PagesInUse&) = delete;
  PagesInUse& operator=(const PagesInUse&) = delete;

 private:
  const bool any_;
};

}  // namespace whet
