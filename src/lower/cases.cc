#include "lower/cases.h"

namespace whet {

Expr take_padding(const Expr& body, Reducer reducer, std::vector<Expr>& conditions) {
  if (const Select* s = std::get_if<Select>(&body->kind); s && same(s->if_false, identity_of(reducer, body->dtype))) {
    conditions.push_back(s->condition);
    return take_padding(s->if_true, reducer, conditions);
  }
  const Binary* product = std::get_if<Binary>(&body->kind);
  if (reducer == Reducer::sum && product && product->op == BinaryOp::mul) {
    const Expr a = take_padding(product->a, reducer, conditions), b = take_padding(product->b, reducer, conditions);
    return a * b;
  }
  return body;
}

Stmt store_by_cases(const Store& store) {
  const Select* s = std::get_if<Select>(&store.value->kind);
  if (!s || reads_data(s->condition)) return make_stmt(store);
  Store then_store = store, else_store = store;
  then_store.value = s->if_true, else_store.value = s->if_false;
  return make_stmt(If{s->condition, store_by_cases(then_store), store_by_cases(else_store)});
}

bool reads_data(const Expr& e) {
  bool reads = e->lanes != 1;
  for_each(
      e, [&](const Expr& part) { reads = reads || std::holds_alternative<Load>(part->kind) || is_float(part->dtype); });
  return reads;
}

}  // namespace whet
