#include "space/tile.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/affine.h"
#include "space/anatomy.h"
#include "space/register_tile.h"

namespace whet {
namespace {

/// The tile's view of the anchor: which axis is what.
struct Problem {
  Anatomy anatomy;
  ComputeDag inlined;              ///< after inlining `before`, to look at bodies
  std::int64_t vec = 0;            ///< innermost result axis: output channels
  std::int64_t x = -1, y = -1;     ///< the two axes before it, where their extent is above 1
  std::int64_t in = -1;            ///< the reduce axis that is blocked: input channels
  std::vector<std::int64_t> taps;  ///< the other reduce axes
  Tiling tiling;
  int threads = 1;
  double weight_bytes = 0;

  const Element& element() const { return inlined.op(anatomy.anchor).element(); }
  std::int64_t extent(std::int64_t axis) const {
    return axis < 0 ? 1 : element().axes[static_cast<std::size_t>(axis)].extent;
  }
  std::int64_t reduce_extent(std::int64_t axis) const {
    return axis < 0 ? 1 : element().reduce_axes[static_cast<std::size_t>(axis)].extent;
  }
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Output channels of a group, where the inputs depend on which group it is: floordiv(oc, size) occurs in their index.
std::int64_t group_size(const Problem& p) {
  std::int64_t size = 0;
  for_each(p.element().body, [&](const Expr& part) {
    const Binary* division = std::get_if<Binary>(&part->kind);
    if (!division || division->op != BinaryOp::floordiv) return;
    const Var* v = std::get_if<Var>(&division->a->kind);
    if (const std::int64_t* by = as_int(division->b); by && v && v->id.value == p.vec) size = *by;
  });
  return size;
}

/// Bytes from an input to the one that the next element along `axis` reads.
std::int64_t input_step(const Problem& p, std::int64_t axis) {
  std::int64_t step = 0;
  for_each(p.element().body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || axis < 0 || step != 0 || is_constant(p.inlined, OpId(read->source.value))) return;
    const Op& source = p.inlined.op(OpId(read->source.value));
    std::int64_t stride = size_of(source.dtype);
    for (std::size_t k = read->index.size(); k-- > 0; stride *= source.shape[k])
      step += to_affine(read->index[k]).coefficient(axis_var(p.element(), axis)) * stride;
  });
  return std::abs(step);
}

std::optional<Problem> find_problem(const ComputeDag& dag, const Target& target) {
  std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy) return std::nullopt;
  Problem p;
  p.anatomy = *anatomy;
  Scheduler scheduler(dag);
  for (std::size_t i = anatomy->before.size(); i-- > 0;) scheduler.inline_op(anatomy->before[i]);
  if (!scheduler.finish().ok()) return std::nullopt;
  p.inlined = scheduler.tree().dag;
  const Element& element = p.element();
  if (element.axes.empty()) return std::nullopt;
  // The innermost axis with more than one element is the one to vectorize.
  p.vec = static_cast<std::int64_t>(element.axes.size()) - 1;
  while (p.vec > 0 && p.extent(p.vec) == 1) --p.vec;
  if (p.extent(p.vec) < 4) return std::nullopt;
  if (p.vec >= 1 && p.extent(p.vec - 1) > 1) p.x = p.vec - 1;
  if (p.vec >= 2 && p.extent(p.vec - 2) > 1) p.y = p.vec - 2;
  for (std::size_t k = 0; k < element.reduce_axes.size(); ++k) {
    if (element.reduce_axes[k].role == AxisRole::in_channel)
      p.in = static_cast<std::int64_t>(k);
    else
      p.taps.push_back(static_cast<std::int64_t>(k));
  }
  p.tiling = {.oc = p.extent(p.vec),
              .oh = p.extent(p.y),
              .ow = p.extent(p.x),
              .lanes = target.lanes(static_cast<int>(size_of(dag.op(anatomy->anchor).dtype))),
              .registers = target.vector_registers,
              .group = group_size(p),
              .column_bytes = input_step(p, p.x),
              .row_bytes = input_step(p, p.y),
              .cache_ways = target.l1_bytes / 4096,
              .depthwise = p.in < 0};
  p.threads = target.threads;
  for (OpId constant : anatomy->constants)
    p.weight_bytes += static_cast<double>(num_elements(dag.op(constant).shape) * size_of(dag.op(constant).dtype));
  return p;
}

