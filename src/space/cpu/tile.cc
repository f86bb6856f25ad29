#include "space/cpu/tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/arithmetic.h"
#include "space/anatomy.h"
#include "space/cpu/tile_axes.h"

namespace whet {
namespace {

/// A task of this form: its parts, and the anchor as register tiles see it.
struct TileProblem : TileAxes {
  Anatomy anatomy;
  /// Rows and columns that are only met pixel by pixel are merged first: the axes, in the order of the steps. Then `x`
  /// counts pixels, and there is no `y`.
  std::vector<std::int64_t> merged;
  bool list = false;  ///< pixels are one axis, which can be cut into blocks
  int threads = 1;
  double weight_bytes = 0;  ///< of what all pixels read, constant or (of one product of a batch) not
  /// What all pixels read, no constant, where tiles of its channels are copied before they are read.
  std::optional<OpId> copied = {};
};

/// Products in the innermost loop: more overflow the cache of decoded instructions.
constexpr std::int64_t kMostProducts = 96;
constexpr std::int64_t kFloatBytes = 4;
/// Tiles of channels that run inside of the outer loops.
constexpr std::array<std::int64_t, 7> kGroups = {1, 2, 3, 4, 6, 8, 16};

/// `dag` may become another one, with merged axes.
std::optional<TileProblem> find_tile_problem(ComputeDag dag, const Target& target) {
  std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy) return std::nullopt;
  const std::vector<std::int64_t> merged =
      anatomy->constants.empty() ? std::vector<std::int64_t>() : merge_pixels(dag, anatomy->anchor);
  Scheduler scheduler(dag);
  for (std::size_t i = anatomy->before.size(); i-- > 0;) scheduler.inline_op(anatomy->before[i]);
  if (!scheduler.finish().ok()) return std::nullopt;
  std::optional<TileAxes> axes = find_tile_axes(scheduler.tree().dag, anatomy->anchor, target);
  if (!axes) return std::nullopt;
  TileProblem p{std::move(*axes), std::move(*anatomy), merged, false, target.threads, 0};
  if (!merged.empty()) p.y = -1, p.tiling.oh = 1, p.tiling.row_bytes = 0, p.tiling.rows = {}, p.tiling.rows_skipped = 0;
  p.list = p.y < 0 && p.x >= 0 && p.in >= 0 && !p.anatomy.constants.empty();
  for (OpId constant : p.anatomy.constants)
    p.weight_bytes += static_cast<double>(num_elements(dag.op(constant).shape) * size_of(dag.op(constant).dtype));
  if (p.anatomy.constants.empty() && p.in >= 0 && p.taps.empty())
    p.weight_bytes = static_cast<double>(p.in_channels() * p.out_channels() * kFloatBytes);
  return p;
}

/// The anchor reads it by the reduction and the channel alone, wherever it reads it.
bool is_read_by_channels(const ComputeDag& dag, const TileProblem& p, OpId input) {
  const Element& element = dag.op(p.anatomy.anchor).element();
  const Expr in = axis_var(element, static_cast<std::int64_t>(element.axes.size()) + p.in);
  bool always = true;
  for_each(element.body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || read->source.value != input.value) return;
    always =
        always && read->index.size() == 2 && same(read->index[0], in) && same(read->index[1], axis_var(element, p.vec));
  });
  return always;
}

/// The operand of a product of two activations that all rows read, where rows of a tile's channels lie so far apart that they share few
/// sets of the caches.
std::optional<OpId> crowded_operand(const ComputeDag& dag, const TileProblem& p, const Target& target) {
  constexpr std::int64_t kCrowdedBytes = 1024, kManyRows = 64;
  const bool product = p.in >= 0 && p.in_blocks < 0 && p.blocks < 0 && p.taps.empty() && p.dot == Intrinsic::none;
  if (!product || !p.anatomy.constants.empty() || is_sized(dag) || p.extent(p.x) < kManyRows) return std::nullopt;
  if (p.weight_bytes <= static_cast<double>(target.cpu().l1_bytes)) return std::nullopt;
  for (const OpId input : inputs_of(dag, p.anatomy.anchor)) {
    const Op& op = dag.op(input);
    const bool direct = op.is_placeholder() && op.dtype == DType::f32 && op.shape.back() == p.extent(p.vec);
    if (direct && op.shape.back() * kFloatBytes % kCrowdedBytes == 0 && is_read_by_channels(dag, p, input))
      return input;
  }
  return std::nullopt;
}

