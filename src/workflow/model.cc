#include "workflow/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "base/nearest.h"
#include "device/cpu/opened_model.h"
#include "formats/input_names.h"
#include "formats/load_tensors.h"
#include "tensor_files/file.h"
#include "workflow/options.h"
#include "workflow/own_inputs.h"

namespace whet {
namespace {

Error no_such_input(const std::string& name, const std::vector<std::string>& names) {
  return Error{fmt::format("--input: the model has no input \"{}\"; it takes {}{}", name, fmt::join(names, ", "),
                           did_you_mean(name, names))};
}

/// --batch, --image and --layout make a built-in network.
Status check_for_file(const ModelOptions& options) {
  const std::pair<const char*, bool> given[] = {{"--batch", options.batch != 0}, {"--image", options.image != 0}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      return Error{fmt::format("{} is for built-in networks, zoo:NAME; of {}, --shape NAME=1x3x224x224 binds the sizes "
                               "of an input that the file leaves open",
                               option, options.model),
                   ErrorKind::wrong_use};
  if (options.layout.empty()) return ok_status();
  return Error{fmt::format("--layout is for built-in networks, zoo:NAME; {} has the order of dimensions that its file "
                           "says",
                           options.model),
               ErrorKind::wrong_use};
}

ImportOptions import_options_of(const ModelOptions& options) {
  ImportOptions import;
  import.until = options.until;
  import.opened = options.opened;
  import.entry = options.entry;
  import.native_types = options.native_types;
  import.zoo.seed = options.seed;
  if (options.batch != 0) import.zoo.batch = options.batch;
  if (options.image != 0) import.zoo.image = options.image;
  if (options.layout == "nhwc") import.zoo.layout = Layout::channels_last;
  return import;
}

/// Reads the files of --define.
Result<OperatorDefinitions> read_definitions(const std::vector<std::string>& entries) {
  OperatorDefinitions definitions;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error{fmt::format("--define {}: expected OPERATOR=FILE.dag", entry), ErrorKind::wrong_use};
    const std::string file = entry.substr(equals + 1);
    Result<std::string> text = read_file(file);
    if (!text.ok()) return text.error().at("--define");
    if (!definitions.emplace(entry.substr(0, equals), OperatorDefinition{file, std::move(*text)}).second)
      return Error{fmt::format("--define {}: the operator is defined twice", entry), ErrorKind::wrong_use};
  }
  return definitions;
}

/// An entry of --input: the name of an input, "" where there is none, and the path of a file.
using NamedPath = std::pair<std::string, std::string>;

/// All ways to take it apart.
std::vector<NamedPath> readings(const std::string& entry) {
  std::vector<NamedPath> all = {{"", entry}};
  for (std::size_t at = entry.find('='); at != std::string::npos; at = entry.find('=', at + 1))
    if (at > 0) all.emplace_back(entry.substr(0, at), entry.substr(at + 1));
  return all;
}

/// Where neither files nor names decide: a path begins with a folder that is there.
NamedPath usual_reading(const std::string& entry) {
  const std::size_t equals = entry.find('='), slash = entry.rfind('/', equals);
  std::error_code code;
  if (slash != std::string::npos && std::filesystem::is_directory(entry.substr(0, slash + 1), code)) return {"", entry};
  return {entry.substr(0, equals), entry.substr(equals + 1)};
}

/// The names of the model's inputs; none where it cannot be read, which is somebody else's sentence.
std::vector<std::string> names_of_inputs(const ModelOptions& options) {
  std::vector<std::string> names;
  if (!options.is_compiled()) {
    const auto read = input_names(options.model, import_options_of(options));
    return read.ok() ? *read : names;
  }
  const Result<OpenedModel> model = OpenedModel::open(options.model);
  if (model.ok())
    for (const OpenedModel::Named& input : model->inputs()) names.push_back(input.name);
  return names;
}

Result<NamedPath> split_entry(const std::string& entry, const ModelOptions& options) {
  std::vector<NamedPath> there = readings(entry);
  std::erase_if(there, [](const NamedPath& reading) {
    std::error_code code;
    return !std::filesystem::exists(reading.second, code) || std::filesystem::is_directory(reading.second, code);
  });
  if (there.size() == 1) return there.front();
  if (entry.find('=') == std::string::npos) return NamedPath{"", entry};
  const std::vector<std::string> names = names_of_inputs(options);
  std::string longest;
  for (const std::string& name : names)
    if (name.size() > longest.size() && entry.starts_with(name + "=")) longest = name;
  if (!longest.empty()) return NamedPath{longest, entry.substr(longest.size() + 1)};
  const NamedPath usual = there.empty() ? usual_reading(entry) : there.front();
  if (there.empty() && !usual.first.empty() && !names.empty()) return no_such_input(usual.first, names);
  return usual;
}

std::vector<std::string> names_of(const std::vector<InputSlot>& slots) {
  std::vector<std::string> names;
  for (const InputSlot& slot : slots) names.push_back(slot.name);
  return names;
}

Tensor filled(const TensorType& type, const std::string& fill, Rng& rng) {
  if (fill == "random") return Tensor::random(type, rng);
  Tensor tensor(type.dtype, type.shape);
  if (fill == "ones")
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, 1);
  return tensor;
}

Result<Tensor> checked(const InputSlot& slot, Tensor tensor) {
  if (tensor.type() == slot.type) return tensor;
  const Shape &given = tensor.shape(), &taken = slot.type.shape;
  const bool may_bind =
      slot.is_imported && tensor.dtype() == slot.type.dtype && given.size() == taken.size() && tensor.size() > 0;
  std::string extents;
  for (const std::int64_t extent : given) extents += (extents.empty() ? "" : "x") + std::to_string(extent);
  return Error{
      "input " + slot.name + ": " + to_string(tensor.type()) + " was given; the model takes " + to_string(slot.type) +
      (may_bind ? "; where the file leaves dimensions open, --shape " + slot.name + "=" + extents + " binds them"
                : "")};
}

}  // namespace

