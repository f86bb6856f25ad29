#include "space/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "schedule/regions.h"
#include "space/anatomy.h"
#include "space/element_nest.h"

namespace whet {
namespace {

bool is_output(const ComputeDag& dag, OpId op) {
  return std::find(dag.outputs.begin(), dag.outputs.end(), op) != dag.outputs.end();
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

/// An element op whose value is cheaper computed again than stored.
bool to_inline(const LoopTree& tree, OpId op) {
  const ComputeDag& dag = tree.dag;
  if (is_output(dag, op) || dag.op(op).element().reducer) return false;
  const int reads = reads_of(tree, op);
  const double cost = body_cost(dag.op(op).element().body);
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

/// What the decisions say, for one target.
struct Plan {
  std::int64_t vectors = 1;  ///< native vectors in a step
  std::int64_t rows = 1;     ///< computed together
  bool columns = false;      ///< groups of columns are computed instead
  std::int64_t pixels = 1;   ///< see ElementPlan
  std::int64_t across = 1;
  const Target* target = nullptr;

  std::int64_t lanes(const ComputeDag& dag, OpId op) const {
    return std::max(target->lanes(static_cast<int>(std::max<std::int64_t>(size_of(dag.op(op).dtype), 1))), 1);
  }
};

/// The loop along which `op` is computed in vectors: what it reduces innermost, or its innermost axis with more than
/// one element. Invalid where there is none.
LoopId loop_along(const Scheduler& s, OpId op) {
  const std::vector<LoopId> loops = s.loops(op);
  if (loops.empty()) return {};
  LoopId last;
  if (reduces_innermost(s.tree().dag, op))
    last = loops.back();
  else
    for (LoopId loop : loops)
      if (!is_reduce(s.tree(), loop) && extent_of(s.tree(), loop) > 1 && s.tree().loop(loop).digits.size() == 1 &&
          s.tree().loop(loop).kind == LoopKind::serial && !is_frozen(s.tree(), loop))
        last = loop;
  return last.valid() && extent_of(s.tree(), last) >= 4 ? last : LoopId();
}

/// The own loops of `op` that may still change places: those inside of what is placed under them already.
std::vector<LoopId> free_loops(const Scheduler& s, OpId op) {
  std::vector<LoopId> loops = s.loops(op);
  std::erase_if(loops,
                [&](LoopId loop) { return is_frozen(s.tree(), loop) || s.tree().loop(loop).kind != LoopKind::serial; });
  return loops;
}

/// Vectorizes `op` in steps, its few rows unrolled inside the step: their sums do not wait for one another.
void vectorize(Scheduler& s, OpId op, const Plan& plan) {
  const LoopId along = loop_along(s, op);
  const std::int64_t step = plan.lanes(s.tree().dag, op) * plan.vectors;
  std::vector<LoopId> outer, reduce, rows;
  for (LoopId loop : free_loops(s, op)) {
    if (loop == along) continue;
    const std::int64_t extent = extent_of(s.tree(), loop);
    if (is_reduce(s.tree(), loop))
      reduce.push_back(loop);
    else
      (extent > 1 && extent <= plan.rows ? rows : outer).push_back(loop);
  }
  LoopId steps, inner = along;
  const bool reduced = along.valid() && is_reduce(s.tree(), along);
  if (along.valid() && extent_of(s.tree(), along) > step) {
    const Scheduler::Pair pair = s.split(along, step, reduced ? Tail::guard : Tail::overlap);
    steps = pair.outer, inner = pair.inner;
  }
  std::vector<LoopId> order = outer;
  if (steps.valid() && !reduced) order.push_back(steps);
  const LoopId cached = order.empty() ? LoopId() : order.back();
  order.insert(order.end(), reduce.begin(), reduce.end());
  if (steps.valid() && reduced) order.push_back(steps);
  order.insert(order.end(), rows.begin(), rows.end());
  if (inner.valid()) order.push_back(inner);
  if (order.size() > 1) s.reorder(order);
  if (reduced) s.rfactor(inner);
  if (!reduced && !reduce.empty() && cached.valid() && !s.tree().place(op).registers) s.cache_write(op, cached);
  if (inner.valid()) s.annotate(inner, LoopKind::vectorized);
  for (LoopId loop : rows) s.annotate(loop, LoopKind::unrolled);
}

/// Iterations of the nest of `op`, that of the loops around it included.
double iterations(const LoopTree& tree, OpId op) {
  double count = 1;
  for (LoopId loop : path_to(tree, loop_of_leaf(tree, op))) count *= static_cast<double>(extent_of(tree, loop));
  return count;
}

/// The loops over the first `axes` axes of `output` become one over groups of `rows` rows, and a loop over the rows of
/// a group inside.
LoopId group_rows(Scheduler& s, OpId output, std::size_t axes, std::int64_t rows) {
  const std::vector<LoopId> loops = s.loops(output);
  std::vector<LoopId> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(axes));
  std::size_t last = axes - 1;
  while (last > 0 && extent_of(s.tree(), loops[last]) == 1) --last;
  if (rows > 1 && extent_of(s.tree(), loops[last]) >= rows) {
    const Scheduler::Pair pair = s.split(loops[last], rows, Tail::overlap);
    outer[last] = pair.outer;
    std::vector<LoopId> order = outer;
    order.push_back(pair.inner);
    s.reorder(order);
  }
  return outer.size() > 1 ? s.fuse(outer) : outer.front();
}

/// The loops over the first `axes` axes of `output` and over steps along its last axis become one; the other axes run
/// inside.
LoopId group_columns(Scheduler& s, OpId output, std::size_t axes, std::int64_t step) {
  const std::vector<LoopId> loops = s.loops(output);
  const std::size_t last = last_axis(s.tree().dag.op(output).element().axes);
  const Scheduler::Pair pair = s.split(loops[last], std::min(step, extent_of(s.tree(), loops[last])), Tail::overlap);
  std::vector<LoopId> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(axes));
  outer.push_back(pair.outer);
  std::vector<LoopId> order = outer;
  for (std::size_t k = axes; k < loops.size(); ++k)
    if (k != last) order.push_back(loops[k]);
  order.push_back(pair.inner);
  s.reorder(order);
  return outer.size() > 1 ? s.fuse(outer) : outer.front();
}

std::int64_t elements_of(const Region& region) {
  std::int64_t count = 1;
  for (const Span& span : region) count *= span.extent;
  return count;
}

/// Puts `needed` under the first `axes` axes of `output`; false where that would compute something again and again.
bool place_under(Scheduler& s, OpId output, std::size_t axes, const std::vector<OpId>& needed, const Plan& plan) {
  std::vector<double> alone;
  for (OpId op : needed) alone.push_back(iterations(s.tree(), op));
  const std::int64_t step = plan.vectors * plan.lanes(s.tree().dag, output);
  const LoopId row = plan.columns ? group_columns(s, output, axes, step) : group_rows(s, output, axes, plan.rows);
  for (std::size_t i = needed.size(); i-- > 0;) {
    const std::int64_t elements = elements_of(required_region(s.tree(), needed[i], row));
    s.compute_at(needed[i], row, elements <= (plan.columns ? step : plan.rows));
  }
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

/// How many leading axes of `output` everything in `needed` can be placed under; 0 for none.
std::size_t axes_above(const Scheduler& s, OpId output, const std::vector<OpId>& needed, const Plan& plan) {
  Plan single = plan;
  single.rows = 1;
  for (std::size_t axes = outer_axes(s.tree().dag, output); axes > 0; --axes)
    if (Scheduler trial = s; place_under(trial, output, axes, needed, single)) return axes;
  return 0;
}

/// Whether the rows are too few for the workers, and what they need is reduced along outer axes: then columns can be
/// shared out as well.
bool better_by_columns(const Scheduler& s, OpId output, std::size_t above, const std::vector<OpId>& needed,
                       const Plan& plan) {
  const ComputeDag& dag = s.tree().dag;
  std::int64_t shares = 1;
  for (std::size_t axis = 0; axis < above; ++axis) shares *= dag.op(output).element().axes[axis].extent;
  const std::int64_t step = plan.vectors * plan.lanes(dag, output);
  if (shares >= 4 * plan.target->threads || dag.op(output).shape.back() < step || dag.op(output).element().reducer ||
      std::any_of(needed.begin(), needed.end(), [&](OpId op) { return reduces_innermost(dag, op); }))
    return false;
  Plan columns = plan;
  columns.columns = true;
  Scheduler trial = s;
  return place_under(trial, output, above, needed, columns);
}

/// Inlines what is cheap; gives what is left but the outputs.
std::vector<OpId> inline_cheap(Scheduler& s) {
  const std::size_t ops = s.tree().dag.ops.size();
  for (std::size_t i = ops; i-- > 0;) {
    const OpId op(static_cast<std::int64_t>(i));
    if (!s.tree().dag.op(op).is_placeholder() && to_inline(s.tree(), op)) s.inline_op(op);
  }
  std::vector<OpId> needed;
  for (std::size_t i = 0; i < ops; ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (s.tree().place(op).kind == PlaceKind::root && !is_output(s.tree().dag, op)) needed.push_back(op);
  }
  return needed;
}

void share_out(Scheduler& s, OpId op) {
  if (s.loops(op).empty()) return;
  const LoopId first = s.loops(op).front();
  if (!is_reduce(s.tree(), first) && s.tree().loop(first).kind == LoopKind::serial)
    s.annotate(first, LoopKind::parallel);
}

/// A nest of its own: groups of rows shared out.
void nest(Scheduler& s, OpId op, const Plan& plan) {
  if (s.loops(op).empty()) return;
  if (!s.tree().dag.op(op).element().reducer)
    return element_nest(
        s, op, {.vectors = plan.vectors, .pixels = plan.pixels, .across = plan.across, .target = *plan.target});
  const std::size_t axes = outer_axes(s.tree().dag, op);
  if (axes > 0) {
    group_rows(s, op, axes, plan.rows);
    share_out(s, op);
  }
  vectorize(s, op, plan);
  if (axes == 0) share_out(s, op);
}

void build(Scheduler& s, Plan plan) {
  const std::vector<OpId> needed = inline_cheap(s);
  const std::vector<OpId> outputs = s.tree().dag.outputs;
  // What is not inlined goes under the one op that reads it last, when there is one output; otherwise every op has a
  // nest of its own.
  const std::size_t above = outputs.size() == 1 && !needed.empty() ? axes_above(s, outputs.front(), needed, plan) : 0;
  if (above == 0) {
    for (OpId output : outputs) nest(s, output, plan);
    for (OpId op : needed) nest(s, op, plan);
    return;
  }
  plan.columns = better_by_columns(s, outputs.front(), above, needed, plan);
  place_under(s, outputs.front(), above, needed, plan);
  vectorize(s, outputs.front(), plan);
  share_out(s, outputs.front());
  for (OpId op : needed) vectorize(s, op, plan);
}

Plan plan_of(const Target& target, const Sketch::Choices& choices) {
  const auto chosen = [&](const char* name, std::int64_t otherwise) {
    const auto found = choices.find(name);
    return found == choices.end() ? otherwise : found->second.front();
  };
  return {.vectors = chosen("vectors", 1),
          .rows = chosen("rows", 1),
          .pixels = chosen("pixels", 1),
          .across = chosen("across", 1),
          .target = &target};
}

bool has_reduction(const ComputeDag& dag) {
  return std::any_of(dag.ops.begin(), dag.ops.end(),
                     [](const Op& op) { return !op.is_placeholder() && op.element().reducer; });
}

bool has_transpose(const ComputeDag& dag) {
  Scheduler s(dag);
  inline_cheap(s);
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (has_loops(s.tree(), op) && is_transpose(s.tree().dag, op)) return true;
  }
  return false;
}

/// What the leading axes of `output` can be cut into at most.
std::int64_t shares_of(const ComputeDag& dag, OpId output) {
  std::int64_t shares = 1;
  for (std::size_t axis = 0; axis < outer_axes(dag, output); ++axis)
    shares *= dag.op(output).element().axes[axis].extent;
  return shares;
}

/// Every worker still gets so many shares of a nest.
constexpr std::int64_t kShares = 4;

/// As many as make a step of about eight vectors.
std::int64_t pixels_of(const ComputeDag& dag, const Target& target) {
  const OpId output = dag.outputs.front();
  const std::vector<Axis>& axes = dag.op(output).element().axes;
  if (axes.empty()) return 1;
  const std::int64_t lanes = target.lanes(static_cast<int>(std::max<std::int64_t>(size_of(dag.op(output).dtype), 1)));
  const std::int64_t vectors = (axes[last_axis(axes)].extent + lanes - 1) / lanes;
  std::int64_t pixels = vectors <= 1 ? 8 : vectors <= 2 ? 4 : vectors <= 4 ? 2 : 1;
  while (pixels > 1 && shares_of(dag, output) < pixels * kShares * target.threads) pixels /= 2;
  return pixels;
}

/// Two, where that leaves rows for every worker.
std::int64_t rows_of(const ComputeDag& dag, const Target& target) {
  return shares_of(dag, dag.outputs.front()) >= 2 * kShares * target.threads ? 2 : 1;
}

}  // namespace

Sketch rows_sketch(const ComputeDag& dag, const Target& target) {
  Sketch sketch;
  sketch.name = "rows";
  sketch.decisions = {{"vectors", "native vectors in a step along the innermost axis", {{1}, {2}, {4}}, 0}};
  sketch.preferred = {{"vectors", {2}}};
  if (has_reduction(dag)) {
    sketch.decisions.push_back({"rows", "rows computed together", {{1}, {2}, {4}}, 0});
    sketch.preferred["vectors"] = {4}, sketch.preferred["rows"] = {rows_of(dag, target)};
  } else {
    sketch.decisions.push_back(
        {"pixels", "elements of the axis before the innermost one in a step", {{1}, {2}, {4}, {8}}, 0});
    sketch.preferred["pixels"] = {pixels_of(dag, target)};
  }
  if (has_transpose(dag)) {
    sketch.decisions.push_back({"across",
                                "elements of a tile along the axis that is read along, where another is stored along",
                                {{4}, {8}, {16}},
                                0});
    sketch.preferred["across"] = {4};
  }
  sketch.build = [target](Scheduler& s, const Sketch::Choices& choices) { build(s, plan_of(target, choices)); };
  return sketch;
}

}  // namespace whet
