#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace whet {

struct ComputeDag;

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;

/// The order of an activation's dimensions: [N, C, spatial...] as ONNX writes them, [N, spatial..., C] as whet computes
/// unless it has chosen otherwise, or [N, C/b, spatial..., b]: blocks of b neighbouring channels (NCHW16c where b is 16).
enum class Layout : std::uint8_t { channels_first, channels_last, channels_blocked };

enum class UnaryKind : std::uint8_t {
  relu,
  sigmoid,
  tanh,
  exp,
  log,
  sqrt,
  reciprocal,
  erf,
  abs,
  neg,
  floor,
  ceil,
  round,
  sign,
  logical_not,
  softplus,
  softsign,
  sin,
  cos,
  hard_swish,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  is_nan
};
enum class BinaryKind : std::uint8_t {
  add,
  sub,
  mul,
  div,
  pow,
  min,
  max,
  mod,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  logical_and,
  logical_or,
  logical_xor
};
enum class PoolKind : std::uint8_t { max, average };
enum class ReduceKind : std::uint8_t { sum, mean, max, min, prod, l1, l2, sum_square, log_sum, log_sum_exp };
enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };
enum class ScatterKind : std::uint8_t { replace, add, mul, max, min };
enum class ResizeMode : std::uint8_t { nearest, linear, cubic };
enum class CoordinateMode : std::uint8_t {
  half_pixel,
  asymmetric,
  align_corners,
  pytorch_half_pixel,
  half_pixel_symmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};
enum class NearestMode : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };

