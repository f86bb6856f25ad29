#include "schedule/online.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "compute/affine.h"
#include "schedule/check.h"
#include "schedule/pipeline.h"
#include "schedule/regions.h"

namespace whet {
namespace {

/// `e` is a load at the first axes of the element that reads it, in their order.
std::optional<OpId> read_at_axes(const Expr& e, std::size_t count) {
  const Load* load = std::get_if<Load>(&e->kind);
  if (!load || load->index.size() != count) return std::nullopt;
  for (std::size_t k = 0; k < count; ++k) {
    const Var* v = std::get_if<Var>(&load->index[k]->kind);
    if (!v || v->id.value != static_cast<std::int64_t>(k)) return std::nullopt;
  }
  return OpId(load->source.value);
}

const Expr& uncast(const Expr& e) {
  const Cast* cast = std::get_if<Cast>(&e->kind);
  return cast ? cast->a : e;
}

/// The op reduces all of `source` along its last axis.
bool reduces_rows(const ComputeDag& dag, OpId op, OpId source, Reducer reducer) {
  if (dag.op(op).is_placeholder()) return false;
  const Element& e = dag.op(op).element();
  return e.reducer == reducer && e.reduce_axes.size() == 1 && read_at_axes(uncast(e.body), e.axes.size() + 1) == source;
}

/// The maximum that an exponential is relative to: exp(S - max(T, lowest)).
std::optional<OpId> top_of(const ComputeDag& dag, OpId exp) {
  if (dag.op(exp).is_placeholder() || dag.op(exp).element().reducer) return std::nullopt;
  const Element& e = dag.op(exp).element();
  const Call* call = std::get_if<Call>(&uncast(e.body)->kind);
  const Binary* above = call && call->fn == MathFn::exp ? std::get_if<Binary>(&call->args[0]->kind) : nullptr;
  if (!above || above->op != BinaryOp::sub || e.axes.empty()) return std::nullopt;
  const Binary* finite = std::get_if<Binary>(&above->b->kind);
  if (!finite || finite->op != BinaryOp::max) return std::nullopt;
  const std::optional<OpId> scores = read_at_axes(above->a, e.axes.size()),
                            top = read_at_axes(finite->a, e.axes.size() - 1);
  return scores && top && reduces_rows(dag, *top, *scores, Reducer::max) ? top : std::nullopt;
}

/// The ops of the softmax whose exponentials the product reads, and which of its axes are their row.
std::optional<OnlineSum> find_online(const ComputeDag& dag, OpId mix) {
  const Element& product = dag.op(mix).element();
  if (product.reducer != Reducer::sum || product.reduce_axes.size() != 1) return std::nullopt;
  std::optional<OnlineSum> found;
  for_each(product.body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    const std::optional<OpId> top = load && !found ? top_of(dag, OpId(load->source.value)) : std::nullopt;
    if (!top) return;
    OnlineSum online{.mix = mix, .top = *top, .exp = OpId(load->source.value)};
    for (const Expr& index : load->index) {
      const Var* v = std::get_if<Var>(&index->kind);
      if (!v) return;
      online.row.push_back(v->id.value);
    }
    if (online.row.back() != static_cast<std::int64_t>(product.axes.size())) return;
    online.row.pop_back();
    found = online;
  });
  if (!found) return std::nullopt;
  for (OpId reader : consumers_of(dag, found->exp)) {
    if (reader == mix) continue;
    if (found->sum.valid() || !reduces_rows(dag, reader, found->exp, Reducer::sum)) return std::nullopt;
    found->sum = reader;
  }
  const std::vector<OpId> of_top = consumers_of(dag, found->top);
  return found->sum.valid() && of_top.size() == 1 ? found : std::nullopt;
}

/// The loop cuts the product's terms into equal steps.
Result<Span> step_of_terms(const LoopTree& tree, const Online& step) {
  const Element& product = tree.dag.op(step.op).element();
  const AxisId terms(static_cast<std::int64_t>(product.axes.size()));
  const Digit& all = tree.digit(tree.place(step.op).axes[terms.index()]);
  const std::optional<Span> span = span_of(tree, axis_value(tree, step.op, terms), step.loop);
  if (all.leaf() || !all.divides() || all.outer != tree.loop(step.loop).digits.front() || !span ||
      span->extent != all.factor)
    return refuse(tree, step.loop, "does not cut the terms into equal steps");
  return *span;
}

/// Registers hold what is added up. Whoever reads the sum does so where the product ends.
Status check_registers(const LoopTree& tree, const Online& step, OpId sum) {
  const Placement& of_mix = tree.place(step.op);
  if (of_mix.kind != PlaceKind::at || of_mix.stored_in != StoredIn::registers)
    return refuse(tree, step.op, "is not computed for its reader in registers, which its sums stay in");
  for (OpId reader : consumers_of(tree.dag, sum)) {
    const LoopId leaf = has_loops(tree, reader) ? loop_of_leaf(tree, reader) : LoopId();
    if (has_loops(tree, reader) && (!leaf.valid() || !encloses(tree, of_mix.at, leaf)))
      return refuse(
          tree, sum,
          fmt::format("has the reader {} outside of loop {}", tree.dag.op(reader).name, name_of(tree, of_mix.at)));
  }
  return ok_status();
}

/// Computes the op's elements of a step in registers at the loop.
void place_step(LoopTree& tree, OpId op, LoopId loop, std::size_t position, const Region& region) {
  std::vector<Axis> axes = all_axes(tree.dag.op(op).element());
  Placement& place = tree.places[op.index()];
  for (std::size_t k = 0; k < region.size(); ++k)
    axes[k].extent = region[k].extent, axes[k].size = region[k].size, place.base[k] = region[k].base;
  remove_nest(tree, op);
  insert_nest(tree, op, axes, loop, position);
  place.kind = PlaceKind::at, place.at = loop, place.stored_in = StoredIn::registers;
}

}  // namespace

