#include "compiler/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

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

/// 11: neighbours land far apart in the page.
std::uint64_t color_of(std::size_t number) { return number * 11 * kLine % kPage; }

ArenaPlan plan_by_size(const std::vector<ArenaBuffer>& buffers) {
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
    plan.offsets[index] = best_fit(taken, buffer.bytes, color_of(done.size()));
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + buffer.bytes);
    done.push_back(index);
  }
  return plan;
}

/// Whole lines that no buffer has at one step; the last gap has no end.
class Gaps {
 public:
  Gaps() { add(0, std::numeric_limits<std::uint64_t>::max() / kLine * kLine); }

  /// Takes a place for `bytes` out of the smallest gap that surely has one, whatever the color.
  std::uint64_t take(std::uint64_t bytes, std::uint64_t color) {
    const std::uint64_t lines = (bytes + kLine - 1) / kLine * kLine;
    const auto gap = by_size_.lower_bound({bytes < kPage ? lines : lines + kPage, 0});
    const std::uint64_t begin = gap->second, end = begin + gap->first;
    remove(begin, end);
    const std::uint64_t at = next_offset(begin, bytes, color);
    add(begin, at);
    add(at + lines, end);
    return at;
  }

  void give_back(std::uint64_t begin, std::uint64_t bytes) {
    std::uint64_t end = begin + (bytes + kLine - 1) / kLine * kLine;
    if (const auto behind = ends_.find(end); behind != ends_.end()) {
      const std::uint64_t its_end = behind->second;
      remove(end, its_end);
      end = its_end;
    }
    const auto next = ends_.lower_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second == begin) {
      const std::uint64_t its_begin = std::prev(next)->first;
      remove(its_begin, begin);
      begin = its_begin;
    }
    add(begin, end);
  }

 private:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    ends_[begin] = end;
    by_size_.insert({end - begin, begin});
  }
  void remove(std::uint64_t begin, std::uint64_t end) {
    ends_.erase(begin);
    by_size_.erase({end - begin, begin});
  }

  std::map<std::uint64_t, std::uint64_t> ends_;  ///< by begin
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
};

/// The numbers of the buffers in the order of their first steps.
std::vector<std::size_t> by_first_step(const std::vector<ArenaBuffer>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].first < buffers[b].first; });
  return order;
}

/// Calls `begin` for each buffer in the order of first steps, and `end` before it for those that are read no more.
template <typename Begin, typename End>
void walk_steps(const std::vector<ArenaBuffer>& buffers, const Begin& begin, const End& end) {
  std::set<std::pair<int, std::size_t>> live;  // last step, number
  for (std::size_t index : by_first_step(buffers)) {
    while (!live.empty() && live.begin()->first < buffers[index].first) {
      end(live.begin()->second);
      live.erase(live.begin());
    }
    begin(index);
    live.insert({buffers[index].last, index});
  }
}

ArenaPlan plan_by_step(const std::vector<ArenaBuffer>& buffers) {
  ArenaPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  Gaps gaps;
  std::size_t placed = 0;
  walk_steps(
      buffers,
      [&](std::size_t b) {
        plan.offsets[b] = gaps.take(buffers[b].bytes, color_of(placed++));
        plan.bytes = std::max(plan.bytes, plan.offsets[b] + buffers[b].bytes);
      },
      [&](std::size_t b) { gaps.give_back(plan.offsets[b], buffers[b].bytes); });
  return plan;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<ArenaBuffer>& buffers) {
  return buffers.size() <= kMostBySize ? plan_by_size(buffers) : plan_by_step(buffers);
}

std::uint64_t peak_bytes(const std::vector<ArenaBuffer>& buffers) {
  std::uint64_t live = 0, peak = 0;
  walk_steps(
      buffers, [&](std::size_t b) { peak = std::max(peak, live += buffers[b].bytes); },
      [&](std::size_t b) { live -= buffers[b].bytes; });
  return peak;
}

}  // namespace whet
