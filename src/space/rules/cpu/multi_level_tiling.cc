// Multi-level tiling: an op that reads what it reads for many of its elements is computed in tiles of tiles,
// S S R S R S (S: its own axes, R: what it reduces): shared out among workers, blocks for the second-level cache, blocks
// of the reduction, cells for the first level, the reduction, register tiles.

#include <algorithm>

#include "space/cpu/tile_axes.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

bool depends_on(const Expr& e, std::size_t from, std::size_t to) {
  bool found = false;
  for_each(e, [&](const Expr& part) {
    const Var* v = std::get_if<Var>(&part->kind);
    found = found || (v && v->id.index() >= from && v->id.index() < to);
  });
  return found;
}

/// Some element of what it reads is read for several of its results: an index leaves one of its axes out, or adds one
/// to what is reduced (a window).
bool reads_again(const Element& element) {
  const std::size_t spatial = element.axes.size(), all = spatial + element.reduce_axes.size();
  bool again = false;
  for_each(element.body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    if (!load) return;
    for (std::size_t axis = 0; axis < spatial; ++axis) {
      const bool used = std::any_of(load->index.begin(), load->index.end(),
                                    [&](const Expr& index) { return depends_on(index, axis, axis + 1); });
      again = again || (!used && element.axes[axis].extent > 1);
    }
    for (const Expr& index : load->index)
      again = again || (depends_on(index, 0, spatial) && depends_on(index, spatial, all));
  });
  return again;
}

std::optional<std::string> why_not_multi_level_tiling(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  if (!d.dag().op(op).element().reducer) return "it does not reduce, so nothing is read for several of its elements";
  const std::optional<TileAxes> axes = find_tile_axes(d.dag(), op, d.target());
  if (!axes) return "neighbours along its innermost axis do not read neighbours, so tiles of vectors would be gathered";
  if (!reads_again(axes->element)) return "each value that it reads serves one of its elements only";
  return std::nullopt;
}

/// An axis that is cut, and the decision that says how: the extents of blocks, cells and register tiles.
struct TilingCut {
  std::size_t axis = 0;
  std::string decision;
};

struct TilingPlan {
  OpId op;
  TileAxes axes;
  std::vector<TilingCut> cuts;            ///< rows, columns, channels: those that there are
  std::string in, taps, order, parallel;  ///< names of decisions; "" for those that there are not
  std::int64_t l2_bytes = 0;
};

std::vector<Choice> levels_of(std::int64_t extent, const std::vector<std::int64_t>& register_tiles) {
  std::vector<Choice> options;
  for (std::int64_t tile : register_tiles)
    for (std::int64_t cell : {tile, 2 * tile, 4 * tile}) {
      if (cell > extent) continue;
      for (std::int64_t block : {cell, 2 * cell, extent}) {
        const Choice choice{block, cell, tile};
        const bool nested = block <= extent && block % cell == 0;
        if (nested && std::find(options.begin(), options.end(), choice) == options.end()) options.push_back(choice);
      }
    }
  return options;
}

/// Blocks of the reduction, and how many of its steps are unrolled.
std::vector<Choice> reduction_of(std::int64_t extent) {
  std::vector<Choice> options;
  for (std::int64_t block : {extent, extent / 2, extent / 4, std::int64_t{64}, std::int64_t{128}, std::int64_t{256}}) {
    if (block < 1 || extent % block != 0 || (block < extent && block < 32)) continue;
    for (std::int64_t steps : {1, 2, 4}) {
      const Choice choice{block, steps};
      if (block % steps == 0 && std::find(options.begin(), options.end(), choice) == options.end())
        options.push_back(choice);
    }
  }
  return options;
}

const TilingCut* cut_of(const TilingPlan& p, std::int64_t axis) {
  for (const TilingCut& cut : p.cuts)
    if (static_cast<std::int64_t>(cut.axis) == axis) return &cut;
  return nullptr;
}

/// A level of an axis' tiles; 1 for an axis that is not cut.
std::int64_t level(const TilingPlan& p, const Choices& choices, std::int64_t axis, std::size_t level) {
  const TilingCut* cut = cut_of(p, axis);
  return cut ? choices.at(cut->decision)[level] : 1;
}

Tile tile_at(const TilingPlan& p, const Choices& c, std::size_t k) {
  return {.oc = level(p, c, p.axes.vec, k), .oh = level(p, c, p.axes.y, k), .ow = level(p, c, p.axes.x, k)};
}

constexpr std::size_t kBlock = 0, kCell = 1, kTile = 2;

/// Blocks that can be shared out.
std::int64_t shares(const TilingPlan& p, const Choices& c) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < p.axes.element.axes.size(); ++axis) {
    const auto number = static_cast<std::int64_t>(axis);
    const std::int64_t extent = p.axes.extent(number);
    if (cut_of(p, number))
      count *= (extent + level(p, c, number, kBlock) - 1) / level(p, c, number, kBlock);
    else if (number < p.axes.vec)
      count *= extent;
  }
  return count;
}
constexpr std::int64_t kMostTilingProducts = 96;  // more overflow the cache of decoded instructions

