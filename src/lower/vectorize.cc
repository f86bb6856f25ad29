#include "lower/vectorize.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "compute/affine.h"
#include "compute/scalar.h"
#include "lower/guards.h"
#include "program/context.h"

namespace whet {
namespace {

/// Lanes for a loop: those of the narrowest native vector among what the body stores, and of the registers that it reads.
int native_lanes(const Program& program, const Stmt& body, VectorSupport vectors) {
  std::int64_t bytes = 1;
  for_each(
      body,
      [&](const Stmt& s) {
        if (const Store* store = std::get_if<Store>(&s->kind))
          bytes = std::max(bytes, size_of(program.buffer(store->buffer).dtype));
      },
      [&](const Expr& e) {
        const Load* load = std::get_if<Load>(&e->kind);
        if (load && program.buffer(BufferId(load->source.value)).scope == Scope::registers)
          bytes = std::max(bytes, size_of(e->dtype));
      });
  return vectors.bytes / static_cast<int>(bytes);
}

Expr as_lanes(const Expr& e, int lanes) { return e->lanes == lanes ? e : broadcast(e, lanes); }

/// Reads memory, and may be computed whatever its lanes hold.
bool is_data(const Expr& e) {
  bool reads = false, traps = false;
  for_each(e, [&](const Expr& part) {
    reads = reads || std::holds_alternative<Load>(part->kind);
    const Binary* b = std::get_if<Binary>(&part->kind);
    const bool divides = b && (b->op == BinaryOp::div || b->op == BinaryOp::floordiv || b->op == BinaryOp::floormod);
    traps = traps || (divides && !is_float(part->dtype) && !as_int(b->b));
  });
  return reads && !traps;
}

/// Nothing but what is read decides it: no index becomes legal by it.
bool is_data_alone(const Expr& e) {
  const Expr unread = rewrite(
      e, [](const Expr& part) { return std::holds_alternative<Load>(part->kind) ? constant_like(part, 0) : Expr(); });
  bool varies = false;
  for_each(unread, [&](const Expr& part) { varies = varies || std::holds_alternative<Var>(part->kind); });
  return !varies;
}

/// Floats decide it: no index becomes legal by it, and no side needs a mask.
bool compares_floats(const Expr& e) {
  if (const auto* n = std::get_if<Unary>(&e->kind)) return n->op == UnaryOp::logical_not && compares_floats(n->a);
  const auto* n = std::get_if<Binary>(&e->kind);
  if (!n) return false;
  if (is_logic(n->op)) return compares_floats(n->a) && compares_floats(n->b);
  return is_comparison(n->op) && is_float(n->a->dtype);
}

struct Vectorizer {
  Program& program;
  VarId v;
  Expr base;
  int lanes;
  Expr mask = {};                          // of the statements around; undefined: all lanes
  std::map<VarId, bool> vector_lets = {};  // lets inside the loop that became vectors
  std::vector<Let> names = {};             // of conditions, to be around the statement
  bool chosen = false;                     // inside a side of a select that all lanes share
  Expr tail = {};                          // the lanes that there are, where they are fewer; undefined: all
  Expr legal = {};                         // `mask` without what selects by data: that makes no index legal
  const Facts* facts = nullptr;            // at the loop, in a program with sizes; null: nothing is known
  bool first_taken =
      true;  // the mask has the loop's first iteration: what all lanes share is legal, because that one does it
  std::int64_t first = 0;  // that iteration

  /// What of a buffer is accessed: the lanes that a condition takes, of those that there are. Registers have room for
  /// the others.
  Expr accessed(BufferId buffer) const {
    if (!tail.defined() || program.buffer(buffer).scope == Scope::registers) return mask;
    return mask.defined() ? mask && tail : tail;
  }

  /// Of a load: registers are read whole where data alone chooses, or they could not be registers.
  Expr loaded(BufferId buffer) const {
    return program.buffer(buffer).scope == Scope::registers ? legal : accessed(buffer);
  }

