#include "program/testing/mutants.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "program/context.h"
#include "program/interpret.h"
#include "program/launch.h"
#include "program/verify.h"
#include "tensor/compare.h"

namespace whet::testing {
namespace {

std::string first_line(const Program& p, const Stmt& s) {
  const std::string text = to_text(p, s);
  return "`" + text.substr(0, text.find('\n')) + "`";
}

bool is_barrier(const Stmt& s) {
  const auto* n = std::get_if<Barrier>(&s->kind);
  return n && n->reach == Barrier::Reach::block;
}

std::vector<Stmt> list_of(const Stmt& s) {
  if (!s.defined()) return {};
  if (const auto* n = std::get_if<Block>(&s->kind)) return n->body;
  return {s};
}

/// What variables stand for.
struct Variables {
  std::set<VarId> threads, serial;  ///< depend on the thread's index; on the index of a loop inside the launch

  explicit Variables(const Program& p) {
    for_each(p.body,
             [&](const Stmt& s) {
               if (const auto* n = std::get_if<Loop>(&s->kind)) {
                 if (n->kind == LoopKind::thread) threads.insert(n->index);
                 if (n->kind != LoopKind::thread && n->kind != LoopKind::block) serial.insert(n->index);
               } else if (const auto* n = std::get_if<Let>(&s->kind)) {
                 if (uses_any(n->value, threads)) threads.insert(n->var);
                 if (uses_any(n->value, serial)) serial.insert(n->var);
               }
             },
             {});
  }
  static bool uses_any(const Expr& e, const std::set<VarId>& vars) {
    bool found = false;
    for_each(e, [&](const Expr& x) {
      const auto* v = std::get_if<Var>(&x->kind);
      found = found || (v && vars.contains(v->id));
    });
    return found;
  }
  /// The divisor of a remainder that selects a stage; nothing for any other expression.
  std::optional<std::int64_t> stages_of(const Expr& e) const {
    const auto* n = std::get_if<Binary>(&e->kind);
    if (!n || n->op != BinaryOp::floormod || e->lanes != 1 || !as_int(n->b)) return {};
    if (!uses_any(n->a, serial) || uses_any(n->a, threads)) return {};
    return *as_int(n->b);
  }
};

/// Walks through a program and makes the mistake of that number on the way.
class Editor {
 public:
  Editor(const Program& p, const Variables& vars, const std::set<std::pair<std::size_t, std::size_t>>& staged,
         std::int64_t number)
      : p_(p), vars_(vars), staged_(staged), left_(number) {}

  /// Nothing where the program has fewer places for mistakes.
  std::optional<Mutant> run() {
    Mutant out{"", p_};
    out.program.body = stmt(p_.body);
    if (left_ >= 0) return {};
    out.what = what_;
    return out;
  }

 private:
  bool hit(const std::string& what) {
    if (left_-- != 0) return false;
    what_ = what;
    return true;
  }
  bool done() const { return left_ < 0; }

  Stmt stmt(const Stmt& s) {
    if (!s.defined() || done()) return s;
    return std::visit(Match{
                          [&](const Loop& n) {
                            const Stmt moved = out_of_loop(s, n);
                            return moved.defined() ? moved : with_body(n, list(n.body));
                          },
                          [&](const Let& n) { return make_stmt(Let{n.var, n.name, expr(n.value), list(n.body)}); },
                          [&](const Store& n) { return store(s, n); },
                          [&](const If& n) {
                            const Expr condition = predicate(s, expr(n.condition));
                            const Stmt then_body = list(n.then_body);
                            return make_stmt(If{condition, then_body, list(n.else_body)});
                          },
                          [&](const Block&) { return list(s); },
                          [&](const Barrier&) { return s; },
                          [&](const CopyGroup&) { return s; },
                          [&](const Prefetch&) { return s; },
                      },
                      s->kind);
  }

  static Stmt with_body(Loop n, Stmt body) {
    n.body = std::move(body);
    return make_stmt(std::move(n));
  }

