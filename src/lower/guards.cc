#include "lower/guards.h"

#include <algorithm>
#include <set>

#include "compute/affine.h"
#include "lower/rename.h"
#include "program/context.h"

namespace whet {
namespace {

bool contains_loop(const Stmt& s) {
  bool found = false;
  for_each(s, [&](const Stmt& part) { found = found || std::holds_alternative<Loop>(part->kind); }, nullptr);
  return found;
}

/// The conditions that guard everything inside `s`.
std::vector<Expr> common_conditions(const Stmt& s) {
  auto without = [](std::vector<Expr> conditions, VarId var) {
    std::erase_if(conditions, [&](const Expr& c) { return uses(c, var); });
    return conditions;
  };
  return std::visit(Match{[&](const Loop& l) { return without(common_conditions(l.body), l.index); },
                          [&](const Let& l) { return without(common_conditions(l.body), l.var); },
                          [&](const If& i) {
                            if (i.else_body.defined()) return std::vector<Expr>();
                            std::vector<Expr> conditions = common_conditions(i.then_body);
                            for (Expr& each : conjuncts_of(i.condition)) conditions.push_back(std::move(each));
                            return conditions;
                          },
                          [&](const Block& b) {
                            std::vector<Stmt> body = b.body;
                            std::erase_if(body, [](const Stmt& part) {  // a hint may be under any condition
                              return std::holds_alternative<Prefetch>(part->kind);
                            });
                            if (body.empty()) return std::vector<Expr>();
                            std::vector<Expr> shared = common_conditions(body.front());
                            for (std::size_t k = 1; k < body.size() && !shared.empty(); ++k) {
                              const std::vector<Expr> other = common_conditions(body[k]);
                              std::erase_if(shared, [&](const Expr& c) {
                                return std::none_of(other.begin(), other.end(),
                                                    [&](const Expr& o) { return same(c, o); });
                              });
                            }
                            return shared;
                          },
                          [](const auto&) { return std::vector<Expr>(); }},
                    s->kind);
}

/// The buffers that `s` stores to, and never sets but by what they hold: those that it reduces into.
std::set<BufferId> reduced_in(const Stmt& s) {
  std::set<BufferId> reduced, set;
  for_each(
      s,
      [&](const Stmt& part) {
        const Store* store = std::get_if<Store>(&part->kind);
        if (!store) return;
        bool reads = false;
        for_each(store->value, [&](const Expr& e) {
          const Load* load = std::get_if<Load>(&e->kind);
          reads = reads || (load && load->source.index() == store->buffer.index());
        });
        (reads ? reduced : set).insert(store->buffer);
      },
      nullptr);
  for (BufferId id : set) reduced.erase(id);
  return reduced;
}

/// A condition found inside a loop, with the binders between.
struct Found {
  Expr condition;
  std::vector<Stmt> binders;   ///< Loops and Lets, outermost first
  bool guards_loop = false;    ///< a loop is inside the If
  bool chooses = false;        ///< between two statements: where it is decided, one of them is left
  std::set<BufferId> reduced;  ///< buffers that are reduced into inside the If
};

/// What of a guard's sum is known before the tile's own (unrolled, vectorized) loops begin.
struct Test {
  Affine sum;
  std::size_t place = 0;  ///< number of the guard's binders inside which it is known
};

bool is_serial(const Stmt& binder) {
  const Loop* loop = std::get_if<Loop>(&binder->kind);
  return loop && loop->kind == LoopKind::serial;
}

/// `e` with `name` in the place of every multiple of `sum`.
Expr in_terms_of(const Expr& e, const Affine& sum, const Expr& name) {
  return rewrite(e, [&](const Expr& part) -> Expr {
    if (part->dtype != DType::i64 || part->lanes != 1 || std::holds_alternative<IntConst>(part->kind)) return {};
    const Affine whole = to_affine(part);
    const std::int64_t factor = whole.coefficient(sum.terms.front().first) / sum.terms.front().second;
    if (factor == 0) return {};
    for (const auto& [atom, coefficient] : sum.terms)
      if (whole.coefficient(atom) != factor * coefficient) return {};
    return to_expr(add(sub(whole, scale(sum, factor)), Affine{{{name, factor}}, 0}));
  });
}

/// Its four moves become parts when guards of open sizes change them.
class GuardResolver {
 public:
  explicit GuardResolver(Program& program) : program_(program), facts_(size_ranges(program.sizes)) {}

