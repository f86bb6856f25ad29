#include "alternatives/convert.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "passes/host_tensor.h"
#include "passes/operator_class.h"
#include "passes/permutation.h"

namespace whet {
namespace {

bool is_reshape(const Node& node) { return std::holds_alternative<ReshapeOperator>(node.op); }

/// Finite values stay finite.
bool stays_finite(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::relu:
    case UnaryKind::sigmoid:
    case UnaryKind::tanh:
    case UnaryKind::erf:
    case UnaryKind::abs:
    case UnaryKind::neg:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::sign:
    case UnaryKind::softplus:
    case UnaryKind::softsign:
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::hard_swish:
      return true;
    default:
      return false;
  }
}
bool stays_finite(BinaryKind kind) {
  return kind == BinaryKind::add || kind == BinaryKind::sub || kind == BinaryKind::mul || kind == BinaryKind::min ||
         kind == BinaryKind::max;
}
bool is_finite(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (!std::isfinite(tensor.get(i))) return false;
  return true;
}

/// Grows a fragment. Reshapes that only rename what enters or leaves the kernel are aliases beside it.
class FragmentBuilder {
 public:
  explicit FragmentBuilder(const Graph& from) : from_(from) {}

  const Graph& from() const { return from_; }
  const Shape& shape(ValueId now) const { return fragment_.graph.value(now).type.shape; }

  /// The value as an input of the fragment, stored as `form`.
  ValueId read(ValueId old, ActivationLayout form) {
    const auto [known, is_new] = inputs_.try_emplace(old, StoredValue{ValueId(), form});
    if (!is_new) {
      WHET_CHECK(known->second.form == form, "a value is read in two forms");
      return known->second.value;
    }
    const Value& value = from_.value(old);
    const ValueId now = fragment_.graph.add_value(
        value.name, {value.type.dtype, stored_shape(value.type.shape, form).value_or(value.type.shape)});
    fragment_.graph.inputs.push_back(now);
    fragment_.reads.push_back({old, form});
    return known->second.value = now;
  }
  ValueId constant(ValueId old) {
    const Value& value = from_.value(old);
    return constant(value.name, *value.constant);
  }
  ValueId constant(const std::string& name, Tensor tensor) {
    return fragment_.graph.add_constant(unique(name), std::move(tensor));
  }
  /// A node of the kernel.
  Result<ValueId> compute(const std::string& name, Operator op, std::vector<ValueId> inputs) {
    fragment_.kernel.push_back(NodeId(std::ssize(fragment_.graph.nodes)));
    return fragment_.graph.add_node(unique(name), std::move(op), std::move(inputs));
  }
  Result<ValueId> compute(const Node& node, Operator op, std::vector<ValueId> inputs) {
    return compute(node.name, std::move(op), std::move(inputs));
  }
  /// A reshape at the edge of the kernel.
  Result<ValueId> rename(ValueId now, const Shape& to) {
    if (shape(now) == to) return now;
    const std::string name = unique(fragment_.graph.value(now).name + "_view");
    return fragment_.graph.add_node(name, ReshapeOperator{to}, {now});
  }
  Graph& graph() { return fragment_.graph; }

  Fragment finish(ValueId now, StoredValue stored) {
    fragment_.graph.outputs = {now};
    fragment_.writes = {stored};
    return std::move(fragment_);
  }

 private:
  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !names_.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
    return name;
  }

  const Graph& from_;
  Fragment fragment_;
  std::map<ValueId, StoredValue> inputs_;  ///< by value of `from_`: the fragment's, and its form
  std::set<std::string> names_;
};

/// A group whose pictures are stored in other forms. `convert` gives nothing for an operator that has no such form.
class Conversion {
 public:
  using Maybe = std::optional<ValueId>;

  Conversion(const FusedGraph& fused, const Group& group, ActivationLayout in, ActivationLayout out,
             const std::vector<ActivationLayout>& padded)
      : graph_(fused.graph), group_(group), builder_(fused.graph), in_(in), out_(out), padded_(padded) {
    for (NodeId n : group.nodes) {
      if (!std::holds_alternative<ConvOperator>(graph_.node(n).op)) continue;
      anchor_ = n, ++convolutions_;
    }
    if (anchor_.valid()) find_feeding(graph_.node(anchor_).inputs.front());
  }

