#include "space/cpu/winograd.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "space/cpu/register_tile.h"

namespace whet {
namespace {

/// Of one tile size: the tiles of the image, and how to cut their products.
struct Variant {
  std::int64_t m = 4, rows = 1, columns = 1;  ///< tiles of the image
  std::int64_t dilation = 1;  ///< above 1 rows of tiles are interleaved, and no block holds some of them
  Tiling tiling;              ///< of the products: oc, rows and columns of tiles
};

struct WinogradProblem {
  Anatomy anatomy;
  std::int64_t images = 1, dilation = 1, in_channels = 1, lanes = 16, cache_bytes = 0;
  WinogradTiles tiles = WinogradTiles::f32;
  std::map<std::int64_t, Variant> variants;  ///< by m

  bool by_pairs() const { return tiles == WinogradTiles::bf16; }
  std::int64_t word() const { return by_pairs() ? 2 : 1; }  ///< terms of the sum that one instruction multiplies
  std::int64_t tile_bytes() const { return by_pairs() ? size_of(DType::bf16) : size_of(DType::f32); }
  /// Of the largest tiles.
  const Variant& largest() const { return variants.rbegin()->second; }
  std::int64_t weight_bytes() const { return positions(largest()) * in_channels * largest().tiling.oc * tile_bytes(); }
  static std::int64_t positions(const Variant& v) { return (v.m + 2) * (v.m + 2); }
};

/// Side by side in a tile of Intrinsic::dot2.
constexpr std::int64_t kPairSums = 16;

std::optional<WinogradProblem> find_winograd_problem(const ComputeDag& dag, const Target& target, WinogradTiles tiles) {
  const std::optional<Anatomy> anatomy = find_anatomy(dag);
  if (!anatomy) return std::nullopt;
  WinogradProblem p{
      .anatomy = *anatomy, .lanes = target.cpu().lanes(4), .cache_bytes = target.cpu().l2_bytes, .tiles = tiles};
  std::int64_t registers = target.cpu().vector_registers;
  if (p.by_pairs()) registers = registers * p.lanes / kPairSums, p.lanes = kPairSums;
  for (const std::int64_t m : {4, 2}) {
    if (m == 4 && p.by_pairs()) continue;
    const Result<WinogradDag> changed = winograd(dag, anatomy->anchor, m, tiles);
    if (!changed.ok()) return std::nullopt;
    const Shape& products = changed->dag.op(changed->ops.products).shape;  // [x, y, n, th, tw, oc]
    p.images = products[2];
    p.dilation = changed->dilation;
    p.in_channels = changed->dag.op(changed->ops.input).shape.back();
    p.variants[m] = {.m = m,
                     .rows = products[3],
                     .columns = products[4],
                     .dilation = changed->dilation,
                     .tiling = {.oc = products[5],
                                .oh = products[3],
                                .ow = products[4],
                                .lanes = p.lanes,
                                .registers = registers,
                                .pipes = target.cpu().pipes,
                                .whole_vectors = p.by_pairs()}};
  }
  // Fewer channels than vectors leave nothing to multiply.
  if (p.in_channels < p.lanes || p.largest().tiling.oc < p.lanes || p.in_channels % p.word() != 0) return std::nullopt;
  return p;
}

/// Everything but the tiles of the products, which is the same for many choices.
struct Transformed {
  Scheduler scheduler;
  WinogradOps ops;
  LoopId block;                  ///< of rows; invalid in phases
  std::vector<LoopId> products;  ///< their loops
};

/// Writes the schedule of one choice, op by op, last op first: whoever is read is placed after its reader.
class WinogradBuilder {
 public:
  WinogradBuilder(const WinogradProblem& p, Scheduler& s, std::int64_t m, std::int64_t rows)
      : p_(p), s_(s), m_(m), rows_(rows) {}

  Transformed transform() {
    const LoopId block = transforms();
    const std::vector<LoopId> products =
        block.valid() ? s_.compute_at(ops_.products, block, StoredIn::memory) : s_.loops(ops_.products);
    inputs(block);
    return {s_, ops_, block, products};
  }

