#include "space/cpu/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/arithmetic.h"
#include "space/anatomy.h"
#include "space/cpu/tile_axes.h"

namespace whet {
namespace {

/// Rows, columns and words of a tile; tiles of sums, which leave two for factors.
constexpr std::int64_t kTile = 16, kMostSums = 6;
/// Fewer rows of pixels, or words, leave the unit idle.
constexpr std::int64_t kLeastRows = 4, kLeastWords = 4;

/// Words of a whole reduction of bytes. With fewer, to begin and to store tiles takes longer than the dot products of vectors: those of
/// mobilenet_v2 with 4 to 16 words were measured to take 1.8 to 3.3 times as long, those with 24 words 0.6.
constexpr std::int64_t kLeastByteWords = 24;

/// A task of this form: its parts, and the anchor as tiles see it.
struct TilesProblem : TileAxes {
  Anatomy anatomy;
  std::vector<std::int64_t> merged;  ///< as in the register tiles' template
  std::optional<OpId> bordered;      ///< the op that gives the picture with its border; it is computed, not inlined
  int threads = 1;
  bool stays = false;  ///< the picture, in half of a core's second-level cache

  Intrinsic intrinsic() const { return is_dot4(dot) ? Intrinsic::tile_u8 : Intrinsic::tile_bf16; }
};

bool has_border(const Element& element) {
  bool found = false;
  for_each(element.body, [&](const Expr& part) { found = found || std::holds_alternative<Select>(part->kind); });
  return found;
}

/// The one op before the anchor that it reads.
std::optional<OpId> only_source(const ComputeDag& dag, const Anatomy& anatomy) {
  std::optional<OpId> source;
  for (const OpId op : inputs_of(dag, anatomy.anchor)) {
    if (std::ranges::count(anatomy.before, op) == 0) continue;
    if (source) return std::nullopt;
    source = op;
  }
  return source;
}

/// `dag` may become another one, with merged axes.
std::optional<TilesProblem> find_tiles_problem(ComputeDag dag, const Target& target) {
  const CpuTarget& cpu = target.cpu();
  if (!cpu.bf16_tiles && !cpu.byte_tiles) return std::nullopt;
  std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy || anatomy->constants.empty()) return std::nullopt;
  const std::vector<std::int64_t> merged = merge_pixels(dag, anatomy->anchor);
  Scheduler scheduler(dag);
  for (std::size_t i = anatomy->before.size(); i-- > 0;) scheduler.inline_op(anatomy->before[i]);
  if (!scheduler.finish().ok()) return std::nullopt;
  std::optional<TileAxes> axes = find_tile_axes(scheduler.tree().dag, anatomy->anchor, target);
  if (!axes || axes->dot == Intrinsic::none || axes->dot == Intrinsic::dot2_i16 || axes->dot == Intrinsic::dot2_i16x8)
    return std::nullopt;
  TilesProblem p{std::move(*axes), std::move(*anatomy), merged, std::nullopt, target.threads};
  if (p.intrinsic() == Intrinsic::tile_u8 ? !cpu.byte_tiles : !cpu.bf16_tiles) return std::nullopt;
  if (p.intrinsic() == Intrinsic::tile_u8 && p.tiling.taps * p.in_steps() < kLeastByteWords) return std::nullopt;
  if (!merged.empty()) p.y = -1;
  p.stays = 2 * p.extent(p.y) * p.extent(p.x) * p.in_channels() * p.element_bytes() <= cpu.l2_bytes;
  if (has_border(p.element)) {
    p.bordered = only_source(dag, p.anatomy);
    if (!p.bordered) return std::nullopt;
  }
  return p;
}

// ---- the analytic guess

struct Grid {
  std::int64_t rows = 1, across = 1, down = 1, channels = 1, words = 1;
};

Grid grid_of(const Choices& c) {
  const auto chosen = [&](const char* name) { return c.at(name).front(); };
  return {chosen("rows"), chosen("across"), chosen("down"), chosen("channels"), chosen("words")};
}

std::int64_t sums(const Grid& s) { return s.across * s.down * s.channels; }

std::optional<std::string> why_not(const TilesProblem& p, const Grid& s) {
  if (sums(s) > kMostSums) return fmt::format("{} tiles of sums leave none for factors", sums(s));
  if (s.rows * s.across > p.extent(p.x) || s.down > p.extent(p.y))
    return "a row has fewer pixels, or the picture fewer rows";
  if (s.channels * kTile > p.out_channels()) return "there are fewer channels";
  return std::nullopt;
}

/// Cycles: a product takes one a row; two rows of a tile are loaded in one.
double cost(const TilesProblem& p, const Grid& s) {
  const double groups =
      static_cast<double>(ceil_div(p.extent(p.x), s.rows * s.across) * ceil_div(p.extent(p.y), s.down) *
                          ceil_div(p.out_channels(), s.channels * kTile));
  const double steps = static_cast<double>(p.tiling.taps * p.in_steps()) / static_cast<double>(s.words);
  const double products = static_cast<double>(sums(s) * s.rows);
  const double loads = static_cast<double>(s.across * s.down * s.rows + s.channels * s.words) / 2;
  constexpr double kStep = 4, kSum = 40;  // of control; of a tile of sums, to begin and to store it
  return groups * (steps * (std::max(products, loads) + 0.25 * loads + kStep) + kSum * static_cast<double>(sums(s)));
}

std::vector<std::int64_t> row_options(const TilesProblem& p) {
  const std::int64_t pixels = p.extent(p.x);
  std::vector<std::int64_t> options;
  for (std::int64_t rows = std::min(kLeastRows, pixels); rows <= std::min(kTile, pixels); ++rows)
    if (pixels % rows == 0 || rows % 8 == 0) options.push_back(rows);
  return options;
}

std::vector<std::int64_t> word_options(const TilesProblem& p) {
  std::vector<std::int64_t> options;
  for (std::int64_t words = kLeastWords; words <= std::min(kTile, p.in_steps()); ++words)
    if (p.in_steps() % words == 0) options.push_back(words);
  return options;
}

std::vector<std::int64_t> up_to(std::int64_t most) {
  std::vector<std::int64_t> options;
  for (std::int64_t n = 1; n <= std::min(most, kMostSums); ++n) options.push_back(n);
  return options;
}

template <typename Use>
void for_each_grid(const TilesProblem& p, const Use& use) {
  for (const std::int64_t rows : row_options(p))
    for (const std::int64_t words : word_options(p))
      for (std::int64_t across = 1; across <= kMostSums; ++across)
        for (std::int64_t down = 1; down * across <= kMostSums; ++down)
          for (std::int64_t channels = 1; channels * down * across <= kMostSums; ++channels)
            if (const Grid s{rows, across, down, channels, words}; !why_not(p, s)) use(s);
}

std::optional<Grid> best_grid(const TilesProblem& p) {
  std::optional<Grid> best;
  double least = std::numeric_limits<double>::infinity();
  for_each_grid(p, [&](const Grid& s) {
    if (const double cycles = cost(p, s); cycles < least) best = s, least = cycles;
  });
  return best;
}

enum GridOrder : std::int64_t { by_pixels = 0, by_rows = 1, by_channels = 2 };

/// The outer loops' iterations in their order.
std::vector<std::int64_t> outer_extents(const TilesProblem& p, const Grid& s, std::int64_t order) {
  const std::int64_t y = ceil_div(p.extent(p.y), s.down), x = ceil_div(p.extent(p.x), s.rows * s.across),
                     oc = ceil_div(p.out_channels(), s.channels * kTile);
  if (order == by_channels) return {oc, y, x};
  if (order == by_rows) return {y, oc, x};
  return {y, x, oc};
}

/// Few rows of pixels are no shares for the workers; else pixels come first, so that what they read stays near.
std::int64_t best_order(const TilesProblem& p, const Grid& s) {
  const std::int64_t tiles = ceil_div(p.extent(p.y), s.down) * ceil_div(p.extent(p.x), s.rows * s.across);
  return tiles >= std::int64_t{4} * p.threads ? by_pixels : by_channels;
}

std::int64_t best_parallel(const TilesProblem& p, const Grid& s, std::int64_t order) {
  std::int64_t shares = 1, taken = 0;
  for (const std::int64_t extent : outer_extents(p, s, order)) {
    shares *= extent, ++taken;
    if (shares % p.threads == 0 || shares >= std::int64_t{8} * p.threads) break;
  }
  return taken;
}

// ---- the schedule

/// Writes the schedule of one choice: parallel (leading, outer loops), rest of the outer loops, reduction, tiles.
class TilesBuilder {
 public:
  TilesBuilder(const TilesProblem& p, Scheduler& s, const Sketch::Choices& choices)
      : p_(p),
        s_(s),
        grid_(grid_of(choices)),
        order_(choices.at("order").front()),
        take_(choices.at("parallel").front()) {}

