#include "import_tf/import_tensorflow.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/nearest.h"
#include "import_tf/reader.h"
#include "import_tf/rows.h"
#include "import_tf/tfjs.h"
#include "import_tf/variables.h"
#include "tensor_files/file.h"

namespace whet {
namespace tensorflow {
namespace {

bool makes_variable(const TfNode& node) {
  return node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
}
bool is_placeholder(const TfNode& node) { return node.op == "Placeholder"; }
const TfTensor* constant_of(const TfNode& node) {
  const TfAttribute* value = node.op == "Const" ? node.find("value") : nullptr;
  return value == nullptr ? nullptr : std::get_if<TfTensor>(value);
}

/// "node" of "node:0".
std::string normal(const std::string& value) {
  return value.ends_with(":0") ? value.substr(0, value.size() - 2) : value;
}

/// What a model is besides its graph: the values that are its outputs, by their names for users, and the same of its inputs.
struct Ends {
  std::vector<TfEnd> inputs, outputs;
};

/// Without a signature, outputs are what no node reads.
Ends ends_of_graph(const TfGraph& graph) {
  std::set<std::string> read, waited_for, switches;
  for (const TfNode& node : graph.nodes) {
    for (const std::string& input : node.inputs) read.insert(node_of(input));
    waited_for.insert(node.controls.begin(), node.controls.end());
    if (node.op == "Switch") switches.insert(node.name);
  }
  // Constants of a branch wait for the result of its Switch.
  for (const TfNode& node : graph.nodes)
    if (node.inputs.size() == 1 && switches.contains(node_of(node.inputs[0])) && waited_for.contains(node.name))
      read.insert(node.name);
  const std::set<std::string> silent = {"Const",      "Placeholder", "NoOp",   "Assert",           "VarHandleOp",
                                        "VariableV2", "SaveV2",      "Assign", "AssignVariableOp", "VarIsInitializedOp",
                                        "RestoreV2"};
  Ends ends;
  for (const TfNode& node : graph.nodes) {
    if (read.contains(node.name) || silent.contains(node.op) || node.name == node_of(graph.restore_node)) continue;
    for (std::size_t k = 0; k < answer_count(node); ++k) {
      const std::string value = value_name(node.name, k);
      ends.outputs.push_back({value, value, {}, {false, {}}});
    }
  }
  return ends;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Result<Ends> choose_signature(const TfGraph& graph, const std::string& entry, const std::string& what) {
  std::vector<std::string> keys;
  for (const auto& [key, signature] : graph.signatures)
    if (!signature.outputs.empty() && key != "__saved_model_init_op") keys.push_back(key);
  const bool known = std::find(keys.begin(), keys.end(), entry) != keys.end();
  if (!entry.empty() && !known)
    return Error{what + ": has no signature " + in_quotes(entry) + did_you_mean(entry, keys) +
                 (keys.empty() ? "; it has none" : "; it has " + listed(keys))};
  const std::string usual = "serving_default";
  const bool has_usual = std::find(keys.begin(), keys.end(), usual) != keys.end();
  if (keys.empty()) return ends_of_graph(graph);
  if (entry.empty() && !has_usual && keys.size() > 1)
    return Error{what + ": has the signatures " + listed(keys) + "; --entry NAME chooses one"};
  const TfSignature& signature = graph.signatures.at(!entry.empty() ? entry : has_usual ? usual : keys[0]);
  return Ends{signature.inputs, signature.outputs};
}

FileInput input_of(const TfNode& node, const TfEnd* said) {
  FileInput input{node.name, std::nullopt, std::nullopt};
  const TfAttribute *type = node.find("dtype"), *shape = node.find("shape");
  if (const auto* own = type == nullptr ? nullptr : std::get_if<TfType>(type)) input.dtype = dtype_of(*own);
  const TfShape* extents = said != nullptr && said->shape.has_rank ? &said->shape : nullptr;
  if (const auto* own = shape == nullptr ? nullptr : std::get_if<TfShape>(shape); extents == nullptr && own != nullptr)
    extents = own;
  if (extents == nullptr || !extents->has_rank) return input;
  input.dimensions.emplace();
  for (const std::int64_t extent : extents->extents)
    input.dimensions->push_back({extent >= 0 ? std::optional(extent) : std::nullopt, ""});
  return input;
}

/// Operators that no importer reads, of a body and of those in it.
void find_missing(Bodies& bodies, const TfNode& node, std::set<std::string>& seen, std::vector<std::string>& missing) {
  const auto look = [&](const std::string& function) {
    if (!seen.insert(function).second) return;
    const auto body = bodies.body(function);
    if (!body.ok()) return;  // an error where it is imported
    for (const TfNode& inner : (*body)->nodes) {
      if (find_row(inner.op) == nullptr) missing.push_back(inner.op + reason_against(inner.op));
      find_missing(bodies, inner, seen, missing);
    }
  };
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* function = std::get_if<TfFunctionName>(&attribute)) look(function->name);
    if (const auto* list = std::get_if<TfList>(&attribute))
      for (const std::string& function : list->functions) look(function);
  }
}

/// What the closures of a model share.
struct Shared {
  Shared(TfProgram p, std::map<std::string, TfFunction> functions)
      : program(std::move(p)), bodies(std::move(functions)) {}
  TfProgram program;
  Bodies bodies;
  std::vector<std::size_t> places;                           ///< of the file's nodes in the program
  std::vector<std::vector<std::string>> results;             ///< of each
  std::vector<std::pair<std::string, std::string>> outputs;  ///< names for users, and values
};

/// Inputs are called as in the signature where no other node of the graph is.
std::map<std::string, std::string> input_names(const TfGraph& graph, const Ends& ends) {
  std::set<std::string> taken;
  for (const TfNode& node : graph.nodes) taken.insert(node.name);
  std::map<std::string, std::string> names;
  for (const TfEnd& input : ends.inputs) {
    const std::string own = normal(input.value);
    if (own != input.key && own == node_of(own) && taken.insert(input.key).second) names[own] = input.key;
  }
  return names;
}

/// Constants, inputs and variables are no nodes of the model.
Status add_given(const TfNode& node, const Ends& ends, const std::map<std::string, std::string>& renamed,
                 Variables& variables, FileModel& file) {
  if (const TfTensor* constant = constant_of(node)) {
    if (const auto* tensor = std::get_if<Tensor>(constant)) file.constants.push_back({node.name, *tensor});
    if (const auto* unread = std::get_if<TfUnread>(constant)) return Error{label_of(node) + ": " + unread->reason};
    return ok_status();
  }
  if (makes_variable(node)) {
    WHET_TRY(Tensor value, variables.read(node));
    file.constants.push_back({node.name, std::move(value)});
    return ok_status();
  }
  const TfEnd* said = nullptr;
  for (const TfEnd& input : ends.inputs) {
    const auto name = renamed.find(normal(input.value));
    if (node.name == (name == renamed.end() ? normal(input.value) : name->second)) said = &input;
  }
  file.inputs.push_back(input_of(node, said));
  return ok_status();
}

/// In the order of the signature.
void sort_inputs(const Ends& ends, const std::map<std::string, std::string>& renamed, FileModel& file) {
  const auto place = [&](const FileInput& input) {
    for (std::size_t i = 0; i < ends.inputs.size(); ++i) {
      const auto name = renamed.find(normal(ends.inputs[i].value));
      if (input.name == (name == renamed.end() ? normal(ends.inputs[i].value) : name->second)) return i;
    }
    return ends.inputs.size();
  };
  std::stable_sort(file.inputs.begin(), file.inputs.end(),
                   [&](const FileInput& a, const FileInput& b) { return place(a) < place(b); });
}

void add_node(const TfNode& node, Shared& shared, std::size_t i, FileModel& file) {
  FileNode made{label_of(node), node.op, node.inputs, {}};
  made.reads.insert(made.reads.end(), node.controls.begin(), node.controls.end());
  for (std::size_t k = 0; k < result_count(node); ++k) made.writes.push_back(value_name(node.name, k));
  shared.places.push_back(i);
  shared.results.push_back(made.writes);
  file.nodes.push_back(std::move(made));
}

/// Outputs are second names of values, called as in the signature.
void add_outputs(const Ends& ends, const std::vector<std::string>& values, Shared& shared, FileModel& file) {
  std::set<std::string> taken, given;
  for (const TfNode& node : shared.program.nodes) taken.insert(node.name);
  for (const FileNode& node : file.nodes) taken.insert(node.writes.begin(), node.writes.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string name = normal(ends.outputs[i].key);
    if (name == values[i] && given.insert(name).second) {
      file.outputs.push_back(name);
      continue;
    }
    while (!taken.insert(name).second) name += "_";
    given.insert(name);
    file.nodes.push_back({name, "output", {values[i]}, {name}});
    file.outputs.push_back(name);
    shared.outputs.emplace_back(name, values[i]);
  }
}

Status check_written(const TfProgram& program, const std::string& what) {
  for (const TfNode& node : program.nodes)
    if (makes_variable(node) && program.written.contains(node.name))
      return Error{what + ": keeps state from call to call: it writes to its variable " + in_quotes(node.name)};
  return ok_status();
}

Result<FileModel> file_model(TfGraph graph, const Ends& ends, Variables variables, const std::string& what) {
  if (ends.outputs.empty()) return Error{what + ": its graph has no outputs"};
  const std::map<std::string, std::string> renamed = input_names(graph, ends);
  std::vector<std::string> roots;
  for (const TfEnd& output : ends.outputs) roots.push_back(output.value);
  WHET_TRY(TfProgram program, inlined_graph(graph, roots, renamed, what));
  WHET_RETURN_IF_ERROR(check_written(program, what));
  const auto shared = std::make_shared<Shared>(std::move(program), std::move(graph.functions));
  const std::vector<TfNode>& nodes = shared->program.nodes;
  constexpr std::size_t kMostResults = std::size_t{1} << 20;
  std::size_t results = 0;
  FileModel file;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_of_branch = !nodes[i].controls.empty();  // perhaps it is not there
    if ((constant_of(nodes[i]) != nullptr && !is_of_branch) || makes_variable(nodes[i]) || is_placeholder(nodes[i])) {
      WHET_RETURN_IF_ERROR(add_given(nodes[i], ends, renamed, variables, file));
    } else {
      results += result_count(nodes[i]);
      if (results > kMostResults)
        return Error{what + ": its nodes have more than " + std::to_string(kMostResults) + " results"};
      add_node(nodes[i], *shared, i, file);
      find_missing(shared->bodies, nodes[i], seen, file.missing_in_bodies);
    }
  }
  sort_inputs(ends, renamed, file);
  add_outputs(ends, shared->program.outputs, *shared, file);
  file.missing = [shared](std::size_t i) {
    if (i >= shared->places.size()) return std::vector<std::string>();
    const std::string& op = shared->program.nodes[shared->places[i]].op;
    if (find_row(op) != nullptr) return std::vector<std::string>();
    return std::vector<std::string>{op + reason_against(op)};
  };
  file.import = [shared](GrowingGraph& growing, std::size_t i) -> Status {
    if (i >= shared->places.size()) {
      const auto& [name, value] = shared->outputs[i - shared->places.size()];
      growing.define(name, growing.find(value));
      return ok_status();
    }
    const TfNode& node = shared->program.nodes[shared->places[i]];
    return TfSite(growing, node, label_of(node), shared->results[i], shared->bodies).import();
  };
  return file;
}

}  // namespace
}  // namespace tensorflow

