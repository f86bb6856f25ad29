#include "lower/rename.h"

#include <map>

namespace whet {
namespace {

struct Renamer {
  Program& program;
  std::vector<bool> bound;
  std::map<VarId, Expr> now;  // what stands for a renamed variable here

  Expr expr(const Expr& e) const {
    if (now.empty()) return e;
    return substitute(e, [&](VarId v) {
      const auto found = now.find(v);
      return found == now.end() ? Expr() : found->second;
    });
  }

  /// Runs `body` with `v` bound, under a fresh name if it was bound before; gives the name.
  template <typename F>
  VarId bind(VarId v, const std::string& name, DType dtype, int lanes, F body) {
    if (!bound[v.index()]) {
      bound[v.index()] = true;
      const auto hidden = now.extract(v);
      body();
      if (!hidden.empty()) now[v] = hidden.mapped();
      return v;
    }
    const VarId fresh = program.fresh_var();
    const auto before = now.find(v) == now.end() ? Expr() : now[v];
    now[v] = make_expr(dtype, lanes, Var{fresh, name});
    body();
    if (before.defined())
      now[v] = before;
    else
      now.erase(v);
    return fresh;
  }

  Stmt stmt(const Stmt& s) {
    return std::visit(Match{[&](Loop l) {
                              l.min = expr(l.min), l.extent = expr(l.extent);
                              l.index = bind(l.index, l.name, DType::i64, 1, [&] { l.body = stmt(l.body); });
                              return make_stmt(l);
                            },
                            [&](Let l) {
                              l.value = expr(l.value);
                              l.var =
                                  bind(l.var, l.name, l.value->dtype, l.value->lanes, [&] { l.body = stmt(l.body); });
                              return make_stmt(l);
                            },
                            [&](const Store& unchanged) {
                              if (now.empty()) return s;
                              Store st = unchanged;
                              for (Expr& e : st.index) e = expr(e);
                              st.value = expr(st.value);
                              if (st.mask.defined()) st.mask = expr(st.mask);
                              return make_stmt(st);
                            },
                            [&](If i) {
                              i.condition = expr(i.condition), i.then_body = stmt(i.then_body);
                              if (i.else_body.defined()) i.else_body = stmt(i.else_body);
                              return make_stmt(i);
                            },
                            [&](Block b) {
                              for (Stmt& part : b.body) part = stmt(part);
                              return make_stmt(b);
                            },
                            [&](const Barrier&) { return s; }, [&](const CopyGroup&) { return s; },
                            [&](Prefetch p) {
                              for (Expr& e : p.index) e = expr(e);
                              return make_stmt(p);
                            }},
                      s->kind);
  }
};

}  // namespace

Program rename_apart(Program program) {
  const Stmt body = program.body;
  Renamer renamer{program, std::vector<bool>(static_cast<std::size_t>(program.vars), false), {}};
  program.body = renamer.stmt(body);
  return program;
}

}  // namespace whet