 private:
  /// Gives the loop over blocks; none in phases.
  LoopId transforms() {
    const Anatomy& a = p_.anatomy;
    ops_ = s_.winograd(a.anchor, m_, p_.tiles);
    const std::int64_t moved = ops_.conv.value - a.anchor.value;
    const auto now = [&](OpId op) { return OpId(op > a.anchor ? op.value + moved : op.value); };
    for (std::size_t i = a.before.size(); i-- > 0;) s_.inline_op(a.before[i]);
    for (std::size_t i = a.after.size(); i-- > 0;) s_.inline_op(now(a.after[i]));
    if (a.output) s_.inline_op(ops_.conv);
    return outputs(a.output ? now(*a.output) : ops_.conv);
  }

  void unroll(const std::vector<LoopId>& loops) {
    for (LoopId loop : loops) s_.annotate(loop, LoopKind::unrolled);
  }

  /// Cuts a loop over rows or columns into tiles, whose loops go to `outer`, and the elements of a tile. In a dilated
  /// convolution these are `dilation` apart.
  Scheduler::Pair split_tiles(LoopId loop, std::vector<LoopId>& outer) {
    const Scheduler::Pair tile = s_.split(loop, m_ * p_.dilation, Tail::guard);
    outer.push_back(tile.outer);
    if (p_.dilation == 1) return tile;
    const Scheduler::Pair phase = s_.split(tile.inner, p_.dilation, Tail::guard);
    outer.push_back(phase.inner);
    return {tile.outer, phase.outer};
  }

  /// Gives the loop over blocks of rows under which everything else is computed; none in phases.
  LoopId outputs(OpId op) {
    const std::vector<LoopId> loops = s_.loops(op);  // n, oh, ow, oc; in blocks of channels n, oc, oh, ow, ocb
    const bool blocked = loops.size() == 5;
    const std::size_t row = blocked ? 2 : 1;
    std::vector<LoopId> shared{loops[0]}, tiles, columns;
    Scheduler::Pair oh = split_tiles(loops[row], shared), ow = split_tiles(loops[row + 1], columns),
                    oc = s_.split(loops.back(), p_.lanes, Tail::overlap);
    if (rows_ > 0) {
      const Scheduler::Pair block = s_.split(oh.outer, rows_, Tail::guard);
      shared.back() = block.outer, tiles.push_back(block.inner);
    }
    tiles.insert(tiles.end(), columns.begin(), columns.end());
    if (blocked) tiles.push_back(loops[1]);
    tiles.push_back(oc.outer);
    std::vector<LoopId> order = shared;
    order.insert(order.end(), tiles.begin(), tiles.end());
    order.insert(order.end(), {oh.inner, ow.inner, oc.inner});
    s_.reorder(order);
    unroll({oh.inner, ow.inner});
    s_.annotate(oc.inner, LoopKind::vectorized);
    const LoopId parallel = s_.fuse(shared);

    const std::vector<LoopId> part = s_.compute_at(ops_.partial, oc.outer, StoredIn::registers);  // n, th, tw, p, y, oc
    s_.reorder({part[4], part[3]});
    unroll({part[4], part[3]});
    s_.annotate(part[5], LoopKind::vectorized);
    if (rows_ > 0) return parallel;
    s_.annotate(parallel, LoopKind::parallel);
    return LoopId();
  }

  /// Both passes over a tile are loops, over its columns and then over its rows: as fast as straight code of all its
  /// elements, and compiled in three quarters of the time.
  void inputs(LoopId block) {
    const std::vector<LoopId> loops =
        block.valid() ? s_.compute_at(ops_.input, block, StoredIn::memory) : s_.loops(ops_.input);
    // x, y, n, th, tw, ic
    const Scheduler::Pair ic = s_.split(loops[5], p_.lanes, Tail::overlap);
    s_.reorder({loops[2], loops[3], loops[4], ic.outer, loops[0], loops[1], ic.inner});
    unroll({loops[1]});
    s_.annotate(ic.inner, LoopKind::vectorized);
    LoopId shared;
    if (!block.valid()) shared = s_.fuse({loops[2], loops[3], loops[4]});
    const std::vector<LoopId> rows = s_.compute_at(ops_.rows, ic.outer, StoredIn::registers);  // n, th, tw, x, j, ic
    s_.reorder({rows[4], rows[3]});
    unroll({rows[3]});
    s_.annotate(rows[5], LoopKind::vectorized);
    if (!block.valid()) s_.annotate(shared, LoopKind::parallel);
  }

