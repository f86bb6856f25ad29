#include "space/gpu/safe.h"

#include <algorithm>

#include "space/gpu/levels.h"

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

void launch(Scheduler& s, OpId op) {
  const LaunchLevels levels = cut_levels(s, spatial_loops(s, op), kSafeThreads);
  if (levels.threads.empty()) return;  // one element
  const LoopId threads = bind_levels(s, levels, {});
  if (s.tree().dag.op(op).element().reducer) s.cache_write(op, threads);
}

}  // namespace

bool inlined_for_gpu(const LoopTree& tree, OpId op) {
  const Element& element = tree.dag.op(op).element();
  const std::vector<OpId> readers = consumers_of(tree.dag, op);
  const auto& outputs = tree.dag.outputs;
  if (element.reducer || readers.empty() || std::find(outputs.begin(), outputs.end(), op) != outputs.end())
    return false;
  if (nodes_when_inlined(tree, op) > kMostNodes) return false;
  return is_copy(element.body) || (readers.size() == 1 && !tree.dag.op(readers[0]).element().reducer);
}

void inline_for_gpu(Scheduler& s) {
  const auto count = static_cast<std::int64_t>(s.tree().dag.ops.size());
  for (std::int64_t k = 0; k < count; ++k)
    if (has_loops(s.tree(), OpId(k)) && inlined_for_gpu(s.tree(), OpId(k))) s.inline_op(OpId(k));
}

void safe_schedule(Scheduler& s) {
  inline_for_gpu(s);
  const auto count = static_cast<std::int64_t>(s.tree().dag.ops.size());
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