const OnlineSum* online_at(const LoopTree& tree, LoopId loop) {
  const auto found = std::find_if(tree.onlines.begin(), tree.onlines.end(),
                                  [&](const OnlineSum& online) { return online.loop == loop; });
  return found == tree.onlines.end() ? nullptr : &*found;
}

const OnlineSum* online_of(const LoopTree& tree, OpId op) {
  const auto found = std::find_if(tree.onlines.begin(), tree.onlines.end(),
                                  [&](const OnlineSum& online) { return online.top == op || online.sum == op; });
  return found == tree.onlines.end() ? nullptr : &*found;
}

bool is_of_online_step(const LoopTree& tree, OpId op) {
  const Placement& place = tree.place(op);
  if (place.kind != PlaceKind::at || place.stored_in != StoredIn::registers || !online_at(tree, place.at)) return false;
  return !tree.dag.op(op).element().reducer || online_of(tree, op) != nullptr;
}

Status apply(LoopTree& tree, const Online& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  WHET_RETURN_IF_ERROR(check_loop(tree, step.loop));
  std::optional<OnlineSum> found = find_online(tree.dag, step.op);
  if (!found) return refuse(tree, step.op, "is no product with the exponentials of a softmax that is divided late");
  if (tree.loop(step.loop).op != step.op || !is_reduce(tree, step.loop) || tree.loop(step.loop).digits.size() != 1)
    return refuse(tree, step.loop, fmt::format("is no reduce loop of {}", tree.dag.op(step.op).name));
  if (tree.loop(step.loop).kind != LoopKind::serial)
    return refuse(tree, step.loop, "is annotated; its steps follow one another");
  if (stages_of(tree, step.loop) > 1)
    return refuse(tree, step.loop, "is a pipeline already; it becomes one afterwards");
  for (LoopId at = tree.loop(step.loop).parent; at.valid(); at = tree.loop(at).parent)
    if (tree.loop(at).op == step.op && is_reduce(tree, at))
      return refuse(tree, step.loop, fmt::format("is inside loop {} of the same sum", name_of(tree, at)));
  WHET_RETURN_IF_ERROR(check_registers(tree, step, found->sum));
  WHET_TRY(const Span terms, step_of_terms(tree, step));
  for (OpId op : {found->exp, found->top, found->sum}) {
    if (tree.place(op).kind != PlaceKind::root) return refuse(tree, op, "is placed already");
    for (LoopId own : own_loops(tree, op))
      if (is_frozen(tree, own)) return refuse(tree, own, "is frozen, because something is computed under it");
  }
  found->loop = step.loop;
  place_step(tree, found->exp, step.loop, position_of(tree, step.loop, step.op),
             required_region(tree, found->exp, step.loop, StoredIn::registers));
  Region row = required_region(tree, found->top, step.loop, StoredIn::registers);
  row.push_back(terms);
  place_step(tree, found->top, step.loop, position_of(tree, step.loop, found->exp), row);
  place_step(tree, found->sum, step.loop, position_of(tree, step.loop, found->exp) + 1, row);
  for (OpId op : {found->top, found->sum}) tree.caches.push_back({op, step.loop});
  tree.onlines.push_back(*found);
  return ok_status();
}

}  // namespace whet
