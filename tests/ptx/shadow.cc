#include "ptx/shadow.h"

#include <algorithm>

namespace whet::ptx {

void hear(Clock& clock, const Clock& other) {
  for (std::size_t w = 0; w < clock.size(); ++w) clock[w] = std::max(clock[w], other[w]);
}

std::string Shadow::read(std::size_t warp, const Clock& clock, std::int64_t at, std::int64_t bytes) {
  for (auto i = static_cast<std::size_t>(at), end = static_cast<std::size_t>(at + bytes); i < end; ++i) {
    const Written& last = written_[i];
    if (last.copies > 0) return "reads block memory that a copy may still write";
    if (last.clock > clock[last.warp])
      return "reads what warp " + std::to_string(last.warp) + " wrote without a barrier between";
    read_[i * warps_ + warp] = clock[warp];
  }
  return "";
}

std::string Shadow::write(std::size_t warp, const Clock& clock, std::int64_t at, std::int64_t bytes) {
  for (auto i = static_cast<std::size_t>(at), end = static_cast<std::size_t>(at + bytes); i < end; ++i) {
    Written& last = written_[i];
    if (last.copies > 0) return "writes block memory that a copy may still write";
    if (last.products > 0) return "writes block memory that a product may still read";
    if (last.clock > clock[last.warp])
      return "writes what warp " + std::to_string(last.warp) + " wrote without a barrier between";
    for (std::size_t w = 0; w < warps_; ++w)
      if (read_[i * warps_ + w] > clock[w])
        return "writes what warp " + std::to_string(w) + " read without a barrier between";
    last.clock = clock[warp], last.warp = static_cast<std::uint16_t>(warp);
  }
  return "";
}

std::string Shadow::begin_copy(std::size_t warp, const Clock& clock, std::int64_t at, std::int64_t bytes) {
  const std::string met = write(warp, clock, at, bytes);
  for (std::int64_t i = at; i < at + bytes && met.empty(); ++i) ++written_[static_cast<std::size_t>(i)].copies;
  return met;
}

void Shadow::land(std::size_t warp, const Clock& clock, std::int64_t at, std::int64_t bytes) {
  for (std::int64_t i = at; i < at + bytes; ++i) {
    Written& last = written_[static_cast<std::size_t>(i)];
    --last.copies, last.clock = clock[warp], last.warp = static_cast<std::uint16_t>(warp);
  }
}

std::string Shadow::begin_read(std::size_t warp, const Clock& clock, std::int64_t at, std::int64_t bytes) {
  const std::string met = read(warp, clock, at, bytes);
  for (std::int64_t i = at; i < at + bytes && met.empty(); ++i) ++written_[static_cast<std::size_t>(i)].products;
  return met;
}

void Shadow::end_read(std::size_t warp, const Clock& clock, std::int64_t at, std::int64_t bytes) {
  for (auto i = static_cast<std::size_t>(at), end = static_cast<std::size_t>(at + bytes); i < end; ++i) {
    --written_[i].products;
    read_[i * warps_ + warp] = clock[warp];
  }
}

}  // namespace whet::ptx