/// Reading along the vector axis must be contiguous in at least one operand, or vectors are gathers: then rows are not
/// worth tiling so.
bool vector_axis_is_contiguous(const Problem& p) {
  bool contiguous = false, strided = false;
  for_each(p.element().body, [&](const Expr& part) {
    const Load* l = std::get_if<Load>(&part->kind);
    if (!l || l->index.empty()) return;
    for (std::size_t k = 0; k < l->index.size(); ++k)
      for_each(l->index[k], [&](const Expr& e) {
        const Var* v = std::get_if<Var>(&e->kind);
        if (!v || v->id.value != p.vec) return;
        (k + 1 == l->index.size() ? contiguous : strided) = true;
      });
  });
  return contiguous && !strided;
}

// ---- the analytic guess

enum Order : std::int64_t { pixels_then_channels = 0, rows_channels_columns = 1, channels_then_pixels = 2 };

/// Channels outermost when the weights do not stay in a core's cache: each core then reads its share of them once.
std::int64_t best_order(const Problem& p, const Tile& tile, const Target& target) {
  const std::int64_t channel_tiles = ceil_div(p.extent(p.vec), tile.oc);
  if (p.tiling.depthwise) return pixels_then_channels;
  if (p.weight_bytes > static_cast<double>(target.l2_bytes) / 2 && channel_tiles >= 2 * p.threads)
    return channels_then_pixels;
  return rows_channels_columns;
}

std::vector<std::int64_t> outer_extents(const Problem& p, const Tile& t, std::int64_t order) {
  const std::int64_t oc = ceil_div(p.extent(p.vec), t.oc), oh = ceil_div(p.extent(p.y), t.oh),
                     ow = ceil_div(p.extent(p.x), t.ow);
  if (order == channels_then_pixels) return {oc, oh, ow};
  if (order == rows_channels_columns) return {oh, oc, ow};
  return {oh, ow, oc};
}

/// As few fused outer loops as give every worker the same share, or many shares.
std::int64_t best_parallel(const Problem& p, const Tile& t, std::int64_t order) {
  std::int64_t shares = 1;
  for (std::int64_t axis = 0; axis < std::max<std::int64_t>(p.vec - 2, 0); ++axis) shares *= p.extent(axis);
  const std::vector<std::int64_t> extents = outer_extents(p, t, order);
  for (std::size_t n = 0; n < extents.size(); ++n) {
    shares *= extents[n];
    if (shares % p.threads == 0 || shares >= 16 * p.threads) return static_cast<std::int64_t>(n) + 1;
  }
  return static_cast<std::int64_t>(extents.size());
}

std::vector<std::int64_t> unroll_options(const Problem& p) {
  std::vector<std::int64_t> options{1};
  for (std::int64_t n : {2, 3, 4, 8})
    if (p.in >= 0 && p.reduce_extent(p.in) % n == 0) options.push_back(n);
  return options;
}

std::vector<std::int64_t> block_options(const Problem& p) {
  std::vector<std::int64_t> options{0};  // 0: the whole reduction at once
  for (std::int64_t block : {64, 128, 256, 512})
    if (p.in >= 0 && p.anatomy.constants.size() > 0 && p.reduce_extent(p.in) % block == 0 &&
        p.reduce_extent(p.in) > block)
      options.push_back(block);
  return options;
}

// ---- the schedule

std::vector<Choice> single(const std::vector<std::int64_t>& values) {
  std::vector<Choice> options;
  for (std::int64_t v : values) options.push_back({v});
  return options;
}

