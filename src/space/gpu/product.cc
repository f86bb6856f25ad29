#include "space/gpu/product.h"

#include <algorithm>
#include <numeric>

#include "space/gpu/limits.h"
#include "space/gpu/preferred.h"
#include "space/gpu/product_form.h"

namespace whet {
namespace {

/// An axis of the tile: `apart` strips of each of `threads` threads, `strip` elements wide.
struct Cut {
  std::int64_t apart = 1, threads = 1, strip = 1;
  std::int64_t whole() const { return apart * threads * strip; }
};
Cut cut_of(const Choice& choice) { return {choice[0], choice[1], choice[2]}; }

struct Tile {
  Cut rows, columns;
  std::int64_t depth, stages, pad;
  std::int64_t threads() const { return rows.threads * columns.threads; }
};
Tile tile_of(const Choices& choices) {
  return {cut_of(choices.at("rows")), cut_of(choices.at("columns")), choices.at("depth")[0], choices.at("stages")[0],
          choices.at("pad")[0]};
}

/// How a block copies a part of an operand: vectors of `lanes` elements, `across` threads on a row and `down` rows at once, in
/// `times` steps.
struct Copy {
  std::int64_t lanes, across, down, times;
};
/// `rows` by `columns` elements of an operand whose rows have `length`.
Copy copy_of(std::int64_t rows, std::int64_t columns, std::int64_t length, std::int64_t threads) {
  const std::int64_t lanes = std::gcd(std::gcd(columns, length), 4);
  const std::int64_t across = std::min(threads, columns / lanes);
  std::int64_t down = std::min(rows, std::max<std::int64_t>(1, threads / across));
  while (rows % down != 0) --down;
  return {lanes, across, down, rows / down * ((columns / lanes + across - 1) / across)};
}

class ProductBuilder {
 public:
  ProductBuilder(Scheduler& s, const ProductForm& p, const Tile& tile) : s_(s), p_(p), tile_(tile) {}

  void run() {
    s_ = *p_.start;
    const LoopId depth = p_.output ? epilogue() : sums_alone();
    copy(p_.left, depth, tile_.rows.whole(), tile_.depth, p_.depth);
    copy(p_.right, depth, tile_.depth, tile_.columns.whole(), p_.columns);
    // Neighbouring threads read the same step of different rows.
    if (tile_.pad > 0) s_.pad_storage(p_.left, tile_.pad);
    if (tile_.stages > 1) s_.pipeline(depth, tile_.stages);
  }

 private:
  struct Levels {
    LoopId block, apart, thread, strip;
  };
  Levels cut(LoopId loop, const Cut& cut) {
    const auto tile = s_.split(loop, cut.whole(), Tail::guard);
    const auto apart = s_.split(tile.inner, cut.threads * cut.strip, Tail::guard);
    const auto thread = s_.split(apart.inner, cut.strip, Tail::guard);
    return {tile.outer, apart.outer, thread.outer, thread.inner};
  }

  /// The result's loops: blocks, virtual threads, threads. Gives the levels of rows and columns.
  std::pair<Levels, Levels> nest(OpId op, const std::vector<LoopId>& reduce) {
    std::vector<LoopId> loops = s_.loops(op);
    const std::size_t first = p_.has_lead ? 1 : 0;
    const Levels rows = cut(loops[first], tile_.rows), columns = cut(loops[first + 1], tile_.columns);
    std::vector<LoopId> order;
    if (p_.has_lead) order.push_back(loops[0]);
    for (LoopId loop : {rows.block, columns.block, rows.apart, columns.apart, rows.thread, columns.thread})
      order.push_back(loop);
    order.insert(order.end(), reduce.begin(), reduce.end());
    order.push_back(rows.strip), order.push_back(columns.strip);
    s_.reorder(order);
    if (p_.has_lead) s_.bind(loops[0], LoopKind::block);
    s_.bind(rows.block, LoopKind::block), s_.bind(columns.block, LoopKind::block);
    s_.bind(rows.apart, LoopKind::virtual_thread), s_.bind(columns.apart, LoopKind::virtual_thread);
    s_.bind(rows.thread, LoopKind::thread), s_.bind(columns.thread, LoopKind::thread);
    return {rows, columns};
  }

  /// Sums in registers of the epilogue's threads. Gives the loop over the depth, a part a step.
  LoopId epilogue() {
    const auto [rows, columns] = nest(*p_.output, {});
    std::vector<LoopId> loops = s_.compute_at(p_.sum, columns.thread, StoredIn::registers);
    const auto depth = s_.split(loops.back(), tile_.depth, Tail::guard);
    loops.pop_back();
    std::vector<LoopId> order{depth.outer, depth.inner};
    if (p_.has_outer) {
      order.insert(order.begin(), loops.back());
      loops.pop_back();
    }
    order.insert(order.end(), loops.begin(), loops.end());
    s_.reorder(order);
    finish(depth.inner, loops[loops.size() - 2], loops.back());
    s_.annotate(rows.strip, LoopKind::unrolled);
    s_.annotate(columns.strip, LoopKind::vectorized);
    return depth.outer;
  }

