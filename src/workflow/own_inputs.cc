#include "workflow/own_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/given.h"

namespace whet {
namespace {

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

/// Whether a node may read where elements of its inputs point to.
bool has_own_operator(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const auto* own = std::get_if<CustomOperator>(&node.op);
    return own != nullptr && !is_elementwise(*own);
  });
}

}  // namespace

void mark_contents(const InputFiles& files, Graph& graph) {
  if (files.named.empty() || !has_own_operator(graph)) return;
  for (Value& value : graph.values)
    if (const auto file = files.named.find(value.name); file != files.named.end() && file->second.type() == value.type)
      value.contents = number_of_contents(bytes_of(file->second));
}

void unmark_contents(Graph& graph) {
  for (Value& value : graph.values) value.contents = 0;
}

void keep_contents(const InputFiles& files, const std::vector<Task>& tasks) {
  std::vector<std::uint64_t> wanted;
  for (const Task& task : tasks) wanted.insert(wanted.end(), task.inputs.contents.begin(), task.inputs.contents.end());
  if (wanted.empty()) return;
  for (const auto& [name, tensor] : files.named)
    if (std::ranges::find(wanted, number_of_contents(bytes_of(tensor))) != wanted.end())
      keep_given(std::string(bytes_of(tensor)));
}

InputHashes input_hashes(const std::vector<Task>& tasks) {
  InputHashes hashes;
  for (const Task& task : tasks)
    if (!task.inputs.hash.empty()) hashes.emplace(task.key, task.inputs.hash);
  return hashes;
}

std::string count_inputs(Records& records, const std::vector<Task>& tasks, bool any) {
  if (any) return records.count_inputs(std::nullopt), "";
  records.count_inputs(input_hashes(tasks));
  std::vector<std::string> keys;
  for (const Task& task : tasks) keys.push_back(task.key);
  const std::vector<std::string> others = records.other_inputs(keys);
  if (others.empty()) return "";
  return fmt::format("records of other inputs ({}) are not used; --any-inputs uses them", fmt::join(others, ", "));
}

}  // namespace whet
