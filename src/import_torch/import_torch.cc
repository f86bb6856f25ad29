#include "import_torch/import_torch.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/nearest.h"
#include "import_torch/aliases.h"
#include "import_torch/archive.h"
#include "import_torch/rows.h"

namespace whet {
namespace torch {
namespace {

/// Operators that nothing reads, and what is said of them: with the line of the first one.
using Missing = std::map<std::string, std::string>;
void find_missing(const TorchNode& node, Missing& missing) {
  if (find_row(node.op) == nullptr)
    missing.emplace(node.op, at_line(node, {node.op + reason_against(node.op)}).message);
}
/// The same of programs and bodies in them.
void find_missing(const TorchProgram& program, Missing& missing);
void find_missing(const Argument& argument, Missing& missing) {
  if (const auto* body = std::get_if<std::shared_ptr<const TorchProgram>>(&argument.value))
    find_missing(**body, missing);
}
void find_missing(const TorchProgram& program, Missing& missing) {
  for (const TorchNode& node : program.nodes) {
    find_missing(node, missing);
    for (const auto& [name, argument] : node.arguments) find_missing(argument, missing);
  }
}

/// Writes of bodies are taken out too.
Result<TorchProgram> functional(TorchProgram program, Written& written) {
  for (TorchNode& node : program.nodes) {
    for (auto& [name, argument] : node.arguments) {
      auto* body = std::get_if<std::shared_ptr<const TorchProgram>>(&argument.value);
      if (body == nullptr) continue;
      Written inner;
      WHET_TRY(TorchProgram pure, functional(**body, inner));
      if (!inner.empty())
        return at_line(node, {node.label + ": its body writes into its input " + in_quotes(inner.begin()->first)});
      *body = std::make_shared<const TorchProgram>(std::move(pure));
    }
  }
  return without_writes(std::move(program), written);
}

/// Buffers that the program changes become inputs, behind the others, and what they become outputs: "cache" and "cache_next".
Status carry_state(TorchModel& model, const Written& written, const std::string& what) {
  for (const auto& [input, value] : written)
    if (const auto buffer = model.buffers.find(input); buffer != model.buffers.end())
      model.new_states[buffer->second] = value;
  for (const Name& input : model.program.inputs) {
    const auto buffer = model.buffers.find(input.name);
    const auto state = buffer == model.buffers.end() ? model.new_states.end() : model.new_states.find(buffer->second);
    if (state == model.new_states.end()) continue;
    const auto& [name, value] = *state;
    if (name.ends_with("num_batches_tracked"))
      return Error{what + ": was exported in training mode; in Python: model.eval() before torch.export.export"};
    if (value.empty())
      return Error{what + ": keeps state from call to call: it writes into what may be a part of its buffer " +
                   in_quotes(name) + "; in Python: save after program = program.run_decompositions()"};
    const auto is_it = [&](const NamedTensor& constant) { return constant.name == input.name; };
    const auto before = std::find_if(model.constants.begin(), model.constants.end(), is_it);
    if (before != model.constants.end()) {
      model.inputs.push_back(input_like(input.name, before->tensor));
      model.input_names[input.name] = name;
      model.constants.erase(before);
    }
    model.program.outputs.push_back({value});
    model.output_names.push_back(name + "_next");
  }
  return ok_status();
}

FileNode file_node(const TorchNode& node) {
  FileNode result{node.label, node.op, {}, node.outputs};
  for (const auto& [name, argument] : node.arguments) collect_names(argument, result.reads);
  return result;
}

/// Inputs are called as the arguments of `forward`, where no other value is.
void use_input_names(TorchModel& model) {
  std::set<std::string> taken;
  for (const TorchNode& node : model.program.nodes) taken.insert(node.outputs.begin(), node.outputs.end());
  for (const Name& input : model.program.inputs) taken.insert(input.name);
  std::map<std::string, std::string> names;
  for (const auto& [own, wanted] : model.input_names)
    if (own != wanted && taken.insert(wanted).second) names[own] = wanted;
  if (names.empty()) return;
  const auto renamed = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (Name& input : model.program.inputs) renamed(input.name);
  for (FileInput& input : model.inputs) renamed(input.name);
  rename_reads(model.program, names);
}

/// What the closures of a model share.
struct Shared {
  TorchProgram program;
  Missing missing;                   ///< of its nodes
  std::vector<std::string> outputs;  ///< for users, behind the nodes
};

}  // namespace

FileModel file_model(TorchModel model) {
  FileModel file;
  file.name = model.name == "model" ? "" : model.name;
  file.inputs = std::move(model.inputs);
  file.constants = std::move(model.constants);
  std::set<std::string> taken;
  Missing missing, in_bodies;
  for (const Name& input : model.program.inputs) taken.insert(input.name);
  for (const TorchNode& node : model.program.nodes) {
    file.nodes.push_back(file_node(node));
    taken.insert(node.outputs.begin(), node.outputs.end());
    find_missing(node, missing);
    for (const auto& [name, argument] : node.arguments) find_missing(argument, in_bodies);
  }
  for (const auto& [op, text] : in_bodies) file.missing_in_bodies.push_back(text);
  const auto shared = std::make_shared<Shared>(Shared{std::move(model.program), std::move(missing), {}});
  for (std::size_t i = 0; i < shared->program.outputs.size(); ++i) {
    std::string name = model.output_names[i];
    while (!taken.insert(name).second) name += "_";
    file.nodes.push_back({name, "output", {shared->program.outputs[i].name}, {name}});
    file.outputs.push_back(name);
    shared->outputs.push_back(name);
  }
  if (!model.guards.empty()) {
    file.check_shapes = [guards = std::move(model.guards)](const ShapesByName& shapes) {
      return check_guards(guards, shapes);
    };
  }
  file.missing = [shared](std::size_t i) {
    if (i >= shared->program.nodes.size()) return std::vector<std::string>();
    const auto found = shared->missing.find(shared->program.nodes[i].op);
    return found == shared->missing.end() ? std::vector<std::string>() : std::vector<std::string>{found->second};
  };
  file.import = [shared](GrowingGraph& graph, std::size_t i) -> Status {
    const TorchProgram& program = shared->program;
    if (i >= program.nodes.size()) {
      const std::size_t output = i - program.nodes.size();
      graph.define(shared->outputs[output], graph.find(program.outputs[output].name));
      return ok_status();
    }
    const TorchNode& node = program.nodes[i];
    Status status = TorchSite(graph, node, program).import();
    if (status.ok()) status = check_types(graph, node, program);
    return status.ok() ? status : at_line(node, status.error());
  };
  return file;
}

}  // namespace torch

Result<FileModel> read_pt2_model(ModelSource&& source) {
  WHET_TRY(torch::TorchModel model, torch::read_archive(source, source.entry));
  torch::Written written;
  WHET_TRY(model.program, torch::functional(std::move(model.program), written));
  WHET_RETURN_IF_ERROR(torch::carry_state(model, written, source.what));
  torch::use_input_names(model);
  return torch::file_model(std::move(model));
}

}  // namespace whet
