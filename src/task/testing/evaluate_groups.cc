#include "task/testing/evaluate_groups.h"

#include <cstring>
#include <map>

#include "task/group_dag.h"

namespace whet::testing {
namespace {

class Run {
 public:
  Run(const FusedGraph& fused, const std::vector<Tensor>& inputs) : fused_(fused) {
    for (std::size_t i = 0; i < fused.graph.values.size(); ++i) {
      if (fused.graph.values[i].constant)
        known_[ValueId(static_cast<std::int64_t>(i))] = *fused.graph.values[i].constant;
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) known_[fused.graph.inputs[k]] = inputs[k];
    for (const Node& node : fused.graph.nodes) producer_[node.output] = &node;
  }

  /// A value that is there, or an alias (in no group) of one.
  Tensor value(ValueId id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const Node& node = *producer_.at(id);
    const auto offset = alias_offset(fused_.graph, node);
    WHET_CHECK(offset.has_value(), node.name.c_str());
    const Tensor whole = value(node.inputs[0]);
    Tensor part(fused_.graph.value(id).type.dtype, fused_.graph.value(id).type.shape);
    std::memcpy(part.data(), static_cast<const std::byte*>(whole.data()) + *offset,
                static_cast<std::size_t>(part.bytes()));
    return part;
  }

  Status run(const Group& group) {
    WHET_TRY(const ComputeDag dag, group_dag(fused_, group));
    std::vector<Tensor> inputs;
    for (ValueId id : group.inputs) inputs.push_back(value(id).reshaped(dag.ops[inputs.size()].shape));
    WHET_TRY(const std::vector<Tensor> outputs, evaluate(dag, inputs));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      known_[group.outputs[k]] = outputs[k].reshaped(fused_.graph.value(group.outputs[k]).type.shape);
    return ok_status();
  }

 private:
  const FusedGraph& fused_;
  std::map<ValueId, Tensor> known_;
  std::map<ValueId, const Node*> producer_;
};

}  // namespace

Result<std::vector<Tensor>> evaluate_groups(const FusedGraph& fused, const std::vector<Tensor>& inputs) {
  Run run(fused, inputs);
  for (const Group& group : fused.groups) WHET_RETURN_IF_ERROR(run.run(group));
  std::vector<Tensor> outputs;
  for (ValueId id : fused.graph.outputs) outputs.push_back(run.value(id));
  return outputs;
}

}  // namespace whet::testing
