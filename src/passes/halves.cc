#include "passes/halves.h"

#include <algorithm>
#include <map>

#include "passes/attention.h"
#include "passes/fuse.h"
#include "passes/host_tensor.h"
#include "passes/operator_class.h"
#include "passes/rewriter.h"
#include "passes/squeeze_excite.h"

namespace whet {
namespace {

/// What a CPU's instruction of pairs needs: a constant factor, which is packed, an even number of terms and as many results as a
/// vector has.
bool goes_by_pairs(const Graph& graph, const Node& node, std::int64_t terms) {
  constexpr std::int64_t kSums = 16;
  const Value& y = graph.value(node.output);
  const auto* conv = std::get_if<ConvOperator>(&node.op);
  const bool last = conv == nullptr || conv->layout == Layout::channels_last;
  return graph.value(node.inputs[1]).constant && terms % 2 == 0 && last && y.type.shape.back() >= kSums;
}

/// What values are rounded to, and whether a CPU multiplies them, by pairs. Tensor cores multiply any.
struct HalfKind {
  DType to;
  bool pairs = false;
  bool is_fixed = false;  ///< the graph has these sizes alone
};

bool is_product(const Graph& graph, const Node& node, HalfKind kind) {
  const Shape& x = graph.value(node.inputs[0]).type.shape;
  if (const auto* matmul = std::get_if<MatMulOperator>(&node.op))
    return !kind.pairs || (!matmul->transpose_a && goes_by_pairs(graph, node, x.back()));
  const auto* conv = std::get_if<ConvOperator>(&node.op);
  if (!conv) return false;
  const std::int64_t channels = conv->layout == Layout::channels_last ? x.back() : x[1];
  if (conv->groups == 1) return !kind.pairs || goes_by_pairs(graph, node, channels);
  return conv->groups == channels;
}

/// A product that gains more than it takes to round what it reads by a kernel of its own: twice the speed of a multiply-add for each
/// that a number takes part in, and more work than starting that kernel.
bool pays_rounding(const Graph& graph, const Node& node, HalfKind kind) {
  constexpr std::int64_t kFewest = 1 << 20, kOfEach = 32;
  const Tensor* const weights =
      kind.pairs && graph.value(node.inputs[1]).constant ? &*graph.value(node.inputs[1]).constant : nullptr;
  if (weights == nullptr) return false;
  const TensorType &x = graph.value(node.inputs[0]).type, &y = graph.value(node.output).type;
  const bool is_matmul = std::holds_alternative<MatMulOperator>(node.op);
  const std::int64_t of_result = is_matmul ? x.shape.back() : weights->size() / y.shape.back();  // terms of one
  const std::int64_t products = num_elements(y.shape) * of_result;
  return products >= kFewest && products >= kOfEach * num_elements(x.shape) &&
         !(std::holds_alternative<ConvOperator>(node.op) && std::get<ConvOperator>(node.op).groups > 1);
}

bool fits(double value, DType to) {
  Tensor one(to, {1});
  one.set(0, value);
  return one.get(0) == value;
}

/// The operator copies numbers and computes none.
bool moves(const Operator& op, DType to) {
  const auto* pool = std::get_if<PoolOperator>(&op);
  const auto* pad = std::get_if<PadOperator>(&op);
  return std::holds_alternative<ReshapeOperator>(op) || std::holds_alternative<TransposeOperator>(op) ||
         std::holds_alternative<SliceOperator>(op) || std::holds_alternative<ConcatOperator>(op) ||
         (pool && pool->kind == PoolKind::max) || (pad && fits(pad->value, to));
}

/// An attention that reads 16 bits. On tensor cores its products are of these, and the softmax rounds its weights. On a CPU they stay f32:
/// what is moved to where a product reads it is widened behind the last move, by the copy that the kernel makes of it in any case. Where
/// sizes are fixed and the number of keys is even, the softmax rounds its weights too, and their product with the values is of bf16.
struct HalfAttention {
  std::vector<std::size_t> products;  ///< of queries and keys, and with the values
  std::size_t softmax = 0;
  std::vector<std::size_t> before;  ///< what moves and scales an operand
  std::vector<ValueId> operands;    ///< what these read, or the products themselves
  bool moves_all = true;            ///< each operand is moved
  bool has_pairs = false;           ///< of keys
  bool of_halves = true;

