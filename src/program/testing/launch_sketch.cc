#include "program/testing/launch_sketch.h"

namespace whet::testing {

LaunchSketch::LaunchSketch() {
  p.name = "sketch";
  b = index("b");
  t = index("t");
}

BufferId LaunchSketch::buffer(const std::string& name, Shape extents, Scope scope, DType dtype) {
  return p.add({.name = name, .dtype = dtype, .extents = std::move(extents), .scope = scope});
}

BufferId LaunchSketch::argument(const std::string& name, Shape extents, bool written, DType dtype) {
  int count = 0;
  for (const Buffer& other : p.buffers) count += other.scope == Scope::argument;
  return p.add({.name = name,
                .dtype = dtype,
                .extents = std::move(extents),
                .scope = Scope::argument,
                .argument = count,
                .written = written});
}

Expr LaunchSketch::read(BufferId id, std::vector<Expr> index) const {
  return load(p.buffer(id).dtype, SourceId(id.value), std::move(index));
}

Stmt LaunchSketch::launch(std::int64_t grid, std::int64_t threads, Stmt body) const {
  return loop(b, int_const(grid), loop(t, int_const(threads), std::move(body), LoopKind::thread), LoopKind::block);
}

Program LaunchSketch::with(Stmt body) const {
  Program out = p;
  out.body = std::move(body);
  return out;
}

Stmt store(BufferId id, std::vector<Expr> index, Expr value) {
  return make_stmt(Store{.buffer = id, .index = std::move(index), .value = std::move(value)});
}

Stmt async(const Stmt& s) {
  Store n = std::get<Store>(s->kind);
  n.async = true;
  return make_stmt(std::move(n));
}

Stmt crossed(const Stmt& s, int cross) {
  Store n = std::get<Store>(s->kind);
  n.cross = cross;
  return make_stmt(std::move(n));
}

Stmt barrier() { return make_stmt(Barrier{Barrier::Reach::block}); }
Stmt grid_barrier() { return make_stmt(Barrier{Barrier::Reach::grid}); }
Stmt commit() { return make_stmt(CopyGroup{CopyGroup::Kind::commit}); }
Stmt wait(int pending) { return make_stmt(CopyGroup{CopyGroup::Kind::wait, pending}); }

Stmt when(Expr condition, Stmt then_body, Stmt else_body) {
  return make_stmt(If{std::move(condition), std::move(then_body), std::move(else_body)});
}

Stmt loop(const Expr& index, Expr extent, Stmt body, LoopKind kind) {
  const Var& v = std::get<Var>(index->kind);
  return make_stmt(Loop{v.id, v.name, int_const(0), std::move(extent), kind, std::move(body)});
}

Stmt let(const Expr& variable, Expr value, Stmt body) {
  const Var& v = std::get<Var>(variable->kind);
  return make_stmt(Let{v.id, v.name, std::move(value), std::move(body)});
}

}  // namespace whet::testing