  void run() {
    const Anatomy& a = p_.anatomy;
    for (std::int64_t axis : p_.merged) s_.merge(a.anchor, axis);
    for (std::size_t i = a.before.size(); i-- > 0;)
      if (a.before[i] != p_.bordered) s_.inline_op(a.before[i]);
    for (std::size_t i = a.after.size(); i-- > 0;) s_.inline_op(a.after[i]);
    const std::vector<LoopId> loops = s_.loops(a.anchor);
    cut_results(loops);
    cut_reduction({loops.begin() + static_cast<std::ptrdiff_t>(p_.element.axes.size()), loops.end()});
    const LoopId parallel = arrange();
    for (LoopId loop : {y_.inner, x_tiles_, oc_tiles_})
      if (loop.valid()) s_.annotate(loop, LoopKind::unrolled);
    for (OpId constant : a.constants) s_.pack(constant, a.anchor);
    if (p_.bordered) copy_picture();
    store();
    s_.tensorize(rows_, p_.intrinsic());
    if (parallel.valid()) s_.annotate(parallel, LoopKind::parallel);
  }

 private:
  void cut_results(const std::vector<LoopId>& loops) {
    for (std::size_t k = 0; k < p_.element.axes.size(); ++k) {
      const auto axis = static_cast<std::int64_t>(k);
      if (axis == p_.vec) {
        oc_ = s_.split(loops[k], kTile * grid_.channels, Tail::overlap);
        const Scheduler::Pair tiles = s_.split(oc_.inner, kTile, Tail::guard);
        oc_tiles_ = tiles.outer, columns_ = tiles.inner;
      } else if (axis == p_.x) {
        x_ = s_.split(loops[k], grid_.rows * grid_.across, Tail::overlap);
        const Scheduler::Pair tiles = s_.split(x_.inner, grid_.rows, Tail::guard);
        x_tiles_ = tiles.outer, rows_ = tiles.inner;
      } else if (axis == p_.y) {
        y_ = s_.split(loops[k], grid_.down, Tail::overlap);
      } else {
        (axis < p_.vec ? leading_ : trailing_).push_back(loops[k]);
      }
    }
  }

