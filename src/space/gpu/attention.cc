#include "space/gpu/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "space/gpu/attention_launch.h"
#include "space/gpu/limits.h"
#include "space/gpu/preferred.h"
#include "space/gpu/product_tile.h"

namespace whet {
namespace {

constexpr std::int64_t kDepthSteps = 8;           ///< of the first product that are unrolled
constexpr std::int64_t kFewestAttentionRows = 8;  ///< queries and keys
constexpr std::int64_t kMostAttentionThreads = 512;

struct AttentionShare {
  std::int64_t queries, score_rows, score_keys, rows, depth, stages, keys, min_blocks;
  /// Those with results; a block has whole warps.
  std::int64_t threads(const GpuAttention& form) const { return queries / rows * (form.columns / form.strip); }
};
/// What is not chosen is 1.
AttentionShare attention_share(const Choices& c) {
  const auto at = [&](const char* name) {
    const auto found = c.find(name);
    return found == c.end() || found->second.empty() ? 1 : found->second[0];
  };
  return {at("queries"), at("score_rows"), at("score_keys"), at("rows"),
          at("depth"),   at("stages"),     at("keys"),       at("min_blocks")};
}

/// Keys whose scores the threads of a block compute at once. Those of a part are whole strips where strips of at least half as many
/// keys divide it, so that no key of the next part is copied.
std::int64_t score_strip(const GpuAttention& form, const AttentionShare& share) {
  const std::int64_t keys = form.ops.keys_count, down = std::max<std::int64_t>(1, share.queries / share.score_rows);
  const std::int64_t most = std::min(std::max<std::int64_t>(1, share.threads(form) / down) * share.score_keys, keys);
  if (!form.parts) return most;
  for (std::int64_t strip = most; strip >= share.score_keys && 2 * strip >= most; --strip)
    if (keys % strip == 0 && strip % share.score_keys == 0) return strip;
  return most;
}

/// Keys that a block copies, perhaps some of the next part with them.
std::int64_t copied_keys(const GpuAttention& form, const AttentionShare& share) {
  const std::int64_t strip = score_strip(form, share), keys = form.ops.keys_count;
  return form.parts ? std::min((keys + strip - 1) / strip * strip, form.all_keys) : keys;
}

class GpuAttentionBuilder {
 public:
  GpuAttentionBuilder(Scheduler& s, const GpuAttention& form, const AttentionShare& share)
      : s_(s), f_(form), a_(form.ops), share_(share), threads_(share.threads(form)) {}

  void run() {
    s_ = *f_.start;
    if (share_.keys == 0) s_.inline_op(f_.keys);
    if (f_.parts) add_attention_parts(s_, f_);
    mix();
    if (f_.parts) add_up(a_.sum);
    weights();
    if (!f_.parts) add_up(a_.sum);
    add_up(a_.top);
    scores();
    copy(f_.queries, block_, share_.queries, a_.depth);
    if (share_.keys > 0) copy_keys(), pad(f_.keys);
    if (share_.stages > 1) s_.pipeline(keys_, share_.stages);
  }

 private:
  /// The last two of the loops over a result.
  std::pair<LoopId, LoopId> last_two(const std::vector<LoopId>& loops, OpId op) const {
    const std::size_t axes = s_.tree().dag.op(op).shape.size();
    return {loops[axes - 2], loops[axes - 1]};
  }

  void copy(OpId op, LoopId at, std::int64_t rows, std::int64_t columns) {
    const std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    // Queries are (heads, row, depth), the others (depth or key, heads, column).
    const LoopId row = op == f_.queries ? last_two(loops, op).first : loops.front();
    copy_tile(s_, row, loops.back(), tile_copy(rows, columns, 4, threads_));
  }

  /// They lie by depth in block memory. Where they lie by key outside, a warp reads along the depth: 32 keys would be 32 lines.
  void copy_keys() {
    const std::int64_t keys = copied_keys(f_, share_);
    const std::vector<LoopId> loops = s_.compute_at(f_.keys, block_, StoredIn::block);
    if (!f_.turns_keys) {
      const TileCopy copy = tile_copy(a_.depth, keys, 4, threads_);
      return copy_tile(s_, loops.front(), loops.back(), copy, trip_of(a_.depth, copy));
    }
    const std::int64_t across = std::min(threads_, a_.depth);
    const TileCopy copy{1, across, std::min(threads_ / across, keys), 1};
    copy_tile(s_, loops.back(), loops.front(), copy, trip_of(keys, copy));
  }

  /// The rows that a thread copies in one unrolled trip, of `count` in all.
  static std::int64_t trip_of(std::int64_t count, const TileCopy& copy) {
    return std::min(kRowsOfATrip, (count + copy.down - 1) / copy.down);
  }

  void pad(OpId op) {
    if (f_.pad > 0) s_.pad_storage(op, f_.pad);
  }