  /// A name for a condition that is data: the masks of what it protects, conditions among it, hold it again and again.
  Expr named(const Expr& condition) {
    if (chosen || !is_data(condition)) return condition;
    const VarId id = program.fresh_var();
    const Var variable{id, "mask" + std::to_string(id.value)};
    names.push_back({id, variable.name, condition, {}});
    vector_lets[id] = true;
    return make_expr(DType::boolean, lanes, variable);
  }
  Stmt under_names(Stmt s) {
    for (; !names.empty(); names.pop_back())
      s = make_stmt(Let{names.back().var, names.back().name, names.back().value, std::move(s)});
    return s;
  }

  /// Under a mask that differs between lanes every load does: one that all lanes share may be legal for the lanes alone
  /// that take it.
  bool varies(const Expr& e) const {
    bool found = false;
    for_each(e, [&](const Expr& part) {
      const Var* x = std::get_if<Var>(&part->kind);
      found = found || (x && (x->id == v || vector_lets.count(x->id))) ||
              (mask.defined() && !first_taken && std::holds_alternative<Load>(part->kind));
    });
    return found;
  }

  /// Whether it is known that this iteration takes the condition: comparisons of sums with the loop's index, as tails have them. What holds
  /// in the first lane and in the last one holds in all.
  bool is_taken_in(const Expr& iteration, const Expr& condition) const {
    const auto holds = [&](const Expr& part) {
      const std::optional<Affine> sum = nonnegative_sum(part);
      if (!sum) return false;
      Affine there{{}, sum->constant};
      for (const auto& [atom, factor] : sum->terms) {
        const Var* x = std::get_if<Var>(&atom->kind);
        const bool is_index = x && x->id == v;
        if (!is_index && (varies(atom) || has_load(atom))) return false;
        there = add(there, scale(to_affine(is_index ? iteration : atom), factor));
      }
      return facts->proves_nonnegative(there);
    };
    const std::vector<Expr> parts = conjuncts_of(condition);
    return facts != nullptr && std::all_of(parts.begin(), parts.end(), holds);
  }

  /// An affine integer expression in `v` alone becomes a ramp.
  Expr ramp_of(const Expr& e) const {
    if (e->dtype != DType::i64) return Expr();
    Affine affine = to_affine(e);
    std::int64_t stride = 0;
    for (const auto& [atom, factor] : affine.terms) {
      const Var* x = std::get_if<Var>(&atom->kind);
      if (x && x->id == v)
        stride = factor;
      else if (varies(atom))
        return Expr();
    }
    return ramp(substitute(e, [&](VarId x) { return x == v ? base : Expr(); }), stride, lanes);
  }

  /// A name for what all lanes share, computed before the statement: a masked statement computes its operands for the lanes that it takes.
  Expr shared(const Expr& e) {
    bool reads = false;
    for_each(e, [&](const Expr& part) {
      const Load* load = std::get_if<Load>(&part->kind);
      reads = reads || (load && program.buffer(BufferId(load->source.value)).scope != Scope::registers);
    });
    if (!mask.defined() || chosen || !reads || e->lanes != 1) return e;
    const VarId id = program.fresh_var();
    const Var variable{id, "shared" + std::to_string(id.value)};
    names.push_back({id, variable.name, e, {}});
    return make_expr(e->dtype, 1, variable);
  }

