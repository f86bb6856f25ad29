#include <numeric>

#include "compute/affine.h"

namespace whet {
namespace {

/// 0 op r + k as r (op turned round) -k.
Expr mirrored(BinaryOp op, Affine right, Affine left) {
  left.constant -= right.constant;
  right.constant = 0;
  const Expr a = to_expr(right), b = to_expr(left);
  switch (op) {
    case BinaryOp::lt:
      return a > b;
    case BinaryOp::le:
      return a >= b;
    case BinaryOp::gt:
      return a < b;
    case BinaryOp::ge:
      return a <= b;
    default:
      return binary(op, a, b);
  }
}

class Simplifier {
 public:
  explicit Simplifier(Facts& facts) : facts_(facts) {}

  Expr run(const Expr& e) {
    if (e->lanes > 1) return e->dtype == DType::boolean ? condition(e) : inside(e);
    const Facts::ScalarView view(facts_);
    if (e->dtype == DType::i64) return index(e);
    if (e->dtype == DType::boolean) return condition(e);
    return inside(e);
  }

 private:
  static Affine constant(std::int64_t value) { return {{}, value}; }

  /// An i64 scalar. Comes back as it is when nothing in it changes.
  Expr index(const Expr& e) {
    if (std::holds_alternative<IntConst>(e->kind) || std::holds_alternative<Var>(e->kind)) return e;
    if (is_written_sum(e)) return e;
    const Expr canonical = to_expr(affine(e));
    return same(canonical, e) ? e : canonical;
  }

  Affine affine(const Expr& e) {
    if (std::optional<Affine> sum = sum_of_variables(e)) return *std::move(sum);
    if (const auto* n = std::get_if<Unary>(&e->kind)) return scale(affine(n->a), -1);
    if (const auto* n = std::get_if<Binary>(&e->kind)) return affine(*n);
    if (const auto* n = std::get_if<Select>(&e->kind)) return to_affine(choice(*n));
    return to_affine(inside(e));
  }

  Affine affine(const Binary& n) {
    const Affine a = affine(n.a), b = affine(n.b);
    switch (n.op) {
      case BinaryOp::add:
        return merged(add(a, b));
      case BinaryOp::sub:
        return merged(sub(a, b));
      case BinaryOp::mul:
        if (b.is_constant()) return scale(a, b.constant);
        if (a.is_constant()) return scale(b, a.constant);
        return to_affine(to_expr(a) * to_expr(b));
      case BinaryOp::floordiv:
        if (b.is_constant() && b.constant > 0) return quotient(a, b.constant);
        return to_affine(floordiv(to_expr(a), to_expr(b)));
      case BinaryOp::floormod:
        if (b.is_constant() && b.constant > 0) return remainder(a, b.constant);
        return to_affine(floormod(to_expr(a), to_expr(b)));
      case BinaryOp::min:
        return smaller(a, b, true);
      case BinaryOp::max:
        return smaller(a, b, false);
      default:
        return to_affine(binary(n.op, to_expr(a), to_expr(b)));
    }
  }

  /// c*(x // c) + x % c is x.
  static Affine merged(Affine a) {
    for (std::size_t i = 0; i < a.terms.size(); ++i) {
      const auto* mod = std::get_if<Binary>(&a.terms[i].first->kind);
      if (!mod || mod->op != BinaryOp::floormod || !as_int(mod->b)) continue;
      const Expr quotient = floordiv(mod->a, mod->b);
      const std::int64_t factor = a.terms[i].second;
      if (a.coefficient(quotient) != factor * *as_int(mod->b)) continue;
      const Affine pair = add(to_affine(mod->a), scale(to_affine(quotient), -*as_int(mod->b)));
      const Affine rest = sub(a, scale(to_affine(a.terms[i].first), factor));
      return merged(add(rest, scale(pair, factor)));
    }
    return a;
  }

  /// a = c * `multiple` + `rest`, with 0 <= rest.constant < c.
  static void split(const Affine& a, std::int64_t c, Affine& multiple, Affine& rest) {
    multiple.constant = floor_div(a.constant, c);
    rest.constant = floor_mod(a.constant, c);
    for (const auto& [atom, coefficient] : a.terms) {
      if (coefficient % c == 0) {
        multiple.terms.emplace_back(atom, coefficient / c);
      } else {
        rest.terms.emplace_back(atom, coefficient);
      }
    }
  }

