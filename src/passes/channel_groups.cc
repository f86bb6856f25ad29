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
  Shape channels_in_groups() const { return {flat[0], flat[1], picture[1] / flat[1]}; }
  std::vector<std::int64_t> spatial_axes() const {
    std::vector<std::int64_t> axes(picture.size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    return axes;
  }
};

/// Rounds little and reaches far, so that what is computed in another order is the same: not f16, nor a mean of integers.
bool is_wide_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

/// Reductions of parts, reduced, are that of the whole, where the parts are as large as one another.
bool goes_in_steps(ReduceKind kind, DType dtype) {
  if (kind == ReduceKind::max || kind == ReduceKind::min) return true;
  const bool adds = kind == ReduceKind::mean || kind == ReduceKind::sum || kind == ReduceKind::prod;
  return adds && is_wide_float(dtype);
}

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
    return in == region.flat && out == region.reduced() && reduce->axes == std::vector<std::int64_t>{2} &&
           goes_in_steps(reduce->kind, graph.value(node.output).type.dtype);
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
  explicit Spreading(const Graph& from)
      : from_(from), uses_(count_uses(from)), producers_(from.values.size(), nullptr), rewriter_(from) {
    for (const Node& node : from.nodes) producers_[node.output.index()] = &node;
  }

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
    const bool ends = found == region_of_.end() && std::holds_alternative<ReshapeOperator>(node.op) &&
                      region_of_.contains(node.inputs[0]);
    if (ends) return rewriter_.replace(node.output, rewriter_.now(node.inputs[0])), ok_status();
    if (found == region_of_.end()) return rewriter_.copy(node);
    const Region& region = regions_[found->second];
    if (std::holds_alternative<ReshapeOperator>(node.op))  // the beginning
      return rewriter_.replace(node.output, rewriter_.now(node.inputs[0])), ok_status();
    if (const auto* reduce = std::get_if<ReduceOperator>(&node.op)) return visit_reduction(region, node, *reduce);
    if (from_.value(node.output).type.shape != region.flat)
      return rewriter_.copy_as(node, node.op, rewriter_.now(node.inputs));
    return visit_element(region, node);
  }

  Status visit_reduction(const Region& region, const Node& node, const ReduceOperator& reduce) {
    WHET_TRY(ValueId x,
             rewriter_.emit(node.name + "_channels", ReduceOperator{reduce.kind, region.spatial_axes(), true},
                            {rewriter_.now(node.inputs[0])}));
    WHET_TRY(x, rewriter_.emit(node.name + "_in_groups", ReshapeOperator{region.channels_in_groups()}, {x}));
    return rewriter_.copy_as(node, reduce, {x});
  }

  Status visit_element(const Region& region, const Node& node) {
    if (is_quotient(region, node)) return visit_quotient(region, node);
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      WHET_TRY(const ValueId input, beside_picture(region, id));
      inputs.push_back(input);
    }
    return rewriter_.copy_as(node, node.op, std::move(inputs));
  }

  bool is_a(const Region& region, const Node& node, BinaryKind kind) const {
    const auto* binary = std::get_if<BinaryOperator>(&node.op);
    return binary && binary->kind == kind && from_.value(node.inputs[0]).type.shape == region.flat &&
           from_.value(node.inputs[1]).type.shape == region.reduced();
  }
  bool is_quotient(const Region& region, const Node& node) const {
    return is_a(region, node, BinaryKind::div) && is_wide_float(from_.value(node.output).type.dtype);
  }
  const Node* producer(ValueId id) const { return producers_[id.index()]; }
  /// x minus its own mean: not far from it in proportion to what it is divided by.
  bool is_centred(const Region& region, const Node* node) const {
    if (!node || !is_a(region, *node, BinaryKind::sub)) return false;
    const Node* mean = producer(node->inputs[1]);
    const auto* reduce = mean ? std::get_if<ReduceOperator>(&mean->op) : nullptr;
    return reduce && reduce->kind == ReduceKind::mean && mean->inputs[0] == node->inputs[0];
  }

  /// (x - mean) / deviation is x * r - mean * r, which reads the picture alone; another quotient is a product. (What is
  /// nearly equal and no mean, like a minimum, has to be subtracted first.)
  Status visit_quotient(const Region& region, const Node& node) {
    const ValueId divisor = node.inputs[1];
    const std::string name = from_.value(divisor).name;
    const Node* centred = producer(node.inputs[0]);
    WHET_TRY(const ValueId factor,
             rewriter_.emit(name + "_reciprocal", UnaryOperator{UnaryKind::reciprocal}, {rewriter_.now(divisor)}));
    WHET_TRY(const ValueId factors, of_channels(region, name, factor));
    const BinaryOperator mul{BinaryKind::mul};
    if (!is_centred(region, centred)) return rewriter_.copy_as(node, mul, {rewriter_.now(node.inputs[0]), factors});
    const ValueId mean = centred->inputs[1];
    WHET_TRY(const ValueId shift, rewriter_.emit(node.name + "_shift", mul, {rewriter_.now(mean), factor}));
    WHET_TRY(const ValueId shifts, of_channels(region, node.name + "_shift", shift));
    WHET_TRY(const ValueId scaled,
             rewriter_.emit(node.name + "_scaled", mul, {rewriter_.now(centred->inputs[0]), factors}));
    return rewriter_.copy_as(node, BinaryOperator{BinaryKind::sub}, {scaled, shifts});
  }

  /// An operand as it is beside [N, C, H, W].
  Result<ValueId> beside_picture(const Region& region, ValueId id) {
    const Shape& shape = from_.value(id).type.shape;
    if (shape == region.flat || shape.size() < 2) return rewriter_.now(id);
    return of_channels(region, from_.value(id).name, rewriter_.now(id));
  }

  /// [.., G, 1] as one value a channel, beside the picture: [.., C, 1, 1].
  Result<ValueId> of_channels(const Region& region, const std::string& name, ValueId x) {
    Shape repeated = rewriter_.shape(x);
    Shape column(region.picture.size() - 1, 1);
    if (repeated[repeated.size() - 2] > 1 || region.flat[1] == 1) {
      repeated.back() = region.picture[1] / region.flat[1];
      WHET_TRY(x, rewriter_.emit(name + "_repeated", ExpandOperator{repeated}, {x}));
      column[0] = region.picture[1];
    }
    if (repeated.size() > 2) column.insert(column.begin(), repeated[0]);
    return rewriter_.emit(name + "_of_channels", ReshapeOperator{column}, {x});
  }

  const Graph& from_;
  const std::vector<int> uses_;
  std::vector<const Node*> producers_;  ///< of values
  Rewriter rewriter_;
  std::vector<Region> regions_;
  std::map<ValueId, std::size_t> region_of_;
};

}  // namespace

Result<Graph> spread_channel_groups(const Graph& from) { return Spreading(from).run(); }

}  // namespace whet