// ---- the analytic guess

enum Order : std::int64_t { pixels_then_channels = 0, rows_channels_columns = 1, channels_then_pixels = 2 };

/// Weights do not stay in a core's cache from one tile of pixels to the next.
bool passes_through(double weight_bytes, const Target& target) {
  return weight_bytes >= static_cast<double>(target.cpu().l2_bytes) / 2;
}

/// Every worker has a block of several tiles of pixels.
bool fills_blocks(const TileProblem& p, const Tile& tile) {
  return p.threads > 1 && p.extent(p.x) >= 4 * p.threads * tile.ow;
}

/// Channels outermost when the weights do not stay in a core's cache: each core then reads its share of them once.
std::int64_t best_order(const TileProblem& p, const Tile& tile, const Target& target) {
  const std::int64_t channel_tiles = ceil_div(p.out_channels(), tile.oc);
  if (p.tiling.depthwise) {
    // The rows that neighbouring taps share stay in the first level while one tile's column of channels passes. Workers
    // that share channels out make the kernels before and after move half of all lines from core to core, which pays
    // for small images alone; and a few tiles share the lines of a pixel too closely.
    const bool small =
        p.extent(p.y) * p.extent(p.x) <= 64 && p.weight_bytes > static_cast<double>(target.cpu().l1_bytes) / 2;
    return small || (p.threads == 1 && channel_tiles > 4) ? channels_then_pixels : pixels_then_channels;
  }
  const bool many = channel_tiles >= 2 * p.threads;
  if (!p.list && passes_through(p.weight_bytes, target) && many) return channels_then_pixels;
  // Weights that stay in the first level anyway leave the result's pixels to be written whole.
  if (p.weight_bytes <= static_cast<double>(target.cpu().l1_bytes) / 2) return pixels_then_channels;
  if (!p.list) return rows_channels_columns;
  // What the workers share out by pixels, as kernels before and after do, need not move from core to core; by channels,
  // each of them reads its part of the weights alone. A line that another core has written takes the longer.
  constexpr double kDear = 3;
  const double moved = static_cast<double>(p.extent(p.x) * (p.in_channels() + p.out_channels()) * p.element_bytes());
  if (kDear * moved < p.weight_bytes && channel_tiles >= p.threads) return channels_then_pixels;
  return passes_through(p.weight_bytes, target) && many && !fills_blocks(p, tile) ? channels_then_pixels
                                                                                  : rows_channels_columns;
}

/// One block of pixels a worker where the weights pass through the cache, so that they do so once.
std::int64_t best_blocks(const TileProblem& p, const Tile& tile, std::int64_t order, const Target& target) {
  const bool pays = p.list && order == rows_channels_columns && passes_through(p.weight_bytes, target);
  return pays && fills_blocks(p, tile) ? p.threads : 0;
}

/// Pixels in one of `blocks` blocks: whole tiles.
std::int64_t block_pixels(std::int64_t pixels, std::int64_t tile, std::int64_t blocks) {
  return ceil_div(ceil_div(pixels, tile), blocks) * tile;
}

/// Into how many blocks a list of pixels may be cut; 0: each tile is one.
std::vector<std::int64_t> pixel_block_options(const TileProblem& p) {
  std::vector<std::int64_t> options{0};
  for (std::int64_t n = std::max(p.threads, 2); 4 * n <= p.extent(p.x) && n <= 32 * p.threads; n *= 2)
    options.push_back(n);
  return options;
}

std::vector<std::int64_t> outer_extents(const TileProblem& p, const Tile& t, std::int64_t order, std::int64_t blocks) {
  const std::int64_t oc = ceil_div(p.out_channels(), std::max(t.oc, p.tiling.block)), pixels = p.extent(p.x);
  std::int64_t oh = ceil_div(p.extent(p.y), t.oh), ow = ceil_div(pixels, t.ow);
  if (p.list) {
    const std::int64_t block = blocks > 0 ? block_pixels(pixels, t.ow, blocks) : t.ow;
    oh = ceil_div(pixels, block), ow = block / t.ow;
  }
  if (order == channels_then_pixels) return {oc, oh, ow};
  if (order == rows_channels_columns) return {oh, oc, ow};
  return {oh, ow, oc};
}

