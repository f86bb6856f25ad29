#include "import/onnx/until.h"

#include <algorithm>
#include <unordered_map>

#include "base/nearest.h"

namespace whet {
namespace {

/// What is known of a value while walking through the nodes in order.
struct Walked {
  bool varies = false;    ///< depends on an input
  bool readable = true;   ///< depends on no node that cannot be read
  bool is_asked = false;  ///< a node that cannot be read, or one behind it, reads it
};

/// Those that are left out have no name.
std::vector<std::string> reads_of(const OnnxNode& node) {
  std::vector<std::string> names = node.inputs;
  names.insert(names.end(), node.captured.begin(), node.captured.end());
  std::erase(names, "");
  return names;
}

}  // namespace

Status end_at(OnnxModel& model, const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const OnnxNode& node : model.nodes) known.insert(node.outputs.begin(), node.outputs.end());
  for (const OnnxInput& input : model.inputs) known.insert(input.name);
  for (const NamedTensor& initializer : model.initializers) known.insert(initializer.name);
  known.erase("");
  std::vector<std::string> outputs;
  for (const std::string& name : names) {
    if (!known.contains(name))
      return Error{"--until " + name + ": the model has no such value" +
                   did_you_mean(name, std::vector<std::string>(known.begin(), known.end()))};
    if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) outputs.push_back(name);
  }
  model.outputs = std::move(outputs);
  return ok_status();
}

void drop_unread_inputs(OnnxModel& model, const std::vector<std::size_t>& order) {
  std::set<std::string> read(model.outputs.begin(), model.outputs.end());
  for (const std::size_t index : order) {
    const std::vector<std::string> names = reads_of(model.nodes[index]);
    read.insert(names.begin(), names.end());
  }
  std::erase_if(model.inputs, [&](const OnnxInput& input) { return !read.contains(input.name); });
}

bool reads_any(const OnnxNode& node, const std::set<std::string>& values) {
  const std::vector<std::string> names = reads_of(node);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return values.contains(name); });
}

std::vector<std::string> last_readable(const OnnxModel& model, const std::vector<std::size_t>& order,
                                       const std::vector<bool>& unreadable) {
  std::unordered_map<std::string, Walked> values;
  for (const OnnxInput& input : model.inputs) values[input.name].varies = true;
  for (const std::size_t index : order) {
    const OnnxNode& node = model.nodes[index];
    Walked result{false, !unreadable[index], false};
    for (const std::string& name : reads_of(node)) {
      const Walked& read = values[name];
      result.varies |= read.varies;
      result.readable &= read.readable;
    }
    if (!result.readable)
      for (const std::string& name : reads_of(node)) values[name].is_asked = true;
    for (const std::string& output : node.outputs)
      if (!output.empty()) values[output] = result;
  }
  for (const std::string& output : model.outputs) values[output].is_asked = true;
  std::vector<std::string> names;
  for (const std::size_t index : order)
    for (const std::string& output : model.nodes[index].outputs) {
      const Walked& value = values[output];
      if (!output.empty() && value.varies && value.readable && value.is_asked) names.push_back(output);
    }
  return names;
}

}  // namespace whet
