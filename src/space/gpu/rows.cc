#include "space/gpu/rows.h"

#include <algorithm>

#include "schedule/regions.h"
#include "space/anatomy.h"
#include "space/gpu/levels.h"
#include "space/gpu/preferred.h"

namespace whet {
namespace {

/// Of one sum alone; several of them, in one launch, are worth it whatever their length.
constexpr std::int64_t kFewestRowTerms = 8;

constexpr std::int64_t kMostRowTrips = 8;

bool is_sum(const LoopTree& tree, OpId op) { return tree.dag.op(op).element().reducer.has_value(); }

std::vector<OpId> computed(const LoopTree& tree) {
  std::vector<OpId> ops;
  for (std::size_t k = 0; k < tree.dag.ops.size(); ++k)
    if (has_loops(tree, OpId(static_cast<std::int64_t>(k)))) ops.push_back(OpId(static_cast<std::int64_t>(k)));
  return ops;
}

/// The tensor that a sum reads; invalid where it reads several.
OpId source_of(const ComputeDag& dag, OpId sum) {
  const std::vector<OpId> inputs = inputs_of(dag, sum);
  return inputs.size() == 1 ? inputs.front() : OpId();
}

std::int64_t elements_of(const Scheduler& s, OpId op) { return num_elements(s.tree().dag.op(op).shape); }

/// The number of leading axes whose indices number `rows` rows, all but one of the axes behind them having one element;
/// nothing where there is none.
std::optional<std::size_t> axes_of(const std::vector<Axis>& axes, std::int64_t rows) {
  std::int64_t indices = 1;
  for (const Axis& axis : axes) indices *= axis.extent;
  if (indices == rows) return axes.size();
  std::size_t last = axes.size();
  while (last > 0 && axes[last - 1].extent == 1) --last;
  if (last < 2 || indices / axes[last - 1].extent != rows) return std::nullopt;
  return last - 1;
}

/// Every sum is one element for a row: placed under the row, it computes what the row needs and nothing else.
bool have_one_element_a_row(const Scheduler& s, const RowsForm& form) {
  Scheduler trial = s;
  const LoopId row = trial.loops(form.result)[form.rows - 1];
  for (std::size_t k = form.sums.size(); k-- > 0;) {
    for (const Span& span : required_region(trial.tree(), form.sums[k], row))
      if (span.extent != 1) return false;
    trial.compute_at(form.sums[k], row, StoredIn::registers);
    if (!trial.finish().ok()) return false;
  }
  return true;
}

bool is_patch_of_windows(const ComputeDag& dag) {
  for (const Op& op : dag.ops) {
    if (op.is_placeholder() || !op.element().reducer) continue;
    const OpFamily family = op.element().family;
    if (family != OpFamily::pool && family != OpFamily::depthwise && family != OpFamily::conv) continue;
    for (const Axis& axis : op.element().axes)
      if ((axis.role == AxisRole::row || axis.role == AxisRole::column) && axis.extent > 1) return true;
  }
  return false;
}

}  // namespace

bool merge_terms(Scheduler& s, OpId op) {
  if (!has_loops(s.tree(), op) || s.tree().dag.op(op).element().reduce_axes.size() < 2) return false;
  const OpId source = source_of(s.tree().dag, op);
  if (!source.valid()) return false;
  Scheduler trial = s;
  trial.unfold(source, op, UnfoldOrder::spatial_first);
  const OpId moved(op.value + 1);
  const Element& element = s.tree().dag.op(op).element();
  for (std::size_t r = element.reduce_axes.size(); r > 1; --r) trial.merge(moved, std::ssize(element.axes));
  if (!trial.finish().ok()) return false;
  s = std::move(trial);
  return true;
}

std::optional<RowsForm> rows_of(const Scheduler& s, OpId result_op, std::vector<OpId> sums) {
  RowsForm form{.sums = std::move(sums), .result = result_op};
  std::vector<OpId> all = form.sums;
  if (is_sum(s.tree(), form.result)) all.push_back(form.result);
  if (all.empty()) return std::nullopt;

  form.terms = std::int64_t{1} << 31;
  for (OpId op : all) {
    const Element& element = s.tree().dag.op(op).element();
    if (element.reduce_axes.size() != 1 || elements_of(s, op) != elements_of(s, all.front())) return std::nullopt;
    form.terms = std::min(form.terms, element.reduce_axes.front().extent);
    form.along = form.along && reduces_innermost(s.tree().dag, op);
  }
  if (form.terms < (all.size() > 1 ? 2 : kFewestRowTerms)) return std::nullopt;
  const Element& result = s.tree().dag.op(form.result).element();
  const std::optional<std::size_t> rows = axes_of(result.axes, elements_of(s, all.front()));
  if (!rows || *rows == 0) return std::nullopt;
  form.rows = *rows;
  form.inside = elements_of(s, form.result) / elements_of(s, all.front());
  form.columns = result.axes.back().extent;
  // Neighbouring sums of a thread are those of one op.
  if (!form.along && (form.inside > 1 || all.size() > 1 || form.rows != result.axes.size())) form.along = true;
  if (!have_one_element_a_row(s, form)) return std::nullopt;
  return form;
}

namespace {

std::optional<RowsForm> rows_form(const ComputeDag& dag) {
  if (dag.outputs.size() != 1 || is_patch_of_windows(dag)) return std::nullopt;
  Scheduler s(dag);
  for (std::size_t k = 0; k < s.tree().dag.ops.size(); ++k)
    if (merge_terms(s, OpId(static_cast<std::int64_t>(k)))) ++k;
  const OpId result = s.tree().dag.outputs.front();
  std::vector<OpId> sums;
  for (OpId op : computed(s.tree())) {
    if (!is_sum(s.tree(), op) && op != result) s.inline_op(op);
    if (is_sum(s.tree(), op) && op != result) sums.push_back(op);
  }
  if (!s.finish().ok()) return std::nullopt;
  std::optional<RowsForm> form = rows_of(s, result, std::move(sums));
  if (form) form->start = std::make_shared<const Scheduler>(std::move(s));
  return form;
}

struct RowsShare {
  std::int64_t threads, rows, vector, min_blocks;
};
RowsShare rows_share(const Choices& c) {
  return {c.at("threads")[0], c.at("rows")[0], c.at("vector")[0], c.at("min_blocks")[0]};
}

class RowsBuilder {
 public:
  RowsBuilder(Scheduler& s, const RowsForm& form, const RowsShare& share) : s_(s), form_(form), share_(share) {}

