#pragma once

#include <cstdint>

namespace whet {

/// Whether `strides` (bytes, one for each dimension) are those of a contiguous row-major tensor. Extents of 1 are
/// ignored.
bool is_contiguous(const std::int64_t* shape, const std::int64_t* strides, std::uint32_t rank,
                   std::int64_t element_bytes);

/// Writes the tensor at `from` (strides in bytes, any sign, 0 too) contiguously to `to`. Rank at most kMaxRank.
void copy_strided(void* to, const void* from, const std::int64_t* shape, const std::int64_t* strides,
                  std::uint32_t rank, std::int64_t element_bytes);

}  // namespace whet
