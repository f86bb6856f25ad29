#include "space/gpu/attention_stream.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "compute/round.h"
#include "space/gpu/attention_tiles.h"
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

/// Whether neighbours along the op's first axis are read from neighbouring places.
bool reads_along_first(const Element& element) {
  bool along = false;
  for_each(element.body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    along = along || (load && !load->index.empty() && uses(load->index.back(), VarId(0)));
  });
  return along;
}

std::optional<StreamAttention> find_stream(const ComputeDag& dag, const AttentionForm& found, std::int64_t step,
                                           bool keys_by_row) {
  Scheduler s(dag);
  const OnlineSoftmaxOps online = s.online_softmax(found.mix, step);
  if (!s.finish().ok()) return std::nullopt;
  const std::vector<OpId> gone = {found.top, found.exp, found.sum, found.weights};
  const auto now = [&](OpId op) {
    if (op == found.mix) return online.product;
    if (op > found.mix) return OpId(op.value + online.product.value - found.mix.value);
    return OpId(op.value - std::count_if(gone.begin(), gone.end(), [&](OpId g) { return g < op; }));
  };
  StreamAttention form{.ops = found, .queries = {}, .keys = {}, .values = {}, .start = {}, .keys_by_row = keys_by_row};
  AttentionForm& a = form.ops;
  std::vector<OpId> inlined;
  for (OpId op : found.inlined) inlined.push_back(now(op));
  for (OpId operand :
       {inputs_of(dag, found.scores)[0], inputs_of(dag, found.scores)[1], inputs_of(dag, found.mix)[1]})
    if (!dag.op(operand).is_placeholder()) inlined.push_back(now(operand));
  if (found.masked != found.scores) inlined.push_back(now(found.masked));
  inlined.push_back(online.values);
  a.scores = now(found.scores), a.output = now(found.output);
  if (a.output != online.product) inlined.push_back(online.product);
  a.masked = online.scores, a.top = online.top, a.weights = online.exp, a.sum = online.sum, a.mix = online.mix;

  OpId query = inputs_of(s.tree().dag, a.scores)[0], key = inputs_of(s.tree().dag, a.scores)[1];
  OpId value = inputs_of(s.tree().dag, a.mix)[1];
  std::vector<OpId*> followed{&a.scores, &a.masked, &a.top, &a.weights, &a.sum,         &a.mix,
                              &a.output, &query,    &key,   &value,     &form.queries, &form.keys};
  for (OpId& op : inlined) followed.push_back(&op);
  const auto unfold = [&](OpId operand, OpId reader, UnfoldOrder order) {
    const OpId copy = s.unfold(operand, reader, order);
    for (OpId* op : followed)
      if (op->valid() && *op >= copy) *op = OpId(op->value + 1);
    return copy;
  };
  form.queries = unfold(query, a.scores, UnfoldOrder::spatial_first);
  form.keys = unfold(key, a.scores, keys_by_row ? UnfoldOrder::spatial_first : UnfoldOrder::turned);
  form.values = unfold(value, a.mix, UnfoldOrder::turned);
  if (!s.finish().ok()) return std::nullopt;
  std::sort(inlined.begin(), inlined.end());
  inlined.erase(std::unique(inlined.begin(), inlined.end()), inlined.end());
  for (OpId op : inlined) s.inline_op(op);
  if (!s.finish().ok()) return std::nullopt;
  form.start = std::make_shared<const Scheduler>(std::move(s));
  return form;
}

/// What a block's warps share.
struct StreamShare {
  Intrinsic intrinsic = Intrinsic::mma_tf32;
  std::int64_t warps = 1, warp_rows = kMmaRows, keys = kStepUnit, stages = 1, min_blocks = 0;

  std::int64_t queries() const { return warps * warp_rows; }
  std::int64_t threads() const { return warps * kWarp; }
  /// The intrinsics that a warp runs for `terms` terms of each of `columns` columns.
  std::int64_t intrinsics(std::int64_t columns, std::int64_t terms) const {
    return warp_rows / kMmaRows * (round_up(columns, kMmaColumns) / kMmaColumns) * (terms / step_of(intrinsic));
  }
  std::int64_t sums(std::int64_t columns) const { return warp_rows * round_up(columns, kMmaColumns) / kWarp; }
  std::int64_t operands(std::int64_t columns) const {
    return warp_rows / kMmaRows * 4 + round_up(columns, kMmaColumns) / kMmaColumns * 2;
  }
};