// ---- Operators. Attributes are structs with resolved values: import has removed auto_pad, negative axes and defaults.
struct UnaryOperator {
  UnaryKind kind;
  friend bool operator==(const UnaryOperator&, const UnaryOperator&) = default;
};
/// An open end is +-infinity.
struct ClipOperator {
  double low, high;
  friend bool operator==(const ClipOperator&, const ClipOperator&) = default;
};
struct HardSigmoidOperator {
  double alpha = 0.2, beta = 0.5;
  friend bool operator==(const HardSigmoidOperator&, const HardSigmoidOperator&) = default;
};
struct LeakyReluOperator {
  double alpha = 0.01;
  friend bool operator==(const LeakyReluOperator&, const LeakyReluOperator&) = default;
};
/// (a, b): numpy broadcasting.
struct BinaryOperator {
  BinaryKind kind;
  friend bool operator==(const BinaryOperator&, const BinaryOperator&) = default;
};
/// (condition, a, b): numpy broadcasting.
struct WhereOperator {
  friend bool operator==(const WhereOperator&, const WhereOperator&) = default;
};
struct CastOperator {
  DType to;
  friend bool operator==(const CastOperator&, const CastOperator&) = default;
};
/// (x, w[, bias]); bias [O]. x and w have one type, or x is u8 and w is i8: then the sums, and the bias, are i32, and
/// what is padded is 0. The layout decides the order of the weights:
///   channels_first: x [N, C, spatial...], w [O, C/groups, spatial...] (OIHW), as ONNX writes them;
///   channels_last:  x [N, spatial..., C], w [spatial..., C/groups, O] (HWIO), made by the layout pass;
///                   depthwise (groups == C == O > 1): w [spatial..., C], one rank less;
///   channels_blocked: x [N, C/b, spatial..., b], w as for channels_last, the result in blocks of `block` channels;
///                   groups == 1, or depthwise with equal blocks.
struct ConvOperator {
  std::vector<std::int64_t> strides, dilations, pads_begin, pads_end;  ///< one a spatial dimension
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;
  std::int64_t block = 0;  ///< channels in a block of the result, where the layout is channels_blocked
  /// x and w are f16 or bf16, or w is f32 and x of any 16 bits: bias and result are f32. Or both are i16: these are i32.
  bool wide = false;
  friend bool operator==(const ConvOperator&, const ConvOperator&) = default;
};
/// (a, b): the last two dimensions are matrices, the others broadcast. Import reshapes 1-D operands to matrices as
/// numpy does. transpose_b: b is [..., N, K]. Of u8 times i8 the sums are i32.
struct MatMulOperator {
  bool transpose_a = false, transpose_b = false;
  bool wide = false;  ///< b is f16 or bf16, and a like it or f32: the result is f32. Or both are i16: it is i32
  friend bool operator==(const MatMulOperator&, const MatMulOperator&) = default;
};
struct PoolOperator {
  PoolKind kind;
  std::vector<std::int64_t> kernel, strides, dilations, pads_begin,
      pads_end;  ///< pads_end includes the padding that ceil_mode adds
  bool count_include_pad = false;
  Layout layout = Layout::channels_first;
  friend bool operator==(const PoolOperator&, const PoolOperator&) = default;
};
/// Axes sorted, >= 0; global pools too.
struct ReduceOperator {
  ReduceKind kind;
  std::vector<std::int64_t> axes;
  bool keep_dims = true;
  friend bool operator==(const ReduceOperator&, const ReduceOperator&) = default;
};
/// Over one axis (opset < 13: reshaped to it at import).
struct SoftmaxOperator {
  std::int64_t axis;
  bool log = false;
  std::optional<DType> rounds = {};  ///< x is f32, the result of this type: f16 or bf16
  friend bool operator==(const SoftmaxOperator&, const SoftmaxOperator&) = default;
};
/// (x, scale, bias, mean, variance): the inference form, over the channel axis of `layout`.
struct BatchNormOperator {
  double epsilon = 1e-5;
  Layout layout = Layout::channels_first;
  friend bool operator==(const BatchNormOperator&, const BatchNormOperator&) = default;
};
/// Output dimension i is input dimension perm[i].
struct TransposeOperator {
  std::vector<std::int64_t> perm;
  friend bool operator==(const TransposeOperator&, const TransposeOperator&) = default;
};
/// No -1 and no 0 left; also Flatten, Squeeze, Unsqueeze.
struct ReshapeOperator {
  Shape shape;
  friend bool operator==(const ReshapeOperator&, const ReshapeOperator&) = default;
};
struct ConcatOperator {
  std::int64_t axis;
  friend bool operator==(const ConcatOperator&, const ConcatOperator&) = default;
};
/// One entry for each dimension. Split is one slice for each output.
struct SliceOperator {
  std::vector<std::int64_t> starts, steps;
  Shape shape;
  friend bool operator==(const SliceOperator&, const SliceOperator&) = default;
};
/// One entry for each dimension; entries may be negative.
struct PadOperator {
  PadMode mode;
  double value = 0;
  std::vector<std::int64_t> begin, end;
  friend bool operator==(const PadOperator&, const PadOperator&) = default;
};
/// (data, indices).
struct GatherOperator {
  std::int64_t axis;
  friend bool operator==(const GatherOperator&, const GatherOperator&) = default;
};
/// (data, indices): both have one rank. Each element of the indices names a place along `axis`.
struct GatherElementsOperator {
  std::int64_t axis;
  friend bool operator==(const GatherElementsOperator&, const GatherElementsOperator&) = default;
};
/// (data, indices): the last dimension of the indices names places in the dimensions of data from `batch_dims` on.
struct GatherNdOperator {
  std::int64_t batch_dims = 0;
  friend bool operator==(const GatherNdOperator&, const GatherNdOperator&) = default;
};
/// (data, indices, updates): the result is data where no index points; elsewhere it is the update, or data combined
/// with all updates.
struct ScatterElementsOperator {
  std::int64_t axis;
  ScatterKind kind = ScatterKind::replace;
  friend bool operator==(const ScatterElementsOperator&, const ScatterElementsOperator&) = default;
};
/// (data, indices, updates): as ScatterElements, but the last dimension of the indices names places in the leading
/// dimensions of data.
struct ScatterNdOperator {
  ScatterKind kind = ScatterKind::replace;
  friend bool operator==(const ScatterNdOperator&, const ScatterNdOperator&) = default;
};
/// The place (i64) of the largest or smallest element along `axis`. Of equal elements the first counts, or the last
/// where `last` is set.
struct ArgReduceOperator {
  bool largest = true;
  std::int64_t axis;
  bool keep_dims = true;
  bool last = false;
  friend bool operator==(const ArgReduceOperator&, const ArgReduceOperator&) = default;
};
/// The places (i64) of the `k` largest or smallest elements along `axis`, in order. Of equal elements the first comes
/// first.
struct TopKOperator {
  std::int64_t axis, k;
  bool largest = true;
  friend bool operator==(const TopKOperator&, const TopKOperator&) = default;
};
struct CumSumOperator {
  std::int64_t axis;
  bool exclusive = false, reverse = false;
  friend bool operator==(const CumSumOperator&, const CumSumOperator&) = default;
};
struct ExpandOperator {
  Shape shape;
  friend bool operator==(const ExpandOperator&, const ExpandOperator&) = default;
};
/// One entry for each dimension. `scales` are those of the file (output/input where only sizes are given).
struct ResizeOperator {
  ResizeMode mode;
  CoordinateMode coordinates;
  NearestMode nearest = NearestMode::round_prefer_floor;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  std::vector<double> scales;
  Shape shape;
  std::vector<double> roi_begin, roi_end;  ///< of tf_crop_and_resize, as parts of the extents; otherwise empty
  double extrapolation = 0;                ///< the value outside the input with tf_crop_and_resize
  friend bool operator==(const ResizeOperator&, const ResizeOperator&) = default;
};

