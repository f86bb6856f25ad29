#include "alternatives/merge.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "alternatives/cover_builder.h"

namespace whet {
namespace {

/// Of at most this many siblings every subset is an alternative. Of more: all of them, those that write into a
/// concatenation, and the others.
constexpr std::size_t kAllSubsets = 4;

bool is_chained(const Operator& op) {
  if (const auto* own = std::get_if<CustomOperator>(&op)) return is_elementwise(*own);
  return std::holds_alternative<UnaryOperator>(op) || std::holds_alternative<BinaryOperator>(op) ||
         std::holds_alternative<ClipOperator>(op) || std::holds_alternative<HardSigmoidOperator>(op) ||
         std::holds_alternative<LeakyReluOperator>(op);
}

bool has_one_value(const Tensor& a, const Tensor& b) {
  return a.size() == 1 && a.type() == b.type() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

/// One value a channel: [C], or extents of 1 before.
bool is_one_a_channel(const Tensor& constant, std::int64_t channels) {
  return !constant.shape().empty() && constant.shape().back() == channels && constant.size() == channels;
}

/// Windows too: without paddings the operators of windows of other extents are equal.
bool differ_in_one_axis(Shape a, Shape b, std::size_t axis) {
  if (a.size() != b.size()) return false;
  a[axis] = b[axis] = 0;
  return a == b;
}

/// Tensors that differ in one axis alone, one behind the other along it.
Tensor side_by_side(const std::vector<const Tensor*>& parts, std::size_t axis) {
  Shape shape = parts.front()->shape();
  shape[axis] = 0;
  for (const Tensor* part : parts) shape[axis] += part->shape()[axis];
  Tensor whole(parts.front()->dtype(), shape);
  const std::int64_t rows = num_elements(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)));
  auto* to = static_cast<std::byte*>(whole.data());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const Tensor* part : parts) {
      const std::int64_t bytes = part->bytes() / rows;
      std::memcpy(to, static_cast<const std::byte*>(part->data()) + row * bytes, static_cast<std::size_t>(bytes));
      to += bytes;
    }
  }
  return whole;
}

/// A group that can be beside others: a convolution or a product of one input with constant weights, perhaps behind a
/// padding, and element-wise operators on it and on constants.
class Sibling {
 public:
  static std::optional<Sibling> of(const Graph& graph, const Group& group) {
    Sibling sibling(graph, group);
    return sibling.look() ? std::optional(sibling) : std::nullopt;
  }

  ValueId input() const { return input_; }
  ValueId output() const { return group_->outputs.front(); }
  std::int64_t channels() const { return graph_->value(output()).type.shape.back(); }
  const std::vector<NodeId>& nodes() const { return group_->nodes; }

  /// The same operators on the same input; only the number of channels may differ.
  bool stands_beside(const Sibling& other) const {
    if (input_ != other.input_ || nodes().size() != other.nodes().size()) return false;
    for (std::size_t n = 0; n < nodes().size(); ++n) {
      const Node &a = graph_->node(nodes()[n]), &b = graph_->node(other.nodes()[n]);
      if (a.op != b.op || a.inputs.size() != b.inputs.size()) return false;
      for (std::size_t i = 0; i < a.inputs.size(); ++i)
        if (!fit(n, i, other)) return false;
    }
    return true;
  }

  /// Along which axis constants of operand `i` of node `n` lie side by side; nothing where they are one and the same.
  std::optional<std::size_t> axis_of(std::size_t n, std::size_t i) const {
    const Node& node = graph_->node(nodes()[n]);
    const Value& value = graph_->value(node.inputs[i]);
    if (!value.constant || value.constant->size() == 1) return std::nullopt;
    const auto* product = std::get_if<MatMulOperator>(&node.op);
    return product && product->transpose_b ? 0 : value.type.shape.size() - 1;
  }

 private:
  Sibling(const Graph& graph, const Group& group) : graph_(&graph), group_(&group) {}

  bool look() {
    if (group_->outputs.size() != 1) return false;
    ValueId last;
    bool anchored = false;
    for (NodeId n : nodes()) {
      const Node& node = graph_->node(n);
      if (!reads_chain(node, last)) return false;
      const bool pads = std::holds_alternative<PadOperator>(node.op);
      if (anchored ? !is_chained(node.op) || !constants_fit(node) : !pads && !is_anchor(node)) return false;
      if (!anchored && !pads && channels_of(node) != channels()) return false;
      anchored = anchored || !pads;
      last = node.output;
    }
    return anchored;
  }