  const WinogradProblem& p_;
  Scheduler& s_;
  std::int64_t m_, rows_;
  WinogradOps ops_;
};

/// Cuts the products into register tiles and packs their weights.
void tile_products(Scheduler& s, const Transformed& t, const Choices& choices, bool by_pairs) {
  const auto chosen = [&](const char* name) { return choices.at(name).front(); };
  const std::vector<LoopId>& loops = t.products;  // x, y, n, th, tw, oc, ic
  const Scheduler::Pair th = s.split(loops[3], chosen("oh"), Tail::overlap),
                        tw = s.split(loops[4], chosen("ow"), Tail::overlap),
                        oc = s.split(loops[5], chosen("oc"), Tail::overlap);
  Scheduler::Pair ic{loops[6], LoopId()}, vectors{LoopId(), oc.inner};
  LoopId factors;  // of one instruction
  if (by_pairs) {
    if (chosen("oc") > kPairSums) vectors = s.split(oc.inner, kPairSums, Tail::guard);
    const Scheduler::Pair pairs = s.split(loops[6], 2, Tail::guard);
    ic.outer = pairs.outer, factors = pairs.inner;
  }
  if (chosen("ic") > 1) ic = s.split(ic.outer, chosen("ic"), Tail::guard);
  std::vector<LoopId> order{loops[0], loops[1], oc.outer, loops[2], th.outer, tw.outer, ic.outer};
  for (LoopId loop : {ic.inner, th.inner, tw.inner, vectors.outer, vectors.inner, factors})
    if (loop.valid()) order.push_back(loop);
  s.reorder(order);
  for (LoopId loop : {ic.inner, th.inner, tw.inner, vectors.outer})
    if (loop.valid()) s.annotate(loop, LoopKind::unrolled);
  if (!by_pairs) s.annotate(oc.inner, LoopKind::vectorized);
  LoopId shared = t.block;
  if (!shared.valid()) shared = s.fuse({loops[0], loops[1], oc.outer});
  s.cache_write(t.ops.products, tw.outer);
  s.pack(t.ops.weights, t.ops.products);
  if (by_pairs) s.tensorize(vectors.inner, Intrinsic::dot2);
  if (const auto ahead = choices.find("ahead"); ahead != choices.end() && ahead->second.front() > 0)
    s.prefetch(t.ops.weights, t.ops.products, ic.outer,
               std::max<std::int64_t>(ahead->second.front() / chosen("ic"), 1));
  s.annotate(shared, LoopKind::parallel);
}

/// The transforms by tile size and rows of a block, each made once.
class Transforms {
 public:
  explicit Transforms(WinogradProblem p) : p_(std::move(p)) {}

  std::shared_ptr<const Transformed> of(const Scheduler& fresh, std::int64_t m, std::int64_t rows) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Transformed>& made = made_[{m, rows}];
    if (!made) {
      Scheduler s = fresh;
      made = std::make_shared<const Transformed>(WinogradBuilder(p_, s, m, rows).transform());
    }
    return made;
  }

