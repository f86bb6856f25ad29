#include "space/gpu/levels.h"

#include <algorithm>

namespace whet {

LaunchLevels cut_levels(Scheduler& s, std::vector<LoopId> spatial, std::int64_t threads) {
  LaunchLevels levels;
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
