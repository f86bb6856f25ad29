#pragma once

#include <cstdint>
#include <vector>

namespace whet {

/// A tensor that lives in the arena from step `first` to step `last`, both included.
struct ArenaBuffer {
  std::uint64_t bytes = 0;
  int first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<std::uint64_t> offsets;  ///< one a buffer, multiples of 64
  std::uint64_t bytes = 0;             ///< of the arena
};

/// Each buffer is compared with all that are placed before it, as long as there are no more than this.
constexpr std::size_t kMostBySize = 4096;

/// Gives every buffer a place where it overlaps no other that lives at the same time; the largest first, each in the
/// smallest gap that holds it. More than kMostBySize buffers are placed in the order of their steps instead, which takes
/// time in proportion to them and may leave larger gaps. Buffers of a page and more start at different offsets within a page, because tensors at
/// equal ones compete for the same sets of the first-level cache.
ArenaPlan plan_arena(const std::vector<ArenaBuffer>&);

/// The largest sum of buffers that live at the same time: what no plan can go below.
std::uint64_t peak_bytes(const std::vector<ArenaBuffer>&);

}  // namespace whet
