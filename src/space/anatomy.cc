#include "space/anatomy.h"

#include <algorithm>

namespace whet {
namespace {

int reads(const ComputeDag& dag, OpId reader, OpId source) {
  int count = 0;
  for_each(dag.op(reader).element().body, [&](const Expr& part) {
    const Load* l = std::get_if<Load>(&part->kind);
    count += l && l->source.value == source.value;
  });
  return count;
}

}  // namespace

double body_cost(const Expr& body) {
  double cost = 0;
  for_each(body, [&](const Expr& part) {
    if (!is_float(part->dtype)) return;
    if (std::holds_alternative<Call>(part->kind)) cost += 12;
    if (const Binary* b = std::get_if<Binary>(&part->kind)) cost += b->op == BinaryOp::div ? 4 : 1;
  });
  return cost;
}

std::optional<Anatomy> find_anatomy(const ComputeDag& dag) {
  if (dag.outputs.size() != 1) return std::nullopt;
  Anatomy anatomy;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    if (dag.ops[i].is_placeholder() || !dag.ops[i].element().reducer) continue;
    if (anatomy.anchor.valid()) return std::nullopt;
    anatomy.anchor = OpId(static_cast<std::int64_t>(i));
  }
  if (!anatomy.anchor.valid()) return std::nullopt;
  const OpId output = dag.outputs.front();
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (dag.op(op).is_placeholder() || op == anatomy.anchor) continue;
    if (op < anatomy.anchor)
      anatomy.before.push_back(op);
    else if (op != output)
      anatomy.after.push_back(op);
  }
  if (output != anatomy.anchor) anatomy.output = output;
  // Ops before the anchor must be for the anchor alone, and cheap enough to be computed at each of its reads.
  for (OpId op : anatomy.before) {
    for (OpId consumer : consumers_of(dag, op))
      if (consumer > anatomy.anchor) return std::nullopt;
    if (body_cost(dag.op(op).element().body) > 2) return std::nullopt;
  }
  for (OpId input : inputs_of(dag, anatomy.anchor))
    if (dag.op(input).is_placeholder() && is_constant(dag, input) && reads(dag, anatomy.anchor, input) == 1)
      anatomy.constants.push_back(input);
  return anatomy;
}

}  // namespace whet
