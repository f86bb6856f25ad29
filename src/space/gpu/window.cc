#include "space/gpu/window.h"

#include <algorithm>

#include "compute/affine.h"
#include "space/anatomy.h"
#include "space/gpu/levels.h"
#include "space/gpu/preferred.h"

namespace whet {
namespace {

constexpr std::int64_t kMostTaps = 64;  ///< of a window that is unrolled whole

/// The step of an index along an axis, and the taps of the reduce axes in it; nothing where it does not move with the axis.
std::optional<PatchAxis> patch_axis(const Element& element, const Load& read, std::size_t axis) {
  const auto axes = static_cast<std::int64_t>(element.axes.size());
  for (const Expr& index : read.index) {
    const Affine sum = to_affine(index);
    const std::int64_t step = sum.coefficient(axis_var(element, static_cast<std::int64_t>(axis)));
    if (step < 1) continue;
    PatchAxis found{axis, element.axes[axis].extent, step, 1};
    for (std::int64_t r = 0; r < std::ssize(element.reduce_axes); ++r)
      found.taps +=
          sum.coefficient(axis_var(element, axes + r)) * (element.reduce_axes[static_cast<std::size_t>(r)].extent - 1);
    return found;
  }
  return std::nullopt;
}

std::optional<PatchAxis> axis_of_role(const Element& element, const Load& read, AxisRole role) {
  for (std::size_t k = 0; k + 1 < element.axes.size(); ++k)
    if (element.axes[k].role == role) return patch_axis(element, read, k);
  return std::nullopt;
}

/// The loads of the reduction's body, the largest tensor first.
std::vector<const Load*> loads_of(const ComputeDag& dag, const Element& element) {
  std::vector<const Load*> loads;
  for_each(element.body, [&](const Expr& part) {
    if (const Load* load = std::get_if<Load>(&part->kind)) loads.push_back(load);
  });
  const auto size = [&](const Load* load) { return num_elements(dag.op(OpId(load->source.value)).shape); };
  std::stable_sort(loads.begin(), loads.end(), [&](const Load* a, const Load* b) { return size(a) > size(b); });
  return loads;
}

struct Patch {
  std::int64_t rows, columns, vector, threads, min_blocks;
};
Patch patch_of(const Choices& c) {
  return {c.at("rows")[0], c.at("columns")[0], c.at("vector")[0], c.at("threads")[0], c.at("min_blocks")[0]};
}

class WindowBuilder {
 public:
  WindowBuilder(Scheduler& s, const GpuWindow& w, const Patch& patch) : s_(s), w_(w), patch_(patch) {}

  void run() {
    const LoopId threads = nest(w_.target());
    if (w_.output) {
      const std::vector<LoopId> loops = s_.compute_at(w_.sum, threads, StoredIn::registers);
      const auto spatial = static_cast<std::ptrdiff_t>(w_.channels) + 1;
      std::vector<LoopId> order(loops.begin() + spatial, loops.end());
      order.insert(order.end(), loops.begin(), loops.begin() + spatial);
      s_.reorder(order);
      unroll(order);
    } else {
      s_.cache_write(w_.sum, threads);
    }
    if (w_.staged) unroll(s_.compute_at(*w_.staged, threads, StoredIn::registers));
  }

 private:
  /// All but the last, which is a vector.
  void unroll(const std::vector<LoopId>& loops) {
    for (std::size_t k = 0; k + 1 < loops.size(); ++k) s_.annotate(loops[k], LoopKind::unrolled);
    s_.annotate(loops.back(), LoopKind::vectorized);
  }

  /// Blocks and threads over patches; the patch, or the sums of all its elements, inside.
  LoopId nest(OpId op) {
    std::vector<LoopId> outer = spatial_loops(s_, op), inside = reduce_loops(s_, op);
    const auto cut = [&](std::size_t axis, std::int64_t size) {
      const auto [out, in] = s_.split(outer[axis], size, Tail::guard);
      outer[axis] = out;
      inside.push_back(in);
    };
    if (w_.rows) cut(w_.rows->axis, patch_.rows);
    if (w_.columns) cut(w_.columns->axis, patch_.columns);
    cut(w_.channels, patch_.vector);
    const LoopId threads = bind_levels(s_, cut_levels(s_, outer, patch_.threads), inside);
    if (patch_.min_blocks > 0) s_.min_blocks(path_to(s_.tree(), threads).front(), patch_.min_blocks);
    unroll(inside);
    return threads;
  }

  Scheduler& s_;
  const GpuWindow& w_;
  const Patch patch_;
};

std::vector<Choice> sizes(const std::optional<PatchAxis>& axis, const std::vector<std::int64_t>& wanted) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : wanted)
    if (size == 1 || (axis && size <= axis->extent)) sizes.push_back(size);
  return single(sizes);
}

std::vector<std::int64_t> vectors(std::int64_t channels) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {1, 2, 4})
    if (channels % size == 0) sizes.push_back(size);
  return sizes;
}

/// Of these and more ptxas gives a thread of sm_75 64, and keeps the rest in memory, unless blocks are asked for.
constexpr std::int64_t kRegistersForSm75 = 100;

std::int64_t patch_registers(const GpuWindow& w, const Patch& patch) {
  const std::int64_t reads =
      (w.rows ? w.rows->reads(patch.rows) : w.taps) * (w.columns ? w.columns->reads(patch.columns) : 1);
  return loading_registers((patch.rows * patch.columns + reads + (w.weighted ? w.taps : 0)) * patch.vector);
}

