#include "compute/softmax_product.h"

#include <algorithm>
#include <utility>

namespace whet {
namespace {

/// x of f16(x) or bf16(x).
Expr unrounded(const Expr& e) {
  const Cast* cast = std::get_if<Cast>(&e->kind);
  return cast && is_half(e->dtype) ? cast->a : e;
}

/// Of e, or of e widened from 16 bits.
const Load* load_of(const Expr& e) { return std::get_if<Load>(&unwidened(e)->kind); }

/// The axes of the element that index the load, in order; nothing where an index is no axis.
std::optional<std::vector<std::int64_t>> axes_read(const Load& load) {
  std::vector<std::int64_t> axes;
  for (const Expr& index : load.index) {
    const Var* v = std::get_if<Var>(&index->kind);
    if (!v) return std::nullopt;
    axes.push_back(v->id.value);
  }
  return axes;
}

/// `e` reads an op at the element's axes 0, 1, ..., count - 1.
std::optional<OpId> read_at_own_axes(const Expr& e, std::size_t count) {
  const Load* load = load_of(e);
  if (!load || load->index.size() != count) return std::nullopt;
  const auto axes = axes_read(*load);
  if (!axes) return std::nullopt;
  for (std::size_t k = 0; k < count; ++k)
    if ((*axes)[k] != static_cast<std::int64_t>(k)) return std::nullopt;
  return OpId(load->source.value);
}

/// The op reduces what it reads at its own axes along the last one.
std::optional<OpId> reduced_row(const ComputeDag& dag, OpId op, Reducer reducer) {
  if (dag.op(op).is_placeholder()) return std::nullopt;
  const Element& e = dag.op(op).element();
  if (e.reducer != reducer || e.reduce_axes.size() != 1) return std::nullopt;
  return read_at_own_axes(e.body, e.axes.size() + 1);
}

const Binary* operands_of(const Expr& e, BinaryOp op) {
  const Binary* found = std::get_if<Binary>(&e->kind);
  return found && found->op == op ? found : nullptr;
}

/// a and b of a / b or a * (1 / b).
struct Quotient {
  Expr a, b;
};
std::optional<Quotient> quotient_of(const Expr& e) {
  if (const Binary* quotient = operands_of(e, BinaryOp::div)) return Quotient{quotient->a, quotient->b};
  const Binary* product = operands_of(e, BinaryOp::mul);
  const Binary* reciprocal = product ? operands_of(product->b, BinaryOp::div) : nullptr;
  if (!reciprocal || !is_const(reciprocal->a, 1)) return std::nullopt;
  return Quotient{product->a, reciprocal->b};
}

/// e = exp(t - m), m the maximum of t.
bool find_exponentials(const ComputeDag& dag, SoftmaxProduct& p) {
  const Op& op = dag.op(p.exp);
  if (op.is_placeholder() || op.element().reducer) return false;
  const Call* call = std::get_if<Call>(&op.element().body->kind);
  if (!call || call->fn != MathFn::exp) return false;
  const Binary* difference = operands_of(call->args[0], BinaryOp::sub);
  if (!difference) return false;
  const std::size_t rank = op.shape.size();
  const auto scores = read_at_own_axes(difference->a, rank), top = read_at_own_axes(difference->b, rank - 1);
  if (!scores || !top || reduced_row(dag, *top, Reducer::max) != scores) return false;
  p.scores = *scores, p.top = *top;
  return true;
}

/// w = e / z or e * (1 / z), z the sum of e; perhaps rounded to 16 bits.
bool find_softmax(const ComputeDag& dag, SoftmaxProduct& p) {
  const Op& op = dag.op(p.weights);
  if (op.is_placeholder() || op.element().reducer || op.shape.empty()) return false;
  const std::optional<Quotient> quotient = quotient_of(unrounded(op.element().body));
  if (!quotient) return false;
  p.stored = is_half(op.dtype) ? op.dtype : DType::f32;
  const std::size_t rank = op.shape.size();
  const auto exp = read_at_own_axes(quotient->a, rank), sum = read_at_own_axes(quotient->b, rank - 1);
  if (!exp || !sum || reduced_row(dag, *sum, Reducer::sum) != exp) return false;
  p.exp = *exp, p.sum = *sum;
  return find_exponentials(dag, p);
}

/// The axes of a product that index its weights, in order. An axis of one element may be a 0 there.
std::optional<std::vector<std::int64_t>> row_read(const ComputeDag& dag, const Load& weights, const Element& product) {
  Load full = weights;
  const Shape& shape = dag.op(OpId(weights.source.value)).shape;
  for (std::size_t d = 0; d + 1 < full.index.size() && d < product.axes.size(); ++d)
    if (is_const(full.index[d], 0) && shape[d] == 1 && product.axes[d].extent == 1)
      full.index[d] = axis_var(product, static_cast<std::int64_t>(d));
  return axes_read(full);
}

/// Something else reads an op that goes; its name and the reader's.
Status nothing_else_reads(const ComputeDag& dag, const SoftmaxProduct& p) {
  const auto only = [&](OpId op, std::vector<OpId> readers) -> Status {
    if (std::find(dag.outputs.begin(), dag.outputs.end(), op) != dag.outputs.end())
      return Error{"has the softmax's " + dag.op(op).name + " as an output beside it"};
    for (OpId reader : consumers_of(dag, op))
      if (std::find(readers.begin(), readers.end(), reader) == readers.end())
        return Error{"is not alone: " + dag.op(reader).name + " also reads " + dag.op(op).name};
    return ok_status();
  };
  WHET_RETURN_IF_ERROR(only(p.top, {p.exp}));
  WHET_RETURN_IF_ERROR(only(p.exp, {p.sum, p.weights}));
  WHET_RETURN_IF_ERROR(only(p.sum, {p.weights}));
  return only(p.weights, {p.product});
}

}  // namespace

Expr unwidened(const Expr& e) {
  const Cast* cast = std::get_if<Cast>(&e->kind);
  return cast && e->dtype == DType::f32 && is_half(cast->a->dtype) ? cast->a : e;
}

std::optional<SoftmaxProduct> find_softmax_product(const ComputeDag& dag, OpId id) {
  const Op& op = dag.op(id);
  if (op.is_placeholder() || op.dtype != DType::f32) return std::nullopt;
  const Element& e = op.element();
  const Binary* product = operands_of(e.body, BinaryOp::mul);
  if (e.reducer != Reducer::sum || e.reduce_axes.size() != 1 || e.axes.size() < 2 || !product) return std::nullopt;
  const auto terms = static_cast<std::int64_t>(e.axes.size());
  for (const bool first : {true, false}) {
    const Expr &weights = first ? product->a : product->b, &other = first ? product->b : product->a;
    const Load* load = load_of(weights);
    auto axes = load ? row_read(dag, *load, e) : std::nullopt;
    if (!axes || axes->empty() || axes->back() != terms) continue;
    axes->pop_back();
    const auto column = terms - 1;
    if (std::find(axes->begin(), axes->end(), column) != axes->end() || !uses(other, VarId(column))) continue;
    SoftmaxProduct p{.weights = OpId(load->source.value), .product = id, .row = *axes, .other = other};
    if (find_softmax(dag, p) && dag.op(p.weights).shape.back() == e.reduce_axes[0].extent) return p;
  }
  return std::nullopt;
}

Status check_softmax_product(const ComputeDag& dag, const SoftmaxProduct& found) {
  if (found.row.size() + 1 != dag.op(found.product).shape.size())
    return Error{"multiplies each of the softmax's rows by several matrices"};
  WHET_RETURN_IF_ERROR(nothing_else_reads(dag, found));
  if (is_sized(dag.op(found.product).element().axes.back())) return Error{"has columns that have a size"};
  return ok_status();
}

}  // namespace whet
