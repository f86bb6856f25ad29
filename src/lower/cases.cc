#include "lower/cases.h"

#include "compute/affine.h"
#include "lower/guards.h"

namespace whet {
namespace {

/// at == i, which leaves of the loop over i the iteration that data says.
bool names_a_place(const Expr& condition) {
  for (const Expr& part : conjuncts_of(condition)) {
    const Binary* compare = std::get_if<Binary>(&part->kind);
    if (!compare || compare->op != BinaryOp::eq || compare->a->dtype != DType::i64) continue;
    for (const auto& [atom, factor] : sub(to_affine(compare->a), to_affine(compare->b)).terms)
      if (std::holds_alternative<Var>(atom->kind) && (factor == 1 || factor == -1)) return true;
  }
  return false;
}

/// Whether what is read is of inputs, and the same for all iterations of the reduction.
bool is_fixed(const ComputeDag& dag, const Element& reduction, const Expr& e) {
  bool fixed = true;
  for_each(e, [&](const Expr& part) {
    if (const Load* load = std::get_if<Load>(&part->kind))
      fixed = fixed && dag.op(OpId(load->source.value)).is_placeholder();
    const Var* v = std::get_if<Var>(&part->kind);
    if (v && v->id.valid()) fixed = fixed && v->id.index() < reduction.axes.size();
  });
  return fixed;
}

/// begin[j] + e < end[j]: a sum in which a reduce axis counts, and no data depends on one.
bool bounds_the_reduction(const ComputeDag& dag, const Element& reduction, const Expr& condition) {
  for (const Expr& part : conjuncts_of(condition)) {
    const std::optional<Affine> sum = nonnegative_sum(part);
    if (!sum) return false;
    bool counts = false;
    for (const auto& [atom, factor] : sum->terms) {
      const Var* v = std::get_if<Var>(&atom->kind);
      const bool reduced = v && v->id.index() >= reduction.axes.size() &&
                           v->id.index() < reduction.axes.size() + reduction.reduce_axes.size();
      if (!reduced && !v && !is_fixed(dag, reduction, atom)) return false;
      counts = counts || reduced;
    }
    if (!counts) return false;
  }
  return true;
}

/// Instructions add up several products of these.
bool goes_by_words(DType dtype) { return size_of(dtype) == 1 || dtype == DType::bf16 || dtype == DType::i16; }

Expr take_padding(const ComputeDag& dag, const Element& reduction, const Expr& body, std::vector<Expr>& conditions) {
  const Reducer reducer = *reduction.reducer;
  const Select* s = std::get_if<Select>(&body->kind);
  if (s && same(s->if_false, identity_of(reducer, body->dtype)) &&
      (!reads_data(s->condition) || names_a_place(s->condition) ||
       bounds_the_reduction(dag, reduction, s->condition))) {
    conditions.push_back(s->condition);
    return take_padding(dag, reduction, s->if_true, conditions);
  }
  // 0 of bytes, bf16 or i16 is 0 of the sums that they are widened to.
  if (const Cast* wide = std::get_if<Cast>(&body->kind);
      reducer == Reducer::sum && wide && goes_by_words(wide->a->dtype))
    return cast(body->dtype, take_padding(dag, reduction, wide->a, conditions));
  const Binary* product = std::get_if<Binary>(&body->kind);
  if (reducer == Reducer::sum && product && product->op == BinaryOp::mul) {
    const Expr a = take_padding(dag, reduction, product->a, conditions);
    return a * take_padding(dag, reduction, product->b, conditions);
  }
  return body;
}

}  // namespace

Expr take_padding(const ComputeDag& dag, const Element& reduction, std::vector<Expr>& conditions) {
  return take_padding(dag, reduction, reduction.body, conditions);
}

namespace {

/// `rewrite` of what computes a value, not of where it is read.
Expr rewrite_value(const Expr& e, const std::function<Expr(const Expr&)>& change) {
  return rewrite(e, [&](const Expr& part) { return std::holds_alternative<Load>(part->kind) ? part : change(part); });
}

bool loads(const Expr& e) {
  bool found = false;
  for_each(e, [&](const Expr& part) { found = found || std::holds_alternative<Load>(part->kind); });
  return found;
}

/// What decides between tensors (the parts of a concatenation) somewhere in `value`.
std::optional<Expr> choice_in(const Expr& value) {
  std::optional<Expr> found;
  rewrite_value(value, [&](const Expr& part) -> Expr {
    const Select* s = std::get_if<Select>(&part->kind);
    if (!found && s && !reads_data(s->condition) && loads(s->if_true) && loads(s->if_false)) found = s->condition;
    return found ? part : Expr();
  });
  return found;
}

Expr decided(const Expr& value, const Expr& condition, bool holds) {
  return rewrite_value(value, [&](const Expr& part) -> Expr {
    const Select* s = std::get_if<Select>(&part->kind);
    if (!s || !same(s->condition, condition)) return {};
    return decided(holds ? s->if_true : s->if_false, condition, holds);
  });
}

/// Two choices of many tensors each, inside of a value, would be as many cases as pairs of them.
constexpr int kMaxInnerCases = 100;

Stmt store_by_cases(const Store& store, int& inner_cases) {
  const Select* s = std::get_if<Select>(&store.value->kind);
  const bool outermost = s && !reads_data(s->condition);
  const std::optional<Expr> condition = outermost ? s->condition : choice_in(store.value);
  if (!condition || (!outermost && ++inner_cases > kMaxInnerCases)) return make_stmt(store);
  Store then_store = store, else_store = store;
  then_store.value = decided(store.value, *condition, true);
  else_store.value = decided(store.value, *condition, false);
  return make_stmt(If{*condition, store_by_cases(then_store, inner_cases), store_by_cases(else_store, inner_cases)});
}

}  // namespace

Stmt store_by_cases(const Store& store) {
  int inner_cases = 0;
  return store_by_cases(store, inner_cases);
}

bool reads_data(const Expr& e) {
  bool reads = e->lanes != 1;
  for_each(
      e, [&](const Expr& part) { reads = reads || std::holds_alternative<Load>(part->kind) || is_float(part->dtype); });
  return reads;
}

}  // namespace whet
