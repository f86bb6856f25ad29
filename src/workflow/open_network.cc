#include "workflow/open_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/compile.h"
#include "device/cpu/opened_model.h"
#include "device/remote/cpu/remote_model.h"

namespace whet {
Result<NetworkOpener> NetworkOpener::make(NetworkOptions network, Target target, const RecordFile& file,
                                          std::shared_ptr<ModelHost> host) {
  WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
  return NetworkOpener(std::move(network), std::move(target), file, std::move(host), std::move(scratch));
}

Result<RunNetwork> NetworkOpener::open(const FusedGraph& fused) {
  // A probe's inputs are the network's, then its switches.
  const std::size_t switches = fused.graph.inputs.size() - std::min(fused.graph.inputs.size(), network_.inputs.size());
  const std::size_t joined = host_ != nullptr && switches > 1 ? switches : 0;
  WHET_TRY(const FusedGraph network, joined > 0 ? with_joined_switches(fused, joined) : Result<FusedGraph>(fused));
  const std::string path = fmt::format("{}/{}.so", scratch_.path(), opened_++);
  const ScheduleSource source = compiled_schedules(network_, &file_->records(), target_);
  WHET_TRY(const CompileReport report, compile_model(network, source, target_, path, {}));
  WHET_TRY(OpenedModel model,
           host_ == nullptr ? OpenedModel::open(path, network_.open) : open_elsewhere(host_, path, network_.open));
  return RunNetwork(
      [opened = std::make_shared<OpenedModel>(std::move(model)), joined](const std::vector<Tensor>& inputs) {
        return opened->run(joined > 0 ? joined_switches(inputs, joined) : inputs);
      });
}

Result<FusedGraph> with_joined_switches(const FusedGraph& fused, std::size_t count) {
  const Graph& from = fused.graph;
  WHET_CHECK(count <= from.inputs.size());
  const std::size_t own = from.inputs.size() - count;
  FusedGraph joined;
  Graph& graph = joined.graph;
  graph.name = from.name;
  std::map<ValueId, ValueId> now;
  for (std::size_t i = 0; i < own; ++i) {
    const Value& value = from.value(from.inputs[i]);
    graph.inputs.push_back(now[from.inputs[i]] = graph.add_value(value.name, value.type));
  }
  const ValueId all = graph.add_value(from.name + "_switches", {DType::boolean, {static_cast<std::int64_t>(count)}});
  graph.inputs.push_back(all);
  for (std::size_t i = 0; i < count; ++i) {
    const ValueId id = from.inputs[own + i];
    WHET_TRY(now[id],
             graph.add_node(from.value(id).name, SliceOperator{{static_cast<std::int64_t>(i)}, {1}, {1}}, {all}));
    joined.groups.push_back(group_of(graph, {NodeId(static_cast<std::int64_t>(i))}));
  }
  const auto operand = [&](ValueId id) {
    const Value& value = from.value(id);
    if (value.constant && !now.contains(id)) now[id] = graph.add_constant(value.name, *value.constant);
    return now.at(id);
  };
  for (const Node& node : from.nodes) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(operand(id));
    WHET_TRY(now[node.output], graph.add_node(node.name, node.op, std::move(inputs)));
  }
  for (ValueId id : from.outputs) graph.outputs.push_back(operand(id));
  for (const Group& group : fused.groups) {
    std::vector<NodeId> nodes;  // behind those of the switches
    for (NodeId n : group.nodes) nodes.push_back(NodeId(static_cast<std::int64_t>(n.index() + count)));
    joined.groups.push_back(group_of(graph, nodes));
  }
  return joined;
}

std::vector<Tensor> joined_switches(const std::vector<Tensor>& inputs, std::size_t count) {
  const std::size_t own = inputs.size() - count;
  std::vector<Tensor> joined(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(own));
  std::vector<int> switches;
  for (std::size_t i = own; i < inputs.size(); ++i) switches.push_back(inputs[i].integer(0) != 0 ? 1 : 0);
  joined.push_back(Tensor::of<int>(DType::boolean, {std::ssize(switches)}, switches));
  return joined;
}

}  // namespace whet
