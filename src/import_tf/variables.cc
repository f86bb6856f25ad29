#include "import_tf/variables.h"

#include <cstdio>
#include <filesystem>

#include "base/nearest.h"
#include "import_tf/inline.h"
#include "import_tf/reader.h"
#include "import_tf/table.h"
#include "tensor_files/file.h"

namespace whet::tensorflow {
namespace {

constexpr const char* kObjects = "_CHECKPOINTABLE_OBJECT_GRAPH";

std::string shard_path(const std::string& prefix, std::int64_t shard, std::int64_t count) {
  char ending[64];
  std::snprintf(ending, sizeof(ending), ".data-%05lld-of-%05lld", static_cast<long long>(shard),
                static_cast<long long>(count));
  return prefix + ending;
}

Result<std::string> entry_bytes(const BundleEntry& entry, const std::string& prefix, std::int64_t shards,
                                WeightFiles& files, const std::string& what) {
  if (entry.shard < 0 || entry.shard >= shards || entry.offset < 0 || entry.size < 0)
    return Error{what + " stands in file " + std::to_string(entry.shard) + " of " + std::to_string(shards)};
  return files.read(shard_path(prefix, entry.shard, shards), static_cast<std::uint64_t>(entry.offset),
                    static_cast<std::uint64_t>(entry.size));
}

/// A text of a checkpoint: its length, a checksum of four bytes, and itself.
std::string text_of_entry(const std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) >= 0x80) ++at;
  return at + 5 <= bytes.size() ? bytes.substr(at + 5) : "";
}

/// The keys by which the file itself restores its variables: nodes that assign what RestoreV2 reads.
void find_restored(const TfGraph& graph, std::map<std::string, std::string>& keys) {
  // The node or the function that restores assigns as a side effect: its nodes are looked at one by one.
  const auto scan = [&](const std::vector<TfNode>& nodes, const std::map<std::string, std::string>& arguments) {
    std::map<std::string, const TfNode*> places;
    for (const TfNode& node : nodes) places.emplace(node.name, &node);
    const auto behind = [&](std::string text) -> std::pair<const TfNode*, std::size_t> {
      for (int steps = 0; steps < 8; ++steps) {
        const std::size_t last = text.rfind(':');
        const std::string number = last == std::string::npos ? "0" : text.substr(last + 1);
        const auto found = places.find(text.substr(0, text.find(':')));
        if (found == places.end()) return {nullptr, 0};
        if (found->second->op != "Identity" || found->second->inputs.empty())
          return {found->second, number.size() < 6 ? static_cast<std::size_t>(std::atoi(number.c_str())) : 0};
        text = found->second->inputs[0];
      }
      return {nullptr, 0};
    };
    for (const TfNode& node : nodes) {
      if ((node.op != "AssignVariableOp" && node.op != "Assign") || node.inputs.size() < 2) continue;
      const auto [restore, place] = behind(node.inputs[1]);
      if (restore == nullptr || restore->op != "RestoreV2" || restore->inputs.size() < 2) continue;
      const TfNode* names = behind(restore->inputs[1]).first;
      const TfAttribute* value = names == nullptr ? nullptr : names->find("value");
      const auto* tensor = value == nullptr ? nullptr : std::get_if<TfTensor>(value);
      const auto* texts = tensor == nullptr ? nullptr : std::get_if<TfText>(tensor);
      if (texts == nullptr || place >= texts->elements.size()) continue;
      const std::string variable = node.inputs[0].substr(0, node.inputs[0].find(':'));
      const auto argument = arguments.find(variable);
      keys.emplace(argument == arguments.end() ? variable : argument->second, texts->elements[place]);
    }
  };
  scan(graph.nodes, {});
  for (const TfNode& node : graph.nodes) {
    if (node.name != node_of(graph.restore_node)) continue;
    const TfAttribute* attribute = node.find("f");
    const auto* called = attribute == nullptr ? nullptr : std::get_if<TfFunctionName>(attribute);
    const auto function = called == nullptr ? graph.functions.end() : graph.functions.find(called->name);
    if (function == graph.functions.end() || function->second.arguments.size() > node.inputs.size()) continue;
    std::map<std::string, std::string> arguments;
    for (std::size_t i = 0; i < function->second.arguments.size(); ++i)
      arguments[function->second.arguments[i]] = node_of(node.inputs[i]);
    scan(function->second.nodes, arguments);
  }
}

}  // namespace

Result<Variables> Variables::open(const std::string& folder, const TfGraph& graph) {
  Variables variables;
  std::error_code code;
  const std::filesystem::path prefix = std::filesystem::path(folder) / "variables" / "variables";
  variables.prefix_ = prefix.string();
  const std::string index = variables.prefix_ + ".index";
  if (!std::filesystem::exists(index, code)) return variables;
  WHET_TRY(const std::string bytes, read_file(index));
  WHET_TRY(variables.entries_, parse_table(bytes, index));
  WHET_TRY(variables.shards_, parse_bundle_header(variables.entries_[""], index));
  find_restored(graph, variables.keys_);
  const auto objects = variables.entries_.find(kObjects);
  if (objects == variables.entries_.end()) return variables;
  WHET_TRY(const BundleEntry entry, parse_bundle_entry(objects->second, index));
  WHET_TRY(const std::string text, entry_bytes(entry, variables.prefix_, variables.shards_, variables.files_,
                                               index + ": its graph of objects"));
  WHET_TRY(const auto names, parse_object_graph(text_of_entry(text), index));
  for (const auto& [name, key] : names) variables.keys_.emplace(name, key);
  return variables;
}

Result<Tensor> Variables::value_of(const std::string& key, const std::string& entry, const std::string& node) {
  if (const auto known = values_.find(key); known != values_.end()) return known->second;
  const std::string what = node + ": the variable " + in_quotes(key);
  WHET_TRY(const BundleEntry place, parse_bundle_entry(entry, what));
  WHET_TRY(const std::string bytes, entry_bytes(place, prefix_, shards_, files_, what));
  WHET_TRY(Tensor value, tensor_of_bytes(place.type, place.shape.extents, bytes, what));
  return values_.emplace(key, std::move(value)).first->second;
}

Result<Tensor> Variables::read(const TfNode& node) {
  const TfAttribute* attribute = node.find("shared_name");
  const auto* shared = attribute == nullptr ? nullptr : std::get_if<std::string>(attribute);
  for (const std::string& name : {node.name, shared == nullptr ? node.name : *shared}) {
    const auto key = keys_.find(name);
    const auto entry = entries_.find(key == keys_.end() ? name : key->second);
    if (name.empty() || entry == entries_.end()) continue;
    return value_of(entry->first, entry->second, node.name);
  }
  const std::string name = shared == nullptr || shared->empty() ? node.name : *shared;
  if (entries_.empty())
    return Error{node.name + ": is the variable " + in_quotes(name) + ", and no file has its value (" + prefix_ +
                 ".index)"};
  return Error{node.name + ": is the variable " + in_quotes(name) + ", which " + prefix_ + ".index does not have"};
}

}  // namespace whet::tensorflow