/// As few fused outer loops as give every worker the same share, or many shares.
std::int64_t best_parallel(const TileProblem& p, const Tile& t, std::int64_t order, std::int64_t blocks) {
  std::int64_t shares = 1;
  const std::int64_t inner = p.list ? 1 : 2;
  for (std::int64_t axis = 0; axis < p.vec - inner; ++axis)
    if (axis != p.blocks) shares *= p.extent(axis);
  const std::vector<std::int64_t> extents = outer_extents(p, t, order, blocks);
  for (std::size_t n = 0; n < extents.size(); ++n) {
    shares *= extents[n];
    if (shares % p.threads == 0 || shares >= 16 * p.threads) return static_cast<std::int64_t>(n) + 1;
  }
  return static_cast<std::int64_t>(extents.size());
}

std::vector<std::int64_t> unroll_options(const TileProblem& p) {
  std::vector<std::int64_t> options{1};
  for (std::int64_t n : {2, 3, 4, 8})
    if (p.in >= 0 && p.in_steps() % n == 0) options.push_back(n);
  return options;
}

std::vector<std::int64_t> block_options(const TileProblem& p) {
  std::vector<std::int64_t> options{0};  // 0: the whole reduction at once
  for (std::int64_t block : {64, 128, 256, 512})
    if (p.in >= 0 && p.anatomy.constants.size() > 0 && p.in_channels() % block == 0 && block % p.in_block() == 0 &&
        p.in_channels() > block)
      options.push_back(block);
  return options;
}

/// Weights that the first-level cache does not hold are worth asking for: processors follow a stream to the end of its
/// page only.
bool streams_weights(const ComputeDag& dag, const TileProblem& p, const Target& target) {
  std::int64_t bytes = 0;
  for (OpId constant : p.anatomy.constants)
    bytes += num_elements(dag.op(constant).shape) * size_of(dag.op(constant).dtype);
  return p.in >= 0 && bytes > target.cpu().l1_bytes;
}

/// No tap misses more than one column at either end of a row. Each further column makes another variant of the tile there, and
/// many variants leave no registers for prefetches.
bool has_narrow_edges(const TileProblem& p) {
  return std::all_of(p.tiling.read_columns.begin(), p.tiling.read_columns.end(),
                     [&](const auto& columns) { return columns.first <= 1 && columns.second + 1 >= p.extent(p.x); });
}

/// Of one pixel, a matrix times a vector: memory is what counts, so that the worker with the largest part of the
/// weights has as little as possible.
Tile best_of_one_pixel(const TileProblem& p) {
  const auto cost = [&](std::int64_t elements) {
    const std::int64_t vectors = p.tiling.vectors(elements);
    const std::int64_t share = ceil_div(ceil_div(p.out_channels(), elements), p.threads) * elements;
    return static_cast<double>(share) * (1 + 0.02 * static_cast<double>(std::abs(vectors - 4)));
  };
  Tile best = p.tiling.best();
  for (std::int64_t elements : p.tiling.oc_options())
    if (p.tiling.vectors(elements) >= 3 && p.tiling.fits({elements, best.oh, best.ow}) &&
        cost(elements) < cost(best.oc))
      best.oc = elements;
  return best;
}

Tile best_tile(const TileProblem& p) {
  const bool one = p.extent(p.y) * p.extent(p.x) == 1 && !p.tiling.depthwise && !p.anatomy.constants.empty();
  return one ? best_of_one_pixel(p) : p.tiling.best();
}

std::int64_t pixel_tiles(const TileProblem& p, const Tile& t) {
  return ceil_div(p.extent(p.y), t.oh) * ceil_div(p.extent(p.x), t.ow);
}

/// The whole reduction, unless a tile's weights would come from beyond the second level for every tile of pixels.
std::int64_t best_block(const TileProblem& p, const Tile& tile, std::int64_t order) {
  constexpr std::int64_t kManyTiles = 8, kLeastBlock = 128;
  const std::int64_t step = tile.oc * p.tiling.taps * p.element_bytes(), room = p.tiling.weights_room;
  if (order != channels_then_pixels || step * p.in_channels() <= room || !p.tiling.divides(tile) ||
      pixel_tiles(p, tile) < kManyTiles)
    return 0;
  std::int64_t best = 0;
  for (std::int64_t block : block_options(p))
    if (block >= kLeastBlock && block > best && step * block <= room) best = block;
  return best;
}