  /// A barrier at the begin or end of a serial loop's body, before or behind the loop.
  Stmt out_of_loop(const Stmt& s, const Loop& n) {
    if (n.kind == LoopKind::thread || n.kind == LoopKind::block) return {};
    const std::vector<Stmt> body = list_of(n.body);
    if (body.size() < 2) return {};
    if (is_barrier(body.front()) && hit(first_line(p_, s) + ": the barrier at its begin moved before it"))
      return block({body.front(), with_body(n, block({body.begin() + 1, body.end()}))});
    if (is_barrier(body.back()) && hit(first_line(p_, s) + ": the barrier at its end moved behind it"))
      return block({with_body(n, block({body.begin(), body.end() - 1})), body.back()});
    return {};
  }

  Stmt list(const Stmt& s) {
    std::vector<Stmt> body = list_of(s);
    for (std::size_t i = 0; i < body.size() && !done(); ++i) {
      const Stmt here = body[i];
      if (is_barrier(here)) {
        const std::string name = place(i, body);
        if (hit(name + " removed")) return without(body, i);
        if (i > 0 && hit(name + " moved up")) return std::swap(body[i], body[i - 1]), block(body);
        if (i + 1 < body.size() && hit(name + " moved down")) return std::swap(body[i], body[i + 1]), block(body);
      } else if (const auto* n = std::get_if<CopyGroup>(&here->kind)) {
        const std::string name = place(i, body);
        if (hit(name + " removed")) return without(body, i);
        if (n->kind == CopyGroup::Kind::commit) continue;
        for (const int change : {1, -1}) {
          if (n->pending + change < 0 ||
              !hit(name + (change > 0 ? ": one group more may be under way" : ": one group fewer may be under way")))
            continue;
          body[i] = make_stmt(CopyGroup{n->kind, n->pending + change});
          return block(body);
        }
      } else {
        body[i] = stmt(here);
      }
    }
    return block(std::move(body));
  }

  std::string place(std::size_t i, const std::vector<Stmt>& body) const {
    return first_line(p_, body[i]) + (i > 0 ? " after " + first_line(p_, body[i - 1]) : " at the begin");
  }
  static Stmt without(std::vector<Stmt> body, std::size_t i) {
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
    return block(std::move(body));
  }

  Stmt store(const Stmt& s, const Store& n) {
    line_ = first_line(p_, s);
    std::vector<Expr> index = indices(n.buffer, n.index);
    for (Expr& i : index) i = expr(i);
    const Expr value = expr(n.value);
    const Expr mask = n.mask.defined() ? predicate(s, expr(n.mask)) : n.mask;
    Store out = n.with(std::move(index), value, mask);
    if (n.cross != 0 && shares_rows() && hit(line_ + ": of thread ^ " + std::to_string(2 * n.cross)))
      out.cross = 2 * n.cross;
    return make_stmt(std::move(out));
  }

  /// Four lanes have rows of some buffer together, and exchange what is one value a row.
  bool shares_rows() const {
    return std::any_of(p_.buffers.begin(), p_.buffers.end(), [](const Buffer& b) { return b.quad; });
  }

  // ---- Stages

  std::vector<Expr> indices(BufferId id, std::vector<Expr> index) {
    const Buffer& b = p_.buffer(id);
    if (b.quad && !index.empty() && hit(line_ + ": a column of " + b.name + " that the next lane has"))
      index.back() = index.back() + 2;
    if (b.scope != Scope::block) return index;
    const bool flat = index.size() == 1 && b.extents.size() != 1;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (flat) {
        index[d] = rewrite(index[d], [&](const Expr& x) -> Expr {
          const auto stages = vars_.stages_of(x);
          return stages ? other_stage(b.name, x, *stages) : Expr();
        });
      } else if (staged_.contains({id.index(), d})) {
        index[d] = other_stage(b.name, index[d], b.extents[d]);
      }
    }
    return index;
  }

