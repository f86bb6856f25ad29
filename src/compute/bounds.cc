#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "compute/affine.h"
#include "compute/scalar.h"

namespace whet {
namespace {

using Bound = Interval::End;

/// Arithmetic of narrow integers wraps around: what leaves the dtype's range could be anything.
Interval within(const Interval& x, DType dtype) {
  const Interval all = Interval::of(dtype);
  return x.inside(all) ? x : all;
}

bool is_index(const Expr& e) { return e->dtype == DType::i64; }

Affine without(const Affine& a, std::size_t term) {
  Affine rest = a;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(term));
  return rest;
}

/// `a` with term `term` replaced by coefficient · value.
Affine replaced(const Affine& a, std::size_t term, const Affine& value) {
  return add(without(a, term), scale(value, a.terms[term].second));
}

const Binary* as_binary(const Expr& e, BinaryOp op) {
  const auto* n = std::get_if<Binary>(&e->kind);
  return n && n->op == op ? n : nullptr;
}

/// A bit for each variable, and one for everything else.
std::uint64_t atoms_of(const Affine& a) {
  std::uint64_t bits = 0;
  for (const auto& [atom, coefficient] : a.terms) {
    const auto* v = std::get_if<Var>(&atom->kind);
    bits |= v && v->id.valid() ? std::uint64_t{1} << (v->id.index() % 63) : std::uint64_t{1} << 63;
  }
  return bits;
}

/// Equal affine forms of the same nodes give equal numbers; good enough to notice that a search has been here.
std::uint64_t fingerprint(const Affine& a) {
  std::uint64_t h = static_cast<std::uint64_t>(a.constant);
  for (const auto& [atom, coefficient] : a.terms) {
    const auto* v = std::get_if<Var>(&atom->kind);
    const std::uint64_t name =
        v ? static_cast<std::uint64_t>(v->id.value) : reinterpret_cast<std::uintptr_t>(atom.get());
    h = hash_combine(h, name * 31 + static_cast<std::uint64_t>(coefficient));
  }
  return h;
}

/// factor · a + n · fact, n > 0, in which an atom cancels: since fact >= 0, that is at least factor · a.
struct Cancelled {
  Affine value;
  std::int64_t factor = 1;
  /// The bound of `a` that one of `value` gives.
  Bound part_of(Bound b) const { return b ? Bound(floor_div(*b, factor)) : Bound(); }
};

/// Nothing where `fact` does not have `atom`, whose coefficient in `a` is given, or has it with the same sign.
std::optional<Cancelled> cancelled(const Affine& a, const Affine& fact, const Expr& atom, std::int64_t coefficient) {
  const std::int64_t other = fact.coefficient(atom);
  if (other == 0 || (other > 0) == (coefficient > 0)) return std::nullopt;
  const std::int64_t common = std::gcd(other, coefficient), factor = std::abs(other) / common;
  return Cancelled{add(scale(a, factor), scale(fact, std::abs(coefficient) / common)), factor};
}

/// y with a = y * divisor at all values; nothing where that is not seen.
std::optional<Affine> divided(const Affine& a, const Expr& divisor) {
  const Affine whole = to_affine(divisor);
  const auto& [of_a, of_whole] = std::pair(a.terms.empty() ? a.constant : a.terms.front().second,
                                           whole.terms.empty() ? whole.constant : whole.terms.front().second);
  if (of_whole != 0 && of_a % of_whole == 0 && same(a, scale(whole, of_a / of_whole)))
    return Affine{{}, of_a / of_whole};
  Affine sum;
  if (const std::int64_t* number = as_int(divisor)) {
    if (*number == 0 || a.constant % *number != 0) return std::nullopt;
    sum.constant = a.constant / *number;
    for (const auto& [atom, coefficient] : a.terms) {
      if (coefficient % *number != 0) return std::nullopt;
      sum.terms.emplace_back(atom, coefficient / *number);
    }
    return sum;
  }
  if (a.constant != 0) return std::nullopt;
  for (const auto& [atom, coefficient] : a.terms) {
    const Binary* product = as_binary(atom, BinaryOp::mul);
    const bool first = product && same(product->a, divisor), second = product && same(product->b, divisor);
    if (!first && !second) return std::nullopt;
    sum = add(sum, scale(to_affine(first ? product->b : product->a), coefficient));
  }
  return sum;
}

/// A size occurs in it.
bool is_sized(const Affine& a) {
  return std::any_of(a.terms.begin(), a.terms.end(), [](const auto& term) { return has_size(term.first); });
}

/// Some size occurs in both.
bool share_a_size(const Affine& a, const Affine& b) {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const auto& term) {
    const std::vector<std::size_t> sizes = sizes_of(term.first);
    return std::any_of(b.terms.begin(), b.terms.end(), [&](const auto& other) {
      const std::vector<std::size_t> others = sizes_of(other.first);
      return std::find_first_of(sizes.begin(), sizes.end(), others.begin(), others.end()) != sizes.end();
    });
  });
}

