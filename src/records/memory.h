#pragma once

#include <cstddef>
#include <memory_resource>

namespace whet {

/// Memory of containers. A large piece is of huge pages where the system grants them: to touch its small ones for the first
/// time takes longer than to fill them.
class LargeMemory : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// From now on the heap of a new thread has all its memory at once (64 MiB of addresses with glibc, which otherwise asks the
/// system for each page of it), and the first one grows by as much. For a program that will soon end: memory that is
/// freed goes back to the system more often, and is asked for again.
void make_large_heaps();
/// Asks for huge pages for what this thread will allocate next. Only its first call does something.
void use_huge_pages();

}  // namespace whet
