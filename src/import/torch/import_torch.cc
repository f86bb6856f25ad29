#include "import/torch/import_torch.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/nearest.h"
#include "import/torch/aliases.h"
#include "import/torch/archive.h"
#include "import/torch/rows.h"

namespace whet {
namespace torch {
namespace {

/// The operators of a program, and of bodies in it, that nothing reads.
void find_missing(const TorchProgram& program, std::set<std::string>& missing);
void find_missing(const Argument& argument, std::set<std::string>& missing) {
  if (const auto* body = std::get_if<std::shared_ptr<const TorchProgram>>(&argument.value))
    find_missing(**body, missing);
}
void find_missing(const TorchProgram& program, std::set<std::string>& missing) {
  for (const TorchNode& node : program.nodes) {
    if (find_row(node.op) == nullptr) missing.insert(node.op + reason_against(node.op));
    for (const auto& [name, argument] : node.arguments) find_missing(argument, missing);
  }
}

/// Writes of bodies are taken out too.
Result<TorchProgram> functional(TorchProgram program, std::set<std::string>& written) {
  for (TorchNode& node : program.nodes) {
    for (auto& [name, argument] : node.arguments) {
      auto* body = std::get_if<std::shared_ptr<const TorchProgram>>(&argument.value);
      if (body == nullptr) continue;
      std::set<std::string> inner;
      WHET_TRY(TorchProgram pure, functional(**body, inner));
      if (!inner.empty()) return Error{node.label + ": its body writes into its input " + in_quotes(*inner.begin())};
      *body = std::make_shared<const TorchProgram>(std::move(pure));
    }
  }
  return without_writes(std::move(program), written);
}

Status check_written(const TorchModel& model, const std::set<std::string>& written, const std::string& what) {
  for (const std::string& input : written) {
    const auto buffer = model.buffers.find(input);
    if (buffer == model.buffers.end()) continue;
    if (buffer->second.ends_with("num_batches_tracked"))
      return Error{what + ": was exported in training mode; in Python: model.eval() before torch.export.export"};
    return Error{what + ": keeps state from call to call: it writes to its buffer " + in_quotes(buffer->second)};
  }
  return ok_status();
}

FileNode file_node(const TorchNode& node) {
  FileNode result{node.label, node.op, {}, node.outputs};
  for (const auto& [name, argument] : node.arguments) collect_names(argument, result.reads);
  return result;
}

void rename(Argument& argument, const std::map<std::string, std::string>& names) {
  if (auto* name = std::get_if<Name>(&argument.value)) {
    const auto found = names.find(name->name);
    if (found != names.end()) name->name = found->second;
  }
  if (auto* list = std::get_if<Arguments>(&argument.value))
    for (Argument& each : *list) rename(each, names);
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
  for (TorchNode& node : model.program.nodes)
    for (auto& [name, argument] : node.arguments) rename(argument, names);
  for (Name& output : model.program.outputs) renamed(output.name);
}

/// What the closures of a model share.
struct Shared {
  TorchProgram program;
  std::vector<std::string> outputs;  ///< for users, behind the nodes
};

}  // namespace

FileModel file_model(TorchModel model) {
  FileModel file;
  file.name = model.name == "model" ? "" : model.name;
  file.inputs = std::move(model.inputs);
  file.constants = std::move(model.constants);
  std::set<std::string> taken;
  for (const Name& input : model.program.inputs) taken.insert(input.name);
  for (const TorchNode& node : model.program.nodes) {
    file.nodes.push_back(file_node(node));
    taken.insert(node.outputs.begin(), node.outputs.end());
    std::set<std::string> missing;
    for (const auto& [name, argument] : node.arguments) find_missing(argument, missing);
    file.missing_in_bodies.insert(file.missing_in_bodies.end(), missing.begin(), missing.end());
  }
  const auto shared = std::make_shared<Shared>(Shared{std::move(model.program), {}});
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
    std::vector<std::string> missing;
    if (i >= shared->program.nodes.size()) return missing;
    const std::string& op = shared->program.nodes[i].op;
    if (find_row(op) == nullptr) missing.push_back(op + reason_against(op));
    return missing;
  };
  file.import = [shared](GrowingGraph& graph, std::size_t i) -> Status {
    const TorchProgram& program = shared->program;
    if (i >= program.nodes.size()) {
      const std::size_t output = i - program.nodes.size();
      graph.define(shared->outputs[output], graph.find(program.outputs[output].name));
      return ok_status();
    }
    WHET_RETURN_IF_ERROR(TorchSite(graph, program.nodes[i], program).import());
    return check_types(graph, program.nodes[i], program);
  };
  return file;
}

}  // namespace torch

Result<FileModel> read_pt2_model(ModelSource&& source) {
  WHET_TRY(torch::TorchModel model, torch::read_archive(source, source.entry));
  std::set<std::string> written;
  WHET_TRY(model.program, torch::functional(std::move(model.program), written));
  WHET_RETURN_IF_ERROR(torch::check_written(model, written, source.what));
  torch::use_input_names(model);
  return torch::file_model(std::move(model));
}

}  // namespace whet
