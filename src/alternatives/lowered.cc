#include "alternatives/lowered.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "alternatives/cover_builder.h"
#include "passes/operator_class.h"

namespace whet {
namespace {

constexpr ActivationLayout kStoredBf16{0, 0, StoredAs::bf16};

ActivationLayout form_of(StoredAs stored) { return {0, 0, stored}; }

bool is_product(const Operator& op) {
  return std::holds_alternative<ConvOperator>(op) || std::holds_alternative<MatMulOperator>(op);
}

/// The operator copies numbers, of which padding adds zeros, and computes none.
bool copies(const Operator& op) {
  const auto* pool = std::get_if<PoolOperator>(&op);
  const auto* pad = std::get_if<PadOperator>(&op);
  return std::holds_alternative<ReshapeOperator>(op) || std::holds_alternative<TransposeOperator>(op) ||
         std::holds_alternative<SliceOperator>(op) || std::holds_alternative<ConcatOperator>(op) ||
         (pool != nullptr && pool->kind == PoolKind::max) || (pad != nullptr && pad->value == 0);
}

/// As passes/halves.cc has it for a whole network: pairs of terms by a constant factor, for a vector of results.
enum class PairProduct : std::uint8_t { none, of_pairs, depthwise };
PairProduct pair_product_of(const Graph& graph, const Node& node) {
  constexpr std::int64_t kSums = 16;
  const Shape &x = graph.value(node.inputs[0]).type.shape, &y = graph.value(node.output).type.shape;
  const bool pairs = graph.value(node.inputs[1]).constant && x.back() % 2 == 0 && y.back() >= kSums;
  if (const auto* matmul = std::get_if<MatMulOperator>(&node.op))
    return pairs && !matmul->transpose_a && !matmul->wide ? PairProduct::of_pairs : PairProduct::none;
  const auto& conv = std::get<ConvOperator>(node.op);
  if (conv.layout != Layout::channels_last || conv.wide) return PairProduct::none;
  if (conv.groups == 1) return pairs ? PairProduct::of_pairs : PairProduct::none;
  const bool depthwise = conv.groups == x.back() && conv.groups == y.back();
  return depthwise && graph.value(node.inputs[1]).constant ? PairProduct::depthwise : PairProduct::none;
}

Tensor rounded_to_bf16(const Tensor& wide) {
  return Tensor::later({DType::bf16, wide.shape()}, [wide] {
    Tensor half(DType::bf16, wide.shape());
    for (std::int64_t i = 0; i < wide.size(); ++i) half.set(i, wide.get(i));
    return half;
  });
}

/// Grows the lowered group. Values are there in f32, in bf16, or both.
class Lowering {
 public:
  using Maybe = std::optional<ValueId>;
  using Answer = std::optional<LoweredGroup>;

  Lowering(const FusedGraph& fused, const Group& group, StoredAs in, StoredAs out)
      : graph_(fused.graph), group_(group), in_(in), out_(out), builder_(fused.graph) {
    for (NodeId n : group.nodes) inside_.insert(graph_.node(n).output);
  }

  Result<Answer> run() {
    if (group_.outputs.size() != 1 || !is_all_f32() || !find_product()) return Answer();
    const bool only_copies = std::ranges::all_of(group_.nodes, [&](NodeId n) { return copies(graph_.node(n).op); });
    if (only_copies && in_ == StoredAs::bf16 && out_ != StoredAs::bf16) return Answer();
    if (only_copies && in_ == StoredAs::bf16)
      for (NodeId n : group_.nodes) copied_.insert(graph_.node(n).output);
    for (NodeId n : group_.nodes) {
      const Node& node = graph_.node(n);
      WHET_TRY(const bool done, n == product_ ? add_product(node) : add(node));
      if (!done) return Answer();
    }
    if (!reads_half_ && out_ != StoredAs::bf16) return Answer();
    const ValueId output = group_.outputs.front();
    WHET_TRY(const ValueId last, out_ == StoredAs::bf16 ? half_result(output) : wide(output, nullptr));
    result_.fragment = std::move(builder_).finish(last, {{output, form_of(out_)}});
    WHET_TRY(const bool one, is_one_kernel());
    return one ? Answer(std::move(result_)) : Answer();
  }