Result<FileModel> read_graph_def_model(ModelSource&& source) {
  WHET_TRY(tensorflow::TfGraph graph, tensorflow::parse_graph_def(source.bytes, source.what));
  if (!source.entry.empty()) return Error{source.what + ": a GraphDef has no signatures for --entry to choose from"};
  const tensorflow::Ends ends = tensorflow::ends_of_graph(graph);
  return tensorflow::file_model(std::move(graph), ends, {}, source.what);
}

Result<FileModel> read_saved_model(ModelSource&& source) {
  if (source.bytes.empty()) {
    WHET_TRY(source.bytes, read_file((std::filesystem::path(source.directory) / "saved_model.pb").string()));
  }
  WHET_TRY(tensorflow::TfGraph graph, tensorflow::parse_saved_model(source.bytes, source.what));
  std::string().swap(source.bytes);
  WHET_TRY(const tensorflow::Ends ends, tensorflow::choose_signature(graph, source.entry, source.what));
  WHET_TRY(tensorflow::Variables variables, tensorflow::Variables::open(source.directory, graph));
  return tensorflow::file_model(std::move(graph), ends, variables, source.what);
}

Result<FileModel> read_tfjs_model(ModelSource&& source) {
  if (source.bytes.empty()) {
    WHET_TRY(source.bytes, read_file((std::filesystem::path(source.directory) / "model.json").string()));
  }
  WHET_TRY(tensorflow::TfGraph graph, tensorflow::parse_tfjs(source.bytes, source.directory, source.what));
  WHET_TRY(const tensorflow::Ends ends, tensorflow::choose_signature(graph, source.entry, source.what));
  return tensorflow::file_model(std::move(graph), ends, {}, source.what);
}

}  // namespace whet