Objection patch_fits(const GpuWindow& w, const Choices& c, const GpuLimits& limits) {
  const Patch patch = patch_of(c);
  if (const Objection wrong = body_bounded(patch.rows * patch.columns * patch.vector * w.taps)) return wrong;
  if (const Objection wrong = blocks_fit(patch.min_blocks, patch.threads, limits)) return wrong;
  return registers_fit(patch_registers(w, patch), patch.threads, limits, patch.min_blocks);
}

}  // namespace

std::optional<GpuWindow> window_of(const ComputeDag& dag, OpId sum, std::optional<OpId> output) {
  const Op& anchor = dag.op(sum);
  if (reduces_innermost(dag, sum)) return std::nullopt;
  const Element& element = anchor.element();
  GpuWindow window{.sum = sum, .output = output};
  for (const Axis& axis : element.reduce_axes) window.taps *= axis.extent;
  if (element.axes.empty() || window.taps > kMostTaps) return std::nullopt;
  if (dag.op(window.target()).shape != anchor.shape) return std::nullopt;

  const std::vector<const Load*> loads = loads_of(dag, element);
  if (loads.empty() || loads.size() > 2) return std::nullopt;
  window.weighted = loads.size() == 2;
  window.channels = element.axes.size() - 1;
  window.rows = axis_of_role(element, *loads.front(), AxisRole::row);
  window.columns = axis_of_role(element, *loads.front(), AxisRole::column);
  // A thread's channels are those that it reads.
  if (!uses(loads.front()->index.back(), VarId(static_cast<std::int64_t>(window.channels)))) return std::nullopt;
  const auto is_wide = [](const std::optional<PatchAxis>& axis) { return axis && axis->extent > 1; };
  if (!is_wide(window.rows) && !is_wide(window.columns)) return std::nullopt;
  const OpId read(loads.front()->source.value);
  if (!dag.op(read).is_placeholder() && dag.op(read).element().family == OpFamily::pad) window.staged = read;
  return window;
}

std::vector<Decision> window_decisions(const GpuWindow& window, std::int64_t channels) {
  return {
      {"rows", "rows of a thread's patch", sizes(window.rows, {1, 2, 4}), 0},
      {"columns", "columns of a thread's patch", sizes(window.columns, {1, 2, 4, 7}), 0},
      {"vector", "channels of a thread", single(vectors(channels)), 0},
      {"threads", "threads of a block", single({64, 128, 256}), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 4, 6, 8}), 0},
  };
}

std::vector<Constraint> window_constraints(const GpuWindow& window, const GpuLimits& limits) {
  return {
      {{"rows", "columns", "vector", "threads", "min_blocks"},
       [w = window, limits](const Choices& c) { return patch_fits(w, c, limits); }},
  };
}

std::vector<Choices> window_starts(const std::vector<Decision>& decisions) {
  const std::vector<Choice>& options = decisions[1].options;
  std::vector<Choices> starts;
  for (const std::int64_t columns : {1, 2, 4})
    for (const std::int64_t threads : {64, 128})
      if (std::find(options.begin(), options.end(), Choice{columns}) != options.end())
        starts.push_back({{"rows", {1}},
                          {"columns", {columns}},
                          {"vector", decisions[2].options.back()},
                          {"threads", {threads}},
                          {"min_blocks", {0}}});
  return starts;
}

void build_window(Scheduler& s, const GpuWindow& window, const Choices& c) {
  WindowBuilder(s, window, patch_of(c)).run();
}

namespace {

/// The window of a DAG with nothing else, and what is inlined first.
struct WindowTask {
  GpuWindow window;
  Anatomy anatomy;
};
std::optional<WindowTask> as_window(const ComputeDag& dag) {
  std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy) return std::nullopt;
  std::optional<GpuWindow> window = window_of(dag, anatomy->anchor, anatomy->output);
  return window ? std::optional(WindowTask{*window, std::move(*anatomy)}) : std::nullopt;
}

void inline_around(Scheduler& s, const WindowTask& task) {
  for (OpId op : task.anatomy.before)
    if (op != task.window.staged) s.inline_op(op);
  for (OpId op : task.anatomy.after) s.inline_op(op);
}

}  // namespace

std::optional<Sketch> window_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<WindowTask> task = as_window(dag);
  if (!task) return std::nullopt;
  Sketch sketch;
  sketch.name = "window";
  sketch.decisions = window_decisions(task->window, dag.op(task->window.target()).shape.back());
  sketch.constraints = window_constraints(task->window, limits_of(target.gpu()));
  sketch.build = [task = *task](Scheduler& s, const Choices& c) {
    inline_around(s, task);
    build_window(s, task.window, c);
  };
  sketch.preferred = preferred_choices(sketch, dag, target, window_starts(sketch.decisions), {"rows", "vector"});
  if (sketch.preferred.empty()) return std::nullopt;
  const bool is_large = patch_registers(task->window, patch_of(sketch.preferred)) > kRegistersForSm75;
  if (limits_of(target.gpu()).arch < 80 && is_large) sketch.preferred = asking_for_blocks(sketch, sketch.preferred, 4);
  return sketch;
}

}  // namespace whet
