#include "import_onnx/import_onnx.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "import_onnx/held_types.h"
#include "import_onnx/rows.h"
#include "import_onnx/site.h"

namespace whet {
namespace {

/// What a model's closures share.
struct Nodes {
  OnnxModel model;
  /// What the functions that were asked for cannot read.
  std::map<const OnnxFunction*, std::set<std::string>> missing;
};

bool is_known(const OnnxModel& model, const OnnxNode& node, std::int64_t opset) {
  return called_function(model, node) != nullptr || find_importer(node.domain, node.op, opset) != nullptr;
}

/// What a node is called: its name, or its operator and position ("Conv_12").
std::string label_of(const OnnxNode& node, std::size_t index) {
  return node.name.empty() ? node.op + "_" + std::to_string(index) : node.name;
}

/// Operators that the body of a function, or of those that it calls, names and that nothing reads.
std::set<std::string> missing_in(const OnnxModel& model, const OnnxFunction& function) {
  std::set<std::string> missing;
  std::set<const OnnxFunction*> seen = {&function};
  std::vector<const OnnxFunction*> pending = {&function};
  while (!pending.empty()) {
    const OnnxFunction& next = *pending.back();
    pending.pop_back();
    for (const OnnxNode& node : next.body.nodes) {
      const OnnxFunction* called = called_function(model, node);
      if (called != nullptr && seen.insert(called).second) pending.push_back(called);
      if (!is_known(model, node, next.opset)) missing.insert(full_name(node));
    }
  }
  return missing;
}

std::vector<std::string> missing_of(Nodes& nodes, const OnnxNode& node) {
  const OnnxFunction* function = called_function(nodes.model, node);
  if (function == nullptr) {
    if (is_known(nodes.model, node, nodes.model.opset)) return {};
    return {full_name(node)};
  }
  auto found = nodes.missing.find(function);
  if (found == nodes.missing.end()) found = nodes.missing.emplace(function, missing_in(nodes.model, *function)).first;
  return {found->second.begin(), found->second.end()};
}

/// Operators without an importer in the bodies of branches and loops.
void find_missing(const OnnxModel& model, const std::vector<OnnxNode>& nodes, bool inner,
                  std::set<std::string>& missing) {
  for (const OnnxNode& node : nodes) {
    if (inner && !is_known(model, node, model.opset)) missing.insert(full_name(node));
    for (const OnnxAttribute& attribute : node.attributes) {
      const auto* body = std::get_if<std::shared_ptr<const OnnxSubgraph>>(&attribute.value);
      if (body != nullptr) find_missing(model, (*body)->nodes, true, missing);
    }
  }
}

FileNode file_node(const OnnxNode& node, std::size_t index) {
  FileNode result{label_of(node, index), node.op, node.inputs, node.outputs};
  result.reads.insert(result.reads.end(), node.captured.begin(), node.captured.end());
  std::erase(result.reads, "");
  return result;
}

}  // namespace

FileModel file_model(OnnxModel onnx) {
  FileModel file;
  file.name = onnx.graph_name;
  file.operator_set = "operator set " + std::to_string(onnx.opset);
  file.inputs = std::move(onnx.inputs);
  file.constants = std::move(onnx.initializers);
  file.outputs = std::move(onnx.outputs);
  for (std::size_t i = 0; i < onnx.nodes.size(); ++i) file.nodes.push_back(file_node(onnx.nodes[i], i));
  std::set<std::string> missing;
  find_missing(onnx, onnx.nodes, false, missing);
  file.missing_in_bodies.assign(missing.begin(), missing.end());
  const auto nodes = std::make_shared<Nodes>(Nodes{std::move(onnx), {}});
  file.missing = [nodes](std::size_t i) { return missing_of(*nodes, nodes->model.nodes[i]); };
  file.import = [nodes](GrowingGraph& graph, std::size_t i) {
    const OnnxModel& model = nodes->model;
    mark_held_types(graph, model, model.nodes[i]);
    const OnnxScope scope{model, model.opset, nullptr, nullptr, {}};
    return OnnxSite(graph, model.nodes[i], label_of(model.nodes[i], i), scope).import();
  };
  return file;
}

Result<FileModel> read_onnx_model(ModelSource&& file) {
  const bool native_types = file.options != nullptr && file.options->native_types;
  WHET_TRY(OnnxModel onnx, parse_onnx(std::move(file.bytes), file.directory, file.what, native_types));
  return file_model(std::move(onnx));
}

Result<Graph> import_onnx(OnnxModel onnx, const ImportOptions& options) {
  return import_file(file_model(std::move(onnx)), options);
}

}  // namespace whet
