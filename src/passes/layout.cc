#include "passes/layout.h"

#include <algorithm>
#include <concepts>
#include <map>
#include <numeric>

#include "ops/reshape_parts.h"
#include "passes/host_tensor.h"
#include "passes/permutation.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

/// A value in one order of its dimensions: dimension i as stored is the file's dimension order[i].
struct Form {
  ValueId value;
  Permutation order;
};

template <typename Op, typename... Ops>
concept OneOf = (std::same_as<Op, Ops> || ...);

std::int64_t position_of(const Permutation& order, std::int64_t dimension) {
  return std::find(order.begin(), order.end(), dimension) - order.begin();
}

// `reorder` makes an operator one on operands whose dimension i is what dimension order[i] was. Operators without it need the
// file's order, or make another one.
template <OneOf<UnaryOperator, ClipOperator, HardSigmoidOperator, LeakyReluOperator, CastOperator> Op>
void reorder(Op&, const Permutation&) {}
template <OneOf<SoftmaxOperator, ConcatOperator, GatherOperator, GatherElementsOperator, ScatterElementsOperator,
                ArgReduceOperator, TopKOperator, CumSumOperator>
              Op>
void reorder(Op& op, const Permutation& order) {
  op.axis = position_of(order, op.axis);
}
void reorder(ReduceOperator& op, const Permutation& order) {
  for (std::int64_t& axis : op.axes) axis = position_of(order, axis);
  std::sort(op.axes.begin(), op.axes.end());
}
void reorder(SliceOperator& op, const Permutation& order) {
  for (auto* list : {&op.starts, &op.steps, &op.shape}) *list = permuted(*list, order);
}
void reorder(PadOperator& op, const Permutation& order) {
  for (auto* list : {&op.begin, &op.end}) *list = permuted(*list, order);
}
void reorder(ExpandOperator& op, const Permutation& order) { op.shape = permuted(op.shape, order); }
void reorder(ResizeOperator& op, const Permutation& order) {
  op.shape = permuted(op.shape, order);
  for (auto* list : {&op.scales, &op.roi_begin, &op.roi_end}) {
    const std::vector<double> old = *list;
    for (std::size_t d = 0; d < list->size(); ++d) (*list)[d] = old[static_cast<std::size_t>(order[d])];
  }
}

class Conversion {
 public:
  explicit Conversion(const Graph& from) : rewriter_(from), forms_(from.values.size()) {}

  Status visit(const Node& node) {
    stored_.emplace_back();
    WHET_RETURN_IF_ERROR(std::visit([&](const auto& op) { return convert(node, op); }, node.op));
    stored_.back().order = natural(node.output).order;
    return ok_status();
  }
  const std::vector<StoredOrder>& stored() const { return stored_; }

  Result<Graph> finish() && {
    for (ValueId id : rewriter_.from().outputs) {
      WHET_TRY(const ValueId value, in_order(id, identity_permutation(shape(id).size())));
      rewriter_.replace(id, value);
    }
    return std::move(rewriter_).finish();
  }

 private:
  /// The file's shape of an old value.
  const Shape& shape(ValueId old) const { return rewriter_.from().value(old).type.shape; }
  const std::string& name(ValueId old) const { return rewriter_.from().value(old).name; }

  /// The form that the producer wrote; inputs and constants come in the file's order.
  const Form& natural(ValueId old) {
    std::vector<Form>& forms = forms_[old.index()];
    if (forms.empty()) forms.push_back({rewriter_.now(old), identity_permutation(shape(old).size())});
    return forms.front();
  }

  /// The old value with its dimensions in `order`.
  Result<ValueId> in_order(ValueId old, const Permutation& order) {
    const Form first = natural(old);
    for (const Form& form : forms_[old.index()]) {
      if (form.order == order) return form.value;
    }
    Permutation perm;
    for (std::int64_t d : order) perm.push_back(position_of(first.order, d));
    WHET_TRY(const ValueId value, turned(first.value, perm, name(old)));
    if (value != first.value && rewriter_.producer_as<TransposeOperator>(value)) stored_.back().turned.push_back(old);
    forms_[old.index()].push_back({value, order});
    return value;
  }

