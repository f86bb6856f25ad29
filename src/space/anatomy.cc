#include "space/anatomy.h"

#include <algorithm>

#include "compute/affine.h"
#include "schedule/inline.h"
#include "schedule/pack.h"

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

/// Elements of `op` that its readers read in one iteration each; the same one twice counts once.
int reads_of(const LoopTree& tree, OpId op) {
  int count = 0;
  for (std::size_t i = 0; i < tree.dag.ops.size(); ++i) {
    const OpId reader(static_cast<std::int64_t>(i));
    if (!has_loops(tree, reader)) continue;
    std::vector<Expr> loads;
    for_each(tree.dag.op(reader).element().body, [&](const Expr& part) {
      const Load* l = std::get_if<Load>(&part->kind);
      if (!l || l->source.value != op.value) return;
      if (std::none_of(loads.begin(), loads.end(), [&](const Expr& other) { return same(other, part); }))
        loads.push_back(part);
    });
    count += static_cast<int>(loads.size());
  }
  return count;
}

std::vector<OpId> readers_of(const LoopTree& tree, OpId op) {
  std::vector<OpId> readers = consumers_of(tree.dag, op);
  std::erase_if(readers, [&](OpId reader) { return !has_loops(tree, reader); });
  return readers;
}

/// The ops that `op` depends on, and itself.
std::vector<bool> feeding(const ComputeDag& dag, OpId op) {
  std::vector<bool> feeds(dag.ops.size(), false);
  feeds[op.index()] = true;
  for (std::size_t i = op.index() + 1; i-- > 0;)
    if (feeds[i])
      for (OpId input : inputs_of(dag, OpId(static_cast<std::int64_t>(i)))) feeds[input.index()] = true;
  return feeds;
}

int count_loads(const Expr& body) {
  int loads = 0;
  for_each(body, [&](const Expr& part) { loads += std::holds_alternative<Load>(part->kind); });
  return loads;
}

/// The index counts along the last reduce axis through pieces that each hold a vector and more, one for each index of
/// the last axis: s*64 + r for r in 64.
bool goes_through_pieces(const Element& element, const Expr& index) {
  constexpr std::int64_t kPiece = 16;
  if (element.axes.empty() || element.reduce_axes.empty()) return false;
  const auto axes = static_cast<std::int64_t>(element.axes.size());
  const std::int64_t length = element.reduce_axes.back().extent;
  const Expr stored = axis_var(element, axes - 1),
             reduced = axis_var(element, axes + static_cast<std::int64_t>(element.reduce_axes.size()) - 1);
  const Affine sum = to_affine(index);
  return length >= kPiece && sum.coefficient(reduced) == 1 && sum.coefficient(stored) == length;
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
  const std::vector<bool> feeds = feeding(dag, anatomy.anchor);
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (dag.op(op).is_placeholder() || op == anatomy.anchor) continue;
    if (feeds[i])
      anatomy.before.push_back(op);
    else if (op != output)
      anatomy.after.push_back(op);
  }
  if (output != anatomy.anchor) anatomy.output = output;
  // Ops before the anchor must be for the anchor alone, and cheap enough to be computed at each of its reads.
  for (OpId op : anatomy.before) {
    for (OpId consumer : consumers_of(dag, op))
      if (!feeds[consumer.index()]) return std::nullopt;
    if (body_cost(dag.op(op).element().body) > 2) return std::nullopt;
  }
  for (OpId input : inputs_of(dag, anatomy.anchor))
    if (dag.op(input).is_placeholder() && is_constant(dag, input) && reads(dag, anatomy.anchor, input) == 1 &&
        !is_read_where_data_say(dag, input, anatomy.anchor))
      anatomy.constants.push_back(input);
  return anatomy;
}

bool is_output(const ComputeDag& dag, OpId op) {
  return std::find(dag.outputs.begin(), dag.outputs.end(), op) != dag.outputs.end();
}

bool reduces_innermost(const ComputeDag& dag, OpId op) {
  const Element& element = dag.op(op).element();
  if (!element.reducer) return false;
  const auto axes = static_cast<std::int64_t>(element.axes.size());
  const VarId stored(axes - 1), reduced(axes + static_cast<std::int64_t>(element.reduce_axes.size()) - 1);
  // What keeps a reduced dimension ends in a 1. Two or three channels make no vector, where the reduction makes one.
  const std::int64_t stored_along = axes > 0 ? element.axes.back().extent : 1;
  const bool is_row = stored_along >= 4 || (stored_along > 1 && element.reduce_axes.back().extent < 8);
  bool along_reduced = false, along_stored = false, across_stored = false;
  for_each(element.body, [&](const Expr& part) {
    const Load* l = std::get_if<Load>(&part->kind);
    if (!l || l->index.empty()) return;
    const Var* last = std::get_if<Var>(&l->index.back()->kind);
    along_reduced = along_reduced || (last ? last->id == reduced : goes_through_pieces(element, l->index.back()));
    if (last && last->id == stored)
      along_stored = along_stored || is_row;
    else
      for (const Expr& index : l->index) across_stored = across_stored || uses(index, stored);
  });
  return along_reduced && (across_stored || !along_stored);
}

bool cheap_to_inline(const LoopTree& tree, OpId op) {
  const ComputeDag& dag = tree.dag;
  if (is_output(dag, op) || dag.op(op).element().reducer || nodes_when_inlined(tree, op) > kMostNodes) return false;
  const int reads = reads_of(tree, op);
  const Expr& body = dag.op(op).element().body;
  // Arithmetic on integers may be that of an index, which costs nothing; sums of what is read do.
  const double cost = is_float(body->dtype) ? body_cost(body) : std::max(body_cost(body), count_loads(body) - 1.0);
  if (reads == 1) {
    // A reduction with the same number of elements reads each value once; one over a window reads it many times.
    const Element& element = dag.op(readers_of(tree, op).front()).element();
    std::int64_t steps = 1;
    for (const Axis& axis : element.axes) steps *= axis.extent;
    for (const Axis& axis : element.reduce_axes) steps *= axis.extent;
    return cost <= 2 || steps <= 2 * num_elements(dag.op(op).shape);
  }
  return cost * (reads - 1) <= 3;
}

}  // namespace whet