  /// Finds g > 1, a divisor of c, with a = g * q + r and 0 <= r < g proven; 1 when there is none.
  std::int64_t common_divisor(const Affine& a, std::int64_t c, Affine& q, Affine& r) {
    for (const auto& [atom, coefficient] : a.terms) {
      const std::int64_t g = std::gcd(coefficient, c);
      if (g == 1) continue;
      q = r = Affine();
      split(a, g, q, r);
      if (in_range(r, g)) return g;
    }
    return 1;
  }

  bool in_range(const Affine& a, std::int64_t end) {
    return facts_.proves_nonnegative(a) && facts_.proves_nonnegative(sub(constant(end - 1), a));
  }

  Affine quotient(const Affine& a, std::int64_t c) {
    if (c == 1) return a;
    Affine whole, rest;
    split(a, c, whole, rest);
    const Interval range = facts_.bounds(rest);
    if (range.min && range.max && floor_div(*range.min, c) == floor_div(*range.max, c)) {
      whole.constant += floor_div(*range.min, c);
      return whole;
    }
    Affine q, r;
    if (const std::int64_t g = common_divisor(rest, c, q, r); g > 1) return merged(add(whole, quotient(q, c / g)));
    const Expr numerator = to_expr(rest);
    if (const auto* inner = std::get_if<Binary>(&numerator->kind); inner && inner->op == BinaryOp::floordiv) {
      const std::int64_t* divisor = as_int(inner->b);
      if (divisor && *divisor > 0) return merged(add(whole, quotient(to_affine(inner->a), c * *divisor)));
    }
    return merged(add(whole, to_affine(floordiv(numerator, c))));
  }

  Affine remainder(const Affine& a, std::int64_t c) {
    if (c == 1) return {};
    Affine whole, rest;
    split(a, c, whole, rest);
    const Interval range = facts_.bounds(rest);
    if (range.min && range.max && floor_div(*range.min, c) == floor_div(*range.max, c)) {
      rest.constant -= c * floor_div(*range.min, c);
      return rest;
    }
    Affine q, r;
    if (const std::int64_t g = common_divisor(rest, c, q, r); g > 1) return add(scale(remainder(q, c / g), g), r);
    const Expr numerator = to_expr(rest);
    if (const auto* inner = std::get_if<Binary>(&numerator->kind); inner && inner->op == BinaryOp::floormod) {
      if (const std::int64_t* divisor = as_int(inner->b); divisor && *divisor > 0 && *divisor % c == 0) {
        return remainder(to_affine(inner->a), c);
      }
    }
    return to_affine(floormod(numerator, c));
  }

  Affine smaller(const Affine& a, const Affine& b, bool minimum) {
    const Affine difference = sub(b, a);
    if (facts_.proves_nonnegative(difference)) return minimum ? a : b;
    if (facts_.proves_nonnegative(scale(difference, -1))) return minimum ? b : a;
    Expr x = to_expr(a), y = to_expr(b);
    if (a.is_constant()) std::swap(x, y);
    const BinaryOp op = minimum ? BinaryOp::min : BinaryOp::max;
    if (const auto* n = std::get_if<Binary>(&x->kind); n && n->op == op && as_int(n->b) && as_int(y)) {
      return to_affine(binary(op, n->a, binary(op, n->b, y)));
    }
    return to_affine(binary(op, x, y));
  }

  Expr choice(const Select& n) {
    const Expr test = condition(n.condition);
    const auto mark = facts_.mark();
    if (test->lanes > 1) facts_.bind(kLane, Interval{0, test->lanes - 1});
    const auto before = facts_.mark();
    facts_.assume(test);
    const Expr yes = run(n.if_true);
    facts_.rewind(before);
    facts_.assume_not(test);
    const Expr no = run(n.if_false);
    facts_.rewind(mark);
    return same(yes, no) ? yes : select(test, yes, no);
  }

  /// Anything else: its children are simplified.
  Expr inside(const Expr& e) {
    if (const auto* n = std::get_if<Select>(&e->kind)) return choice(*n);
    return rewrite(e, [&](const Expr& x) { return x.get() == e.get() ? Expr() : run(x); });
  }

  Expr condition(const Expr& e) {
    const auto* n = std::get_if<Binary>(&e->kind);
    if (n && n->op == BinaryOp::logical_and) return conjunction(*n);
    if (n && n->op == BinaryOp::logical_or) return disjunction(*n);
    if (n && n->a->dtype == DType::i64)
      return e->lanes > 1 ? lanes_comparison(e) : comparison(n->op, affine(n->a), affine(n->b));
    if (const auto* u = std::get_if<Unary>(&e->kind)) return negation(condition(u->a));
    return inside(e);
  }

