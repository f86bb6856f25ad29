#include "program/program.h"

#include <algorithm>

#include "program/context.h"

namespace whet {
namespace {

bool is_block(const Stmt& s) { return std::holds_alternative<Block>(s->kind); }

void append(std::vector<Stmt>& list, const Stmt& s) {
  if (!s.defined()) return;
  if (const auto* b = std::get_if<Block>(&s->kind)) {
    for (const Stmt& inner : b->body) append(list, inner);
  } else {
    list.push_back(s);
  }
}

}  // namespace

Expr extent_of(const Buffer& buffer, std::size_t d) {
  const bool changes = !buffer.sizes.empty() && buffer.sizes[d].defined();
  return changes ? buffer.sizes[d] : int_const(buffer.extents[d]);
}

Shape shape_at(const Buffer& buffer, const SizeValues& values) {
  Shape shape = buffer.extents;
  for (std::size_t d = 0; d < buffer.sizes.size(); ++d)
    if (buffer.sizes[d].defined()) shape[d] = value_at(buffer.sizes[d], values);
  return shape;
}

Stmt make_stmt(StmtKind kind) { return Stmt(std::make_shared<const StmtNode>(StmtNode{std::move(kind)})); }

Stmt block(std::vector<Stmt> list) {
  std::vector<Stmt> flat;
  if (std::none_of(list.begin(), list.end(), [](const Stmt& s) { return !s.defined() || is_block(s); }))
    flat = std::move(list);
  else
    for (const Stmt& s : list) append(flat, s);
  if (flat.empty()) return {};
  if (flat.size() == 1) return flat[0];
  return make_stmt(Block{std::move(flat)});
}

Stmt rewrite(const Stmt& s, const std::function<Stmt(const Stmt&)>& on_stmt,
             const std::function<Expr(const Expr&)>& on_expr) {
  if (!s.defined()) return s;
  if (on_stmt) {
    if (Stmt replaced = on_stmt(s); replaced.defined()) return replaced;
  }
  auto stmt = [&](const Stmt& inner) { return rewrite(inner, on_stmt, on_expr); };
  auto expr = [&](const Expr& e) { return on_expr && e.defined() ? on_expr(e) : e; };
  auto list = [&](const std::vector<Expr>& in) {
    std::vector<Expr> out;
    out.reserve(in.size());
    for (const Expr& e : in) out.push_back(expr(e));
    return out;
  };
  return std::visit(Match{
                        [&](const Loop& n) {
                          Expr min = expr(n.min), extent = expr(n.extent);
                          Stmt body = stmt(n.body);
                          if (!body.defined()) return Stmt();
                          return make_stmt(Loop{n.index, n.name, min, extent, n.kind, body, n.intrinsic, n.min_blocks});
                        },
                        [&](const Let& n) {
                          Expr value = expr(n.value);
                          Stmt body = stmt(n.body);
                          return body.defined() ? make_stmt(Let{n.var, n.name, value, body}) : Stmt();
                        },
                        [&](const Store& n) {
                          std::vector<Expr> index = list(n.index);
                          Expr value = expr(n.value), mask = expr(n.mask);
                          Store out = n.with(std::move(index), value, mask);
                          out.async = n.async && has_load(value);  // what turns out to be zero copies nothing
                          return make_stmt(std::move(out));
                        },
                        [&](const If& n) {
                          Expr condition = expr(n.condition);
                          Stmt then_body = stmt(n.then_body), else_body = stmt(n.else_body);
                          if (!then_body.defined() && !else_body.defined()) return Stmt();
                          if (!then_body.defined()) {
                            return make_stmt(If{unary(UnaryOp::logical_not, condition), else_body, Stmt()});
                          }
                          return make_stmt(If{condition, then_body, else_body});
                        },
                        [&](const Block& n) {
                          std::vector<Stmt> body;
                          body.reserve(n.body.size());
                          for (const Stmt& inner : n.body) body.push_back(stmt(inner));
                          return block(std::move(body));
                        },
                        [&](const Barrier&) { return s; },
                        [&](const CopyGroup&) { return s; },
                        [&](const Prefetch& n) { return make_stmt(Prefetch{n.buffer, list(n.index)}); },
                    },
                    s->kind);
}

void for_each(const Stmt& s, const std::function<void(const Stmt&)>& on_stmt,
              const std::function<void(const Expr&)>& on_expr) {
  if (!s.defined()) return;
  if (on_stmt) on_stmt(s);
  auto stmt = [&](const Stmt& inner) { for_each(inner, on_stmt, on_expr); };
  auto expr = [&](const Expr& e) {
    if (on_expr && e.defined()) on_expr(e);
  };
  std::visit(Match{
                 [&](const Loop& n) { expr(n.min), expr(n.extent), stmt(n.body); },
                 [&](const Let& n) { expr(n.value), stmt(n.body); },
                 [&](const Store& n) {
                   for (const Expr& e : n.index) expr(e);
                   expr(n.value), expr(n.mask);
                 },
                 [&](const If& n) { expr(n.condition), stmt(n.then_body), stmt(n.else_body); },
                 [&](const Block& n) {
                   for (const Stmt& inner : n.body) stmt(inner);
                 },
                 [&](const Barrier&) {},
                 [&](const CopyGroup&) {},
                 [&](const Prefetch& n) {
                   for (const Expr& e : n.index) expr(e);
                 },
             },
             s->kind);
}

}  // namespace whet