  Stmt visit(const Stmt& s) {
    return std::visit(Match{[&](const Loop& l) { return visit_loop(l); }, [&](const Let& l) { return visit_let(l); },
                            [&](const If& i) { return visit_if(i); },
                            [&](const Block& b) {
                              std::vector<Stmt> body;
                              for (const Stmt& part : b.body) body.push_back(visit(part));
                              return block(std::move(body));
                            },
                            [&](const Store&) { return s; }, [&](const Barrier&) { return s; },
                            [&](const CopyGroup&) { return s; }, [&](const Prefetch&) { return s; }},
                      s->kind);
  }

 private:
  Stmt visit_if(const If& guard) {
    std::vector<Expr> open;
    for (const Expr& c : conjuncts_of(guard.condition)) {
      if (facts_.refutes(c)) return guard.else_body.defined() ? visit(guard.else_body) : Stmt();
      if (!known(c)) open.push_back(c);
    }
    if (open.empty()) return visit(guard.then_body);
    Expr condition = open.front();
    for (std::size_t i = 1; i < open.size(); ++i) condition = condition && open[i];
    const Facts::Mark mark = facts_.mark();
    const std::size_t assumed = assumed_.size();
    facts_.assume(condition);
    assumed_.insert(assumed_.end(), open.begin(), open.end());
    const Stmt then_body = visit(guard.then_body);
    assumed_.resize(assumed);
    facts_.rewind(mark);
    facts_.assume_not(condition);
    const Stmt else_body = guard.else_body.defined() ? visit(guard.else_body) : Stmt();
    facts_.rewind(mark);
    if (!then_body.defined() && !else_body.defined()) return Stmt();
    if (!then_body.defined()) return make_stmt(If{unary(UnaryOp::logical_not, condition), else_body, Stmt()});
    return make_stmt(If{condition, then_body, else_body});
  }

  Stmt visit_let(const Let& let) {
    const Facts::Mark mark = facts_.mark();
    const Interval range = facts_.bounds(let.value);
    const bool of_sizes = has_size(let.value);
    if (program_.sizes.empty())
      facts_.bind(let.var, range);
    else
      enter(facts_, let);
    const Stmt inside = tests_.contains(let.var) ? let.body : with_tests(let.var, let.body);
    Stmt body;
    if (range.min && range.max && !of_sizes) {
      const std::vector<std::int64_t> starts = cut_points(let.var, *range.min, *range.max, inside, false);
      body = chain(let.var, let.name, starts, *range.max, inside);
    } else {
      body = visit(inside);
    }
    facts_.rewind(mark);
    return body.defined() ? make_stmt(Let{let.var, let.name, let.value, body}) : Stmt();
  }

  Stmt visit_loop(Loop loop) {
    // Conditions that cover the loop and do not depend on it are better outside.
    const Facts::Mark outside = facts_.mark();
    bind(loop);
    std::vector<Expr> invariant;
    for (const Expr& c : common_conditions(loop.body))
      if (!uses(c, loop.index) && !known(c) && loop.kind != LoopKind::parallel) invariant.push_back(c);
    facts_.rewind(outside);
    if (!invariant.empty()) return visit(make_stmt(If{invariant.front(), make_stmt(loop), Stmt()}));

    if (const std::optional<Expr> condition = only_iteration_of(loop)) return visit_only_iteration(loop, *condition);
    narrow(loop);
    bind(loop);
    loop.body = with_tests(loop.index, loop.body);
    facts_.rewind(outside);
    const std::int64_t *min = as_int(loop.min), *extent = as_int(loop.extent);
    Stmt result;
    if (min && extent && *extent <= 0) {
      result = Stmt();
    } else if (min && extent) {
      const std::int64_t last = *min + *extent - 1;
      const std::vector<std::int64_t> starts = cut_points(
          loop.index, *min, last, loop.body, loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel);
      result = loop.kind == LoopKind::parallel ? chained_loop(loop, starts, last) : cut_loop(loop, starts, last);
    } else {
      bind(loop);
      const Stmt body = visit(loop.body);
      result = body.defined()
                   ? make_stmt(Loop{loop.index, loop.name, loop.min, loop.extent, loop.kind, body, loop.intrinsic})
                   : Stmt();
    }
    facts_.rewind(outside);
    return result;
  }