/// As many tiles of channels as keep their weights in the second level, where the picture does not stay there.
std::int64_t best_group(const TileProblem& p, const Tile& tile, std::int64_t order, const Target& target) {
  const std::int64_t tiles = ceil_div(p.out_channels(), tile.oc), depth = p.tiling.taps * p.in_channels();
  const std::int64_t picture = p.extent(p.y) * p.extent(p.x) * p.in_channels() * p.element_bytes();
  if (order != channels_then_pixels || picture < target.cpu().l2_bytes / 2) return 1;
  std::int64_t best = 1;
  for (std::int64_t group : kGroups)
    if (group <= 4 && tiles % (group * p.threads) == 0 &&
        group * tile.oc * depth * p.element_bytes() <= p.tiling.weights_room)
      best = group;
  return best;
}

// ---- the schedule

/// Writes the schedule of one choice: parallel (leading, outer loops), block, rest of the outer loops, reduction, tile.
class TileBuilder {
 public:
  TileBuilder(const TileProblem& p, Scheduler& s, const Sketch::Choices& choices)
      : p_(p), s_(s), choices_(choices), anatomy_(p.anatomy) {}

  void run() {
    if (p_.copied) copy(*p_.copied);
    const Anatomy& a = anatomy_;
    for (std::int64_t axis : p_.merged) s_.merge(a.anchor, axis);
    for (std::size_t i = a.before.size(); i-- > 0;) s_.inline_op(a.before[i]);
    for (std::size_t i = a.after.size(); i-- > 0;) s_.inline_op(a.after[i]);
    const std::vector<LoopId> loops = s_.loops(a.anchor);
    cut_tile(loops);
    cut_reduction({loops.begin() + static_cast<std::ptrdiff_t>(p_.element.axes.size()), loops.end()});
    const LoopId parallel = arrange();
    annotate_tile();
    for (OpId constant : a.constants) s_.pack(constant, a.anchor);
    if (copy_.valid()) place_copy();
    store();
    if (by_words()) s_.tensorize(oc_.inner, p_.dot);
    if (const std::int64_t steps = chosen_or("ahead", 0); steps > 0) {
      const std::int64_t iterations = std::max<std::int64_t>(steps / chosen("ic"), 1);
      for (OpId constant : a.constants) s_.prefetch(constant, a.anchor, reduce_.back(), iterations);
    }
    if (parallel.valid()) s_.annotate(parallel, LoopKind::parallel);
  }

 private:
  bool by_words() const { return p_.dot != Intrinsic::none; }
  std::int64_t chosen(const char* name) const { return choices_.at(name).front(); }
  std::int64_t chosen_or(const char* name, std::int64_t otherwise) const {
    const auto found = choices_.find(name);
    return found == choices_.end() ? otherwise : found->second.front();
  }

  /// The copy has the anchor's number, and the anchor and what is behind it the next ones.
  void copy(OpId tensor) {
    copy_ = s_.cache_read(tensor, anatomy_.anchor);
    const OpId first = p_.anatomy.anchor;
    const auto move = [&](OpId& op) {
      if (op.value >= first.value) op = OpId(op.value + 1);
    };
    for (std::vector<OpId>* ops : {&anatomy_.before, &anatomy_.after, &anatomy_.constants})
      for (OpId& op : *ops) move(op);
    if (anatomy_.output) move(*anatomy_.output);
    move(anatomy_.anchor);
  }

  /// Each tile of channels is copied once, in front of all rows.
  void place_copy() {
    constexpr std::int64_t kAtOnce = 64;
    const std::vector<LoopId> loops = s_.compute_at(copy_, channels_, StoredIn::memory);
    if (loops.empty()) return;
    LoopId last = loops.back();
    if (extent_of(s_.tree(), last) > kAtOnce) last = s_.split(last, kAtOnce, Tail::overlap).inner;
    s_.annotate(last, LoopKind::vectorized);
  }

