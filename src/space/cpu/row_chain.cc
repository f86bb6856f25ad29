#include "space/cpu/row_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/arithmetic.h"
#include "space/cpu/tile_axes.h"

namespace whet {
namespace {

/// One reduction of the chain.
struct ChainStage {
  OpId sum, end;  ///< the last element-wise op behind the reduction; the reduction itself where there is none
  std::vector<OpId> before;     ///< paddings that it reads through
  std::vector<OpId> after;      ///< between the two
  std::vector<OpId> constants;  ///< that the reduction reads
  TileAxes axes;
};
using Chain = std::vector<ChainStage>;

bool is_link(const Element& element) {
  return element.family == OpFamily::conv || element.family == OpFamily::depthwise || element.family == OpFamily::pool;
}

bool reads_op(const ComputeDag& dag, OpId reader, OpId source) {
  const std::vector<OpId> inputs = inputs_of(dag, reader);
  return std::find(inputs.begin(), inputs.end(), source) != inputs.end();
}

/// The reductions and what is between them; nothing where they are no chain.
std::optional<Chain> split_into_stages(const ComputeDag& dag) {
  Chain chain;
  std::vector<OpId> pads;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const OpId op(static_cast<std::int64_t>(i));
    if (dag.op(op).is_placeholder()) continue;
    const Element& element = dag.op(op).element();
    const OpId last = !pads.empty() ? pads.back() : chain.empty() ? OpId() : chain.back().end;
    if (last.valid() && !reads_op(dag, op, last)) return std::nullopt;
    if (element.reducer) {
      if (!is_link(element)) return std::nullopt;
      chain.push_back({op, op, std::exchange(pads, {}), {}, {}, {}});
    } else if (chain.empty() || !pads.empty() || dag.op(op).shape != dag.op(chain.back().sum).shape) {
      pads.push_back(op);
    } else {
      ChainStage& stage = chain.back();
      if (stage.end != stage.sum) stage.after.push_back(stage.end);
      stage.end = op;
    }
  }
  if (chain.size() < 2 || !pads.empty() || dag.outputs.size() != 1 || chain.back().end != dag.outputs.front())
    return std::nullopt;
  return chain;
}

/// Rows of pictures [N, y, x, C] with more than one row and column.
std::optional<Chain> find_chain(const ComputeDag& dag, const Target& target) {
  std::optional<Chain> chain = split_into_stages(dag);
  if (!chain) return std::nullopt;
  Scheduler scheduler(dag);
  for (const ChainStage& stage : *chain)
    for (std::size_t i = stage.before.size(); i-- > 0;) scheduler.inline_op(stage.before[i]);
  if (!scheduler.finish().ok()) return std::nullopt;
  for (ChainStage& stage : *chain) {
    std::optional<TileAxes> axes = find_tile_axes(scheduler.tree().dag, stage.sum, target);
    if (!axes || axes->y < 0 || axes->x < 0 || axes->blocks >= 0 || axes->in_blocks >= 0 || axes->tiling.group > 0 ||
        axes->vec + 1 != static_cast<std::int64_t>(axes->element.axes.size()) || axes->y != 1)
      return std::nullopt;
    stage.axes = std::move(*axes);
    stage.axes.tiling.oh = 1;
    stage.axes.tiling.rows_skipped = 0;
    for (OpId input : inputs_of(scheduler.tree().dag, stage.sum))
      if (dag.op(input).is_placeholder() && is_constant(dag, input)) stage.constants.push_back(input);
  }
  return chain;
}

std::string numbered(const char* name, std::size_t stage) { return name + std::to_string(stage); }

/// Writes the schedule of one choice.
class ChainBuilder {
 public:
  ChainBuilder(const Chain& chain, Scheduler& s, const Choices& choices) : chain_(chain), s_(s), choices_(choices) {}

  void run() {
    for (const ChainStage& stage : chain_) {
      for (std::size_t i = stage.before.size(); i-- > 0;) s_.inline_op(stage.before[i]);
      for (std::size_t i = stage.after.size(); i-- > 0;) s_.inline_op(stage.after[i]);
    }
    build_last(chain_.back());
    for (std::size_t k = chain_.size() - 1; k-- > 0;) build_inner(k);
    if (parallel_.valid()) s_.annotate(parallel_, LoopKind::parallel);
  }