bool share_an_atom(const Affine& a, const Affine& b) {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const auto& t) { return b.coefficient(t.first) != 0; });
}

/// An atom of `b` is one of `a`, or of what is divided in it: the columns of a stride are tiles of quotients of a size.
bool leads_to_an_atom(const Affine& a, const Affine& b) {
  return share_an_atom(a, b) || std::any_of(a.terms.begin(), a.terms.end(), [&](const auto& term) {
           const Binary* n = as_binary(term.first, BinaryOp::floordiv);
           return n && as_int(n->b) && leads_to_an_atom(to_affine(n->a), b);
         });
}

}  // namespace

Expr lane_of(const Expr& e) {
  if (e->lanes == 1) return e;
  return rewrite(e, [](const Expr& x) -> Expr {
    if (const auto* b = std::get_if<Broadcast>(&x->kind)) return b->a;
    if (const auto* r = std::get_if<Ramp>(&x->kind)) return r->base + var(kLane, "lane") * r->stride;
    if (const auto* v = std::get_if<Var>(&x->kind)) return make_expr(x->dtype, 1, *v);
    return x->lanes == 1 ? x : Expr();
  });
}

void Facts::rewind(Mark mark) {
  bindings_.erase(bindings_.begin() + static_cast<std::ptrdiff_t>(mark.bindings), bindings_.end());
  facts_.erase(facts_.begin() + static_cast<std::ptrdiff_t>(mark.facts), facts_.end());
}

const Facts::Binding* Facts::find(VarId var) const {
  for (auto b = bindings_.rbegin(); b != bindings_.rend(); ++b) {
    if (b->var == var) return &*b;
  }
  return nullptr;
}

/// `range` narrowed by the facts that speak of this atom alone.
template <typename IsIt>
Interval Facts::narrowed(Interval range, const IsIt& is_it) const {
  for (const Fact& fact : facts_) {
    if (!fact.of_one_atom || (fact.of_lanes && scalar_views_ > 0)) continue;
    const auto& [atom, factor] = fact.value.terms[0];
    if (!is_it(atom)) continue;
    if (factor > 0)
      range.min = tighter_lower(range.min, -floor_div(fact.value.constant, factor));
    else
      range.max = tighter_upper(range.max, floor_div(fact.value.constant, -factor));
  }
  return range;
}

Interval Facts::range_of(VarId var) const {
  const Binding* binding = find(var);
  const bool has_range = range_ && (var.valid() || size_number(var) < kMostSizes);
  const Interval range = binding ? binding->range : has_range ? range_(var) : Interval{};
  return narrowed(range, [&](const Expr& atom) {
    const auto* v = std::get_if<Var>(&atom->kind);
    return v && v->id == var;
  });
}

void Facts::bind(VarId var, Interval range) { bindings_.push_back({var, range, {}, {}}); }