  void cut_tile(const std::vector<LoopId>& loops) {
    for (std::size_t k = 0; k < p_.element.axes.size(); ++k) {
      const auto axis = static_cast<std::int64_t>(k);
      if (axis == p_.vec)
        cut_channels(loops[k]);
      else if (axis == p_.blocks)
        cut_blocks(loops[k]);
      else if (axis == p_.x)
        cut_columns(loops[k]);
      else if (axis == p_.y)
        y_ = s_.split(loops[k], chosen("oh"), Tail::overlap);
      else
        (axis < p_.vec ? leading_ : trailing_).push_back(loops[k]);
    }
  }

  /// Blocks of a list of pixels take the place of rows.
  void cut_columns(LoopId loop) {
    const std::int64_t tile = chosen("ow"), blocks = chosen_or("blocks", 0);
    x_ = s_.split(loop, blocks > 0 ? block_pixels(p_.extent(p_.x), tile, blocks) : tile, Tail::overlap);
    if (!p_.list) return;
    y_.outer = std::exchange(x_.outer, LoopId());
    if (blocks > 0) x_ = s_.split(x_.inner, tile, Tail::guard);
  }

  /// Blocks take the place of tiles of channels: a tile has several of them, or there are tiles in a block.
  void cut_blocks(LoopId loop) {
    const std::int64_t tile = std::max<std::int64_t>(chosen("oc") / p_.tiling.block, 1);
    const std::int64_t group = chosen_or("group", 1);
    const Scheduler::Pair groups = s_.split(loop, tile * group, Tail::overlap);
    blocks_ = groups;
    if (group == 1) return;
    const Scheduler::Pair tiles = s_.split(groups.inner, tile, Tail::guard);
    group_ = tiles.outer, blocks_.inner = tiles.inner;
  }

  void cut_channels(LoopId loop) {
    if (p_.blocks >= 0) {
      oc_.inner = loop;
      if (chosen("oc") >= p_.tiling.block) return;
      const Scheduler::Pair tiles = s_.split(loop, chosen("oc"), Tail::guard);
      tiles_in_block_ = tiles.outer, oc_.inner = tiles.inner;
      return;
    }
    const std::int64_t tile = chosen("oc"), group = chosen_or("group", 1);
    oc_ = s_.split(loop, tile * group, Tail::overlap);
    if (group > 1) {
      const Scheduler::Pair tiles = s_.split(oc_.inner, tile, Tail::guard);
      group_ = tiles.outer, oc_.inner = tiles.inner;
    }
    if (!by_words() || tile == p_.tiling.lanes) return;
    const Scheduler::Pair lanes = s_.split(oc_.inner, p_.tiling.lanes, Tail::guard);
    vectors_ = lanes.outer, oc_.inner = lanes.inner;
  }

  void cut_reduction(const std::vector<LoopId>& loops) {
    for (std::int64_t tap : p_.taps) reduce_.push_back(loops[static_cast<std::size_t>(tap)]);
    if (p_.byte_taps) {
      column_ = reduce_.front();
      reduce_.erase(reduce_.begin());
    }
    if (p_.in < 0) return;
    LoopId in = loops[static_cast<std::size_t>(p_.in)];
    LoopId in_blocks = p_.in_blocks < 0 ? LoopId() : loops[static_cast<std::size_t>(p_.in_blocks)];
    if (chosen("k") > 0) {
      LoopId& cut = in_blocks.valid() ? in_blocks : in;
      const Scheduler::Pair blocks = s_.split(cut, chosen("k") / p_.in_block(), Tail::guard);
      block_ = blocks.outer, cut = blocks.inner;
    }
    if (in_blocks.valid()) reduce_.push_back(in_blocks);
    if (by_words()) {
      const Scheduler::Pair words = s_.split(in, p_.word, Tail::guard);
      in = words.outer, factors_ = words.inner;
    }
    if (chosen("ic") > 1) {
      const Scheduler::Pair steps = s_.split(in, chosen("ic"), Tail::guard);
      in = steps.outer, unrolled_ = steps.inner;
    }
    reduce_.push_back(in);
  }