  /// Proven, or assumed to the letter: the prover need not understand every condition that it is told.
  bool known(const Expr& condition) const {
    return facts_.proves(condition) ||
           std::any_of(assumed_.begin(), assumed_.end(), [&](const Expr& a) { return same(a, condition); });
  }

  void bind(const Loop& loop) {
    const std::int64_t *min = as_int(loop.min), *extent = as_int(loop.extent);
    if (min && extent)
      facts_.bind(loop.index, Interval{*min, *min + *extent - 1});
    else
      facts_.bind(loop.index, loop.min, loop.min + loop.extent - 1);
  }

  /// A condition `e == index`, or the like, that covers the whole body: one iteration at most does anything.
  static std::optional<Expr> only_iteration_of(const Loop& loop) {
    if (loop.kind != LoopKind::serial) return std::nullopt;
    for (const Expr& condition : common_conditions(loop.body))
      if (the_iteration(loop, condition)) return condition;
    return std::nullopt;
  }

  /// The only value of the index with which `condition` holds, if it is of that kind.
  static std::optional<Expr> the_iteration(const Loop& loop, const Expr& condition) {
    const Binary* compare = std::get_if<Binary>(&condition->kind);
    if (!compare || compare->op != BinaryOp::eq || compare->a->dtype != DType::i64 || compare->a->lanes != 1)
      return std::nullopt;
    Affine difference = sub(to_affine(compare->a), to_affine(compare->b));
    const Expr index = var(loop.index, loop.name);
    const std::int64_t factor = difference.coefficient(index);
    std::erase_if(difference.terms, [&](const auto& term) { return same(term.first, index); });
    const Expr rest = to_expr(scale(difference, -factor));
    if ((factor != 1 && factor != -1) || uses(rest, loop.index)) return std::nullopt;
    return rest;
  }

  /// for i in a .. n { if e == i: S }  =>  i = e; if i >= a && i < a + n: S
  Stmt visit_only_iteration(const Loop& loop, const Expr& condition) {
    const Expr value = *the_iteration(loop, condition), index = var(loop.index, loop.name);
    const Facts::Mark mark = facts_.mark();
    facts_.bind(loop.index, facts_.bounds(value));
    assumed_.push_back(condition);
    const Stmt body = visit(make_stmt(If{index >= loop.min && index < loop.min + loop.extent, loop.body, Stmt()}));
    assumed_.pop_back();
    facts_.rewind(mark);
    return body.defined() ? make_stmt(Let{loop.index, loop.name, value, body}) : Stmt();
  }

  /// Narrows the bounds to those iterations for which the conditions that cover the whole body and depend on no inner
  /// loop hold.
  void narrow(Loop& loop) {
    for (const Expr& condition : common_conditions(loop.body)) {
      if (!uses(condition, loop.index)) continue;
      const Facts::Mark mark = facts_.mark();
      bind(loop);
      const bool known = facts_.proves(condition);
      facts_.rewind(mark);
      if (!known) narrow(loop, condition);
    }
  }