  Result<ValueId> turned(ValueId now, const Permutation& perm, const std::string& label) {
    if (const Tensor* constant = rewriter_.constant_of(now)) {
      return rewriter_.constant(label + "_turned", transposed(*constant, perm));
    }
    if (moves_only_ones(rewriter_.shape(now), perm)) return reshaped(now, permuted(rewriter_.shape(now), perm), label);
    return rewriter_.emit(label + "_turned", TransposeOperator{perm}, {now});
  }

  Result<ValueId> reshaped(ValueId now, const Shape& to, const std::string& label) {
    if (rewriter_.shape(now) == to) return now;
    if (const Tensor* constant = rewriter_.constant_of(now)) {
      return rewriter_.constant(label + "_view", constant->reshaped(to));
    }
    return rewriter_.emit(label + "_view", ReshapeOperator{to}, {now});
  }

  /// The node's result, stored in `order`.
  Status write(const Node& node, Operator op, std::vector<ValueId> inputs, Permutation order) {
    WHET_RETURN_IF_ERROR(rewriter_.copy_as(node, std::move(op), std::move(inputs)));
    forms_[node.output.index()] = {{rewriter_.now(node.output), std::move(order)}};
    return ok_status();
  }

  /// The order in which most elements of the operands of full rank are stored.
  Permutation majority(const std::vector<ValueId>& operands, std::size_t rank) {
    std::map<Permutation, std::int64_t> votes;
    for (ValueId id : operands) {
      const Form& form = natural(id);
      if (form.order.size() == rank && !rewriter_.constant_of(form.value)) {
        votes[form.order] += num_elements(shape(id));
      }
    }
    Permutation best = identity_permutation(rank);
    std::int64_t most = 0;
    for (const auto& [order, count] : votes) {
      // Of equal counts the later, which is never the identity.
      if (count >= most) best = order, most = count;
    }
    return best;
  }

  /// An operand of an operator that broadcasts to a result stored in `order`.
  Result<ValueId> broadcast_operand(ValueId old, const Permutation& order) {
    const Shape own_shape = shape(old);
    const auto missing = static_cast<std::int64_t>(order.size() - own_shape.size());
    Permutation own;
    Shape aligned;
    for (std::int64_t d : order) {
      if (d >= missing) own.push_back(d - missing);
      const std::int64_t extent = d >= missing ? own_shape[static_cast<std::size_t>(d - missing)] : 1;
      if (!aligned.empty() || extent != 1 || own_shape.size() == order.size()) aligned.push_back(extent);
    }
    WHET_TRY(const ValueId value, in_order(old, own));
    if (rewriter_.constant_of(value)) {
      // [1, 1, 1, C] reads better, and is recognised, as [C].
      const auto first = std::find_if(aligned.begin(), aligned.end(), [](std::int64_t extent) { return extent != 1; });
      aligned.erase(aligned.begin(), first);
    }
    return reshaped(value, aligned, name(old));
  }

  Status convert_broadcast(const Node& node) {
    const std::size_t rank = shape(node.output).size();
    const Permutation order = majority(node.inputs, rank);
    std::vector<ValueId> operands;
    bool has_full_rank = rank == 0;
    for (ValueId id : node.inputs) {
      WHET_TRY(const ValueId value, broadcast_operand(id, order));
      operands.push_back(value);
      has_full_rank = has_full_rank || rewriter_.shape(value).size() == rank;
    }
    if (!has_full_rank) {
      // Leading ones were dropped everywhere: the first operand brings them back.
      WHET_TRY(operands[0], reshaped_to_rank(operands[0], rank, name(node.inputs[0])));
    }
    return write(node, node.op, operands, order);
  }

  Result<ValueId> reshaped_to_rank(ValueId now, std::size_t rank, const std::string& label) {
    Shape to = rewriter_.shape(now);
    to.insert(to.begin(), rank - to.size(), 1);
    return reshaped(now, to, label);
  }

  // ---- Operators that prescribe an order.

