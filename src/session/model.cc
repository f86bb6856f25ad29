#include "session/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/nearest.h"
#include "import/load_tensors.h"
#include "session/options.h"

namespace whet {
namespace {

/// "name=path" apart; the name is "" where there is none. A path may hold "=" behind its first slash.
std::pair<std::string, std::string> split_entry(const std::string& entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string::npos || entry.find('/') < equals) return {"", entry};
  return {entry.substr(0, equals), entry.substr(equals + 1)};
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

Error no_such_input(const std::string& name, const std::vector<InputSlot>& slots) {
  std::vector<std::string> names;
  std::string listed;
  for (const InputSlot& slot : slots) {
    names.push_back(slot.name);
    listed += (listed.empty() ? "" : ", ") + slot.name;
  }
  return Error{"--input: the model has no input \"" + name + "\"; it takes " + listed + did_you_mean(name, names)};
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
  for (const std::string& name : until) say("--until", name, "");
  say("--entry", entry, "");
  for (const std::string& input : inputs) say("--input", input, "");
  if (model.starts_with("zoo:")) say("--seed", seed, usual.seed);
  say("--batch", batch, usual.batch);
  say("--image", image, usual.image);
  say("--layout", layout, usual.layout);
  return said;
}

Result<InputFiles> read_inputs(const std::vector<std::string>& entries) {
  InputFiles files;
  for (const std::string& entry : entries) {
    const auto [name, path] = split_entry(entry);
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

Result<Graph> load_graph(const ModelOptions& options, const InputFiles& files) {
  ImportOptions import_options;
  WHET_TRY(import_options.shapes, parse_shapes(options.shapes));
  import_options.values = files.named;
  import_options.until = options.until;
  import_options.entry = options.entry;
  import_options.zoo.batch = options.batch;
  import_options.zoo.image = options.image;
  import_options.zoo.seed = options.seed;
  import_options.zoo.layout = options.layout == "nhwc" ? Layout::channels_last : Layout::channels_first;
  return import_model(options.model, import_options);
}

Result<FusedGraph> load_fused(const ModelOptions& options, const InputFiles& files, const PassOptions& passes) {
  WHET_TRY(Graph graph, load_graph(options, files));
  return optimize(std::move(graph), passes);
}

std::vector<InputSlot> input_slots(const Graph& graph) {
  std::vector<InputSlot> slots;
  for (ValueId id : graph.inputs) slots.push_back({graph.value(id).name, graph.value(id).type, true});
  return slots;
}

InputFiles without_folded(const ModelOptions& options, const std::vector<InputSlot>& slots, InputFiles files) {
  if (options.is_compiled() || options.model.starts_with("zoo:")) return files;
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
    WHET_TRY(tensor, checked(slot, std::move(tensor)));
    tensors.push_back(std::move(tensor));
  }
  if (!named.empty()) return no_such_input(named.begin()->first, slots);
  if (next_unnamed < files.unnamed.size()) {
    return Error{"--input: " + std::to_string(files.unnamed.size()) + " unnamed tensors were given; the model has " +
                 counted(std::ssize(slots), "input")};
  }
  return tensors;
}

}  // namespace whet
