#include "passes/batch_norm.h"

#include <cmath>

#include "passes/rewriter.h"

namespace whet {
namespace {

/// [C] as it is beside the channels of an activation of `rank` dimensions.
Shape parameter_shape(std::int64_t channels, Layout layout, std::size_t rank) {
  Shape shape = {channels};
  if (layout == Layout::channels_first) shape.resize(rank - 1, 1);
  return shape;
}

/// Scale and shift as new values of the right shape.
struct ScaleShiftValues {
  ValueId scale, shift;
};

ScaleShiftValues constant_parameters(Rewriter& rewriter, const Node& node, const std::vector<ValueId>& in,
                                     const BatchNormOperator& op, const Shape& shape) {
  auto at = [&](std::size_t k, std::int64_t c) { return rewriter.constant_of(in[k])->get(c); };
  Tensor scale(rewriter.type(in[1]).dtype, shape), shift(rewriter.type(in[1]).dtype, shape);
  for (std::int64_t c = 0; c < scale.size(); ++c) {
    const double factor = at(1, c) / std::sqrt(at(4, c) + op.epsilon);
    scale.set(c, factor);
    shift.set(c, at(2, c) - at(3, c) * factor);
  }
  return {rewriter.constant(node.name + "_scale", scale), rewriter.constant(node.name + "_shift", shift)};
}

Result<ScaleShiftValues> computed_parameters(Rewriter& rewriter, const Node& node, const std::vector<ValueId>& in,
                                             const BatchNormOperator& op, const Shape& shape) {
  const Tensor epsilon = Tensor::of<double>(rewriter.type(in[4]).dtype, {}, {op.epsilon});
  auto binary = [&](BinaryKind kind, ValueId a, ValueId b) {
    return rewriter.emit(node.name + "_parameter", BinaryOperator{kind}, {a, b});
  };
  WHET_TRY(ValueId deviation, binary(BinaryKind::add, in[4], rewriter.constant(node.name + "_epsilon", epsilon)));
  WHET_TRY(deviation, rewriter.emit(node.name + "_deviation", UnaryOperator{UnaryKind::sqrt}, {deviation}));
  WHET_TRY(ValueId scale, binary(BinaryKind::div, in[1], deviation));
  WHET_TRY(ValueId shift, binary(BinaryKind::mul, in[3], scale));
  WHET_TRY(shift, binary(BinaryKind::sub, in[2], shift));
  WHET_TRY(scale, rewriter.emit(node.name + "_scale", ReshapeOperator{shape}, {scale}));
  WHET_TRY(shift, rewriter.emit(node.name + "_shift", ReshapeOperator{shape}, {shift}));
  return ScaleShiftValues{scale, shift};
}

Status split(Rewriter& rewriter, const Node& node, const BatchNormOperator& op) {
  const std::vector<ValueId> in = rewriter.now(node.inputs);
  bool constant = true;
  for (std::size_t k = 1; k < 5; ++k) constant = constant && rewriter.constant_of(in[k]);
  const Shape shape = parameter_shape(rewriter.shape(in[1])[0], op.layout, rewriter.shape(in[0]).size());
  ScaleShiftValues parameters;
  if (constant) {
    parameters = constant_parameters(rewriter, node, in, op, shape);
  } else {
    WHET_TRY(parameters, computed_parameters(rewriter, node, in, op, shape));
  }
  WHET_TRY(const ValueId scaled,
           rewriter.emit(node.name + "_mul", BinaryOperator{BinaryKind::mul}, {in[0], parameters.scale}));
  return rewriter.copy_as(node, BinaryOperator{BinaryKind::add}, {scaled, parameters.shift});
}

}  // namespace

Result<Graph> split_batch_norm(const Graph& from) {
  Rewriter rewriter(from);
  for (const Node& node : from.nodes) {
    const auto* op = std::get_if<BatchNormOperator>(&node.op);
    WHET_RETURN_IF_ERROR(op ? split(rewriter, node, *op) : rewriter.copy(node));
  }
  return std::move(rewriter).finish();
}

}  // namespace whet
