#include "space/gpu/patch.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "compute/affine.h"
#include "space/anatomy.h"
#include "space/gpu/levels.h"
#include "space/gpu/limits.h"
#include "space/gpu/preferred.h"

namespace whet {
namespace {

constexpr std::int64_t kMostChannels = 16;  ///< that are summed; with more, a product's copies are whole vectors
constexpr std::int64_t kMostPatchThreads = 512;

/// The axes of the result that are cut; the others are those of blocks.
enum Part : std::size_t { kRow, kColumn, kChannel, kParts };

struct PatchForm {
  OpId patch, weights, sum;
  std::optional<OpId> output;              ///< of the epilogue
  std::shared_ptr<const Scheduler> start;  ///< with copies, and all else inlined
  std::array<std::size_t, kParts> axes;    ///< of the result
  std::array<std::int64_t, kParts> extents;
  std::array<std::int64_t, 2> steps, taps;  ///< along rows and columns
  std::int64_t channels = 1;                ///< that are summed
  std::int64_t columns_taken = 1;           ///< steps of the sum along columns
  std::int64_t groups = 1;                  ///< of the input's channels
  std::int64_t run = 1;  ///< neighbours in the weights that are neighbours along the result's channels
};

bool reads(const Load& load, std::int64_t axis) {
  return std::any_of(load.index.begin(), load.index.end(), [&](const Expr& i) { return uses(i, VarId(axis)); });
}

/// The result's axes of rows, columns and channels; nothing where one is missing.
std::optional<std::array<std::size_t, kParts>> axes_of(const Element& element) {
  std::optional<std::size_t> row, column;
  for (std::size_t k = 0; k + 1 < element.axes.size(); ++k) {
    if (element.axes[k].role == AxisRole::row) row = k;
    if (element.axes[k].role == AxisRole::column) column = k;
  }
  if (!row || !column) return std::nullopt;
  return std::array<std::size_t, kParts>{*row, *column, element.axes.size() - 1};
}

/// How far an axis of the result moves a dimension of what is read, and how many taps the sum has along it.
bool find_taps(const Element& element, const Load& input, PatchForm& form) {
  for (const Part part : {kRow, kColumn}) {
    const auto axis = static_cast<std::int64_t>(form.axes[part]);
    const auto found = std::find_if(input.index.begin(), input.index.end(),
                                    [&](const Expr& index) { return uses(index, VarId(axis)); });
    if (found == input.index.end()) return false;
    const Affine sum = to_affine(*found);
    form.steps[part] = sum.coefficient(axis_var(element, axis));
    form.taps[part] = 1;
    for (std::size_t r = 0; r < element.reduce_axes.size(); ++r) {
      const auto number = static_cast<std::int64_t>(element.axes.size() + r);
      form.taps[part] += sum.coefficient(axis_var(element, number)) * (element.reduce_axes[r].extent - 1);
    }
    if (form.steps[part] < 1) return false;
  }
  return form.taps[kRow] * form.taps[kColumn] > 1;
}

/// A sum of products of an activation and weights over rows of taps, columns of taps and channels.
struct Operands {
  const Load *input, *weights;
};
std::optional<Operands> operands_of(const ComputeDag& dag, const Op& op) {
  const Element& element = op.element();
  const Binary* product = std::get_if<Binary>(&element.body->kind);
  const bool fits = op.dtype == DType::f32 && element.reducer == Reducer::sum && element.axes.size() == 4 &&
                    element.reduce_axes.size() == 3 && element.reduce_axes.back().role == AxisRole::in_channel;
  if (!fits || !product || product->op != BinaryOp::mul) return std::nullopt;
  const Load *input = std::get_if<Load>(&product->a->kind), *weights = std::get_if<Load>(&product->b->kind);
  if (!input || !weights || input->source == weights->source || is_constant(dag, OpId(input->source.value)))
    return std::nullopt;
  if (!uses(input->index.back(), VarId(static_cast<std::int64_t>(element.axes.size() + 2)))) return std::nullopt;
  return Operands{input, weights};
}

/// Copies of both operands, and all but the sum and the result inlined. Numbers the form's ops.
bool make_start(const ComputeDag& dag, const Anatomy& anatomy, const Operands& operands, PatchForm& form) {
  Scheduler s(dag);
  form.patch = s.cache_read(OpId(operands.input->source.value), anatomy.anchor);
  form.weights = s.unfold(OpId(operands.weights->source.value), OpId(anatomy.anchor.value + 1), UnfoldOrder::turned);
  form.sum = OpId(anatomy.anchor.value + 2);
  const auto now = [&](OpId op) { return op < anatomy.anchor ? op : OpId(op.value + 2); };
  for (OpId op : anatomy.before) s.inline_op(op);
  for (OpId op : anatomy.after) s.inline_op(now(op));
  if (anatomy.output) form.output = now(*anatomy.output);
  if (!s.finish().ok()) return false;
  if (form.output && s.tree().dag.op(*form.output).shape != dag.op(anatomy.anchor).shape) return false;
  form.start = std::make_shared<const Scheduler>(std::move(s));
  return true;
}

std::optional<PatchForm> find_patch_form(const ComputeDag& dag) {
  const std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy) return std::nullopt;
  const Op& anchor = dag.op(anatomy->anchor);
  const Element& element = anchor.element();
  const std::optional<Operands> operands = operands_of(dag, anchor);
  const auto axes = axes_of(element);
  if (!operands || !axes) return std::nullopt;
  PatchForm form;
  form.axes = *axes;
  for (std::size_t part = 0; part < kParts; ++part) form.extents[part] = element.axes[form.axes[part]].extent;
  form.columns_taken = element.reduce_axes[1].extent, form.channels = element.reduce_axes[2].extent;
  const auto channel = static_cast<std::int64_t>(form.axes[kChannel]);
  const bool grouped = reads(*operands->input, channel);
  if (!grouped && form.channels > kMostChannels) return std::nullopt;
  if (reads(*operands->weights, static_cast<std::int64_t>(form.axes[kRow])) || !reads(*operands->weights, channel))
    return std::nullopt;
  if (!find_taps(element, *operands->input, form)) return std::nullopt;
  form.groups = dag.op(OpId(operands->input->source.value)).shape.back() / form.channels;
  if (same(operands->weights->index.back(), axis_var(element, channel))) form.run = 4;
  return make_start(dag, *anatomy, *operands, form) ? std::optional(form) : std::nullopt;
}

/// Threads along an axis of the result, and neighbouring results of each.
struct PatchCut {
  std::int64_t threads = 1, strip = 1;
  std::int64_t whole() const { return threads * strip; }
};

struct PatchTile {
  std::array<PatchCut, kParts> cuts;
  std::int64_t stages = 1, min_blocks = 0;

