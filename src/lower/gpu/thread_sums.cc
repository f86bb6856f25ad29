#include "lower/gpu/thread_sums.h"

namespace whet {
namespace {

void add_number(const std::vector<Expr>& index, std::set<VarId>& out) {
  if (const Var* v = std::get_if<Var>(&index.back()->kind)) out.insert(v->id);
}

}  // namespace

ThreadSums::ThreadSums(const Program& program, const Stmt& launch) {
  for_each(
      launch,
      [&](const Stmt& s) {
        const Store* store = std::get_if<Store>(&s->kind);
        if (!store) return;
        if (program.buffer(store->buffer).partial) return add_number(store->index, numbers_);
        for_each(store->value, [&](const Expr& e) {
          const Load* load = std::get_if<Load>(&e->kind);
          if (load && program.buffer(BufferId(load->source.value)).partial) add_number(load->index, sums_);
        });
      },
      nullptr);
}

bool ThreadSums::holds(const Stmt& s) const {
  if (sums_.empty() || !s.defined()) return false;
  bool any = false;
  for_each(
      s,
      [&](const Stmt& part) {
        const Loop* loop = std::get_if<Loop>(&part->kind);
        any = any || (loop && is_sum(*loop));
      },
      nullptr);
  return any;
}

}  // namespace whet
