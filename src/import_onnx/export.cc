#include "import_onnx/export.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "import_onnx/byte_writer.h"
#include "import_onnx/channel_names.h"
#include "import_onnx/reader.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::NodeProto;

// In the order of the enums.
constexpr const char* kUnaryOps[] = {
    "Relu",  "Sigmoid", "Tanh",  "Exp",  "Log",  "Sqrt",     "Reciprocal", "Erf",   "Abs",   "Neg",
    "Floor", "Ceil",    "Round", "Sign", "Not",  "Softplus", "Softsign",   "Sin",   "Cos",   "HardSwish",
    "Tan",   "Asin",    "Acos",  "Atan", "Sinh", "Cosh",     "Asinh",      "Acosh", "Atanh", "IsNaN"};
constexpr const char* kBinaryOps[] = {"Add",   "Sub", "Mul",  "Div",         "Pow",     "Min",
                                      "Max",   "Mod", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
                                      "Equal", "And", "Or",   "Xor"};
constexpr const char* kReduceOps[] = {"ReduceSum", "ReduceMean", "ReduceMax",       "ReduceMin",    "ReduceProd",
                                      "ReduceL1",  "ReduceL2",   "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
constexpr const char* kPadModes[] = {"constant", "reflect", "edge", "wrap"};
constexpr const char* kScatterKinds[] = {"none", "add", "mul", "max", "min"};
constexpr const char* kResizeModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kCoordinates[] = {"half_pixel",         "asymmetric",           "align_corners",
                                        "pytorch_half_pixel", "half_pixel_symmetric", "tf_half_pixel_for_nn",
                                        "tf_crop_and_resize"};
constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

int opset_of(const Graph& graph) {
  int opset = 13;
  for (const Node& node : graph.nodes) {
    if (const auto* unary = std::get_if<UnaryOperator>(&node.op)) {
      if (unary->kind == UnaryKind::hard_swish) opset = std::max(opset, 14);
    }
    if (const auto* resize = std::get_if<ResizeOperator>(&node.op)) {
      if (resize->coordinates == CoordinateMode::half_pixel_symmetric) opset = std::max(opset, 19);
    }
    if (const auto* pad = std::get_if<PadOperator>(&node.op)) {
      if (pad->mode == PadMode::wrap) opset = std::max(opset, 19);
    }
    const auto scatter = [&](ScatterKind kind) {
      if (kind != ScatterKind::replace) opset = std::max(opset, kind >= ScatterKind::max ? 18 : 16);
    };
    if (const auto* elements = std::get_if<ScatterElementsOperator>(&node.op)) scatter(elements->kind);
    if (const auto* nd = std::get_if<ScatterNdOperator>(&node.op)) scatter(nd->kind);
  }
  return opset;
}

template <typename T>
Ints joined(const T& a, const T& b) {
  Ints all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

Tensor integers(const Ints& values) {
  return Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())}, values);
}

Tensor permuted(const Tensor& from, const Ints& perm) {
  Shape shape;
  Ints strides;
  const Ints own = row_major_strides(from.shape());
  for (std::int64_t d : perm) {
    shape.push_back(from.shape()[static_cast<std::size_t>(d)]);
    strides.push_back(own[static_cast<std::size_t>(d)]);
  }
  Tensor to(from.dtype(), shape);
  for (std::int64_t i = 0; i < to.size(); ++i) {
    std::int64_t rest = i, at = 0;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) at += rest % shape[d] * strides[d];
    to.set(i, from.get(at));  // floats: exact
  }
  return to;
}

/// What a unit of the sums of a product of bytes stands for, by output channel, where it has a constant bias by output channel, which is
/// written as such units; else none.
std::vector<double> bias_units(const Graph& graph, NodeId id, const QuantizedParts& parts) {
  const Node& node = graph.node(id);
  const auto weights = parts.weights.find(id);
  if (weights == parts.weights.end() || node.inputs.size() < 3) return {};
  const auto x = parts.reads.find({id, node.inputs[0]});
  const Value& bias = graph.value(node.inputs[2]);
  std::vector<double> units = weights->second.scales;
  const bool by_channel = bias.type == TensorType{DType::f32, {static_cast<std::int64_t>(units.size())}};
  if (x == parts.reads.end() || !bias.constant || !by_channel) return {};
  for (double& unit : units) unit *= x->second.scale;
  return units;
}

