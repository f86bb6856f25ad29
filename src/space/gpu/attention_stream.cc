#include "space/gpu/attention_stream.h"

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

constexpr std::int64_t kMostStreamThreads = 256;
constexpr std::int64_t kMostStreamIntrinsics = 64;  ///< of an unrolled part of one product
constexpr std::int64_t kStepUnit = 16;              ///< keys of a step are a multiple of the terms of every intrinsic

using StreamAttentions = std::map<std::int64_t, StreamAttention>;

/// Keys of a step: those that compute few behind the last key, or the ones that compute fewest.
std::vector<std::int64_t> key_steps(std::int64_t keys) {
  std::vector<std::int64_t> steps;
  std::int64_t least = 0;
  for (std::int64_t step = kStepUnit; step <= std::min<std::int64_t>(keys, 128); step += kStepUnit) {
    const std::int64_t behind = round_up(keys, step) - keys;
    if (4 * behind <= keys) steps.push_back(step);
    if (least == 0 || behind < round_up(keys, least) - keys) least = step;
  }
  if (steps.empty() && least > 0) steps.push_back(least);
  return steps;
}

std::optional<StreamAttention> find_stream(const ComputeDag& dag, const AttentionForm& found, std::int64_t step,
                                           bool keys_by_row) {
  Scheduler s(dag);
  const OnlineSoftmaxOps online = s.online_softmax(found.mix, step);
  if (!s.finish().ok()) return std::nullopt;
  const auto now = [&](OpId op) { return id_behind_softmax(found, online.product, op); };
  StreamAttention form{.ops = found, .queries = {}, .keys = {}, .values = {}, .start = {}, .keys_by_row = keys_by_row};
  AttentionForm& a = form.ops;
  std::vector<OpId> inlined = inlined_ops(dag, found);
  for (OpId& op : inlined) op = now(op);
  if (found.masked != found.scores) inlined.push_back(now(found.masked));
  inlined.push_back(online.values);
  a.scores = now(found.scores), a.output = now(found.output);
  if (a.output != online.product) inlined.push_back(online.product);
  a.masked = online.scores, a.top = online.top, a.weights = online.exp, a.sum = online.sum, a.mix = online.mix;
  std::vector<OpId*> followed;
  for (OpId& op : inlined) followed.push_back(&op);
  const OperandCopies copies = unfold_operands(s, a, keys_by_row, followed);
  form.queries = copies.queries, form.keys = copies.keys, form.values = copies.values;
  if (!s.finish().ok()) return std::nullopt;
  inline_each(s, std::move(inlined));
  if (!s.finish().ok()) return std::nullopt;
  form.start = std::make_shared<const Scheduler>(std::move(s));
  return form;
}

/// Of an unrolled part of a product. Operands of f32 are read word by word, and rounded.
std::int64_t most_intrinsics(const StreamAttention& form, const WarpShare& share, OpId operand,
                             std::int64_t of_halves) {
  const bool words = size_of(form.start->tree().dag.op(operand).dtype) == 4;
  return words ? kMostStreamIntrinsics * 8 / step_of(share.intrinsic) : of_halves;
}

std::int64_t score_terms(const StreamAttention& form, const WarpShare& share) {
  return unrolled_terms(share, form.ops.depth, share.keys,
                        most_intrinsics(form, share, form.keys, kMostStreamIntrinsics));
}

/// Everything that a block has in its memory.
struct StreamTiles {
  OperandTile queries, keys, values;

  StreamTiles(const StreamAttention& form, const WarpShare& share) {
    const auto bytes = [&](OpId op) { return size_of(form.start->tree().dag.op(op).dtype); };
    const std::int64_t depth = share.terms_read(form.ops.depth, score_terms(form, share));
    queries = left_tile(share.intrinsic, share.queries(), depth, bytes(form.queries));
    keys = keys_tile(share, form.keys_by_row, share.keys, depth, bytes(form.keys));
    values = right_tile(share.intrinsic, share.keys, round_up(form.ops.width, kMmaColumns), bytes(form.values));
  }
  std::int64_t bytes(std::int64_t stages) const { return queries.bytes() + stages * (keys.bytes() + values.bytes()); }
};

class StreamBuilder {
 public:
  StreamBuilder(Scheduler& s, const StreamAttention& form, const WarpShare& share)
      : s_(s), f_(form), a_(form.ops), share_(share), tiles_(form, share) {}

  void run() {
    s_ = *f_.start;
    const LoopId warps = results();
    const LoopId steps =
        sum_by_warps(s_, {a_.mix, share_.intrinsic, share_.keys}, s_.compute_at(a_.mix, warps, StoredIn::registers));
    fill(f_.values, steps, tiles_.values, true);
    s_.online(a_.mix, steps);
    for (OpId op : {a_.top, a_.weights, a_.sum}) elements(s_.loops(op));
    elements(s_.compute_at(a_.masked, steps, StoredIn::registers));
    sum_by_warps(s_, {a_.scores, share_.intrinsic, std::min(score_terms(f_, share_), a_.depth)},
                 s_.compute_at(a_.scores, steps, StoredIn::registers));
    fill(f_.queries, block_, tiles_.queries, false);
    fill(f_.keys, steps, tiles_.keys, !f_.keys_by_row);
    if (share_.stages > 1) s_.pipeline(steps, share_.stages);
  }

