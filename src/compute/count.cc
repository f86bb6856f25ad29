#include "compute/dag.h"
#include "compute/scalar.h"

namespace whet {
namespace {

/// Arithmetic and calls on floats.
bool is_operation(const Expr& e) {
  if (!is_float(e->dtype)) return false;
  if (const auto* n = std::get_if<Unary>(&e->kind)) return n->op == UnaryOp::neg;
  if (const auto* n = std::get_if<Binary>(&e->kind)) return !is_comparison(n->op) && !is_logic(n->op);
  return std::holds_alternative<Call>(e->kind);
}

double element_flops(const Op& op) {
  const Element& e = op.element();
  double per_step = e.reducer && is_float(op.dtype) ? 1 : 0;
  for_each(e.body, [&](const Expr& x) { per_step += is_operation(x); });
  double steps = static_cast<double>(num_elements(op.shape));
  for (const Axis& a : e.reduce_axes) steps *= static_cast<double>(a.extent);
  return per_step * steps;
}

double bytes_of(const Op& op) {
  return static_cast<double>(num_elements(op.shape)) * static_cast<double>(size_of(op.dtype));
}

}  // namespace

double flops(const ComputeDag& dag) {
  double total = 0;
  for (const Op& op : dag.ops) total += op.is_placeholder() ? 0 : element_flops(op);
  return total;
}

double bytes(const ComputeDag& dag) {
  double total = 0;
  for (const Op& op : dag.ops) total += op.is_placeholder() ? bytes_of(op) : 0;
  for (OpId id : dag.outputs) total += bytes_of(dag.op(id));
  return total;
}

}  // namespace whet