 private:
  std::int64_t chosen(const std::string& name) const { return choices_.at(name).front(); }
  std::int64_t chosen_or(const std::string& name, std::int64_t otherwise) const {
    const auto found = choices_.find(name);
    return found == choices_.end() ? otherwise : found->second.front();
  }
  /// What a refused primitive gives is empty or invalid.
  static bool ok(const std::vector<LoopId>& loops, std::size_t wanted) {
    return loops.size() >= wanted && std::all_of(loops.begin(), loops.end(), [](LoopId l) { return l.valid(); });
  }

  /// The reduce loops, outer ones first, and the one that is unrolled.
  struct Reduction {
    std::vector<LoopId> outer;
    LoopId unrolled;
  };
  Reduction cut_reduction(const TileAxes& axes, const std::vector<LoopId>& loops, std::int64_t steps) {
    Reduction cut;
    for (std::int64_t tap : axes.taps) cut.outer.push_back(loops[static_cast<std::size_t>(tap)]);
    if (axes.tiling.depthwise)
      for (LoopId tap : cut.outer)
        if (tap.valid() && extent_of(s_.tree(), tap) <= 7) taps_.push_back(tap);
    if (axes.in < 0) return cut;
    LoopId in = loops[static_cast<std::size_t>(axes.in)];
    if (steps > 1) {
      const Scheduler::Pair pair = s_.split(in, steps, Tail::guard);
      in = pair.outer, cut.unrolled = pair.inner;
    }
    cut.outer.push_back(in);
    return cut;
  }

  void unroll_taps() {
    for (LoopId tap : taps_) s_.annotate(tap, LoopKind::unrolled);
    taps_.clear();
  }

  void build_last(const ChainStage& stage) {
    const TileAxes& axes = stage.axes;
    const std::vector<LoopId> loops = s_.loops(stage.sum);
    const std::size_t spatial = axes.element.axes.size();
    if (!ok(loops, spatial + axes.element.reduce_axes.size())) return;
    const Scheduler::Pair block = s_.split(loops[static_cast<std::size_t>(axes.y)], chosen("block"), Tail::overlap);
    const Scheduler::Pair rows = s_.split(block.inner, chosen("rows"), Tail::guard);
    const Scheduler::Pair x = s_.split(loops[static_cast<std::size_t>(axes.x)], chosen("ow"), Tail::overlap);
    std::vector<LoopId> shared = {loops[0], block.outer};
    std::vector<LoopId> reduces(loops.begin() + static_cast<std::ptrdiff_t>(spatial), loops.end());
    LoopId channels = loops[static_cast<std::size_t>(axes.vec)], sums;
    if (const std::int64_t group = chosen_or("group", 0); group > 0) {
      LoopId& grouped = axes.in < 0 ? channels : reduces[static_cast<std::size_t>(axes.in)];
      const Scheduler::Pair groups = s_.split(grouped, group, axes.in < 0 ? Tail::overlap : Tail::guard);
      (axes.in < 0 ? shared.emplace_back() : sums) = groups.outer;
      grouped = groups.inner;
    }
    const Scheduler::Pair oc = s_.split(channels, chosen("oc"), Tail::overlap);
    const Reduction reduction = cut_reduction(axes, reduces, chosen_or("ic", 1));
    std::vector<LoopId> order = shared;
    if (sums.valid()) order.push_back(sums);
    order.push_back(rows.outer);
    const std::vector<LoopId> tiles = chosen("order") == 0 ? std::vector<LoopId>{rows.inner, x.outer, oc.outer}
                                                           : std::vector<LoopId>{oc.outer, rows.inner, x.outer};
    order.insert(order.end(), tiles.begin(), tiles.end());
    order.insert(order.end(), reduction.outer.begin(), reduction.outer.end());
    if (reduction.unrolled.valid()) order.push_back(reduction.unrolled);
    order.insert(order.end(), {x.inner, oc.inner});
    s_.reorder(order);
    parallel_ = s_.fuse(shared);
    rows_ = rows.outer;
    const LoopId tile = tiles.back();
    unroll_taps();
    annotate_tile(reduction.unrolled, x.inner, oc.inner);
    for (OpId constant : stage.constants) s_.pack(constant, stage.sum);
    store(stage, tile, sums.valid());
  }

