#include "import_mxnet/import_mxnet.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "base/nearest.h"
#include "import_mxnet/params.h"
#include "import_mxnet/rows.h"
#include "tensor_files/file.h"

namespace whet {
namespace mxnet {
namespace {

namespace fs = std::filesystem;

/// The files of parameters beside a symbol: NAME-0001.params or NAME.params of NAME-symbol.json, in order.
std::vector<std::string> params_beside(const std::string& symbol, const std::string& folder) {
  std::string stem = fs::path(symbol).stem().string();
  if (stem.ends_with("-symbol")) stem.resize(stem.size() - 7);
  std::vector<std::string> found;
  std::error_code code;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".params") && (name == stem + ".params" || name.starts_with(stem + "-"))) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct Parameters {
  std::string file;  ///< empty: there is none
  std::map<std::string, Tensor> tensors;
};

Result<Parameters> read_parameters(const ModelSource& source) {
  Parameters parameters;
  if (source.directory.empty() && source.entry.empty() && !fs::path(source.what).has_extension()) return parameters;
  const std::vector<std::string> files = params_beside(source.what, source.directory);
  if (!source.entry.empty()) {
    if (std::find(files.begin(), files.end(), source.entry) == files.end())
      return Error{source.what + ": " + in_quotes(source.entry) + " is no file of its parameters beside it" +
                   did_you_mean(source.entry, files)};
    parameters.file = source.entry;
  } else if (!files.empty()) {
    parameters.file = files.back();
  }
  if (parameters.file.empty()) return parameters;
  const std::string path = (fs::path(source.directory) / parameters.file).string();
  WHET_TRY(const std::string bytes, read_file(path));
  WHET_TRY(parameters.tensors, parse_params(bytes, path));
  return parameters;
}

/// What nodes read: without labels.
std::vector<MxReference> read_by(const MxNode& node) {
  std::vector<MxReference> inputs = node.inputs;
  if (const std::size_t label = unread_label(node.op); label < inputs.size()) inputs.resize(label);
  return inputs;
}

/// Nodes that the heads need.
std::vector<bool> needed_nodes(const MxSymbol& symbol) {
  std::vector<bool> needed(symbol.nodes.size(), false);
  for (const MxReference& head : symbol.heads) needed[head.node] = true;
  for (std::size_t i = symbol.nodes.size(); i-- > 0;)
    if (needed[i])
      for (const MxReference& input : read_by(symbol.nodes[i])) needed[input.node] = true;
  return needed;
}

FileInput input_of(const MxNode& node) {
  FileInput input{node.name, DType::f32, std::nullopt};
  if (const auto found = node.attributes.find("__dtype__"); found != node.attributes.end()) {
    constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::u8, DType::i32, DType::i8, DType::i64};
    const std::string& number = found->second;
    const bool known = number.size() == 1 && number[0] >= '0' && number[0] <= '6';
    if (known) input.dtype = kTypes[number[0] - '0'];
  }
  const auto shape = node.attributes.find("__shape__");
  const auto extents = shape == node.attributes.end() ? std::nullopt : shape_in(shape->second);
  if (!extents || extents->empty()) return input;
  input.dimensions.emplace();
  for (const std::int64_t extent : *extents)
    input.dimensions->push_back({extent > 0 ? std::optional(extent) : std::nullopt, ""});
  return input;
}

/// Nodes that are layers' parameters.
std::set<std::size_t> parameter_nodes(const MxSymbol& symbol) {
  std::set<std::size_t> nodes;
  for (const MxNode& node : symbol.nodes)
    for (std::size_t i = first_parameter(node.op); i < node.inputs.size(); ++i)
      if (symbol.nodes[node.inputs[i].node].op == "null") nodes.insert(node.inputs[i].node);
  return nodes;
}

Error missing_parameter(const MxNode& node, const Parameters& parameters, const std::string& what) {
  if (!parameters.file.empty())
    return Error{what + ": " + parameters.file + " does not have the parameter " + in_quotes(node.name)};
  std::string stem = fs::path(what).stem().string();
  if (stem.ends_with("-symbol")) stem.resize(stem.size() - 7);
  return Error{what + ": has the parameter " + in_quotes(node.name) +
               ", and no file of parameters beside it; looked for " + stem + "-0000.params and the like"};
}

/// How many parts a tensor is split into, by their number or by where each begins.
std::size_t split_count(const MxNode& node) {
  constexpr std::int64_t kMost = 4096;
  const auto integers = [&](const char* name) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() ? std::nullopt : shape_in(found->second);
  };
  const auto sections = integers("sections"), indices = integers("indices");
  std::int64_t count = sections && sections->size() == 1 ? (*sections)[0] : 0;
  if (count <= 0 && indices) count = static_cast<std::int64_t>(indices->size());
  return static_cast<std::size_t>(std::clamp<std::int64_t>(count, 1, kMost));
}