void Facts::bind(VarId var, const Expr& min, const Expr& max) {
  Affine low = to_affine(min), high = to_affine(max);
  Binding b{var, {bounds(low).min, bounds(high).max}, {}, {}};
  if (!low.is_constant()) b.min = std::move(low);
  if (!high.is_constant()) b.max = std::move(high);
  bindings_.push_back(std::move(b));
}

/// x < min(a, b) says x < a and x < b: facts are kept without such minima, for each side.
void Facts::add_fact(Affine fact, bool of_lanes) {
  for (std::size_t i = 0; i < fact.terms.size(); ++i) {
    const auto& [atom, coefficient] = fact.terms[i];
    const Binary* n = as_binary(atom, coefficient > 0 ? BinaryOp::min : BinaryOp::max);
    if (!n || facts_.size() > 64) continue;
    add_fact(replaced(fact, i, to_affine(n->a)), of_lanes);
    add_fact(replaced(fact, i, to_affine(n->b)), of_lanes);
    return;
  }
  if (!fact.is_constant()) {
    const std::uint64_t atoms = atoms_of(fact);
    const bool of_one_atom = fact.terms.size() == 1;
    facts_.push_back({std::move(fact), of_lanes, atoms, of_one_atom});
  }
}

void Facts::assume(const Expr& condition) { assume(condition, condition->lanes > 1); }
void Facts::assume_not(const Expr& condition) { assume_not(condition, condition->lanes > 1); }

// Lanes are taken of indices alone: most conditions of vector math compare floats, and are long.
void Facts::assume(const Expr& condition, bool of_lanes) {
  if (const auto* n = std::get_if<Unary>(&condition->kind)) return assume_not(n->a, of_lanes);
  const auto* n = std::get_if<Binary>(&condition->kind);
  if (!n) return;
  if (n->op == BinaryOp::logical_and) {
    assume(n->a, of_lanes);
    assume(n->b, of_lanes);
    return;
  }
  if (!is_index(n->a)) return;
  const Affine difference = sub(to_affine(lane_of(n->b)), to_affine(lane_of(n->a)));
  auto at_least = [&](Affine d, std::int64_t least) {
    d.constant -= least;
    add_fact(std::move(d), of_lanes);
  };
  switch (n->op) {
    case BinaryOp::lt:
      return at_least(difference, 1);
    case BinaryOp::le:
      return at_least(difference, 0);
    case BinaryOp::gt:
      return at_least(scale(difference, -1), 1);
    case BinaryOp::ge:
      return at_least(scale(difference, -1), 0);
    case BinaryOp::eq:
      at_least(difference, 0);
      return at_least(scale(difference, -1), 0);
    default:
      return;
  }
}

void Facts::assume_not(const Expr& condition, bool of_lanes) {
  if (const auto* n = std::get_if<Unary>(&condition->kind)) return assume(n->a, of_lanes);
  const auto* n = std::get_if<Binary>(&condition->kind);
  if (!n) return;
  if (n->op == BinaryOp::logical_or) {
    assume_not(n->a, of_lanes);
    assume_not(n->b, of_lanes);
    return;
  }
  if (!is_index(n->a)) return;
  switch (n->op) {
    case BinaryOp::lt:
      return assume(binary(BinaryOp::ge, n->a, n->b), of_lanes);
    case BinaryOp::le:
      return assume(binary(BinaryOp::gt, n->a, n->b), of_lanes);
    case BinaryOp::gt:
      return assume(binary(BinaryOp::le, n->a, n->b), of_lanes);
    case BinaryOp::ge:
      return assume(binary(BinaryOp::lt, n->a, n->b), of_lanes);
    case BinaryOp::ne:
      return assume(binary(BinaryOp::eq, n->a, n->b), of_lanes);
    default:
      return;
  }
}