StreamShare stream_share(Intrinsic intrinsic, const Choices& c) {
  StreamShare share{.intrinsic = intrinsic};
  const auto take = [&](const char* name, std::size_t at, std::int64_t& value) {
    if (const auto found = c.find(name); found != c.end() && at < found->second.size()) value = found->second[at];
  };
  take("queries", 0, share.warps), take("queries", 1, share.warp_rows);
  take("keys", 0, share.keys), take("stages", 0, share.stages), take("min_blocks", 0, share.min_blocks);
  return share;
}

/// Terms of the scores' sum that are unrolled.
std::int64_t unrolled_terms(const StreamAttention& form, const StreamShare& share) {
  const std::int64_t step = step_of(share.intrinsic);
  std::int64_t terms = round_up(form.ops.depth, step);
  const bool words = size_of(form.start->tree().dag.op(form.keys).dtype) == 4;
  const std::int64_t most = words ? kMostStreamIntrinsics * 8 / step : kMostStreamIntrinsics;
  while (terms > step && share.intrinsics(share.keys, terms) > most) terms = round_up(terms / 2, step);
  return terms;
}

/// Everything that a block has in its memory.
struct StreamTiles {
  OperandTile queries, keys, values;

  StreamTiles(const StreamAttention& form, const StreamShare& share) {
    const auto bytes = [&](OpId op) { return size_of(form.start->tree().dag.op(op).dtype); };
    const std::int64_t unrolled = unrolled_terms(form, share);
    const std::int64_t depth =
        round_up(form.ops.depth, unrolled < form.ops.depth ? unrolled : step_of(share.intrinsic));
    queries = left_tile(share.intrinsic, share.queries(), depth, bytes(form.queries));
    keys = form.keys_by_row ? left_tile(share.intrinsic, share.keys, depth, bytes(form.keys))
                            : right_tile(share.intrinsic, depth, share.keys, bytes(form.keys));
    values = right_tile(share.intrinsic, share.keys, round_up(form.ops.width, kMmaColumns), bytes(form.values));
  }
  std::int64_t bytes(std::int64_t stages) const { return queries.bytes() + stages * (keys.bytes() + values.bytes()); }
};

class StreamBuilder {
 public:
  StreamBuilder(Scheduler& s, const StreamAttention& form, const StreamShare& share)
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
    sum_by_warps(s_, {a_.scores, share_.intrinsic, std::min(unrolled_terms(f_, share_), a_.depth)},
                 s_.compute_at(a_.scores, steps, StoredIn::registers));
    fill(f_.queries, block_, tiles_.queries, false);
    fill(f_.keys, steps, tiles_.keys, !f_.keys_by_row);
    if (share_.stages > 1) s_.pipeline(steps, share_.stages);
  }

 private:
  /// The loops of the launch, and those of a warp's results. Gives the loop of warps.
  LoopId results() {
    const std::vector<LoopId> loops = s_.loops(a_.output);
    const auto row = static_cast<std::size_t>(a_.row), column = static_cast<std::size_t>(a_.column);
    const auto block = s_.split(loops[row], share_.queries(), Tail::guard);
    const auto rows = s_.split(block.inner, share_.warp_rows, Tail::guard);
    std::vector<LoopId> heads;
    for (std::size_t k = 0; k < s_.tree().dag.op(a_.output).shape.size(); ++k)
      if (k != row && k != column) heads.push_back(loops[k]);
    std::vector<LoopId> order = heads;
    for (LoopId loop : {block.outer, rows.outer, rows.inner, loops[column]}) order.push_back(loop);
    s_.reorder(order);
    if (heads.size() > 1) heads = {s_.fuse(heads)};
    for (LoopId loop : heads) s_.bind(loop, LoopKind::block);
    block_ = block.outer;
    s_.bind(block_, LoopKind::block);
    if (share_.min_blocks > 0) s_.min_blocks(heads.empty() ? block_ : heads.front(), share_.min_blocks);
    s_.bind(rows.outer, LoopKind::warp);
    const auto columns = s_.split(loops[column], kMmaColumns, Tail::guard);
    s_.annotate(rows.inner, LoopKind::unrolled);
    s_.annotate(columns.outer, LoopKind::unrolled);
    s_.annotate(columns.inner, LoopKind::vectorized);
    return rows.outer;
  }

  /// What a warp computes of a step's scores: rows, and columns in the pairs that lanes have.
  void elements(const std::vector<LoopId>& loops) {
    if (!s_.finish().ok()) return;
    const LoopId row = loops[loops.size() - 2], column = loops.back();
    const bool reduces = is_reduce(s_.tree(), column);
    const auto columns = s_.split(column, kMmaColumns, Tail::guard);
    s_.annotate(row, LoopKind::unrolled);
    s_.annotate(columns.outer, LoopKind::unrolled);
    s_.annotate(columns.inner, reduces ? LoopKind::unrolled : LoopKind::vectorized);
  }

  /// Of a copy (heads, row, depth), or where `turned` (depth or key, heads, column).
  void fill(OpId op, LoopId at, const OperandTile& tile, bool turned) {
    const std::vector<LoopId> loops = s_.compute_at(op, at, StoredIn::block);
    fill_operand(s_, op, turned ? loops.front() : loops[loops.size() - 2], loops.back(), tile, share_.threads());
  }

  Scheduler& s_;
  const StreamAttention& f_;
  const AttentionForm& a_;
  const StreamShare share_;
  const StreamTiles tiles_;
  LoopId block_;
};

