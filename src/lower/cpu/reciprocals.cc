#include "lower/cpu/reciprocals.h"

#include <algorithm>
#include <set>
#include <vector>

#include "lower/rename.h"

namespace whet {
namespace {

/// A reciprocal and its guard cost about as much as three divisions.
constexpr std::int64_t kWorthwhile = 3;
constexpr std::size_t kMostDivisors = 8;

/// The divider works beside the other units. Where those have this many operations for each division, the kernel waits for
/// them, and a division costs them less than a product with its correction.
constexpr std::int64_t kBusy = 16;
/// This many divisions in a row fill the processor's window of instructions: then the kernel waits for the divider all the same.
constexpr std::int64_t kPastTheWindow = 48;

/// What of a statement the pass must know.
struct Divisions {
  std::vector<Expr> divisors;   ///< scalars, each once
  std::int64_t count = 0;       ///< executed
  std::int64_t operations = 0;  ///< other ones of vectors, executed
  bool keeps = true;            ///< no divisor changes inside

  void add(const Expr& divisor, std::int64_t times) {
    count += times;
    if (std::none_of(divisors.begin(), divisors.end(), [&](const Expr& d) { return same(d, divisor); }))
      divisors.push_back(divisor);
  }
};

/// The buffers that hold roots. A root is a rounded number, whatever is divided by it.
std::set<BufferId> buffers_of_roots(const Program& program) {
  std::set<BufferId> roots;
  for_each(
      program.body,
      [&](const Stmt& part) {
        const Store* store = std::get_if<Store>(&part->kind);
        if (!store) return;
        for_each(store->value, [&](const Expr& e) {
          const Call* call = std::get_if<Call>(&e->kind);
          if (call && call->fn == MathFn::sqrt) roots.insert(store->buffer);
        });
      },
      nullptr);
  return roots;
}

class Reciprocals {
 public:
  explicit Reciprocals(Program& program) : program_(program), roots_(buffers_of_roots(program)) {
    Divisions all;
    find(program.body, 1, all);
    divides_ = all.count > 0;
    waits_for_divisions_ = all.operations < kBusy * all.count;
  }
  bool divides() const { return divides_; }

  Stmt visit(const Stmt& s) {
    if (worthwhile({s})) return guarded(s);
    return std::visit(
        Match{[&](const Loop& l) {
                return make_stmt(Loop{l.index, l.name, l.min, l.extent, l.kind, visit(l.body), l.intrinsic});
              },
              [&](const Let& l) { return make_stmt(Let{l.var, l.name, l.value, visit(l.body)}); },
              [&](const If& i) {
                return make_stmt(
                    If{i.condition, visit(i.then_body), i.else_body.defined() ? visit(i.else_body) : Stmt()});
              },
              [&](const Block& b) { return block(runs(b.body)); }, [&](const auto&) { return s; }},
        s->kind);
  }

 private:
  /// Statements that follow one another and divide share a guard.
  std::vector<Stmt> runs(const std::vector<Stmt>& body) {
    std::vector<Stmt> out;
    for (std::size_t i = 0; i < body.size();) {
      std::size_t end = i;
      while (end < body.size() && divides(body[end])) ++end;
      const std::vector<Stmt> run(body.begin() + static_cast<std::ptrdiff_t>(i),
                                  body.begin() + static_cast<std::ptrdiff_t>(end));
      if (worthwhile(run)) {
        out.push_back(guarded(block(run)));
        i = end;
      } else {
        out.push_back(visit(body[i++]));
      }
    }
    return out;
  }

  bool divides(const Stmt& s) const {
    Divisions found;
    find(s, 1, found);
    return found.keeps && !found.divisors.empty();
  }

  bool worthwhile(const std::vector<Stmt>& run) const {
    Divisions found;
    for (const Stmt& s : run) find(s, 1, found);
    const bool alone = found.count >= kPastTheWindow && found.operations < kBusy * found.count;
    return (waits_for_divisions_ || alone) && found.keeps && !found.divisors.empty() &&
           found.divisors.size() <= kMostDivisors &&
           found.count >= kWorthwhile * static_cast<std::int64_t>(found.divisors.size());
  }