  /// Rows and columns of a thread's tile.
  struct Strip {
    LoopId row, column;
  };
  void unroll(const Strip& strip) {
    s_.annotate(strip.row, LoopKind::unrolled);
    s_.annotate(strip.column, LoopKind::vectorized);
  }

  /// The sums of a product are registers of `thread`, `steps` of them unrolled. `stored` of its tile is the product, whose
  /// reduce loop is `reduced`, or what is computed of it. Gives the reduce loop outside of the tile.
  LoopId sum(OpId product, OpId stored, LoopId thread, LoopId reduced, const Strip& strip, std::int64_t steps) {
    Strip sums = strip;
    if (product != stored) {
      const std::vector<LoopId> loops = s_.compute_at(product, thread, StoredIn::registers);
      std::tie(sums.row, sums.column) = last_two(loops, product);
      reduced = loops.back();
    }
    const auto part = s_.split(reduced, steps, Tail::guard);
    s_.reorder({part.outer, part.inner, sums.row, sums.column});
    s_.annotate(part.inner, LoopKind::unrolled);
    unroll(sums);
    if (product == stored)
      s_.cache_write(product, thread);
    else
      unroll(strip);
    return part.outer;
  }

  /// The second product, and the loops of the launch.
  void mix() {
    const std::vector<LoopId> loops = s_.loops(a_.output);
    const auto row = static_cast<std::size_t>(a_.row), column = static_cast<std::size_t>(a_.column);
    const auto block = s_.split(loops[row], share_.queries, Tail::guard);
    const auto rows = s_.split(block.inner, share_.rows, Tail::guard);
    const auto columns = s_.split(loops[column], f_.strip, Tail::guard);
    std::vector<LoopId> blocks;
    for (std::size_t k = 0; k < s_.tree().dag.op(a_.output).shape.size(); ++k)
      if (k != row && k != column) blocks.push_back(loops[k]);
    blocks.push_back(block.outer);
    std::vector<LoopId> order = blocks;
    for (LoopId loop : {rows.outer, columns.outer}) order.push_back(loop);
    if (a_.output == a_.mix) order.push_back(loops.back());
    for (LoopId loop : {rows.inner, columns.inner}) order.push_back(loop);
    s_.reorder(order);
    block_ = s_.fuse(blocks);
    s_.bind(block_, LoopKind::block);
    if (share_.min_blocks > 0) s_.min_blocks(block_, share_.min_blocks);
    s_.bind(rows.outer, LoopKind::thread), s_.bind(columns.outer, LoopKind::thread);
    keys_ = sum(a_.mix, a_.output, columns.outer, loops.back(), {rows.inner, columns.inner}, share_.depth);
    copy(f_.values, keys_, share_.depth, a_.width);
  }

  void weights() {
    const std::vector<LoopId> loops = s_.compute_at(a_.weights, block_, StoredIn::block);
    const auto [row, key] = last_two(loops, a_.weights);
    copy_tile(s_, row, key, tile_copy(share_.queries, a_.keys_count, 1, threads_));
    pad(a_.weights);
  }

  void add_up(OpId op) { add_up_rows(s_, f_, op, block_, share_.queries, threads_); }

  void scores() {
    const std::vector<LoopId> loops = s_.compute_at(a_.masked, block_, StoredIn::block);
    const auto [row, key] = last_two(loops, a_.masked);
    const auto rows = s_.split(row, share_.score_rows, Tail::guard);
    const auto strips = s_.split(key, score_strip(f_, share_), Tail::guard);
    const auto keys = s_.split(strips.inner, std::min(share_.score_keys, a_.keys_count), Tail::guard);
    std::vector<LoopId> order{strips.outer, rows.outer, keys.outer};
    if (a_.masked == a_.scores) order.push_back(loops.back());
    for (LoopId loop : {rows.inner, keys.inner}) order.push_back(loop);
    s_.reorder(order);
    const std::int64_t steps = std::min(kDepthSteps, a_.depth);
    sum(a_.scores, a_.masked, keys.outer, loops.back(), {rows.inner, keys.inner}, steps);
    s_.bind(rows.outer, LoopKind::thread), s_.bind(keys.outer, LoopKind::thread);
    pad(a_.masked);
  }

