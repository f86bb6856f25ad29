#include "passes/channel_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "passes/operator_class.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

/// What is computed of one flattened tensor up to where it is a picture again.
struct Region {
  Shape picture;             ///< [N, C, H, W]
  Shape flat;                ///< [N, G, M]
  std::set<ValueId> values;  ///< of shape [N, G, M] or [N, G, 1]
  bool has_reduction = false;

  Shape reduced() const { return {flat[0], flat[1], 1}; }
  /// [N, G, C/G, H, W]
  Shape spread() const {
    Shape shape = picture;
    if (flat[1] == 1) return shape;
    shape[1] /= flat[1];
    shape.insert(shape.begin() + 1, flat[1]);
    return shape;
  }
  /// Those that stand for M.
  std::vector<std::int64_t> reduced_axes() const {
    std::vector<std::int64_t> axes(spread().size());
    std::iota(axes.begin(), axes.end(), 0);
    axes.erase(axes.begin(), axes.begin() + (flat[1] == 1 ? 1 : 2));
    return axes;
  }
};

/// A reshape of [N, C, ...] to [N, G, M] with several channels in a group.
bool joins_channels(const Graph& graph, const Node& node) {
  if (!std::holds_alternative<ReshapeOperator>(node.op)) return false;
  const Shape &in = graph.value(node.inputs[0]).type.shape, &out = graph.value(node.output).type.shape;
  return in.size() >= 3 && out.size() == 3 && num_elements(in) > 0 && in[0] == out[0] && out[1] < in[1] &&
         in[1] % out[1] == 0;
}

/// Whether all that `node` reads from outside the region has one value a group, or one for all.
bool reads_values_of_groups(const Graph& graph, const Region& region, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    const Shape& shape = graph.value(id).type.shape;
    return region.values.contains(id) || shape.empty() || (shape.size() <= 3 && shape.back() == 1);
  });
}

/// Takes a node that reads the region into it, or finds it at the end; false: neither.
bool accepts(const Graph& graph, Region& region, const Node& node) {
  const Shape &in = graph.value(node.inputs[0]).type.shape, &out = graph.value(node.output).type.shape;
  if (std::holds_alternative<ReshapeOperator>(node.op)) return in == region.flat && out == region.picture;
  if (const auto* reduce = std::get_if<ReduceOperator>(&node.op)) {
    region.has_reduction = true;
    region.values.insert(node.output);
    return in == region.flat && out == region.reduced() && reduce->axes == std::vector<std::int64_t>{2};
  }
  region.values.insert(node.output);
  return class_of(node.op) == OperatorClass::elementwise && (out == region.flat || out == region.reduced()) &&
         reads_values_of_groups(graph, region, node);
}

/// The region that begins with node `first`; nothing where something reads it in another way. `uses`: see count_uses.
std::optional<Region> region_at(const Graph& graph, const std::vector<int>& uses, std::size_t first) {
  const Node& begin = graph.nodes[first];
  if (!joins_channels(graph, begin)) return std::nullopt;
  Region region{graph.value(begin.inputs[0]).type.shape, graph.value(begin.output).type.shape, {begin.output}};
  std::int64_t unread = uses[begin.output.index()];
  for (std::size_t n = first + 1; unread > 0 && n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto reads =
        std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return region.values.contains(id); });
    if (reads == 0) continue;
    if (!accepts(graph, region, node)) return std::nullopt;
    unread -= reads;
    if (region.values.contains(node.output)) unread += uses[node.output.index()];
  }
  // What no node reads is an output of the graph.
  return unread == 0 && region.has_reduction ? std::optional(region) : std::nullopt;
}

class Spreading {
 public:
  explicit Spreading(const Graph& from) : from_(from), uses_(count_uses(from)), rewriter_(from) {}

  Result<Graph> run() && {
    for (std::size_t n = 0; n < from_.nodes.size(); ++n) {
      if (const std::optional<Region> region = region_at(from_, uses_, n)) {
        regions_.push_back(*region);
        for (ValueId id : region->values) region_of_[id] = regions_.size() - 1;
      }
      WHET_RETURN_IF_ERROR(visit(from_.nodes[n]));
    }
    return std::move(rewriter_).finish();
  }

 private:
  Status visit(const Node& node) {
    const auto found = region_of_.find(node.output);
    if (found == region_of_.end()) return rewriter_.copy(node);
    const Region& region = regions_[found->second];
    Operator op = node.op;
    if (std::holds_alternative<ReshapeOperator>(op)) op = ReshapeOperator{region.spread()};
    if (auto* reduce = std::get_if<ReduceOperator>(&op)) reduce->axes = region.reduced_axes();
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      WHET_TRY(const ValueId input, operand(region, id));
      inputs.push_back(input);
    }
    return rewriter_.copy_as(node, std::move(op), std::move(inputs));
  }

  /// [.., G, 1] as it stands beside [.., G, C/G, H, W].
  Result<ValueId> operand(const Region& region, ValueId old) {
    const ValueId now = rewriter_.now(old);
    Shape shape = from_.value(old).type.shape;
    if (region.values.contains(old) || shape == region.picture || shape.size() < 2) return now;
    shape.resize(shape.size() + region.spread().size() - 3, 1);
    if (const Tensor* constant = rewriter_.constant_of(now))
      return rewriter_.constant(from_.value(old).name + "_spread", constant->reshaped(shape));
    return rewriter_.emit(from_.value(old).name + "_spread", ReshapeOperator{shape}, {now});
  }

  const Graph& from_;
  const std::vector<int> uses_;
  Rewriter rewriter_;
  std::vector<Region> regions_;
  std::map<ValueId, std::size_t> region_of_;
};

}  // namespace

Result<Graph> spread_channel_groups(const Graph& from) { return Spreading(from).run(); }

}  // namespace whet
