#include "space/gpu/attention_mma.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "space/gpu/attention_launch.h"
#include "space/gpu/attention_warps.h"
#include "space/gpu/levels.h"
#include "space/gpu/limits.h"
#include "space/gpu/mma_tile.h"
#include "space/gpu/preferred.h"

namespace whet {
namespace {

constexpr std::int64_t kMostWarpThreads = 512;
constexpr std::int64_t kMostWarpIntrinsics = 64;  ///< of an unrolled step of a warp
constexpr std::int64_t kWeightLanes = 4;          ///< weights that a thread computes at once
constexpr std::int64_t kWeightRows = 4;           ///< and rows of them that are unrolled

std::int64_t score_terms(const GpuAttention& form, const WarpShare& share) {
  return unrolled_terms(share, form.ops.depth, form.ops.keys_count, kMostWarpIntrinsics);
}

/// Everything that a block has in its memory.
struct AttentionTiles {
  OperandTile queries, keys, scores, weights, values;

  AttentionTiles(const GpuAttention& form, const WarpShare& share) {
    const auto bytes = [&](OpId op) { return size_of(form.start->tree().dag.op(op).dtype); };
    const AttentionForm& a = form.ops;
    const std::int64_t depth = share.terms_read(a.depth, score_terms(form, share));
    queries = left_tile(share.intrinsic, share.queries(), depth, bytes(form.queries));
    keys = keys_tile(share, form.keys_by_row, share.of_warps(a.keys_count), depth, bytes(form.keys));
    scores = {share.queries(), a.keys_count, form.pad, bytes(a.masked)};
    weights = left_tile(share.intrinsic, share.queries(), share.terms_read(a.keys_count, share.keys), bytes(a.weights));
    values = right_tile(share.intrinsic, std::min(share.keys, weights.columns), share.of_warps(form.columns),
                        bytes(form.values));
  }
  std::int64_t bytes(std::int64_t stages) const {
    return queries.bytes() + keys.bytes() + scores.bytes() + weights.bytes() + stages * values.bytes() +
           2 * queries.rows * 4;
  }
};

class AttentionMmaBuilder {
 public:
  AttentionMmaBuilder(Scheduler& s, const GpuAttention& form, const WarpShare& share)
      : s_(s), f_(form), a_(form.ops), share_(share), tiles_(form, share) {}

  void run() {
    s_ = *f_.start;
    if (f_.parts) add_attention_parts(s_, f_);
    const LoopId keys = mix();
    if (f_.parts) add_up_rows(s_, f_, a_.sum, block_, share_.queries(), share_.threads());
    weights();
    if (!f_.parts) add_up_rows(s_, f_, a_.sum, block_, share_.queries(), share_.threads());
    add_up_rows(s_, f_, a_.top, block_, share_.queries(), share_.threads());
    scores();
    fill_rows(f_.queries, tiles_.queries);
    f_.keys_by_row ? fill_rows(f_.keys, tiles_.keys) : fill(f_.keys, block_, tiles_.keys);
    if (share_.stages > 1) s_.pipeline(keys, share_.stages);
  }

 private:
  /// Rows and columns of what a warp has.
  struct Inside {
    LoopId row, column;
  };

  /// The sums of a product are registers of `warps`. `stored` of their tile is the product itself, or what is computed of it. Gives the
  /// loop over steps of `terms`.
  LoopId sum(OpId product, OpId stored, LoopId warps, const Inside& inside, std::int64_t terms) {
    const WarpSum sum{product, share_.intrinsic, terms};
    if (product == stored)
      return sum_by_warps(s_, sum, {inside.row, inside.column, reduce_loops(s_, product).back()}, warps);
    unroll_tiles(s_, inside.row, inside.column);
    return sum_by_warps(s_, sum, s_.compute_at(product, warps, StoredIn::registers));
  }