Interval Facts::binary_bounds(const Binary& n) const {
  const bool divides = n.op == BinaryOp::floordiv || n.op == BinaryOp::floormod;
  if (is_float(n.a->dtype)) return {};
  if (divides && !as_int(n.b)) return is_index(n.a) ? divided_by_positive(n) : Interval{};
  const auto side = [&](const Expr& e) { return is_index(e) ? term_bounds(to_affine(e)) : atom_bounds(e); };
  const Interval plain = binary(n.op, side(n.a), side(n.b));
  if (!divides) return plain;
  return narrowed(plain, [&](const Expr& atom) {
    const Binary* other = as_binary(atom, n.op);
    return other && same(other->a, n.a) && same(other->b, n.b);
  });
}

/// Of a quotient or remainder of i64 by sizes and products with them. Of other divisors that are no constants nothing is known.
Interval Facts::divided_by_positive(const Binary& n) const {
  const Affine divisor = to_affine(n.b);
  if (!is_sized(divisor)) return {};
  const Interval by = term_bounds(divisor);
  if (!by.min || *by.min < 1) return {};
  if (n.op == BinaryOp::floormod) return {0, by.max ? Bound(*by.max - 1) : Bound()};
  const Interval x = term_bounds(to_affine(n.a));
  return {x.min ? Bound(std::min<std::int64_t>(*x.min, 0)) : Bound(),
          x.max ? Bound(std::max<std::int64_t>(*x.max, 0)) : Bound()};
}

/// Of one atom of any integer dtype, by interval arithmetic alone.
Interval Facts::atom_bounds(const Expr& e) const {
  const Interval found =
      std::visit(Match{
                     [&](const IntConst& n) { return Interval::point(n.value); },
                     [&](const FloatConst&) { return Interval{}; },
                     [&](const Var& n) { return range_of(n.id); },
                     [&](const Unary& n) { return n.op == UnaryOp::neg ? -atom_bounds(n.a) : Interval{0, 1}; },
                     [&](const Binary& n) { return e->dtype == DType::boolean ? Interval{0, 1} : binary_bounds(n); },
                     [&](const Select& n) { return hull(atom_bounds(n.if_true), atom_bounds(n.if_false)); },
                     [&](const Cast& n) { return is_float(n.a->dtype) ? Interval{} : atom_bounds(n.a); },
                     [&](const Call&) { return Interval{}; },
                     [&](const Load&) { return Interval{}; },
                     [&](const Ramp&) { return Interval{}; },
                     [&](const Broadcast& n) { return atom_bounds(n.a); },
                 },
                 e->kind);
  return within(found, e->dtype);
}

Interval Facts::term_bounds(const Affine& a) const {
  Interval total = Interval::point(a.constant);
  for (const auto& [atom, coefficient] : a.terms) total = total + atom_bounds(atom) * coefficient;
  return total;
}

/// The work left to one question, and the answer that suffices.
struct Facts::Search {
  int& steps;
  Bound goal;
  std::vector<std::uint64_t>& visited;
  bool uses_facts = true;  ///< else relations, cases, and facts about the very same atom alone
  /// Different facts in different order lead to one form.
  bool is_new(const Affine& a) {
    const std::uint64_t print = fingerprint(a);
    if (std::find(visited.begin(), visited.end(), print) != visited.end()) return false;
    visited.push_back(print);
    return true;
  }
  bool satisfied(Bound b) const { return b && goal && *b <= *goal; }
};

/// An upper bound of `a`: the sum of its terms' bounds, or a better one by
///  - cases: min(x, y) + rest is both <= x + rest and <= y + rest, and max(x, y) + rest is one of the two;
///  - relations: a variable replaced by its bound in terms of outer ones, c*(x // c) by x;
///  - facts: a <= a + f when f >= 0, where that cancels an atom;
///  - digits: what x div s and x mod s are at most, where s is no number.
/// Some fact bounds a sum with one of its atoms, and not the atom alone.
bool Facts::facts_speak_of(const Affine& a) const {
  const std::uint64_t atoms = atoms_of(a);
  return std::any_of(facts_.begin(), facts_.end(), [&](const Fact& fact) {
    return !fact.of_one_atom && (fact.atoms & atoms) != 0 && !(fact.of_lanes && scalar_views_ > 0);
  });
}

