#include "program/launch.h"

#include <algorithm>
#include <cmath>

#include "program/context.h"
#include "target/gpu.h"

namespace whet {

std::optional<LaunchNest> launch_nest(const Stmt& s) {
  const auto loop_of = [](const Stmt& x, LoopKind kind) -> const Loop* {
    const auto* n = x.defined() ? std::get_if<Loop>(&x->kind) : nullptr;
    return n && n->kind == kind && is_const(n->min, 0) && as_int(n->extent) ? n : nullptr;
  };
  const Loop* blocks = loop_of(s, LoopKind::block);
  const Loop* threads = blocks ? loop_of(blocks->body, LoopKind::thread) : nullptr;
  if (!threads) return {};
  const std::int64_t grid = *as_int(blocks->extent), size = *as_int(threads->extent);
  if (grid < 1 || grid > kMostBlocks || size < kWarp || size > kMostThreads || size % kWarp != 0) return {};
  return LaunchNest{blocks, threads, grid, size, threads->body};
}

std::vector<Stmt> top_statements(const Program& program) {
  if (!program.body.defined()) return {};
  if (const auto* n = std::get_if<Block>(&program.body->kind)) return n->body;
  return {program.body};
}

bool has_launches(const Program& program) {
  const std::vector<Stmt> top = top_statements(program);
  return !top.empty() && launch_nest(top.front());
}

const Load* copied_load(const Program& program, const Expr& value) {
  if (const auto* n = std::get_if<Select>(&value->kind)) {
    const Expr* zero = &n->if_false;
    if (const auto* b = std::get_if<Broadcast>(&n->if_false->kind)) zero = &b->a;
    const auto* real = std::get_if<FloatConst>(&(*zero)->kind);
    const bool is_zero = is_const(*zero, 0) || (real && real->value == 0 && !std::signbit(real->value));
    if (!is_zero || has_load(n->condition) || !std::holds_alternative<Load>(n->if_true->kind)) return nullptr;
    return copied_load(program, n->if_true);
  }
  const auto* load = std::get_if<Load>(&value->kind);
  if (!load || load->mask.defined()) return nullptr;
  if (!load->source.valid() || load->source.index() >= program.buffers.size()) return nullptr;
  const Scope scope = program.buffers[load->source.index()].scope;
  if (scope != Scope::argument && scope != Scope::workspace) return nullptr;
  return std::any_of(load->index.begin(), load->index.end(), has_load) ? nullptr : load;
}

}  // namespace whet