  HalfAttention(const Graph& graph, const std::vector<NodeId>& nodes) {
    const auto own = [&](ValueId id) {
      return std::find_if(nodes.begin(), nodes.end(), [&](NodeId n) { return graph.node(n).output == id; });
    };
    for (NodeId n : nodes) {
      if (std::holds_alternative<MatMulOperator>(graph.node(n).op)) products.push_back(n.index());
      if (std::holds_alternative<SoftmaxOperator>(graph.node(n).op)) softmax = n.index();
    }
    const Node &scores = graph.nodes[products.front()], &mix = graph.nodes[products.back()];
    has_pairs = graph.value(scores.output).type.shape.back() % 2 == 0;
    for (ValueId id : {scores.inputs[0], scores.inputs[1], mix.inputs[1]}) {
      bool moves = false;
      for (auto n = own(id); n != nodes.end(); n = own(id)) {
        const Node& node = graph.node(*n);
        before.push_back(n->index());
        moves |= class_of(node.op) != OperatorClass::elementwise;
        id = graph.value(node.inputs[0]).constant ? node.inputs[1] : node.inputs[0];
      }
      operands.push_back(id);
      moves_all &= moves;
    }
  }

  bool takes(std::size_t n, ValueId value) const {
    const auto has = [](const auto& list, const auto& one) {
      return std::find(list.begin(), list.end(), one) != list.end();
    };
    return of_halves && has(operands, value) && (has(products, n) || has(before, n));
  }
};

/// Which products are of halves, and which activations are stored so.
class HalfTensors {
 public:
  HalfTensors(const Graph& graph, HalfKind kind)
      : graph_(graph),
        kind_(kind),
        producer_(graph.values.size(), nullptr),
        readers_(graph.values.size()),
        can_be_half_(graph.values.size(), false),
        half_(graph.values.size(), false),
        of_halves_(graph.nodes.size(), false),
        closed_(graph.nodes.size(), false) {
    std::vector<bool> ends(graph.nodes.size(), false);  // which may round
    for (const std::vector<NodeId>& nodes : find_attentions(graph)) {
      close(nodes), ends[nodes.back().index()] = true;
      attentions_.emplace_back(graph, nodes);
      attentions_.back().of_halves = !kind.pairs || attentions_.back().moves_all;
    }
    for (const std::vector<NodeId>& nodes : find_squeeze_excites(graph)) close(nodes);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      producer_[node.output.index()] = &node;
      for (ValueId id : node.inputs) readers_[id.index()].push_back(n);
      can_be_half_[node.output.index()] = is_f32(node.output) && (!closed_[n] || ends[n]);
      of_halves_[n] = is_product(graph, node, kind) && is_f32(node.output) && !closed_[n];
    }
    for (ValueId id : graph.outputs) can_be_half_[id.index()] = false;
    while (drop_some()) {
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (of_halves_[n]) store(graph.nodes[n].inputs[0]), store(graph.nodes[n].inputs[1]);
    for (const HalfAttention& attention : attentions_)
      if (attention.of_halves) store(attention);
    for (const Node& node : graph.nodes)
      if (!kind.pairs && (is_passing_sum(node) || is_pooled(node))) store(node.output);
  }

  bool is_of_halves(const Node& node) const { return of_halves_[index_of(node)]; }
  bool is_half(ValueId id) const { return half_[id.index()]; }
  /// A softmax whose weights are stored in 16 bits.
  bool rounds(const Node& node) const {
    return std::any_of(attentions_.begin(), attentions_.end(),
                       [&](const HalfAttention& a) { return rounds_weights(a) && a.softmax == index_of(node); });
  }
  /// The node copies numbers, and is a kernel of its own or a part of others.
  bool moves(const Node& node) const { return whet::moves(node.op, kind_.to) && !closed_[index_of(node)]; }

 private:
  void close(const std::vector<NodeId>& nodes) {
    for (NodeId n : nodes) closed_[n.index()] = true;
  }
  std::size_t index_of(const Node& node) const { return static_cast<std::size_t>(&node - graph_.nodes.data()); }
  bool is_f32(ValueId id) const { return graph_.value(id).type.dtype == DType::f32; }
  bool can_be_half(ValueId id) const { return graph_.value(id).constant ? is_f32(id) : can_be_half_[id.index()]; }

  /// Takes out what cannot be, by what is left of the others; false where that is nothing.
  bool drop_some() {
    bool dropped = false;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (of_halves_[n] && !(can_be_half(node.inputs[0]) && can_be_half(node.inputs[1])) &&
          !pays_rounding(graph_, node, kind_))
        of_halves_[n] = false, dropped = true;
      if (can_be_half_[node.output.index()] && !fits(node)) can_be_half_[node.output.index()] = false, dropped = true;
    }
    for (HalfAttention& attention : attentions_) {
      const auto fits = [&](ValueId id) { return can_be_half_[id.index()]; };
      if (!attention.of_halves || std::all_of(attention.operands.begin(), attention.operands.end(), fits)) continue;
      attention.of_halves = false, dropped = true;
    }
    return dropped;
  }