Bound Facts::upper(const Affine& a, Search& search, int depth) const {
  Bound best = term_bounds(a).max;
  if (a.is_constant() || search.satisfied(best) || depth <= 0 || search.steps <= 0) return best;
  --search.steps;
  // Both sides of a case may need what has been visited on the other.
  auto branch = [&](const Affine& side) {
    const std::size_t visited = search.visited.size();
    const Bound b = upper(side, search, depth - 1);
    search.visited.resize(visited);
    return b;
  };
  auto improve = [&](Bound b) {
    best = tighter_upper(best, b);
    return search.satisfied(best);
  };

  // A fact about the very same min, max or select settles it without cases.
  for (const auto& [atom, coefficient] : a.terms) {
    if (std::holds_alternative<Var>(atom->kind)) continue;
    for (const auto& fact : facts_) {
      if (fact.of_lanes && scalar_views_ > 0) continue;
      const std::optional<Cancelled> sum = cancelled(a, fact.value, atom, coefficient);
      if (sum && improve(sum->part_of(term_bounds(sum->value).max))) return best;
    }
  }

  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    const auto& [atom, coefficient] = a.terms[i];
    if (const auto* s = std::get_if<Select>(&atom->kind)) {
      const Bound x = branch(replaced(a, i, to_affine(s->if_true)));
      if (x) improve(looser_upper(x, branch(replaced(a, i, to_affine(s->if_false)))));
      return best;
    }
    const auto* n = std::get_if<Binary>(&atom->kind);
    if (!n || (n->op != BinaryOp::min && n->op != BinaryOp::max)) continue;
    const bool both = (n->op == BinaryOp::min) == (coefficient > 0);
    const Bound x = branch(replaced(a, i, to_affine(n->a)));
    if (both && improve(x)) return best;
    if (!both && !x) return best;
    const Bound y = branch(replaced(a, i, to_affine(n->b)));
    improve(both ? y : looser_upper(x, y));
    return best;
  }

  const std::uint64_t atoms = search.uses_facts ? atoms_of(a) : 0;
  for (auto fact = facts_.rbegin(); fact != facts_.rend(); ++fact) {
    if ((fact->atoms & atoms) == 0 || (fact->of_lanes && scalar_views_ > 0)) continue;
    for (const auto& [atom, coefficient] : a.terms) {
      const std::optional<Cancelled> next = cancelled(a, fact->value, atom, coefficient);
      if (!next || next->value.terms.size() > a.terms.size() + 1 || !search.is_new(next->value)) continue;
      const std::int64_t m = next->factor;
      Search scaled_search{search.steps, search.goal ? plus(times(search.goal, m), m - 1) : Bound(), search.visited};
      if (improve(next->part_of(upper(next->value, scaled_search, depth - 2)))) return best;
    }
  }

  // The innermost variable first: its bounds speak of the outer ones.
  const Binding* innermost = nullptr;
  std::size_t place = 0;
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    const auto* v = std::get_if<Var>(&a.terms[i].first->kind);
    const Binding* b = v ? find(v->id) : nullptr;
    if (!b || !(a.terms[i].second > 0 ? b->max : b->min) || (innermost && b < innermost)) continue;
    innermost = b;
    place = i;
  }
  if (innermost) {
    const auto& bound = a.terms[place].second > 0 ? innermost->max : innermost->min;
    if (improve(upper(replaced(a, place, *bound), search, depth - 1))) return best;
  }

  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    const auto& [atom, coefficient] = a.terms[i];
    const Binary* n = as_binary(atom, BinaryOp::floordiv);
    const std::int64_t* divisor = n ? as_int(n->b) : nullptr;
    if (!divisor || *divisor <= 0) continue;
    Affine x = to_affine(n->a);
    const Affine rest = without(a, i);
    const bool leads = is_sized(x) ? leads_to_an_atom(x, rest) || leads_to_an_atom(rest, x) : share_an_atom(x, rest);
    // A digit of a fused loop is a name for a quotient or remainder by a size: where that is divided, its bound leads on.
    const auto is_bound_by_size = [&](const auto& term) {
      const auto* v = std::get_if<Var>(&term.first->kind);
      const Binding* b = v ? find(v->id) : nullptr;
      if (!b) return false;
      const std::optional<Affine>& bound = (term.second > 0) == (coefficient > 0) ? b->max : b->min;
      return bound && is_sized(*bound) && share_a_size(*bound, rest);
    };
    if (!leads && !facts_speak_of(x) && std::none_of(x.terms.begin(), x.terms.end(), is_bound_by_size)) continue;
    if (coefficient < 0) x.constant -= *divisor - 1;
    const std::int64_t common = std::gcd(*divisor, coefficient);
    const std::int64_t m = *divisor / common;
    Search scaled_search{search.steps, search.goal ? plus(times(search.goal, m), m - 1) : Bound(), search.visited,
                         search.uses_facts};
    Bound b = upper(add(scale(rest, m), scale(x, coefficient / common)), scaled_search, depth - 1);
    if (b && improve(floor_div(*b, m))) return best;
  }

  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    const auto* n = std::get_if<Binary>(&a.terms[i].first->kind);
    const std::optional<Affine> most = n && a.terms[i].second > 0 ? most_of(*n) : std::nullopt;
    if (most && improve(upper(replaced(a, i, *most), search, depth - 1))) return best;
  }
  return best;
}

