#include "space/cpu/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "schedule/regions.h"
#include "space/anatomy.h"
#include "space/cpu/element_nest.h"
#include "space/cpu/row_nest.h"
#include "space/cpu/scatter.h"

namespace whet {
namespace {

/// The decisions, for one target.
struct RowsPlan {
  std::int64_t vectors = 1;  ///< native vectors in a step
  std::int64_t rows = 1;     ///< computed together
  bool columns = false;      ///< groups of columns are computed instead, for each index of the axes `outer`
  std::vector<std::size_t> outer;
  std::int64_t pixels = 1;  ///< see ElementPlan
  std::int64_t across = 1;
  bool shared = true;  ///< among the workers; else one of them computes an op alone
  const Target* target = nullptr;

  std::int64_t lanes(const ComputeDag& dag, OpId op) const {
    return std::max(target->cpu().lanes(static_cast<int>(std::max<std::int64_t>(size_of(dag.op(op).dtype), 1))), 1);
  }
};

/// Puts `needed` under the first `axes` axes of `output`; false where that would compute something again and again.
bool place_under(Scheduler& s, OpId output, std::size_t axes, const std::vector<OpId>& needed, const RowsPlan& plan) {
  std::vector<double> alone;
  for (OpId op : needed) alone.push_back(iterations(s.tree(), op));
  const std::int64_t step = plan.vectors * plan.lanes(s.tree().dag, output);
  const LoopId row = plan.columns ? group_columns(s, output, plan.outer, step) : group_rows(s, output, axes, plan.rows);
  for (std::size_t i = needed.size(); i-- > 0;) {
    const std::int64_t elements = elements_in(required_region(s.tree(), needed[i], row));
    s.compute_at(needed[i], row,
                 elements <= (plan.columns ? step : plan.rows) ? StoredIn::registers : StoredIn::memory);
  }
  if (!s.finish().ok()) return false;
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (iterations(s.tree(), needed[i]) > 1.5 * alone[i] || !is_whole(s.tree(), needed[i])) return false;
  return true;
}

/// How many leading axes of `output` everything in `needed` can be placed under; 0 for none.
std::size_t axes_above(const Scheduler& s, OpId output, const std::vector<OpId>& needed, const RowsPlan& plan) {
  RowsPlan single = plan;
  single.rows = 1;
  for (std::size_t axes = outer_axes(s.tree().dag, output); axes > 0; --axes)
    if (Scheduler trial = s; place_under(trial, output, axes, needed, single)) return axes;
  return 0;
}

/// Indices of some axes of `op`.
std::int64_t indices(const ComputeDag& dag, OpId op, const std::vector<std::size_t>& axes) {
  std::int64_t count = 1;
  for (std::size_t axis : axes) count *= dag.op(op).element().axes[axis].extent;
  return count;
}

std::vector<std::size_t> first(std::size_t count) {
  std::vector<std::size_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// The axes before the last one that all of `needed` have in common with `output`: no element of theirs is needed for
/// two indices.
std::vector<std::size_t> common_axes(const Scheduler& s, OpId output, const std::vector<OpId>& needed, RowsPlan plan) {
  const std::vector<Axis>& axes = s.tree().dag.op(output).element().axes;
  plan.columns = true, plan.outer.clear();
  for (std::size_t axis = 0; axis < last_axis(axes); ++axis) {
    RowsPlan with = plan;
    with.outer.push_back(axis);
    if (Scheduler trial = s; place_under(trial, output, 0, needed, with)) plan = std::move(with);
  }
  return plan.outer;
}

/// Where the rows are too few for the workers, and what they need is reduced along other axes than the last: columns,
/// which can be shared out as well, and the axes outside of them. Nothing where they are no better.
std::optional<std::vector<std::size_t>> better_by_columns(const Scheduler& s, OpId output, std::size_t above,
                                                          const std::vector<OpId>& needed, const RowsPlan& plan) {
  const ComputeDag& dag = s.tree().dag;
  if (dag.op(output).shape.empty()) return std::nullopt;
  const std::int64_t step = plan.vectors * plan.lanes(dag, output);
  const std::int64_t shares = above > 0 ? indices(dag, output, first(above)) : 0;
  if (shares >= 4 * plan.target->threads || dag.op(output).shape.back() < step || dag.op(output).element().reducer ||
      std::any_of(needed.begin(), needed.end(), [&](OpId op) { return reduces_innermost(dag, op); }))
    return std::nullopt;
  RowsPlan columns = plan;
  columns.columns = true, columns.outer = common_axes(s, output, needed, plan);
  const std::int64_t more = indices(dag, output, columns.outer) * ((dag.op(output).shape.back() + step - 1) / step);
  Scheduler trial = s;
  if (more <= shares || more < plan.target->threads || !place_under(trial, output, above, needed, columns))
    return std::nullopt;
  return columns.outer;
}

/// Steps of an op that are worth a phase of its own: well over what waiting for the other workers costs.
constexpr double kWorthSharing = 20000;

/// Of sums that are written out: one a value that is read.
double steps_of(const LoopTree& tree, OpId op) {
  const Element& element = tree.dag.op(op).element();
  int reads = element.reducer ? 1 : 0;
  if (reads == 0)
    for_each(element.body, [&](const Expr& e) { reads += std::holds_alternative<Load>(e->kind) ? 1 : 0; });
  return iterations(tree, op) * std::max(reads, 1);
}

/// Whether the rows are fewer than the workers, and what they need is worth sharing out op by op.
bool better_op_by_op(const Scheduler& s, OpId output, std::size_t above, const std::vector<OpId>& needed,
                     const RowsPlan& plan) {
  const std::int64_t rows = indices(s.tree().dag, output, first(above));
  double steps = 0;
  for (OpId op : needed) steps += iterations(s.tree(), op);
  return rows < plan.target->threads && steps > kWorthSharing * static_cast<double>(needed.size());
}

/// Inlines what is cheap; gives what is left but the outputs.
std::vector<OpId> inline_cheap(Scheduler& s) {
  const std::size_t ops = s.tree().dag.ops.size();
  for (std::size_t i = ops; i-- > 0;) {
    const OpId op(static_cast<std::int64_t>(i));
    if (!s.tree().dag.op(op).is_placeholder() && cheap_to_inline(s.tree(), op)) s.inline_op(op);
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

/// The columns of a step that gives `workers` the same share of `columns`: whole vectors, up to `most` where they can.
std::int64_t fair_step(std::int64_t columns, std::int64_t most, int workers, std::int64_t lanes) {
  const auto quotient = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t steps = workers * quotient(columns, workers * most);
  return quotient(quotient(columns, steps), lanes) * lanes;
}

/// A nest of its own: groups of rows shared out; of columns where there are too few rows for the workers.
void nest(Scheduler& s, OpId op, const RowsPlan& plan) {
  const ComputeDag& dag = s.tree().dag;
  if (s.loops(op).empty()) return;
  const Element& element = dag.op(op).element();
  if (!element.reducer)
    return element_nest(s, op,
                        {.vectors = plan.vectors,
                         .pixels = plan.pixels,
                         .across = plan.across,
                         .shared = plan.shared ? 0 : ElementPlan::kAlone,
                         .target = *plan.target});
  const int workers = std::max(plan.target->threads, 1);
  const std::int64_t lanes = plan.lanes(dag, op);
  std::int64_t step = lanes * plan.vectors;
  if (find_scatter(dag, op)) return scatter_nest(s, op, step, plan.shared ? workers : 0);
  const std::size_t axes = outer_axes(dag, op);
  const std::int64_t columns = element.axes.empty() ? 1 : element.axes[last_axis(element.axes)].extent;
  if (!plan.shared) return vectorize_rows(s, op, step, plan.rows);
  if (indices(dag, op, first(axes)) < workers && columns >= workers * step && !reduces_innermost(dag, op)) {
    step = fair_step(columns, 2 * step, workers, lanes);
    group_columns(s, op, first(axes), step);
    share_out(s, op);
  } else if (axes > 0) {
    group_rows(s, op, axes, plan.rows);
    share_out(s, op);
  }
  vectorize_rows(s, op, step, plan.rows);
  if (axes == 0) share_out(s, op);
}

bool has_groups(const ComputeDag& dag) {
  for (std::size_t i = 0; i < dag.ops.size(); ++i)
    if (const OpId op(static_cast<std::int64_t>(i)); !dag.op(op).is_placeholder() && axis_of_groups(dag, op))
      return true;
  return false;
}

/// The axes behind that of groups, along which vectors lie, become one as far as they can.
void merge_behind_groups(Scheduler& s, OpId output) {
  while (has_groups(s.tree().dag)) {
    Scheduler inlined = s;
    inline_cheap(inlined);
    const std::optional<std::size_t> groups = axis_of_groups(inlined.tree().dag, output);
    const std::size_t axes = s.tree().dag.op(output).shape.size();
    if (!groups || axes < *groups + 3) return;
    Scheduler merged = s;
    merged.merge(output, static_cast<std::int64_t>(axes) - 2);
    if (!merged.finish().ok()) return;
    s = std::move(merged);
  }
}

void build(Scheduler& s, RowsPlan plan) {
  for (OpId output : s.tree().dag.outputs) merge_behind_groups(s, output);
  const std::vector<OpId> needed = inline_cheap(s);
  const std::vector<OpId> outputs = s.tree().dag.outputs;
  // What is not inlined goes under the one op that reads it last, when there is one output; otherwise every op has a
  // nest of its own.
  const bool one = outputs.size() == 1 && !needed.empty() && !axis_of_groups(s.tree().dag, outputs.front());
  const std::size_t above = one ? axes_above(s, outputs.front(), needed, plan) : 0;
  if (const auto outer = one ? better_by_columns(s, outputs.front(), above, needed, plan) : std::nullopt) {
    plan.columns = true, plan.outer = *outer;
  } else if (above == 0 || better_op_by_op(s, outputs.front(), above, needed, plan)) {
    std::vector<OpId> ops = outputs;
    ops.insert(ops.end(), needed.begin(), needed.end());
    for (OpId op : ops) {
      plan.shared = ops.size() == 1 || steps_of(s.tree(), op) > kWorthSharing;
      nest(s, op, plan);
    }
    return;
  }
  place_under(s, outputs.front(), above, needed, plan);
  vectorize_rows(s, outputs.front(), plan.lanes(s.tree().dag, outputs.front()) * plan.vectors, plan.rows);
  share_out(s, outputs.front());
  for (OpId op : needed) vectorize_rows(s, op, plan.lanes(s.tree().dag, op) * plan.vectors, plan.rows);
}

RowsPlan plan_of(const Target& target, const Sketch::Choices& choices) {
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

/// The tile to turn a transpose by, as far as is known beforehand; 0 where there is none.
std::int64_t tile_across(const ComputeDag& dag) {
  Scheduler s(dag);
  inline_cheap(s);
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (!has_loops(s.tree(), op) || !is_transpose(s.tree().dag, op)) continue;
    return std::max<std::int64_t>(turned_tile(s.tree().dag, op), 4);
  }
  return 0;
}

/// What the leading axes of `output` can be cut into at most.
std::int64_t shares_of(const ComputeDag& dag, OpId output) {
  return indices(dag, output, first(outer_axes(dag, output)));
}

/// Every worker still gets at least this many shares of a nest.
constexpr std::int64_t kShares = 4;

/// Native vectors of a step that cover the innermost axis with the least beyond its end; a step costs half a vector.
std::int64_t vectors_of(const ComputeDag& dag, const Target& target) {
  const OpId output = dag.outputs.front();
  const std::vector<Axis>& axes = dag.op(output).element().axes;
  const RowsPlan plan{.target = &target};
  const std::int64_t lanes = plan.lanes(dag, output), extent = axes.empty() ? 1 : axes[last_axis(axes)].extent;
  const std::int64_t needed = (extent + lanes - 1) / lanes;
  const auto cost = [&](std::int64_t vectors) {
    const std::int64_t steps = (needed + vectors - 1) / vectors;
    return 2 * steps * std::min(vectors, needed) + steps;
  };
  std::int64_t best = 4;
  for (const std::int64_t vectors : {2, 1})
    if (cost(vectors) < cost(best)) best = vectors;
  return best;
}

/// Rows of up to half a vector go together, as far as that leaves every worker its shares: others gain nothing, and
/// their ends lie apart.
std::int64_t pixels_of(const ComputeDag& dag, const Target& target) {
  const OpId output = dag.outputs.front();
  const std::vector<Axis>& axes = dag.op(output).element().axes;
  const RowsPlan plan{.target = &target};
  if (axes.empty() || 2 * axes[last_axis(axes)].extent > plan.lanes(dag, output)) return 1;
  std::int64_t pixels = 8;
  while (pixels > 1 && shares_of(dag, output) < pixels * kShares * target.threads) pixels /= 2;
  return pixels;
}

/// Rows of at most this many vectors are short: four of them at a time hide the latency of lane sums and scattered writes.
constexpr std::int64_t kShortRow = 16;

bool waits_in_short_rows(const ComputeDag& dag, std::int64_t lanes) {
  bool waits = false;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (dag.op(op).is_placeholder() || !dag.op(op).element().reducer) continue;
    std::int64_t reduced = 1;
    for (const Axis& axis : dag.op(op).element().reduce_axes) reduced *= axis.extent;
    if (reduced > kShortRow * lanes) return false;
    waits = waits || reduces_innermost(dag, op) || find_scatter(dag, op);
  }
  return waits;
}

/// Two, where that leaves rows for every worker; four of short rows that wait, and of each op where the result has few.
std::int64_t rows_of(const ComputeDag& dag, const Target& target) {
  Scheduler s(dag);
  const OpId output = dag.outputs.front();
  const RowsPlan plan{.vectors = 4, .target = &target};
  if (const std::vector<OpId> needed = inline_cheap(s); dag.outputs.size() == 1 && !needed.empty())
    if (better_op_by_op(s, output, axes_above(s, output, needed, plan), needed, plan)) return 4;
  const std::int64_t shares = shares_of(dag, output);
  const auto enough = [&](std::int64_t rows) { return shares >= rows * kShares * target.threads; };
  if (enough(4) && waits_in_short_rows(dag, plan.lanes(dag, output))) return 4;
  return enough(2) ? 2 : 1;
}

}  // namespace

Sketch rows_sketch(const ComputeDag& dag, const Target& target) {
  Sketch sketch;
  sketch.name = "rows";
  sketch.decisions = {{"vectors", "native vectors in a step along the innermost axis", {{1}, {2}, {4}}, 0}};
  sketch.preferred = {{"vectors", {vectors_of(dag, target)}}};
  if (has_reduction(dag)) {
    sketch.decisions.push_back({"rows", "rows computed together", {{1}, {2}, {4}}, 0});
    sketch.preferred["vectors"] = {4}, sketch.preferred["rows"] = {rows_of(dag, target)};
  } else {
    sketch.decisions.push_back(
        {"pixels", "elements of the axis before the innermost one in a step", {{1}, {2}, {4}, {8}}, 0});
    sketch.preferred["pixels"] = {pixels_of(dag, target)};
    // What says where to read is computed once for all rows of a step, and rows that read the same share it.
    Scheduler inlined(dag);
    inline_cheap(inlined);
    if (gathers(inlined.tree().dag, dag.outputs.front()))
      sketch.preferred["vectors"] = {1}, sketch.preferred["pixels"] = {8};
  }
  if (const std::int64_t across = tile_across(dag); across > 0) {
    sketch.decisions.push_back({"across",
                                "elements of a tile along the axis that is read along, where another is stored along",
                                {{4}, {8}, {16}},
                                0});
    sketch.preferred["across"] = {across};
  }
  sketch.build = [target](Scheduler& s, const Sketch::Choices& choices) { build(s, plan_of(target, choices)); };
  return sketch;
}

}  // namespace whet