std::string ModelOptions::name() const {
  std::string name = model;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();  // a folder
  name.erase(0, name.find_last_of("/:") + 1);
  if (const std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.erase(dot);
  return name;
}

std::string ModelOptions::text() const {
  const ModelOptions usual;
  std::string said = model;
  const auto say = [&](const std::string& name, const auto& value, const auto& unsaid) {
    if (value != unsaid) said += fmt::format(" {} {}", name, value);
  };
  for (const std::string& shape : shapes) say("--shape", shape, "");
  for (const std::string& size : sizes) say("--sizes", size, "");
  for (const std::string& name : until) say("--until", name, "");
  for (const std::string& definition : define) say("--define", definition, "");
  say("--entry", entry, "");
  if (native_types) said += " --native-types";
  for (const std::string& input : inputs) say("--input", input, "");
  if (is_built_in()) say("--seed", seed, usual.seed);
  say("--batch", batch, usual.batch);
  say("--image", image, usual.image);
  say("--layout", layout, usual.layout);
  return said;
}

Result<InputFiles> read_inputs(const ModelOptions& options) {
  InputFiles files;
  for (const std::string& entry : options.inputs) {
    WHET_TRY(const NamedPath split, split_entry(entry, options));
    const auto& [name, path] = split;
    if (!name.empty()) {
      WHET_TRY(files.named[name], load_tensor(path));
      continue;
    }
    WHET_TRY(const std::vector<NamedTensor> tensors, load_tensors(path));
    for (const NamedTensor& each : tensors) {
      if (each.name.empty())
        files.unnamed.push_back(each.tensor);
      else
        files.named[each.name] = each.tensor;
    }
  }
  return files;
}

Result<InputFiles> read_named_inputs(const ModelOptions& options) {
  WHET_TRY(InputFiles files, read_inputs(options));
  if (files.unnamed.empty()) return files;
  return unnamed_value();
}

Error unnamed_value() {
  return Error{"--input: a value that decides shapes is known by its input's name; expected NAME=FILE.npy",
               ErrorKind::wrong_use};
}

Result<Graph> load_graph(const ModelOptions& options, const InputFiles& files) {
  if (!options.is_built_in()) WHET_RETURN_IF_ERROR(check_for_file(options));
  ImportOptions import = import_options_of(options);
  WHET_TRY(import.shapes, parse_shapes(options.shapes));
  WHET_TRY(import.definitions, read_definitions(options.define));
  import.values = files.named;
  WHET_TRY(Graph graph, import_model(options.model, import));
  if (!options.is_built_in()) return graph;
  // What import checks of a file.
  const std::vector<InputSlot> slots = input_slots(graph);
  for (const auto& [name, value] : files.named)
    if (std::ranges::find(slots, name, &InputSlot::name) == slots.end()) return no_such_input(name, names_of(slots));
  return graph;
}

Result<FusedGraph> load_fused(const ModelOptions& options, const InputFiles& files, const PassOptions& passes) {
  WHET_TRY(const Graph graph, load_graph(options, files));
  WHET_TRY(FusedGraph fused, optimize(graph, passes));
  mark_contents(files, fused.graph);
  return fused;
}

std::vector<InputSlot> input_slots(const Graph& graph) {
  std::vector<InputSlot> slots;
  for (ValueId id : graph.inputs) slots.push_back({graph.value(id).name, graph.value(id).type, true});
  return slots;
}

InputFiles without_folded(const ModelOptions& options, const std::vector<InputSlot>& slots, InputFiles files) {
  if (options.is_compiled() || options.is_built_in()) return files;
  std::erase_if(files.named, [&](const auto& file) {
    return std::none_of(slots.begin(), slots.end(), [&](const InputSlot& slot) { return slot.name == file.first; });
  });
  return files;
}

Result<std::vector<Tensor>> match_inputs(const std::vector<InputSlot>& slots, const InputFiles& files,
                                         const std::string& fill, std::uint64_t seed) {
  std::map<std::string, Tensor> named = files.named;
  std::size_t next_unnamed = 0;
  std::vector<Tensor> tensors;
  Rng rng(seed);
  for (const InputSlot& slot : slots) {
    Tensor tensor;
    if (const auto found = named.find(slot.name); found != named.end()) {
      tensor = found->second;
      named.erase(found);
    } else if (next_unnamed < files.unnamed.size()) {
      tensor = files.unnamed[next_unnamed++];
    } else if (!fill.empty()) {
      tensor = filled(slot.type, fill, rng);
    } else {
      return Error{"input " + slot.name + " " + to_string(slot.type) + " is missing; give --input " + slot.name +
                   "=FILE.npy, or --fill random"};
    }
    WHET_TRY(tensor, checked(slot, held_as(tensor, slot.type.dtype)));
    tensors.push_back(std::move(tensor));
  }
  if (!named.empty()) return no_such_input(named.begin()->first, names_of(slots));
  if (next_unnamed < files.unnamed.size()) {
    return Error{"--input: " + std::to_string(files.unnamed.size()) + " unnamed tensors were given; the model has " +
                 counted(std::ssize(slots), "input")};
  }
  return tensors;
}

}  // namespace whet