  Expr conjunction(const Binary& n) {
    const Expr a = condition(n.a);
    if (is_const(a, 0)) return a;
    const auto mark = facts_.mark();
    facts_.assume(a);
    const Expr b = condition(n.b);
    facts_.rewind(mark);
    return a && b;
  }

  Expr disjunction(const Binary& n) {
    const Expr a = condition(n.a);
    if (is_const(a, 1)) return a;
    const auto mark = facts_.mark();
    facts_.assume_not(a);
    const Expr b = condition(n.b);
    facts_.rewind(mark);
    return a || b;
  }

  static Expr negation(const Expr& e) {
    const auto* n = std::get_if<Binary>(&e->kind);
    if (n && !is_float(n->a->dtype)) {
      switch (n->op) {
        case BinaryOp::lt:
          return n->a >= n->b;
        case BinaryOp::le:
          return n->a > n->b;
        case BinaryOp::gt:
          return n->a <= n->b;
        case BinaryOp::ge:
          return n->a < n->b;
        case BinaryOp::eq:
          return binary(BinaryOp::ne, n->a, n->b);
        case BinaryOp::ne:
          return equal(n->a, n->b);
        default:
          break;
      }
    }
    return unary(UnaryOp::logical_not, e);
  }

  bool nonnegative(Affine a, std::int64_t constant) {
    a.constant += constant;
    return facts_.proves_nonnegative(a);
  }

  /// 1, 0, or -1 for unknown.
  int decide(BinaryOp op, const Affine& less) {  // less = b - a
    const Affine more = scale(less, -1);
    switch (op) {
      case BinaryOp::lt:
        return nonnegative(less, -1) ? 1 : nonnegative(more, 0) ? 0 : -1;
      case BinaryOp::le:
        return nonnegative(less, 0) ? 1 : nonnegative(more, -1) ? 0 : -1;
      case BinaryOp::gt:
        return decide(BinaryOp::lt, more);
      case BinaryOp::ge:
        return decide(BinaryOp::le, more);
      case BinaryOp::eq:
        if (less.is_constant()) return less.constant == 0;
        if (nonnegative(less, -1) || nonnegative(more, -1)) return 0;
        return nonnegative(less, 0) && nonnegative(more, 0) ? 1 : -1;
      case BinaryOp::ne: {
        const int equal = decide(BinaryOp::eq, less);
        return equal < 0 ? -1 : 1 - equal;
      }
      default:
        return -1;
    }
  }

  /// Undecided comparisons stand as `positive terms op negated negative terms + constant`, divided by what all
  /// coefficients share.
  Expr comparison(BinaryOp op, const Affine& a, const Affine& b) {
    const Affine difference = sub(a, b);
    if (const int known = decide(op, scale(difference, -1)); known >= 0) return bool_const(known);
    std::int64_t common = 0;
    for (const auto& [atom, coefficient] : difference.terms) common = std::gcd(common, coefficient);
    Affine left, right;
    for (const auto& [atom, coefficient] : difference.terms) {
      (coefficient > 0 ? left : right).terms.emplace_back(atom, std::abs(coefficient) / common);
    }
    const std::int64_t limit = -difference.constant;  // left*common op right*common + limit
    const bool up = op == BinaryOp::lt || op == BinaryOp::ge;
    if ((op == BinaryOp::eq || op == BinaryOp::ne) && limit % common != 0) return bool_const(op == BinaryOp::ne);
    right.constant = up ? floor_div(limit + common - 1, common) : floor_div(limit, common);
    if (left.is_constant()) return mirrored(op, right, left);
    return binary(op, to_expr(left), to_expr(right));
  }

  Expr lanes_comparison(const Expr& e) {
    const auto mark = facts_.mark();
    facts_.bind(kLane, Interval{0, e->lanes - 1});
    const Expr decided = condition(lane_of(e));
    facts_.rewind(mark);
    return as_int(decided) ? broadcast(decided, e->lanes) : inside(e);
  }

  Facts& facts_;
};

}  // namespace

Expr simplify(const Expr& e, Facts& facts) { return Simplifier(facts).run(e); }

Expr simplify(const Expr& e, const RangeOf& range) {
  Facts facts(range);
  return simplify(e, facts);
}

}  // namespace whet
