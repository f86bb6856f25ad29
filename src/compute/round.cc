#include "compute/round.h"

#include <algorithm>

namespace whet {
namespace {

/// What is in the way, or nothing.
const char* obstacle(const ComputeDag& dag, OpId id, MathFn rounding) {
  const Op& op = dag.op(id);
  if (rounding != MathFn::round_f16 && rounding != MathFn::round_tf32) return "cannot be rounded so";
  if (op.is_placeholder()) return "is an input, which is as the caller gives it";
  if (std::find(dag.outputs.begin(), dag.outputs.end(), id) != dag.outputs.end())
    return "is an output, which is as the caller wants it";
  if (op.element().reducer) return "is a reduction, which ends after its last term";
  if (op.dtype != DType::f32) return "is not f32";
  return nullptr;
}

}  // namespace

Result<ComputeDag> round_elements(const ComputeDag& dag, OpId op, MathFn rounding) {
  if (const char* const wrong = obstacle(dag, op, rounding)) return Error{wrong};
  ComputeDag changed = dag;
  Op& rounded = changed.op(op);
  if (rounding == MathFn::round_tf32) {
    rounded.element().body = call(rounding, {rounded.element().body});
    return changed;
  }
  rounded.dtype = DType::f16;
  rounded.element().body = cast(DType::f16, rounded.element().body);
  for (const OpId reader : consumers_of(dag, op)) {
    Element& element = changed.op(reader).element();
    element.body = rewrite(element.body, [&](const Expr& part) -> Expr {
      const Load* read = std::get_if<Load>(&part->kind);
      if (!read || read->source.value != op.value) return {};
      return cast(DType::f32, load(DType::f16, read->source, read->index));
    });
  }
  return changed;
}

bool is_rounded(const ComputeDag& dag, OpId id, MathFn rounding) {
  if (dag.op(id).is_placeholder() || dag.op(id).element().reducer) return false;
  const Expr& body = dag.op(id).element().body;
  const auto holds = [&](const Expr& e) {
    if (is_const(e, 0)) return true;
    if (const Call* call = std::get_if<Call>(&e->kind)) return call->fn == rounding;
    const Load* read = std::get_if<Load>(&e->kind);
    return read && is_rounded(dag, OpId(read->source.value), rounding);
  };
  const Select* choice = std::get_if<Select>(&body->kind);
  return choice ? holds(choice->if_true) && holds(choice->if_false) : holds(body);
}

bool widens_weights(const ComputeDag& dag, DType half) {
  return std::ranges::any_of(dag.ops, [&](const Op& op) {
    if (op.is_placeholder() || op.element().reducer != Reducer::sum || op.dtype != DType::f32) return false;
    bool weights = false, singles = false, others = false;
    for_each(op.element().body, [&](const Expr& part) {
      const auto* read = std::get_if<Load>(&part->kind);
      if (read == nullptr) return;
      if (part->dtype == half && is_constant(dag, OpId(read->source.value)))
        weights = true;
      else
        (part->dtype == DType::f32 ? singles : others) = true;
    });
    return weights && singles && !others;
  });
}

bool multiplies_halves(const ComputeDag& dag, DType half) {
  bool halves = false, others = false;
  for (const Op& op : dag.ops) {
    if (op.is_placeholder() || op.element().reducer != Reducer::sum || op.dtype != DType::f32) continue;
    const Binary* product = std::get_if<Binary>(&op.element().body->kind);
    if (!product || product->op != BinaryOp::mul) continue;
    for_each(op.element().body, [&](const Expr& part) {
      if (std::holds_alternative<Load>(part->kind)) (part->dtype == half ? halves : others) = true;
    });
  }
  return halves && !others;
}

}  // namespace whet