std::size_t result_count(const MxNode& node) {
  const auto found = node.attributes.find("num_outputs");
  std::size_t count = node.op == "RNN" ? 3 : node.op == "topk" ? 2 : 1;
  if (found != node.attributes.end() && found->second.size() <= 4)
    count = static_cast<std::size_t>(std::max(std::atoi(found->second.c_str()), 1));
  return node.op == "_split_v2" ? split_count(node) : count;
}

Result<FileModel> file_model(MxSymbol read, Parameters parameters, const std::string& what) {
  const auto symbol = std::make_shared<MxSymbol>(std::move(read));
  const std::vector<bool> needed = needed_nodes(*symbol);
  const std::set<std::size_t> layers = parameter_nodes(*symbol);
  const auto places = std::make_shared<std::vector<std::size_t>>();
  constexpr std::size_t kMostResults = std::size_t{1} << 22;
  std::size_t results = 0;
  FileModel file;
  for (std::size_t i = 0; i < symbol->nodes.size(); ++i) {
    const MxNode& node = symbol->nodes[i];
    if (!needed[i]) continue;
    results += result_count(node);
    if (results > kMostResults)
      return Error{what + ": its nodes have more than " + std::to_string(kMostResults) + " results"};
    if (node.op == "null") {
      const auto found = parameters.tensors.find(node.name);
      if (found != parameters.tensors.end()) {
        file.constants.push_back({node.name, found->second});
      } else if (layers.contains(i)) {
        return missing_parameter(node, parameters, what);
      } else {
        file.inputs.push_back(input_of(node));
      }
      continue;
    }
    FileNode made{node.name + " (" + node.op + ")", node.op, {}, {}};
    for (const MxReference& input : read_by(node)) made.reads.push_back(value_name(*symbol, input));
    for (std::size_t k = 0; k < result_count(node); ++k) made.writes.push_back(value_name(*symbol, {i, k}));
    file.nodes.push_back(std::move(made));
    places->push_back(i);
  }
  std::set<std::string> given;
  for (const MxReference& head : symbol->heads) {
    const std::string name = value_name(*symbol, head);
    if (given.insert(name).second) file.outputs.push_back(name);
  }
  file.missing = [symbol, places](std::size_t i) {
    const std::string& op = symbol->nodes[(*places)[i]].op;
    return find_row(op) != nullptr ? std::vector<std::string>() : std::vector<std::string>{op};
  };
  file.import = [symbol, places](GrowingGraph& growing, std::size_t i) -> Status {
    const std::size_t place = (*places)[i];
    const MxNode& node = symbol->nodes[place];
    ValueIds inputs;
    Texts outputs;
    for (const MxReference& input : read_by(node)) {
      const std::string name = value_name(*symbol, input);
      if (!growing.defined(name))
        return Error{node.name + " (" + node.op + "): reads " + in_quotes(name) + ", which nothing before it defines"};
      inputs.push_back(growing.find(name));
    }
    for (std::size_t k = 0; k < result_count(node); ++k) outputs.push_back(value_name(*symbol, {place, k}));
    return MxSite(growing, node, inputs, outputs).import();
  };
  return file;
}

}  // namespace
}  // namespace mxnet

Result<FileModel> read_mxnet_model(ModelSource&& source) {
  WHET_TRY(mxnet::MxSymbol symbol, mxnet::parse_symbol(source.bytes, source.what));
  WHET_TRY(mxnet::Parameters parameters, mxnet::read_parameters(source));
  return mxnet::file_model(std::move(symbol), std::move(parameters), source.what);
}

}  // namespace whet
