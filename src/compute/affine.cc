#include "compute/affine.h"

#include <algorithm>
#include <bit>

namespace whet {
namespace {

std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

int sign(std::int64_t a, std::int64_t b) { return a < b ? -1 : a > b; }

int compare(const Expr& a, const Expr& b);

int compare(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare(a[i], b[i])) return order;
  }
  return 0;
}

/// A total order of expressions that decides near the top, where most differ; 0 for equal structure alone.
int compare(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return 0;
  if (!a.defined() || !b.defined()) return a.defined() ? 1 : -1;
  if (const int order = sign(static_cast<std::int64_t>(a->kind.index()), static_cast<std::int64_t>(b->kind.index()))) {
    return order;
  }
  if (a->dtype != b->dtype) return a->dtype < b->dtype ? -1 : 1;
  if (a->lanes != b->lanes) return a->lanes < b->lanes ? -1 : 1;
  auto first_of = [](int x, auto&& next) { return x != 0 ? x : next(); };
  return std::visit(
      Match{
          [&](const IntConst& x) { return sign(x.value, std::get<IntConst>(b->kind).value); },
          [&](const FloatConst& x) {
            return sign(std::bit_cast<std::int64_t>(x.value),
                        std::bit_cast<std::int64_t>(std::get<FloatConst>(b->kind).value));
          },
          [&](const Var& x) { return sign(x.id.value, std::get<Var>(b->kind).id.value); },
          [&](const Unary& x) {
            const auto& y = std::get<Unary>(b->kind);
            return first_of(sign(static_cast<int>(x.op), static_cast<int>(y.op)), [&] { return compare(x.a, y.a); });
          },
          [&](const Binary& x) {
            const auto& y = std::get<Binary>(b->kind);
            return first_of(sign(static_cast<int>(x.op), static_cast<int>(y.op)),
                            [&] { return first_of(compare(x.a, y.a), [&] { return compare(x.b, y.b); }); });
          },
          [&](const Select& x) {
            const auto& y = std::get<Select>(b->kind);
            return compare({x.condition, x.if_true, x.if_false}, {y.condition, y.if_true, y.if_false});
          },
          [&](const Cast& x) { return compare(x.a, std::get<Cast>(b->kind).a); },
          [&](const Call& x) {
            const auto& y = std::get<Call>(b->kind);
            return first_of(sign(static_cast<int>(x.fn), static_cast<int>(y.fn)),
                            [&] { return compare(x.args, y.args); });
          },
          [&](const Load& x) {
            const auto& y = std::get<Load>(b->kind);
            return first_of(sign(x.source.value, y.source.value), [&] {
              return first_of(compare(x.index, y.index), [&] { return compare(x.mask, y.mask); });
            });
          },
          [&](const Ramp& x) {
            const auto& y = std::get<Ramp>(b->kind);
            return first_of(sign(x.stride, y.stride), [&] { return compare(x.base, y.base); });
          },
          [&](const Broadcast& x) { return compare(x.a, std::get<Broadcast>(b->kind).a); },
      },
      a->kind);
}

/// Variables first, by id.
int compare_atoms(const Expr& a, const Expr& b) {
  const auto* x = std::get_if<Var>(&a->kind);
  const auto* y = std::get_if<Var>(&b->kind);
  if (x && y) return sign(x->id.value, y->id.value);
  if (x || y) return x ? -1 : 1;
  return compare(a, b);
}

Affine combine(const Affine& a, const Affine& b, std::int64_t factor) {
  Affine sum;
  sum.constant = wrap_add(a.constant, wrap_mul(b.constant, factor));
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    const int order = i == a.terms.end() ? 1 : j == b.terms.end() ? -1 : compare_atoms(i->first, j->first);
    if (order < 0) {
      sum.terms.push_back(*i++);
    } else if (order > 0) {
      sum.terms.emplace_back(j->first, wrap_mul(j->second, factor));
      ++j;
    } else {
      const std::int64_t coefficient = wrap_add(i->second, wrap_mul(j->second, factor));
      if (coefficient != 0) sum.terms.emplace_back(i->first, coefficient);
      ++i, ++j;
    }
  }
  return sum;
}

/// Brings the terms in order, each atom once.
void sort_terms(Affine& sum) {
  auto& terms = sum.terms;
  if (terms.size() > 1) {
    const auto before = [](const auto& x, const auto& y) { return compare_atoms(x.first, y.first) < 0; };
    for (auto i = terms.begin(); i != terms.end(); ++i)  // they are few
      std::rotate(std::upper_bound(terms.begin(), i, *i, before), i, i + 1);
    std::size_t last = 0;
    for (std::size_t i = 1; i < terms.size(); ++i) {
      if (compare_atoms(terms[last].first, terms[i].first) == 0)
        terms[last].second = wrap_add(terms[last].second, terms[i].second);
      else if (++last != i)
        terms[last] = std::move(terms[i]);
    }
    terms.resize(last + 1);
  }
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
}