  Scheduler& s_;
  const GpuAttention& f_;
  const AttentionForm& a_;
  const AttentionShare share_;
  const std::int64_t threads_;
  LoopId block_, keys_;
};

Objection share_fits(const GpuAttention& form, const AttentionShare& share, const GpuLimits& limits) {
  const std::int64_t threads = (share.threads(form) + kWarp - 1) / kWarp * kWarp;
  if (const Objection wrong = threads_fit(threads, kMostAttentionThreads)) return wrong;
  if (const Objection wrong = blocks_fit(share.min_blocks, threads, limits)) return wrong;
  const std::int64_t sums = std::max(share.rows * form.strip, share.score_rows * share.score_keys);
  if (const Objection wrong = body_bounded(std::max(share.rows * form.strip * share.depth, sums * kDepthSteps)))
    return wrong;
  if (share.queries < share.rows || share.queries < share.score_rows)
    return "a thread's tile has more queries than the block";
  if (share.depth > form.ops.keys_count)
    return fmt::format("values of {} keys would be copied together; a part has {}", share.depth, form.ops.keys_count);
  return registers_fit(tile_registers(sums), threads, limits, share.min_blocks);
}

Objection scores_fit(const GpuAttention& form, const AttentionShare& share, const GpuLimits& limits) {
  const std::int64_t row = form.ops.keys_count + form.pad;
  const std::int64_t elements = share.queries * (2 * row + form.ops.depth + 2) +
                                (share.keys > 0 ? form.ops.depth * (copied_keys(form, share) + form.pad) : 0) +
                                share.stages * share.depth * form.ops.width;
  return memory_fits(elements * 4, limits);
}

std::vector<Choice> at_most(const std::vector<std::int64_t>& sizes, std::int64_t most) {
  std::vector<std::int64_t> kept;
  for (const std::int64_t size : sizes)
    if (size <= most) kept.push_back(size);
  return single(kept);
}

/// The largest depth that fits a part of `part` keys. A part of 0 keys has all of them, and the largest depth of all fits.
Choice depth_within(const std::vector<Choice>& depths, std::int64_t part) {
  Choice most = depths.front();
  for (const Choice& depth : depths)
    if (part == 0 || depth[0] <= part) most = depth;
  return most;
}

std::vector<Choices> attention_starts(const Sketch& sketch) {
  std::vector<Choices> starts;
  const std::vector<Choice>& parts = sketch.decisions[8].options;
  // Every second size of a part; the others are tried when all else is chosen.
  for (std::size_t k = 0; k < parts.size(); k += k == 0 ? 1 : 2)
    for (const Choice& queries : sketch.decisions[0].options)
      for (const std::int64_t rows : {1, 2, 4})
        for (const std::int64_t keys : {1, 0})
          starts.push_back({{"queries", queries},
                            {"score_rows", {4}},
                            {"score_keys", {4}},
                            {"rows", {rows}},
                            {"depth", depth_within(sketch.decisions[4].options, parts[k][0])},
                            {"stages", {2}},
                            {"keys", {keys}},
                            {"min_blocks", {0}},
                            {"part", parts[k]}});
  return starts;
}

}  // namespace

std::optional<Sketch> gpu_attention_sketch(const ComputeDag& dag, const Target& target) {
  const auto forms = std::make_shared<const GpuAttentions>(find_gpu_attentions(dag));
  if (!forms->contains(0)) return std::nullopt;
  const GpuAttention& form = forms->at(0);
  if (form.ops.rows < kFewestAttentionRows || form.ops.keys_count < kFewestAttentionRows) return std::nullopt;
  std::vector<std::int64_t> parts;
  for (const auto& [part, of_parts] : *forms) parts.push_back(part);
  const GpuLimits limits = limits_of(target.gpu());
  Sketch sketch;
  sketch.name = "attention";
  sketch.decisions = {
      {"queries", "queries of a block, whose scores are in its memory", at_most({8, 16, 32, 64}, form.ops.rows), 0},
      {"score_rows", "queries of a thread's tile of scores", single({1, 2, 4}), 0},
      {"score_keys", "keys of that tile", single({1, 2, 4}), 0},
      {"rows", "queries of a thread's tile of results", single({1, 2, 4, 8}), 0},
      {"depth", "keys whose values are copied together", at_most({8, 16, 32}, form.ops.keys_count), 0},
      {"stages", "copies of values under way at once, and the one that is read", single({1, 2, 3}), 0},
      {"keys", "1: all keys of a head are copied into block memory; 0: they are read where they are", single({0, 1}),
       0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
      {"part", "keys of a part, each with a maximum and a sum of its own, which a second launch adds up; 0: all keys",
       single(parts), 0},
  };
  sketch.constraints = {
      {{"queries", "score_rows", "score_keys", "rows", "depth", "min_blocks", "part"},
       [forms, limits](const Choices& c) { return share_fits(forms->at(part_of(c)), attention_share(c), limits); }},
      {{"queries", "score_rows", "score_keys", "rows", "depth", "stages", "keys", "part"},
       [forms, limits](const Choices& c) { return scores_fit(forms->at(part_of(c)), attention_share(c), limits); }},
  };
  sketch.build = [forms](Scheduler& s, const Choices& c) {
    GpuAttentionBuilder(s, forms->at(part_of(c)), attention_share(c)).run();
  };
  sketch.preferred = preferred_choices(sketch, dag, target, attention_starts(sketch),
                                       {"score_rows", "score_keys", "depth", "stages", "part"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