Objection stream_fits(const StreamAttention& form, const StreamShare& share, const GpuLimits& limits) {
  if (const Objection wrong = threads_fit(share.threads(), kMostStreamThreads)) return wrong;
  if (const Objection wrong = blocks_fit(share.min_blocks, share.threads(), limits)) return wrong;
  if (const Objection wrong = waste_bounded(round_up(form.ops.rows, kMmaRows), share.queries())) return wrong;
  const std::int64_t width = form.ops.width;
  const std::int64_t registers = mma_registers(share.sums(share.keys) + share.sums(width), share.operands(width));
  if (const Objection wrong = registers_fit(registers, share.threads(), limits, share.min_blocks)) return wrong;
  // Operands of f32 are read word by word, and rounded.
  const bool words = size_of(form.start->tree().dag.op(form.values).dtype) == 4;
  const std::int64_t most = words ? kMostStreamIntrinsics * 8 / step_of(share.intrinsic) : 2 * kMostStreamIntrinsics;
  return intrinsics_bounded(share.intrinsics(width, share.keys), most);
}

std::vector<Choice> warp_cuts(std::int64_t rows) {
  std::vector<Choice> options;
  for (std::int64_t warps : {1, 2, 4, 8})
    for (std::int64_t each : {16, 32})
      if (const std::int64_t all = warps * each; all <= rows || all == kMmaRows) options.push_back({warps, each});
  return options;
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
      {"queries", "queries of a block: warps, and queries of each", warp_cuts(whole.rows), 0},
      {"keys", "keys of a step, which are copied with their values", single(steps), 0},
      {"stages", "copies of keys and values under way at once, and those that are read", single({1, 2, 3}), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
  };
  const auto share = [intrinsic](const Choices& c) { return stream_share(intrinsic, c); };
  sketch.constraints = {
      {{"queries", "keys", "min_blocks"},
       [=](const Choices& c) { return stream_fits(forms->at(c.at("keys")[0]), share(c), limits); }},
      {{"queries", "keys", "stages"},
       [=](const Choices& c) {
         const StreamShare s = share(c);
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
    if (form && reads_along_first(form->start->tree().dag.op(form->keys).element()))
      form = find_stream(dag, *found, step, true);
    if (form) forms.emplace(step, *std::move(form));
  }
  return forms;
}

std::optional<Sketch> attention_stream_sketch(const ComputeDag& dag, const Target& target, Precision precision) {
  const std::optional<Intrinsic> intrinsic = mma_of(precision);
  const bool halves = multiplies_halves(dag) || multiplies_halves(dag, DType::bf16);
  if (!intrinsic || !limits_of(target.gpu()).mma || halves) return std::nullopt;
  return stream_sketch("attention_stream", *intrinsic, dag, target);
}

std::optional<Sketch> half_attention_stream_sketch(const ComputeDag& dag, const Target& target) {
  const bool bf16 = multiplies_halves(dag, DType::bf16);
  if (!limits_of(target.gpu()).mma || (!bf16 && !multiplies_halves(dag))) return std::nullopt;
  return stream_sketch("attention_stream_half", bf16 ? Intrinsic::mma_half_bf16 : Intrinsic::mma_half, dag, target);
}

}  // namespace whet