  Expr expr(const Expr& e) {
    if (!varies(e)) return facts != nullptr ? shared(e) : e;
    if (const Expr direct = ramp_of(e); direct.defined()) return direct;
    const auto both = [&](const Expr& x) { return as_lanes(expr(x), lanes); };
    return std::visit(
        Match{[&](const Var& x) { return make_expr(e->dtype, lanes, x); },
              [&](const Unary& u) { return make_expr(e->dtype, lanes, Unary{u.op, both(u.a)}); },
              [&](const Binary& b) { return make_expr(e->dtype, lanes, Binary{b.op, both(b.a), both(b.b)}); },
              [&](const Select& s) { return select_lanes(e, s); },
              [&](const Cast& c) { return make_expr(e->dtype, lanes, Cast{both(c.a)}); },
              [&](const Call& c) {
                std::vector<Expr> args;
                for (const Expr& a : c.args) args.push_back(both(a));
                return make_expr(e->dtype, lanes, Call{c.fn, args});
              },
              [&](const Load& l) {
                const Expr index = both(l.index[0]);
                return make_expr(e->dtype, lanes, Load{l.source, {index}, loaded(BufferId(l.source.value))});
              },
              [&](const auto&) {
                WHET_CHECK(false, "a vectorized loop holds vectors already");
                return e;
              }},
        e->kind);
  }

  /// Each side's loads are masked to the lanes that take it. A condition without lanes stays a choice between the
  /// sides.
  Expr select_lanes(const Expr& e, const Select& s) {
    if (!varies(s.condition)) {
      const bool outside = std::exchange(chosen, true);
      const Expr if_true = as_lanes(expr(s.if_true), lanes), if_false = as_lanes(expr(s.if_false), lanes);
      chosen = outside;
      return make_expr(e->dtype, lanes, Select{s.condition, if_true, if_false});
    }
    if (compares_floats(s.condition)) {
      const Expr condition = as_lanes(expr(s.condition), lanes), if_true = as_lanes(expr(s.if_true), lanes);
      return make_expr(e->dtype, lanes, Select{condition, if_true, as_lanes(expr(s.if_false), lanes)});
    }
    const bool by_data = is_data_alone(s.condition);
    const Expr condition = named(as_lanes(expr(s.condition), lanes));
    const Expr outer = mask, outer_legal = legal;
    const bool outer_first = std::exchange(first_taken, false);
    const auto side = [&](const Expr& value, const Expr& taken) {
      mask = outer.defined() ? outer && taken : taken;
      if (!by_data) legal = outer_legal.defined() ? outer_legal && taken : taken;
      return as_lanes(expr(value), lanes);
    };
    const Expr if_true = side(s.if_true, condition);
    const Expr if_false = side(s.if_false, unary(UnaryOp::logical_not, condition));
    mask = outer, legal = outer_legal, first_taken = outer_first;
    return make_expr(e->dtype, lanes, Select{condition, if_true, if_false});
  }

  Stmt stmt(const Stmt& s) {
    return std::visit(Match{[&](const Store& st) {
                              const Store made = store(st);
                              return under_names(make_stmt(made));
                            },
                            [&](const If& i) { return branch(i); },
                            [&](const Let& l) {
                              const Expr value = expr(l.value);
                              if (value->lanes != 1) vector_lets[l.var] = true;
                              const std::vector<Let> outer = std::exchange(names, {});
                              const Stmt body = stmt(l.body);
                              names = outer;
                              return under_names(make_stmt(Let{l.var, l.name, value, body}));
                            },
                            [&](const Block& b) {
                              std::vector<Stmt> body;
                              for (const Stmt& part : b.body) body.push_back(stmt(part));
                              return block(std::move(body));
                            },
                            [&](const auto&) {
                              WHET_CHECK(false, "a vectorized loop is not innermost");
                              return s;
                            }},
                      s->kind);
  }

  Store store(const Store& st) {
    return st.with({as_lanes(expr(st.index[0]), lanes)}, as_lanes(expr(st.value), lanes), accessed(st.buffer));
  }

