#include "import/growing.h"

#include <algorithm>

#include "import/fold_shape.h"
#include "import/limits.h"

namespace whet {
namespace {

/// All folded constants together; beyond it nodes stay nodes.
constexpr std::int64_t kMaxFoldedBytes = std::int64_t{512} << 20;

/// Whether a product has no terms; its operands then get one, so that their type can be inferred.
bool sums_nothing(const Operator& op, std::vector<TensorType>& types) {
  const auto* product = std::get_if<MatMulOperator>(&op);
  if (product == nullptr || types.size() != 2 || types[0].shape.size() < 2 || types[1].shape.size() < 2) return false;
  std::int64_t& left = types[0].shape.end()[product->transpose_a ? -2 : -1];
  std::int64_t& right = types[1].shape.end()[product->transpose_b ? -1 : -2];
  if (left != 0 || right != 0) return false;
  left = right = 1;
  return true;
}

ImportLimits& limits() {
  static ImportLimits all;
  return all;
}

}  // namespace

const ImportLimits& import_limits() { return limits(); }
void set_import_limits(const ImportLimits& given) { limits() = given; }

std::string GrowingGraph::unique(const std::string& name, Names& taken) {
  if (taken.insert(name).second) return name;
  int& number = taken.last[name];
  while (true) {
    std::string candidate = name + "_" + std::to_string(++number);
    if (taken.insert(candidate).second) return candidate;
  }
}

void GrowingGraph::release(const std::string& name, const std::string& given, Names& taken) {
  taken.erase(given);
  if (given != name) --taken.last[name];  // numbers below are taken
}

const OperatorDefinition* GrowingGraph::definition_of(const std::string& op) {
  if (definitions_ == nullptr) return nullptr;
  const auto found = definitions_->find(op);
  if (found == definitions_->end()) return nullptr;
  used_definitions_.insert(op);
  return &found->second;
}

std::string GrowingGraph::unused_definition() const {
  if (definitions_ == nullptr) return "";
  for (const auto& [op, definition] : *definitions_)
    if (!used_definitions_.contains(op)) return op;
  return "";
}

Status GrowingGraph::check_growth(const std::string& label) const {
  constexpr std::size_t kMostValues = std::size_t{1} << 19;
  constexpr std::int64_t kMostMadeBytes = std::int64_t{1} << 30;
  if (graph.values.size() <= kMostValues && made_bytes_ <= kMostMadeBytes) return ok_status();
  return Error{label + ": the network grows beyond " + std::to_string(kMostValues) +
               " values, or beyond 1 GiB of constants that its operators make"};
}

Status GrowingGraph::count_inlined(const std::string& label, std::size_t values) {
  constexpr std::size_t kValuesOfANode = 16;  // as many names are looked up as fast as a node is imported
  inlined_nodes_ += 1 + static_cast<std::int64_t>(values / kValuesOfANode);
  const std::int64_t most = import_limits().inlined_nodes;
  if (inlined_nodes_ <= most) return ok_status();
  return Error{label + ": functions, branches and loops become more than " + std::to_string(most) + " nodes"};
}

bool GrowingGraph::folding_ended() const {
  return folded_bytes_ >= kMaxFoldedBytes || folding_work_ >= import_limits().folding_work;
}

const Node* GrowingGraph::maker(ValueId id) const {
  const auto node = makers_.find(id.value);
  return node == makers_.end() ? nullptr : &graph.nodes[node->second];
}

ValueId GrowingGraph::add_input(const std::string& name, TensorType type) {
  graph.inputs.push_back(graph.add_value(name, std::move(type)));
  return graph.inputs.back();
}

ValueId GrowingGraph::add_sequence(const std::string& name, DType dtype, std::vector<ValueId> values) {
  const ValueId id = graph.add_value(unique_value_name(name), TensorType{dtype, {0}});
  made_bytes_ += static_cast<std::int64_t>(values.size() * sizeof(ValueId));
  sequences_.emplace(id.value, std::move(values));
  return id;
}

ValueId GrowingGraph::add_absent(const std::string& name) {
  const ValueId id = add_sequence(name, DType::f32, {});
  absent_.insert(id.value);
  return id;
}

const std::vector<ValueId>* GrowingGraph::sequence(ValueId id) const {
  const auto found = sequences_.find(id.value);
  return found == sequences_.end() ? nullptr : &found->second;
}

Result<ValueId> GrowingGraph::add_step(const std::string& label, const std::string& part, const Operator& op,
                                       std::vector<ValueId> inputs) {
  const std::string name = label + "/" + part;
  WHET_TRY(const Step step, add(label, name, unique_value_name(name), op, std::move(inputs)));
  return step.value;
}

Result<GrowingGraph::Step> GrowingGraph::add(const std::string& label, const std::string& node_name,
                                             const std::string& value_name, const Operator& op,
                                             std::vector<ValueId> inputs) {
  for (ValueId id : inputs) {
    if (sequence(id) != nullptr)
      return Error{label + ": \"" + graph.value(id).name + "\" is " +
                   (is_absent(id) ? "an optional value that is not there" : "a sequence")};
  }
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (ValueId id : inputs) types.push_back(graph.value(id).type);
  const auto empty = [&](ValueId id) { return num_elements(graph.value(id).type.shape) == 0; };
  const auto as_constant = [&](Tensor tensor) {
    return Step{graph.add_constant(value_name, std::move(tensor)), node_name, std::nullopt};
  };
  const bool is_zero = sums_nothing(op, types);
  WHET_TRY(const TensorType type, infer_type(label, op, types));
  if (is_zero && num_elements(type.shape) > kMaxFoldedElements)
    return Error{label + ": computes " + to_string(type) + " as sums of nothing; this is not supported"};
  // Empty tensors end here: they are constants, and nothing is concatenated with them.
  if (num_elements(type.shape) == 0 || is_zero) return as_constant(Tensor(type.dtype, type.shape));
  if (std::holds_alternative<ConcatOperator>(op)) std::erase_if(inputs, empty);
  if (std::any_of(inputs.begin(), inputs.end(), empty)) {
    return Error{label + ": computes " + to_string(type) + " from an empty tensor; this is not supported"};
  }
  if (const auto* concat = std::get_if<ConcatOperator>(&op); concat && counts_along(inputs, {concat->axis}))
    return add_joined(label, node_name, value_name, *concat, std::move(inputs));
  if (const auto* mean = std::get_if<ReduceOperator>(&op);
      mean && mean->kind == ReduceKind::mean && is_float(type.dtype) && counts_along(inputs, mean->axes))
    return add_mean(label, node_name, value_name, *mean, std::move(inputs));
  const bool scatters =
      std::holds_alternative<ScatterElementsOperator>(op) || std::holds_alternative<ScatterNdOperator>(op);
  if (scatters && !(counted(inputs[1]).empty() && counted(inputs[2]).empty()))
    return add_scattered(label, node_name, value_name, op, std::move(inputs));
  WHET_TRY(Counted counted, count_result(label, op, inputs, type));
  std::vector<const Tensor*> constants;
  for (ValueId id : inputs) {
    if (graph.value(id).constant) constants.push_back(&*graph.value(id).constant);
  }
  if (constants.size() == inputs.size() && !folding_ended()) {
    WHET_TRY(std::optional<Tensor> folded, fold_shape(label, op, constants, type));
    if (folded) {
      folding_work_ += folding_work(op, constants, type);
      if (!std::holds_alternative<ReshapeOperator>(op)) folded_bytes_ += folded->bytes();
      Step step = as_constant(std::move(*folded));
      set_counted(step.value, std::move(counted));
      return step;
    }
  }
  std::optional<Bounds> bounds = bounds_of_result(op, inputs, type);
  const ValueId id = graph.add_value(value_name, type);
  graph.nodes.push_back({unique(node_name, node_names_), op, std::move(inputs), id});
  makers_.emplace(id.value, graph.nodes.size() - 1);
  if (bounds) bounds_.emplace(id.value, std::move(*bounds));
  set_counted(id, std::move(counted));
  return Step{id, node_name, graph.nodes.size() - 1};
}

void GrowingGraph::rename(const Step& step, const std::string& node_name, const std::string& value_name) {
  std::string& value = graph.value(step.value).name;
  release(step.name, value, value_names_);
  value = value_name;
  if (!step.node) return;
  std::string& node = graph.nodes[*step.node].name;
  release(step.name, node, node_names_);
  node = unique(node_name, node_names_);
}

std::vector<std::string> GrowingGraph::inputs_behind(ValueId id) const {
  std::vector<bool> behind(graph.values.size(), false);
  behind[id.index()] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!behind[node->output.index()]) continue;
    for (ValueId input : node->inputs) behind[input.index()] = true;
  }
  std::vector<std::string> names;
  for (ValueId input : graph.inputs) {
    if (behind[input.index()]) names.push_back(graph.value(input).name);
  }
  return names;
}

}  // namespace whet