/// Adds factor * e to `sum`, whose terms are brought in order afterwards.
void gather(const Expr& e, std::int64_t factor, Affine& sum) {
  if (const auto* c = std::get_if<IntConst>(&e->kind)) {
    sum.constant = wrap_add(sum.constant, wrap_mul(c->value, factor));
    return;
  }
  if (const auto* n = std::get_if<Unary>(&e->kind)) return gather(n->a, wrap_mul(factor, -1), sum);
  if (const auto* n = std::get_if<Binary>(&e->kind)) {
    if (n->op == BinaryOp::add || n->op == BinaryOp::sub) {
      gather(n->a, factor, sum);
      return gather(n->b, n->op == BinaryOp::add ? factor : wrap_mul(factor, -1), sum);
    }
    if (n->op == BinaryOp::mul) {
      if (const auto* c = std::get_if<IntConst>(&n->b->kind)) return gather(n->a, wrap_mul(factor, c->value), sum);
      const Affine a = to_affine(n->a), b = to_affine(n->b);
      if (a.is_constant() || b.is_constant()) {
        const Affine part = scale(b.is_constant() ? a : b, wrap_mul(factor, b.is_constant() ? b.constant : a.constant));
        sum.constant = wrap_add(sum.constant, part.constant);
        sum.terms.insert(sum.terms.end(), part.terms.begin(), part.terms.end());
        return;
      }
    }
  }
  sum.terms.emplace_back(e, factor);
}

/// Sums, differences and products of variables with constants.
bool is_sum_of_variables(const Expr& e) {
  if (std::holds_alternative<IntConst>(e->kind) || std::holds_alternative<Var>(e->kind)) return true;
  const auto* n = std::get_if<Binary>(&e->kind);
  if (!n || !is_sum_of_variables(n->a)) return false;
  if (n->op == BinaryOp::mul) return std::holds_alternative<IntConst>(n->b->kind);
  return (n->op == BinaryOp::add || n->op == BinaryOp::sub) && is_sum_of_variables(n->b);
}

/// The variable of x or x*2; nothing of anything else.
const Var* written_term(const Expr& e) {
  if (const auto* v = std::get_if<Var>(&e->kind)) return v;
  const auto* n = std::get_if<Binary>(&e->kind);
  if (!n || n->op != BinaryOp::mul) return nullptr;
  const auto* factor = std::get_if<IntConst>(&n->b->kind);
  return factor && factor->value > 1 ? std::get_if<Var>(&n->a->kind) : nullptr;
}

Expr times(const Expr& atom, std::int64_t coefficient) { return coefficient == 1 ? atom : atom * coefficient; }

}  // namespace

std::int64_t Affine::coefficient(const Expr& atom) const {
  if (const auto* wanted = std::get_if<Var>(&atom->kind)) {
    for (const auto& [other, value] : terms) {
      const auto* v = std::get_if<Var>(&other->kind);
      if (!v || v->id > wanted->id) return 0;
      if (v->id == wanted->id) return value;
    }
    return 0;
  }
  for (auto term = terms.rbegin(); term != terms.rend() && !std::holds_alternative<Var>(term->first->kind); ++term) {
    if (same(term->first, atom)) return term->second;
  }
  return 0;
}

Affine add(const Affine& a, const Affine& b) { return combine(a, b, 1); }
Affine sub(const Affine& a, const Affine& b) { return combine(a, b, -1); }

Affine scale(const Affine& a, std::int64_t factor) {
  if (factor == 0) return {};
  Affine out = a;
  out.constant = wrap_mul(out.constant, factor);
  for (auto& [atom, coefficient] : out.terms) coefficient = wrap_mul(coefficient, factor);
  return out;
}

bool same(const Affine& a, const Affine& b) {
  return a.constant == b.constant &&
         std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [](const auto& x, const auto& y) { return x.second == y.second && same(x.first, y.first); });
}

Affine to_affine(const Expr& e) {
  WHET_CHECK(e->dtype == DType::i64 && e->lanes == 1, "affine forms are of i64 scalars");
  Affine sum;
  gather(e, 1, sum);
  sort_terms(sum);
  return sum;
}

std::optional<Affine> sum_of_variables(const Expr& e) {
  return is_sum_of_variables(e) ? std::optional(to_affine(e)) : std::nullopt;
}

// From the end: the constant, negative terms and positive terms, each by falling ids.
bool is_written_sum(const Expr& e) {
  const Expr* rest = &e;
  auto step = [&]() -> const Binary* {
    const auto* n = std::get_if<Binary>(&(*rest)->kind);
    return n && (n->op == BinaryOp::add || n->op == BinaryOp::sub) ? n : nullptr;
  };
  if (const Binary* n = step()) {
    const auto* constant = std::get_if<IntConst>(&n->b->kind);
    if (constant && constant->value <= 0) return false;
    if (constant) rest = &n->a;
  }
  BinaryOp sign = BinaryOp::sub;
  const Var* after = nullptr;  // of the same sign
  std::uint64_t seen = 0;
  auto next = [&](const Expr& term, BinaryOp its_sign) {
    const Var* v = written_term(term);
    if (!v || (seen & var_bit(v->id)) != 0 || (its_sign == BinaryOp::sub && sign == BinaryOp::add)) return false;
    if (its_sign == sign && after && after->id < v->id) return false;
    sign = its_sign, after = v, seen |= var_bit(v->id);
    return true;
  };
  while (const Binary* n = step()) {
    if (!next(n->b, n->op)) return false;
    rest = &n->a;
  }
  return next(*rest, BinaryOp::add);
}

Expr to_expr(const Affine& a) {
  Expr sum;
  for (const auto& [atom, coefficient] : a.terms) {
    if (coefficient > 0) sum = sum.defined() ? sum + times(atom, coefficient) : times(atom, coefficient);
  }
  std::int64_t constant = a.constant;
  for (const auto& [atom, coefficient] : a.terms) {
    if (coefficient > 0) continue;
    if (!sum.defined() && constant != 0) {
      sum = int_const(constant);
      constant = 0;
    }
    sum = sum.defined() ? sum - times(atom, -coefficient) : times(atom, coefficient);
  }
  if (!sum.defined()) return int_const(constant);
  return constant < 0 ? sum - (-constant) : sum + constant;
}

}  // namespace whet