  /// Whether the node can store halves, and all that reads them take them.
  bool fits(const Node& node) const {
    // A range of another tensor is no kernel as long as it begins on a cache line.
    if (const auto offset = alias_offset(graph_, node); offset && *offset / 2 % kCacheLine != 0) return false;
    // What moves numbers otherwise becomes a part of what reads it, which it may not once it rounds.
    if (!closed_[index_of(node)] && class_of(node.op) == OperatorClass::injective && !moves(node)) return false;
    if (moves(node) && !std::all_of(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId id) { return !graph_.value(id).constant && can_be_half(id); }))
      return false;
    const std::vector<std::size_t>& readers = readers_[node.output.index()];
    return std::all_of(readers.begin(), readers.end(), [&](std::size_t n) { return takes(n, node.output); });
  }

  bool takes(std::size_t n, ValueId value) const {
    const Node& reader = graph_.nodes[n];
    if (closed_[n])
      return std::any_of(attentions_.begin(), attentions_.end(),
                         [&](const HalfAttention& attention) { return attention.takes(n, value); });
    if (of_halves_[n]) return reader.inputs.size() < 3 || reader.inputs[2] != value;
    if (moves(reader)) return can_be_half_[reader.output.index()];
    switch (class_of(reader.op)) {
      case OperatorClass::elementwise:
        return graph_.value(reader.output).type.shape == graph_.value(value).type.shape;
      case OperatorClass::reduction:
      case OperatorClass::softmax:
        return reader.inputs[0] == value;
      default:
        return false;
    }
  }

  /// A sum of two activations that several element operators read, behind which products of halves follow.
  bool is_passing_sum(const Node& node) const {
    const auto* sum = std::get_if<BinaryOperator>(&node.op);
    if (sum == nullptr || sum->kind != BinaryKind::add || closed_[index_of(node)]) return false;
    const Shape& shape = graph_.value(node.output).type.shape;
    const auto is_activation = [&](ValueId id) {
      const Value& value = graph_.value(id);
      return !value.constant && value.type.shape == shape;
    };
    const auto passes_on = [&](std::size_t n) {
      return of_halves_[n] || moves(graph_.nodes[n]) || class_of(graph_.nodes[n].op) == OperatorClass::elementwise;
    };
    const std::vector<std::size_t>& readers = readers_[node.output.index()];
    return std::all_of(node.inputs.begin(), node.inputs.end(), is_activation) && readers.size() > 1 &&
           std::all_of(readers.begin(), readers.end(), passes_on) && feeds_product(node.output);
  }

  /// What a maximum over windows reads, which is a kernel of its own, with products of halves behind it.
  bool is_pooled(const Node& node) const {
    const std::vector<std::size_t>& readers = readers_[node.output.index()];
    return readers.size() == 1 && std::holds_alternative<PoolOperator>(graph_.nodes[readers[0]].op) &&
           moves(graph_.nodes[readers[0]]) && feeds_product(node.output);
  }

  /// A product of halves is behind the value, with element operators and such that move numbers alone between.
  bool feeds_product(ValueId id) const {
    constexpr int kMostBetween = 4;
    std::vector<ValueId> found = {id};
    for (int k = 0; k <= kMostBetween; ++k) {
      std::vector<ValueId> next;
      for (ValueId value : found)
        for (std::size_t n : readers_[value.index()]) {
          if (of_halves_[n]) return true;
          if (class_of(graph_.nodes[n].op) == OperatorClass::elementwise || moves(graph_.nodes[n]))
            next.push_back(graph_.nodes[n].output);
        }
      found = std::move(next);
    }
    return false;
  }

  /// With all that the value is moved from and to.
  void store(ValueId id) {
    if (!can_be_half_[id.index()] || half_[id.index()]) return;
    half_[id.index()] = true;
    const Node& node = *producer_[id.index()];
    if (moves(node))
      for (ValueId input : node.inputs) store(input);
    for (std::size_t n : readers_[id.index()])
      if (moves(graph_.nodes[n])) store(graph_.nodes[n].output);
  }

  bool rounds_weights(const HalfAttention& attention) const {
    return attention.of_halves && (!kind_.pairs || (kind_.is_fixed && attention.has_pairs));
  }

  void store(const HalfAttention& attention) {
    for (ValueId operand : attention.operands) store(operand);
    for (std::size_t n : attention.before) half_[graph_.nodes[n].output.index()] = true, closed_[n] = false;
    if (!rounds_weights(attention)) return;
    for (std::size_t n : attention.products) of_halves_[n] = !kind_.pairs || n == attention.products.back();
    half_[graph_.nodes[attention.softmax].output.index()] = true;
  }

