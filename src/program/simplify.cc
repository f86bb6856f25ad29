#include "program/simplify.h"

#include <algorithm>

#include "program/context.h"

namespace whet {
namespace {

class StmtSimplifier {
 public:
  explicit StmtSimplifier(const Program& program) : facts_(size_ranges(program.sizes)) {}

  Stmt run(const Stmt& s) {
    if (!s.defined()) return s;
    return std::visit(Match{
                          [&](const Loop& n) { return loop(n); },
                          [&](const Let& n) { return let(n); },
                          [&](const Store& n) { return store(n); },
                          [&](const If& n) { return branch(n); },
                          [&](const Block& n) {
                            std::vector<Stmt> body;
                            body.reserve(n.body.size());
                            for (const Stmt& inner : n.body) body.push_back(run(inner));
                            return block(std::move(body));
                          },
                          [&](const Barrier&) { return s; },
                          [&](const CopyGroup&) { return s; },
                          [&](const Prefetch& n) {
                            Prefetch out{n.buffer, {}};
                            for (const Expr& i : n.index) out.index.push_back(expr(i));
                            return make_stmt(std::move(out));
                          },
                      },
                      s->kind);
  }

 private:
  Expr expr(const Expr& e) { return simplify(e, facts_); }

  static Stmt replaced(const Stmt& s, VarId var, const Expr& value) {
    const std::pair<VarId, Expr> pair(var, value);
    return rewrite(s, {}, [&](const Expr& e) { return substitute(e, Substitution(&pair, 1)); });
  }

  Stmt loop(const Loop& n) {
    Loop out{n.index, n.name, expr(n.min), expr(n.extent), n.kind, {}, n.intrinsic, n.min_blocks};
    const Interval times = facts_.bounds(out.extent);
    if (times.max && *times.max <= 0) return {};
    const bool of_launch = n.kind == LoopKind::block || n.kind == LoopKind::thread;
    if (is_const(out.extent, 1) && !of_launch) return once(n, out.min);
    const auto mark = facts_.mark();
    enter(facts_, out);
    out.body = run(n.body);
    facts_.rewind(mark);
    return out.body.defined() ? make_stmt(std::move(out)) : Stmt();
  }

  Stmt once(const Loop& n, const Expr& index) {
    if (has_load(index)) return let(Let{n.index, n.name, index, n.body});
    return run(replaced(n.body, n.index, index));
  }

  Stmt let(const Let& n) {
    const Expr value = expr(n.value);
    const auto& kind = value->kind;
    const bool trivial = as_int(value) || std::holds_alternative<FloatConst>(kind) || std::holds_alternative<Var>(kind);
    if (trivial) return run(replaced(n.body, n.var, value));
    const auto mark = facts_.mark();
    enter(facts_, Let{n.var, n.name, value, {}});
    const Stmt body = run(n.body);
    facts_.rewind(mark);
    return occurs(body, n.var) ? make_stmt(Let{n.var, n.name, value, body}) : body;
  }

  /// Ends where it finds the variable: most lets are read by the next one, and a long kernel is a long chain of lets.
  static bool occurs(const Stmt& s, VarId var) {
    if (!s.defined()) return false;
    const auto in = [&](const Expr& e) { return e.defined() && uses(e, var); };
    const auto in_any = [&](const std::vector<Expr>& list) { return std::any_of(list.begin(), list.end(), in); };
    return std::visit(
        Match{
            [&](const Loop& n) { return in(n.min) || in(n.extent) || occurs(n.body, var); },
            [&](const Let& n) { return in(n.value) || occurs(n.body, var); },
            [&](const Store& n) { return in_any(n.index) || in(n.value) || in(n.mask); },
            [&](const If& n) { return in(n.condition) || occurs(n.then_body, var) || occurs(n.else_body, var); },
            [&](const Block& n) {
              return std::any_of(n.body.begin(), n.body.end(), [&](const Stmt& inner) { return occurs(inner, var); });
            },
            [&](const Barrier&) { return false; },
            [&](const CopyGroup&) { return false; },
            [&](const Prefetch& n) { return in_any(n.index); },
        },
        s->kind);
  }

  Stmt store(const Store& n) {
    const auto mark = facts_.mark();
    Expr mask;
    if (n.mask.defined()) {
      mask = expr(n.mask);
      if (is_const(mask, 0)) return {};
      if (is_const(mask, 1)) mask = Expr();
    }
    if (mask.defined()) {
      facts_.bind(kLane, Interval{0, mask->lanes - 1});
      enter_if(facts_, mask);
    }
    std::vector<Expr> index;
    index.reserve(n.index.size());
    for (const Expr& i : n.index) index.push_back(expr(i));
    const Expr value = expr(n.value);
    facts_.rewind(mark);
    Store out = n.with(std::move(index), value, mask);
    out.async = n.async && has_load(value);  // what turns out to be zero copies nothing
    return make_stmt(std::move(out));
  }

  Stmt branch(const If& n) {
    const Expr condition = expr(n.condition);
    if (is_const(condition, 1)) return run(n.then_body);
    if (is_const(condition, 0)) return run(n.else_body);
    const auto mark = facts_.mark();
    enter_if(facts_, condition);
    const Stmt then_body = run(n.then_body);
    facts_.rewind(mark);
    enter_else(facts_, condition);
    const Stmt else_body = run(n.else_body);
    facts_.rewind(mark);
    if (then_body.defined()) return make_stmt(If{condition, then_body, else_body});
    return else_body.defined() ? make_stmt(If{expr(unary(UnaryOp::logical_not, condition)), else_body, {}}) : Stmt();
  }

  Facts facts_;
};

}  // namespace

Program simplify(const Program& program) {
  Program out = program;
  out.body = StmtSimplifier(program).run(program.body);
  return out;
}

}  // namespace whet