/// The most that a digit of a loop over a product with sizes can be, as a sum: of x mod s it is s - 1; of x div s, where x is a
/// variable that ends before s * y, it is y - 1. Of what are numbers intervals know as much.
std::optional<Affine> Facts::most_of(const Binary& n) const {
  if (n.op != BinaryOp::floormod && n.op != BinaryOp::floordiv) return std::nullopt;
  const Affine by = to_affine(n.b);
  const Interval divisor = term_bounds(by);
  if (!divisor.min || *divisor.min < 1) return std::nullopt;
  if (n.op == BinaryOp::floormod) return is_sized(by) ? std::optional(sub(by, Affine{{}, 1})) : std::nullopt;
  const Var* x = std::get_if<Var>(&n.a->kind);
  const Binding* binding = x ? find(x->id) : nullptr;
  if (!binding || !binding->max) return std::nullopt;
  Affine end = *binding->max;
  if (!is_sized(by) && !is_sized(end)) return std::nullopt;
  ++end.constant;
  std::optional<Affine> times = divided(end, n.b);
  if (times) --times->constant;
  return times;
}

/// One value for each variable that was asked for; `others_high` says which end of their range the others get.
struct Facts::Point {
  std::vector<std::pair<VarId, std::int64_t>> values;
  bool others_high;
};

Bound Facts::value_at(const Affine& a, Point& point) const {
  Bound total = a.constant;
  for (const auto& [atom, coefficient] : a.terms) total = plus(total, times(value_at(atom, point), coefficient));
  return total;
}

Bound Facts::value_at(const Expr& e, Point& point) const {
  if (const auto* c = std::get_if<IntConst>(&e->kind)) return c->value;
  if (const auto* v = std::get_if<Var>(&e->kind)) {
    for (const auto& [id, value] : point.values) {
      if (id == v->id) return value;
    }
    const Interval range = range_of(v->id);
    const Bound chosen = point.others_high ? range.max : range.min;
    if (chosen) point.values.emplace_back(v->id, *chosen);
    return chosen;
  }
  const auto* n = std::get_if<Binary>(&e->kind);
  if (!n || is_float(n->a->dtype)) return {};
  const Bound a = value_at(n->a, point), b = a ? value_at(n->b, point) : Bound();
  return b ? apply(n->op, *a, *b, n->a->dtype) : Bound();
}