  void narrow(Loop& loop, const Expr& condition) {
    const std::optional<Affine> difference = nonnegative_sum(condition);  // condition is difference >= 0
    if (!difference) return;
    const Expr index = var(loop.index, loop.name);
    const std::int64_t factor = difference->coefficient(index);
    Affine rest = *difference;
    std::erase_if(rest.terms, [&](const auto& term) { return same(term.first, index); });
    if (factor == 0 || uses(to_expr(rest), loop.index)) return;
    Expr low = loop.min, end = loop.min + loop.extent;
    if (factor > 0)
      low = max(low, floordiv(to_expr(scale(rest, -1)) + (factor - 1), factor));
    else
      end = min(end, floordiv(to_expr(rest), -factor) + 1);
    low = simplify(low, facts_), end = simplify(end, facts_);
    const Expr extent = simplify(end - low, facts_);
    const bool constant = as_int(low) && as_int(extent);
    if (!constant && loop.kind != LoopKind::serial) return;
    loop.min = low, loop.extent = extent;
  }

  // ---- testing a sum

  /// The test that decides a guard of a register tile, if it runs once for a whole loop around the tile: then the
  /// copies that it asks for are copies of that loop alone, and what is before and after the loop is shared.
  static std::optional<Test> test_of(const Found& found) {
    if (has_load(found.condition)) return std::nullopt;  // decided in no range
    const std::optional<Affine> guard = nonnegative_sum(found.condition);
    if (!guard) return std::nullopt;
    std::vector<VarId> tile;
    auto in_tile = [&](const Expr& e) {
      return std::any_of(tile.begin(), tile.end(), [&](VarId v) { return uses(e, v); });
    };
    for (const Stmt& binder : found.binders) {
      const Let* let = std::get_if<Let>(&binder->kind);
      if (let ? in_tile(let->value) : !is_serial(binder))
        tile.push_back(let ? let->var : std::get<Loop>(binder->kind).index);
    }
    Test test;
    for (const auto& term : guard->terms)
      if (!in_tile(term.first))
        test.sum.terms.push_back(term);
      else if (!std::holds_alternative<Var>(term.first->kind))
        return std::nullopt;
    if (test.sum.terms.empty() || test.sum.terms.size() == guard->terms.size()) return std::nullopt;
    if (test.sum.terms.front().second < 0) test.sum = scale(test.sum, -1);
    const Expr sum = to_expr(test.sum);
    for (std::size_t i = 0; i < found.binders.size(); ++i) {
      const Let* let = std::get_if<Let>(&found.binders[i]->kind);
      if (uses(sum, let ? let->var : std::get<Loop>(found.binders[i]->kind).index)) test.place = i + 1;
    }
    const auto inside = found.binders.begin() + static_cast<std::ptrdiff_t>(test.place);
    return std::any_of(inside, found.binders.end(), is_serial) ? std::optional(test) : std::nullopt;
  }

  /// `body`, which is all that `v` binds, with the tests that are known as soon as `v` is: lets, whose ranges are cut
  /// like those of all others.
  Stmt with_tests(VarId v, Stmt body) {
    std::vector<Stmt> binders;
    std::vector<Found> all;
    collect(body, binders, all);
    for (const Found& found : all) {
      const std::optional<Test> test = test_of(found);
      if (!test || test->place != 0 || !uses(to_expr(test->sum), v)) continue;
      if (has_size(found.condition) || decided(found)) continue;
      const bool of_one = test->sum.terms.size() == 1 && std::holds_alternative<Var>(test->sum.terms[0].first->kind);
      if (of_one && !std::holds_alternative<Block>(body->kind)) continue;  // `v` itself may be cut
      const VarId name = program_.fresh_var();
      tests_.insert(name);
      return with_tests(v, with_test(body, name, test->sum));
    }
    return body;
  }

