#include "import/until.h"

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

}  // namespace

Status end_at(FileModel& model, const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const FileNode& node : model.nodes) known.insert(node.writes.begin(), node.writes.end());
  for (const FileInput& input : model.inputs) known.insert(input.name);
  for (const NamedTensor& constant : model.constants) known.insert(constant.name);
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

void drop_unread_inputs(FileModel& model, const std::vector<std::size_t>& order) {
  std::set<std::string> read(model.outputs.begin(), model.outputs.end());
  for (const std::size_t index : order) {
    const std::vector<std::string>& names = model.nodes[index].reads;
    read.insert(names.begin(), names.end());
  }
  std::erase_if(model.inputs, [&](const FileInput& input) { return !read.contains(input.name); });
}

bool reads_any(const FileNode& node, const std::set<std::string>& values) {
  return std::any_of(node.reads.begin(), node.reads.end(),
                     [&](const std::string& name) { return values.contains(name); });
}

std::vector<std::string> last_readable(const FileModel& model, const std::vector<std::size_t>& order,
                                       const std::vector<bool>& unreadable) {
  std::unordered_map<std::string, Walked> values;
  for (const FileInput& input : model.inputs) values[input.name].varies = true;
  for (const std::size_t index : order) {
    const FileNode& node = model.nodes[index];
    Walked result{false, !unreadable[index], false};
    for (const std::string& name : node.reads) {
      const Walked& read = values[name];
      result.varies |= read.varies;
      result.readable &= read.readable;
    }
    if (!result.readable)
      for (const std::string& name : node.reads) values[name].is_asked = true;
    for (const std::string& output : node.writes)
      if (!output.empty()) values[output] = result;
  }
  for (const std::string& output : model.outputs) values[output].is_asked = true;
  std::vector<std::string> names;
  for (const std::size_t index : order)
    for (const std::string& output : model.nodes[index].writes) {
      const Walked& value = values[output];
      if (!output.empty() && value.varies && value.readable && value.is_asked) names.push_back(output);
    }
  return names;
}

}  // namespace whet