  Result<std::optional<Fragment>> run() {
    if (!anchor_.valid() && in_ != out_) return std::optional<Fragment>();
    if ((in_ == kChannelsFirst) != (out_ == kChannelsFirst)) return std::optional<Fragment>();
    if (convolutions_ > 1) return std::optional<Fragment>();
    for (NodeId n : group_.nodes) {
      const Node& node = graph_.node(n);
      form_ = feeds(node.output) || n == anchor_ ? in_ : out_;
      WHET_TRY(const Maybe now, std::visit([&](const auto& op) { return convert(node, op); }, node.op));
      if (!now) return std::optional<Fragment>();
      now_[node.output] = {*now, form_};
    }
    const ValueId output = group_.outputs.front();
    const Shape& shape = graph_.value(output).type.shape;
    const ActivationLayout form = is_one_pixel(shape) ? kChannelsLast : out_;
    if (form != out_ && pads(shape, out_)) return std::optional<Fragment>();
    const std::optional<Shape> stored = stored_as(shape, form);
    if (!stored || !has_form_) return std::optional<Fragment>();
    WHET_TRY(const ValueId last, builder_.rename(now_.at(output).value, *stored));
    return std::optional(builder_.finish(last, {output, form}));
  }

 private:
  static bool is_one_pixel(const Shape& shape) {
    return shape.size() >= 3 && num_elements(shape) == shape.front() * shape.back();
  }
  /// The nodes of the group that the convolution's input depends on work on `in_`, whatever their place in the list.
  void find_feeding(ValueId value) {
    for (NodeId n : group_.nodes) {
      const Node& node = graph_.node(n);
      if (node.output != value || !feeding_.insert(value).second) continue;
      for (ValueId id : node.inputs) find_feeding(id);
    }
  }
  bool feeds(ValueId value) const { return feeding_.contains(value); }

  /// As activation_layout.h has it; nothing where too many channels would be padding.
  std::optional<Shape> stored_as(const Shape& shape, ActivationLayout form) const {
    std::optional<Shape> stored = stored_shape(shape, form);
    const bool asked_for = std::find(padded_.begin(), padded_.end(), form) != padded_.end();
    if (!stored || !pads(shape, form) || asked_for || pads_little(shape, form)) return stored;
    return std::nullopt;
  }
  /// The result of a node is computed on padding channels too.
  bool has_padding(const Node& node) const { return pads(graph_.value(node.output).type.shape, form_); }

  /// [N, C/b, spatial..., b], or [N, C, spatial...] in the order of the file: as the operators see it.
  std::optional<Shape> seen(const Shape& shape, ActivationLayout form) const {
    if (form != kChannelsLast) return stored_as(shape, form);
    if (shape.size() < 3 || shape.size() > 5) return std::nullopt;
    Shape one_block = shape;
    one_block.insert(one_block.begin() + 1, 1);
    return one_block;
  }

  /// A picture that is read as `form_`, computed here or an input.
  Result<Maybe> picture(ValueId old) {
    if (const auto here = now_.find(old); here != now_.end())
      return here->second.form == form_ ? Maybe(here->second.value) : Maybe();
    const Value& value = graph_.value(old);
    const ActivationLayout wanted = is_one_pixel(value.type.shape) ? kChannelsLast : form_;
    const std::optional<Shape> shape = seen(value.type.shape, form_);
    if (value.constant || !shape || !stored_as(value.type.shape, wanted)) return Maybe();
    const auto [known, is_new] = read_as_.try_emplace(old, wanted);
    if (!is_new && known->second != wanted) return Maybe();
    has_form_ = has_form_ || !is_one_pixel(value.type.shape);
    if (wanted != form_ && pads(value.type.shape, form_))
      return padded_pixel(builder_.read(old, wanted), value, *shape);
    WHET_TRY(const ValueId now, builder_.rename(builder_.read(old, wanted), *shape));
    return Maybe(now);
  }
  /// One pixel has no form: its kernel pads it.
  Result<Maybe> padded_pixel(ValueId now, const Value& value, const Shape& shape) {
    PadOperator pad{PadMode::constant, 0, Shape(value.type.shape.size(), 0), Shape(value.type.shape.size(), 0)};
    pad.end.back() = stored_channels(value.type.shape.back(), form_) - value.type.shape.back();
    WHET_TRY(const ValueId padded, builder_.compute(value.name + "_padded", std::move(pad), {now}));
    WHET_TRY(const ValueId seen, builder_.compute(value.name + "_blocks", ReshapeOperator{shape}, {padded}));
    return Maybe(seen);
  }

