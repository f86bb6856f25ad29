#include "task/in_place.h"

#include <algorithm>
#include <optional>

namespace whet {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<Group>& groups, const std::vector<Shape>& layouts)
      : graph_(graph), groups_(groups) {
    readers_.resize(graph.values.size());
    is_output_.resize(graph.values.size(), false);
    for (const Node& node : graph.nodes)
      for (ValueId input : node.inputs) ++readers_[input.index()];
    for (ValueId output : graph.outputs) ++readers_[output.index()], is_output_[output.index()] = true;
    writers_.resize(graph.values.size());
    for (std::size_t g = 0; g < groups.size(); ++g)
      writers_[groups[g].outputs.front().index()] = {&layouts[g], groups[g].outputs.size() == 1};
  }

  InPlace run() {
    InPlace found;
    found.done.resize(groups_.size(), false);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& candidate = groups_[g];
      if (candidate.nodes.size() != 1) continue;
      const Node& node = graph_.node(candidate.nodes.front());
      const auto* concat = std::get_if<ConcatOperator>(&node.op);
      if (!concat || is_output(node.output)) continue;
      const std::optional<std::vector<PartOf>> parts = parts_of(node, static_cast<std::size_t>(concat->axis));
      if (!parts) continue;
      for (std::size_t i = 0; i < parts->size(); ++i) found.parts[node.inputs[i]] = (*parts)[i];
      found.done[g] = true;
      writers_[node.output.index()].layout =
          nullptr;  // no kernel writes it whole: it is copied into another concatenation
    }
    return found;
  }

 private:
  bool is_output(ValueId value) const { return is_output_[value.index()]; }

  std::optional<std::vector<PartOf>> parts_of(const Node& concat, std::size_t axis) const {
    const TensorType& whole = graph_.value(concat.output).type;
    std::uint64_t line = static_cast<std::uint64_t>(size_of(whole.dtype));
    for (std::size_t k = axis + 1; k < whole.shape.size(); ++k) line *= static_cast<std::uint64_t>(whole.shape[k]);
    const bool contiguous = std::all_of(whole.shape.begin(), whole.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                                        [](std::int64_t extent) { return extent == 1; });
    // Kernels may see rows and columns as one dimension, which a part must then have whole.
    if (!contiguous && axis + 1 != whole.shape.size()) return std::nullopt;
    std::vector<PartOf> parts;
    std::uint64_t offset = 0;
    for (ValueId input : concat.inputs) {
      const Written& writer = writers_[input.index()];
      if (writer.layout == nullptr || *writer.layout != graph_.value(input).type.shape) return std::nullopt;
      if (!contiguous && !writer.alone) return std::nullopt;
      if (readers_[input.index()] != 1 || offset % kCacheLine != 0) return std::nullopt;
      parts.push_back({concat.output, contiguous ? Shape() : whole.shape, offset});
      offset += line * static_cast<std::uint64_t>(graph_.value(input).type.shape[axis]);
    }
    return parts;
  }

  /// A value that a kernel writes.
  struct Written {
    const Shape* layout = nullptr;  ///< as the kernel sees it; null: no kernel writes the value
    bool alone = false;             ///< it is the kernel's only output
  };

  const Graph& graph_;
  const std::vector<Group>& groups_;
  std::vector<int> readers_;      ///< by value: nodes' operands and outputs of the graph
  std::vector<bool> is_output_;   ///< by value
  std::vector<Written> writers_;  ///< by value
};

}  // namespace

Shape InPlace::within(const Group& group) const {
  const auto part = parts.find(group.outputs.front());
  return part == parts.end() ? Shape() : part->second.shape;
}

InPlace find_in_place(const Graph& graph, const std::vector<Group>& groups, const std::vector<Shape>& layouts) {
  return Finder(graph, groups, layouts).run();
}

}  // namespace whet
