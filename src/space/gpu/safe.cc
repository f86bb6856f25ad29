#include "space/gpu/safe.h"

#include <algorithm>

namespace whet {
namespace {

/// The body loads, chooses and converts, but computes nothing.
bool is_copy(const Expr& body) {
  bool plain = true;
  for_each(body, [&](const Expr& part) {
    const bool number = std::holds_alternative<Binary>(part->kind) || std::holds_alternative<Unary>(part->kind) ||
                        std::holds_alternative<Call>(part->kind);
    plain = plain && !(number && is_float(part->dtype));
  });
  return plain;
}

bool is_worth_inlining(const LoopTree& tree, OpId op) {
  const Element& element = tree.dag.op(op).element();
  const std::vector<OpId> readers = consumers_of(tree.dag, op);
  const auto& outputs = tree.dag.outputs;
  if (element.reducer || readers.empty() || std::find(outputs.begin(), outputs.end(), op) != outputs.end())
    return false;
  if (nodes_when_inlined(tree, op) > kMostNodes) return false;
  return is_copy(element.body) || (readers.size() == 1 && !tree.dag.op(readers[0]).element().reducer);
}

/// The op's loops, cut so that the inner ones have at most kSafeThreads iterations together.
struct Levels {
  std::vector<LoopId> blocks, threads;
};
Levels cut(Scheduler& s, OpId op) {
  Levels levels;
  std::vector<LoopId> spatial = s.loops(op);
  std::erase_if(spatial, [&](LoopId loop) { return is_reduce(s.tree(), loop); });
  std::int64_t room = kSafeThreads;
  while (!spatial.empty()) {
    const LoopId loop = spatial.back();
    const std::int64_t extent = extent_of(s.tree(), loop);
    if (extent > room) break;
    room /= extent;
    levels.threads.insert(levels.threads.begin(), loop);
    spatial.pop_back();
  }
  if (!spatial.empty() && room > 1) {
    const auto [outer, inner] = s.split(spatial.back(), room, Tail::guard);
    levels.threads.insert(levels.threads.begin(), inner);
    spatial.back() = outer;
  }
  levels.blocks = std::move(spatial);
  return levels;
}

void launch(Scheduler& s, OpId op) {
  Levels levels = cut(s, op);
  if (levels.blocks.empty() && levels.threads.empty()) return;  // one element
  // A block needs a loop, and so does a thread.
  if (levels.blocks.empty()) {
    const auto [outer, inner] =
        s.split(levels.threads.front(), extent_of(s.tree(), levels.threads.front()), Tail::guard);
    levels.blocks = {outer}, levels.threads.front() = inner;
  }
  std::vector<LoopId> order = levels.blocks;
  order.insert(order.end(), levels.threads.begin(), levels.threads.end());
  s.reorder(order);
  s.bind(s.fuse(levels.blocks), LoopKind::block);
  if (levels.threads.empty()) return;
  const LoopId threads = s.fuse(levels.threads);
  s.bind(threads, LoopKind::thread);
  if (s.tree().dag.op(op).element().reducer) s.cache_write(op, threads);
}

}  // namespace

void safe_schedule(Scheduler& s) {
  const auto count = static_cast<std::int64_t>(s.tree().dag.ops.size());
  for (std::int64_t k = 0; k < count; ++k)
    if (has_loops(s.tree(), OpId(k)) && is_worth_inlining(s.tree(), OpId(k))) s.inline_op(OpId(k));
  for (std::int64_t k = 0; k < count; ++k)
    if (has_loops(s.tree(), OpId(k))) launch(s, OpId(k));
}

std::optional<Sketch> safe_sketch(const ComputeDag&, const Target&) {
  Sketch sketch;
  sketch.name = "safe";
  sketch.build = [](Scheduler& s, const Choices&) { safe_schedule(s); };
  return sketch;
}

}  // namespace whet
