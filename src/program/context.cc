#include "program/context.h"

namespace whet {

bool has_load(const Expr& e) {
  bool found = false;
  for_each(e, [&](const Expr& x) { found = found || std::holds_alternative<Load>(x->kind); });
  return found;
}

void enter(Facts& facts, const Loop& n) {
  const Expr last = to_expr(add(to_affine(n.min), to_affine(n.extent - 1)));
  if (has_load(n.min) || has_load(n.extent)) {
    facts.bind(n.index, Interval{facts.bounds(n.min).min, facts.bounds(last).max});
    return;
  }
  facts.bind(n.index, n.min, last);
  if (!as_int(n.extent)) facts.assume(n.extent >= int_const(1));
}

void enter(Facts& facts, const Let& n) {
  if (n.value->dtype != DType::i64 || n.value->lanes != 1) return;
  if (has_load(n.value)) {
    facts.bind(n.var, facts.bounds(n.value));
  } else {
    facts.bind(n.var, n.value, n.value);
  }
}

void enter_if(Facts& facts, const Expr& condition) {
  const auto* n = std::get_if<Binary>(&condition->kind);
  if (n && n->op == BinaryOp::logical_and) {
    enter_if(facts, n->a);
    enter_if(facts, n->b);
  } else if (!has_load(condition)) {
    facts.assume(condition);
  }
}

void enter_else(Facts& facts, const Expr& condition) {
  const auto* n = std::get_if<Binary>(&condition->kind);
  if (n && n->op == BinaryOp::logical_or) {
    enter_else(facts, n->a);
    enter_else(facts, n->b);
  } else if (!has_load(condition)) {
    facts.assume_not(condition);
  }
}

}  // namespace whet