  /// Only the statements that are guarded by the test are under it.
  Stmt with_test(const Stmt& body, VarId name, const Affine& sum) const {
    std::string text;
    for (const auto& [atom, coefficient] : sum.terms)
      if (const Var* v = std::get_if<Var>(&atom->kind)) text += (text.empty() ? "" : "_") + v->name;
    const Expr stands_for = var(name, text);
    auto guarded = [&](const Stmt& s) {
      std::vector<Stmt> binders;
      std::vector<Found> all;
      collect(s, binders, all);
      return std::any_of(all.begin(), all.end(), [&](const Found& found) {
        const std::optional<Test> test = test_of(found);
        return test && same(test->sum, sum);
      });
    };
    auto under = [&](const Stmt& s) {
      const Stmt rewritten = rewrite(s, {}, [&](const Expr& e) { return in_terms_of(e, sum, stands_for); });
      return make_stmt(Let{name, text, to_expr(sum), rewritten});
    };
    const Block* all = std::get_if<Block>(&body->kind);
    if (!all) return under(body);
    const auto first = std::find_if(all->body.begin(), all->body.end(), guarded);
    const auto last = std::find_if(all->body.rbegin(), all->body.rend(), guarded).base();
    std::vector<Stmt> parts(all->body.begin(), first);
    parts.push_back(under(block({first, last})));
    parts.insert(parts.end(), last, all->body.end());
    return block(std::move(parts));
  }

  // ---- cutting a variable's range

  void collect(const Stmt& s, std::vector<Stmt>& binders, std::vector<Found>& out) const {
    std::visit(Match{[&](const Loop& l) {
                       binders.push_back(s);
                       collect(l.body, binders, out);
                       binders.pop_back();
                     },
                     [&](const Let& l) {
                       binders.push_back(s);
                       collect(l.body, binders, out);
                       binders.pop_back();
                     },
                     [&](const If& i) {
                       for (const Expr& c : conjuncts_of(i.condition))
                         out.push_back(
                             {c, binders, contains_loop(i.then_body), i.else_body.defined(), reduced_in(i.then_body)});
                       collect(i.then_body, binders, out);
                       if (i.else_body.defined()) collect(i.else_body, binders, out);
                     },
                     [&](const Block& b) {
                       for (const Stmt& part : b.body) collect(part, binders, out);
                     },
                     [](const auto&) {}},
               s->kind);
  }

  /// A guard that will be around several stores of a tile once it has been moved outwards, and is tested once a tile:
  /// copies of the tile would cost more, in time to compile them above all. (Tests inside a loop of a reduction are many.)
  static bool is_cheap(const Found& found) {
    std::int64_t stores = 1;
    std::size_t inside = found.binders.size();
    for (; inside > 0; --inside) {
      const Loop* loop = std::get_if<Loop>(&found.binders[inside - 1]->kind);
      if (!loop || uses(found.condition, loop->index)) break;
      const std::int64_t* extent = as_int(loop->extent);
      if (extent && loop->kind == LoopKind::unrolled) stores *= *extent;
      if (extent && loop->kind == LoopKind::vectorized) stores *= (*extent + 15) / 16;
    }
    const bool repeated = std::any_of(
        found.binders.begin(), found.binders.begin() + static_cast<std::ptrdiff_t>(inside), [&](const Stmt& binder) {
          if (!is_serial(binder)) return false;
          const std::set<BufferId> reduced = reduced_in(std::get<Loop>(binder->kind).body);
          return std::any_of(found.reduced.begin(), found.reduced.end(),
                             [&](BufferId id) { return reduced.contains(id); });
        });
    return stores > 1 && !repeated;
  }

  /// A serial inner loop will take the condition into its own bounds.
  static bool narrowed_later(const Found& found) {
    for (std::size_t i = found.binders.size(); i-- > 0;) {
      const Loop* loop = std::get_if<Loop>(&found.binders[i]->kind);
      if (!loop || !uses(found.condition, loop->index)) continue;
      if (loop->kind != LoopKind::serial) return false;
      const std::vector<Expr> common = common_conditions(loop->body);
      return std::any_of(common.begin(), common.end(), [&](const Expr& c) { return same(c, found.condition); });
    }
    return false;
  }

