#include "alternatives/probe.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "alternatives/stored_numbers.h"

namespace whet {
namespace {

/// Which roundings some alternative of a group has.
struct Rounding {
  std::set<StoredAs> product, reads;
};

/// Copies the network, and adds a second way beside each layer.
class ProbeBuilder {
 public:
  ProbeBuilder(const FusedGraph& fused, const Alternatives& alternatives, const ValueRanges& ranges)
      : from_(fused.graph),
        fused_(fused),
        forms_(fused, ranges),
        rounding_(fused.groups.size()),
        group_of_(fused.graph.nodes.size(), -1) {
    sink_.add = [this](const std::string& name, Operator op, std::vector<ValueId> inputs) {
      return emit(name, std::move(op), std::move(inputs));
    };
    sink_.constant = [this](const std::string& name, Tensor value) {
      return result_.graph.add_constant(unique(name), std::move(value));
    };
    for (const Alternative& each : alternatives.all) {
      if (each.kind != AlternativeKind::lowered || each.group < 0) continue;
      Rounding& rounding = rounding_[static_cast<std::size_t>(each.group)];
      if (each.rounds_product) rounding.product.insert(*each.rounds_product);
      if (each.rounds_reads) rounding.reads.insert(*each.rounds_reads);
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
      for (StoredAs stored : rounding_[g].product) add_switch({static_cast<int>(g), node, true, stored});
      for (StoredAs stored : rounding_[g].reads) add_switch({static_cast<int>(g), node, false, stored});
    }
    for (std::size_t n = 0; n < from_.nodes.size(); ++n) WHET_RETURN_IF_ERROR(add(from_.nodes[n], group_of_[n]));
    for (ValueId id : from_.outputs) graph.outputs.push_back(operand(id));
    WHET_RETURN_IF_ERROR(verify(graph));
    return std::move(result_);
  }

 private:
  void add_switch(ProbedLayer layer) {
    Graph& graph = result_.graph;
    const std::string name = layer.node + (layer.product ? "_product_" : "_reads_") + text_of(layer.stored);
    const ValueId on = graph.add_value(unique(name), {DType::boolean, {1}});
    graph.inputs.push_back(on);
    (layer.product ? product_switch_ : reads_switch_)[{layer.group, layer.stored}] = on;
    result_.layers.push_back(std::move(layer));
  }
  static std::string text_of(StoredAs stored) { return to_text(ActivationLayout{0, 0, stored}); }

  Status add(const Node& node, int group) {
    static const Rounding kNone;
    const Rounding& rounding = group >= 0 ? rounding_[static_cast<std::size_t>(group)] : kNone;
    const bool product = is_product(node.op);
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      WHET_TRY(const ValueId now, product ? Result<ValueId>(operand(id)) : rounded(id, group, rounding.reads));
      inputs.push_back(now);
    }
    WHET_TRY(ValueId now, emit(node.name, node.op, inputs));
    for (StoredAs stored : rounding.product) {
      if (!product) break;
      WHET_TRY(const ValueId lowered, lowered_product(node, inputs, stored));
      WHET_TRY(now, either(node.name, product_switch_.at({group, stored}), lowered, now));
    }
    now_[node.output] = now;
    return ok_status();
  }

  Result<ValueId> lowered_product(const Node& node, const std::vector<ValueId>& inputs, StoredAs stored) {
    const LoweredProduct* product = forms_.product(node, stored);
    WHET_CHECK(product != nullptr, "an alternative has this product");
    const std::string name = node.name + "_" + text_of(stored);
    WHET_TRY(const ValueId x,
             add_rounding(sink_, name + "_operand", inputs[0], *forms_.numbers(node.inputs[0], stored)));
    Node named = node;
    named.name = name;
    return add_product(sink_, named, *product, x, [&] { return Result<ValueId>(inputs[2]); });
  }

  /// What a group reads from outside, rounded where one of its switches is on.
  Result<ValueId> rounded(ValueId id, int group, const std::set<StoredAs>& types) {
    if (types.empty()) return operand(id);
    const Group& own = fused_.groups[static_cast<std::size_t>(group)];
    if (std::find(own.inputs.begin(), own.inputs.end(), id) == own.inputs.end()) return operand(id);
    if (const auto known = rounded_.find({id, group}); known != rounded_.end()) return known->second;
    ValueId now = operand(id);
    for (StoredAs stored : types) {
      const std::optional<StoredNumbers> numbers = forms_.numbers(id, stored);
      if (!numbers) continue;
      const std::string name = from_.value(id).name + "_" + text_of(stored);
      WHET_TRY(const ValueId narrow, add_rounding(sink_, name, operand(id), *numbers));
      WHET_TRY(const ValueId wide, add_widening(sink_, name + "_wide", narrow, *numbers));
      WHET_TRY(now, either(name, reads_switch_.at({group, stored}), wide, now));
    }
    return rounded_[{id, group}] = now;
  }

  Result<ValueId> either(const std::string& name, ValueId on, ValueId yes, ValueId no) {
    return emit(name + "_either", WhereOperator{}, {on, yes, no});
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
  StoredForms forms_;
  NodeSink sink_;                   ///< of the probe
  std::vector<Rounding> rounding_;  ///< by group
  std::vector<int> group_of_;       ///< by node; -1: an alias
  ProbeNetwork result_;
  std::map<ValueId, ValueId> now_;
  std::map<std::pair<ValueId, int>, ValueId> rounded_;
  std::map<std::pair<int, StoredAs>, ValueId> product_switch_, reads_switch_;  ///< by group
  std::set<std::string> names_;
};

}  // namespace

Result<ProbeNetwork> probe_of(const FusedGraph& fused, const Alternatives& alternatives, const ValueRanges& ranges) {
  return ProbeBuilder(fused, alternatives, ranges).run();
}

std::vector<Tensor> probe_inputs(const std::vector<Tensor>& sample, std::size_t layers, int on) {
  std::vector<Tensor> inputs = sample;
  for (std::size_t layer = 0; layer < layers; ++layer)
    inputs.push_back(Tensor::of<int>(DType::boolean, {1}, {static_cast<int>(layer) == on ? 1 : 0}));
  return inputs;
}

}  // namespace whet