  /// An operand of an elementwise operator whose result is a picture.
  Result<Maybe> operand(ValueId old, const Shape& result) {
    const Value& value = graph_.value(old);
    const Shape& shape = value.type.shape;
    if (now_.contains(old) || (shape == result && !value.constant)) return picture(old);
    if (num_elements(shape) == 1 && value.constant)
      return Maybe(builder_.constant(value.name, value.constant->reshaped({1})));
    const bool one_a_channel = !shape.empty() && shape.back() == result.back() && num_elements(shape) == shape.back();
    if (value.constant && one_a_channel) {
      const std::optional<Shape> wide = channels_of(result);
      if (!wide) return Maybe();
      return Maybe(builder_.constant(value.name, with_padding(*value.constant).reshaped(*wide)));
    }
    if (value.constant || !is_one_pixel(shape) || shape.size() != result.size() || shape.back() != result.back())
      return Maybe();
    return picture(old);
  }

  /// One value a channel, as it broadcasts to a picture of `shape`: [C, 1, ...] or [C/b, 1, ..., b].
  std::optional<Shape> channels_of(const Shape& shape) const {
    Shape one_pixel(shape.size(), 1);
    if (!shape.empty()) one_pixel.back() = shape.back();
    std::optional<Shape> wide = seen(one_pixel, form_);
    if (wide) wide->erase(wide->begin());
    return wide;
  }

  /// One value for each stored channel.
  Tensor with_padding(const Tensor& channels) const {
    return extended(channels.reshaped({channels.size()}), {stored_channels(channels.size(), form_)});
  }

  Result<Maybe> computed(const Node& node, Operator op, std::vector<ValueId> inputs) {
    WHET_TRY(const ValueId now, builder_.compute(node, std::move(op), std::move(inputs)));
    return Maybe(now);
  }

