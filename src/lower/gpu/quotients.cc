#include "lower/gpu/quotients.h"

#include <utility>
#include <vector>

#include "compute/affine.h"
#include "program/context.h"

namespace whet {
namespace {

class QuotientNamer {
 public:
  explicit QuotientNamer(Program& program) : program_(program) {}

  Stmt visit(const Stmt& s) {
    if (!s.defined()) return s;
    return std::visit(Match{
                          [&](const Loop& n) {
                            if (n.kind == LoopKind::vectorized || is_dp4a(n.intrinsic)) return named(s, &n);
                            if (is_warp_wide(n.intrinsic)) return named(s, nullptr);
                            Loop out = n;
                            out.body = inside(n, n.body);
                            return make_stmt(std::move(out));
                          },
                          [&](const Let& n) { return make_stmt(Let{n.var, n.name, n.value, inside(n, n.body)}); },
                          [&](const If& n) { return branch(n); },
                          [&](const Block& n) {
                            std::vector<Stmt> parts;
                            for (const Stmt& part : n.body) parts.push_back(visit(part));
                            return block(std::move(parts));
                          },
                          [&](const Store&) { return named(s, nullptr); },
                          [&](const auto&) { return s; },
                      },
                      s->kind);
  }

 private:
  Stmt branch(const If& n) {
    const auto mark = facts_.mark();
    enter_if(facts_, n.condition);
    const Stmt then_body = visit(n.then_body);
    facts_.rewind(mark);
    enter_else(facts_, n.condition);
    const Stmt else_body = visit(n.else_body);
    facts_.rewind(mark);
    return make_stmt(If{n.condition, then_body, else_body});
  }

  template <typename Binder>
  Stmt inside(const Binder& binder, const Stmt& body) {
    const auto mark = facts_.mark();
    enter(facts_, binder);
    const Stmt out = visit(body);
    facts_.rewind(mark);
    return out;
  }

  /// The names of a store's quotients, and what stands for each as it is written.
  struct Names {
    std::vector<std::pair<Expr, VarId>> values;
    std::vector<std::pair<Expr, Expr>> written;
  };

  /// The store, the vector of stores or the loop of an intrinsic, behind the names of its quotients.
  Stmt named(const Stmt& s, const Loop* vector) {
    Names names;
    const auto mark = facts_.mark();
    if (vector) enter(facts_, *vector);
    for_each(s, nullptr, [&](const Expr& e) { collect(e, vector, names); });
    facts_.rewind(mark);
    if (names.written.empty()) return s;
    Stmt out = rewrite(s, nullptr, [&](const Expr& e) { return with_names(e, names); });
    for (const auto& [value, name] : names.values) out = make_stmt(Let{name, "q", value, out});
    return out;
  }

  static bool is_quotient(const Expr& e) {
    const Binary* binary = std::get_if<Binary>(&e->kind);
    return binary && (binary->op == BinaryOp::floordiv || binary->op == BinaryOp::floormod) && e->dtype == DType::i64 &&
           e->lanes == 1 && !has_load(e);
  }

  /// floordiv(floordiv(x, a), b) is floordiv(x, a*b), and floordiv(y + floordiv(x, a), b) is floordiv(a*y + x, a*b): one quotient
  /// is written in one way, and a guard of it is known where an index reads it.
  static Expr unnested(const Expr& e) {
    return rewrite(e, [&](const Expr& part) -> Expr {
      const Binary* outer = std::get_if<Binary>(&part->kind);
      if (!outer || outer->op != BinaryOp::floordiv || part->dtype != DType::i64) return {};
      const Expr a = unnested(outer->a);
      const std::int64_t* b = as_int(outer->b);
      const Affine sum = to_affine(a);
      const std::pair<Expr, std::int64_t>* only = nullptr;
      int quotients = 0;
      for (const auto& term : sum.terms)
        if (divisor_of(term.first) > 0) only = &term, ++quotients;
      if (quotients != 1 || only->second != 1 || !b || *b <= 0) return floordiv(a, outer->b);
      const std::int64_t c = divisor_of(only->first);
      const Affine rest = sub(sum, Affine{{*only}, 0}), inside = to_affine(std::get<Binary>(only->first->kind).a);
      return floordiv(to_expr(add(scale(rest, c), inside)), *b * c);
    });
  }

  /// The c of floordiv(x, c) for a known positive c, else 0.
  static std::int64_t divisor_of(const Expr& e) {
    const Binary* quotient = std::get_if<Binary>(&e->kind);
    const std::int64_t* by = quotient && quotient->op == BinaryOp::floordiv ? as_int(quotient->b) : nullptr;
    return by && *by > 0 ? *by : 0;
  }

  static const Expr* written_as(const Names& names, const Expr& e) {
    for (const auto& [quotient, value] : names.written)
      if (same(quotient, e)) return &value;
    return nullptr;
  }

  Expr name_of(const Expr& quotient, Names& names) {
    for (const auto& [value, name] : names.values)
      if (same(value, quotient)) return var(name, "q");
    names.values.emplace_back(quotient, program_.fresh_var());
    return var(names.values.back().second, "q");
  }

  void collect(const Expr& e, const Loop* vector, Names& names) {
    // The outermost quotients that are the same for the whole vector.
    rewrite(e, [&](const Expr& part) -> Expr {
      if (!is_quotient(part)) return {};
      if (written_as(names, part)) return part;
      Expr value = simplify(unnested(part), facts_);
      value = simplify(unnested(value), facts_);  // what the first left is simpler than it knew
      if (vector && uses(value, vector->index)) return {};
      // It may be a sum with quotients; without any, `simplify` finds it anyway.
      bool any = false;
      const Expr over_names = rewrite(value, [&](const Expr& inner) -> Expr {
        if (!is_quotient(inner)) return {};
        any = true;
        return name_of(inner, names);
      });
      if (any) names.written.emplace_back(part, over_names);
      return part;
    });
  }

  static Expr with_names(const Expr& e, const Names& names) {
    return rewrite(e, [&](const Expr& part) -> Expr {
      const Expr* value = is_quotient(part) ? written_as(names, part) : nullptr;
      return value ? *value : Expr();
    });
  }

  Program& program_;
  Facts facts_;
};

}  // namespace

Result<Program> name_quotients(Program program) {
  const Stmt body = program.body;
  program.body = QuotientNamer(program).visit(body);
  return program;
}

}  // namespace whet
