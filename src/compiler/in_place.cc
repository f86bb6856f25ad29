#include "compiler/in_place.h"

#include <algorithm>
#include <optional>

namespace whet {
namespace {

constexpr std::uint64_t kLine = 64;

class Finder {
 public:
  Finder(const FusedGraph& fused, const std::vector<Task>& tasks) : fused_(fused) {
    readers_.resize(graph().values.size());
    for (const Node& node : graph().nodes)
      for (ValueId input : node.inputs) ++readers_[input.index()];
    for (ValueId output : graph().outputs) ++readers_[output.index()];
    for (const Task& task : tasks)
      for (int g : task.groups) writers_[group(g).outputs.front()] = task.dag.op(task.dag.outputs.front()).shape;
  }

  InPlace run() {
    InPlace found;
    found.done.resize(fused_.groups.size(), false);
    for (std::size_t g = 0; g < fused_.groups.size(); ++g) {
      const Group& candidate = fused_.groups[g];
      if (candidate.nodes.size() != 1) continue;
      const Node& node = graph().node(candidate.nodes.front());
      const auto* concat = std::get_if<ConcatOperator>(&node.op);
      if (!concat || is_output(node.output)) continue;
      const std::optional<std::vector<PartOf>> parts = parts_of(node, static_cast<std::size_t>(concat->axis));
      if (!parts) continue;
      for (std::size_t i = 0; i < parts->size(); ++i) found.parts[node.inputs[i]] = (*parts)[i];
      found.done[g] = true;
      writers_.erase(node.output);  // no kernel writes it whole: it is copied into another concatenation
    }
    return found;
  }

 private:
  const Graph& graph() const { return fused_.graph; }
  const Group& group(int g) const { return fused_.groups[static_cast<std::size_t>(g)]; }
  bool is_output(ValueId value) const { return std::ranges::count(graph().outputs, value) > 0; }

  std::optional<std::vector<PartOf>> parts_of(const Node& concat, std::size_t axis) const {
    const TensorType& whole = graph().value(concat.output).type;
    std::uint64_t line = static_cast<std::uint64_t>(size_of(whole.dtype));
    for (std::size_t k = axis + 1; k < whole.shape.size(); ++k) line *= static_cast<std::uint64_t>(whole.shape[k]);
    const bool contiguous = std::all_of(whole.shape.begin(), whole.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                                        [](std::int64_t extent) { return extent == 1; });
    // Kernels may see rows and columns as one dimension, which a part must then have whole.
    if (!contiguous && axis + 1 != whole.shape.size()) return std::nullopt;
    std::vector<PartOf> parts;
    std::uint64_t offset = 0;
    for (ValueId input : concat.inputs) {
      const auto writer = writers_.find(input);
      if (writer == writers_.end() || writer->second != graph().value(input).type.shape) return std::nullopt;
      if (readers_[input.index()] != 1 || offset % kLine != 0) return std::nullopt;
      parts.push_back({concat.output, contiguous ? Shape() : whole.shape, offset});
      offset += line * static_cast<std::uint64_t>(graph().value(input).type.shape[axis]);
    }
    return parts;
  }

  const FusedGraph& fused_;
  std::vector<int> readers_;          ///< by value: nodes' operands and outputs of the graph
  std::map<ValueId, Shape> writers_;  ///< what kernels write, in the shape in which they see it
};

}  // namespace

InPlace find_in_place(const FusedGraph& fused, const std::vector<Task>& tasks) { return Finder(fused, tasks).run(); }

Result<std::vector<Task>> kernel_tasks(const FusedGraph& fused, const Target& target) {
  WHET_TRY(std::vector<Task> tasks, extract_tasks(fused, target));
  const InPlace in_place = find_in_place(fused, tasks);
  for (Task& task : tasks) {
    std::erase_if(task.groups, [&](int g) { return in_place.done[static_cast<std::size_t>(g)]; });
    task.weight = static_cast<int>(task.groups.size());
  }
  std::erase_if(tasks, [](const Task& task) { return task.weight == 0; });
  return tasks;
}

PlacedTasks placed(const FusedGraph& fused, const std::vector<Task>& tasks, const InPlace& in_place) {
  PlacedTasks result;
  for (const Task& task : tasks) {
    std::map<Shape, std::vector<int>> groups;
    for (int g : task.groups) {
      if (in_place.done[static_cast<std::size_t>(g)]) continue;
      const auto part = in_place.parts.find(fused.groups[static_cast<std::size_t>(g)].outputs.front());
      groups[part == in_place.parts.end() ? Shape() : part->second.shape].push_back(g);
    }
    for (auto& [within, members] : groups) {
      Task part = task;
      part.weight = static_cast<int>(members.size());
      part.groups = std::move(members);
      result.tasks.push_back(std::move(part));
      result.within.push_back(within);
    }
  }
  return result;
}

}  // namespace whet