void build(const Problem& p, Scheduler& s, const Sketch::Choices& choices) {
  const auto chosen = [&](const char* name) { return choices.at(name).front(); };
  const Anatomy& a = p.anatomy;
  for (std::size_t i = a.before.size(); i-- > 0;) s.inline_op(a.before[i]);
  for (std::size_t i = a.after.size(); i-- > 0;) s.inline_op(a.after[i]);

  const std::vector<LoopId> loops = s.loops(a.anchor);
  const std::size_t spatial = p.element().axes.size();
  std::vector<LoopId> leading, trailing, outer, inner, reduce;
  Scheduler::Pair y, x, oc;
  for (std::size_t k = 0; k < spatial; ++k) {
    const auto axis = static_cast<std::int64_t>(k);
    if (axis == p.vec)
      oc = s.split(loops[k], chosen("oc"), Tail::overlap);
    else if (axis == p.x)
      x = s.split(loops[k], chosen("ow"), Tail::overlap);
    else if (axis == p.y)
      y = s.split(loops[k], chosen("oh"), Tail::overlap);
    else
      (axis < p.vec ? leading : trailing).push_back(loops[k]);
  }
  const std::int64_t order = chosen("order");
  if (order == channels_then_pixels)
    outer = {oc.outer, y.outer, x.outer};
  else if (order == rows_channels_columns)
    outer = {y.outer, oc.outer, x.outer};
  else
    outer = {y.outer, x.outer, oc.outer};

  LoopId block;
  for (std::int64_t tap : p.taps) reduce.push_back(loops[spatial + static_cast<std::size_t>(tap)]);
  LoopId unrolled;
  if (p.in >= 0) {
    LoopId in = loops[spatial + static_cast<std::size_t>(p.in)];
    if (chosen("k") > 0) {
      const Scheduler::Pair blocks = s.split(in, chosen("k"), Tail::guard);
      block = blocks.outer, in = blocks.inner;
    }
    if (chosen("ic") > 1) {
      const Scheduler::Pair steps = s.split(in, chosen("ic"), Tail::guard);
      reduce.push_back(steps.outer);
      unrolled = steps.inner;
    } else {
      reduce.push_back(in);
    }
  }

  // parallel (leading, outer...), block, rest of outer, reduce, tile
  std::vector<LoopId> shared = leading, rest;
  std::int64_t take = chosen("parallel");
  for (LoopId loop : outer) {
    if (!loop.valid()) {
      --take;
      continue;
    }
    (take-- > 0 ? shared : rest).push_back(loop);
  }
  std::vector<LoopId> sequence = shared;
  if (block.valid()) sequence.push_back(block);
  sequence.insert(sequence.end(), rest.begin(), rest.end());
  sequence.insert(sequence.end(), trailing.begin(), trailing.end());
  const std::size_t tile_depth = sequence.size();
  sequence.insert(sequence.end(), reduce.begin(), reduce.end());
  if (unrolled.valid()) sequence.push_back(unrolled);
  for (LoopId loop : {y.inner, x.inner})
    if (loop.valid()) sequence.push_back(loop);
  sequence.push_back(oc.inner);
  s.reorder(sequence);

  LoopId tile = sequence[tile_depth - 1];
  LoopId parallel;
  if (!shared.empty()) {
    parallel = s.fuse(shared);
    if (shared.back() == tile) tile = parallel;
  }
  if (unrolled.valid()) s.annotate(unrolled, LoopKind::unrolled);
  if (p.tiling.depthwise)
    for (LoopId tap : reduce)
      if (extent_of(s.tree(), tap) <= 7 && chosen("taps") == 1) s.annotate(tap, LoopKind::unrolled);
  for (LoopId loop : {y.inner, x.inner})
    if (loop.valid()) s.annotate(loop, LoopKind::unrolled);
  s.annotate(oc.inner, LoopKind::vectorized);
  for (OpId constant : a.constants) s.pack(constant, a.anchor);

  if (a.output) {
    const bool blocked = block.valid();
    if (blocked) s.cache_write(a.anchor, tile);
    const std::vector<LoopId> last = s.reverse_compute_at(*a.output, tile, !blocked);
    const std::size_t shift = last.size() >= spatial ? last.size() - spatial : 0;
    for (std::int64_t axis : {p.y, p.x})
      if (axis >= 0) s.annotate(last[static_cast<std::size_t>(axis) + shift], LoopKind::unrolled);
    if (trailing.empty()) s.annotate(last[static_cast<std::size_t>(p.vec) + shift], LoopKind::vectorized);
  } else {
    s.cache_write(a.anchor, tile);
  }
  if (parallel.valid()) s.annotate(parallel, LoopKind::parallel);
}

}  // namespace

