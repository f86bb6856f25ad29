#include "lower/gpu/merge_guards.h"

#include "program/context.h"

namespace whet {
namespace {

/// A condition that no store changes, with nothing for where it does not hold.
const If* guard(const Stmt& s) {
  const If* n = std::get_if<If>(&s->kind);
  return n && !n->else_body.defined() && !has_load(n->condition) ? n : nullptr;
}

/// Around the loop, from the outside.
std::vector<Expr> take_guards(Loop& loop) {
  std::vector<Expr> conditions;
  for (const If* n = guard(loop.body); n && !uses(n->condition, loop.index); n = guard(loop.body)) {
    conditions.push_back(n->condition);
    loop.body = Stmt(n->then_body);
  }
  return conditions;
}

Stmt merged(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& part) -> Stmt {
        if (const Loop* loop = std::get_if<Loop>(&part->kind); loop && is_dp4a(loop->intrinsic)) {
          Loop inner = *loop;
          std::vector<Expr> conditions = take_guards(inner);
          Stmt out = make_stmt(std::move(inner));
          for (; !conditions.empty(); conditions.pop_back()) out = make_stmt(If{conditions.back(), out, Stmt()});
          return out;
        }
        const Block* n = std::get_if<Block>(&part->kind);
        if (!n) return {};
        std::vector<Stmt> out;
        for (const Stmt& next : n->body) {
          const If *before = out.empty() ? nullptr : guard(out.back()), *now = guard(next);
          if (before && now && same(before->condition, now->condition))
            out.back() = make_stmt(If{now->condition, block({before->then_body, now->then_body}), Stmt()});
          else
            out.push_back(next);
        }
        for (Stmt& inner : out) inner = merged(inner);
        return block(std::move(out));
      },
      nullptr);
}

}  // namespace

Program merge_guards(Program program) {
  if (program.body.defined()) program.body = merged(program.body);
  return program;
}

}  // namespace whet