  void annotate_tile(LoopId unrolled, LoopId x, LoopId oc) {
    for (LoopId loop : {unrolled, x})
      if (loop.valid()) s_.annotate(loop, LoopKind::unrolled);
    s_.annotate(oc, LoopKind::vectorized);
  }

  /// `in_parts`: the sums of a tile grow by one group of channels after the other.
  void store(const ChainStage& stage, LoopId tile, bool in_parts) {
    if (in_parts || stage.end == stage.sum) s_.cache_write(stage.sum, tile);
    if (stage.end == stage.sum) return;
    const std::vector<LoopId> last = s_.reverse_compute_at(stage.end, tile, !in_parts);
    if (!ok(last, stage.axes.element.axes.size())) return;
    const std::size_t shift = last.size() - stage.axes.element.axes.size();
    s_.annotate(last[static_cast<std::size_t>(stage.axes.x) + shift], LoopKind::unrolled);
    s_.annotate(last[static_cast<std::size_t>(stage.axes.vec) + shift], LoopKind::vectorized);
  }

  /// The rows that the stage behind needs while `rows_` runs once.
  void build_inner(std::size_t k) {
    const ChainStage& stage = chain_[k];
    const TileAxes& axes = stage.axes;
    const std::size_t spatial = axes.element.axes.size(), reduces = axes.element.reduce_axes.size();
    const bool alone = stage.end == stage.sum;
    std::vector<LoopId> loops = s_.compute_at(stage.end, rows_, StoredIn::memory);
    if (!ok(loops, spatial + (alone ? reduces : 0))) return;
    const auto along = [&](std::int64_t axis) { return loops[static_cast<std::size_t>(axis)]; };
    const std::int64_t columns = extent_of(s_.tree(), along(axes.x));
    const Scheduler::Pair x = s_.split(along(axes.x), std::min(chosen(numbered("ow", k)), columns), Tail::overlap);
    const std::int64_t channels = extent_of(s_.tree(), along(axes.vec));
    const Scheduler::Pair oc = s_.split(along(axes.vec), std::min(chosen(numbered("oc", k)), channels), Tail::overlap);
    // Weights of a depthwise convolution are few; others are read tile by tile, once for all rows.
    std::vector<LoopId> order = {loops[0]};
    if (axes.in < 0)
      order.insert(order.end(), {along(axes.y), x.outer, oc.outer});
    else
      order.insert(order.end(), {oc.outer, along(axes.y), x.outer});
    const LoopId tile = order.back();
    const std::int64_t steps = chosen_or(numbered("ic", k), 1);
    if (alone) {
      const Reduction reduction =
          cut_reduction(axes, {loops.begin() + static_cast<std::ptrdiff_t>(spatial), loops.end()}, steps);
      order.insert(order.end(), reduction.outer.begin(), reduction.outer.end());
      if (reduction.unrolled.valid()) order.push_back(reduction.unrolled);
      order.insert(order.end(), {x.inner, oc.inner});
      s_.reorder(order);
      unroll_taps();
      annotate_tile(reduction.unrolled, x.inner, oc.inner);
      for (OpId constant : stage.constants) s_.pack(constant, stage.sum);
      s_.cache_write(stage.sum, tile);
    } else {
      order.insert(order.end(), {x.inner, oc.inner});
      s_.reorder(order);
      annotate_tile(LoopId(), x.inner, oc.inner);
      build_sum(stage, tile, steps);
    }
    if (rolls(k)) s_.roll(stage.end, rows_);
  }