 private:
  WinogradProblem p_;
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const Transformed>> made_;
};

/// What any tile size may choose, each once.
std::vector<Choice> winograd_options(const WinogradProblem& p,
                                     const std::function<std::vector<std::int64_t>(const Variant&)>& options) {
  std::vector<std::int64_t> all;
  for (const auto& [m, variant] : p.variants)
    for (std::int64_t option : options(variant)) all.push_back(option);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return single(all);
}

bool contains(const std::vector<std::int64_t>& options, std::int64_t value) {
  return std::find(options.begin(), options.end(), value) != options.end();
}

/// Rows of tiles in a block, which divide the image; 0: all of it, in phases.
std::vector<std::int64_t> winograd_blocks(const Variant& v) {
  std::vector<std::int64_t> options{0};
  if (v.dilation > 1) return options;
  for (std::int64_t rows = 1; rows < v.rows; ++rows)
    if (v.rows % rows == 0) options.push_back(rows);
  return options;
}

Tile winograd_tile(const Choices& c) { return {c.at("oc").front(), c.at("oh").front(), c.at("ow").front()}; }

std::vector<Constraint> winograd_constraints(const WinogradProblem& p) {
  const auto variant = [p](const Choices& c) { return p.variants.at(c.at("m").front()); };
  std::vector<Constraint> list;
  list.push_back({{"m", "rows"}, [variant](const Choices& c) -> std::optional<std::string> {
                    const Variant v = variant(c);
                    const std::int64_t rows = c.at("rows").front();
                    if (contains(winograd_blocks(v), rows)) return std::nullopt;
                    return fmt::format("{} rows do not divide the {} rows of tiles", rows, v.rows);
                  }});
  list.push_back({{"m", "rows"}, [variant, p](const Choices& c) -> std::optional<std::string> {
                    const Variant v = variant(c);
                    const std::int64_t block_bytes = p.positions(v) * c.at("rows").front() * v.columns *
                                                     (p.in_channels * p.tile_bytes() + v.tiling.oc * 4);
                    if (block_bytes <= p.cache_bytes) return std::nullopt;
                    return "the transformed block overflows a core's cache";
                  }});
  list.push_back({{"m", "rows", "oh"}, [variant](const Choices& c) -> std::optional<std::string> {
                    const std::int64_t rows = c.at("rows").front();
                    if (c.at("oh").front() <= (rows > 0 ? rows : variant(c).rows)) return std::nullopt;
                    return "a register tile is larger than the block";
                  }});
  list.push_back({{"m", "ow"}, [variant](const Choices& c) -> std::optional<std::string> {
                    if (c.at("ow").front() <= variant(c).columns) return std::nullopt;
                    return "a register tile is larger than the block";
                  }});
  const Tiling tiling = p.largest().tiling;  // lanes and registers, which are those of every tile size
  list.push_back({{"oc", "oh", "ow"}, [tiling](const Choices& c) -> std::optional<std::string> {
                    const Tile t = winograd_tile(c);
                    if (tiling.fits(t)) return std::nullopt;
                    return fmt::format("{} x {} products of {} vectors need more than the {} vector registers", t.oh,
                                       t.ow, tiling.vectors(t.oc), tiling.registers);
                  }});
  list.push_back({{"oc", "oh", "ow", "ic"}, [tiling](const Choices& c) -> std::optional<std::string> {
                    if (tiling.accumulators(winograd_tile(c)) * c.at("ic").front() <= 96) return std::nullopt;
                    return "the products overflow the cache of decoded instructions";
                  }});
  return list;
}

/// Blocks where the weights stay in the cache while one block after the other reads them, and where writing and reading all
/// tiles takes longer than reading the weights for each block (measured, with 32 to 256 channels: where the tiles are at
/// least three times as large as the weights). The smallest block that fills a register tile a few times, else the
/// largest that fits. Phases elsewhere: they read the weights once.
std::int64_t best_rows(const WinogradProblem& p, const Sketch& sketch) {
  const Variant& v = p.largest();
  const std::int64_t weights = p.weight_bytes();
  const std::int64_t tiles =
      p.positions(v) * p.images * v.rows * v.columns * (p.in_channels * p.tile_bytes() + v.tiling.oc * 4);
  if (weights > p.cache_bytes / 2 && tiles < 3 * weights) return 0;
  std::int64_t largest = 0;
  for (std::int64_t rows : winograd_blocks(v)) {
    Sketch::Choices choices = sketch.preferred;
    choices["rows"] = {rows};
    if (rows == 0 || !is_within(sketch, choices)) continue;
    largest = rows;
    if (rows * v.columns >= 24) break;
  }
  return largest;
}

}  // namespace

