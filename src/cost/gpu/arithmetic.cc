#include "cost/gpu/arithmetic.h"

#include <algorithm>
#include <vector>

namespace whet {
namespace {

bool is_arithmetic(const Expr& e) { return std::holds_alternative<Binary>(e->kind) && is_float(e->dtype); }

/// What `e` chooses by, where it compares that with a constant.
const Expr* chosen_by(const Select& select) {
  const Binary* condition = std::get_if<Binary>(&select.condition->kind);
  return condition && condition->op == BinaryOp::eq && as_int(condition->b) ? &condition->a : nullptr;
}

/// The branches of a choice by one number; a single one where `e` is none.
std::vector<Expr> branches_of(const Expr& e) {
  std::vector<Expr> branches;
  Expr rest = e;
  const Expr* by = nullptr;
  while (const Select* select = std::get_if<Select>(&rest->kind)) {
    const Expr* here = chosen_by(*select);
    if (!here || (by && !same(*by, *here))) break;
    by = here;
    branches.push_back(select->if_true);
    rest = Expr(select->if_false);
  }
  branches.push_back(rest);
  return branches;
}

/// Different operations of some expressions.
class Distinct {
 public:
  void add(const Expr& e) {
    if (std::any_of(seen_.begin(), seen_.end(), [&](const Expr& other) { return same(other, e); })) return;
    seen_.push_back(e);
    if (const Binary* b = std::get_if<Binary>(&e->kind)) return add_binary(*b, e);
    if (const Select* s = std::get_if<Select>(&e->kind)) add(s->if_true), add(s->if_false);
    if (const Unary* u = std::get_if<Unary>(&e->kind)) add(u->a);
  }
  double count() const { return count_; }

 private:
  static bool is_product(const Expr& e) {
    const Binary* b = std::get_if<Binary>(&e->kind);
    return b && b->op == BinaryOp::mul && is_float(e->dtype);
  }
  void add_binary(const Binary& b, const Expr& e) {
    add(b.a), add(b.b);
    const bool sums = b.op == BinaryOp::add || b.op == BinaryOp::sub;
    if (!is_arithmetic(e)) return;
    count_ += sums && (is_product(b.a) || is_product(b.b)) ? 0 : 1;
  }

  std::vector<Expr> seen_;
  double count_ = 0;
};

}  // namespace

double arithmetic_of(const Expr& e) {
  if (const Unary* u = std::get_if<Unary>(&e->kind)) return arithmetic_of(u->a);
  if (const Cast* c = std::get_if<Cast>(&e->kind)) return arithmetic_of(c->a);
  if (const Binary* b = std::get_if<Binary>(&e->kind))
    return (is_arithmetic(e) ? 1 : 0) + arithmetic_of(b->a) + arithmetic_of(b->b);
  if (const Call* call = std::get_if<Call>(&e->kind)) {
    double sum = 0;
    for (const Expr& a : call->args) sum += arithmetic_of(a);
    return sum;
  }
  const Select* select = std::get_if<Select>(&e->kind);
  if (!select) return 0;
  const std::vector<Expr> branches = branches_of(e);
  if (branches.size() == 1) return arithmetic_of(select->if_true) + arithmetic_of(select->if_false);
  Distinct all;
  for (const Expr& branch : branches) all.add(branch);
  return all.count() / static_cast<double>(branches.size());
}

}  // namespace whet
