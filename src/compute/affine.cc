#include "compute/affine.h"

#include <algorithm>

namespace whet {
namespace {

std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// -1, 0 or 1: variables by id, then the others by hash. 0 is answered for equal atoms alone.
int compare_atoms(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return 0;
  const auto* x = std::get_if<Var>(&a->kind);
  const auto* y = std::get_if<Var>(&b->kind);
  if (x && y) return x->id == y->id ? 0 : x->id < y->id ? -1 : 1;
  if (x || y) return x ? -1 : 1;
  if (same(a, b)) return 0;
  return hash(a) < hash(b) ? -1 : 1;
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

Expr times(const Expr& atom, std::int64_t coefficient) { return coefficient == 1 ? atom : atom * coefficient; }

}  // namespace

std::int64_t Affine::coefficient(const Expr& atom) const {
  for (const auto& [other, value] : terms) {
    if (same(other, atom)) return value;
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
  if (const auto* c = std::get_if<IntConst>(&e->kind)) return {{}, c->value};
  if (const auto* n = std::get_if<Unary>(&e->kind)) return scale(to_affine(n->a), -1);
  if (const auto* n = std::get_if<Binary>(&e->kind)) {
    if (n->op == BinaryOp::add) return add(to_affine(n->a), to_affine(n->b));
    if (n->op == BinaryOp::sub) return sub(to_affine(n->a), to_affine(n->b));
    if (n->op == BinaryOp::mul) {
      const Affine a = to_affine(n->a), b = to_affine(n->b);
      if (b.is_constant()) return scale(a, b.constant);
      if (a.is_constant()) return scale(b, a.constant);
    }
  }
  return {{{e, 1}}, 0};
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
