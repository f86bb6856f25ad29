#include "import_torch/script_trace.h"

#include <algorithm>

#include "base/nearest.h"
#include "import_torch/rows.h"
#include "import_torch/site.h"

namespace whet::torch {
namespace {

/// Arguments that count places or classes: of type i64 where nothing says what an input is.
struct IntegerArgument {
  std::string_view op, argument;
  std::size_t place;
};
constexpr IntegerArgument kIntegers[] = {
    {"aten.embedding", "indices", 1},     {"aten.index", "indices", 1},        {"aten.index_select", "index", 2},
    {"aten.gather", "index", 2},          {"aten.take_along_dim", "index", 1}, {"aten.scatter", "index", 2},
    {"aten.scatter_add", "index", 2},     {"aten.one_hot", "self", 0},         {"aten.index_add", "index", 2},
    {"aten.index_put", "indices", 1},     {"aten.index_copy", "index", 2},     {"aten.index_fill", "index", 2},
    {"aten.embedding_bag", "indices", 1}, {"aten.scatter_reduce", "index", 2}, {"aten.searchsorted", "sorter", 5},
};

std::string base_of(const std::string& op) { return op.substr(0, op.rfind('.')); }

}  // namespace

void ScriptTrace::add_input(const std::string& name, const TensorType& type, const Tensor* value) {
  names_.insert(name);
  graph_.define(name, value != nullptr ? graph_.graph.add_constant(name, *value) : graph_.add_input(name, type));
  writes_.define(name);
  program_.inputs.push_back({name});
}

ScriptTensor ScriptTrace::add_constant(const std::string& wanted, const Tensor& tensor) {
  const std::string name = unique(wanted);
  const bool is_state = states_.contains(name);
  graph_.define(name, is_state ? graph_.add_input(name, tensor.type()) : graph_.graph.add_constant(name, tensor));
  writes_.define(name);
  program_.inputs.push_back({name});
  if (is_state) state_inputs.push_back(input_like(name, tensor));
  if (!is_state) constants.push_back({name, tensor});
  return {name};
}

std::string ScriptTrace::unique(const std::string& name) {
  std::string made = name;
  while (!names_.insert(made).second) made = name + "_" + std::to_string(++last_[name]);
  return made;
}

Result<std::vector<ScriptTensor>> ScriptTrace::call(const Call& call) {
  const std::size_t dot = call.op.find('.') + 1;
  std::string word = call.op.substr(dot, call.op.rfind('.') - dot);
  if (word.size() > 1 && word.ends_with('_')) word.pop_back();
  TorchNode node{call.op, (call.path.empty() ? "" : call.path + "/") + word, call.arguments, {}};
  std::vector<ScriptTensor> results;
  for (const bool wanted : call.wanted) {
    node.outputs.push_back(wanted ? unique((call.path.empty() ? "" : call.path + ".") + word) : "");
    results.push_back({node.outputs.back()});
  }
  find_integer_inputs(node);
  WHET_RETURN_IF_ERROR(writes_.add(node));
  WHET_RETURN_IF_ERROR(import_nodes());
  return results;
}

Status ScriptTrace::import_nodes() {
  for (TorchNode& node : writes_.take_nodes()) {
    const Status status = TorchSite(graph_, node, program_).import();
    program_.nodes.push_back(std::move(node));
    if (status.ok()) continue;
    failed_ = program_.nodes.back().label;
    return status;
  }
  return ok_status();
}

Result<std::string> ScriptTrace::current(const ScriptTensor& tensor) {
  WHET_TRY(const std::string name, writes_.current(tensor.name, tensor.name));
  WHET_RETURN_IF_ERROR(import_nodes());
  if (!graph_.defined(name)) return Error{in_quotes(name) + " is read, and it is no tensor that is supported"};
  return name;
}

Result<TensorType> ScriptTrace::type(const ScriptTensor& tensor) {
  WHET_TRY(const std::string name, current(tensor));
  const ValueId value = graph_.find(name);
  const std::vector<ValueId>* parts = graph_.sequence(value);
  return graph_.graph.value(parts != nullptr ? parts->front() : value).type;
}

Result<bool> ScriptTrace::is_complex(const ScriptTensor& tensor) {
  WHET_TRY(const std::string name, current(tensor));
  return graph_.sequence(graph_.find(name)) != nullptr;
}

Result<bool> ScriptTrace::is_known(const ScriptTensor& tensor) {
  WHET_TRY(const std::string name, current(tensor));
  return NodeSite(graph_, name, {}).constant(graph_.find(name)) != nullptr;
}

Result<std::set<std::size_t>> ScriptTrace::counted(const ScriptTensor& tensor) {
  WHET_TRY(const std::string name, current(tensor));
  std::set<std::size_t> dimensions;
  for (const auto& [d, count] : graph_.counted(graph_.find(name))) dimensions.insert(d);
  return dimensions;
}

Result<bool> ScriptTrace::is_size(const ScriptTensor& tensor) {
  WHET_TRY(const std::string name, current(tensor));
  return graph_.bounds(graph_.find(name)) != nullptr;
}

Result<Tensor> ScriptTrace::known(const ScriptTensor& tensor, const std::string& what) {
  WHET_TRY(const std::string name, current(tensor));
  return NodeSite(graph_, name, {}).known(graph_.find(name), what);
}

/// Inputs that come to such a place as they are or in another shape.
void ScriptTrace::find_integer_inputs(const TorchNode& node) {
  for (const IntegerArgument& row : kIntegers) {
    if (base_of(node.op) != row.op) continue;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const auto& [name, argument] = node.arguments[i];
      if (name.empty() ? i != row.place : name != row.argument) continue;
      std::vector<std::string> read;
      collect_names(argument, read);
      for (const std::string& each : read) {
        if (!graph_.defined(each)) continue;
        const ValueId id = graph_.find(each);
        if (!is_float(graph_.graph.value(id).type.dtype)) continue;
        for (const std::string& input : graph_.inputs_behind(id)) integer_inputs_.insert(input);
      }
    }
  }
}

}  // namespace whet::torch