/// Constants that the file holds as they are, in the graph's order; packed ones replace what only they read.
std::vector<ValueId> constants_of(const Graph& graph, const QuantizedParts& parts) {
  std::vector<bool> read(graph.values.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const NodeId id(static_cast<std::int64_t>(n));
    const bool in_bytes = parts.weights.contains(id), bias_in_units = !bias_units(graph, id, parts).empty();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto* conv = std::get_if<ConvOperator>(&node.op);
      const bool turned = conv != nullptr && i == 1 && conv->layout == Layout::channels_last;
      const bool rounded = (i == 1 && in_bytes) || (i == 2 && bias_in_units);
      if (!turned && !rounded) read[node.inputs[i].index()] = true;
    }
  }
  for (ValueId id : graph.outputs) read[id.index()] = true;
  std::vector<ValueId> constants;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] && graph.values[i].constant) constants.push_back(ValueId(static_cast<std::int64_t>(i)));
  }
  return constants;
}

/// One node of the graph after the other becomes one or more of the file.
class Exporter {
 public:
  Exporter(const Graph& graph, const QuantizedParts& parts)
      : graph_(graph),
        parts_(parts),
        opset_(opset_of(graph)),
        writer_(graph.name.empty() ? "graph" : graph.name, opset_),
        names_(graph, writer_),
        bytes_(writer_) {
    for (const Value& value : graph.values) writer_.take(value.name);
  }

  Result<std::string> run() {
    for (ValueId id : graph_.inputs) writer_.add_input(graph_.value(id));
    for (const Node& node : graph_.nodes) {
      if (const auto* own = std::get_if<CustomOperator>(&node.op))
        return Error{node.name + ": " + own->name + " is an operator by its definition; ONNX has none such",
                     ErrorKind::unsupported};
      node_ = &node, id_ = NodeId(&node - graph_.nodes.data());
      std::visit(*this, node.op);
    }
    for (ValueId id : graph_.outputs) {
      names_.own(id);  // the channels-last form, if that is not written yet
      writer_.add_output(graph_.value(id));
    }
    for (ValueId id : constants_of(graph_, parts_))
      writer_.add_constant(graph_.value(id).name, *graph_.value(id).constant);
    return writer_.bytes();
  }

  void operator()(const UnaryOperator& op) { elementwise(kUnaryOps[static_cast<int>(op.kind)]); }
  void operator()(const ClipOperator& op) {
    NodeProto& node = elementwise("Clip");
    const DType dtype = graph_.value(in(0)).type.dtype;
    const auto bound = [&](const char* part, double value) {
      const bool open = std::abs(value) > 9.2e18 && (std::isinf(value) || !is_float(dtype));
      node.add_input(open ? "" : constant(part, Tensor::of<double>(dtype, {}, {value})));
    };
    bound("min", op.low);
    bound("max", op.high);
  }
  void operator()(const HardSigmoidOperator& op) {
    NodeProto& node = elementwise("HardSigmoid");
    set_attribute(node, "alpha", op.alpha);
    set_attribute(node, "beta", op.beta);
  }
  void operator()(const LeakyReluOperator& op) { set_attribute(elementwise("LeakyRelu"), "alpha", op.alpha); }
  void operator()(const BinaryOperator& op) {
    NodeProto& node = elementwise(kBinaryOps[static_cast<int>(op.kind)]);
    if (op.kind == BinaryKind::mod && is_float(graph_.value(in(0)).type.dtype))
      set_attribute(node, "fmod", std::int64_t{1});
  }
  void operator()(const WhereOperator&) { plain("Where"); }
  void operator()(const CastOperator& op) { set_attribute(elementwise("Cast"), "to", std::int64_t{onnx_type(op.to)}); }

  void operator()(const ConvOperator& op) {
    const bool last = op.layout == Layout::channels_last;
    std::vector<std::string> operands = {image(last)};
    if (const ByteWeights* own = byte_weights()) {
      WHET_CHECK(last, "a convolution of bytes has its channels last");
      operands.push_back(bytes_.weights(node_->name, oihw(op, own->weights), own->scales, 0));
      if (node_->inputs.size() == 3) operands.push_back(byte_bias());
    } else {
      operands.push_back(last ? oihw(op) : name(1));
      if (node_->inputs.size() == 3) operands.push_back(name(2));
    }
    NodeProto& node = add("Conv", operands, last);
    window(node, op);
    set_attribute(node, "group", op.groups);
  }
  void operator()(const PoolOperator& op) {
    const bool last = op.layout == Layout::channels_last;
    NodeProto& node = add(op.kind == PoolKind::max ? "MaxPool" : "AveragePool", {image(last)}, last);
    set_attribute(node, "kernel_shape", op.kernel);
    const bool dilated = std::any_of(op.dilations.begin(), op.dilations.end(), [](std::int64_t d) { return d != 1; });
    window(node, op, op.kind == PoolKind::max || dilated);
    if (op.kind == PoolKind::average) set_attribute(node, "count_include_pad", std::int64_t{op.count_include_pad});
  }
  void operator()(const BatchNormOperator& op) {
    const bool last = op.layout == Layout::channels_last;
    NodeProto& node = add("BatchNormalization", {image(last)}, last);
    for (std::size_t i = 1; i < 5; ++i) node.add_input(name(i));
    set_attribute(node, "epsilon", op.epsilon);
  }