void constrain(const TilingPlan& p, Derivation& d) {
  std::vector<std::string> cut, all;
  for (const TilingCut& c : p.cuts) cut.push_back(c.decision);
  all = cut;
  const Tiling tiling = p.axes.tiling;
  const std::int64_t few = std::min<std::int64_t>(3, tiling.accumulators(tiling.best()));
  d.constrain({cut, [p, tiling](const Choices& c) -> std::optional<std::string> {
                 if (tiling.fits(tile_at(p, c, kTile))) return std::nullopt;
                 return "a register tile needs more than the " + std::to_string(tiling.registers) + " vector registers";
               }});
  d.constrain({cut, [p, tiling, few](const Choices& c) -> std::optional<std::string> {
                 if (tiling.depthwise || tiling.accumulators(tile_at(p, c, kTile)) >= few) return std::nullopt;
                 return "too few accumulators to keep the units busy";
               }});
  const std::int64_t threads = std::min<std::int64_t>(d.target().threads, shares(p, d.preferred()));
  d.constrain({cut, [p, threads](const Choices& c) -> std::optional<std::string> {
                 if (shares(p, c) >= threads) return std::nullopt;
                 return "there are fewer blocks than workers";
               }});
  if (p.in.empty()) return;
  all.push_back(p.in);
  d.constrain({all, [p, tiling](const Choices& c) -> std::optional<std::string> {
                 if (tiling.accumulators(tile_at(p, c, kTile)) * c.at(p.in)[1] <= kMostTilingProducts)
                   return std::nullopt;
                 return "the products of a step overflow the cache of decoded instructions";
               }});
  d.constrain({all, [p](const Choices& c) -> std::optional<std::string> {
                 if (c.at(p.in)[0] == p.axes.reduce_extent(p.axes.in)) return std::nullopt;
                 const Tile block = tile_at(p, c, kBlock), cell = tile_at(p, c, kCell);
                 if (block.oc == cell.oc && block.oh == cell.oh && block.ow == cell.ow)
                   return "blocks of the reduction serve a block of one cell no better than a whole reduction";
                 std::int64_t taps = 1;
                 for (std::int64_t tap : p.axes.taps) taps *= p.axes.reduce_extent(tap);
                 const std::int64_t pixels = block.oh * block.ow, steps = c.at(p.in)[0];
                 if (4 * (pixels * steps + block.oc * steps * taps + pixels * block.oc) <= p.l2_bytes)
                   return std::nullopt;
                 return "a block of the reduction touches more than the second-level cache holds";
               }});
}

// ---- the schedule

struct Axis4 {
  LoopId shared, block, cell, tile;
};

/// Rows, channels, columns in an order that `order` names, as in the template.
std::vector<Axis4> ordered(const std::vector<Axis4>& cuts, std::int64_t order) {
  if (cuts.size() < 2 || order == 0) return cuts;
  std::vector<Axis4> result = cuts;
  // Channels are last: one place to the front, or all the way.
  const auto to = order == 1 ? result.end() - 2 : result.begin();
  std::rotate(to, result.end() - 1, result.end());
  return result;
}

void reduce_loops(ScheduleDraft& m, const TilingPlan& p, const std::vector<LoopId>& loops, Levels& levels,
                  LoopId* unrolled) {
  for (std::int64_t tap : p.axes.taps) levels.reduce_inner.push_back(loops[static_cast<std::size_t>(tap)]);
  if (p.in.empty()) return;
  LoopId in = loops[static_cast<std::size_t>(p.axes.in)];
  levels.blocked = m.chosen(p.in, 0) < extent_of(m.s.tree(), in);
  if (levels.blocked) {
    const Scheduler::Pair pair = m.s.split(in, m.chosen(p.in, 0), Tail::guard);
    levels.reduce_outer.push_back(pair.outer), in = pair.inner;
  }
  if (m.chosen(p.in, 1) > 1) {
    const Scheduler::Pair pair = m.s.split(in, m.chosen(p.in, 1), Tail::guard);
    in = pair.outer, *unrolled = pair.inner;
  }
  levels.reduce_inner.push_back(in);
}

