#include "compute/count.h"

#include <algorithm>
#include <array>

#include "compute/affine.h"
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

/// How many values an expression of the body takes: the extents of the axes in it, multiplied.
double values_of(const Expr& x, const Element& e) {
  double values = 1;
  const auto axes = static_cast<std::int64_t>(e.axes.size() + e.reduce_axes.size());
  for (std::int64_t a = 0; a < axes; ++a)
    if (uses(x, VarId(a))) values *= static_cast<double>(axis_of(e, AxisId(a)).extent);
  return values;
}

/// Processors multiply and add four bytes, or two bf16 or i16, in the place of one f32. The peak in FLOPS stays the bound of all.
/// Quantized networks add up in i32, where others do so in floats.
std::int64_t products_at_once(const Op& op) {
  const auto* product = std::get_if<Binary>(&op.element().body->kind);
  if (!product || product->op != BinaryOp::mul) return 1;
  const auto both = [&](const auto& is_narrow) {
    return std::ranges::all_of(std::array{product->a, product->b}, [&](const Expr& factor) {
      const auto* wide = std::get_if<Cast>(&factor->kind);
      return wide && is_narrow(wide->a->dtype);
    });
  };
  if (op.dtype == DType::i32 && both([](DType narrow) { return size_of(narrow) == 1; })) return 4;
  if (op.dtype == DType::i32 && both([](DType narrow) { return narrow == DType::i16; })) return 2;
  return op.dtype == DType::f32 && both([](DType narrow) { return narrow == DType::bf16; }) ? 2 : 1;
}

double element_flops(const Op& op) {
  const Element& e = op.element();
  double total = 0;
  for_each(e.body, [&](const Expr& x) { total += is_operation(x) ? values_of(x, e) : 0; });
  if (!e.reducer) return total;
  double steps = static_cast<double>(num_elements(op.shape));
  for (const Axis& a : e.reduce_axes) steps *= static_cast<double>(a.extent);
  const std::int64_t at_once = products_at_once(op);
  if (is_float(op.dtype)) return (total + steps) / static_cast<double>(at_once);
  return at_once > 1 ? total + 2 * steps / static_cast<double>(at_once) : total;
}

double bytes_of(const Op& op) {
  return static_cast<double>(num_elements(op.shape)) * static_cast<double>(size_of(op.dtype));
}

// The same of a DAG with sizes.

Expr extent_of(const Axis& axis) { return axis.size.defined() ? axis.size : int_const(axis.extent); }

Expr elements_of(const Op& op) {
  Expr elements = int_const(1);
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const bool changes = !op.sizes.empty() && op.sizes[d].defined();
    elements = elements * (changes ? op.sizes[d] : int_const(op.shape[d]));
  }
  return elements;
}

Expr values_of_sizes(const Expr& x, const Element& e) {
  Expr values = int_const(1);
  const auto axes = static_cast<std::int64_t>(e.axes.size() + e.reduce_axes.size());
  for (std::int64_t a = 0; a < axes; ++a)
    if (uses(x, VarId(a))) values = values * extent_of(axis_of(e, AxisId(a)));
  return values;
}

Expr element_flops_of_sizes(const Op& op) {
  const Element& e = op.element();
  Expr total = int_const(0);
  for_each(e.body, [&](const Expr& x) {
    // What consists of sizes alone is a constant at each of them.
    if (is_operation(x) && !is_of_sizes(x)) total = total + values_of_sizes(x, e);
  });
  if (!e.reducer) return total;
  Expr steps = elements_of(op);
  for (const Axis& a : e.reduce_axes) steps = steps * extent_of(a);
  const std::int64_t at_once = products_at_once(op);
  if (is_float(op.dtype)) return at_once > 1 ? floordiv(total + steps, at_once) : total + steps;
  return at_once > 1 ? total + floordiv(steps * 2, at_once) : total;
}

}  // namespace

double flops(const ComputeDag& dag) {
  if (is_sized(dag)) return flops(dag_at(dag, dag.at));
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

std::int64_t elements_read(const ComputeDag& dag, OpId id) {
  const std::int64_t all = num_elements(dag.op(id).shape);
  std::int64_t read = 0;
  for (const Op& op : dag.ops) {
    if (op.is_placeholder()) continue;
    std::int64_t times = std::min(all, num_elements(op.shape));
    for (const Axis& axis : op.element().reduce_axes) times = std::min(all, times * axis.extent);
    for_each(op.element().body, [&](const Expr& part) {
      const auto* load = std::get_if<Load>(&part->kind);
      if (load != nullptr && load->source.value == id.value) read = std::min(all, read + times);
    });
  }
  return read;
}

Expr flops_of_sizes(const ComputeDag& dag) {
  Expr total = int_const(0);
  for (const Op& op : dag.ops)
    if (!op.is_placeholder()) total = total + element_flops_of_sizes(op);
  return simplify(total, size_ranges(dag.sizes));
}

Expr bytes_of_sizes(const ComputeDag& dag) {
  Expr total = int_const(0);
  for (const Op& op : dag.ops)
    if (op.is_placeholder()) total = total + elements_of(op) * size_of(op.dtype);
  for (const OpId id : dag.outputs) total = total + elements_of(dag.op(id)) * size_of(dag.op(id).dtype);
  return simplify(total, size_ranges(dag.sizes));
}

}  // namespace whet