  std::int64_t threads() const { return cuts[kRow].threads * cuts[kColumn].threads * cuts[kChannel].threads; }
  std::int64_t sums() const { return cuts[kRow].strip * cuts[kColumn].strip * cuts[kChannel].strip; }
};

constexpr const char* kCuts[kParts] = {"rows", "columns", "channels"};

/// What is not chosen is as in PatchTile.
PatchTile patch_tile(const Choices& c) {
  PatchTile tile;
  const auto chosen = [&](const char* name) -> const Choice* {
    const auto found = c.find(name);
    return found == c.end() || found->second.empty() ? nullptr : &found->second;
  };
  for (std::size_t part = 0; part < kParts; ++part)
    if (const Choice* cut = chosen(kCuts[part])) tile.cuts[part] = {cut->at(0), cut->at(1)};
  if (const Choice* stages = chosen("stages")) tile.stages = stages->front();
  if (const Choice* blocks = chosen("min_blocks")) tile.min_blocks = blocks->front();
  return tile;
}

class PatchBuilder {
 public:
  PatchBuilder(Scheduler& s, const PatchForm& form, const PatchTile& tile) : s_(s), f_(form), tile_(tile) {}

  void run() {
    s_ = *f_.start;
    const LoopId taps = f_.output ? epilogue() : sums_alone();
    copy_weights(taps);
    copy_patch();
    if (tile_.stages > 1 && f_.taps[kRow] > 1) s_.pipeline(taps, tile_.stages);
  }