  void run() {
    if (form_.start) s_ = *form_.start;
    const LoopId row = form_.along ? rows_along() : rows_across();
    for (std::size_t k = form_.sums.size(); k-- > 0;) {
      const std::vector<LoopId> loops = s_.compute_at(form_.sums[k], row, StoredIn::registers);
      form_.along ? sum_along(loops.back()) : sum_across(loops);
    }
  }

 private:
  /// Loops over one axis of which the threads of a sum have `vector` neighbouring elements each.
  struct Part {
    LoopId trips, threads, vector;
    std::vector<LoopId> order() const { return {trips, threads, vector}; }
  };
  Part part(LoopId loop) {
    const auto trips = s_.split(loop, share_.threads * share_.vector, Tail::guard);
    const auto threads = s_.split(trips.inner, share_.vector, Tail::guard);
    return {trips.outer, threads.outer, threads.inner};
  }

  /// Few trips are unrolled, so that all loads are under way at once.
  void unroll_few(LoopId trips) {
    if (extent_of(s_.tree(), trips) <= kMostRowTrips) s_.annotate(trips, LoopKind::unrolled);
  }

  /// Blocks over groups of rows, threads over the rows of a group; `inside` in them. Gives the loop over a group's rows.
  LoopId bind_rows(std::vector<LoopId> rows, const std::vector<LoopId>& inside) {
    std::size_t last = rows.size() - 1;
    while (last > 0 && extent_of(s_.tree(), rows[last]) == 1) --last;
    const auto [outer, inner] =
        s_.split(rows[last], std::min(share_.rows, extent_of(s_.tree(), rows[last])), Tail::guard);
    rows[last] = outer;
    std::vector<LoopId> order = rows;
    order.push_back(inner);
    order.insert(order.end(), inside.begin(), inside.end());
    s_.reorder(order);
    const LoopId blocks = rows.size() > 1 ? s_.fuse(rows) : rows.front();
    s_.bind(blocks, LoopKind::block);
    s_.bind(inner, LoopKind::thread);
    if (share_.min_blocks > 0) s_.min_blocks(blocks, share_.min_blocks);
    return inner;
  }

  LoopId rows_along() {
    std::vector<LoopId> loops = spatial_loops(s_, form_.result);
    const auto begin = loops.begin() + static_cast<std::ptrdiff_t>(form_.rows);
    const std::vector<LoopId> rows(loops.begin(), begin), within(begin, loops.end());
    if (is_sum(s_.tree(), form_.result)) {
      const Part terms = part(s_.loops(form_.result).back());
      const LoopId row = bind_rows(rows, terms.order());
      finish_sum(terms);
      return row;
    }
    if (within.empty()) return bind_rows(rows, {});
    const Part elements = part(within.front());
    std::vector<LoopId> inside(within.begin() + 1, within.end());
    for (LoopId loop : elements.order()) inside.push_back(loop);
    const LoopId row = bind_rows(rows, inside);
    s_.bind(elements.threads, LoopKind::thread);
    s_.annotate(elements.vector, LoopKind::vectorized);
    unroll_few(elements.trips);
    return row;
  }

