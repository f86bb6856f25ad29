#include "cost/gpu/threads.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "schedule/bind.h"
#include "target/gpu.h"

namespace whet {
namespace {

OpId op_of(const LoopTree& tree, const Item& item) { return item.loop.valid() ? tree.loop(item.loop).op : item.leaf; }

/// A nest that fills block memory begins here.
bool fills_block(const LoopTree& tree, LoopId parent, const Item& item) {
  const OpId op = op_of(tree, item);
  return tree.place(op).stored_in == StoredIn::block && !(parent.valid() && tree.loop(parent).op == op);
}

bool is_thread(const LoopTree& tree, LoopId loop) {
  return tree.loop(loop).kind == LoopKind::thread || tree.loop(loop).kind == LoopKind::warp;
}

void for_each_loop(const LoopTree& tree, const Item& item, const std::function<void(LoopId)>& visit) {
  if (!item.loop.valid()) return;
  visit(item.loop);
  for (const Item& child : tree.loop(item.loop).children) for_each_loop(tree, child, visit);
}

std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

/// The smallest group of threads that each sum across threads inside divides.
std::int64_t unit_of(const LoopTree& tree, const std::vector<Item>& items) {
  std::int64_t unit = 1;
  if (tree.rfactors.empty()) return unit;
  for (const Item& item : items)
    for_each_loop(tree, item, [&](LoopId loop) {
      if (is_thread(tree, loop) && is_reduce(tree, loop)) unit = std::lcm(unit, threads_of_loop(tree, loop));
    });
  return unit;
}

std::int64_t threads_in(const LoopTree& tree, LoopId parent, const std::vector<Item>& items);

std::int64_t threads_in(const LoopTree& tree, const Item& item) {
  if (!item.loop.valid()) return 1;
  const std::int64_t inside = threads_in(tree, item.loop, tree.loop(item.loop).children);
  if (!is_thread(tree, item.loop)) return inside;
  return is_reduce(tree, item.loop) ? std::max(inside, threads_of_loop(tree, item.loop))
                                    : inside * threads_of_loop(tree, item.loop);
}

/// Of all but those that fill block memory, which have a numbering of their own.
std::int64_t threads_in(const LoopTree& tree, LoopId parent, const std::vector<Item>& items) {
  std::int64_t most = 1;
  for (const Item& item : items)
    if (!fills_block(tree, parent, item)) most = std::max(most, threads_in(tree, item));
  return rounded_up(most, unit_of(tree, items));
}

void collect_own(const LoopTree& tree, LoopId parent, const std::vector<Item>& items, std::int64_t& most) {
  for (const Item& item : items) {
    if (fills_block(tree, parent, item)) most = std::max(most, threads_in(tree, item));
    if (item.loop.valid()) collect_own(tree, item.loop, tree.loop(item.loop).children, most);
  }
}

}  // namespace

std::int64_t threads_of_loop(const LoopTree& tree, LoopId loop) {
  const std::int64_t extent = extent_of(tree, loop);
  if (tree.loop(loop).kind == LoopKind::warp) {
    const std::vector<Item>& inside = tree.loop(loop).children;
    const bool outer = std::any_of(inside.begin(), inside.end(), [&](const Item& item) {
      return item.loop.valid() && tree.loop(item.loop).kind == LoopKind::warp;
    });
    return outer ? extent : extent * kWarp;
  }
  return is_reduce(tree, loop) ? threads_of_sum(extent) : extent;
}

std::int64_t launch_threads(const LoopTree& tree, const std::vector<Item>& roots) {
  std::int64_t most = threads_in(tree, LoopId(), roots);
  collect_own(tree, LoopId(), roots, most);
  return rounded_up(most, std::lcm<std::int64_t>(kWarp, unit_of(tree, roots)));
}

}  // namespace whet