  std::vector<LoopId> outer_loops() const {
    const LoopId channels = blocks_.outer.valid() ? blocks_.outer : oc_.outer;
    switch (chosen("order")) {
      case channels_then_pixels:
        return {channels, y_.outer, x_.outer};
      case rows_channels_columns:
        return {y_.outer, channels, x_.outer};
      default:
        return {y_.outer, x_.outer, channels};
    }
  }

  /// Puts all loops in order; gives the one that is shared out, if any.
  LoopId arrange() {
    std::vector<LoopId> shared = leading_, rest, sequence;
    std::int64_t take = chosen("parallel");
    for (LoopId loop : outer_loops()) {
      const bool is_shared = take-- > 0;
      if (loop.valid()) (is_shared ? shared : rest).push_back(loop);
    }
    const auto add = [&](const std::vector<LoopId>& loops) {
      for (LoopId loop : loops)
        if (loop.valid()) sequence.push_back(loop);
    };
    add(shared), add({block_}), add(rest), add({group_, tiles_in_block_}), add(trailing_);
    tile_ = sequence.back();
    add(reduce_), add({unrolled_, blocks_.inner, y_.inner, x_.inner, vectors_, column_, oc_.inner, factors_});
    s_.reorder(sequence);
    channels_ = oc_.outer;
    if (shared.empty()) return LoopId();
    const bool shares_channels = std::ranges::count(shared, channels_) > 0;
    const LoopId parallel = s_.fuse(shared);
    if (shared.back() == tile_) tile_ = parallel;
    if (shares_channels) channels_ = parallel;
    return parallel;
  }

  void annotate_tile() {
    std::vector<LoopId> taps = reduce_;
    if (column_.valid()) taps.push_back(column_);
    if (p_.tiling.depthwise)
      for (LoopId tap : taps)
        if (extent_of(s_.tree(), tap) <= 7 && chosen("taps") == 1) s_.annotate(tap, LoopKind::unrolled);
    for (LoopId loop : {unrolled_, blocks_.inner, y_.inner, x_.inner, vectors_})
      if (loop.valid()) s_.annotate(loop, LoopKind::unrolled);
    if (!by_words()) s_.annotate(oc_.inner, LoopKind::vectorized);
  }

  /// The epilogue on the finished tile, whose accumulators are registers.
  void store() {
    const bool blocked = block_.valid();
    const Anatomy& a = anatomy_;
    if (blocked || !a.output) s_.cache_write(a.anchor, tile_);
    if (!a.output) return;
    const std::vector<LoopId> last = s_.reverse_compute_at(*a.output, tile_, !blocked);
    const std::size_t spatial = p_.element.axes.size(), shift = last.size() >= spatial ? last.size() - spatial : 0;
    for (std::int64_t axis : {p_.blocks, p_.y, p_.x})
      if (axis >= 0) s_.annotate(last[static_cast<std::size_t>(axis) + shift], LoopKind::unrolled);
    if (trailing_.empty()) s_.annotate(last[static_cast<std::size_t>(p_.vec) + shift], LoopKind::vectorized);
  }

  const TileProblem& p_;
  Scheduler& s_;
  const Sketch::Choices& choices_;
  Anatomy anatomy_;  ///< of the DAG at hand, which has a copy where there is one
  OpId copy_;
  LoopId channels_;  ///< over the tiles of channels
  Scheduler::Pair y_, x_, oc_, blocks_;
  LoopId tiles_in_block_;                   ///< of channels, where a block has several
  std::vector<LoopId> leading_, trailing_;  ///< spatial loops that are not cut, before and after the vectorized one
  std::vector<LoopId> reduce_;
  LoopId group_;              ///< over the tiles of a group of channels, where there are groups
  LoopId column_;             ///< of taps whose bytes are joined: inside of the tile, where no border is between them
  LoopId block_, unrolled_;   ///< of the reduction, where it is cut so
  LoopId vectors_, factors_;  ///< where it goes by words: the vectors of a tile, the factors of one instruction
  LoopId tile_;               ///< one of its iterations computes one tile
};