  void sum_along(LoopId terms) { finish_sum(part(terms)); }
  void finish_sum(const Part& terms) {
    s_.rfactor(terms.threads);
    s_.bind(terms.threads, LoopKind::thread);
    s_.annotate(terms.vector, LoopKind::unrolled);
    unroll_few(terms.trips);
  }

  /// Rows are groups of neighbouring columns.
  LoopId rows_across() {
    std::vector<LoopId> rows = spatial_loops(s_, form_.result), inside;
    const auto columns = s_.split(rows.back(), share_.vector, Tail::guard);
    rows.back() = columns.outer;
    if (!is_sum(s_.tree(), form_.result)) {
      const LoopId row = bind_rows(rows, {columns.inner});
      s_.annotate(columns.inner, LoopKind::vectorized);
      return row;
    }
    const auto terms = s_.split(s_.loops(form_.result).back(), share_.threads, Tail::guard);
    const LoopId row = bind_rows(rows, {terms.outer, terms.inner, columns.inner});
    finish_across(terms, columns.inner);
    return row;
  }

  void sum_across(const std::vector<LoopId>& loops) {
    const auto terms = s_.split(loops.back(), share_.threads, Tail::guard);
    std::vector<LoopId> order{terms.outer, terms.inner};
    order.insert(order.end(), loops.begin(), loops.end() - 1);
    s_.reorder(order);
    finish_across(terms, loops[loops.size() - 2]);
  }
  void finish_across(const Scheduler::Pair& terms, LoopId columns) {
    s_.rfactor(terms.inner);
    s_.bind(terms.inner, LoopKind::thread);
    s_.annotate(columns, LoopKind::vectorized);
    unroll_few(terms.outer);
  }

  Scheduler& s_;
  const RowsForm& form_;
  const RowsShare share_;
};

Objection share_fits(const Choices& c, const GpuLimits& limits) {
  const RowsShare share = rows_share(c);
  const std::int64_t threads = std::max<std::int64_t>(kWarp, share.rows * share.threads);
  if (const Objection wrong = threads_fit(threads, limits.threads_per_block)) return wrong;
  return blocks_fit(share.min_blocks, threads, limits);
}

Objection work_fits(const RowsForm& form, const Choices& c) {
  const std::int64_t at_once = c.at("threads")[0] * (form.along ? c.at("vector")[0] : 1);
  const std::int64_t there = form.along && form.inside > 1 ? std::min(form.terms, form.inside) : form.terms;
  return terms_enough(there, at_once);
}

std::vector<std::int64_t> powers(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = from; value <= to; value *= 2) values.push_back(value);
  return values;
}

std::vector<std::int64_t> vectors_of(const RowsForm& form) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {1, 2, 4})
    if (form.along || form.columns % size == 0) sizes.push_back(size);
  return sizes;
}

}  // namespace

std::vector<Decision> rows_decisions(const RowsForm& form) {
  return {
      {"threads", "threads that add up one sum", single(powers(2, std::min<std::int64_t>(form.terms, 1024))), 0},
      {"rows", "rows of a block", single({1, 2, 4, 8, 16}), 0},
      {"vector", form.along ? "neighbouring terms of a thread" : "neighbouring sums of a thread",
       single(vectors_of(form)), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 4, 8}), 0},
  };
}

std::vector<Constraint> rows_constraints(const RowsForm& form, const GpuLimits& limits) {
  return {
      {{"threads", "rows", "min_blocks"}, [limits](const Choices& c) { return share_fits(c, limits); }},
      {{"threads", "vector"}, [f = form](const Choices& c) { return work_fits(f, c); }},
  };
}

std::vector<Choices> rows_starts(const RowsForm& form) {
  std::vector<Choices> starts;
  for (const std::int64_t vector : {vectors_of(form).back(), std::int64_t{1}})
    for (const std::int64_t threads : {2, 8, 32, 64, 128, 256})
      for (const std::int64_t rows : {1, 4})
        if (rows == 1 || threads <= 32)
          starts.push_back({{"threads", {threads}}, {"rows", {rows}}, {"vector", {vector}}, {"min_blocks", {0}}});
  return starts;
}

void build_rows(Scheduler& s, const RowsForm& form, const Choices& c) { RowsBuilder(s, form, rows_share(c)).run(); }

std::optional<Sketch> gpu_rows_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<RowsForm> form = rows_form(dag);
  if (!form) return std::nullopt;
  Sketch sketch;
  sketch.name = "rows";
  sketch.decisions = rows_decisions(*form);
  sketch.constraints = rows_constraints(*form, limits_of(target.gpu()));
  sketch.build = [f = *form](Scheduler& s, const Choices& c) { build_rows(s, f, c); };
  sketch.preferred = preferred_choices(sketch, dag, target, rows_starts(*form), {});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