std::optional<Sketch> tile_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Problem> problem = find_problem(dag, target);
  if (!problem || !vector_axis_is_contiguous(*problem) || problem->tiling.oc_options().empty()) return std::nullopt;
  const Problem p = *problem;
  Sketch sketch;
  sketch.name = p.tiling.depthwise ? "tile+taps" : "tile+pack";
  sketch.decisions = {
      {"oc", "elements of the innermost axis in a register tile", single(p.tiling.oc_options())},
      {"oh", "rows in a register tile", single(p.tiling.oh_options())},
      {"ow", "columns in a register tile", single(p.tiling.ow_options())},
      {"order", "outer loops: 0 rows, columns, channels; 1 rows, channels, columns; 2 channels, rows, columns",
       single({0, 1, 2})},
      {"parallel", "how many of the outer loops are shared out among the workers", single({1, 2, 3})},
  };
  const Tile tile = p.tiling.best();
  const std::int64_t order = best_order(p, tile, target);
  sketch.preferred = {{"oc", {tile.oc}},
                      {"oh", {tile.oh}},
                      {"ow", {tile.ow}},
                      {"order", {order}},
                      {"parallel", {best_parallel(p, tile, order)}}};
  if (p.tiling.depthwise) {
    sketch.decisions.push_back({"taps", "1: the taps are unrolled", single({0, 1})});
    sketch.preferred["taps"] = {1};
  } else {
    const std::vector<std::int64_t> unroll = unroll_options(p);
    sketch.decisions.push_back({"ic", "reduction steps unrolled", single(unroll)});
    sketch.decisions.push_back({"k", "input channels in a block of the reduction (0: all)", single(block_options(p))});
    // The loads of one step keep the units busy; more steps only make code. Three channels are too few for a loop.
    sketch.preferred["ic"] = {p.reduce_extent(p.in) <= 4 ? unroll.back() : 1};
    sketch.preferred["k"] = {0};
  }
  // A problem too small for many accumulators has no better tiles.
  const std::int64_t few = 3;
  const bool enough = !p.tiling.depthwise && p.tiling.accumulators(tile) >= few;
  sketch.violated = [p, few, enough](const Sketch::Choices& c) -> std::optional<std::string> {
    const Tile t{c.at("oc").front(), c.at("oh").front(), c.at("ow").front()};
    if (!p.tiling.fits(t))
      return fmt::format("a tile of {} x {} pixels and {} vectors needs more than the {} vector registers", t.oh, t.ow,
                         p.tiling.vectors(t.oc), p.tiling.registers);
    const auto ic = c.find("ic");
    const std::int64_t products = p.tiling.accumulators(t) * (ic == c.end() ? 1 : ic->second.front());
    if (products > 96)
      return fmt::format("{} products in the innermost loop overflow the cache of decoded instructions", products);
    if (enough && p.tiling.accumulators(t) < few) return "too few accumulators to keep the units busy";
    if (c.count("k") && c.at("k").front() > 0) {
      if (ic != c.end() && c.at("k").front() % ic->second.front() != 0)
        return "the unrolled steps do not divide the block";
      // Tiles that are visited once a block must not overlap, and the masks of guarded tails cost more than blocks
      // save.
      if (p.extent(p.vec) % t.oc != 0 || p.extent(p.y) % t.oh != 0 || p.extent(p.x) % t.ow != 0)
        return "tiles of a blocked reduction must divide the output";
    }
    return std::nullopt;
  };
  if (sketch.violated(sketch.preferred) && !p.tiling.depthwise) sketch.preferred["ic"] = {1};
  sketch.build = [p](Scheduler& s, const Sketch::Choices& c) { build(p, s, c); };
  // A structure that the primitives refuse (an epilogue that reads elsewhere) is no sketch.
  Scheduler trial(dag);
  sketch.build(trial, sketch.preferred);
  if (!trial.finish().ok()) return std::nullopt;
  return sketch;
}

}  // namespace whet
