#include "lower/gpu/collective.h"

#include <functional>

namespace whet {
namespace {

void count_loads(const Expr& e, std::vector<int>& counts) {
  for_each(e, [&](const Expr& part) {
    if (const Load* load = std::get_if<Load>(&part->kind)) ++counts[load->source.index()];
  });
}

}  // namespace

std::vector<int> accesses_by_buffer(const Program& program, const Stmt& s) {
  std::vector<int> counts(program.buffers.size(), 0);
  for_each(
      s,
      [&](const Stmt& part) {
        if (const Store* store = std::get_if<Store>(&part->kind)) ++counts[store->buffer.index()];
      },
      [&](const Expr& e) { count_loads(e, counts); });
  return counts;
}

bool is_private(const Buffer& buffer) { return buffer.scope == Scope::local || buffer.scope == Scope::registers; }

Collectives::Collectives(const Program& program, const Stmt& launch) {
  const std::vector<int> everywhere = accesses_by_buffer(program, launch);
  const auto is_collective = [&](const Stmt& s) {
    const std::vector<int> inside = accesses_by_buffer(program, s);
    bool fills = false, alone = true;
    for_each(
        s,
        [&](const Stmt& part) {
          const Store* store = std::get_if<Store>(&part->kind);
          if (!store) return;
          const std::size_t b = store->buffer.index();
          const bool block = program.buffers[b].scope == Scope::block;
          fills = fills || block;
          alone = alone && (block || (is_private(program.buffers[b]) && inside[b] == everywhere[b]));
        },
        nullptr);
    return fills && alone;
  };
  const std::function<void(const Stmt&)> visit = [&](const Stmt& s) {
    if (!s.defined()) return;
    if (is_collective(s) || std::holds_alternative<CopyGroup>(s->kind)) {
      found_.insert(&*s);
    } else if (const auto* block = std::get_if<Block>(&s->kind)) {
      for (const Stmt& part : block->body) visit(part);
    } else if (const auto* loop = std::get_if<Loop>(&s->kind)) {
      visit(loop->body);
    } else if (const auto* let = std::get_if<Let>(&s->kind)) {
      visit(let->body);
    } else if (const auto* branch = std::get_if<If>(&s->kind)) {
      visit(branch->then_body), visit(branch->else_body);
    }
  };
  bool has_block_memory = false;
  for (const Buffer& buffer : program.buffers) has_block_memory = has_block_memory || buffer.scope == Scope::block;
  if (has_block_memory) visit(launch);
}

bool Collectives::holds(const Stmt& s) const {
  if (found_.empty() || !s.defined()) return false;
  bool any = false;
  for_each(s, [&](const Stmt& part) { any = any || is_one(part); }, nullptr);
  return any;
}

}  // namespace whet