 private:
  /// The loops of the launch, and those of a warp's results. Gives the loop of warps.
  LoopId results() {
    const std::vector<LoopId> loops = s_.loops(a_.output);
    const QueryLoops queries = cut_queries(s_, a_, share_);
    const LoopId columns = loops[static_cast<std::size_t>(a_.column)];
    bind_queries(s_, a_, share_, loops, queries, {queries.inside, columns});
    block_ = queries.blocks;
    unroll_tiles(s_, queries.inside, columns);
    return queries.warps;
  }

  /// What a warp computes of a step's scores.
  void elements(const std::vector<LoopId>& loops) {
    if (s_.finish().ok()) unroll_tiles(s_, loops[loops.size() - 2], loops.back());
  }

  /// Of a copy (heads, row, depth), or where `turned` (depth or key, heads, column).
  void fill(OpId op, LoopId at, const OperandTile& tile, bool turned) {
    const std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    fill_operand(s_, op, turned ? loops.front() : loops[loops.size() - 2], loops.back(), tile, share_.threads());
  }

  Scheduler& s_;
  const StreamAttention& f_;
  const AttentionForm& a_;
  const WarpShare share_;
  const StreamTiles tiles_;
  LoopId block_;
};

Objection stream_fits(const StreamAttention& form, const WarpShare& share, const GpuLimits& limits) {
  if (const Objection wrong = warps_fit(form.ops, share, kMostStreamThreads, limits)) return wrong;
  const std::int64_t width = form.ops.width;
  const std::int64_t registers = mma_registers(share.sums(share.keys) + share.sums(width), share.operands(width));
  if (const Objection wrong = registers_fit(registers, share.threads(), limits, share.min_blocks)) return wrong;
  return intrinsics_bounded(share.intrinsics(width, share.keys),
                            most_intrinsics(form, share, form.values, 2 * kMostStreamIntrinsics));
}

std::vector<Choices> stream_starts(const Sketch& sketch) {
  std::vector<Choices> starts;
  for (const Choice& queries : sketch.decisions[0].options)
    for (const Choice& keys : sketch.decisions[1].options)
      starts.push_back({{"queries", queries}, {"keys", keys}, {"stages", {2}}, {"min_blocks", {0}}});
  return starts;
}

std::optional<Sketch> stream_sketch(const char* name, Intrinsic intrinsic, const ComputeDag& dag,
                                    const Target& target) {
  const auto forms = std::make_shared<const StreamAttentions>(find_stream_attentions(dag));
  if (forms->empty()) return std::nullopt;
  const AttentionForm& whole = forms->begin()->second.ops;
  if (whole.rows < kMmaRows || whole.depth < step_of(intrinsic) || whole.width < kMmaColumns) return std::nullopt;
  std::vector<std::int64_t> steps;
  for (const auto& [step, form] : *forms) steps.push_back(step);
  const GpuLimits limits = limits_of(target.gpu());
  Sketch sketch;
  sketch.name = name;
  sketch.decisions = {
      {"queries", "queries of a block: warps, and queries of each",
       query_cuts(whole.rows, {16, 32}, kMostStreamThreads), 0},
      {"keys", "keys of a step, which are copied with their values", single(steps), 0},
      {"stages", "copies of keys and values under way at once, and those that are read", single({1, 2, 3}), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
  };
  const auto share = [intrinsic](const Choices& c) { return share_of(intrinsic, c); };
  sketch.constraints = {
      {{"queries", "keys", "min_blocks"},
       [=](const Choices& c) { return stream_fits(forms->at(c.at("keys")[0]), share(c), limits); }},
      {{"queries", "keys", "stages"},
       [=](const Choices& c) {
         const WarpShare s = share(c);
         return memory_fits(StreamTiles(forms->at(s.keys), s).bytes(s.stages), limits);
       }},
  };
  sketch.build = [=](Scheduler& s, const Choices& c) { StreamBuilder(s, forms->at(c.at("keys")[0]), share(c)).run(); };
  sketch.preferred = preferred_choices(sketch, dag, target, stream_starts(sketch), {"stages", "min_blocks", "keys"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace

StreamAttentions find_stream_attentions(const ComputeDag& dag) {
  StreamAttentions forms;
  const std::optional<AttentionForm> found = find_attention(dag);
  if (!found) return forms;
  for (const std::int64_t step : key_steps(found->keys_count)) {
    std::optional<StreamAttention> form = find_stream(dag, *found, step, false);
    if (form && reads_along(form->start->tree().dag.op(form->keys).element(), 0))
      form = find_stream(dag, *found, step, true);
    if (form) forms.emplace(step, *std::move(form));
  }
  return forms;
}

std::optional<Sketch> attention_stream_sketch(const ComputeDag& dag, const Target& target, Precision precision) {
  const std::optional<Intrinsic> intrinsic = mma_of(precision);
  if (!intrinsic || !limits_of(target.gpu()).mma || mma_of_halves(dag)) return std::nullopt;
  return stream_sketch("attention_stream", *intrinsic, dag, target);
}

std::optional<Sketch> half_attention_stream_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Intrinsic> intrinsic = mma_of_halves(dag);
  if (!limits_of(target.gpu()).mma || !intrinsic) return std::nullopt;
  return stream_sketch("attention_stream_half", *intrinsic, dag, target);
}

}  // namespace whet
