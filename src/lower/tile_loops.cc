#include "lower/tile_loops.h"

namespace whet {

TileLoops loops_of_tiles(const Stmt& s) {
  TileLoops loops;
  for_each(
      s,
      [&](const Stmt& part) {
        const Loop* loop = std::get_if<Loop>(&part->kind);
        if (loop && as_int(loop->extent) && is_const(loop->min, 0)) loops[loop->index] = loop;
      },
      nullptr);
  return loops;
}

bool binds_any(const Stmt& s, const Expr& e) {
  bool found = false;
  for_each(
      s,
      [&](const Stmt& part) {
        if (const Loop* loop = std::get_if<Loop>(&part->kind)) found = found || uses(e, loop->index);
        if (const Let* let = std::get_if<Let>(&part->kind)) found = found || uses(e, let->var);
      },
      nullptr);
  return found;
}

Stmt with_conditions(const Stmt& s, const std::function<Expr(const Expr&)>& replace) {
  return rewrite(
      s,
      [&](const Stmt& part) -> Stmt {
        const If* choice = std::get_if<If>(&part->kind);
        if (!choice || choice->else_body.defined()) return {};
        Expr condition = bool_const(true);
        for (const Expr& each : conjuncts_of(choice->condition)) {
          const Expr replaced = replace(each);
          condition = condition && (replaced.defined() ? replaced : each);
        }
        const Stmt then_body = with_conditions(choice->then_body, replace);
        return is_const(condition, 1) ? then_body : make_stmt(If{condition, then_body, Stmt()});
      },
      nullptr);
}

}  // namespace whet