  LoopId sums_alone() {
    const std::vector<LoopId> loops = s_.loops(p_.sum);
    const auto depth = s_.split(loops.back(), tile_.depth, Tail::guard);
    std::vector<LoopId> reduce{depth.outer, depth.inner};
    if (p_.has_outer) reduce.insert(reduce.begin(), loops[loops.size() - 2]);
    const auto [rows, columns] = nest(p_.sum, reduce);
    finish(depth.inner, rows.strip, columns.strip);
    s_.cache_write(p_.sum, columns.thread);
    return depth.outer;
  }

  void finish(LoopId depth, LoopId rows, LoopId columns) {
    s_.annotate(depth, LoopKind::unrolled);
    s_.annotate(rows, LoopKind::unrolled);
    s_.annotate(columns, LoopKind::vectorized);
  }

  /// A part of an operand in block memory, `rows` by `columns`; rows of the whole operand have `length` elements. Whole
  /// vectors along rows.
  void copy(OpId op, LoopId at, std::int64_t rows, std::int64_t columns, std::int64_t length) {
    const Copy copy = copy_of(rows, columns, length, tile_.threads());
    // (lead, rows, outer, depth) and (outer, depth, lead, columns), as far as they are there: one of lead and outer here.
    const std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    const bool led = op == p_.left ? p_.has_lead : p_.has_outer;
    const auto vector = s_.split(loops.back(), copy.lanes, Tail::guard);
    const auto line = s_.split(vector.outer, copy.across, Tail::guard);
    const auto part = s_.split(loops[led ? 1 : 0], copy.down, Tail::guard);
    s_.reorder({part.outer, line.outer, part.inner, line.inner, vector.inner});
    s_.bind(part.inner, LoopKind::thread);
    s_.bind(line.inner, LoopKind::thread);
    s_.annotate(part.outer, LoopKind::unrolled);
    s_.annotate(vector.inner, LoopKind::vectorized);
  }

