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

}  // namespace whet