  /// Zeros in padding channels of the operands leave finite values there.
  bool stays_finite_in_padding(const Node& node) const {
    if (const auto* unary = std::get_if<UnaryOperator>(&node.op)) return stays_finite(unary->kind);
    const auto* binary = std::get_if<BinaryOperator>(&node.op);
    if (!binary)
      return !std::holds_alternative<CastOperator>(node.op) && !std::holds_alternative<WhereOperator>(node.op) &&
             !std::holds_alternative<CustomOperator>(node.op);
    return stays_finite(binary->kind) && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
             const Value& value = graph_.value(id);
             return !value.constant || value.constant->size() != 1 || is_finite(*value.constant);
           });
  }

  Result<Maybe> elementwise(const Node& node) {
    const Shape& result = graph_.value(node.output).type.shape;
    if (has_padding(node) && !stays_finite_in_padding(node)) return Maybe();
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      WHET_TRY(const Maybe now, operand(id, result));
      if (!now) return Maybe();
      inputs.push_back(*now);
    }
    return computed(node, node.op, inputs);
  }

  Result<Maybe> convert(const Node& node, const ConvOperator& op) {
    const Shape x = graph_.value(node.inputs[0]).type.shape, y = graph_.value(node.output).type.shape;
    const Value& weights = graph_.value(node.inputs[1]);
    const bool depthwise = weights.type.shape.size() < x.size();
    if (op.layout != Layout::channels_last || !weights.constant || (op.groups > 1 && !depthwise)) return Maybe();
    if (depthwise && in_ != out_) return Maybe();
    // Products of pairs go through channels side by side, as channels last has them all.
    if (!depthwise && weights.type.dtype == DType::bf16) return Maybe();
    WHET_TRY(const Maybe picture_now, picture(node.inputs[0]));
    form_ = out_;
    if (!picture_now) return Maybe();
    ConvOperator blocked = op;
    std::vector<ValueId> inputs = {*picture_now};
    if (out_ == kChannelsFirst) {
      blocked.layout = Layout::channels_first;
      inputs.push_back(builder_.constant(weights.name, in_file_order(*weights.constant, depthwise)));
    } else {
      blocked.layout = Layout::channels_blocked;
      blocked.block = out_ == kChannelsLast ? y.back() : out_.block;
      if (!stored_as(y, out_)) return Maybe();
      const std::int64_t channels = stored_channels(y.back(), out_);
      if (depthwise) blocked.groups = channels;
      inputs.push_back(builder_.constant(weights.name, whole_blocks(*weights.constant, x.back(), channels, depthwise)));
    }
    if (node.inputs.size() == 3) {
      const Value& bias = graph_.value(node.inputs[2]);
      if (!bias.constant) return Maybe();
      Shape shape = bias.type.shape;  // [places..., O] where it has values for the borders
      shape.back() = stored_channels(shape.back(), form_);
      inputs.push_back(builder_.constant(bias.name, extended(*bias.constant, shape)));
    }
    return computed(node, blocked, inputs);
  }

  /// Weights [spatial..., I, O] or depthwise [spatial..., C], with zeros for padding channels of the input and the result.
  Tensor whole_blocks(const Tensor& weights, std::int64_t in, std::int64_t out, bool depthwise) const {
    Shape shape = weights.shape();
    shape.back() = out;
    if (!depthwise) shape[shape.size() - 2] = stored_channels(in, in_);
    return shape == weights.shape() ? weights : extended(weights, shape);
  }

  /// [spatial..., I, O] or depthwise [spatial..., C] as [O, I, spatial...].
  static Tensor in_file_order(const Tensor& weights, bool depthwise) {
    Shape shape = weights.shape();
    if (depthwise) shape.insert(shape.end() - 1, 1);
    const auto rank = static_cast<std::int64_t>(shape.size());
    Permutation order = {rank - 1, rank - 2};
    for (std::int64_t d = 0; d < rank - 2; ++d) order.push_back(d);
    return transposed(weights.reshaped(shape), order);
  }

  Result<Maybe> convert(const Node& node, const PoolOperator& op) {
    if (op.layout != Layout::channels_last) return Maybe();
    WHET_TRY(const Maybe x, picture(node.inputs[0]));
    if (!x) return Maybe();
    PoolOperator pool = op;
    pool.layout = form_ == kChannelsFirst ? Layout::channels_first : Layout::channels_blocked;
    return computed(node, pool, {*x});
  }

  /// Of all pixels of a picture.
  Result<Maybe> convert(const Node& node, const ReduceOperator& op) {
    const Shape& shape = graph_.value(node.inputs[0]).type.shape;
    std::vector<std::int64_t> spatial;
    for (std::size_t d = 1; d + 1 < shape.size(); ++d) spatial.push_back(static_cast<std::int64_t>(d));
    if (op.axes != spatial || !op.keep_dims || pads(shape, form_)) return Maybe();
    WHET_TRY(const Maybe x, picture(node.inputs[0]));
    if (!x) return Maybe();
    ReduceOperator moved = op;
    for (std::int64_t& axis : moved.axes) ++axis;
    return computed(node, moved, {*x});
  }

  /// Of channels, where every part has whole blocks.
  Result<Maybe> convert(const Node& node, const ConcatOperator& op) {
    const Shape& result = graph_.value(node.output).type.shape;
    if (op.axis != std::ssize(result) - 1 || form_ == kChannelsLast) return Maybe();
    std::vector<ValueId> parts;
    for (ValueId id : node.inputs) {
      if (pads(graph_.value(id).type.shape, form_)) return Maybe();
      WHET_TRY(const Maybe part, picture(id));
      if (!part) return Maybe();
      parts.push_back(*part);
    }
    return computed(node, ConcatOperator{1}, parts);
  }

  Result<Maybe> convert(const Node& node, const PadOperator& op) {
    const std::size_t rank = op.begin.size();
    if (rank < 3 || op.begin.front() != 0 || op.end.front() != 0 || op.begin.back() != 0 || op.end.back() != 0)
      return Maybe();
    if (has_padding(node) && !std::isfinite(op.value)) return Maybe();
    WHET_TRY(const Maybe x, picture(node.inputs[0]));
    if (!x) return Maybe();
    PadOperator moved = op;
    for (std::vector<std::int64_t>* list : {&moved.begin, &moved.end}) {
      list->insert(list->begin() + 1, 0);
      if (form_ == kChannelsFirst) list->pop_back();
    }
    return computed(node, moved, {*x});
  }

  /// A picture in the file's order is turned where a convolution reads it. The result is channels last.
  Result<Maybe> convert(const Node& node, const TransposeOperator& op) {
    const Shape& result = graph_.value(node.output).type.shape;
    const bool turns =
        feeds(node.output) && in_ == kChannelsLast && op.perm == channels_last_permutation(op.perm.size());
    const std::optional<Shape> shape = seen(result, in_);
    if (!turns || !shape || graph_.value(node.inputs[0]).constant || now_.contains(node.inputs[0])) return Maybe();
    if (const auto known = read_as_.try_emplace(node.inputs[0], kChannelsLast).first; known->second != kChannelsLast)
      return Maybe();
    WHET_TRY(const ValueId turned, builder_.compute(node, op, {builder_.read(node.inputs[0], kChannelsLast)}));
    has_form_ = true;
    return computed(node, ReshapeOperator{*shape}, {turned});
  }

  /// Operators that are not elementwise work on their own order.
  template <typename Op>
  Result<Maybe> convert(const Node& node, const Op&) {
    return class_of(node.op) == OperatorClass::elementwise ? elementwise(node) : Result<Maybe>(Maybe());
  }

  const Graph& graph_;
  const Group& group_;
  FragmentBuilder builder_;
  ActivationLayout in_, out_;
  const std::vector<ActivationLayout>& padded_;  ///< forms whose blocks may be padded by any number of channels
  NodeId anchor_;                                ///< the convolution, where there is one
  int convolutions_ = 0;
  ActivationLayout form_;               ///< of what is read or written just now
  std::set<ValueId> feeding_;           ///< results of nodes that the convolution's input depends on
  bool has_form_ = false;               ///< a picture of several pixels was read
  std::map<ValueId, StoredValue> now_;  ///< by value of `graph_`: the fragment's, and the form that it is seen in
  std::map<ValueId, ActivationLayout> read_as_;
};

}  // namespace