  Scheduler& s_;
  const ProductForm& p_;
  const Tile tile_;
};

/// Tiles of at most the axis; what does not divide it is guarded.
std::vector<Choice> cuts(std::int64_t extent, const std::vector<std::int64_t>& strips) {
  std::vector<Choice> options;
  for (std::int64_t apart : {1, 2})
    for (std::int64_t threads : {1, 2, 4, 8, 16, 32})
      for (std::int64_t strip : strips)
        if (const std::int64_t whole = apart * threads * strip; whole <= 128 && whole <= extent)
          options.push_back({apart, threads, strip});
  return options;
}

/// Parts of the sum that divide it.
std::vector<std::int64_t> depths(std::int64_t depth) {
  std::vector<std::int64_t> options;
  for (std::int64_t part = 4; part <= std::min<std::int64_t>(depth, 32); ++part)
    if (depth % part == 0) options.push_back(part);
  if (options.empty()) options.push_back(depth <= 32 ? depth : 16);
  return options;
}

constexpr std::int64_t kFewestRows = 8;  ///< products with fewer are sums across threads (rows.h)

/// A block of at most 512 threads: two of them share an SM.
constexpr std::int64_t kMostTileThreads = 512;

Objection copy_fits(const Copy& copy, std::int64_t threads, bool small) {
  const Objection wrong = small ? std::nullopt : copies_whole(copy.times * copy.across * copy.down, threads);
  return wrong ? wrong : copies_few(copy.times);
}

std::vector<Constraint> constraints_of(const ProductForm& p, const GpuLimits& limits) {
  const std::int64_t rows = p.rows, columns = p.columns, depth = p.depth;
  return {
      {{"rows"}, [rows](const Choices& c) { return waste_bounded(rows, cut_of(c.at("rows")).whole()); }},
      {{"columns"}, [columns](const Choices& c) { return waste_bounded(columns, cut_of(c.at("columns")).whole()); }},
      {{"rows", "columns"},
       [limits](const Choices& c) {
         const Cut of_rows = cut_of(c.at("rows")), of_columns = cut_of(c.at("columns"));
         const std::int64_t threads = of_rows.threads * of_columns.threads;
         const std::int64_t sums = of_rows.apart * of_rows.strip * of_columns.apart * of_columns.strip;
         const Objection wrong = threads_fit(threads, kMostTileThreads);
         return wrong ? wrong : registers_fit(tile_registers(sums), threads, limits);
       }},
      {{"rows", "columns", "depth"},
       [=](const Choices& c) {
         const Cut of_rows = cut_of(c.at("rows")), of_columns = cut_of(c.at("columns"));
         const std::int64_t part = c.at("depth")[0], threads = of_rows.threads * of_columns.threads;
         const std::int64_t sums = of_rows.apart * of_rows.strip * of_columns.apart * of_columns.strip;
         if (const Objection wrong = body_bounded(sums * part)) return wrong;
         const Objection wrong = copy_fits(copy_of(of_rows.whole(), part, depth, threads), threads, rows < kSmallAxis);
         if (wrong) return wrong;
         return copy_fits(copy_of(part, of_columns.whole(), columns, threads), threads, columns < kSmallAxis);
       }},
      {{"rows", "columns", "depth", "stages", "pad"},
       [limits](const Choices& c) {
         const Tile tile = tile_of(c);
         const std::int64_t left = tile.rows.whole() * (tile.depth + tile.pad);
         return memory_fits(tile.stages * (left + tile.depth * tile.columns.whole()) * 4, limits);
       }},
  };
}

/// The tiles among which the default is chosen: from large ones, which copy least, to small ones, of which there are many.
/// They are few, because the estimate that chooses among them has met no GPU yet.
constexpr struct {
  Cut rows, columns;
} kTiles[] = {
    {{1, 16, 8}, {2, 16, 4}}, {{1, 16, 8}, {1, 16, 4}}, {{1, 16, 4}, {2, 16, 4}}, {{1, 8, 8}, {1, 16, 4}},
    {{1, 16, 4}, {1, 16, 4}}, {{1, 8, 4}, {1, 32, 4}},  {{1, 8, 4}, {1, 16, 4}},  {{1, 16, 4}, {1, 8, 4}},
    {{1, 16, 2}, {1, 8, 4}},  {{1, 8, 2}, {1, 16, 4}},  {{1, 8, 2}, {1, 8, 4}},   {{1, 4, 2}, {1, 16, 4}},
    {{1, 16, 2}, {1, 16, 2}}, {{1, 32, 1}, {1, 8, 2}},  {{1, 16, 1}, {1, 16, 1}}, {{1, 4, 1}, {1, 32, 1}},
};

/// The cut made smaller until it is one of the options and fits the axis: of two strips one, then fewer threads, then
/// smaller strips.
Choice nearest(Cut cut, const std::vector<Choice>& options, std::int64_t extent) {
  const auto fits = [&] {
    const Choice choice{cut.apart, cut.threads, cut.strip};
    return std::find(options.begin(), options.end(), choice) != options.end() && !waste_bounded(extent, cut.whole());
  };
  while (!fits() && cut.whole() > 1) {
    std::int64_t& part = cut.apart > 1 ? cut.apart : cut.threads > 1 ? cut.threads : cut.strip;
    part /= 2;
  }
  return {cut.apart, cut.threads, cut.strip};
}

std::vector<Choices> tiles_of(const Sketch& sketch, const ProductForm& form) {
  std::vector<Choices> tiles;
  const std::vector<Choice>& depths = sketch.decisions[2].options;
  const auto middle = std::find_if(depths.begin(), depths.end(), [](const Choice& depth) { return depth[0] >= 16; });
  for (const auto& [rows, columns] : kTiles)
    tiles.push_back({{"rows", nearest(rows, sketch.decisions[0].options, form.rows)},
                     {"columns", nearest(columns, sketch.decisions[1].options, form.columns)},
                     {"depth", middle == depths.end() ? depths.back() : *middle},
                     {"stages", {3}},
                     {"pad", {4}}});
  return tiles;
}

}  // namespace

std::optional<Sketch> product_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<ProductForm> form = product_form(dag);
  if (!form || form->rows < kFewestRows) return std::nullopt;
  Sketch sketch;
  sketch.name = "product";
  sketch.decisions = {
      {"rows", "rows of a tile: strips of a thread, threads, rows of a strip", cuts(form->rows, {1, 2, 4, 8}), 0},
      {"columns", "columns of a tile: strips of a thread, threads, columns of a strip", cuts(form->columns, {4, 1, 2}),
       0},
      {"depth", "steps of the sum that are copied together", single(depths(form->depth)), 0},
      {"stages", "copies under way at once, and the one that is read", single({1, 2, 3, 4}), 0},
      {"pad", "elements between two rows of the left operand in block memory", single({0, 4}), 0},
  };
  sketch.constraints = constraints_of(*form, limits_of(target.gpu()));
  sketch.build = [p = *form](Scheduler& s, const Choices& choices) { ProductBuilder(s, p, tile_of(choices)).run(); };
  sketch.preferred = preferred_choices(sketch, dag, target, tiles_of(sketch, *form), {"depth", "stages", "pad"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