  Expr other_stage(const std::string& buffer, const Expr& stage, std::int64_t stages) {
    if (hit(line_ + ": the stage of " + buffer + " behind it")) return floormod(stage + 1, stages);
    if (stages > 2 && hit(line_ + ": the stage of " + buffer + " before it"))
      return floormod(stage + (stages - 1), stages);
    return stage;
  }

  // ---- Expressions

  /// The stages of loads and the conditions of selects in `e`.
  Expr expr(const Expr& e) {
    if (done()) return e;
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (done()) return x;
      if (const auto* n = std::get_if<Load>(&x->kind)) {
        std::vector<Expr> index = indices(BufferId(n->source.value), n->index);
        for (Expr& i : index) i = expr(i);
        const Expr mask = n->mask.defined() ? bounds(expr(n->mask)) : n->mask;
        return masked_load(x->dtype, n->source, std::move(index), mask);
      }
      if (const auto* n = std::get_if<Select>(&x->kind)) {
        const Expr condition = bounds(expr(n->condition)), if_true = expr(n->if_true);
        return select(condition, if_true, expr(n->if_false));
      }
      return {};
    });
  }

  Expr predicate(const Stmt& s, const Expr& e) {
    line_ = first_line(p_, s);
    return bounds(e);
  }

  /// Comparisons of integers, with a bound one more or less.
  Expr bounds(const Expr& e) {
    return rewrite(e, [&](const Expr& x) -> Expr {
      const auto* n = std::get_if<Binary>(&x->kind);
      if (!n || n->op < BinaryOp::lt || n->op > BinaryOp::ge || n->a->dtype != DType::i64) return {};
      for (const std::int64_t change : {1, -1})
        if (hit(line_ + ": a bound " + (change > 0 ? "one more" : "one less")))
          return binary(n->op, n->a, n->b + change);
      return {};
    });
  }

  const Program& p_;
  const Variables& vars_;
  const std::set<std::pair<std::size_t, std::size_t>>& staged_;
  std::int64_t left_;
  std::string what_;
  std::string line_;  ///< of the statement whose expressions are walked through
};

/// Dimensions of block memory with stages, by buffer.
std::set<std::pair<std::size_t, std::size_t>> staged_dimensions(const Program& p, const Variables& vars) {
  std::set<std::pair<std::size_t, std::size_t>> out;
  const auto access = [&](BufferId id, const std::vector<Expr>& index) {
    const Buffer& b = p.buffer(id);
    if (b.scope != Scope::block || index.size() != b.extents.size()) return;
    for (std::size_t d = 0; d < index.size(); ++d)
      if (vars.stages_of(index[d]) == std::optional(b.extents[d]) && b.extents[d] > 1) out.emplace(id.index(), d);
  };
  for_each(
      p.body,
      [&](const Stmt& s) {
        if (const auto* n = std::get_if<Store>(&s->kind)) access(n->buffer, n->index);
      },
      [&](const Expr& whole) {
        for_each(whole, [&](const Expr& e) {
          if (const auto* n = std::get_if<Load>(&e->kind)) access(BufferId(n->source.value), n->index);
        });
      });
  return out;
}