  bool decided(const Found& found, VarId v, std::int64_t low, std::int64_t high) {
    const Facts::Mark mark = facts_.mark();
    facts_.bind(v, Interval{low, high});
    const bool known = decided(found);
    facts_.rewind(mark);
    return known;
  }

  bool decided(const Found& found) {
    const Facts::Mark mark = facts_.mark();
    for (const Stmt& binder : found.binders) {
      if (const Loop* loop = std::get_if<Loop>(&binder->kind))
        bind(*loop);
      else if (const Let* let = std::get_if<Let>(&binder->kind))
        facts_.bind(let->var, let->value, let->value);
    }
    const bool known = facts_.proves(found.condition) || facts_.refutes(found.condition);
    facts_.rewind(mark);
    return known;
  }

  /// Where new ranges of `v` in low..high begin (low first), so that conditions inside `body` are decided in some of
  /// them.
  std::vector<std::int64_t> cut_points(VarId v, std::int64_t low, std::int64_t high, const Stmt& body, bool serial) {
    std::vector<Stmt> binders;
    std::vector<Found> all;
    collect(body, binders, all);
    std::set<std::int64_t> starts{low}, choices;
    const auto cut = [&](const Found& found, std::int64_t start) { (found.chooses ? choices : starts).insert(start); };
    for (const Found& found : all) {
      if (!uses(found.condition, v) || has_size(found.condition)) continue;
      if (decided(found, v, low, high) || narrowed_later(found)) continue;
      if (const std::optional<Test> test = test_of(found); test && test->place > 0) continue;
      const bool outer_only = std::none_of(found.binders.begin(), found.binders.end(),
                                           [](const Stmt& b) { return std::holds_alternative<Loop>(b->kind); });
      if (serial && outer_only && found.guards_loop)
        continue;  // tested once an iteration, around a loop: cheap as it is
      if (is_cheap(found)) continue;
      if (decided(found, v, high, high)) {
        std::int64_t undecided = low, decided_from = high;  // [decided_from, high] is decided, [undecided, high] is not
        while (decided_from - undecided > 1) {
          const std::int64_t middle = undecided + (decided_from - undecided) / 2;
          (decided(found, v, middle, high) ? decided_from : undecided) = middle;
        }
        cut(found, decided_from);
      }
      if (decided(found, v, low, low)) {
        std::int64_t decided_to = low, undecided = high;
        while (undecided - decided_to > 1) {
          const std::int64_t middle = decided_to + (undecided - decided_to) / 2;
          (decided(found, v, low, middle) ? decided_to : undecided) = middle;
        }
        cut(found, undecided);
      }
    }
    const std::int64_t cost = static_cast<std::int64_t>(starts.size() - 1) * unrolled_stores(body);
    if (added_stores_ + cost > kMaxEdgeStores || cuts_ + starts.size() > kMaxCuts) {
      starts = {low};
    } else {
      cuts_ += starts.size() - 1;
      added_stores_ += cost;
    }
    // The statements that are chosen between are dealt out to the ranges; what is beside them is copied.
    const std::int64_t beside = static_cast<std::int64_t>(choices.size()) * unrolled_stores(body, v);
    if (choices.size() <= kMaxChoices && added_stores_ + beside <= kMaxEdgeStores) {
      starts.insert(choices.begin(), choices.end());
      added_stores_ += beside;
    }
    return {starts.begin(), starts.end()};
  }

  static std::int64_t end_of(const std::vector<std::int64_t>& starts, std::size_t i, std::int64_t last) {
    return i + 1 < starts.size() ? starts[i + 1] - 1 : last;
  }

  Stmt visit_within(VarId v, std::int64_t low, std::int64_t high, const Stmt& body) {
    const Facts::Mark mark = facts_.mark();
    facts_.bind(v, Interval{low, high});
    const Stmt result = visit(body);
    facts_.rewind(mark);
    return result;
  }

