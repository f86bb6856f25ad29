#include "compiler/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace whet {
namespace {

constexpr std::uint64_t kLine = 64, kPage = 4096;

/// The first offset at or after `at` that lies `color` bytes behind a page's begin (any line, for small buffers).
std::uint64_t next_offset(std::uint64_t at, std::uint64_t bytes, std::uint64_t color) {
  at = (at + kLine - 1) / kLine * kLine;
  if (bytes < kPage) return at;
  const std::uint64_t in_page = at % kPage;
  return at + (color >= in_page ? color - in_page : kPage - in_page + color);
}

struct Placed {
  std::uint64_t begin, end;
};

/// The smallest gap between `taken` (sorted by begin) that holds the buffer; behind all of them where none does.
std::uint64_t best_fit(const std::vector<Placed>& taken, std::uint64_t bytes, std::uint64_t color) {
  std::uint64_t best = 0, best_gap = std::numeric_limits<std::uint64_t>::max(), reached = 0;
  for (const Placed& other : taken) {
    const std::uint64_t at = next_offset(reached, bytes, color);
    if (at + bytes <= other.begin && other.begin - reached < best_gap) {
      best = at;
      best_gap = other.begin - reached;
    }
    reached = std::max(reached, other.end);
  }
  return best_gap != std::numeric_limits<std::uint64_t>::max() ? best : next_offset(reached, bytes, color);
}

}  // namespace

ArenaPlan plan_arena(const std::vector<ArenaBuffer>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  ArenaPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<std::size_t> done;
  for (std::size_t index : order) {
    const ArenaBuffer& buffer = buffers[index];
    std::vector<Placed> taken;
    for (std::size_t other : done) {
      if (buffers[other].first > buffer.last || buffers[other].last < buffer.first) continue;
      taken.push_back({plan.offsets[other], plan.offsets[other] + buffers[other].bytes});
    }
    std::sort(taken.begin(), taken.end(), [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    const std::uint64_t color = done.size() * 11 * kLine % kPage;  // 11: neighbours land far apart in the page
    plan.offsets[index] = best_fit(taken, buffer.bytes, color);
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + buffer.bytes);
    done.push_back(index);
  }
  return plan;
}

std::uint64_t peak_bytes(const std::vector<ArenaBuffer>& buffers) {
  std::uint64_t peak = 0;
  for (const ArenaBuffer& at : buffers) {
    std::uint64_t live = 0;
    for (const ArenaBuffer& other : buffers) {
      if (other.first <= at.first && at.first <= other.last) live += other.bytes;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace whet
