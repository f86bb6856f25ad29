#include "import/onnx/export.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "import/onnx/reader.h"
#include "tensor_files/file.h"

namespace whet {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::AttributeProto;
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

/// The order that brings the channels from the end to the second place, and back.
Ints to_first(std::size_t rank) {
  Ints perm = {0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t i = 1; i + 1 < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  return perm;
}
Ints to_last(std::size_t rank) {
  Ints perm = {0};
  for (std::size_t i = 2; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  perm.push_back(1);
  return perm;
}

/// One node of the graph after the other becomes one or more of the file.
class Exporter {
 public:
  explicit Exporter(const Graph& graph) : graph_(graph), opset_(opset_of(graph)) {
    for (const Value& value : graph.values) names_.insert(value.name);
  }

  Result<std::string> run() {
    model_.set_ir_version(8);
    model_.set_producer_name("whet");
    model_.add_opset_import()->set_version(opset_);
    proto().set_name(graph_.name.empty() ? "graph" : graph_.name);
    for (ValueId id : graph_.inputs) describe(*proto().add_input(), id);
    find_constants();
    for (const Node& node : graph_.nodes) {
      node_ = &node;
      std::visit(*this, node.op);
    }
    for (ValueId id : graph_.outputs) {
      name(id);  // the channels-last form, if that is not written yet
      describe(*proto().add_output(), id);
    }
    for (ValueId id : constants_) add_initializer(graph_.value(id).name, *graph_.value(id).constant);
    if (model_.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      return Error{"the network is larger than 2 GiB, which an ONNX file cannot hold"};
    }
    return model_.SerializeAsString();
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
    set(node, "alpha", op.alpha);
    set(node, "beta", op.beta);
  }
  void operator()(const LeakyReluOperator& op) { set(elementwise("LeakyRelu"), "alpha", op.alpha); }
  void operator()(const BinaryOperator& op) {
    NodeProto& node = elementwise(kBinaryOps[static_cast<int>(op.kind)]);
    if (op.kind == BinaryKind::mod && is_float(graph_.value(in(0)).type.dtype)) set(node, "fmod", std::int64_t{1});
  }
  void operator()(const WhereOperator&) { plain("Where"); }
  void operator()(const CastOperator& op) { set(elementwise("Cast"), "to", std::int64_t{onnx_type(op.to)}); }

  void operator()(const ConvOperator& op) {
    const bool last = op.layout == Layout::channels_last;
    const std::string x = last ? first_name(in(0)) : name(in(0)), w = last ? oihw(op) : name(in(1));
    NodeProto& node = add("Conv", {x, w}, result_name(last));
    if (node_->inputs.size() == 3) node.add_input(name(in(2)));
    window(node, op);
    set(node, "group", op.groups);
  }
  void operator()(const PoolOperator& op) {
    const bool last = op.layout == Layout::channels_last;
    NodeProto& node = add(op.kind == PoolKind::max ? "MaxPool" : "AveragePool",
                          {last ? first_name(in(0)) : name(in(0))}, result_name(last));
    set(node, "kernel_shape", op.kernel);
    const bool dilated = std::any_of(op.dilations.begin(), op.dilations.end(), [](std::int64_t d) { return d != 1; });
    window(node, op, op.kind == PoolKind::max || dilated);
    if (op.kind == PoolKind::average) set(node, "count_include_pad", std::int64_t{op.count_include_pad});
  }
  void operator()(const BatchNormOperator& op) {
    const bool last = op.layout == Layout::channels_last;
    NodeProto& node = add("BatchNormalization", {last ? first_name(in(0)) : name(in(0))}, result_name(last));
    for (std::size_t i = 1; i < 5; ++i) node.add_input(name(in(i)));
    set(node, "epsilon", op.epsilon);
  }

  void operator()(const MatMulOperator& op) {
    const bool matrices = graph_.value(in(0)).type.shape.size() == 2 && graph_.value(in(1)).type.shape.size() == 2;
    if (matrices && (op.transpose_a || op.transpose_b)) {
      NodeProto& node = plain("Gemm");
      set(node, "transA", std::int64_t{op.transpose_a});
      set(node, "transB", std::int64_t{op.transpose_b});
      return;
    }
    const auto operand = [&](std::size_t i, bool transposed) {
      if (!transposed) return name(in(i));
      const std::size_t rank = graph_.value(in(i)).type.shape.size();
      Ints perm(rank);
      for (std::size_t d = 0; d < rank; ++d) perm[d] = static_cast<std::int64_t>(d);
      std::swap(perm[rank - 1], perm[rank - 2]);
      return transpose(name(in(i)), perm, i == 0 ? "transposed_a" : "transposed_b");
    };
    const std::string a = operand(0, op.transpose_a), b = operand(1, op.transpose_b);
    add("MatMul", {a, b}, result_name(false));
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
      set(node, "axes", op.axes);
    }
    set(node, "keepdims", std::int64_t{op.keep_dims});
  }
  void operator()(const SoftmaxOperator& op) { set(plain(op.log ? "LogSoftmax" : "Softmax"), "axis", op.axis); }

  void operator()(const TransposeOperator& op) { set(plain("Transpose"), "perm", op.perm); }
  void operator()(const ReshapeOperator& op) { plain("Reshape").add_input(constant("shape", integers(op.shape))); }
  void operator()(const ExpandOperator& op) { plain("Expand").add_input(constant("shape", integers(op.shape))); }
  void operator()(const ConcatOperator& op) { set(plain("Concat"), "axis", op.axis); }
  void operator()(const GatherOperator& op) { set(plain("Gather"), "axis", op.axis); }
  void operator()(const GatherElementsOperator& op) { set(plain("GatherElements"), "axis", op.axis); }
  void operator()(const GatherNdOperator& op) {
    NodeProto& node = plain("GatherND");
    if (op.batch_dims != 0) set(node, "batch_dims", op.batch_dims);
  }
  void operator()(const ScatterElementsOperator& op) {
    NodeProto& node = plain("ScatterElements");
    set(node, "axis", op.axis);
    if (op.kind != ScatterKind::replace) set(node, "reduction", kScatterKinds[static_cast<int>(op.kind)]);
  }
  void operator()(const ScatterNdOperator& op) {
    NodeProto& node = plain("ScatterND");
    if (op.kind != ScatterKind::replace) set(node, "reduction", kScatterKinds[static_cast<int>(op.kind)]);
  }
  void operator()(const ArgReduceOperator& op) {
    NodeProto& node = plain(op.largest ? "ArgMax" : "ArgMin");
    set(node, "axis", op.axis);
    set(node, "keepdims", std::int64_t{op.keep_dims});
    if (op.last) set(node, "select_last_index", std::int64_t{1});
  }
  /// TopK's first output is one that nothing reads: the values are gathered by the places.
  void operator()(const TopKOperator& op) {
    const std::string k = constant("k", integers({op.k})), values = unique(node_->name + "/values");
    NodeProto& node = add("TopK", {name(in(0)), k}, values);
    node.set_name(node_->name);
    node.add_output(result_name(false));
    set(node, "axis", op.axis);
    set(node, "largest", std::int64_t{op.largest});
  }
  void operator()(const CumSumOperator& op) {
    NodeProto& node = plain("CumSum");
    Tensor axis(DType::i64, {});
    axis.set_integer(0, op.axis);
    node.add_input(constant("axis", axis));
    set(node, "exclusive", std::int64_t{op.exclusive});
    set(node, "reverse", std::int64_t{op.reverse});
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
    set(node, "mode", kPadModes[static_cast<int>(op.mode)]);
    node.add_input(constant("pads", integers(joined(op.begin, op.end))));
    if (op.value == 0) return;
    node.add_input(constant("value", Tensor::of<double>(graph_.value(in(0)).type.dtype, {}, {op.value})));
  }
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
    if (op.extrapolation != 0) set(node, "extrapolation_value", op.extrapolation);
    if (quotients || !exact) {
      node.add_input("");
      node.add_input(constant("sizes", integers(op.shape)));
    } else {
      node.add_input(constant("scales", Tensor::of(DType::f32, {static_cast<std::int64_t>(x.size())}, op.scales)));
    }
    set(node, "mode", kResizeModes[static_cast<int>(op.mode)]);
    set(node, "coordinate_transformation_mode", kCoordinates[static_cast<int>(op.coordinates)]);
    if (op.mode == ResizeMode::nearest) set(node, "nearest_mode", kNearest[static_cast<int>(op.nearest)]);
    if (op.mode == ResizeMode::cubic) set(node, "cubic_coeff_a", op.cubic_a);
    set(node, "exclude_outside", std::int64_t{op.exclude_outside});
  }

 private:
  onnx::GraphProto& proto() { return *model_.mutable_graph(); }
  ValueId in(std::size_t i) const { return node_->inputs[i]; }
  static Tensor integers(const Ints& values) {
    return Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())}, values);
  }

  void describe(onnx::ValueInfoProto& info, ValueId id) {
    const Value& value = graph_.value(id);
    info.set_name(value.name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_type(value.type.dtype));
    type.mutable_shape();  // a scalar has a shape too
    for (std::int64_t extent : value.type.shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
  }

  void add_initializer(const std::string& initializer, const Tensor& tensor) {
    auto& out = *proto().add_initializer();
    out.set_name(initializer);
    out.set_data_type(onnx_type(tensor.dtype()));
    for (std::int64_t extent : tensor.shape()) out.add_dims(extent);
    out.set_raw_data(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  }

  /// Constants that the file holds as they are, in the graph's order; packed ones replace what only they read.
  void find_constants() {
    std::vector<bool> read(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const auto* conv = std::get_if<ConvOperator>(&node.op);
        const bool turned = conv != nullptr && i == 1 && conv->layout == Layout::channels_last;
        if (!turned) read[node.inputs[i].index()] = true;
      }
    }
    for (ValueId id : graph_.outputs) read[id.index()] = true;
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i] && graph_.values[i].constant) constants_.push_back(ValueId(static_cast<std::int64_t>(i)));
    }
  }

  std::string unique(const std::string& wanted) {
    std::string candidate = wanted;
    for (int i = 1; !names_.insert(candidate).second; ++i) candidate = wanted + "_" + std::to_string(i);
    return candidate;
  }

  /// A small constant of this node's, e.g. the shape of a Reshape.
  std::string constant(const char* part, const Tensor& tensor) {
    const std::string made = unique(node_->name + "/" + part);
    add_initializer(made, tensor);
    return made;
  }

  NodeProto& add(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    NodeProto& node = *proto().add_node();
    node.set_op_type(op);
    const bool final = output == graph_.value(node_->output).name || output == pending_[node_->output.value];
    node.set_name(final ? node_->name : output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  /// A node with the inputs and the output of the graph's node.
  NodeProto& plain(const std::string& op) {
    std::vector<std::string> inputs;
    for (ValueId id : node_->inputs) inputs.push_back(name(id));
    return add(op, inputs, result_name(false));
  }

  std::string transpose(const std::string& from, const Ints& perm, const std::string& part) {
    const std::string made = unique(node_->name + "/" + part);
    set(add("Transpose", {from}, made), "perm", perm);
    return made;
  }

  // ---- Channels-last values live channels first under another name while nothing needs them otherwise.

  /// The name under which this node's result is written; `first`: channels first for a channels-last value.
  std::string result_name(bool first) {
    const Value& value = graph_.value(node_->output);
    if (!first) return value.name;
    const std::string made = unique(value.name + "/channels_first");
    first_[node_->output.value] = made;
    return pending_[node_->output.value] = made;
  }

  /// The value as the graph has it.
  std::string name(ValueId id) {
    const Value& value = graph_.value(id);
    const auto waiting = pending_.find(id.value);
    if (waiting == pending_.end() || waiting->second.empty()) return value.name;
    NodeProto& node = *proto().add_node();
    node.set_op_type("Transpose");
    node.set_name(value.name + "/channels_last");
    node.add_input(waiting->second);
    node.add_output(value.name);
    set(node, "perm", to_last(value.type.shape.size()));
    waiting->second.clear();
    return value.name;
  }

  /// The value with its channels in the second place.
  std::string first_name(ValueId id) {
    const auto known = first_.find(id.value);
    if (known != first_.end()) return known->second;
    const Value& value = graph_.value(id);
    const std::string made = unique(value.name + "/channels_first");
    NodeProto& node = *proto().add_node();
    node.set_op_type("Transpose");
    node.set_name(made);
    node.add_input(name(id));
    node.add_output(made);
    set(node, "perm", to_first(value.type.shape.size()));
    first_[id.value] = made;
    return made;
  }

  /// Elementwise nodes stay channels first when all their inputs are so and have the result's shape.
  NodeProto& elementwise(const std::string& op) {
    const Shape& shape = graph_.value(node_->output).type.shape;
    const bool first = std::all_of(node_->inputs.begin(), node_->inputs.end(), [&](ValueId id) {
      return pending_.contains(id.value) && graph_.value(id).type.shape == shape;
    });
    if (!first) return plain(op);
    std::vector<std::string> inputs;
    for (ValueId id : node_->inputs) inputs.push_back(first_name(id));
    return add(op, inputs, result_name(true));
  }

  /// The weights of a channels-last convolution as [O, C/groups, spatial...].
  std::string oihw(const ConvOperator& op) {
    const Value& w = graph_.value(in(1));
    const std::size_t spatial = op.strides.size();
    Shape hwio = w.type.shape;
    const bool depthwise = hwio.size() == spatial + 1;
    if (depthwise) hwio.insert(hwio.end() - 1, 1);
    Ints perm = {static_cast<std::int64_t>(spatial) + 1, static_cast<std::int64_t>(spatial)};
    for (std::size_t i = 0; i < spatial; ++i) perm.push_back(static_cast<std::int64_t>(i));
    if (w.constant) return constant("weight", permuted(w.constant->reshaped(hwio), perm));
    std::string from = name(in(1));
    if (depthwise) {
      const std::string shape = constant("weight_shape", integers(hwio)), made = unique(node_->name + "/weight_hwio");
      add("Reshape", {from, shape}, made);
      from = made;
    }
    return transpose(from, perm, "weight_oihw");
  }

  static Tensor permuted(const Tensor& from, const Ints& perm) {
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

  // ---- Attributes.

  template <typename Op>
  void window(NodeProto& node, const Op& op, bool dilations = true) {
    set(node, "strides", op.strides);
    if (dilations) set(node, "dilations", op.dilations);
    set(node, "pads", joined(op.pads_begin, op.pads_end));
  }
  AttributeProto& attribute(NodeProto& node, const char* key, AttributeProto::AttributeType type) {
    AttributeProto& made = *node.add_attribute();
    made.set_name(key);
    made.set_type(type);
    return made;
  }
  void set(NodeProto& node, const char* key, std::int64_t value) {
    attribute(node, key, AttributeProto::INT).set_i(value);
  }
  void set(NodeProto& node, const char* key, double value) {
    attribute(node, key, AttributeProto::FLOAT).set_f(static_cast<float>(value));
  }
  void set(NodeProto& node, const char* key, const char* value) {
    attribute(node, key, AttributeProto::STRING).set_s(value);
  }
  void set(NodeProto& node, const char* key, const Ints& values) {
    AttributeProto& list = attribute(node, key, AttributeProto::INTS);
    for (std::int64_t value : values) list.add_ints(value);
  }

  const Graph& graph_;
  const int opset_;
  const Node* node_ = nullptr;  ///< the one that is being written
  onnx::ModelProto model_;
  std::unordered_set<std::string> names_;
  std::vector<ValueId> constants_;
  std::unordered_map<std::int32_t, std::string> first_;    ///< names of channels-first forms
  std::unordered_map<std::int32_t, std::string> pending_;  ///< those whose channels-last form is not written; else ""
};

}  // namespace

Result<std::string> onnx_bytes(const Graph& graph) { return Exporter(graph).run(); }

Status export_onnx(const Graph& graph, const std::string& path) {
  WHET_TRY(const std::string bytes, onnx_bytes(graph));
  return write_file(path, bytes);
}

}  // namespace whet