  Stmt branch(const If& i) {
    if (!varies(i.condition))
      return make_stmt(If{i.condition, stmt(i.then_body), i.else_body.defined() ? stmt(i.else_body) : Stmt()});
    if (is_taken_in(base, i.condition) && is_taken_in(base + (lanes - 1), i.condition)) return stmt(i.then_body);
    const Expr condition = named(as_lanes(expr(i.condition), lanes)), outer = mask, outer_legal = legal;
    const std::vector<Let> around = std::exchange(names, {});
    mask = outer.defined() ? outer && condition : condition;
    legal = outer_legal.defined() ? outer_legal && condition : condition;
    const bool outer_first = std::exchange(first_taken, first_taken && is_taken_in(int_const(first), i.condition));
    std::vector<Stmt> parts{stmt(i.then_body)};
    first_taken = false;
    if (i.else_body.defined()) {
      const Expr otherwise = unary(UnaryOp::logical_not, condition);
      mask = outer.defined() ? outer && otherwise : otherwise;
      legal = outer_legal.defined() ? outer_legal && otherwise : otherwise;
      parts.push_back(stmt(i.else_body));
    }
    mask = outer, legal = outer_legal, first_taken = outer_first;
    names = around;
    return under_names(block(std::move(parts)));
  }
};

bool has_loop(const Stmt& s) {
  bool found = false;
  for_each(s, [&](const Stmt& part) { found = found || std::holds_alternative<Loop>(part->kind); }, nullptr);
  return found;
}

/// Whether the remainder of a loop may be one full vector of which only the first lanes are used, instead of narrower and
/// narrower vectors.
struct TailCheck {
  const Program& program;
  const Loop& loop;
  std::int64_t first;  ///< iteration that the vector begins with
  int lanes;

  bool fits() const {
    bool fits = true;
    const auto expr = [&](const Expr& e) { fits = fits && allows(e); };
    const auto stmt = [&](const Stmt& s) {
      const Store* store = std::get_if<Store>(&s->kind);
      if (store) fits = fits && access(store->buffer, store->index[0], true);
    };
    for_each(loop.body, stmt, expr);
    return fits;
  }

 private:
  /// Lanes that are not used hold anything: nothing may be divided by them.
  bool allows(const Expr& e) const {
    bool fits = true;
    for_each(e, [&](const Expr& part) {
      const Binary* b = std::get_if<Binary>(&part->kind);
      const bool divides = b && (b->op == BinaryOp::div || b->op == BinaryOp::floordiv || b->op == BinaryOp::floormod);
      if (divides && !is_float(part->dtype) && !as_int(b->b)) fits = false;
      const Load* load = std::get_if<Load>(&part->kind);
      if (load) fits = fits && access(BufferId(load->source.value), load->index[0], false);
    });
    return fits;
  }

  /// Memory is accessed at neighbours or at one place for all lanes; in registers there is padding for all lanes.
  bool access(BufferId id, const Expr& index, bool stored) const {
    const Buffer& buffer = program.buffer(id);
    const std::int64_t row = buffer.extents.empty() ? 1 : buffer.extents.back();
    const Affine at = to_affine(index);
    std::int64_t stride = 0;
    bool by_rows = true;
    for (const auto& [atom, factor] : at.terms) {
      const Var* x = std::get_if<Var>(&atom->kind);
      if (x && x->id == loop.index)
        stride = factor;
      else if (uses(atom, loop.index))
        return false;
      else
        by_rows = by_rows && factor % row == 0;
    }
    if (size_of(buffer.dtype) < 4 || (stride != 1 && (stride != 0 || stored))) return false;
    if (buffer.scope != Scope::registers || stride == 0) return true;
    const std::int64_t begin = floor_mod(at.constant, row) + *as_int(loop.min), last = begin + *as_int(loop.extent);
    return by_rows && last == row - buffer.padding && begin + first + lanes <= row;
  }
};

/// Replaces vectorized loops.
class VectorPass {
 public:
  VectorPass(Program& program, VectorSupport vectors)
      : program_(program), vectors_(vectors), facts_(size_ranges(program.sizes)) {}

  Result<Stmt> run() {
    Stmt body = program_.sizes.empty() ? rewrite(
                                             program_.body, [&](const Stmt& s) { return replaced(s); }, nullptr)
                                       : visit(program_.body);
    if (refused_) return *refused_;
    return body;
  }

