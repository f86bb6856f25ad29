#pragma once

// Internal to tests/ptx.

#include <cstdint>
#include <string>
#include <vector>

namespace whet::ptx {

/// What a warp knows of the others: entry w counts the meetings of warp w up to the last one that it has heard of.
using Clock = std::vector<std::uint32_t>;
void hear(Clock& clock, const Clock& other);

/// Who accessed each byte of block memory last. Two accesses of two warps, one of which writes, need a meeting between them.
class Shadow {
 public:
  Shadow(std::int64_t bytes, std::size_t warps)
      : warps_(warps), written_(static_cast<std::size_t>(bytes)), read_(static_cast<std::size_t>(bytes) * warps) {}

  /// "" where the access is ordered, else what it meets.
  std::string read(std::size_t warp, const Clock&, std::int64_t at, std::int64_t bytes);
  std::string write(std::size_t warp, const Clock&, std::int64_t at, std::int64_t bytes);
  /// From here on a copy may write the bytes; behind `land` it has.
  std::string begin_copy(std::size_t warp, const Clock&, std::int64_t at, std::int64_t bytes);
  void land(std::size_t warp, const Clock&, std::int64_t at, std::int64_t bytes);
  /// From `begin_read` on a product may read the bytes, up to `end_read`.
  std::string begin_read(std::size_t warp, const Clock&, std::int64_t at, std::int64_t bytes);
  void end_read(std::size_t warp, const Clock&, std::int64_t at, std::int64_t bytes);

 private:
  struct Written {
    std::uint32_t clock = 0;
    std::uint16_t warp = 0, copies = 0, products = 0;  ///< what is under way that writes, and that reads
  };
  std::size_t warps_;
  std::vector<Written> written_;
  std::vector<std::uint32_t> read_;  ///< by byte and warp
};

}  // namespace whet::ptx