/// Two thread digits in one chain of lets have each other's value.
void add_exchanged_lets(const Program& p, std::vector<Mutant>& out) {
  for (const Stmt& top : top_statements(p)) {
    const std::optional<LaunchNest> nest = launch_nest(top);
    if (!nest) continue;
    std::vector<std::pair<const Let*, Expr>> digits;  // values as functions of the thread's index
    for_each(nest->body,
             [&](const Stmt& s) {
               const auto* n = std::get_if<Let>(&s->kind);
               if (!n || has_load(n->value)) return;
               const Expr value = substitute(n->value, [&](VarId id) {
                 for (const auto& [let, of_thread] : digits)
                   if (let->var == id) return of_thread;
                 return Expr();
               });
               bool of_thread = uses(value, nest->threads->index);
               for_each(value, [&](const Expr& x) {
                 const auto* v = std::get_if<Var>(&x->kind);
                 of_thread = of_thread && (!v || v->id == nest->threads->index);
               });
               if (of_thread) digits.emplace_back(n, value);
             },
             {});
    for (std::size_t i = 0; i < digits.size(); ++i)
      for (std::size_t j = i + 1; j < digits.size(); ++j) {
        if (same(digits[i].second, digits[j].second)) continue;
        const std::function<Stmt(const Stmt&)> exchange = [&](const Stmt& s) -> Stmt {
          const auto* n = std::get_if<Let>(&s->kind);
          if (!n) return {};
          const std::size_t other = n == digits[i].first ? j : n == digits[j].first ? i : digits.size();
          if (other == digits.size()) return {};
          return make_stmt(Let{n->var, n->name, digits[other].second, rewrite(n->body, exchange, {})});
        };
        Mutant mutant{"let " + digits[i].first->name + " and let " + digits[j].first->name + " exchanged", p};
        mutant.program.body = rewrite(p.body, exchange, {});
        out.push_back(std::move(mutant));
      }
  }
}

}  // namespace

std::vector<Mutant> mutants_of(const Program& p) {
  const Variables vars(p);
  const auto staged = staged_dimensions(p, vars);
  std::vector<Mutant> out;
  for (std::int64_t k = 0;; ++k) {
    std::optional<Mutant> mutant = Editor(p, vars, staged, k).run();
    if (!mutant) break;
    out.push_back(std::move(*mutant));
  }
  add_exchanged_lets(p, out);
  return out;
}

Verdict judge(const Program& original, const Program& mutant, const GpuLimits& limits,
              const std::function<std::vector<Tensor>(std::uint64_t seed)>& arguments, double tolerance) {
  if (const Status status = verify(mutant, {.launches = &limits}); !status.ok())
    return {Fate::refused, status.error().message};
  using Order = InterpretOptions::BlockOrder;
  bool equal = true;
  for (const std::uint64_t seed : {0, 1, 2}) {
    static constexpr Order kOrders[] = {Order::forward, Order::backward, Order::shuffled};
    const InterpretOptions options{.blocks = kOrders[seed], .seed = seed};
    std::vector<Tensor> want = arguments(seed), got = arguments(seed);
    const Status right = interpret(original, want, options);
    WHET_CHECK(right.ok(), right.ok() ? "" : right.error().message.c_str());
    if (const Status status = interpret(mutant, got, options); !status.ok())
      return {Fate::found, status.error().message};
    for (std::size_t k = 0; k < want.size(); ++k) {
      const double off = compare(got[k], want[k]).relative;
      if (!(off <= tolerance)) return {Fate::found, "an answer is off by " + std::to_string(off)};
      equal = equal && std::memcmp(got[k].data(), want[k].data(), static_cast<std::size_t>(got[k].bytes())) == 0;
    }
  }
  return equal ? Verdict{Fate::harmless, ""} : Verdict{Fate::survived, "an answer is close to the right one"};
}

Census judge_mutants(const Program& p, const GpuLimits& limits,
                     const std::function<std::vector<Tensor>(std::uint64_t seed)>& arguments) {
  const Status legal = verify(p, {.launches = &limits});
  WHET_CHECK(legal.ok(), legal.ok() ? "" : legal.error().message.c_str());
  Census census;
  for (const Mutant& mutant : mutants_of(p)) {
    switch (judge(p, mutant.program, limits, arguments).fate) {
      case Fate::refused:
        ++census.refused;
        break;
      case Fate::found:
        ++census.found;
        break;
      case Fate::harmless:
        ++census.harmless;
        census.harmless_ones.push_back(mutant.what);
        break;
      case Fate::survived:
        census.survivors.push_back(mutant.what);
        break;
    }
  }
  return census;
}

}  // namespace whet::testing