  Status convert(const Node& node, const ConvOperator& op) {
    if (op.layout != Layout::channels_first) return convert_in_file_order(node);
    stored_.back().reason = OrderReason::prescribed;
    const std::size_t rank = shape(node.inputs[0]).size();
    const Shape w = shape(node.inputs[1]);
    const Permutation last = channels_last_permutation(rank);
    WHET_TRY(const ValueId x, in_order(node.inputs[0], last));
    Permutation weights;
    for (std::size_t d = 2; d < rank; ++d) weights.push_back(static_cast<std::int64_t>(d));
    weights.push_back(1);
    weights.push_back(0);
    WHET_TRY(ValueId hwio, in_order(node.inputs[1], weights));
    const bool depthwise = op.groups > 1 && op.groups == w[0] && w[1] == 1 && shape(node.inputs[0])[1] == op.groups;
    if (depthwise) {
      Shape no_input_channel = rewriter_.shape(hwio);
      no_input_channel.erase(no_input_channel.end() - 2);
      WHET_TRY(hwio, reshaped(hwio, no_input_channel, name(node.inputs[1])));
    }
    std::vector<ValueId> inputs = {x, hwio};
    if (node.inputs.size() == 3) {
      WHET_TRY(const ValueId bias, in_order(node.inputs[2], identity_permutation(shape(node.inputs[2]).size())));
      inputs.push_back(bias);
    }
    ConvOperator converted = op;
    converted.layout = Layout::channels_last;
    return write(node, converted, inputs, last);
  }

  Status convert(const Node& node, const PoolOperator& op) {
    if (op.layout != Layout::channels_first) return convert_in_file_order(node);
    // Windows that read each element once are as fast in either order, and their result is smaller to turn.
    const Permutation& order = natural(node.inputs[0]).order;
    if (order == identity_permutation(order.size()) && is_disjoint(op)) return convert_in_file_order(node);
    stored_.back().reason = OrderReason::prescribed;
    const Permutation last = channels_last_permutation(shape(node.output).size());
    WHET_TRY(const ValueId x, in_order(node.inputs[0], last));
    PoolOperator converted = op;
    converted.layout = Layout::channels_last;
    return write(node, converted, {x}, last);
  }

  static bool is_disjoint(const PoolOperator& op) {
    const auto is_zero = [](std::int64_t pad) { return pad == 0; };
    return op.kernel == op.strides && std::all_of(op.pads_begin.begin(), op.pads_begin.end(), is_zero) &&
           std::all_of(op.pads_end.begin(), op.pads_end.end(), is_zero);
  }

  template <OneOf<MatMulOperator, BatchNormOperator, GatherNdOperator, ScatterNdOperator> Op>
  Status convert(const Node& node, const Op&) {
    return convert_in_file_order(node);
  }