 private:
  bool is_f32(ValueId id) const { return graph_.value(id).type.dtype == DType::f32; }
  bool is_all_f32() const {
    return std::ranges::all_of(group_.inputs, [&](ValueId id) { return is_f32(id); }) &&
           std::ranges::all_of(group_.nodes, [&](NodeId n) { return is_f32(graph_.node(n).output); });
  }

  /// The group's product, and what only copies numbers on the way to it. False where there are several, or it cannot be lowered.
  bool find_product() {
    for (NodeId n : group_.nodes) {
      if (!is_product(graph_.node(n).op)) continue;
      if (product_.valid()) return false;
      product_ = n;
    }
    if (product_.valid()) find_feeding(graph_.node(product_).inputs[0]);
    if (!product_.valid() || in_ != StoredAs::bf16) return true;
    if (pair_product_of(graph_, graph_.node(product_)) == PairProduct::none) return false;
    for (ValueId id = graph_.node(product_).inputs[0]; inside_.contains(id);) {
      const auto producer = std::ranges::find_if(group_.nodes, [&](NodeId n) { return graph_.node(n).output == id; });
      const Node& node = graph_.node(*producer);
      if (!copies(node.op) || node.inputs.size() != 1) return false;
      copied_.insert(id);
      id = node.inputs[0];
    }
    return !graph_.value(graph_.node(product_).inputs[0]).constant;
  }

  /// What the product's activation is computed from inside of the group.
  void find_feeding(ValueId value) {
    if (!inside_.contains(value) || !feeding_.insert(value).second) return;
    for (NodeId n : group_.nodes)
      if (graph_.node(n).output == value)
        for (ValueId id : graph_.node(n).inputs) find_feeding(id);
  }

  Result<bool> add_product(const Node& node) {
    if (in_ != StoredAs::bf16) return add(node);
    const bool depthwise = pair_product_of(graph_, node) == PairProduct::depthwise;
    const Maybe x = half(node.inputs[0]);
    if (!x) return false;
    const Value& weights = graph_.value(node.inputs[1]);
    std::vector<ValueId> inputs = {
        *x, builder_.constant(weights.name, depthwise ? *weights.constant : rounded_to_bf16(*weights.constant))};
    if (node.inputs.size() > 2) {
      WHET_TRY(const ValueId bias, wide(node.inputs[2], &node));
      inputs.push_back(bias);
    }
    Operator op = node.op;
    if (auto* conv = std::get_if<ConvOperator>(&op)) conv->wide = true;
    if (auto* matmul = std::get_if<MatMulOperator>(&op)) matmul->wide = true;
    WHET_TRY(wide_[node.output], builder_.compute(node.name, std::move(op), std::move(inputs)));
    result_.rounds_product = true;
    return true;
  }

  Result<bool> add(const Node& node) {
    std::vector<ValueId> inputs;
    const bool copied = copied_.contains(node.output);
    for (ValueId id : node.inputs) {
      if (copied) {
        const Maybe now = half(id);
        if (!now) return false;
        inputs.push_back(*now);
        continue;
      }
      WHET_TRY(const ValueId now, wide(id, &node));
      inputs.push_back(now);
    }
    WHET_TRY(const ValueId now, builder_.compute(node.name, node.op, std::move(inputs)));
    (copied ? half_ : wide_)[node.output] = now;
    return true;
  }

  /// An activation in bf16; nothing where the group has computed it in f32, or it is a constant.
  Maybe half(ValueId id) {
    if (const auto known = half_.find(id); known != half_.end()) return known->second;
    const Value& value = graph_.value(id);
    if (inside_.contains(id) || value.constant) return std::nullopt;
    reads_half_ = true;
    return half_[id] = builder_.read({id, kStoredBf16}, value.name, {DType::bf16, value.type.shape});
  }