  /// The reduction of a tile, in registers, before its element-wise ops.
  void build_sum(const ChainStage& stage, LoopId tile, std::int64_t steps) {
    const TileAxes& axes = stage.axes;
    const std::size_t spatial = axes.element.axes.size();
    const std::vector<LoopId> loops = s_.compute_at(stage.sum, tile, StoredIn::registers);
    if (!ok(loops, spatial + axes.element.reduce_axes.size())) return;
    const Reduction reduction =
        cut_reduction(axes, {loops.begin() + static_cast<std::ptrdiff_t>(spatial), loops.end()}, steps);
    std::vector<LoopId> order = reduction.outer;
    if (reduction.unrolled.valid()) order.push_back(reduction.unrolled);
    order.insert(order.end(), loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(spatial));
    s_.reorder(order);
    unroll_taps();
    for (std::size_t axis = 0; axis + 1 < spatial; ++axis) s_.annotate(loops[axis], LoopKind::unrolled);
    annotate_tile(reduction.unrolled, LoopId(), loops[spatial - 1]);
    for (OpId constant : stage.constants) s_.pack(constant, stage.sum);
  }

  /// Some stage behind reads rows again, and the loop has more than one iteration.
  bool rolls(std::size_t k) const {
    if (chosen("block") == chosen("rows")) return false;
    for (std::size_t behind = k + 1; behind < chain_.size(); ++behind) {
      const TapWindow& window = chain_[behind].axes.tiling.rows;
      if ((window.taps - 1) * window.dilation + 1 > window.stride) return true;
    }
    return false;
  }