  Status convert_in_file_order(const Node& node) {
    stored_.back().reason = OrderReason::file;
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      WHET_TRY(const ValueId value, in_order(id, identity_permutation(shape(id).size())));
      inputs.push_back(value);
    }
    return write(node, node.op, inputs, identity_permutation(shape(node.output).size()));
  }

  // ---- Operators that follow their operands.

  /// All operands have one rank. The result does not have the dimensions `dropped`.
  template <typename Op>
  Status follow(const Node& node, Op op, Permutation order, const std::vector<std::int64_t>& dropped = {}) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      WHET_TRY(const ValueId value, in_order(id, order));
      inputs.push_back(value);
    }
    reorder(op, order);
    return write(node, op, inputs, without(order, dropped));
  }
  Permutation first_order(const Node& node) { return natural(node.inputs[0]).order; }

  template <typename Op>
  Status convert(const Node& node, const Op& op) {
    return follow(node, op, first_order(node));
  }
  template <OneOf<BinaryOperator, WhereOperator> Op>
  Status convert(const Node& node, const Op&) {
    return convert_broadcast(node);
  }
  Status convert(const Node& node, const CustomOperator& op) {
    return is_elementwise(op) ? convert_broadcast(node) : convert_in_file_order(node);
  }
  Status convert(const Node& node, const ConcatOperator& op) {
    return follow(node, op, majority(node.inputs, shape(node.output).size()));
  }
  Status convert(const Node& node, const ReduceOperator& op) {
    return follow(node, op, first_order(node), op.keep_dims ? std::vector<std::int64_t>() : op.axes);
  }
  Status convert(const Node& node, const ArgReduceOperator& op) {
    return follow(node, op, first_order(node), std::vector(op.keep_dims ? 0 : 1, op.axis));
  }
  Status convert(const Node& node, const ExpandOperator& op) {
    if (shape(node.inputs[0]).size() != op.shape.size()) return convert_in_file_order(node);
    return follow(node, op, first_order(node));
  }

  /// The order of what is left when the file's dimensions `dropped` (sorted) go.
  static Permutation without(const Permutation& order, const std::vector<std::int64_t>& dropped) {
    Permutation left;
    for (std::int64_t d : order) {
      if (std::binary_search(dropped.begin(), dropped.end(), d)) continue;
      left.push_back(d - (std::lower_bound(dropped.begin(), dropped.end(), d) - dropped.begin()));
    }
    return left;
  }

  Status convert(const Node& node, const GatherOperator& op) {
    if (shape(node.inputs[1]).size() > 1) return convert_in_file_order(node);
    const Form x = natural(node.inputs[0]);
    WHET_TRY(const ValueId indices, in_order(node.inputs[1], identity_permutation(shape(node.inputs[1]).size())));
    const bool drops = shape(node.inputs[1]).empty();
    GatherOperator converted = op;
    reorder(converted, x.order);
    return write(node, converted, {x.value, indices}, drops ? without(x.order, {op.axis}) : x.order);
  }

  /// Nothing moves: the result's dimensions are the stored ones under other names.
  Status convert(const Node& node, const TransposeOperator& op) {
    stored_.back().reason = OrderReason::renamed;
    const Form x = natural(node.inputs[0]);
    forms_[node.output.index()] = {{x.value, permuted(inverse(op.perm), x.order)}};
    return ok_status();
  }

  /// Where a part ends as stored, by its long dimensions: a pixel's share of an upsampled row (2 of [C, 2, 2] channels)
  /// goes where the row is. Short ones, and then those of 1, decide only when there is nothing else, and a part that
  /// reads no dimension stays behind the one before it.
  static std::int64_t place_of(const ReshapePart& part, const Shape& in, const Permutation& order,
                               std::int64_t before) {
    constexpr std::int64_t kLong = 5;
    std::optional<std::int64_t> place;
    for (const std::int64_t least : {kLong, std::int64_t{2}, std::int64_t{1}}) {
      for (std::size_t d = part.in_begin; d < part.in_end; ++d)
        if (in[d] >= least) place = std::max(place.value_or(0), position_of(order, static_cast<std::int64_t>(d)));
      if (place) break;
    }
    return place.value_or(before);
  }

  /// A reshape cuts both shapes into parts of equal counts; a part's dimensions have to be together and in the
  /// file's order, but the parts may be in any order.
  Status convert(const Node& node, const ReshapeOperator& op) {
    const Shape in = shape(node.inputs[0]);
    if (num_elements(in) == 0) return convert_in_file_order(node);
    const Form x = natural(node.inputs[0]);
    std::vector<std::pair<std::int64_t, ReshapePart>> placed;
    for (const ReshapePart& part : reshape_parts(in, op.shape)) {
      placed.emplace_back(place_of(part, in, x.order, placed.empty() ? 0 : placed.back().first), part);
    }
    std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Permutation in_parts, out_parts;
    for (const auto& [place, part] : placed) {
      for (std::size_t d = part.in_begin; d < part.in_end; ++d) in_parts.push_back(static_cast<std::int64_t>(d));
      for (std::size_t d = part.out_begin; d < part.out_end; ++d) out_parts.push_back(static_cast<std::int64_t>(d));
    }
    WHET_TRY(const ValueId value, in_order(node.inputs[0], in_parts));
    return write(node, ReshapeOperator{permuted(op.shape, out_parts)}, {value}, out_parts);
  }

  Rewriter rewriter_;
  std::vector<std::vector<Form>> forms_;
  std::vector<StoredOrder> stored_;  ///< of the nodes so far
};

}  // namespace

Result<Graph> convert_to_channels_last(const Graph& from) {
  Conversion conversion(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(conversion.visit(node));
  return std::move(conversion).finish();
}

Result<std::vector<StoredOrder>> stored_orders(const Graph& from) {
  Conversion conversion(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(conversion.visit(node));
  return conversion.stored();
}

}  // namespace whet
