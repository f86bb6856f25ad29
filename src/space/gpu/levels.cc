#include "space/gpu/levels.h"

#include <algorithm>

namespace whet {

LaunchLevels cut_levels(Scheduler& s, std::vector<LoopId> spatial, std::int64_t threads) {
  LaunchLevels levels;
  if (!s.finish().ok()) return levels;
  while (!spatial.empty()) {
    const LoopId loop = spatial.back();
    const std::int64_t extent = extent_of(s.tree(), loop);
    if (extent > threads) break;
    threads /= extent;
    levels.threads.insert(levels.threads.begin(), loop);
    spatial.pop_back();
  }
  if (!spatial.empty() && threads > 1) {
    const auto [outer, inner] = s.split(spatial.back(), threads, Tail::guard);
    levels.threads.insert(levels.threads.begin(), inner);
    spatial.back() = outer;
  }
  levels.blocks = std::move(spatial);
  if (levels.blocks.empty() && !levels.threads.empty()) {
    const LoopId first = levels.threads.front();
    const auto [outer, inner] = s.split(first, extent_of(s.tree(), first), Tail::guard);
    levels.blocks = {outer}, levels.threads.front() = inner;
  }
  return levels;
}

LoopId bind_levels(Scheduler& s, const LaunchLevels& levels, const std::vector<LoopId>& inside) {
  std::vector<LoopId> order = levels.blocks;
  order.insert(order.end(), levels.threads.begin(), levels.threads.end());
  order.insert(order.end(), inside.begin(), inside.end());
  s.reorder(order);
  const LoopId blocks = s.fuse(levels.blocks), threads = s.fuse(levels.threads);
  s.bind(blocks, LoopKind::block);
  s.bind(threads, LoopKind::thread);
  return threads;
}

void fill_together(Scheduler& s, std::vector<LoopId> loops, std::int64_t lanes, std::int64_t threads) {
  constexpr std::int64_t kMostUnrolled = 8;
  if (!loops.front().valid()) return;  // refused
  std::vector<LoopId> trips, bound;
  std::int64_t count = 1;
  for (std::size_t k = loops.size(); k-- > 0;) {
    const bool last = k + 1 == loops.size();
    const std::int64_t extent = extent_of(s.tree(), loops[k]) / (last ? lanes : 1);
    const std::int64_t part = std::clamp<std::int64_t>(threads, 1, extent);
    threads /= part, count *= (extent + part - 1) / part;
    LoopId inner = loops[k];
    if (last) {
      const auto vector = s.split(inner, lanes, Tail::guard);
      inner = vector.outer, bound.push_back(vector.inner);
    }
    const auto cut = s.split(inner, part, Tail::guard);
    trips.insert(trips.begin(), cut.outer), bound.insert(bound.begin(), cut.inner);
  }
  std::vector<LoopId> order = trips;
  order.insert(order.end(), bound.begin(), bound.end());
  s.reorder(order);
  s.annotate(bound.back(), LoopKind::vectorized);
  bound.pop_back();
  s.bind(s.fuse(bound), LoopKind::thread);
  if (count > kMostUnrolled) return;
  for (LoopId loop : trips) s.annotate(loop, LoopKind::unrolled);
}

void unroll_vectors(Scheduler& s, const std::vector<LoopId>& loops) {
  for (std::size_t k = 0; k + 1 < loops.size(); ++k) s.annotate(loops[k], LoopKind::unrolled);
  s.annotate(loops.back(), LoopKind::vectorized);
}

std::vector<LoopId> spatial_loops(const Scheduler& s, OpId op) {
  std::vector<LoopId> loops = s.loops(op);
  std::erase_if(loops, [&](LoopId loop) { return is_reduce(s.tree(), loop); });
  return loops;
}

std::vector<LoopId> reduce_loops(const Scheduler& s, OpId op) {
  std::vector<LoopId> loops = s.loops(op);
  std::erase_if(loops, [&](LoopId loop) { return !is_reduce(s.tree(), loop); });
  return loops;
}

}  // namespace whet
