#include "program/flatten.h"

namespace whet {
namespace {

Expr flat_index(const Buffer& buffer, const std::vector<Expr>& index) {
  if (index.size() == 1) return index[0];
  WHET_CHECK(index.size() == buffer.extents.size(), buffer.name.c_str());
  std::vector<Expr> strides(index.size(), int_const(1));
  for (std::size_t d = index.size(); d-- > 1;) strides[d - 1] = strides[d] * extent_of(buffer, d);
  Expr flat = int_const(0);
  for (std::size_t d = 0; d < index.size(); ++d) {
    const std::int64_t* number = as_int(strides[d]);
    flat = flat + (number ? index[d] * *number : index[d] * strides[d]);
  }
  return flat;
}

Expr flat_loads(const Program& program, const Expr& e) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    const auto* l = std::get_if<Load>(&x->kind);
    if (!l) return {};
    std::vector<Expr> index;
    for (const Expr& i : l->index) index.push_back(flat_loads(program, i));
    const Expr mask = l->mask.defined() ? flat_loads(program, l->mask) : l->mask;
    return masked_load(x->dtype, l->source, {flat_index(program.buffer(BufferId(l->source.value)), index)}, mask);
  });
}

}  // namespace

Program flatten(const Program& program) {
  Program out = program;
  const auto expr = [&](const Expr& e) { return flat_loads(program, e); };
  const auto store = [&](const Stmt& s) -> Stmt {
    if (const auto* p = std::get_if<Prefetch>(&s->kind))
      return make_stmt(Prefetch{p->buffer, {flat_index(program.buffer(p->buffer), p->index)}});
    const auto* n = std::get_if<Store>(&s->kind);
    if (!n) return {};
    std::vector<Expr> index;
    for (const Expr& i : n->index) index.push_back(expr(i));
    const Expr mask = n->mask.defined() ? expr(n->mask) : n->mask;
    return make_stmt(n->with({flat_index(program.buffer(n->buffer), index)}, expr(n->value), mask));
  };
  out.body = rewrite(program.body, store, expr);
  return out;
}

}  // namespace whet