  /// The second product, and the loops of the launch. Gives the loop over keys.
  LoopId mix() {
    const std::vector<LoopId> loops = s_.loops(a_.output);
    const QueryLoops queries = cut_queries(s_, a_, share_);
    const auto columns = s_.split(loops[static_cast<std::size_t>(a_.column)],
                                  std::min(share_.of_warp(f_.columns), f_.columns), Tail::guard);
    std::vector<LoopId> inside{columns.outer};
    if (a_.output == a_.mix) inside.push_back(loops.back());
    inside.push_back(queries.inside), inside.push_back(columns.inner);
    bind_queries(s_, a_, share_, loops, queries, inside);
    s_.bind(columns.outer, LoopKind::warp);
    block_ = queries.blocks;
    const LoopId keys =
        sum(a_.mix, a_.output, columns.outer, {queries.inside, columns.inner}, std::min(share_.keys, a_.keys_count));
    fill(f_.values, keys, tiles_.values);
    return keys;
  }

  void weights() {
    const OperandTile& tile = tiles_.weights;
    const std::vector<LoopId> loops = s_.compute_at(a_.weights, block_, StoredIn::block);
    const TileCopy copy = whole_copy(tile, kWeightLanes, share_.threads());
    copy_tile(s_, loops[loops.size() - 2], loops.back(), copy, largest_divisor(tile.rows / copy.down, kWeightRows));
    pad(a_.weights, tile);
  }

  void scores() {
    const std::vector<LoopId> loops = s_.compute_at(a_.masked, block_, StoredIn::block);
    const std::size_t row = s_.tree().dag.op(a_.masked).shape.size() - 2;
    const auto rows = s_.split(loops[row], share_.warp_rows, Tail::guard);
    const auto keys = s_.split(loops[row + 1], std::min(share_.of_warp(a_.keys_count), a_.keys_count), Tail::guard);
    std::vector<LoopId> order{rows.outer, keys.outer};
    order.insert(order.end(), loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(row));
    if (a_.masked == a_.scores) order.push_back(loops.back());
    for (LoopId loop : {rows.inner, keys.inner}) order.push_back(loop);
    s_.reorder(order);
    s_.bind(rows.outer, LoopKind::warp), s_.bind(keys.outer, LoopKind::warp);
    sum(a_.scores, a_.masked, keys.outer, {rows.inner, keys.inner}, std::min(score_terms(f_, share_), a_.depth));
    pad(a_.masked, tiles_.scores);
  }

  /// A right operand as the scores and the results have it: (depth or key, heads, column).
  void fill(OpId op, LoopId at, const OperandTile& tile) {
    const std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    fill(op, loops.front(), loops.back(), tile);
  }
  /// (heads, row, depth)
  void fill_rows(OpId op, const OperandTile& tile) {
    const std::vector<LoopId> loops = s_.compute_at(op, block_, StoredIn::block);
    fill(op, loops[loops.size() - 2], loops.back(), tile);
  }
  void fill(OpId op, LoopId rows, LoopId columns, const OperandTile& tile) {
    fill_operand(s_, op, rows, columns, tile, share_.threads());
  }

  void pad(OpId op, const OperandTile& tile) {
    if (tile.pad > 0) s_.pad_storage(op, tile.pad);
  }

