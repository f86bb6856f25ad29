#include "space/rows.h"

#include <algorithm>

#include "schedule/regions.h"
#include "space/anatomy.h"

namespace whet {
namespace {

bool is_output(const ComputeDag& dag, OpId op) {
  return std::find(dag.outputs.begin(), dag.outputs.end(), op) != dag.outputs.end();
}

int reads_of(const ComputeDag& dag, OpId op) {
  int count = 0;
  for (const Op& reader : dag.ops) {
    if (reader.is_placeholder()) continue;
    for_each(reader.element().body, [&](const Expr& part) {
      const Load* l = std::get_if<Load>(&part->kind);
      count += l && l->source.value == op.value;
    });
  }
  return count;
}

/// An element op whose value is cheaper computed again than stored.
bool to_inline(const ComputeDag& dag, OpId op) {
  if (is_output(dag, op) || dag.op(op).element().reducer) return false;
  const int reads = reads_of(dag, op);
  const double cost = body_cost(dag.op(op).element().body);
  if (reads == 1) {
    // A reduction with the same number of elements reads each value once; one over a window reads it many times.
    const OpId reader = consumers_of(dag, op).front();
    const Element& element = dag.op(reader).element();
    std::int64_t steps = 1;
    for (const Axis& axis : element.axes) steps *= axis.extent;
    for (const Axis& axis : element.reduce_axes) steps *= axis.extent;
    return cost <= 2 || steps <= 2 * num_elements(dag.op(op).shape);
  }
  return cost * (reads - 1) <= 3;
}

/// Vectorizes the innermost spatial axis of `op` that has more than one element, if it is the op's last loop that can
/// be.
void vectorize_last_axis(Scheduler& s, OpId op, std::int64_t lanes, std::int64_t vectors) {
  const std::vector<LoopId> loops = s.loops(op);
  LoopId last;
  for (LoopId loop : loops)
    if (s.tree().loop(loop).kind == LoopKind::serial && !is_reduce(s.tree(), loop) && extent_of(s.tree(), loop) > 1 &&
        s.tree().loop(loop).digits.size() == 1)
      last = loop;
  if (!last.valid() || extent_of(s.tree(), last) < 4) return;
  std::vector<LoopId> order;
  const std::int64_t step = lanes * vectors;
  LoopId inner = last;
  if (extent_of(s.tree(), last) > step) {
    const Scheduler::Pair pair = s.split(last, step, Tail::overlap);
    inner = pair.inner;
  }
  // To the innermost place: behind what stands inside (reduce loops, axes of one element).
  bool inside = false;
  for (LoopId loop : s.loops(op)) {
    if (inside) order.push_back(loop);
    inside = inside || loop == inner;
  }
  if (!order.empty()) {
    order.push_back(inner);
    s.reorder(order.size() > 1 ? order : std::vector<LoopId>());
  }
  s.annotate(inner, LoopKind::vectorized);
}

/// A reduction along the innermost axis: partial results in the lanes of vectors.
void vectorize_reduction(Scheduler& s, OpId op, std::int64_t lanes) {
  const LoopId last = s.loops(op).back();
  if (!is_reduce(s.tree(), last)) return;
  const std::int64_t extent = extent_of(s.tree(), last);
  for (std::int64_t width : {4 * lanes, 2 * lanes, lanes, lanes / 2, lanes / 4}) {
    if (width < 2 || extent % width != 0) continue;
    const LoopId inner = extent == width ? last : s.split(last, width, Tail::guard).inner;
    s.rfactor(inner);
    s.annotate(inner, LoopKind::vectorized);
    return;
  }
}

/// True when `op` reads contiguous memory along its last reduce axis, and its result's last axis is not what it reads
/// along.
bool reduces_innermost(const ComputeDag& dag, OpId op) {
  const Element& element = dag.op(op).element();
  if (!element.reducer) return false;
  const auto last = static_cast<std::int64_t>(element.axes.size() + element.reduce_axes.size()) - 1;
  bool innermost = false;
  for_each(element.body, [&](const Expr& part) {
    const Load* l = std::get_if<Load>(&part->kind);
    if (!l || l->index.empty()) return;
    const Var* v = std::get_if<Var>(&l->index.back()->kind);
    innermost = innermost || (v && v->id.value == last);
  });
  return innermost;
}

/// Iterations of the nest of `op`, that of the loops around it included.
double iterations(const LoopTree& tree, OpId op) {
  double count = 1;
  for (LoopId loop : path_to(tree, loop_of_leaf(tree, op))) count *= static_cast<double>(extent_of(tree, loop));
  return count;
}

/// Puts `needed` under the first `rows` axes of `output`, fused; false where that would compute something again and
/// again.
bool place_under(Scheduler& s, OpId output, std::size_t rows, const std::vector<OpId>& needed) {
  std::vector<double> alone;
  for (OpId op : needed) alone.push_back(iterations(s.tree(), op));
  const std::vector<LoopId> loops = s.loops(output);
  const LoopId row = s.fuse({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rows)});
  for (std::size_t i = needed.size(); i-- > 0;) s.compute_at(needed[i], row, false);
  if (!s.finish().ok()) return false;
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (iterations(s.tree(), needed[i]) > 1.5 * alone[i]) return false;
  return true;
}

/// The leading axes of `output` before its innermost one with more than one element, or before what it reduces
/// innermost.
std::size_t outer_axes(const ComputeDag& dag, OpId output) {
  const Element& element = dag.op(output).element();
  std::size_t axes = element.axes.size();
  if (reduces_innermost(dag, output)) return axes;
  while (axes > 0 && element.axes[axes - 1].extent == 1) --axes;
  return axes > 0 ? axes - 1 : 0;
}

void build(const ComputeDag& dag, const Target& target, Scheduler& s, const Sketch::Choices& choices) {
  const std::int64_t vectors = choices.at("vectors").front();
  for (std::size_t i = dag.ops.size(); i-- > 0;) {
    const OpId op(static_cast<std::int64_t>(i));
    if (!dag.op(op).is_placeholder() && to_inline(s.tree().dag, op)) s.inline_op(op);
  }
  // What is not inlined goes under the one op that reads it last, when there is one output; otherwise every op has a
  // nest of its own.
  std::vector<OpId> needed;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (s.tree().place(op).kind == PlaceKind::root && !is_output(dag, op)) needed.push_back(op);
  }
  const auto lanes_of = [&](OpId op) {
    return std::max(target.lanes(static_cast<int>(std::max<std::int64_t>(size_of(dag.op(op).dtype), 1))), 1);
  };
  for (OpId output : dag.outputs) {
    if (s.loops(output).empty()) continue;
    const bool row_reduction = reduces_innermost(s.tree().dag, output);
    std::size_t rows = outer_axes(s.tree().dag, output);
    if (dag.outputs.size() == 1 && !needed.empty()) {
      std::size_t under = rows;
      for (; under > 0; --under)
        if (Scheduler trial = s; place_under(trial, output, under, needed)) break;
      if (under > 0) place_under(s, output, under, needed), rows = 0;
    }
    const std::vector<LoopId> loops = s.loops(output);
    if (rows > 0) s.fuse({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rows)});
    if (row_reduction)
      vectorize_reduction(s, output, lanes_of(output));
    else
      vectorize_last_axis(s, output, lanes_of(output), vectors);
    const LoopId parallel = s.loops(output).front();
    if (!is_reduce(s.tree(), parallel) && s.tree().loop(parallel).kind == LoopKind::serial)
      s.annotate(parallel, LoopKind::parallel);
  }
  for (OpId op : needed) {
    if (reduces_innermost(s.tree().dag, op))
      vectorize_reduction(s, op, lanes_of(op));
    else
      vectorize_last_axis(s, op, lanes_of(op), vectors);
    const std::vector<LoopId> loops = s.loops(op);
    if (s.tree().place(op).kind == PlaceKind::root && !loops.empty() && !is_reduce(s.tree(), loops.front()) &&
        s.tree().loop(loops.front()).kind == LoopKind::serial)
      s.annotate(loops.front(), LoopKind::parallel);
  }
}

}  // namespace

Sketch rows_sketch(const ComputeDag& dag, const Target& target) {
  Sketch sketch;
  sketch.name = "rows";
  sketch.decisions = {{"vectors", "native vectors in a step along the innermost axis", {{1}, {2}, {4}}}};
  sketch.preferred = {{"vectors", {2}}};
  sketch.build = [dag, target](Scheduler& s, const Sketch::Choices& choices) { build(dag, target, s, choices); };
  return sketch;
}

}  // namespace whet