 private:
  /// Blocks, threads, `reduce`, strips. Gives the strips.
  std::vector<LoopId> nest(OpId op, const std::vector<LoopId>& reduce) {
    std::vector<LoopId> blocks = spatial_loops(s_, op), threads, strips;
    for (std::size_t part = 0; part < kParts; ++part) {
      LoopId& loop = blocks[f_.axes[part]];
      const auto tile = s_.split(loop, std::min(tile_.cuts[part].whole(), f_.extents[part]), Tail::guard);
      const auto thread = s_.split(tile.inner, tile_.cuts[part].strip, Tail::guard);
      loop = tile.outer;
      threads.push_back(thread.outer), strips.push_back(thread.inner);
    }
    std::vector<LoopId> order = blocks;
    for (const std::vector<LoopId>& loops : {threads, reduce, strips})
      order.insert(order.end(), loops.begin(), loops.end());
    s_.reorder(order);
    block_ = s_.fuse(blocks), thread_ = threads.back();
    s_.bind(block_, LoopKind::block);
    if (tile_.min_blocks > 0) s_.min_blocks(block_, tile_.min_blocks);
    for (LoopId loop : threads) s_.bind(loop, LoopKind::thread);
    unroll_vectors(s_, strips);
    return strips;
  }

  /// Sums in registers of the epilogue's threads. Gives the loop over rows of taps.
  LoopId epilogue() {
    nest(*f_.output, {});
    const std::vector<LoopId> loops = s_.compute_at(f_.sum, thread_, StoredIn::registers);
    std::vector<LoopId> order(loops.end() - 3, loops.end());
    order.insert(order.end(), loops.begin(), loops.end() - 3);
    s_.reorder(order);
    unroll_vectors(s_, {order.begin() + 1, order.end()});
    return order.front();
  }

  LoopId sums_alone() {
    const std::vector<LoopId> reduce = reduce_loops(s_, f_.sum);
    nest(f_.sum, reduce);
    for (std::size_t k = 1; k < reduce.size(); ++k) s_.annotate(reduce[k], LoopKind::unrolled);
    s_.cache_write(f_.sum, thread_);
    return reduce.front();
  }

  /// A row of taps.
  void copy_weights(LoopId taps) {
    const std::vector<LoopId> loops = s_.compute_at(f_.weights, taps, StoredIn::block);
    const std::int64_t columns = std::gcd(tile_.cuts[kChannel].whole(), f_.extents[kChannel]);
    fill_together(s_, loops, std::gcd(f_.run, columns), tile_.threads());
  }

  void copy_patch() {
    const std::vector<LoopId> loops = s_.compute_at(f_.patch, block_, StoredIn::block);
    fill_together(s_, loops, std::gcd<std::int64_t>(f_.channels, 4), tile_.threads());
  }

