#include "space/gpu/attention_launch.h"

#include <algorithm>
#include <numeric>

#include "space/gpu/levels.h"

namespace whet {
namespace {

constexpr std::int64_t kMostLanes = 32;          ///< threads that add up a row: a warp at most
constexpr std::int64_t kRowVector = 4;           ///< neighbours that a thread reads at once
constexpr std::int64_t kMostAttentionTrips = 4;  ///< of them that are unrolled
constexpr std::int64_t kFewestPartKeys = 16;
/// A part has whole steps of the sum over its keys, so that the main loop has no conditions.
constexpr std::int64_t kPartStep = 8;

/// The ids when the product and its softmax are parts (compute/split_softmax.h).
void follow_parts(GpuAttention& form, const SplitSoftmaxOps& parts, std::vector<OpId>& inlined) {
  AttentionForm& a = form.ops;
  const auto now = [&parts, old = a](OpId op) { return id_behind_softmax(old, parts.product, op); };
  for (OpId& op : inlined) op = now(op);
  a.scores = now(a.scores);
  if (a.masked != a.scores) inlined.push_back(now(a.masked));
  form.result = now(a.output);
  if (form.result != parts.product) inlined.push_back(parts.product);
  inlined.push_back(parts.values);
  a.masked = parts.scores, a.top = parts.top, a.weights = parts.exp, a.sum = parts.sum, a.mix = parts.mix;
  a.output = parts.parts;
}

/// 0, which is all keys at once, and the keys of each of 2 parts to 32.
std::vector<std::int64_t> part_sizes(std::int64_t keys) {
  std::vector<std::int64_t> sizes{0};
  for (const std::int64_t parts : {2, 3, 4, 6, 8, 12, 16, 24, 32}) {
    const std::int64_t size = (keys + parts * kPartStep - 1) / (parts * kPartStep) * kPartStep;
    if (size >= kFewestPartKeys && size < keys && size != sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

/// Bytes of what all parts give, with the columns of their sums and maxima; a buffer has less than 2 GiB.
constexpr std::int64_t kMostResults = std::int64_t{1} << 31;
std::int64_t results_of_parts(const AttentionForm& a, std::int64_t part) {
  if (part == 0) return 0;
  return (a.keys_count + part - 1) / part * a.heads * a.rows * (a.width + 4) * 4;
}

/// Of parts of `part` keys; of 0, the DAG's own softmax.
std::optional<GpuAttention> find_gpu_attention(const ComputeDag& dag, const AttentionForm& found, std::int64_t part,
                                               bool keys_by_row) {
  GpuAttention form{.ops = found, .keys_by_row = keys_by_row};
  AttentionForm& a = form.ops;
  std::vector<OpId> inlined = inlined_ops(dag, a);
  form.columns = a.width, form.all_keys = a.keys_count;

  Scheduler s(dag);
  if (part > 0) {
    form.parts = s.split_softmax(a.mix, part);
    if (!s.finish().ok()) return std::nullopt;
    follow_parts(form, *form.parts, inlined);
    const ComputeDag& now = s.tree().dag;
    a.row = std::ssize(now.op(a.output).shape) - 2, a.column = a.row + 1;
    a.keys_count = now.op(a.masked).shape.back(), form.columns = now.op(a.output).shape.back();
  }
  std::vector<OpId*> followed{&form.result};
  if (part == 0) followed.push_back(&a.exp);
  if (form.parts)
    for (OpId* op : {&form.parts->all_top, &form.parts->all_sum, &form.parts->all_mix, &form.parts->product})
      followed.push_back(op);
  for (OpId& op : inlined) followed.push_back(&op);
  const OperandCopies copies = unfold_operands(s, a, keys_by_row, followed);
  form.queries = copies.queries, form.keys = copies.keys, form.values = copies.values;
  inline_each(s, std::move(inlined));
  if (part == 0) s.inline_op(a.exp);
  if (!s.finish().ok()) return std::nullopt;
  form.turns_keys = !keys_by_row && reads_along(s.tree().dag.op(form.keys).element(), 0);
  form.start = std::make_shared<const Scheduler>(std::move(s));
  form.strip = std::gcd<std::int64_t>(form.columns, 4);
  form.pad = ((4 - a.keys_count) % 8 + 8) % 8;
  return form;
}

}  // namespace

OpId id_behind_softmax(const AttentionForm& a, OpId product, OpId op) {
  if (op == a.mix) return product;
  if (op > a.mix) return OpId(op.value + product.value - a.mix.value);
  const OpId gone[] = {a.top, a.exp, a.sum, a.weights};
  return OpId(op.value - std::count_if(std::begin(gone), std::end(gone), [&](OpId g) { return g < op; }));
}

std::vector<OpId> inlined_ops(const ComputeDag& dag, const AttentionForm& a) {
  std::vector<OpId> inlined = a.inlined;
  for (OpId operand : {inputs_of(dag, a.scores)[0], inputs_of(dag, a.scores)[1], inputs_of(dag, a.mix)[1]})
    if (!dag.op(operand).is_placeholder()) inlined.push_back(operand);
  return inlined;
}

OperandCopies unfold_operands(Scheduler& s, AttentionForm& a, bool keys_by_row, std::vector<OpId*> followed) {
  OperandCopies copies;
  const ComputeDag& dag = s.tree().dag;
  OpId query = inputs_of(dag, a.scores)[0], key = inputs_of(dag, a.scores)[1], value = inputs_of(dag, a.mix)[1];
  for (OpId* op : {&a.scores, &a.masked, &a.top, &a.sum, &a.weights, &a.mix, &a.output, &query, &key, &value,
                   &copies.queries, &copies.keys})
    followed.push_back(op);
  const auto unfold = [&](OpId operand, OpId reader, UnfoldOrder order) {
    const OpId copy = s.unfold(operand, reader, order);
    for (OpId* op : followed)
      if (op->valid() && *op >= copy) *op = OpId(op->value + 1);
    return copy;
  };
  copies.queries = unfold(query, a.scores, UnfoldOrder::spatial_first);
  copies.keys = unfold(key, a.scores, keys_by_row ? UnfoldOrder::spatial_first : UnfoldOrder::turned);
  copies.values = unfold(value, a.mix, UnfoldOrder::turned);
  return copies;
}

void inline_each(Scheduler& s, std::vector<OpId> ops) {
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  for (OpId op : ops) s.inline_op(op);
}

bool reads_along(const Element& element, std::int64_t axis) {
  bool along = false;
  for_each(element.body, [&](const Expr& part) {
    const Load* load = std::get_if<Load>(&part->kind);
    along = along || (load && !load->index.empty() && uses(load->index.back(), VarId(axis)));
  });
  return along;
}

GpuAttentions find_gpu_attentions(const ComputeDag& dag, bool keys_by_row) {
  GpuAttentions forms;
  const std::optional<AttentionForm> found = find_attention(dag);
  if (!found) return forms;
  for (const std::int64_t part : part_sizes(found->keys_count)) {
    if (results_of_parts(*found, part) >= kMostResults) continue;
    std::optional<GpuAttention> form = find_gpu_attention(dag, *found, part, false);
    if (form && form->turns_keys && keys_by_row) form = find_gpu_attention(dag, *found, part, true);
    if (form) forms.emplace(part, *form);
  }
  return forms;
}

void add_up_rows(Scheduler& s, const GpuAttention& form, OpId op, LoopId block, std::int64_t queries,
                 std::int64_t threads) {
  const std::vector<LoopId> loops = s.compute_at(op, block, StoredIn::block);
  const std::int64_t keys = form.ops.keys_count, vector = std::min(kRowVector, keys / 2);
  const std::int64_t most = std::min({kMostLanes, threads / queries, (keys + vector - 1) / vector});
  std::int64_t lanes = 2;
  while (2 * lanes <= most) lanes *= 2;
  const auto neighbours = s.split(loops.back(), vector, Tail::guard);
  const auto part = s.split(neighbours.outer, lanes, Tail::guard);
  s.rfactor(part.inner);
  s.bind(loops[loops.size() - 2], LoopKind::thread);
  s.bind(part.inner, LoopKind::thread);
  s.annotate(neighbours.inner, LoopKind::unrolled);
  if (keys <= kMostAttentionTrips * vector * lanes) s.annotate(part.outer, LoopKind::unrolled);
}

void add_attention_parts(Scheduler& s, const GpuAttention& form) {
  constexpr std::int64_t kThreads = 128;
  std::vector<LoopId> outer = spatial_loops(s, form.result);
  const auto columns = s.split(outer.back(), std::gcd<std::int64_t>(form.ops.width, 4), Tail::guard);
  outer.back() = columns.outer;
  const LoopId threads = bind_levels(s, cut_levels(s, outer, kThreads), {columns.inner});
  s.annotate(columns.inner, LoopKind::vectorized);
  for (OpId op : {form.parts->all_mix, form.parts->all_sum, form.parts->all_top}) {
    std::vector<LoopId> loops = s.compute_at(op, threads, StoredIn::registers);
    std::rotate(loops.begin(), loops.end() - 1, loops.end());  // the parts outside
    s.reorder(loops);
    const bool has_columns = op == form.parts->all_mix;
    for (LoopId loop : loops)
      s.annotate(loop, has_columns && loop == loops.back() ? LoopKind::vectorized : LoopKind::unrolled);
  }
}

std::int64_t part_of(const Choices& c) {
  const auto found = c.find("part");
  return found == c.end() || found->second.empty() ? 0 : found->second[0];
}

}  // namespace whet
