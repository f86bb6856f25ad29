#pragma once

#include <cstddef>
#include <cstdint>

namespace whet {

/// A range of memory.
struct MemoryRange {
  std::byte* data;
  std::size_t bytes;
};

/// The worker's share of a range, in whole cache lines.
MemoryRange share_of(MemoryRange whole, std::uint32_t worker, std::uint32_t workers);

/// Stores what is there already: the lines end up modified in this core's cache, as after the layer that computes them.
void rewrite(MemoryRange);
/// Stores what is there in every `workers`-th page of 4 KiB from the worker's own on. Memory that is written next lies where kernels before
/// left it, which shared their work out in other ways: a line is as likely in the cache of any core.
void rewrite_pages(MemoryRange, std::uint32_t worker, std::uint32_t workers);
/// Takes the range out of all caches, where the processor has an instruction for it.
void flush(MemoryRange);

}  // namespace whet