  const Graph& graph_;
  const HalfKind kind_;
  std::vector<const Node*> producer_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> can_be_half_, half_;
  std::vector<HalfAttention> attentions_;
  std::vector<bool> of_halves_, closed_;  ///< nodes; closed: of a group that is one kernel as it is
};

class Halving {
 public:
  Halving(const Graph& from, HalfKind kind) : from_(from), kind_(kind), rewriter_(from), tensors_(from, kind) {}

  Status visit(const Node& node) {
    if (tensors_.is_of_halves(node)) {
      WHET_RETURN_IF_ERROR(product(node));
    } else if (tensors_.is_half(node.output) && tensors_.moves(node)) {
      return move(node);
    } else if (tensors_.rounds(node)) {
      SoftmaxOperator op = std::get<SoftmaxOperator>(node.op);
      op.rounds = kind_.to;
      WHET_TRY(halves_[node.output],
               rewriter_.emit(from_.value(node.output).name + "_half", op, {rewriter_.now(node.inputs[0])}));
      return ok_status();
    } else {
      WHET_TRY(const std::vector<ValueId> inputs, wide(node.inputs));
      WHET_RETURN_IF_ERROR(rewriter_.copy_as(node, node.op, inputs));
    }
    if (!tensors_.is_half(node.output)) return ok_status();
    const std::string name = from_.value(node.output).name + "_half";
    WHET_TRY(halves_[node.output], rewriter_.emit(name, CastOperator{kind_.to}, {rewriter_.now(node.output)}));
    return ok_status();
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  Status product(const Node& node) {
    // On a CPU a depthwise convolution multiplies f32: its weights stay so.
    const auto* depthwise = std::get_if<ConvOperator>(&node.op);
    const std::size_t halves = kind_.pairs && depthwise && depthwise->groups > 1 ? 1 : 2;
    std::vector<ValueId> inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      WHET_TRY(const ValueId input, k < halves ? half(node.inputs[k]) : wide(node.inputs[k]));
      inputs.push_back(input);
    }
    Operator op = node.op;
    if (auto* conv = std::get_if<ConvOperator>(&op)) conv->wide = true;
    if (auto* matmul = std::get_if<MatMulOperator>(&op)) matmul->wide = true;
    return rewriter_.copy_as(node, op, inputs);
  }

  Status move(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(halves_.at(id));
    WHET_TRY(halves_[node.output], rewriter_.emit(from_.value(node.output).name + "_half", node.op, inputs));
    return ok_status();
  }

  Result<ValueId> half(ValueId id) {
    const auto found = halves_.find(id);
    if (found != halves_.end()) return found->second;
    const Value& value = from_.value(id);
    const std::string name = value.name + "_half";
    if (value.constant) return halves_[id] = rewriter_.constant(name, stored_as(*value.constant, kind_.to));
    WHET_TRY(halves_[id], rewriter_.emit(name, CastOperator{kind_.to}, {rewriter_.now(id)}));
    return halves_[id];
  }

  /// What reads a half reads it in f32. Each reader has a node for it, which its kernel computes.
  Result<ValueId> wide(ValueId id) {
    if (!tensors_.is_half(id)) return rewriter_.now(id);
    return rewriter_.emit(from_.value(id).name + "_wide", CastOperator{DType::f32}, {halves_.at(id)});
  }
  Result<std::vector<ValueId>> wide(const std::vector<ValueId>& ids) {
    std::vector<ValueId> all;
    for (ValueId id : ids) {
      WHET_TRY(const ValueId input, wide(id));
      all.push_back(input);
    }
    return all;
  }

  const Graph& from_;
  const HalfKind kind_;
  Rewriter rewriter_;
  const HalfTensors tensors_;
  std::map<ValueId, ValueId> halves_;  ///< by the old value; also of constants
};

Result<Graph> store(const Graph& from, HalfKind kind) {
  Halving halving(from, kind);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(halving.visit(node));
  return std::move(halving).finish();
}

}  // namespace

Result<Graph> store_halves(const Graph& from) { return store(from, {.to = DType::f16}); }

Result<Graph> store_bf16(const Graph& from) { return store(from, {.to = DType::bf16, .pairs = true}); }

Result<Graph> store_bf16_of_fixed_sizes(const Graph& from) {
  return store(from, {.to = DType::bf16, .pairs = true, .is_fixed = true});
}

Result<Graph> store_bf16_tensors(const Graph& from) { return store(from, {.to = DType::bf16}); }

}  // namespace whet