  Stmt cut_loop(const Loop& loop, const std::vector<std::int64_t>& starts, std::int64_t last) {
    std::vector<Stmt> parts;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::int64_t end = end_of(starts, i, last);
      const Stmt body = visit_within(loop.index, starts[i], end, loop.body);
      if (body.defined())
        parts.push_back(make_stmt(Loop{loop.index, loop.name, int_const(starts[i]), int_const(end - starts[i] + 1),
                                       loop.kind, body, loop.intrinsic}));
    }
    return block(std::move(parts));
  }

  Stmt chained_loop(const Loop& loop, const std::vector<std::int64_t>& starts, std::int64_t last) {
    const Stmt body = chain(loop.index, loop.name, starts, last, loop.body);
    return body.defined()
               ? make_stmt(Loop{loop.index, loop.name, loop.min, loop.extent, loop.kind, body, loop.intrinsic})
               : Stmt();
  }

  /// if v < starts[1]: body for the first range, else if v < starts[2]: ...
  Stmt chain(VarId v, const std::string& name, const std::vector<std::int64_t>& starts, std::int64_t last,
             const Stmt& body) {
    Stmt result = visit_within(v, starts.back(), last, body);
    for (std::size_t i = starts.size() - 1; i-- > 0;) {
      const Stmt part = visit_within(v, starts[i], end_of(starts, i, last), body);
      const Expr below = var(v, name) < int_const(starts[i + 1]);
      if (part.defined())
        result = make_stmt(If{below, part, result});
      else if (result.defined())
        result = make_stmt(If{unary(UnaryOp::logical_not, below), result, Stmt()});
    }
    return result;
  }

  Program& program_;
  Facts facts_;
  std::set<VarId> tests_;  ///< lets that `with_tests` made
  std::vector<Expr> assumed_;
  std::int64_t added_stores_ = 0;
  std::size_t cuts_ = 0;
};

}  // namespace

std::optional<Affine> nonnegative_sum(const Expr& condition) {
  const Binary* compare = std::get_if<Binary>(&condition->kind);
  if (!compare || compare->a->dtype != DType::i64 || compare->a->lanes != 1) return std::nullopt;
  const Affine a = to_affine(compare->a), b = to_affine(compare->b), one{{}, 1};
  switch (compare->op) {
    case BinaryOp::lt:
      return sub(sub(b, a), one);
    case BinaryOp::le:
      return sub(b, a);
    case BinaryOp::gt:
      return sub(sub(a, b), one);
    case BinaryOp::ge:
      return sub(a, b);
    default:
      return std::nullopt;
  }
}

std::int64_t unrolled_stores(const Stmt& s, VarId chosen_by) {
  return std::visit(
      Match{[&](const Loop& l) {
              const std::int64_t* extent = as_int(l.extent);
              const std::int64_t inside = unrolled_stores(l.body, chosen_by);
              if (!extent || l.kind == LoopKind::serial || l.kind == LoopKind::parallel) return inside;
              return inside * (l.kind == LoopKind::unrolled ? *extent : (*extent + 15) / 16);
            },
            [&](const Let& l) { return unrolled_stores(l.body, chosen_by); },
            [&](const If& i) {
              if (!i.else_body.defined()) return unrolled_stores(i.then_body, chosen_by);
              if (chosen_by.valid() && uses(i.condition, chosen_by)) return std::int64_t{0};
              return unrolled_stores(i.then_body, chosen_by) + unrolled_stores(i.else_body, chosen_by);
            },
            [&](const Block& b) {
              std::int64_t sum = 0;
              for (const Stmt& part : b.body) sum += unrolled_stores(part, chosen_by);
              return sum;
            },
            [](const Store&) { return std::int64_t{1}; }, [](const Barrier&) { return std::int64_t{0}; },
            [](const CopyGroup&) { return std::int64_t{0}; }, [](const Prefetch&) { return std::int64_t{1}; }},
      s->kind);
}

Result<Program> resolve_guards(Program program) {
  program.body = GuardResolver(program).visit(program.body);
  if (!program.body.defined()) return Error{program.name + ": computes nothing: every guard is always false"};
  return rename_apart(std::move(program));
}

}  // namespace whet