  /// The scalar in a register that every lane is divided by; undefined for another expression.
  Expr divisor_of(const Expr& e) const {
    const Binary* division = std::get_if<Binary>(&e->kind);
    if (!division || division->op != BinaryOp::div || e->dtype != DType::f32 || e->lanes == 1) return {};
    const Broadcast* all = std::get_if<Broadcast>(&division->b->kind);
    const Load* read = all ? std::get_if<Load>(&all->a->kind) : nullptr;
    if (!read || read->mask.defined() || read->index.size() != 1 || !as_int(read->index[0])) return {};
    return program_.buffer(BufferId(read->source.value)).scope == Scope::registers ? all->a : Expr();
  }

  bool is_root(const Expr& divisor) const {
    return roots_.contains(BufferId(std::get<Load>(divisor->kind).source.value));
  }

  void find(const Stmt& s, std::int64_t times, Divisions& found) const {
    if (const Loop* loop = std::get_if<Loop>(&s->kind)) {
      if (loop->kind == LoopKind::parallel) found.keeps = false;  // its registers live inside
      const std::int64_t* extent = as_int(loop->extent);
      return find(loop->body, times * (extent ? std::max<std::int64_t>(*extent, 1) : 2), found);
    }
    if (const Block* body = std::get_if<Block>(&s->kind)) {
      for (const Stmt& part : body->body) find(part, times, found);
      return;
    }
    if (const Let* let = std::get_if<Let>(&s->kind)) {
      count(let->value, times, found);
      return find(let->body, times, found);
    }
    for_each(
        s,
        [&](const Stmt& part) {
          const Store* store = std::get_if<Store>(&part->kind);
          if (store && program_.buffer(store->buffer).scope == Scope::registers) found.keeps = false;
          if (std::holds_alternative<Barrier>(part->kind)) found.keeps = false;
        },
        [&](const Expr& e) { count(e, times, found); });
  }

  void count(const Expr& e, std::int64_t times, Divisions& found) const {
    for_each(e, [&](const Expr& part) {
      if (const Expr divisor = divisor_of(part); divisor.defined())
        found.add(divisor, times);
      else if (part->lanes > 1 && is_float(part->dtype) && std::holds_alternative<Binary>(part->kind))
        found.operations += times;
    });
  }

  /// `s` twice: through reciprocals where all divisors allow it, and as it is.
  Stmt guarded(const Stmt& s) {
    Divisions found;
    find(s, 1, found);
    std::vector<Expr> reciprocals;
    std::vector<VarId> vars;
    Expr allowed = bool_const(true);
    for (const Expr& divisor : found.divisors) {
      vars.push_back(program_.fresh_var());
      reciprocals.push_back(make_expr(DType::f32, 1, Var{vars.back(), "reciprocal"}));
      allowed = allowed && divisor >= float_const(0x1p-60) && divisor <= float_const(0x1p60);
    }
    const auto of = [&](const Expr& divisor) {
      const auto at =
          std::find_if(found.divisors.begin(), found.divisors.end(), [&](const Expr& d) { return same(d, divisor); });
      return reciprocals[static_cast<std::size_t>(at - found.divisors.begin())];
    };
    Stmt fast = rewrite(s, nullptr, [&](const Expr& e) { return by_reciprocals(e, of); });
    for (std::size_t i = vars.size(); i-- > 0;)
      fast = make_stmt(Let{vars[i], "reciprocal", float_const(1) / found.divisors[i], fast});
    return make_stmt(If{allowed, fast, s});
  }

  template <typename Of>
  Expr by_reciprocals(const Expr& e, const Of& of) const {
    return rewrite(e, [&](const Expr& part) -> Expr {
      const Expr divisor = divisor_of(part);
      if (!divisor.defined()) return {};
      const Expr x = by_reciprocals(std::get<Binary>(part->kind).a, of);
      const Expr d = broadcast(divisor, part->lanes), r = broadcast(of(divisor), part->lanes);
      const Expr q = x * r;
      if (is_root(divisor)) return q;
      // In this order a zero keeps its sign. Infinities make NaN of the correction, and need none.
      const Expr corrected = q - (q * d - x) * r;
      return select(binary(BinaryOp::ne, corrected, corrected), q, corrected);
    });
  }

  Program& program_;
  std::set<BufferId> roots_;
  bool divides_ = false, waits_for_divisions_ = false;
};

}  // namespace

Result<Program> share_reciprocals(Program program) {
  if (!program.body.defined()) return program;
  Reciprocals reciprocals(program);
  if (!reciprocals.divides()) return program;
  program.body = reciprocals.visit(program.body);
  return rename_apart(std::move(program));
}

}  // namespace whet