 private:
  /// With the facts that there are about tails of sizes. (Those of one size have none that masks depend on.)
  Stmt visit(const Stmt& s) {
    if (!s.defined()) return s;
    const Facts::Mark mark = facts_.mark();
    const Stmt out = std::visit(
        Match{[&](const Loop& n) {
                if (Stmt vectors = replaced(s); vectors.defined()) return vectors;
                enter(facts_, n);
                Loop made = n;
                made.body = visit(n.body);
                return made.body.defined() ? make_stmt(std::move(made)) : Stmt();
              },
              [&](const Let& n) {
                enter(facts_, n);
                const Stmt body = visit(n.body);
                return body.defined() ? make_stmt(Let{n.var, n.name, n.value, body}) : Stmt();
              },
              [&](const If& n) {
                enter_if(facts_, n.condition);
                const Stmt then_body = visit(n.then_body);
                facts_.rewind(mark);
                enter_else(facts_, n.condition);
                const Stmt else_body = visit(n.else_body);
                if (then_body.defined()) return make_stmt(If{n.condition, then_body, else_body});
                return else_body.defined() ? make_stmt(If{unary(UnaryOp::logical_not, n.condition), else_body, Stmt()})
                                           : Stmt();
              },
              [&](const Block& n) {
                std::vector<Stmt> body;
                for (const Stmt& part : n.body) body.push_back(visit(part));
                return block(std::move(body));
              },
              [&](const auto&) { return s; }},
        s->kind);
    facts_.rewind(mark);
    return out;
  }

  /// Undefined: it is no vectorized loop.
  Stmt replaced(const Stmt& s) {
    const Loop* loop = std::get_if<Loop>(&s->kind);
    if (!loop || loop->kind != LoopKind::vectorized) return Stmt();
    const std::int64_t *min = as_int(loop->min), *extent = as_int(loop->extent);
    if (!min || !extent || has_loop(loop->body)) {
      refused_ = Error{fmt::format("loop {} cannot be vectorized: {}", loop->name,
                                   has_loop(loop->body) ? "there is a loop inside it" : "its bounds are not constant"),
                       ErrorKind::unsupported};
      return s;
    }
    std::vector<Stmt> parts;
    std::int64_t done = 0;
    for (int lanes = native_lanes(program_, loop->body, vectors_); done < *extent; lanes /= 2) {
      lanes = std::max(lanes, 1);
      const std::int64_t left = *extent - done;
      const int wide = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(left)));
      if (vectors_.free_masks && left < lanes && std::popcount(static_cast<unsigned>(left)) > 1 &&
          TailCheck{program_, *loop, done, wide}.fits()) {
        Vectorizer vectorizer = vectorizer_at(*loop, *min + done, wide);
        vectorizer.tail = ramp(int_const(0), 1, wide) < broadcast(int_const(left), wide);
        parts.push_back(vectorizer.stmt(loop->body));
        break;
      }
      for (; *extent - done >= lanes; done += lanes) {
        const Expr base = int_const(*min + done);
        if (lanes == 1)
          parts.push_back(rewrite(loop->body, nullptr, [&](const Expr& e) {
            return substitute(e, [&](VarId v) { return v == loop->index ? base : Expr(); });
          }));
        else
          parts.push_back(vectorizer_at(*loop, *min + done, lanes).stmt(loop->body));
      }
    }
    return block(std::move(parts));
  }

  Vectorizer vectorizer_at(const Loop& loop, std::int64_t first, int lanes) {
    Vectorizer vectorizer{program_, loop.index, int_const(first), lanes};
    vectorizer.first = *as_int(loop.min);
    if (!program_.sizes.empty()) vectorizer.facts = &facts_;
    return vectorizer;
  }

  Program& program_;
  const VectorSupport vectors_;
  Facts facts_;
  std::optional<Error> refused_;
};

}  // namespace

Result<Program> vectorize_loops(Program program, VectorSupport vectors) {
  WHET_TRY(program.body, VectorPass(program, vectors).run());
  return program;
}

}  // namespace whet
