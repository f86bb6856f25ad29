#include "lower/generate/prefetches.h"

#include <algorithm>
#include <optional>

#include "lower/cases.h"
#include "lower/generate/accesses.h"
#include "lower/generate/facts.h"
#include "lower/prefetch_lines.h"

namespace whet {
namespace {

/// The part of a buffer that one iteration reads.
struct Box {
  BufferId buffer;
  std::vector<Expr> base;
  std::vector<std::int64_t> extents;
};

bool same_base(const Box& a, const Box& b) {
  return std::equal(a.base.begin(), a.base.end(), b.base.begin(), b.base.end(),
                    [](const Expr& x, const Expr& y) { return same(x, y); });
}

/// What the read touches while the loop runs once, `ahead` iterations later. Nothing: registers, or not known.
std::optional<Box> box_later(const LoopTree& tree, const Program& program, const PrefetchedRead& prefetched,
                             const Load& read) {
  const VarId now(tree.loop(prefetched.loop).digits.front().value);
  const Expr later = var(now, name_of(tree, prefetched.loop)) + prefetched.ahead;
  Box box{.buffer = BufferId(read.source.value), .base = {}, .extents = {}};
  if (program.buffer(box.buffer).scope == Scope::registers) return std::nullopt;
  for (const Expr& index : read.index) {
    const std::optional<Span> span = span_of(tree, index, prefetched.loop);
    if (!span || reads_data(span->base)) return std::nullopt;
    const Expr base = substitute(span->base, [&](VarId v) { return v == now ? later : Expr(); });
    box.base.push_back(simplified(tree, base));
    box.extents.push_back(span->extent);
  }
  return box;
}

}  // namespace

void append_prefetches(const LoopTree& tree, const Storage& storage, const PrefetchedRead& prefetched,
                       std::vector<Stmt>& out) {
  const LoopId leaf = has_loops(tree, prefetched.reader) ? loop_of_leaf(tree, prefetched.reader) : LoopId();
  if (!leaf.valid() || !encloses(tree, prefetched.loop, leaf)) return;  // the reader went elsewhere since
  const Program& program = storage.lowered.program;
  std::vector<Box> asked;
  for_each(tree.dag.op(prefetched.reader).element().body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || read->source.value != prefetched.tensor.value) return;
    const Expr lowered = lowered_load(tree, storage, prefetched.reader, *read, part->dtype);
    const std::optional<Box> box = box_later(tree, program, prefetched, std::get<Load>(lowered->kind));
    if (!box || std::any_of(asked.begin(), asked.end(), [&](const Box& other) { return same_base(other, *box); }))
      return;
    asked.push_back(*box);
    append_line_prefetches(program.buffer(box->buffer), box->buffer, box->base, box->extents, out);
  });
}

}  // namespace whet