  /// A value in f32. What is read in bf16 is widened once.
  Result<ValueId> wide(ValueId id, const Node* reader) {
    if (const auto known = wide_.find(id); known != wide_.end()) return known->second;
    const Value& value = graph_.value(id);
    if (!inside_.contains(id) && !(reader != nullptr && is_read_rounded(id, *reader)))
      return wide_[id] = builder_.operand(id);
    if (!inside_.contains(id)) result_.rounds_reads = true;
    WHET_TRY(wide_[id], builder_.compute(value.name + "_wide", CastOperator{DType::f32}, {*half(id)}));
    return wide_[id];
  }

  /// Behind a product what has the result's form, in a group without one what is read at all; in a shape in which it is computed with.
  bool is_read_rounded(ValueId id, const Node& reader) const {
    const Value& value = graph_.value(id);
    if (value.constant || (product_.valid() ? out_ : in_) != StoredAs::bf16) return false;
    const bool feeds = feeding_.contains(reader.output);
    if (feeds || (product_.valid() && graph_.node(product_).output == reader.output))
      return false;  // f32, as `in` says
    switch (class_of(reader.op)) {
      case OperatorClass::elementwise:
        return graph_.value(reader.output).type.shape == value.type.shape;
      case OperatorClass::reduction:
      case OperatorClass::softmax:
        return reader.inputs[0] == id;
      default:
        return false;
    }
  }

  Result<ValueId> half_result(ValueId output) {
    if (const auto known = half_.find(output); known != half_.end()) return known->second;
    return builder_.compute(graph_.value(output).name + "_half", CastOperator{DType::bf16}, {wide_.at(output)});
  }

  /// Fusion makes one kernel of the fragment.
  Result<bool> is_one_kernel() const {
    const Graph& graph = result_.fragment.graph;
    WHET_TRY(const FusedGraph one, fuse(graph));
    return one.groups.size() == 1 && one.groups.front().nodes.size() == graph.nodes.size();
  }

  const Graph& graph_;
  const Group& group_;
  const StoredAs in_, out_;
  CoverBuilder builder_;
  LoweredGroup result_;
  NodeId product_;
  std::set<ValueId> inside_;  ///< results of the group's nodes
  std::set<ValueId> copied_;  ///< those that are copied in bf16
  std::set<ValueId> feeding_;
  std::map<ValueId, ValueId> wide_, half_;
  bool reads_half_ = false;
};

}  // namespace

Result<std::optional<LoweredGroup>> lowered(const FusedGraph& fused, const Group& group, StoredAs in, StoredAs out) {
  return Lowering(fused, group, in, out).run();
}

Result<std::optional<Fragment>> lowered_alias(const FusedGraph& fused, const Node& node) {
  const Value& from = fused.graph.value(node.inputs.front());
  if (!std::holds_alternative<ReshapeOperator>(node.op) || from.constant || from.type.dtype != DType::f32)
    return std::optional<Fragment>();
  CoverBuilder builder(fused.graph);
  const ValueId read = builder.read({node.inputs.front(), kStoredBf16}, from.name, {DType::bf16, from.type.shape});
  WHET_TRY(const ValueId now, builder.compute(node.name, node.op, {read}));
  Fragment fragment = std::move(builder).finish(now, {{node.output, kStoredBf16}});
  fragment.kernel.clear();
  return std::optional(std::move(fragment));
}

Result<Fragment> rounded_copy(const FusedGraph& fused, ValueId id) {
  CoverBuilder builder(fused.graph);
  const Value& value = fused.graph.value(id);
  WHET_TRY(const ValueId now, builder.compute(value.name + "_bf16", CastOperator{DType::bf16}, {builder.operand(id)}));
  return std::move(builder).finish(now, {{id, kStoredBf16}});
}

}  // namespace whet
