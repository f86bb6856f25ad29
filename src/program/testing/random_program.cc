#include "program/testing/random_program.h"

namespace whet {
namespace {

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng) {}

  Program run() {
    program_.name = "random";
    in_ = program_.add({"in", DType::f32, {kElements}, Scope::argument, 0, false, false});
    out_ = program_.add({"out", DType::f32, {4, kElements / 4}, Scope::argument, 1, false, true});
    local_ = program_.add({"local", DType::f32, {kElements}, Scope::local, -1, false, false});
    std::vector<Stmt> body;
    for (std::int64_t phases = rng_.between(1, 2); phases > 0; --phases) {
      if (!body.empty()) body.push_back(make_stmt(Barrier{}));
      body.push_back(loop(rng_.chance(0.5) ? LoopKind::parallel : LoopKind::serial, 3));
    }
    program_.body = block(std::move(body));
    return program_;
  }

 private:
  Expr number(std::int64_t low, std::int64_t high) { return int_const(rng_.between(low, high)); }

  Expr index() {
    if (vars_.empty()) return number(0, 5);
    Expr e = vars_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(vars_.size())))];
    switch (rng_.below(7)) {
      case 0:
        return e + rng_.between(-2, 3);
      case 1:
        return e * rng_.between(1, 3);
      case 2:
        return min(e * rng_.between(1, 6), number(0, 20));
      case 3:
        return max(e + rng_.between(-4, 0), int_const(0));
      case 4:
        return floordiv(e, rng_.between(1, 4));
      case 5:
        return floormod(e, rng_.between(1, 6)) + vars_[0];
      default:
        return e;
    }
  }

  Expr clamped(const Expr& e, std::int64_t end) { return max(min(e, int_const(end - 1)), int_const(0)); }

  Expr condition() {
    const Expr a = index(), b = rng_.chance(0.5) ? number(0, 12) : index();
    const Expr c = rng_.chance(0.5) ? a < b : a >= b;
    return rng_.chance(0.3) ? c && (index() < number(2, 20)) : c;
  }

  Stmt loop(LoopKind kind, int depth) {
    const VarId id = program_.fresh_var();
    const std::string name = "i" + std::to_string(id.value);
    const Expr low = rng_.chance(0.3) && !vars_.empty() ? max(int_const(0), int_const(1) - vars_.back()) : number(0, 1);
    Expr extent = number(1, 5);
    if (rng_.chance(0.4) && !vars_.empty()) extent = min(extent, number(3, 9) - vars_.back() * rng_.between(1, 3));
    vars_.push_back(var(id, name));
    const Stmt body = stmts(depth - 1);
    vars_.pop_back();
    return make_stmt(Loop{id, name, low, extent, kind, body});
  }

  Stmt stmts(int depth) {
    std::vector<Stmt> body;
    for (std::int64_t n = rng_.between(1, 2); n > 0; --n) body.push_back(stmt(depth));
    return block(std::move(body));
  }

  Stmt stmt(int depth) {
    if (depth > 0 && rng_.chance(0.6)) return loop(LoopKind::serial, depth);
    if (depth > 0 && rng_.chance(0.4)) {
      const Expr c = condition();
      return make_stmt(If{c, stmts(depth - 1), rng_.chance(0.3) ? stmts(depth - 1) : Stmt()});
    }
    if (depth > 0 && rng_.chance(0.3)) {
      const VarId id = program_.fresh_var();
      const Expr value = index();
      vars_.push_back(var(id, "let" + std::to_string(id.value)));
      const Stmt body = stmts(depth - 1);
      vars_.pop_back();
      return make_stmt(Let{id, "let" + std::to_string(id.value), value, body});
    }
    if (rng_.chance(0.3)) return vector_store();
    const Expr at = rng_.chance(0.5) ? clamped(index(), 6) : index();
    const Expr row = rng_.chance(0.8) ? clamped(index(), 4) : index();
    return make_stmt(Store{out_, {row, at}, value(), {}});
  }

  Expr read() {
    const Expr at = rng_.chance(0.3) ? clamped(index(), kElements) : index() + index();
    const Expr element = load(DType::f32, SourceId(in_.value), {at});
    return rng_.chance(0.4) ? select(at < int_const(kElements) && at >= int_const(0), element, float_const(0))
                            : element;
  }

  Expr value() {
    Expr v = rng_.chance(0.7) ? read() : cast(DType::f32, index());
    if (rng_.chance(0.5)) v = v + read() * float_const(2);
    if (rng_.chance(0.3)) v = select(condition(), v, float_const(1));
    return v;
  }

  Stmt vector_store() {
    const Expr at = ramp(index() * 4, rng_.between(1, 2), 4);
    const Expr mask =
        rng_.chance(0.6) ? at < broadcast(number(2, kElements), 4) && at >= broadcast(number(0, 2), 4) : Expr();
    const Expr v = masked_load(DType::f32, SourceId(in_.value), {at}, mask);
    return make_stmt(Store{out_, {at}, v + broadcast(value(), 4), mask});
  }

  Rng& rng_;
  Program program_;
  BufferId in_, out_, local_;
  std::vector<Expr> vars_;
};

}  // namespace

Program random_program(Rng& rng) { return Generator(rng).run(); }

Program mutate(const Program& program, Rng& rng) {
  std::int64_t count = 0;
  const auto visit = [&](const Expr& e) {
    for_each(e, [&](const Expr& x) { count += x->dtype == DType::i64 && std::holds_alternative<IntConst>(x->kind); });
  };
  for_each(program.body, {}, visit);
  Program out = program;
  const std::int64_t buffers = static_cast<std::int64_t>(program.buffers.size());
  std::int64_t chosen = rng.below(count + buffers);
  if (chosen >= count) {
    Shape& extents = out.buffers[static_cast<std::size_t>(chosen - count)].extents;
    if (!extents.empty() && out.buffers[static_cast<std::size_t>(chosen - count)].scope != Scope::argument)
      extents[0] -= 1;
    return out;
  }
  const std::int64_t change = rng.chance(0.5) ? rng.between(1, 3) : -rng.between(1, 3);
  const std::function<Expr(const Expr&)> replace = [&](const Expr& e) {
    return rewrite(e, [&](const Expr& x) -> Expr {
      const auto* c = std::get_if<IntConst>(&x->kind);
      if (!c || x->dtype != DType::i64 || chosen-- != 0) return {};
      return int_const(c->value + change);
    });
  };
  out.body = rewrite(program.body, {}, replace);
  return out;
}

}  // namespace whet