  void operator()(const MatMulOperator& op) {
    if (const ByteWeights* own = byte_weights()) {  // [K, N] in any case
      WHET_CHECK(!op.transpose_a && own->weights.shape().size() == 2, "a product of bytes is by a matrix");
      const Tensor weights = op.transpose_b ? permuted(own->weights, {1, 0}) : own->weights;
      const std::string x = name(0), w = bytes_.weights(node_->name, weights, own->scales, 1);
      add("MatMul", {x, w});
      return;
    }
    const bool matrices = graph_.value(in(0)).type.shape.size() == 2 && graph_.value(in(1)).type.shape.size() == 2;
    if (matrices && (op.transpose_a || op.transpose_b)) {
      NodeProto& node = plain("Gemm");
      set_attribute(node, "transA", std::int64_t{op.transpose_a});
      set_attribute(node, "transB", std::int64_t{op.transpose_b});
      return;
    }
    const auto operand = [&](std::size_t i, bool transposed) {
      if (!transposed) return name(i);
      const std::size_t rank = graph_.value(in(i)).type.shape.size();
      Ints perm(rank);
      for (std::size_t d = 0; d < rank; ++d) perm[d] = static_cast<std::int64_t>(d);
      std::swap(perm[rank - 1], perm[rank - 2]);
      return transpose(name(i), perm, i == 0 ? "transposed_a" : "transposed_b");
    };
    const std::string a = operand(0, op.transpose_a), b = operand(1, op.transpose_b);
    add("MatMul", {a, b});
  }
  void operator()(const ReduceOperator& op) {
    NodeProto& node = plain(kReduceOps[static_cast<int>(op.kind)]);
    if (op.axes.empty()) {  // "none" would mean all
      node.set_op_type("Identity");
      return;
    }
    if (op.kind == ReduceKind::sum || opset_ >= 18) {
      node.add_input(constant("axes", integers(op.axes)));
    } else {
      set_attribute(node, "axes", op.axes);
    }
    set_attribute(node, "keepdims", std::int64_t{op.keep_dims});
  }
  void operator()(const SoftmaxOperator& op) {
    set_attribute(plain(op.log ? "LogSoftmax" : "Softmax"), "axis", op.axis);
  }

