#include "passes/simplify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "passes/host_tensor.h"
#include "passes/integer_form.h"
#include "passes/permutation.h"
#include "passes/rewriter.h"

namespace whet {
namespace {

using MaybeValue = std::optional<ValueId>;

/// One node on its way into the new graph. A rule gives the value that stands for the node's, or nothing.
struct Site {
  Rewriter& rewriter;
  const Node& node;             ///< of the old graph
  std::vector<ValueId> inputs;  ///< of the new graph

  const Shape& shape(std::size_t k) const { return rewriter.shape(inputs[k]); }
  const TensorType& result() const { return rewriter.from().value(node.output).type; }
  bool keeps_type(std::size_t k = 0) const { return rewriter.type(inputs[k]) == result(); }
  Result<MaybeValue> emit(Operator op, std::vector<ValueId> operands) const {
    WHET_TRY(const ValueId value, rewriter.emit(node.name, std::move(op), std::move(operands)));
    return MaybeValue(value);
  }
  Result<MaybeValue> reshape(ValueId from) const {
    if (rewriter.type(from) == result()) return MaybeValue(from);
    return emit(ReshapeOperator{result().shape}, {from});
  }
};

bool all_equal(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v == value; });
}

// ---- Operators that change nothing.

bool is_uniform(const Site& site, std::size_t k, double value) {
  const Tensor* constant = site.rewriter.constant_of(site.inputs[k]);
  return constant && uniform_value(*constant) == value;
}

Result<MaybeValue> without_effect(const Site& site, const BinaryOperator& op) {
  auto neutral = [&](std::size_t k) -> bool {
    switch (op.kind) {
      case BinaryKind::add:
        return is_uniform(site, k, 0);
      case BinaryKind::mul:
        return is_uniform(site, k, 1);
      case BinaryKind::sub:
        return k == 1 && is_uniform(site, k, 0);
      case BinaryKind::div:
      case BinaryKind::pow:
        return k == 1 && is_uniform(site, k, 1);
      default:
        return false;
    }
  };
  for (std::size_t k = 0; k < 2; ++k) {
    if (site.keeps_type(1 - k) && neutral(k)) return MaybeValue(site.inputs[1 - k]);
  }
  return MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const ClipOperator& op) {
  return std::isinf(op.low) && std::isinf(op.high) && op.low < op.high ? MaybeValue(site.inputs[0]) : MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const CastOperator&) {
  return site.keeps_type() ? MaybeValue(site.inputs[0]) : MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const PoolOperator& op) {
  return all_equal(op.kernel, 1) && site.keeps_type() ? MaybeValue(site.inputs[0]) : MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const ReduceOperator& op) {
  for (std::int64_t axis : op.axes) {
    if (site.shape(0)[static_cast<std::size_t>(axis)] != 1) return MaybeValue();
  }
  const bool keeps_values = op.kind == ReduceKind::sum || op.kind == ReduceKind::mean || op.kind == ReduceKind::max ||
                            op.kind == ReduceKind::min || op.kind == ReduceKind::prod;
  return keeps_values ? site.reshape(site.inputs[0]) : MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const SliceOperator& op) {
  return site.keeps_type() && all_equal(op.steps, 1) ? MaybeValue(site.inputs[0]) : MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const PadOperator& op) {
  return all_equal(op.begin, 0) && all_equal(op.end, 0) ? MaybeValue(site.inputs[0]) : MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const ExpandOperator&) {
  return site.keeps_type() ? MaybeValue(site.inputs[0]) : MaybeValue();
}

Result<MaybeValue> without_effect(const Site& site, const ResizeOperator& op) {
  const bool one = std::all_of(op.scales.begin(), op.scales.end(), [](double s) { return s == 1; });
  return site.keeps_type() && one ? MaybeValue(site.inputs[0]) : MaybeValue();
}