Result<Fragment> fragment_of(const FusedGraph& fused, const Group& group) {
  FragmentBuilder builder(fused.graph);
  std::map<ValueId, ValueId> now;
  for (NodeId n : group.nodes) {
    const Node& node = fused.graph.node(n);
    for (ValueId id : node.inputs)
      if (!now.contains(id)) now[id] = fused.graph.value(id).constant ? builder.constant(id) : builder.read(id, {});
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(now.at(id));
    WHET_TRY(now[node.output], builder.compute(node, node.op, inputs));
  }
  return builder.finish(now.at(group.outputs.front()), {group.outputs.front(), kChannelsLast});
}

Result<Fragment> fragment_of_alias(const FusedGraph& fused, const Node& node) {
  FragmentBuilder builder(fused.graph);
  const ValueId id = node.inputs.front();
  const ValueId input = fused.graph.value(id).constant ? builder.constant(id) : builder.read(id, {});
  WHET_TRY(const ValueId now, builder.graph().add_node(node.name, node.op, {input}));
  return builder.finish(now, {node.output, kChannelsLast});
}

Result<std::optional<Fragment>> converted(const FusedGraph& fused, const Group& group, ActivationLayout in,
                                          ActivationLayout out, const std::vector<ActivationLayout>& padded) {
  return Conversion(fused, group, in, out, padded).run();
}

Result<Fragment> transform_of(const FusedGraph& fused, ValueId value, ActivationLayout from, ActivationLayout to) {
  FragmentBuilder builder(fused.graph);
  const Value& picture = fused.graph.value(value);
  const ValueId read = builder.read(value, from);
  WHET_TRY(const ValueId now,
           add_transform(builder.graph(), read, picture.type.shape, from, to, picture.name + "_" + to_text(to)));
  Fragment fragment = builder.finish(now, {value, to});
  const std::vector<Node>& nodes = fragment.graph.nodes;
  const auto first = std::find_if_not(nodes.begin(), nodes.end(), is_reshape);
  const auto last = std::find_if_not(nodes.rbegin(), nodes.rend(), is_reshape).base();
  for (auto node = first; node < last; ++node) fragment.kernel.push_back(NodeId(node - nodes.begin()));
  return fragment;
}

}  // namespace whet