  const Chain& chain_;
  Scheduler& s_;
  const Choices& choices_;
  LoopId parallel_, rows_;
  std::vector<LoopId> taps_;
};

std::vector<std::int64_t> step_options(const TileAxes& axes) {
  std::vector<std::int64_t> options = {1};
  for (std::int64_t n : {2, 3, 4})
    if (axes.reduce_extent(axes.in) % n == 0) options.push_back(n);
  return options;
}

/// Rows that one worker computes one after another: equal shares, and smaller ones for several pieces a worker.
std::vector<std::int64_t> block_row_options(std::int64_t rows, int threads) {
  std::set<std::int64_t> options;
  for (std::int64_t pieces : {1, 2, 4, 8}) options.insert(ceil_div(rows, std::min(rows, pieces * threads)));
  std::set<std::int64_t> even;
  for (std::int64_t option : options)
    if (option % 2 == 1 && option + 1 <= rows) even.insert(option + 1);
  options.merge(even);
  return {options.begin(), options.end()};
}

/// Of the rows between two convolutions: those of each one but the last that `rows` of the last one need.
std::int64_t buffer_bytes(const Chain& chain, std::int64_t rows) {
  std::int64_t bytes = 0;
  for (std::size_t k = chain.size() - 1; k-- > 0;) {
    rows = chain[k + 1].axes.tiling.rows.inputs(rows);
    const TileAxes& axes = chain[k].axes;
    bytes += rows * axes.extent(axes.x) * axes.extent(axes.vec) * 4;
  }
  return bytes;
}

/// Weights that the first level does not hold are read once for many rows, as far as these stay in the second level.
std::int64_t best_rows(const Chain& chain, const std::vector<std::int64_t>& options, std::int64_t block,
                       const Target& target) {
  std::int64_t weights = 0, best = 1;
  for (const ChainStage& stage : chain)
    if (stage.axes.in >= 0)
      weights += stage.axes.in_channels() * stage.axes.out_channels() * stage.axes.tiling.taps * 4;
  if (weights <= target.cpu().l1_bytes / 2) return 1;
  for (std::int64_t rows : options)
    if (block % rows == 0 && buffer_bytes(chain, rows) <= target.cpu().l2_bytes / 3) best = std::max(best, rows);
  return best;
}

/// Three channels of a picture are too few for a loop.
std::int64_t best_steps(const TileAxes& axes, const Tile& tile) {
  const std::int64_t channels = axes.reduce_extent(axes.in);
  return channels == 3 ? 3 : channels % 2 == 0 && axes.tiling.fits_unrolled(tile) ? 2 : 1;
}

void add_tile(Sketch& sketch, const TileAxes& axes, const std::string& suffix) {
  const Tiling tiling = axes.tiling;
  const std::string oc = "oc" + suffix, ow = "ow" + suffix, ic = "ic" + suffix;
  const Tile best = tiling.best();
  sketch.decisions.push_back({oc, "channels in a register tile", single(tiling.oc_options()), tiling.oc});
  sketch.decisions.push_back({ow, "columns in a register tile", single(tiling.ow_options()), tiling.ow});
  sketch.preferred[oc] = {best.oc}, sketch.preferred[ow] = {best.ow};
  sketch.constraints.push_back({{oc, ow}, [tiling, oc, ow](const Choices& c) -> std::optional<std::string> {
                                  const Tile tile{c.at(oc).front(), 1, c.at(ow).front()};
                                  if (tiling.fits(tile)) return std::nullopt;
                                  return fmt::format(
                                      "a tile of {} pixels and {} vectors needs more than the {} registers", tile.ow,
                                      tiling.vectors(tile.oc), tiling.registers);
                                }});
  if (axes.in < 0) return;
  sketch.decisions.push_back({ic, "reduction steps unrolled", single(step_options(axes)), 0});
  sketch.preferred[ic] = {best_steps(axes, best)};
}

/// Channels go through the chain in groups: where the last one computes each channel from that channel alone, or adds up the channels
/// of a depthwise convolution or a pool.
enum class Groups { none, of_results, of_sums };
Groups groups_of(const Chain& chain) {
  const TileAxes& last = chain.back().axes;
  if (last.in < 0) return chain.size() == 2 ? Groups::of_results : Groups::none;
  const TileAxes& before = chain[chain.size() - 2].axes;
  return chain.size() <= 3 && before.in < 0 && last.tiling.taps == 1 ? Groups::of_sums : Groups::none;
}

/// The channels that are gone through.
std::int64_t grouped_channels(const Chain& chain) { return chain[chain.size() - 2].axes.out_channels(); }

/// Channels of a group: whole vectors. Of results, the last group may compute few again. 0: all channels at once.
std::vector<std::int64_t> group_options(const Chain& chain) {
  std::vector<std::int64_t> options = {0};
  const std::int64_t channels = grouped_channels(chain), lanes = chain.back().axes.tiling.lanes;
  const bool whole = groups_of(chain) == Groups::of_sums;
  for (std::int64_t vectors : {1, 2, 3, 4, 6, 8, 12, 16}) {
    const std::int64_t group = vectors * lanes, computed = ceil_div(channels, group) * group;
    if (group < channels && (whole ? computed == channels : 8 * computed <= 9 * channels)) options.push_back(group);
  }
  return options;
}

/// The work of the one who has most, as a part of an equal share.
double balance(std::int64_t shares, int threads) {
  return static_cast<double>(ceil_div(shares, std::int64_t{threads}) * threads) / static_cast<double>(shares);
}

/// How the channels are gone through.
struct Grouping {
  std::int64_t group = 0, block = 1, rows = 1;
};

/// The time of a grouping, relative to one that computes nothing again and shares out all evenly.
double cost_of(const Grouping& g, const Chain& chain, const Target& target) {
  const TileAxes &first = chain.front().axes, &last = chain.back().axes;
  const TapWindow& window = chain[chain.size() - (last.in < 0 ? 1 : 2)].axes.tiling.rows;
  const std::int64_t room = target.cpu().l1_bytes, channels = grouped_channels(chain), height = last.extent(last.y),
                     pieces = ceil_div(height, g.block), groups = ceil_div(channels, g.group);
  const std::int64_t shares = last.extent(0) * pieces * (last.in < 0 ? groups : 1);
  double cost = balance(shares, target.threads);
  cost *= static_cast<double>(window.inputs(g.block) * pieces) / static_cast<double>(window.inputs(height));
  cost *= static_cast<double>(groups * g.group) / static_cast<double>(channels);
  // What lies between two of them leaves the first level, and so do weights, and the picture the second.
  if (buffer_bytes(chain, 1) / channels * g.group > room / 2) cost *= 1.1;
  if (first.tiling.taps * first.in_channels() * g.group * 4 > room / 2) cost *= 1.05;
  const std::int64_t read = window.inputs(g.block) * first.extent(first.x) * first.in_channels() * 4;
  if (first.in >= 0 && read > target.cpu().l2_bytes / 2) cost *= 1.1;
  // Each group reads its pixels, or its sums, anew.
  return cost * (1 + 0.1 * static_cast<double>(last.tiling.lanes) / static_cast<double>(g.group));
}

/// Sums that grow in memory, group by group, belong to one worker: no two of them compute a row.
bool keeps_rows_apart(const Chain& chain, std::int64_t block) {
  const TileAxes& last = chain.back().axes;
  return groups_of(chain) != Groups::of_sums || last.extent(last.y) % block == 0;
}

std::optional<Grouping> best_grouping(const Chain& chain, const std::vector<std::int64_t>& groups,
                                      const std::vector<std::int64_t>& blocks, const std::vector<std::int64_t>& rows,
                                      const Target& target) {
  std::optional<Grouping> best;
  for (std::int64_t group : groups)
    for (std::int64_t block : blocks) {
      const Grouping grouping{group, block, 1};
      if (group > 0 && keeps_rows_apart(chain, block) &&
          (!best || cost_of(grouping, chain, target) < cost_of(*best, chain, target)))
        best = grouping;
    }
  if (!best) return best;
  for (std::int64_t count : rows)
    if (best->block % count == 0 &&
        buffer_bytes(chain, count) / grouped_channels(chain) * best->group <= target.cpu().l1_bytes / 2)
      best->rows = std::max(best->rows, count);
  return best;
}

/// The cheapest tile whose channels and columns divide these; columns of 0 are divided by all.
Tile best_dividing(const Tiling& tiling, std::int64_t channels, std::int64_t row) {
  Tile best;
  double best_cost = kInfinity;
  for (std::int64_t elements : tiling.oc_options())
    for (std::int64_t columns : tiling.ow_options()) {
      const Tile tile{elements, 1, columns};
      if (channels % elements != 0 || row % columns != 0 || !tiling.fits(tile) || tiling.cost(tile) >= best_cost)
        continue;
      best = tile, best_cost = tiling.cost(tile);
    }
  return best;
}

/// The stages whose results are in groups, and what the names of their decisions end with.
std::vector<std::pair<std::size_t, std::string>> grouped_stages(const Chain& chain) {
  std::vector<std::pair<std::size_t, std::string>> stages;
  for (std::size_t k = 0; k + 1 < chain.size(); ++k) stages.emplace_back(k, std::to_string(k));
  if (chain.back().axes.in < 0) stages.emplace_back(chain.size() - 1, "");
  return stages;
}

void constrain_groups(Sketch& sketch, const Chain& chain) {
  const auto divides = [&](const std::string& name) {
    sketch.constraints.push_back({{name, "group"}, [name](const Choices& c) -> std::optional<std::string> {
                                    const std::int64_t group = c.at("group").front();
                                    if (group == 0 || group % c.at(name).front() == 0) return std::nullopt;
                                    return "a group of channels has no whole tiles";
                                  }});
  };
  for (const auto& [k, suffix] : grouped_stages(chain)) divides("oc" + suffix);
  if (groups_of(chain) != Groups::of_sums) return;
  sketch.constraints.push_back({{"block", "group"}, [chain](const Choices& c) -> std::optional<std::string> {
                                  if (c.at("group").front() == 0 || keeps_rows_apart(chain, c.at("block").front()))
                                    return std::nullopt;
                                  return "blocks of rows whose sums grow group by group must divide the output";
                                }});
  const Tiling tiling = chain.back().axes.tiling;
  sketch.constraints.push_back({{"oc", "ow", "group"}, [tiling](const Choices& c) -> std::optional<std::string> {
                                  const bool divide = tiling.divides({c.at("oc").front(), 1, c.at("ow").front()});
                                  if (c.at("group").front() == 0 || divide) return std::nullopt;
                                  return "tiles whose sums grow group by group must divide the output";
                                }});
}

void add_groups(Sketch& sketch, const Chain& chain, const std::vector<std::int64_t>& blocks,
                const std::vector<std::int64_t>& rows, const Target& target) {
  const std::vector<std::int64_t> groups = group_options(chain);
  sketch.decisions.push_back(
      {"group", "channels that go through the chain, one group after the other (0: all at once)", single(groups), 0});
  sketch.preferred["group"] = {0};
  constrain_groups(sketch, chain);
  if (chain.front().axes.in < 0) return;  // what has no product before it is computed where it is read
  const std::optional<Grouping> best = best_grouping(chain, groups, blocks, rows, target);
  if (!best) return;
  sketch.preferred["group"] = {best->group};
  sketch.preferred["block"] = {best->block}, sketch.preferred["rows"] = {best->rows};
  const auto prefer = [&](std::size_t k, const std::string& suffix, std::int64_t channels, std::int64_t row) {
    const Tiling& tiling = chain[k].axes.tiling;
    const Tile tile = best_dividing(tiling, channels, row);
    sketch.preferred["oc" + suffix] = {tile.oc}, sketch.preferred["ow" + suffix] = {tile.ow};
    if (chain[k].axes.in >= 0) sketch.preferred["ic" + suffix] = {best_steps(chain[k].axes, tile)};
  };
  for (const auto& [k, suffix] : grouped_stages(chain)) prefer(k, suffix, best->group, 0);
  const TileAxes& last = chain.back().axes;
  if (last.in >= 0) prefer(chain.size() - 1, "", last.out_channels(), last.extent(last.x));
}

}  // namespace