  /// The chain's first node reads the input, each other one what the one before it computes; else constants alone.
  bool reads_chain(const Node& node, ValueId last) {
    int running = 0;
    for (ValueId id : node.inputs) {
      if (graph_->value(id).constant) continue;
      if (last.valid() && id != last) return false;
      if (!last.valid()) input_ = id;
      ++running;
    }
    return running == 1;
  }

  bool is_anchor(const Node& node) const {
    const auto* conv = std::get_if<ConvOperator>(&node.op);
    if (!conv && !std::holds_alternative<MatMulOperator>(node.op)) return false;
    if (graph_->value(node.inputs[0]).constant) return false;
    const Shape& x = graph_->value(node.inputs[0]).type.shape;
    const Shape& weights = graph_->value(node.inputs[1]).type.shape;
    if (!conv) return weights.size() == 2;
    return conv->groups == 1 && conv->layout == Layout::channels_last && weights.size() == x.size();
  }
  std::int64_t channels_of(const Node& node) const { return graph_->value(node.output).type.shape.back(); }
  bool constants_fit(const Node& node) const {
    if (channels_of(node) != channels()) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      const Value& value = graph_->value(id);
      return !value.constant || value.constant->size() == 1 || is_one_a_channel(*value.constant, channels());
    });
  }

  const Value& operand(std::size_t n, std::size_t i) const { return graph_->value(graph_->node(nodes()[n]).inputs[i]); }
  /// Operands number `i` of the nodes number `n` of two siblings.
  bool fit(std::size_t n, std::size_t i, const Sibling& other) const {
    const Value &a = operand(n, i), &b = other.operand(n, i);
    if (a.constant.has_value() != b.constant.has_value() || a.type.dtype != b.type.dtype) return false;
    if (!a.constant) return true;
    if (a.constant->size() == 1 && b.constant->size() == 1) return has_one_value(*a.constant, *b.constant);
    // One channel's value looks like a value for all.
    if (channels() == 1 || other.channels() == 1) return false;
    return a.constant->size() > 1 && b.constant->size() > 1 &&
           differ_in_one_axis(a.type.shape, b.type.shape, *axis_of(n, i));
  }

  const Graph* graph_;
  const Group* group_;
  ValueId input_;
};

/// The siblings among the groups, and the sets that are looked at.
class MergeFinder {
 public:
  explicit MergeFinder(const FusedGraph& fused) : fused_(fused) {
    for (std::size_t g = 0; g < fused.groups.size(); ++g)
      if (auto sibling = Sibling::of(fused.graph, fused.groups[g])) place(static_cast<int>(g), *sibling);
    for (const Node& node : fused.graph.nodes)
      if (std::holds_alternative<ConcatOperator>(node.op))
        for (std::size_t i = 0; i < node.inputs.size(); ++i) in_concat_.try_emplace(node.inputs[i], node.output, i);
  }

  std::vector<MergedGroups> run() {
    for (Family& family : families_) {
      if (family.size() < 2) continue;
      // Results of one concatenation have its order, so that it can take them as one.
      std::stable_sort(family.begin(), family.end(),
                       [&](const Member& a, const Member& b) { return place_of(a) < place_of(b); });
      for (const std::vector<bool>& chosen : sets_of(family)) add(family, chosen);
    }
    return std::move(merges_);
  }

 private:
  struct Member {
    int group;
    Sibling sibling;
  };
  using Family = std::vector<Member>;

  void place(int group, const Sibling& sibling) {
    std::vector<std::size_t>& of_input = by_input_[sibling.input()];
    for (std::size_t f : of_input)
      if (families_[f].front().sibling.stands_beside(sibling)) {
        families_[f].push_back({group, sibling});
        return;
      }
    of_input.push_back(families_.size());
    families_.push_back({{group, sibling}});
  }