/// Whether there is a place, found at the first try, that keeps to every fact and binding and where `a` is `bound`:
/// then no search finds a smaller upper bound.
bool Facts::attains(const Affine& a, std::int64_t bound, bool others_high) const {
  Point point{{}, others_high};
  for (const auto& [atom, coefficient] : a.terms) {
    const auto* v = std::get_if<Var>(&atom->kind);
    if (!v) continue;
    const Interval range = range_of(v->id);
    const Bound chosen = coefficient > 0 ? range.max : range.min;
    if (!chosen) return false;
    point.values.emplace_back(v->id, *chosen);
  }
  if (value_at(a, point) != bound) return false;
  for (const Fact& f : facts_) {
    const Bound value = value_at(f.value, point);
    if (!value || *value < 0) return false;
  }
  for (std::size_t i = 0; i < point.values.size(); ++i) {
    const auto [id, value] = point.values[i];
    const Binding* b = find(id);
    const Bound low = b && b->min ? value_at(*b->min, point) : Bound(value);
    const Bound high = b && b->max ? value_at(*b->max, point) : Bound(value);
    if (!low || !high || *low > value || *high < value) return false;
  }
  return true;
}

Bound Facts::best_upper(const Affine& a, Bound goal) const {
  const Bound simple = term_bounds(a).max;
  if (a.is_constant() || (simple && goal && *simple <= *goal)) return simple;
  if (simple && (attains(a, *simple, false) || attains(a, *simple, true))) return simple;
  std::vector<std::uint64_t> visited;
  // A tap of a padded window under a padded window has bounds that speak of the rows around it. Facts about these rows lead
  // far away: so bounds are followed before facts are looked at.
  int few = 24;
  Search relations{few, goal, visited, false};
  const Bound direct = upper(a, relations, 9);
  if (relations.satisfied(direct)) return direct;
  int steps = is_sized(a) ? 400 : 48;  // tails of several loops over one size are as many facts about it
  Search search{steps, goal, visited};
  return tighter_upper(direct, upper(a, search, 9));
}

Interval Facts::bounds(const Affine& a) const {
  const Bound negative = best_upper(scale(a, -1), {});
  return {times(negative, -1), best_upper(a, {})};
}

Interval Facts::bounds(const Expr& e) const {
  if (e->lanes > 1) {
    Facts inside = *this;
    inside.bind(kLane, Interval{0, e->lanes - 1});
    inside.scalar_views_ = 0;
    return inside.bounds(lane_of(e));
  }
  if (e->dtype == DType::boolean) return {proves(e) ? 1 : 0, refutes(e) ? 0 : 1};
  return is_index(e) ? bounds(to_affine(e)) : atom_bounds(e);
}

bool Facts::proves_nonnegative(const Affine& a) const {
  const Bound negative = best_upper(scale(a, -1), 0);
  return negative && *negative <= 0;
}

// `simplify` leaves the facts as they were; a copy would be most of the work.
bool Facts::proves(const Expr& condition) const { return is_const(simplify(condition, const_cast<Facts&>(*this)), 1); }

bool Facts::refutes(const Expr& condition) const { return is_const(simplify(condition, const_cast<Facts&>(*this)), 0); }

RangeOf size_ranges(std::vector<SizeRange> sizes) {
  if (sizes.empty()) return {};
  return [sizes = std::move(sizes)](VarId id) {
    const std::size_t k = size_number(id);
    return k < sizes.size() ? Interval{sizes[k].min, sizes[k].max} : Interval{};
  };
}

Interval bounds(const Expr& e, const RangeOf& range) { return Facts(range).bounds(e); }

}  // namespace whet