  void cut_reduction(const std::vector<LoopId>& loops) {
    for (std::int64_t tap : p_.taps) reduce_.push_back(loops[static_cast<std::size_t>(tap)]);
    const Scheduler::Pair words = s_.split(loops[static_cast<std::size_t>(p_.in)], p_.word, Tail::guard);
    const Scheduler::Pair steps = s_.split(words.outer, grid_.words, Tail::guard);
    reduce_.push_back(steps.outer);
    words_ = steps.inner, factors_ = words.inner;
  }

  /// Puts all loops in order; gives the one that is shared out, if any.
  LoopId arrange() {
    std::vector<LoopId> outer = order_ == by_channels ? std::vector{oc_.outer, y_.outer, x_.outer}
                                : order_ == by_rows   ? std::vector{y_.outer, oc_.outer, x_.outer}
                                                      : std::vector{y_.outer, x_.outer, oc_.outer};
    std::vector<LoopId> shared = leading_, rest, sequence;
    std::int64_t take = take_;
    for (LoopId loop : outer)
      if (const bool is_shared = take-- > 0; loop.valid()) (is_shared ? shared : rest).push_back(loop);
    const auto add = [&](const std::vector<LoopId>& loops) {
      for (LoopId loop : loops)
        if (loop.valid()) sequence.push_back(loop);
    };
    add(shared), add(rest), add(trailing_);
    tile_ = sequence.back();
    picture_ = order_ == by_pixels ? x_.outer : p_.stays || !y_.outer.valid() ? outer.front() : y_.outer;
    if (!picture_.valid()) picture_ = x_.outer;
    add(reduce_), add({y_.inner, x_tiles_, oc_tiles_, rows_, words_, columns_, factors_});
    s_.reorder(sequence);
    if (shared.empty()) return LoopId();
    const bool of_picture = std::ranges::count(shared, picture_) > 0, of_tile = shared.back() == tile_;
    const LoopId parallel = s_.fuse(shared);
    if (of_picture) picture_ = parallel;
    if (of_tile) tile_ = parallel;
    return parallel;
  }

