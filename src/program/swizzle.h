#pragma once

#include <bit>
#include <cstdint>

namespace whet {

/// Where bytes of a swizzled buffer lie (Buffer::swizzle). Rows of `row` bytes, a power of two, are pieces of `bytes`; the 16-byte part
/// p of a piece lies where the part p ^ (number of the row, or of the pair of rows where these are shorter than 128 bytes) would.
/// Source: the swizzles of 64 and 128 bytes of CUTLASS (Swizzle<2, 4, 3>, Swizzle<3, 4, 3>), of rows of 64 and 128 bytes.
struct Swizzle {
  std::int64_t bytes, row;

  int shift() const { return std::countr_zero(static_cast<std::uint64_t>(row < 128 ? 128 : row)); }
  std::int64_t parts() const { return bytes / 16; }
  std::int64_t period() const { return parts() << shift(); }  ///< in which places repeat; a power of two
  std::int64_t place(std::int64_t byte) const { return byte ^ ((byte >> shift() & (parts() - 1)) << 4); }
};

constexpr const char* kSwizzledRows =
    "pieces of 64 or 128 bytes, and rows of 64, 128, 256, 512 or 1024 that are no shorter";
constexpr bool is_swizzle(std::int64_t bytes, std::int64_t row) {
  return (bytes == 64 || bytes == 128) && row >= bytes && row <= 1024 && (row & (row - 1)) == 0;
}

}  // namespace whet