  Scheduler& s_;
  const PatchForm& f_;
  const PatchTile tile_;
  LoopId block_, thread_;
};

/// Elements of the patch, as `compute_at` bounds them: of groups that begin anywhere.
std::int64_t patch_elements(const PatchForm& f, const PatchTile& tile) {
  std::int64_t elements = f.channels;
  for (const Part part : {kRow, kColumn}) elements *= (tile.cuts[part].whole() - 1) * f.steps[part] + f.taps[part];
  const std::int64_t results = f.extents[kChannel] / f.groups;  // of a group
  return elements * std::min(f.groups, (tile.cuts[kChannel].whole() + results - 2) / results + 1);
}

Objection tile_fits(const PatchForm& f, const PatchTile& tile, const GpuLimits& limits) {
  if (const Objection wrong = threads_fit(tile.threads(), kMostPatchThreads)) return wrong;
  if (const Objection wrong = blocks_fit(tile.min_blocks, tile.threads(), limits)) return wrong;
  if (const Objection wrong = body_bounded(tile.sums() * f.columns_taken * f.channels)) return wrong;
  return registers_fit(tile_registers(tile.sums()), tile.threads(), limits, tile.min_blocks);
}

Objection patch_fits(const PatchForm& f, const PatchTile& tile, const GpuLimits& limits) {
  const std::int64_t weights = f.columns_taken * f.channels * tile.cuts[kChannel].whole();
  return memory_fits(4 * (patch_elements(f, tile) + tile.stages * weights), limits);
}

std::vector<Choice> patch_cuts(std::int64_t extent, std::int64_t most_threads,
                               const std::vector<std::int64_t>& strips) {
  std::vector<Choice> options;
  for (std::int64_t threads = 1; threads <= most_threads; threads *= 2)
    for (const std::int64_t strip : strips)
      if (strip <= extent && threads * strip < 2 * extent) options.push_back({threads, strip});
  return options;
}

std::vector<Choices> patch_starts(const Sketch& sketch) {
  std::vector<Choices> starts;
  const auto has = [&](std::size_t decision, const Choice& choice) {
    const std::vector<Choice>& options = sketch.decisions[decision].options;
    return std::find(options.begin(), options.end(), choice) != options.end();
  };
  for (const Choice& rows : {Choice{2, 1}, Choice{4, 1}, Choice{8, 1}})
    for (const Choice& columns : {Choice{4, 4}, Choice{8, 4}, Choice{4, 8}, Choice{8, 2}, Choice{4, 7}, Choice{4, 2},
                                  Choice{2, 4}, Choice{2, 2}})
      for (const Choice& channels : {Choice{4, 4}, Choice{8, 4}, Choice{16, 4}})
        if (has(kRow, rows) && has(kColumn, columns) && has(kChannel, channels))
          starts.push_back(
              {{"rows", rows}, {"columns", columns}, {"channels", channels}, {"stages", {2}}, {"min_blocks", {0}}});
  return starts;
}

}  // namespace

std::optional<Sketch> patch_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<PatchForm> form = find_patch_form(dag);
  if (!form) return std::nullopt;
  const GpuLimits limits = limits_of(target.gpu());
  Sketch sketch;
  sketch.name = "patch";
  sketch.decisions = {
      {"rows", "rows of a tile: threads, rows of each", patch_cuts(form->extents[kRow], 8, {1, 2}), 0},
      {"columns", "columns of a tile: threads, columns of each",
       patch_cuts(form->extents[kColumn], 16, {1, 2, 4, 7, 8}), 0},
      {"channels", "channels of a tile: threads, channels of each", patch_cuts(form->extents[kChannel], 32, {1, 2, 4}),
       0},
      {"stages", "rows of weights under way at once, and the one that is read", single({1, 2, 3}), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
  };
  for (std::size_t part = 0; part < kParts; ++part)
    sketch.constraints.push_back({{kCuts[part]}, [part, extent = form->extents[part]](const Choices& c) {
                                    return waste_bounded(extent, patch_tile(c).cuts[part].whole());
                                  }});
  sketch.constraints.push_back({{"rows", "columns", "channels", "min_blocks"},
                                [f = *form, limits](const Choices& c) { return tile_fits(f, patch_tile(c), limits); }});
  sketch.constraints.push_back({{"rows", "columns", "channels", "stages"}, [f = *form, limits](const Choices& c) {
                                  return patch_fits(f, patch_tile(c), limits);
                                }});
  sketch.build = [f = *form](Scheduler& s, const Choices& c) { PatchBuilder(s, f, patch_tile(c)).run(); };
  sketch.preferred = preferred_choices(sketch, dag, target, patch_starts(sketch), {"stages", "rows", "columns"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
