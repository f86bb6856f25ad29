#include "space/cpu/row_nest.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "space/anatomy.h"
#include "space/cpu/element_nest.h"
#include "space/cpu/scatter.h"

namespace whet {
namespace {

/// The loop along which `op` is computed in vectors: what it reduces innermost, or its innermost axis with elements enough
/// for a vector. Invalid where there is none.
LoopId loop_along(const Scheduler& s, OpId op) {
  const std::vector<LoopId> loops = s.loops(op);
  if (loops.empty()) return {};
  LoopId last;
  if (reduces_innermost(s.tree().dag, op))
    last = loops.back();
  else
    for (LoopId loop : loops)
      if (!is_reduce(s.tree(), loop) && extent_of(s.tree(), loop) >= 4 && s.tree().loop(loop).digits.size() == 1 &&
          s.tree().loop(loop).kind == LoopKind::serial && !is_frozen(s.tree(), loop))
        last = loop;
  return last.valid() && extent_of(s.tree(), last) >= 4 ? last : LoopId();
}

/// Reduced elements a step: all, where they fill three quarters of a vector of 2^n lanes. The code generator rounds those up to the
/// vector; it loads fewer elements one by one.
std::int64_t reduced_step(std::int64_t extent, std::int64_t step) {
  if (extent > step) return step;
  const auto whole = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(extent)));
  return 4 * extent >= 3 * 2 * whole ? extent : whole;
}

/// Weights that are read elsewhere than along the reduction, in whose vectors they would be gathered, are packed.
void pack_weights(Scheduler& s, OpId op) {
  const Element& element = s.tree().dag.op(op).element();
  const auto last = static_cast<std::int64_t>(element.axes.size() + element.reduce_axes.size()) - 1;
  std::vector<OpId> strided;
  for_each(element.body, [&](const Expr& part) {
    const Load* l = std::get_if<Load>(&part->kind);
    if (!l || l->index.empty()) return;
    const OpId source(l->source.value);
    const Var* v = std::get_if<Var>(&l->index.back()->kind);
    const bool given = s.tree().place(source).kind == PlaceKind::placeholder && is_constant(s.tree().dag, source);
    if (given && !(v && v->id.value == last)) strided.push_back(source);
  });
  for (OpId source : strided) {
    Scheduler trial = s;
    trial.pack(source, op);
    if (trial.finish().ok()) s = std::move(trial);
  }
}

/// The loop of `op` that is shared out; invalid where there is none.
LoopId shared_loop(const Scheduler& s, OpId op) {
  const std::vector<LoopId> loops = s.loops(op);
  const auto found = std::find_if(loops.begin(), loops.end(),
                                  [&](LoopId loop) { return s.tree().loop(loop).kind == LoopKind::parallel; });
  return found == loops.end() ? LoopId() : *found;
}

}  // namespace

std::vector<LoopId> free_loops(const Scheduler& s, OpId op) {
  std::vector<LoopId> loops = s.loops(op);
  std::erase_if(loops,
                [&](LoopId loop) { return is_frozen(s.tree(), loop) || s.tree().loop(loop).kind != LoopKind::serial; });
  return loops;
}

void vectorize_rows(Scheduler& s, OpId op, std::int64_t step, std::int64_t most_rows) {
  if (find_scatter(s.tree().dag, op)) return scatter_nest(s, op, step, 0);
  const LoopId along = loop_along(s, op);
  std::vector<LoopId> outer, reduce, rows;
  for (LoopId loop : free_loops(s, op)) {
    if (loop == along) continue;
    const std::int64_t extent = extent_of(s.tree(), loop);
    if (is_reduce(s.tree(), loop))
      reduce.push_back(loop);
    else
      (extent > 1 && extent <= most_rows ? rows : outer).push_back(loop);
  }
  LoopId steps, inner = along;
  const bool reduced = along.valid() && is_reduce(s.tree(), along);
  if (reduced) step = reduced_step(extent_of(s.tree(), along), step);
  if (along.valid() && extent_of(s.tree(), along) > step) {
    const Scheduler::Pair pair = s.split(along, step, reduced ? Tail::guard : Tail::overlap);
    steps = pair.outer, inner = pair.inner;
  }
  std::vector<LoopId> order = outer;
  if (steps.valid() && !reduced) order.push_back(steps);
  const LoopId cached = order.empty() ? shared_loop(s, op) : order.back();
  order.insert(order.end(), reduce.begin(), reduce.end());
  if (steps.valid() && reduced) order.push_back(steps);
  order.insert(order.end(), rows.begin(), rows.end());
  if (inner.valid()) order.push_back(inner);
  if (order.size() > 1) s.reorder(order);
  if (reduced) s.rfactor(inner), pack_weights(s, op);
  if (!reduced && !reduce.empty() && cached.valid() && s.tree().place(op).stored_in == StoredIn::memory)
    s.cache_write(op, cached);
  if (inner.valid()) s.annotate(inner, LoopKind::vectorized);
  for (LoopId loop : rows) s.annotate(loop, LoopKind::unrolled);
}

double iterations(const LoopTree& tree, OpId op) {
  double count = 1;
  for (LoopId loop : path_to(tree, loop_of_leaf(tree, op))) count *= static_cast<double>(extent_of(tree, loop));
  return count;
}

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

LoopId group_columns(Scheduler& s, OpId output, const std::vector<std::size_t>& axes, std::int64_t step) {
  const std::vector<LoopId> loops = s.loops(output);
  const std::size_t last = last_axis(s.tree().dag.op(output).element().axes);
  const Scheduler::Pair pair = s.split(loops[last], std::min(step, extent_of(s.tree(), loops[last])), Tail::overlap);
  std::vector<LoopId> outer;
  for (std::size_t axis : axes) outer.push_back(loops[axis]);
  outer.push_back(pair.outer);
  std::vector<LoopId> order = outer;
  for (std::size_t k = 0; k < loops.size(); ++k)
    if (k != last && std::find(axes.begin(), axes.end(), k) == axes.end()) order.push_back(loops[k]);
  order.push_back(pair.inner);
  s.reorder(order);
  return outer.size() > 1 ? s.fuse(outer) : outer.front();
}

std::int64_t elements_in(const Region& region) {
  std::int64_t count = 1;
  for (const Span& span : region) count *= span.extent;
  return count;
}

std::size_t outer_axes(const ComputeDag& dag, OpId output) {
  const Element& element = dag.op(output).element();
  std::size_t axes = element.axes.size();
  if (reduces_innermost(dag, output)) return axes;
  while (axes > 0 && element.axes[axes - 1].extent == 1) --axes;
  return axes > 0 ? axes - 1 : 0;
}

}  // namespace whet