  Scheduler& s_;
  const GpuAttention& f_;
  const AttentionForm& a_;
  const WarpShare share_;
  const AttentionTiles tiles_;
  LoopId block_;
};

Objection share_fits(const GpuAttention& form, const WarpShare& share, const GpuLimits& limits) {
  if (const Objection wrong = warps_fit(form.ops, share, kMostWarpThreads, limits)) return wrong;
  const std::int64_t keys = form.ops.keys_count, columns = form.columns;
  if (form.parts && share.of_warp(columns) >= form.ops.width)
    return "a warp would have all results of a part, whose sum and maximum are beside them";
  for (std::int64_t extent : {keys, columns}) {
    if (const Objection wrong = waste_bounded(round_up(extent, kMmaColumns), share.of_warps(extent))) return wrong;
    const std::int64_t registers = mma_registers(share.sums(extent), share.operands(extent));
    if (const Objection wrong = registers_fit(registers, share.threads(), limits, share.min_blocks)) return wrong;
  }
  if (const Objection wrong = intrinsics_bounded(share.intrinsics(columns, share.keys), kMostWarpIntrinsics))
    return wrong;
  return intrinsics_bounded(share.intrinsics(keys, score_terms(form, share)), kMostWarpIntrinsics);
}

std::vector<std::int64_t> value_depths(std::int64_t keys, Intrinsic intrinsic) {
  std::vector<std::int64_t> depths{16, 32, 64};
  std::erase_if(
      depths, [&](std::int64_t depth) { return depth > round_up(keys, kMmaRows) || depth % step_of(intrinsic) != 0; });
  return depths;
}

std::vector<Choices> starts_of(const Sketch& sketch) {
  std::vector<Choices> starts;
  for (const Choice& queries : sketch.decisions[0].options)
    for (const Choice& columns : sketch.decisions[1].options)
      for (const Choice& part : sketch.decisions[5].options)
        starts.push_back({{"queries", queries},
                          {"columns", columns},
                          {"depth", sketch.decisions[2].options.front()},
                          {"stages", {2}},
                          {"min_blocks", {0}},
                          {"part", part}});
  return starts;
}

std::optional<Sketch> sketch_of(const char* name, const std::shared_ptr<const GpuAttentions>& forms,
                                Intrinsic intrinsic, const ComputeDag& dag, const Target& target) {
  const AttentionForm& whole = forms->at(0).ops;
  if (std::min(whole.rows, whole.keys_count) < kMmaRows || whole.depth < step_of(intrinsic) ||
      whole.width < kMmaColumns)
    return std::nullopt;
  std::vector<std::int64_t> parts;
  for (const auto& [part, of_parts] : *forms) parts.push_back(part);
  const GpuLimits limits = limits_of(target.gpu());
  Sketch sketch;
  sketch.name = name;
  sketch.decisions = {
      {"queries", "queries of a block: warps, and queries of each", query_cuts(whole.rows, {16, 32, 64}, 128), 0},
      {"columns", "warps that share the keys and the results of a row", single({1, 2, 4, 8}), 0},
      {"depth", "keys whose values are copied together", single(value_depths(whole.keys_count, intrinsic)), 0},
      {"stages", "copies of values under way at once, and the one that is read", single({1, 2, 3}), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
      {"part", "keys of a part, each with a maximum and a sum of its own, which a second launch adds up; 0: all keys",
       single(parts), 0},
  };
  const auto share = [intrinsic](const Choices& c) { return share_of(intrinsic, c); };
  sketch.constraints = {
      {{"queries", "columns", "depth", "min_blocks", "part"},
       [=](const Choices& c) { return share_fits(forms->at(part_of(c)), share(c), limits); }},
      {{"queries", "columns", "depth", "stages", "part"},
       [=](const Choices& c) {
         const WarpShare s = share(c);
         return memory_fits(AttentionTiles(forms->at(part_of(c)), s).bytes(s.stages), limits);
       }},
  };
  sketch.build = [=](Scheduler& s, const Choices& c) { AttentionMmaBuilder(s, forms->at(part_of(c)), share(c)).run(); };
  sketch.preferred = preferred_choices(sketch, dag, target, starts_of(sketch), {"depth", "stages", "part", "depth"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace

std::optional<Sketch> attention_mma_sketch(const ComputeDag& dag, const Target& target, Precision precision) {
  const std::optional<Intrinsic> intrinsic = mma_of(precision);
  if (!intrinsic || !limits_of(target.gpu()).mma || mma_of_halves(dag)) return std::nullopt;
  const auto forms = std::make_shared<const GpuAttentions>(find_gpu_attentions(dag, true));
  if (!forms->contains(0)) return std::nullopt;
  return sketch_of("attention_mma", forms, *intrinsic, dag, target);
}

std::optional<Sketch> attention_half_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Intrinsic> intrinsic = mma_of_halves(dag);
  if (!limits_of(target.gpu()).mma || !intrinsic) return std::nullopt;
  const auto forms = std::make_shared<const GpuAttentions>(find_gpu_attentions(dag, true));
  if (!forms->contains(0)) return std::nullopt;
  return sketch_of("attention_half", forms, *intrinsic, dag, target);
}

}  // namespace whet