WinogradOps winograd_phases(Scheduler& s, const Anatomy& anatomy, std::int64_t m, std::int64_t lanes) {
  const Result<WinogradDag> changed = winograd(s.tree().dag, anatomy.anchor, m);
  const WinogradProblem p{.anatomy = anatomy, .dilation = changed.ok() ? changed->dilation : 1, .lanes = lanes};
  return WinogradBuilder(p, s, m, 0).transform().ops;
}

namespace {

std::optional<Sketch> sketch_with(WinogradTiles tiles, const ComputeDag& dag, const Target& target) {
  const std::optional<WinogradProblem> problem = find_winograd_problem(dag, target, tiles);
  if (!problem) return std::nullopt;
  const WinogradProblem p = *problem;
  Sketch sketch;
  sketch.name = p.by_pairs() ? "winograd+pairs" : "winograd";
  std::vector<std::int64_t> unroll{1}, sizes;
  for (std::int64_t n : {2, 4})
    if (p.in_channels % (n * p.word()) == 0) unroll.push_back(n);
  for (const auto& [m, variant] : p.variants) sizes.push_back(m);
  sketch.decisions = {
      {"m", "outputs of a tile along each axis: F(m x m, 3 x 3)", single(sizes), 0},
      {"rows", "rows of tiles in a block that stays in a core's cache; 0: all, in three phases",
       winograd_options(p, winograd_blocks), 0},
      {"oc", "output channels in a register tile of the products", single(p.largest().tiling.oc_options()),
       p.largest().tiling.oc},
      {"oh", "rows of tiles in a register tile",
       winograd_options(p, [](const Variant& v) { return v.tiling.oh_options(); }), 0},
      {"ow", "columns of tiles in a register tile",
       winograd_options(p, [](const Variant& v) { return v.tiling.ow_options(); }), 0},
      {"ic", "reduction steps unrolled", single(unroll), 0},
  };
  const Variant& v = p.largest();
  const Tile tile = v.tiling.best();
  sketch.preferred = {{"m", {v.m}},      {"rows", {0}},     {"oc", {tile.oc}},
                      {"oh", {tile.oh}}, {"ow", {tile.ow}}, {"ic", {unroll.back()}}};
  // F(4 x 4) has 36 weights for each of the convolution's 9.
  if (4 * p.weight_bytes() > 3 * target.cpu().l2_bytes) {
    sketch.decisions.push_back(
        {"ahead", "reduction steps by which weights are prefetched ahead (0: no prefetch)", single({0, 16}), 0});
    sketch.preferred["ahead"] = {16};
  }
  sketch.constraints = winograd_constraints(p);
  for (; unroll.size() > 1 && !is_within(sketch, sketch.preferred); unroll.pop_back())
    sketch.preferred["ic"] = {unroll[unroll.size() - 2]};
  sketch.preferred["rows"] = {best_rows(p, sketch)};
  sketch.build = [transforms = std::make_shared<Transforms>(p), by_pairs = p.by_pairs()](Scheduler& s,
                                                                                         const Choices& c) {
    const std::shared_ptr<const Transformed> t = transforms->of(s, c.at("m").front(), c.at("rows").front());
    s = t->scheduler;
    tile_products(s, *t, c, by_pairs);
  };
  Scheduler trial(dag);
  sketch.build(trial, sketch.preferred);
  if (!trial.finish().ok()) return std::nullopt;
  return sketch;
}

}  // namespace

std::optional<Sketch> winograd_sketch(const ComputeDag& dag, const Target& target) {
  return sketch_with(WinogradTiles::f32, dag, target);
}

std::optional<Sketch> winograd_pairs_sketch(const ComputeDag& dag, const Target& target, Precision precision) {
  if (precision != Precision::bf16 || !target.cpu().bf16_products) return std::nullopt;
  return sketch_with(WinogradTiles::bf16, dag, target);
}

}  // namespace whet