  ValueId concat_of(const Member& member) const {
    const auto found = in_concat_.find(member.sibling.output());
    return found == in_concat_.end() ? ValueId() : found->second.first;
  }
  /// Those that no concatenation reads are behind all others.
  std::tuple<bool, ValueId, std::size_t> place_of(const Member& member) const {
    const auto found = in_concat_.find(member.sibling.output());
    if (found == in_concat_.end()) return {true, ValueId(), 0};
    return {false, found->second.first, found->second.second};
  }

  std::vector<std::vector<bool>> sets_of(const Family& family) const {
    std::set<std::vector<bool>> sets;
    if (family.size() <= kAllSubsets) {
      for (std::size_t bits = 1; bits < std::size_t{1} << family.size(); ++bits) {
        std::vector<bool> set;
        for (std::size_t m = 0; m < family.size(); ++m) set.push_back((bits >> m & 1) != 0);
        sets.insert(set);
      }
    } else {
      std::vector<bool> all(family.size(), true), read, others;
      for (const Member& member : family) {
        read.push_back(concat_of(member).valid());
        others.push_back(!read.back());
      }
      sets = {all, read, others};
    }
    std::erase_if(sets, [](const std::vector<bool>& set) { return std::count(set.begin(), set.end(), true) < 2; });
    return {sets.begin(), sets.end()};
  }

  void add(const Family& family, const std::vector<bool>& chosen) {
    MergedGroups merge;
    merge.wide = {0, static_cast<int>(merges_.size()) + 1};
    std::int64_t channels = 0;
    for (std::size_t m = 0; m < family.size(); ++m) {
      if (!chosen[m]) continue;
      const ValueId value = family[m].sibling.output();
      merge.groups.push_back(family[m].group);
      merge.values.push_back(value);
      merge.starts.push_back(channels);
      merge.name += (merge.name.empty() ? "" : "+") + fused_.graph.value(value).name;
      channels += family[m].sibling.channels();
    }
    merges_.push_back(std::move(merge));
  }

  const FusedGraph& fused_;
  std::vector<Family> families_;
  std::map<ValueId, std::vector<std::size_t>> by_input_;          ///< families
  std::map<ValueId, std::pair<ValueId, std::size_t>> in_concat_;  ///< the concatenation that reads a value, and where
  std::vector<MergedGroups> merges_;
};

TensorType wide_type(const FusedGraph& fused, const MergedGroups& merge) {
  TensorType type = fused.graph.value(merge.values.front()).type;
  type.shape.back() = merge.starts.back() + fused.graph.value(merge.values.back()).type.shape.back();
  return type;
}

SliceOperator slice_at(const Shape& from, std::int64_t start, const Shape& shape) {
  SliceOperator slice{std::vector<std::int64_t>(from.size(), 0), std::vector<std::int64_t>(from.size(), 1), shape};
  slice.starts.back() = start;
  return slice;
}

/// Grows the fragment of a group that reads merged values.
class MergedReader {
 public:
  MergedReader(const FusedGraph& fused, const MergedGroups& merge)
      : fused_(fused), merge_(merge), builder_(fused.graph) {}

  Result<std::optional<Fragment>> run(const Group& group) {
    for (NodeId n : group.nodes) {
      const Node& node = fused_.graph.node(n);
      WHET_TRY(now_[node.output], takes_all(group, node) ? concatenated(node) : computed(node));
    }
    if (!wide_.valid()) return std::optional<Fragment>();
    const ValueId output = group.outputs.front();
    return std::optional(std::move(builder_).finish(now_.at(output), {{output, kChannelsLast}}));
  }