template <typename T>
Result<MaybeValue> without_effect(const Site&, const T&) {
  return MaybeValue();
}

// ---- Operators that another one says as well.

/// f(reshape(x)) = reshape(f(x)): the reshape is no longer between f and what computes x. Others may read the
/// reshape too: it costs nothing.
Result<MaybeValue> before_reshape(const Site& site) {
  const Node* reshape = site.rewriter.producer_as<ReshapeOperator>(site.inputs[0]);
  if (!reshape) return MaybeValue();
  WHET_TRY(const ValueId value, site.rewriter.emit(site.node.name, site.node.op, {reshape->inputs[0]}));
  return site.reshape(value);
}

/// Reads through expands whose work the broadcasting operator does itself.
Result<MaybeValue> without_expand(const Site& site) {
  std::vector<ValueId> operands = site.inputs;
  for (ValueId& id : operands) {
    const Node* expand = site.rewriter.producer_as<ExpandOperator>(id);
    if (!expand) continue;
    const ValueId expanded = id;
    id = expand->inputs[0];
    std::vector<TensorType> types;
    for (ValueId operand : operands) types.push_back(site.rewriter.type(operand));
    const auto type = infer_type(site.node.name, site.node.op, types);
    if (!type.ok() || *type != site.result()) id = expanded;
  }
  return operands == site.inputs ? MaybeValue() : site.emit(site.node.op, operands);
}