  /// What a tile reads of the picture, with its border: the unit tests nothing.
  void copy_picture() {
    const std::vector<LoopId> loops = s_.compute_at(*p_.bordered, picture_, StoredIn::memory);
    if (loops.empty()) return;
    constexpr std::int64_t kAtOnce = 64;
    LoopId last = loops.back();
    if (extent_of(s_.tree(), last) > kAtOnce) last = s_.split(last, kAtOnce, Tail::overlap).inner;
    s_.annotate(last, LoopKind::vectorized);
  }

  /// The epilogue on the finished tiles.
  void store() {
    const Anatomy& a = p_.anatomy;
    if (!a.output) return s_.cache_write(a.anchor, tile_);
    const std::vector<LoopId> last = s_.reverse_compute_at(*a.output, tile_, true);
    const std::size_t axes = p_.element.axes.size(), shift = last.size() >= axes ? last.size() - axes : 0;
    if (trailing_.empty() && !last.empty())
      s_.annotate(last[static_cast<std::size_t>(p_.vec) + shift], LoopKind::vectorized);
  }

  const TilesProblem& p_;
  Scheduler& s_;
  const Grid grid_;
  const std::int64_t order_, take_;
  Scheduler::Pair y_, x_, oc_;
  LoopId x_tiles_, oc_tiles_;                ///< over the tiles of sums
  LoopId rows_, columns_, words_, factors_;  ///< of a tile
  std::vector<LoopId> leading_, trailing_;   ///< spatial loops that are not cut, before and after the channels
  std::vector<LoopId> reduce_;
  LoopId tile_;     ///< one of its iterations computes the tiles of one choice
  LoopId picture_;  ///< one of its iterations reads one part of the picture
};

}  // namespace

std::optional<Sketch> tiles_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<TilesProblem> problem = find_tiles_problem(dag, target);
  if (!problem) return std::nullopt;
  const TilesProblem& p = *problem;
  if (p.x < 0 || p.extent(p.x) < kLeastRows || word_options(p).empty()) return std::nullopt;
  const std::optional<Grid> best = best_grid(p);
  if (!best) return std::nullopt;
  const std::int64_t order = best_order(p, *best);
  Sketch sketch;
  sketch.name = "tile+amx";
  sketch.decisions = {
      {"rows", "pixels in a tile", single(row_options(p)), p.tiling.ow},
      {"across", "tiles of pixels along a row", single(up_to(kMostSums)), 0},
      {"down", "rows of tiles", single(up_to(p.extent(p.y))), 0},
      {"channels", "tiles of 16 channels", single(up_to(p.out_channels() / kTile)), 0},
      {"words", "words of a step of the reduction", single(word_options(p)), 0},
      {"order", "outer loops: 0 rows, columns, channels; 1 rows, channels, columns; 2 channels, rows, columns",
       single({0, 1, 2}), 0},
      {"parallel", "how many of the outer loops are shared out among the workers", single({1, 2, 3}), 0},
  };
  sketch.preferred = {{"rows", {best->rows}},
                      {"across", {best->across}},
                      {"down", {best->down}},
                      {"channels", {best->channels}},
                      {"words", {best->words}},
                      {"order", {order}},
                      {"parallel", {best_parallel(p, *best, order)}}};
  sketch.constraints.push_back(
      {{"rows", "across", "down", "channels", "words"}, [p](const Choices& c) { return why_not(p, grid_of(c)); }});
  sketch.build = [p](Scheduler& s, const Sketch::Choices& c) { TilesBuilder(p, s, c).run(); };
  // A structure that the primitives refuse (an epilogue that reads elsewhere) is no sketch.
  Scheduler trial(dag);
  sketch.build(trial, sketch.preferred);
  if (!trial.finish().ok()) return std::nullopt;
  return sketch;
}

}  // namespace whet