 private:
  /// A concatenation along channels that has the merged values one behind the other.
  bool takes_all(const Group& group, const Node& node) const {
    const auto* concat = std::get_if<ConcatOperator>(&node.op);
    return concat && group.nodes.size() == 1 &&
           concat->axis == std::ssize(fused_.graph.value(node.output).type.shape) - 1 &&
           std::search(node.inputs.begin(), node.inputs.end(), merge_.values.begin(), merge_.values.end()) !=
               node.inputs.end();
  }
  Result<ValueId> concatenated(const Node& node) {
    const auto first = std::search(node.inputs.begin(), node.inputs.end(), merge_.values.begin(), merge_.values.end());
    std::vector<ValueId> inputs;
    for (auto id = node.inputs.begin(); id != node.inputs.end(); ++id) {
      if (id < first || id >= first + std::ssize(merge_.values)) {
        WHET_TRY(const ValueId now, operand(*id));
        inputs.push_back(now);
      } else if (id == first) {
        for (ValueId value : merge_.values) wide(value);
        inputs.push_back(wide_);
      }
    }
    if (inputs.size() == 1) return inputs.front();
    return builder_.compute(node.name, node.op, inputs);
  }
  Result<ValueId> computed(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      WHET_TRY(const ValueId now, operand(id));
      inputs.push_back(now);
    }
    return builder_.compute(node.name, node.op, inputs);
  }

  /// The merged tensor, which holds `value`. Each value that is needed is a read of its own, so that the choice between plans
  /// sees who has to compute it; the kernel reads the tensor once.
  ValueId wide(ValueId value) {
    const ValueId now = builder_.read({value, merge_.wide}, merge_.name, wide_type(fused_, merge_));
    if (!wide_.valid()) wide_ = now;
    return wide_;
  }
  Result<ValueId> operand(ValueId id) {
    if (const auto known = now_.find(id); known != now_.end()) return known->second;
    const auto merged = std::find(merge_.values.begin(), merge_.values.end(), id);
    const Value& value = fused_.graph.value(id);
    if (merged == merge_.values.end()) return now_[id] = builder_.operand(id);
    const std::int64_t start = merge_.starts[static_cast<std::size_t>(merged - merge_.values.begin())];
    const Shape from = wide_type(fused_, merge_).shape;
    WHET_TRY(now_[id], builder_.compute(value.name, slice_at(from, start, value.type.shape), {wide(id)}));
    return now_[id];
  }

  const FusedGraph& fused_;
  const MergedGroups& merge_;
  CoverBuilder builder_;
  std::map<ValueId, ValueId> now_;
  ValueId wide_;  ///< the merged tensor, once it is read
};

}  // namespace

std::vector<MergedGroups> find_merges(const FusedGraph& fused) { return MergeFinder(fused).run(); }

Result<Fragment> merged_kernel(const FusedGraph& fused, const MergedGroups& merge) {
  const Graph& graph = fused.graph;
  std::vector<const Group*> groups;
  for (int g : merge.groups) groups.push_back(&fused.groups[static_cast<std::size_t>(g)]);
  const Sibling first = *Sibling::of(graph, *groups.front());
  CoverBuilder builder(graph);
  ValueId last = builder.operand(first.input());
  for (std::size_t n = 0; n < first.nodes().size(); ++n) {
    const Node& node = graph.node(first.nodes()[n]);
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = graph.value(node.inputs[i]);
      if (!value.constant) {
        inputs.push_back(last);
        continue;
      }
      const std::optional<std::size_t> axis = first.axis_of(n, i);
      std::vector<const Tensor*> parts;
      for (const Group* group : groups) parts.push_back(&*graph.value(graph.node(group->nodes[n]).inputs[i]).constant);
      inputs.push_back(builder.constant(value.name, axis ? side_by_side(parts, *axis) : *value.constant));
    }
    WHET_TRY(last, builder.compute(node.name, node.op, inputs));
  }
  std::vector<StoredValue> writes;
  for (ValueId value : merge.values) writes.push_back({value, merge.wide});
  return std::move(builder).finish(last, std::move(writes));
}

Result<std::optional<Fragment>> reading_merged(const FusedGraph& fused, int group, const MergedGroups& merge) {
  if (std::find(merge.groups.begin(), merge.groups.end(), group) != merge.groups.end())
    return std::optional<Fragment>();
  return MergedReader(fused, merge).run(fused.groups[static_cast<std::size_t>(group)]);
}

Result<Fragment> slice_of_merged(const FusedGraph& fused, const MergedGroups& merge, std::size_t i) {
  const Value& value = fused.graph.value(merge.values[i]);
  CoverBuilder builder(fused.graph);
  const TensorType type = wide_type(fused, merge);
  const ValueId wide = builder.read({merge.values[i], merge.wide}, merge.name, type);
  WHET_TRY(const ValueId now,
           builder.compute(value.name, slice_at(type.shape, merge.starts[i], value.type.shape), {wide}));
  Fragment fragment = std::move(builder).finish(now, {{merge.values[i], kChannelsLast}});
  if (alias_offset(fragment.graph, fragment.graph.nodes.front())) fragment.kernel.clear();
  return fragment;
}

}  // namespace whet