/// How many trailing dimensions two shapes have in common.
std::size_t common_tail(const Shape& a, const Shape& b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

/// `shape` with its last `n` dimensions reduced to 1.
Shape reduced(Shape shape, std::size_t n) {
  std::fill(shape.end() - static_cast<std::ptrdiff_t>(n), shape.end(), 1);
  return shape;
}

/// Of a reshape from `from` to `to`: whether `own` to `other` is the same one for a value a row, where rows are trailing
/// dimensions that the reshape leaves alone.
bool reshapes_rows(const Shape& from, const Shape& to, const Shape& own, const Shape& other) {
  for (std::size_t n = common_tail(from, to); n > 0; --n) {
    if (own == reduced(from, n) && other == reduced(to, n)) return true;
  }
  return false;
}

/// The other operand of a binary operator that moves before reshape(x), where x has `shape`: a constant that broadcasts
/// along what the reshape leaves alone, one value a row (what normalizations divide by), or an operand of the result's
/// own shape. The last one is reshaped as well (an alias) where x is a matrix of the same rows: then no reshape is left
/// between a matmul and the operators behind it.
Result<MaybeValue> before_reshape_operand(const Site& site, std::size_t k, const Shape& shape) {
  const ValueId id = site.inputs[k];
  if (const Tensor* constant = site.rewriter.constant_of(id)) {
    Shape own = constant->shape();
    while (!own.empty() && own.front() == 1) own.erase(own.begin());
    if (own.size() > common_tail(shape, site.result().shape)) return MaybeValue();
    if (own == constant->shape()) return MaybeValue(id);
    return MaybeValue(site.rewriter.constant(site.node.name + "_operand", constant->reshaped(own)));
  }
  const bool same_rows = shape.size() == 2 && common_tail(shape, site.result().shape) >= 1;
  const Node* reshape = site.rewriter.producer_as<ReshapeOperator>(id);
  if (reshape && reshapes_rows(shape, site.result().shape, site.rewriter.shape(reshape->inputs[0]), site.shape(k))) {
    return MaybeValue(reshape->inputs[0]);
  }
  if (site.shape(k) != site.result().shape) return MaybeValue();
  if (reshape && site.rewriter.shape(reshape->inputs[0]) == shape) return MaybeValue(reshape->inputs[0]);
  if (!same_rows) return MaybeValue();
  WHET_TRY(const ValueId value, site.rewriter.emit(site.node.name + "_operand", ReshapeOperator{shape}, {id}));
  return MaybeValue(value);
}

Result<MaybeValue> binary_before_reshape(const Site& site) {
  for (std::size_t k = 0; k < 2; ++k) {
    const Node* reshape = site.rewriter.producer_as<ReshapeOperator>(site.inputs[k]);
    if (!reshape || site.shape(k) != site.result().shape) continue;
    const ValueId source = reshape->inputs[0];
    const Shape shape = site.rewriter.shape(source);
    WHET_TRY(const MaybeValue other, before_reshape_operand(site, 1 - k, shape));
    if (!other) continue;
    std::vector<ValueId> operands = {source, *other};
    if (k == 1) std::swap(operands[0], operands[1]);
    WHET_TRY(const ValueId value, site.rewriter.emit(site.node.name, site.node.op, operands));
    return site.reshape(value);
  }
  return MaybeValue();
}

Result<MaybeValue> plainer(const Site& site, const UnaryOperator&) { return before_reshape(site); }
Result<MaybeValue> plainer(const Site& site, const ClipOperator&) { return before_reshape(site); }
/// Where floats become bytes, so that bytes are what is stored.
Result<MaybeValue> plainer(const Site& site, const CastOperator& op) {
  return is_byte(op.to) && is_float(site.rewriter.type(site.inputs[0]).dtype) ? before_reshape(site) : MaybeValue();
}
Result<MaybeValue> plainer(const Site& site, const HardSigmoidOperator&) { return before_reshape(site); }
Result<MaybeValue> plainer(const Site& site, const LeakyReluOperator&) { return before_reshape(site); }

Result<MaybeValue> plainer(const Site& site, const BinaryOperator&) {
  WHET_TRY(const MaybeValue value, without_expand(site));
  return value ? Result<MaybeValue>(value) : binary_before_reshape(site);
}

/// Rows of a matrix that a reshape leaves alone are reduced before it: normalizations then meet the matmuls around them.
Result<MaybeValue> plainer(const Site& site, const ReduceOperator& op) {
  const Node* reshape = site.rewriter.producer_as<ReshapeOperator>(site.inputs[0]);
  if (!reshape || op.axes.empty() || site.rewriter.shape(reshape->inputs[0]).size() != 2) return MaybeValue();
  const Shape &from = site.rewriter.shape(reshape->inputs[0]), &to = site.shape(0);
  const std::size_t n = op.axes.size();
  if (n > common_tail(from, to) || op.axes.front() != static_cast<std::int64_t>(to.size() - n)) return MaybeValue();
  ReduceOperator before = op;
  before.keep_dims = true;
  std::iota(before.axes.begin(), before.axes.end(), static_cast<std::int64_t>(from.size() - n));
  WHET_TRY(const ValueId value, site.rewriter.emit(site.node.name, before, {reshape->inputs[0]}));
  return site.reshape(value);
}

Result<MaybeValue> plainer(const Site& site, const WhereOperator&) { return without_expand(site); }

Result<MaybeValue> plainer(const Site& site, const ReshapeOperator&) {
  if (site.keeps_type()) return MaybeValue(site.inputs[0]);
  const Node* inner = site.rewriter.producer_as<ReshapeOperator>(site.inputs[0]);
  return inner ? site.reshape(inner->inputs[0]) : MaybeValue();
}

Result<MaybeValue> plainer(const Site& site, const TransposeOperator& op) {
  if (moves_only_ones(site.shape(0), op.perm)) return site.reshape(site.inputs[0]);
  const Node* inner = site.rewriter.producer_as<TransposeOperator>(site.inputs[0]);
  if (!inner) return MaybeValue();
  const std::vector<std::int64_t> perm = compose(std::get<TransposeOperator>(inner->op).perm, op.perm);
  const ValueId source = inner->inputs[0];
  if (moves_only_ones(site.rewriter.shape(source), perm)) return site.reshape(source);
  return site.emit(TransposeOperator{perm}, {source});
}

/// One tensor between constants that are the same value throughout is padded with it: kernels compute a padding where
/// they read it.
Result<MaybeValue> as_padding(const Site& site, const ConcatOperator& op) {
  const std::size_t rank = site.result().shape.size(), axis = static_cast<std::size_t>(op.axis);
  PadOperator pad{PadMode::constant, 0, std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  std::optional<double> value;
  MaybeValue padded;
  for (std::size_t k = 0; k < site.inputs.size(); ++k) {
    const Tensor* constant = site.rewriter.constant_of(site.inputs[k]);
    const std::optional<double> uniform = constant ? uniform_value(*constant) : std::nullopt;
    if (!uniform) {
      if (padded) return MaybeValue();
      padded = site.inputs[k];
      continue;
    }
    if (value.value_or(*uniform) != *uniform) return MaybeValue();
    value = uniform;
    (padded ? pad.end : pad.begin)[axis] += site.shape(k)[axis];
  }
  if (!padded || !value || !is_float(site.result().dtype)) return MaybeValue();
  pad.value = *value;
  return site.emit(pad, {*padded});
}

Result<MaybeValue> plainer(const Site& site, const ConcatOperator& op) {
  std::vector<ValueId> parts;
  for (std::size_t k = 0; k < site.inputs.size(); ++k) {
    if (num_elements(site.shape(k)) > 0) parts.push_back(site.inputs[k]);
  }
  if (parts.size() == 1) return MaybeValue(parts[0]);
  return parts.size() == site.inputs.size() ? as_padding(site, op) : site.emit(op, parts);
}

Result<MaybeValue> plainer(const Site& site, const GatherOperator& op) {
  const Tensor* indices = site.rewriter.constant_of(site.inputs[1]);
  if (!indices || indices->size() != 1) return MaybeValue();
  const auto axis = static_cast<std::size_t>(op.axis);
  const Shape& data = site.shape(0);
  const std::int64_t raw = indices->integer(0), index = raw < 0 ? raw + data[axis] : raw;
  if (index < 0 || index >= data[axis]) {
    return Error{site.node.name + ": index " + std::to_string(raw) + " is outside dimension " +
                 std::to_string(op.axis) + " of " + to_string(data)};
  }
  SliceOperator slice{Shape(data.size(), 0), Shape(data.size(), 1), data};
  slice.starts[axis] = index;
  slice.shape[axis] = 1;
  WHET_TRY(const ValueId value, site.rewriter.emit(site.node.name, slice, {site.inputs[0]}));
  return site.reshape(value);
}

/// Zero padding of spatial dimensions alone becomes the convolution's own.
std::optional<ConvOperator> with_padding(ConvOperator op, const PadOperator& pad) {
  if (pad.mode != PadMode::constant || pad.value != 0) return std::nullopt;
  const std::size_t rank = pad.begin.size(), first = op.layout == Layout::channels_last ? 1 : 2;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool spatial = d >= first && d < first + op.strides.size();
    if (pad.begin[d] < 0 || pad.end[d] < 0) return std::nullopt;
    if (!spatial && (pad.begin[d] != 0 || pad.end[d] != 0)) return std::nullopt;
    if (!spatial) continue;
    op.pads_begin[d - first] += pad.begin[d];
    op.pads_end[d - first] += pad.end[d];
  }
  return op;
}

Result<MaybeValue> plainer(const Site& site, const ConvOperator& op) {
  if (site.inputs.size() == 3 && is_uniform(site, 2, 0)) return site.emit(op, {site.inputs[0], site.inputs[1]});
  const bool has_bias_for_borders = site.inputs.size() == 3 && site.shape(2).size() > 1;
  const Node* pad = site.rewriter.producer_as<PadOperator>(site.inputs[0]);
  if (!pad || has_bias_for_borders) return MaybeValue();
  const auto padded = with_padding(op, std::get<PadOperator>(pad->op));
  if (!padded) return MaybeValue();
  std::vector<ValueId> operands = site.inputs;
  operands[0] = pad->inputs[0];
  return site.emit(*padded, operands);
}

/// All rows of a batch times one matrix are one matrix product.
Result<MaybeValue> as_one_product(const Site& site, const MatMulOperator& op) {
  const Shape &a = site.shape(0), &b = site.shape(1);
  if (op.transpose_a || b.size() != 2 || a.size() == 2) return MaybeValue();
  const std::int64_t depth = a.back(), rows = num_elements(a) / std::max<std::int64_t>(depth, 1);
  WHET_TRY(const ValueId matrix,
           site.rewriter.emit(site.node.name + "_rows", ReshapeOperator{Shape{rows, depth}}, {site.inputs[0]}));
  WHET_TRY(const ValueId product, site.rewriter.emit(site.node.name, op, {matrix, site.inputs[1]}));
  return site.reshape(product);
}

/// Swaps the last two of `rank` dimensions.
std::vector<std::int64_t> swapping(std::size_t rank) {
  std::vector<std::int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

/// Attention over pictures stored channels first: v aᵀ = (a vᵀ)ᵀ, whose moves go with the operands.
Result<MaybeValue> mixed_by_rows(const Site& site, const MatMulOperator& op) {
  const std::size_t rank = site.shape(1).size();
  const Node* turn = site.rewriter.producer_as<TransposeOperator>(site.inputs[1]);
  if (op.transpose_a || rank < 3 || site.shape(0).size() != rank || !turn ||
      std::get<TransposeOperator>(turn->op).perm != swapping(rank) ||
      !site.rewriter.producer_as<SoftmaxOperator>(turn->inputs[0]))
    return MaybeValue();
  const TransposeOperator swap{swapping(rank)};
  const ValueId weights = turn->inputs[0];  // `turn` moves when a node is added
  WHET_TRY(const ValueId values, site.rewriter.emit(site.node.name + "_values", swap, {site.inputs[0]}));
  WHET_TRY(const ValueId mixed, site.rewriter.emit(site.node.name + "_mixed", op, {weights, values}));
  return site.emit(swap, {mixed});
}

Result<MaybeValue> plainer(const Site& site, const MatMulOperator& op) {
  if (!op.transpose_b) {
    WHET_TRY(const MaybeValue mixed, mixed_by_rows(site, op));
    return mixed ? mixed : as_one_product(site, op);
  }
  const std::vector<std::int64_t> perm = swapping(site.shape(1).size());
  ValueId turned;
  if (const Tensor* b = site.rewriter.constant_of(site.inputs[1])) {
    turned = site.rewriter.constant(site.node.name + "_b", transposed(*b, perm));
  } else {
    WHET_TRY(turned, site.rewriter.emit(site.node.name + "_b", TransposeOperator{perm}, {site.inputs[1]}));
  }
  return site.emit(MatMulOperator{.transpose_a = op.transpose_a, .wide = op.wide}, {site.inputs[0], turned});
}

template <typename T>
Result<MaybeValue> plainer(const Site&, const T&) {
  return MaybeValue();
}

Result<MaybeValue> simplified(const Site& site) {
  WHET_TRY(const MaybeValue value, std::visit([&](const auto& op) { return without_effect(site, op); }, site.node.op));
  if (value) return value;
  return std::visit([&](const auto& op) { return plainer(site, op); }, site.node.op);
}

}  // namespace

Result<Graph> simplify_graph(const Graph& from) {
  Rewriter rewriter(from);
  for (const Node& node : from.nodes) {
    Site site{rewriter, node, rewriter.now(node.inputs)};
    WHET_TRY(const MaybeValue value, simplified(site));
    if (value) {
      rewriter.replace(node.output, *value);
    } else {
      WHET_RETURN_IF_ERROR(rewriter.copy_over(node, std::move(site.inputs)));
    }
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