/// What the registers hold, what the decoded loop holds, and where blocks of the reduction pay.
void constrain(const TileProblem& p, const Tile& best, Sketch& sketch) {
  const Tiling tiling = p.tiling;
  const auto tile_of = [](const Choices& c) {
    return Tile{c.at("oc").front(), c.at("oh").front(), c.at("ow").front()};
  };
  sketch.constraints.push_back({{"oc", "oh", "ow"}, [tiling, tile_of](const Choices& c) -> std::optional<std::string> {
                                  const Tile t = tile_of(c);
                                  if (tiling.fits(t)) return std::nullopt;
                                  return fmt::format(
                                      "a tile of {} x {} pixels and {} vectors needs more than the {} vector registers",
                                      t.oh, t.ow, tiling.vectors(t.oc), tiling.registers);
                                }});
  if (p.tiling.depthwise) return;
  // A problem too small for many accumulators has no better tiles.
  constexpr std::int64_t kFew = 3;
  if (tiling.accumulators(best) >= kFew)
    sketch.constraints.push_back(
        {{"oc", "oh", "ow"}, [tiling, tile_of](const Choices& c) -> std::optional<std::string> {
           if (tiling.accumulators(tile_of(c)) >= kFew) return std::nullopt;
           return "too few accumulators to keep the units busy";
         }});
  sketch.constraints.push_back(
      {{"oc", "oh", "ow", "ic"}, [tiling, tile_of](const Choices& c) -> std::optional<std::string> {
         const std::int64_t products = tiling.accumulators(tile_of(c)) * c.at("ic").front();
         if (products <= kMostProducts) return std::nullopt;
         return fmt::format("{} products in the innermost loop overflow the cache of decoded instructions", products);
       }});
  if (tiling.pipes.input_lanes > 1)
    sketch.constraints.push_back(
        {{"oc", "oh", "ow", "ic"}, [tiling, tile_of](const Choices& c) -> std::optional<std::string> {
           if (c.at("ic").front() == 1 || tiling.fits_unrolled(tile_of(c))) return std::nullopt;
           return "unrolled steps of so large a tile do not stay in registers";
         }});
  sketch.constraints.push_back({{"ic", "k"}, [](const Choices& c) -> std::optional<std::string> {
                                  if (c.at("k").front() % c.at("ic").front() == 0) return std::nullopt;
                                  return "the unrolled steps do not divide the block";
                                }});
  sketch.constraints.push_back({{"oc", "group"}, [tiling](const Choices& c) -> std::optional<std::string> {
                                  const std::int64_t group = c.at("group").front();
                                  if (group == 1 || group * std::max(c.at("oc").front(), tiling.block) <= tiling.oc)
                                    return std::nullopt;
                                  return "there are fewer tiles of channels than a group has";
                                }});
  if (p.list) {
    const std::int64_t pixels = p.extent(p.x);
    sketch.constraints.push_back({{"ow", "blocks"}, [pixels](const Choices& c) -> std::optional<std::string> {
                                    const std::int64_t tiles = ceil_div(pixels, c.at("ow").front());
                                    if (2 * c.at("blocks").front() <= tiles) return std::nullopt;
                                    return "a block of pixels would not hold two tiles";
                                  }});
    sketch.constraints.push_back({{"order", "blocks"}, [](const Choices& c) -> std::optional<std::string> {
                                    if (c.at("blocks").front() == 0 || c.at("order").front() == rows_channels_columns)
                                      return std::nullopt;
                                    return "only order 1 has a loop between a block and its tiles";
                                  }});
  }
  // Tiles that are visited once a block must not overlap, and the masks of guarded tails cost more than blocks save.
  sketch.constraints.push_back(
      {{"oc", "oh", "ow", "group", "k"}, [tiling, tile_of](const Choices& c) -> std::optional<std::string> {
         const Tile t = tile_of(c);
         if (c.at("k").front() == 0 || (tiling.divides(t) && tiling.oc % (t.oc * c.at("group").front()) == 0))
           return std::nullopt;
         return "tiles of a blocked reduction must divide the output";
       }});
}