  void operator()(const TransposeOperator& op) { set_attribute(plain("Transpose"), "perm", op.perm); }
  void operator()(const ReshapeOperator& op) { plain("Reshape").add_input(constant("shape", integers(op.shape))); }
  void operator()(const ExpandOperator& op) { plain("Expand").add_input(constant("shape", integers(op.shape))); }
  void operator()(const ConcatOperator& op) { set_attribute(plain("Concat"), "axis", op.axis); }
  void operator()(const GatherOperator& op) { set_attribute(plain("Gather"), "axis", op.axis); }
  void operator()(const GatherElementsOperator& op) { set_attribute(plain("GatherElements"), "axis", op.axis); }
  void operator()(const GatherNdOperator& op) {
    NodeProto& node = plain("GatherND");
    if (op.batch_dims != 0) set_attribute(node, "batch_dims", op.batch_dims);
  }
  void operator()(const ScatterElementsOperator& op) {
    NodeProto& node = plain("ScatterElements");
    set_attribute(node, "axis", op.axis);
    if (op.kind != ScatterKind::replace) set_attribute(node, "reduction", kScatterKinds[static_cast<int>(op.kind)]);
  }
  void operator()(const ScatterNdOperator& op) {
    NodeProto& node = plain("ScatterND");
    if (op.kind != ScatterKind::replace) set_attribute(node, "reduction", kScatterKinds[static_cast<int>(op.kind)]);
  }
  void operator()(const ArgReduceOperator& op) {
    NodeProto& node = plain(op.largest ? "ArgMax" : "ArgMin");
    set_attribute(node, "axis", op.axis);
    set_attribute(node, "keepdims", std::int64_t{op.keep_dims});
    if (op.last) set_attribute(node, "select_last_index", std::int64_t{1});
  }
  /// TopK's first output is one that nothing reads: the values are gathered by the places.
  void operator()(const TopKOperator& op) {
    const std::string k = constant("k", integers({op.k})), values = writer_.unique(node_->name + "/values");
    NodeProto& node = writer_.add_node(node_->name, "TopK", {name(0), k}, values);
    node.add_output(names_.result(node_->output, false));
    set_attribute(node, "axis", op.axis);
    set_attribute(node, "largest", std::int64_t{op.largest});
  }
  void operator()(const CumSumOperator& op) {
    NodeProto& node = plain("CumSum");
    Tensor axis(DType::i64, {});
    axis.set_integer(0, op.axis);
    node.add_input(constant("axis", axis));
    set_attribute(node, "exclusive", std::int64_t{op.exclusive});
    set_attribute(node, "reverse", std::int64_t{op.reverse});
  }
  void operator()(const SliceOperator& op) {
    Ints ends, axes;
    for (std::size_t i = 0; i < op.shape.size(); ++i) {
      const std::int64_t end = op.starts[i] + op.shape[i] * op.steps[i];
      // A negative end would count from the back; this one means "before the first".
      ends.push_back(end < 0 ? std::numeric_limits<std::int32_t>::min() : end);
      axes.push_back(static_cast<std::int64_t>(i));
    }
    NodeProto& node = plain("Slice");
    node.add_input(constant("starts", integers(op.starts)));
    node.add_input(constant("ends", integers(ends)));
    node.add_input(constant("axes", integers(axes)));
    node.add_input(constant("steps", integers(op.steps)));
  }
  void operator()(const PadOperator& op) {
    NodeProto& node = plain("Pad");
    set_attribute(node, "mode", kPadModes[static_cast<int>(op.mode)]);
    node.add_input(constant("pads", integers(joined(op.begin, op.end))));
    if (op.value == 0) return;
    node.add_input(constant("value", Tensor::of<double>(graph_.value(in(0)).type.dtype, {}, {op.value})));
  }
  void operator()(const CustomOperator&) {}  // refused above
  void operator()(const ResizeOperator& op) {
    const Shape& x = graph_.value(in(0)).type.shape;
    // Sizes are enough where the scales are their quotients; else the scales decide the positions.
    bool quotients = true, exact = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      quotients = quotients && op.scales[i] == static_cast<double>(op.shape[i]) / static_cast<double>(x[i]);
      const double scale = static_cast<float>(op.scales[i]);
      exact = exact && scale == op.scales[i] &&
              std::floor(static_cast<double>(x[i]) * scale) == static_cast<double>(op.shape[i]);
    }
    NodeProto& node = plain("Resize");
    Tensor region(DType::f32, {static_cast<std::int64_t>(2 * op.roi_begin.size())});
    for (std::size_t d = 0; d < op.roi_begin.size(); ++d) {
      region.set(static_cast<std::int64_t>(d), op.roi_begin[d]);
      region.set(static_cast<std::int64_t>(d + op.roi_begin.size()), op.roi_end[d]);
    }
    node.add_input(op.roi_begin.empty() ? "" : constant("roi", region));
    if (op.extrapolation != 0) set_attribute(node, "extrapolation_value", op.extrapolation);
    if (quotients || !exact) {
      node.add_input("");
      node.add_input(constant("sizes", integers(op.shape)));
    } else {
      node.add_input(constant("scales", Tensor::of(DType::f32, {static_cast<std::int64_t>(x.size())}, op.scales)));
    }
    set_attribute(node, "mode", kResizeModes[static_cast<int>(op.mode)]);
    set_attribute(node, "coordinate_transformation_mode", kCoordinates[static_cast<int>(op.coordinates)]);
    if (op.mode == ResizeMode::nearest) set_attribute(node, "nearest_mode", kNearest[static_cast<int>(op.nearest)]);
    if (op.mode == ResizeMode::cubic) set_attribute(node, "cubic_coeff_a", op.cubic_a);
    set_attribute(node, "exclude_outside", std::int64_t{op.exclude_outside});
  }

 private:
  std::string name(std::size_t i) { return as_read(names_.own(in(i)), in(i)); }
  std::string image(bool channels_first) { return channels_first ? as_read(names_.first(in(0)), in(0)) : name(0); }
  /// The operand under the name that the node reads: rounded to bytes where the file has it so.
  std::string as_read(const std::string& written, ValueId id) {
    const auto found = parts_.reads.find({id_, id});
    return found == parts_.reads.end() ? written : bytes_.rounded(written, found->second);
  }
  const ByteWeights* byte_weights() const {
    const auto found = parts_.weights.find(id_);
    return found == parts_.weights.end() ? nullptr : &found->second;
  }
  /// In whole units of the sums, where it is a constant by output channel.
  std::string byte_bias() {
    const std::vector<double> units = bias_units(graph_, id_, parts_);
    return units.empty() ? name(2) : bytes_.bias(node_->name, *graph_.value(in(2)).constant, units);
  }
  ValueId in(std::size_t i) const { return node_->inputs[i]; }

  /// A small constant of this node's, e.g. the shape of a Reshape.
  std::string constant(const char* part, const Tensor& tensor) {
    const std::string made = writer_.unique(node_->name + "/" + part);
    writer_.add_constant(made, tensor);
    return made;
  }

  /// The node that gives the result, under the name of the graph's.
  NodeProto& add(const std::string& op, const std::vector<std::string>& inputs, bool channels_first = false) {
    return writer_.add_node(node_->name, op, inputs, names_.result(node_->output, channels_first));
  }

  /// A node with the inputs and the output of the graph's node.
  NodeProto& plain(const std::string& op) {
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < node_->inputs.size(); ++i) inputs.push_back(name(i));
    return add(op, inputs);
  }

  std::string transpose(const std::string& from, const Ints& perm, const std::string& part) {
    const std::string made = writer_.unique(node_->name + "/" + part);
    set_attribute(writer_.add_node(made, "Transpose", {from}, made), "perm", perm);
    return made;
  }

  /// Elementwise nodes stay channels first when all their inputs are so and have the result's shape.
  NodeProto& elementwise(const std::string& op) {
    const Shape& shape = graph_.value(node_->output).type.shape;
    const bool first = std::all_of(node_->inputs.begin(), node_->inputs.end(), [&](ValueId id) {
      return names_.is_first(id) && graph_.value(id).type.shape == shape;
    });
    if (!first) return plain(op);
    std::vector<std::string> inputs;
    for (ValueId id : node_->inputs) inputs.push_back(as_read(names_.first(id), id));
    return add(op, inputs, true);
  }

  /// The weights of a channels-last convolution as [O, C/groups, spatial...].
  std::string oihw(const ConvOperator& op) {
    const Value& w = graph_.value(in(1));
    if (w.constant) return constant("weight", oihw(op, *w.constant));
    const Shape hwio = hwio_of(op, w.type.shape);
    const Ints perm = oihw_order(op);
    const bool depthwise = hwio.size() != w.type.shape.size();
    std::string from = name(1);
    if (depthwise) {
      const std::string shape = constant("weight_shape", integers(hwio));
      const std::string made = writer_.unique(node_->name + "/weight_hwio");
      writer_.add_node(made, "Reshape", {from, shape}, made);
      from = made;
    }
    return transpose(from, perm, "weight_oihw");
  }

  static Tensor oihw(const ConvOperator& op, const Tensor& weights) {
    return permuted(weights.reshaped(hwio_of(op, weights.shape())), oihw_order(op));
  }
  /// The shape of channels-last weights with an extent for the channels of a group, which depthwise ones do not have.
  static Shape hwio_of(const ConvOperator& op, Shape shape) {
    if (shape.size() == op.strides.size() + 1) shape.insert(shape.end() - 1, 1);
    return shape;
  }
  static Ints oihw_order(const ConvOperator& op) {
    const std::size_t spatial = op.strides.size();
    Ints perm = {static_cast<std::int64_t>(spatial) + 1, static_cast<std::int64_t>(spatial)};
    for (std::size_t i = 0; i < spatial; ++i) perm.push_back(static_cast<std::int64_t>(i));
    return perm;
  }

  template <typename Op>
  void window(NodeProto& node, const Op& op, bool dilations = true) {
    set_attribute(node, "strides", op.strides);
    if (dilations) set_attribute(node, "dilations", op.dilations);
    set_attribute(node, "pads", joined(op.pads_begin, op.pads_end));
  }
  const Graph& graph_;
  const QuantizedParts& parts_;
  const int opset_;
  const Node* node_ = nullptr;  ///< the one that is being written
  NodeId id_;                   ///< its number
  OnnxWriter writer_;
  ChannelNames names_;
  ByteWriter bytes_;
};

}  // namespace

Result<std::string> onnx_bytes(const Graph& graph, const QuantizedParts& parts) { return Exporter(graph, parts).run(); }

Status export_onnx(const Graph& graph, const std::string& path) {
  WHET_TRY(const std::string bytes, onnx_bytes(graph));
  return write_file(path, bytes);
}

}  // namespace whet
