#include "alternatives/probe.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace whet {
namespace {

bool multiplies(const Operator& op) {
  return std::holds_alternative<ConvOperator>(op) || std::holds_alternative<MatMulOperator>(op);
}

/// Which roundings some alternative of a group has.
struct Rounding {
  bool product = false, reads = false;
};

/// Copies the network, and adds a second way beside each layer.
class ProbeBuilder {
 public:
  ProbeBuilder(const FusedGraph& fused, const Alternatives& alternatives)
      : from_(fused.graph), fused_(fused), rounding_(fused.groups.size()), group_of_(fused.graph.nodes.size(), -1) {
    for (const Alternative& each : alternatives.all) {
      if (each.kind != AlternativeKind::lowered || each.group < 0) continue;
      Rounding& rounding = rounding_[static_cast<std::size_t>(each.group)];
      rounding.product |= each.rounds_product, rounding.reads |= each.rounds_reads;
    }
    for (std::size_t g = 0; g < fused.groups.size(); ++g)
      for (NodeId n : fused.groups[g].nodes) group_of_[n.index()] = static_cast<int>(g);
  }

  Result<ProbeNetwork> run() {
    Graph& graph = result_.graph;
    graph.name = from_.name + "_probe";
    for (ValueId id : from_.inputs)
      graph.inputs.push_back(now_[id] = graph.add_value(unique(from_.value(id).name), from_.value(id).type));
    for (std::size_t g = 0; g < rounding_.size(); ++g) {
      const std::string& node = from_.value(fused_.groups[g].outputs.front()).name;
      if (rounding_[g].product) add_switch(static_cast<int>(g), node, true);
      if (rounding_[g].reads) add_switch(static_cast<int>(g), node, false);
    }
    for (std::size_t n = 0; n < from_.nodes.size(); ++n) WHET_RETURN_IF_ERROR(add(from_.nodes[n], group_of_[n]));
    for (ValueId id : from_.outputs) graph.outputs.push_back(operand(id));
    WHET_RETURN_IF_ERROR(verify(graph));
    return std::move(result_);
  }

 private:
  void add_switch(int group, const std::string& node, bool product) {
    Graph& graph = result_.graph;
    const ValueId on = graph.add_value(unique(node + (product ? "_product" : "_reads")), {DType::boolean, {1}});
    graph.inputs.push_back(on);
    (product ? product_switch_ : reads_switch_)[group] = on;
    result_.layers.push_back({group, node, product});
  }

  Status add(const Node& node, int group) {
    const bool is_product = multiplies(node.op);
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      const bool rounds = group >= 0 && !is_product && rounding_[static_cast<std::size_t>(group)].reads;
      WHET_TRY(const ValueId now, rounds ? rounded(id, group) : Result<ValueId>(operand(id)));
      inputs.push_back(now);
    }
    WHET_TRY(const ValueId usual, emit(node.name, node.op, inputs));
    now_[node.output] = usual;
    if (!is_product || group < 0 || !rounding_[static_cast<std::size_t>(group)].product) return ok_status();
    WHET_TRY(const ValueId lowered, lowered_product(node, std::move(inputs)));
    WHET_TRY(now_[node.output],
             emit(node.name + "_either", WhereOperator{}, {product_switch_.at(group), lowered, usual}));
    return ok_status();
  }

  Result<ValueId> lowered_product(const Node& node, std::vector<ValueId> inputs) {
    Operator op = node.op;
    const auto* conv = std::get_if<ConvOperator>(&op);
    const bool depthwise = conv != nullptr && conv->groups > 1;
    WHET_TRY(inputs[0], emit(node.name + "_bf16", CastOperator{DType::bf16}, {inputs[0]}));
    const Value& weights = from_.value(node.inputs[1]);
    if (!depthwise)
      inputs[1] = result_.graph.add_constant(
          unique(weights.name + "_bf16"), Tensor::later({DType::bf16, weights.type.shape}, [wide = *weights.constant] {
            return held_as(wide, DType::bf16);
          }));
    if (auto* wide = std::get_if<ConvOperator>(&op)) wide->wide = true;
    if (auto* wide = std::get_if<MatMulOperator>(&op)) wide->wide = true;
    return emit(node.name + "_lowered", std::move(op), std::move(inputs));
  }

  /// What a group reads from outside, rounded where its switch is on.
  Result<ValueId> rounded(ValueId id, int group) {
    const Value& value = from_.value(id);
    const Group& own = fused_.groups[static_cast<std::size_t>(group)];
    const bool outside = std::find(own.inputs.begin(), own.inputs.end(), id) != own.inputs.end();
    if (value.constant || !outside || value.type.dtype != DType::f32) return operand(id);
    if (const auto known = rounded_.find({id, group}); known != rounded_.end()) return known->second;
    WHET_TRY(const ValueId half, emit(value.name + "_half", CastOperator{DType::bf16}, {operand(id)}));
    WHET_TRY(const ValueId wide, emit(value.name + "_wide", CastOperator{DType::f32}, {half}));
    WHET_TRY(const ValueId either,
             emit(value.name + "_either", WhereOperator{}, {reads_switch_.at(group), wide, operand(id)}));
    return rounded_[{id, group}] = either;
  }

  ValueId operand(ValueId id) {
    const Value& value = from_.value(id);
    if (value.constant && !now_.contains(id))
      now_[id] = result_.graph.add_constant(unique(value.name), *value.constant);
    return now_.at(id);
  }

  Result<ValueId> emit(const std::string& name, Operator op, std::vector<ValueId> inputs) {
    return result_.graph.add_node(unique(name), std::move(op), std::move(inputs));
  }

  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !names_.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
    return name;
  }

  const Graph& from_;
  const FusedGraph& fused_;
  std::vector<Rounding> rounding_;  ///< by group
  std::vector<int> group_of_;       ///< by node; -1: an alias
  ProbeNetwork result_;
  std::map<ValueId, ValueId> now_;
  std::map<std::pair<ValueId, int>, ValueId> rounded_;
  std::map<int, ValueId> product_switch_, reads_switch_;  ///< by group
  std::set<std::string> names_;
};

}  // namespace

Result<ProbeNetwork> probe_of(const FusedGraph& fused, const Alternatives& alternatives) {
  return ProbeBuilder(fused, alternatives).run();
}

std::vector<Tensor> probe_inputs(const std::vector<Tensor>& sample, std::size_t layers, int on) {
  std::vector<Tensor> inputs = sample;
  for (std::size_t layer = 0; layer < layers; ++layer)
    inputs.push_back(Tensor::of<int>(DType::boolean, {1}, {static_cast<int>(layer) == on ? 1 : 0}));
  return inputs;
}

}  // namespace whet
