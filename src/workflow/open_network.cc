#include "workflow/open_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/compile.h"
#include "device/cpu/opened_model.h"
#include "device/remote/cpu/remote_model.h"

namespace whet {
namespace {

bool is_switch(const TensorType& type) { return type.dtype == DType::boolean && type.shape == Shape{1}; }

std::int64_t switches_of(const Graph& graph) {
  return std::ranges::count_if(graph.inputs, [&](ValueId id) { return is_switch(graph.value(id).type); });
}

}  // namespace

Result<NetworkOpener> NetworkOpener::make(NetworkOptions network, Target target, const RecordFile& file,
                                          std::shared_ptr<ModelHost> host) {
  WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
  return NetworkOpener(std::move(network), std::move(target), file, std::move(host), std::move(scratch));
}

Result<RunNetwork> NetworkOpener::open(const FusedGraph& fused) {
  const bool joins = host_ != nullptr && switches_of(fused.graph) > 1;
  WHET_TRY(const FusedGraph network, joins ? with_joined_switches(fused) : Result<FusedGraph>(fused));
  const std::string path = fmt::format("{}/{}.so", scratch_.path(), opened_++);
  const ScheduleSource source = compiled_schedules(network_, &file_->records(), target_);
  WHET_TRY(const CompileReport report, compile_model(network, source, target_, path, {}));
  WHET_TRY(OpenedModel model,
           host_ == nullptr ? OpenedModel::open(path, network_.open) : open_elsewhere(host_, path, network_.open));
  return RunNetwork(
      [opened = std::make_shared<OpenedModel>(std::move(model)), joins](const std::vector<Tensor>& inputs) {
        return opened->run(joins ? joined_switches(inputs) : inputs);
      });
}

Result<FusedGraph> with_joined_switches(const FusedGraph& fused) {
  const Graph& from = fused.graph;
  const std::int64_t count = switches_of(from);
  if (count < 2) return fused;
  Graph graph;
  graph.name = from.name;
  std::map<ValueId, ValueId> now;
  for (ValueId id : from.inputs) {
    const Value& value = from.value(id);
    if (!is_switch(value.type)) graph.inputs.push_back(now[id] = graph.add_value(value.name, value.type));
  }
  const ValueId all = graph.add_value(from.name + "_switches", {DType::boolean, {count}});
  graph.inputs.push_back(all);
  std::int64_t place = 0;
  for (ValueId id : from.inputs)
    if (is_switch(from.value(id).type)) {
      WHET_TRY(now[id], graph.add_node(from.value(id).name, SliceOperator{{place++}, {1}, {1}}, {all}));
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
  return fuse(std::move(graph));
}

std::vector<Tensor> joined_switches(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> joined;
  std::vector<int> switches;
  for (const Tensor& input : inputs) {
    if (is_switch(input.type()))
      switches.push_back(input.integer(0) != 0 ? 1 : 0);
    else
      joined.push_back(input);
  }
  if (switches.size() < 2) return inputs;
  joined.push_back(Tensor::of<int>(DType::boolean, {std::ssize(switches)}, switches));
  return joined;
}

}  // namespace whet