std::optional<Sketch> row_chain_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Chain> chain = find_chain(dag, target);
  if (!chain) return std::nullopt;
  Sketch sketch;
  sketch.name = "chain";
  const TileAxes& last = chain->back().axes;
  const std::int64_t height = last.extent(last.y);
  std::vector<std::int64_t> blocks = block_row_options(height, target.threads);
  const bool whole = groups_of(*chain) == Groups::of_results || last.extent(0) % target.threads == 0;
  if (whole && blocks.back() < height) blocks.push_back(height);
  std::set<std::int64_t> divisors = {1};
  for (std::int64_t block : blocks)
    for (std::int64_t n = 2; n <= block; ++n)
      if (block % n == 0 && buffer_bytes(*chain, n) <= target.cpu().l2_bytes / 2) divisors.insert(n);
  const std::vector<std::int64_t> rows(divisors.begin(), divisors.end());
  sketch.decisions = {
      {"rows", "rows of the last one, computed at a time", single(rows), 0},
      {"block", "rows that a worker computes one after another", single(blocks), 0},
      {"order", "loops of tiles: 0 rows, columns, channels; 1 channels, rows, columns", single({0, 1}), 0},
  };
  sketch.constraints.push_back({{"rows", "block"}, [](const Choices& c) -> std::optional<std::string> {
                                  if (c.at("block").front() % c.at("rows").front() == 0) return std::nullopt;
                                  return "a block of rows must be whole";
                                }});
  sketch.preferred = {{"rows", {1}}, {"block", {blocks.back()}}, {"order", {1}}};
  const std::int64_t share = last.extent(0) % target.threads == 0 ? height : ceil_div(height, target.threads);
  for (std::int64_t block : blocks)
    if (block == share) sketch.preferred["block"] = {block};
  sketch.preferred["rows"] = {best_rows(*chain, rows, sketch.preferred["block"].front(), target)};
  add_tile(sketch, last, "");
  for (std::size_t k = 0; k + 1 < chain->size(); ++k) add_tile(sketch, (*chain)[k].axes, std::to_string(k));
  if (groups_of(*chain) != Groups::none) add_groups(sketch, *chain, blocks, rows, target);
  sketch.build = [chain = *chain](Scheduler& s, const Sketch::Choices& c) { ChainBuilder(chain, s, c).run(); };
  Scheduler trial(dag);
  sketch.build(trial, sketch.preferred);
  if (!trial.finish().ok()) return std::nullopt;
  return sketch;
}

}  // namespace whet