void tile(ScheduleDraft& m, const TilingPlan& p) {
  const std::vector<LoopId> loops = m.s.loops(p.op);
  const std::size_t spatial = p.axes.element.axes.size();
  if (loops.size() < spatial) return;
  Levels levels;
  std::vector<Axis4> cuts;
  std::vector<LoopId> rest;
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    const TilingCut* cut = cut_of(p, static_cast<std::int64_t>(axis));
    if (!cut) {
      (static_cast<std::int64_t>(axis) < p.axes.vec ? levels.shared : rest).push_back(loops[axis]);
      continue;
    }
    // Only blocks may overlap: the levels inside divide one another.
    const Scheduler::Pair block = m.s.split(loops[axis], m.chosen(cut->decision, kBlock), Tail::overlap),
                          cell = m.s.split(block.inner, m.chosen(cut->decision, kCell), Tail::guard),
                          tile = m.s.split(cell.inner, m.chosen(cut->decision, kTile), Tail::guard);
    cuts.push_back({block.outer, cell.outer, tile.outer, tile.inner});
  }
  LoopId unrolled;
  reduce_loops(m, p, {loops.begin() + static_cast<std::ptrdiff_t>(spatial), loops.end()}, levels, &unrolled);
  std::int64_t take = m.chosen(p.parallel);
  for (const Axis4& axis : ordered(cuts, m.chosen(p.order))) {
    (take-- > 0 ? levels.shared : levels.block).push_back(axis.shared);
  }
  levels.block.insert(levels.block.end(), rest.begin(), rest.end());
  for (const Axis4& axis : cuts) levels.block.push_back(axis.block), levels.tile.push_back(axis.tile);
  // Inside a cell one tile of weights serves all pixels.
  for (const Axis4& axis : ordered(cuts, 2)) levels.cell.push_back(axis.cell);

  std::vector<LoopId> sequence;
  for (const std::vector<LoopId>* part :
       {&levels.shared, &levels.block, &levels.reduce_outer, &levels.cell, &levels.reduce_inner})
    sequence.insert(sequence.end(), part->begin(), part->end());
  if (unrolled.valid()) sequence.push_back(unrolled);
  sequence.insert(sequence.end(), levels.tile.begin(), levels.tile.end());
  m.s.reorder(sequence);
  levels.shared = {m.s.fuse(levels.shared)};
  if (unrolled.valid()) m.s.annotate(unrolled, LoopKind::unrolled);
  if (!p.taps.empty() && m.chosen(p.taps) == 1)
    for (LoopId tap : levels.reduce_inner)
      if (extent_of(m.s.tree(), tap) <= 7) m.s.annotate(tap, LoopKind::unrolled);
  for (std::size_t k = 0; k + 1 < levels.tile.size(); ++k) m.s.annotate(levels.tile[k], LoopKind::unrolled);
  if (!levels.tile.empty()) m.s.annotate(levels.tile.back(), LoopKind::vectorized);
  m.parallel.push_back(levels.shared.front());
  m.levels[p.op] = std::move(levels);
}

std::vector<Derivation> apply_multi_level_tiling(const Derivation& from, OpId op) {
  Derivation d = from;
  TilingPlan p{.op = op, .axes = *find_tile_axes(d.dag(), op, d.target()), .l2_bytes = d.target().cpu().l2_bytes};
  const Tiling& tiling = p.axes.tiling;
  const Tile best = tiling.best();
  const auto cut = [&](std::int64_t axis, const std::vector<std::int64_t>& tiles, std::int64_t preferred) {
    if (axis < 0) return;
    const std::string& axis_name = p.axes.element.axes[static_cast<std::size_t>(axis)].name;
    const std::string name = d.name_for(op, axis_name);
    const std::int64_t extent = p.axes.extent(axis);
    p.cuts.push_back({static_cast<std::size_t>(axis), name});
    d.decide({name, "extents of blocks, cells and register tiles along " + axis_name, levels_of(extent, tiles), extent},
             {preferred, preferred, preferred});
  };
  cut(p.axes.y, tiling.oh_options(), best.oh);
  cut(p.axes.x, tiling.ow_options(), best.ow);
  cut(p.axes.vec, tiling.oc_options(), best.oc);
  if (p.axes.in >= 0) {
    const Axis& axis = p.axes.element.reduce_axes[static_cast<std::size_t>(p.axes.in)];
    p.in = d.name_for(op, axis.name);
    d.decide({p.in, "steps of the reduction in a block, and how many of them are unrolled", reduction_of(axis.extent),
              axis.extent},
             {axis.extent, 1});
  }
  if (p.in.empty()) {
    p.taps = d.name_for(op, "taps");
    d.decide({p.taps, "1: the taps are unrolled", single({0, 1}), 0}, {1});
  }
  p.order = d.name_for(op, "order");
  std::vector<std::int64_t> orders{0};
  for (std::size_t k = 1; k < p.cuts.size(); ++k) orders.push_back(static_cast<std::int64_t>(k));
  if (orders.size() == 2) orders = {0, 2};
  d.decide(
      {p.order, "blocks: 0 channels innermost, 1 columns inside of channels, 2 channels outermost", single(orders), 0},
      {orders.back()});
  p.parallel = d.name_for(op, "parallel");
  std::vector<std::int64_t> counts;
  for (std::size_t k = 1; k <= p.cuts.size(); ++k) counts.push_back(static_cast<std::int64_t>(k));
  d.decide({p.parallel, "how many of the loops over blocks are shared out among the workers", single(counts), 0},
           {counts.back()});
  constrain(p, d);
  d.call("tiles");
  d.act([p](ScheduleDraft& m) { tile(m, p); });
  d.set_treatment(op, OpTreatment::tiled);
  return {std::move(d)};
}

}  // namespace

const Rule kTilingRule{"multi-level-tiling", "tiles it on several levels: S S R S R S", why_not_multi_level_tiling,
                       apply_multi_level_tiling};

}  // namespace whet