/// An operator by its definition, as somebody wrote it down (docs/formats/dag.md): a placeholder an input, in order, and one output.
/// All its loads are inside of their tensors (compute/loads_inside.h).
/// A definition of scalars alone is that of each element: its inputs broadcast as numpy's do.
/// Equal definitions (same_dag) are equal operators.
struct CustomOperator {
  std::string name;
  std::shared_ptr<const ComputeDag> definition;
  friend bool operator==(const CustomOperator&, const CustomOperator&);
};
/// Whether the definition is that of each element: of scalars, without a reduction.
bool is_elementwise(const CustomOperator&);

/// One of these. A type of its own and no alias, so that its copies, moves and end are compiled once, in graph.cc: a
/// variant of this size takes the compiler long in each file that has a graph.
struct Operator : std::variant<UnaryOperator, ClipOperator, HardSigmoidOperator, LeakyReluOperator, BinaryOperator,
                               WhereOperator, CastOperator, ConvOperator, MatMulOperator, PoolOperator, ReduceOperator,
                               SoftmaxOperator, BatchNormOperator, TransposeOperator, ReshapeOperator, ConcatOperator,
                               SliceOperator, PadOperator, GatherOperator, ExpandOperator, ResizeOperator,
                               GatherElementsOperator, GatherNdOperator, ScatterElementsOperator, ScatterNdOperator,
                               ArgReduceOperator, TopKOperator, CumSumOperator, CustomOperator> {
  using variant::variant;
  Operator() = default;
  Operator(const Operator&);
  Operator(Operator&&) noexcept;
  Operator& operator=(const Operator&);
  Operator& operator=(Operator&&) noexcept;
  ~Operator();
  friend bool operator==(const Operator&, const Operator&);
};
/// The name of an operator in tasks and profiles: "conv", "add", "relu", "maxpool", ...
std::string name_of(const Operator&);

struct Value {
  std::string name;  ///< unique; the file's name where it has one
  TensorType type;
  std::optional<Tensor> constant;  ///< weights and folded values
  std::uint64_t contents = 0;  ///< number of a user's tensor that kernels which read it are measured with; 0: made up
};
struct Node {
  std::string name;  ///< unique; the file's name, or "Conv_12"
  Operator op;
  std::vector<ValueId> inputs;
  ValueId output;  ///< every operator has one result
};

/// The model: nodes in topological order over values of static shapes.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;   ///< given by the user, in the file's order (initializers are constants, not inputs)
  std::vector<ValueId> outputs;  ///< in the file's order; may be an input or a constant

  const Value& value(ValueId id) const { return values[id.index()]; }
  Value& value(ValueId id) { return values[id.index()]; }
  const Node& node(NodeId id) const { return nodes[id.index()]; }
  ValueId add_value(std::string value_name, TensorType type);
  ValueId add_constant(std::string value_name, Tensor);
  /// Appends a node, infers its output's type, and gives the output. Errors name the node.
  Result<ValueId> add_node(std::string node_name, Operator, std::vector<ValueId> node_inputs);
};

/// The largest element count of a tensor in a graph. Larger shapes are a mistake in the file, and products of extents
/// stay far from overflow.
constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - 1;
/// Checks that extents are >= 0 and that their product is at most kMaxElements. The error's sentence begins with
/// `what`.
Status check_shape(const std::string& what, const Shape&);
/// The shape of an elementwise result of `a` and `b` by numpy broadcasting; nothing where they do not broadcast.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// The type of the output. An error names `node_name`, the fault, and the right form.
Result<TensorType> infer_type(const std::string& node_name, const Operator&, const std::vector<TensorType>& inputs);
/// Checks that nodes are in topological order, names are unique, ids exist, and types are as inferred.
Status verify(const Graph&);
std::string to_text(const Graph&);

}  // namespace whet