std::optional<Sketch> sketch_of(const TileProblem& p, const ComputeDag& dag, const Target& target) {
  Sketch sketch;
  sketch.name = p.copied                   ? "tile+copy"
                : p.tiling.depthwise       ? "tile+taps"
                : is_dot4(p.dot)           ? "tile+bytes"
                : p.dot == Intrinsic::none ? "tile+pack"
                                           : "tile+pairs";
  sketch.decisions = {
      {"oc", "elements of the innermost axis in a register tile", single(p.tiling.oc_options()), p.tiling.oc},
      {"oh", "rows in a register tile", single(p.tiling.oh_options()), p.tiling.oh},
      {"ow", "columns in a register tile", single(p.tiling.ow_options()), p.tiling.ow},
      {"order", "outer loops: 0 rows, columns, channels; 1 rows, channels, columns; 2 channels, rows, columns",
       p.copied ? single({channels_then_pixels}) : single({0, 1, 2}), 0},
      {"parallel", "how many of the outer loops are shared out among the workers",
       p.copied ? single({1}) : single({1, 2, 3}), 0},
  };
  const Tile tile = best_tile(p);
  const std::int64_t order = p.copied ? channels_then_pixels : best_order(p, tile, target),
                     blocks = best_blocks(p, tile, order, target);
  sketch.preferred = {{"oc", {tile.oc}},
                      {"oh", {tile.oh}},
                      {"ow", {tile.ow}},
                      {"order", {order}},
                      {"parallel", {p.copied ? 1 : best_parallel(p, tile, order, blocks)}}};
  if (p.list) {
    sketch.decisions.push_back({"blocks", "parts of the pixels, which count as rows (0: each tile is one)",
                                single(pixel_block_options(p)), 0});
    sketch.preferred["blocks"] = {blocks};
  }
  if (p.tiling.depthwise) {
    sketch.decisions.push_back({"taps", "1: the taps are unrolled", single({0, 1}), 0});
    sketch.preferred["taps"] = {1};
  } else {
    const std::vector<std::int64_t> unroll = unroll_options(p);
    sketch.decisions.push_back({"ic", "reduction steps unrolled", single(unroll), 0});
    sketch.decisions.push_back(
        {"k", "input channels in a block of the reduction (0: all)", single(block_options(p)), 0});
    sketch.decisions.push_back(
        {"group", "tiles of channels that run inside of the outer loops", single({kGroups.begin(), kGroups.end()}), 0});
    const std::int64_t block = best_block(p, tile, order);
    if (streams_weights(dag, p, target)) {
      sketch.decisions.push_back(
          {"ahead", "reduction steps by which weights are prefetched ahead (0: no prefetch)", single({0, 16}), 0});
      sketch.preferred["ahead"] = {has_narrow_edges(p) ? 16 : 0};
    }
    // Two steps share the loop's control; more only make code, but where they share the loads of inputs. Three channels
    // are too few for a loop.
    const std::int64_t shared = std::max<std::int64_t>(p.tiling.input_lanes, 2);
    const bool shares = p.in_steps() % shared == 0 && p.tiling.fits_unrolled(tile);
    sketch.preferred["ic"] = {p.in_steps() <= 4 ? unroll.back() : shares ? shared : 1};
    sketch.preferred["k"] = {block};
    sketch.preferred["group"] = {block > 0 ? 1 : best_group(p, tile, order, target)};
  }
  constrain(p, tile, sketch);
  if (!is_within(sketch, sketch.preferred) && !p.tiling.depthwise) sketch.preferred["ic"] = {1};
  sketch.build = [p](Scheduler& s, const Sketch::Choices& c) { TileBuilder(p, s, c).run(); };
  // A structure that the primitives refuse (an epilogue that reads elsewhere) is no sketch.
  Scheduler trial(dag);
  sketch.build(trial, sketch.preferred);
  if (!trial.finish().ok()) return std::nullopt;
  return sketch;
}

}  // namespace

std::optional<Sketch> tile_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<TileProblem> problem = find_tile_problem(dag, target);
  return problem ? sketch_of(*problem, dag, target) : std::nullopt;
}

std::optional<Sketch> tile_copy_sketch(const ComputeDag& dag, const Target& target) {
  std::optional<TileProblem> problem = find_tile_problem(dag, target);
  if (!problem) return std::nullopt;
  // Workers share the tiles of channels out.
  const std::int64_t shares = ceil_div(problem->out_channels(), best_tile(*problem).oc);
  if (shares % problem->threads != 0 && shares < 4 * problem->threads) return std::nullopt;
  problem->copied = crowded_operand(dag, *problem, target);
  return problem->copied ? sketch_of(*problem, dag, target) : std::nullopt;
}

}  // namespace whet
