#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <memory_resource>

namespace whet {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

/// Memory that is not cleared. A large piece is of huge pages where the system grants them: to touch its small ones for the
/// first time takes longer than to fill them.
std::unique_ptr<char, FreeMemory> allocate_memory(std::size_t bytes);

/// The same for containers.
class LargeMemory : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override { return allocate_memory(bytes).release(); }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { std::free(memory); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace whet
