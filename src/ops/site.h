#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compute/dag.h"
#include "graph/graph.h"
#include "ops/define.h"

/// Inside the room: the place where an operator is defined, and the functions that build its ops.
namespace whet {

using Exprs = std::vector<Expr>;
/// The body of an op without reduction at the axis variables `i`.
using MapBody = std::function<Expr(const Exprs& i)>;
/// The body of a reduction at the spatial variables `i` and the reduce variables `r`.
using ReduceBody = std::function<Expr(const Exprs& i, const Exprs& r)>;

/// The dag that grows, the inputs with their types, and the type and name of the result.
struct Site {
  ComputeDag& dag;
  OpNames& names;
  const std::vector<OpId>& inputs;
  const std::vector<TensorType>& types;
  const TensorType& output;
  const std::string& name;

  const Shape& shape(std::size_t input) const { return types[input].shape; }
  /// Input `k` at `index`; a literal where the input is one.
  Expr read(std::size_t k, Exprs index) const;
  /// Op `id` at `index`; a literal where the op is one.
  Expr read(OpId id, Exprs index) const;
  /// Input `k` at the position `i` of a result to which it is broadcast as in numpy.
  Expr read_broadcast(std::size_t k, const Exprs& i) const;

  OpId map(const std::string& op_name, std::vector<Axis> axes, OpFamily, const MapBody&) const;
  OpId reduce(const std::string& op_name, std::vector<Axis> axes, std::vector<Axis> reduce_axes, Reducer, OpFamily,
              const ReduceBody&) const;
  /// The op of the result: its axes come from the result's shape, and its name is `name`.
  OpId result(OpFamily, const MapBody&) const;
  std::string part(const char* suffix) const { return name + "_" + suffix; }
};

/// The type in which sums and weights of `dtype` are computed: f32 for f16, whose largest number is 65504.
DType wide_type(DType dtype);
/// `x` in that type.
Expr widened(const Expr& x);
/// The result from its elements `sum` in that type.
OpId rounded_sum(const Site&, OpId sum);

/// `value` in the type of `x`.
inline Expr like(const Expr& x, double value) { return constant_like(x, value); }

/// `at`, but at least 0 and less than `extent`.
Expr clamped(Expr at, std::int64_t extent);

/// Axes i0, i1, ... of the extents of `shape`, without roles.
std::vector<Axis> axes_of(const Shape& shape);

// ---- One overload for each operator, one file for each family. `define` dispatches.
OpId define_at(const Site&, const UnaryOperator&);
OpId define_at(const Site&, const ClipOperator&);
OpId define_at(const Site&, const HardSigmoidOperator&);
OpId define_at(const Site&, const LeakyReluOperator&);
OpId define_at(const Site&, const BinaryOperator&);
OpId define_at(const Site&, const WhereOperator&);
OpId define_at(const Site&, const CastOperator&);
OpId define_at(const Site&, const BatchNormOperator&);
// conv.cc
OpId define_at(const Site&, const ConvOperator&);
// matmul.cc
OpId define_at(const Site&, const MatMulOperator&);
// pool.cc
OpId define_at(const Site&, const PoolOperator&);
// reduce.cc
OpId define_at(const Site&, const ReduceOperator&);
OpId define_at(const Site&, const SoftmaxOperator&);
// injective.cc
OpId define_at(const Site&, const TransposeOperator&);
OpId define_at(const Site&, const ReshapeOperator&);
OpId define_at(const Site&, const ConcatOperator&);
OpId define_at(const Site&, const SliceOperator&);
OpId define_at(const Site&, const PadOperator&);
OpId define_at(const Site&, const GatherOperator&);
OpId define_at(const Site&, const ExpandOperator&);
// resize.cc
OpId define_at(const Site&, const ResizeOperator&);
// index.cc
OpId define_at(const Site&, const GatherElementsOperator&);
OpId define_at(const Site&, const GatherNdOperator&);
OpId define_at(const Site&, const ScatterElementsOperator&);
OpId define_at(const Site&, const ScatterNdOperator&);
OpId define_at(const Site&, const ArgReduceOperator&);
OpId define_at(const Site&, const CumSumOperator&);
// custom.cc
OpId define_at(const Site&, const CustomOperator&);
// top_k.cc
OpId define_at(const Site&, const TopKOperator&);

/// |x|. The lowest integer has no absolute value and stays. (elementwise.cc)
Expr absolute(const Expr& x);
/// tan, asin, ..., atanh of a float. (trigonometry.cc)
Expr trigonometric(UnaryKind, const Expr& x);
/// log(1 + exp(x)) without overflow. (trigonometry.cc)
Expr softplus(const Expr& x);

// ---- Windows, shared by convolutions and pools.
/// The spatial axes with their names and roles: x alone, y x, or z y x.
std::vector<Axis> spatial_axes(const Shape& extents);
/// Reduce axes rw, rh rw, or rd rh rw with the role tap.
std::vector<Axis> tap_axes(const Shape& extents);
/// Input 0 with `begin` and `end` elements of `value` around its spatial dimensions, which start at `first`. The input
/// is returned unchanged when all are 0.
OpId padded_input(const Site&, std::size_t first, const std::vector<std::int64_t>& begin,
                  const std::vector<std::int64_t>& end, const Expr& value);

}  // namespace whet
