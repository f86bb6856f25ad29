#include "import_onnx/testing/quantize_file.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace whet::testing {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;
using Floats = std::vector<float>;

Floats floats_of(const TensorProto& t) {
  if (t.float_data_size() > 0) return {t.float_data().begin(), t.float_data().end()};
  Floats values(t.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), t.raw_data().data(), values.size() * sizeof(float));
  return values;
}

class FileQuantizer {
 public:
  FileQuantizer(onnx::ModelProto model, const std::map<std::string, TensorRange>& ranges)
      : model_(std::move(model)), ranges_(ranges) {}

  Result<std::string> run() {
    onnx::GraphProto& graph = *model_.mutable_graph();
    for (const TensorProto& t : graph.initializer()) constants_[t.name()] = &t, names_.insert(t.name());
    for (const NodeProto& node : graph.node()) {
      for (const std::string& name : node.input()) readers_[name].push_back(&node), names_.insert(name);
      names_.insert(node.output().begin(), node.output().end());
    }
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& output : graph.output()) outputs_.insert(output.name());
    const google::protobuf::RepeatedPtrField<NodeProto> old = graph.node();
    std::vector<NodeProto> written;
    target_ = &written;
    for (int i = 0; i < old.size(); ++i) {
      quantize(graph.node(i));
      if (error_) return Error{*error_};
    }
    graph.clear_node();
    for (NodeProto& node : written) *graph.add_node() = std::move(node);
    for (TensorProto& t : added_) *graph.add_initializer() = std::move(t);
    drop_unread_constants(graph);
    return model_.SerializeAsString();
  }

 private:
  struct Quantization {
    std::string scale, zero;
    double step = 1;
  };

  bool is_constant(const std::string& name) const { return constants_.count(name) > 0; }
  bool is_float_constant(const std::string& name) const {
    return is_constant(name) && constants_.at(name)->data_type() == TensorProto::FLOAT;
  }

  /// Computed with bytes.
  bool is_quantized(const NodeProto& node) const {
    static const std::set<std::string> kOps = {"Conv", "MatMul", "Gemm", "Add", "MaxPool", "GlobalAveragePool"};
    if (kOps.count(node.op_type()) == 0) return false;
    if (node.op_type() == "MatMul" && !is_float_constant(node.input(1))) return false;
    if (node.op_type() == "Add")
      for (const std::string& in : node.input())
        if (!is_constant(in) && ranges_.count(in) == 0) return false;
    return ranges_.count(node.output(0)) > 0;
  }

  bool is_activation(const NodeProto& node) const { return node.op_type() == "Relu" || node.op_type() == "Clip"; }

  /// Of a convolution whose only reader is an activation, nothing is quantized but what that gives.
  bool is_absorbed(const NodeProto& node) const {
    const auto found = readers_.find(node.output(0));
    return node.op_type() != "MaxPool" && found != readers_.end() && found->second.size() == 1 &&
           is_activation(*found->second[0]) && outputs_.count(node.output(0)) == 0;
  }

  bool follows_product(const NodeProto& node) const {
    if (!is_activation(node)) return false;
    for (const NodeProto& other : model_.graph().node())
      if (other.output(0) == node.input(0)) return is_quantized(other) && is_absorbed(other);
    return false;
  }

  void quantize(const NodeProto& node) {
    NodeProto now = node;
    const bool activation = follows_product(node);
    if (!is_quantized(node) && !activation) return write(now);
    if (!activation) {
      double unit = 1;
      for (int i = 0; i < now.input_size(); ++i) {
        const std::string name = node.input(i);
        if (name.empty()) continue;
        const bool weights = is_float_constant(name) && i == 1 && node.op_type() != "Add";
        const bool bias = is_float_constant(name) && i == 2;
        if (weights)
          now.set_input(i, weights_of(node, name));
        else if (bias)
          now.set_input(i, bias_of(name, unit));
        else
          now.set_input(i, bytes_of(name));
        if (i == 0 && steps_.count(name)) unit = steps_.at(name).step;
      }
    }
    if (!activation && is_absorbed(node)) return write(now);
    write(now);
    bytes_of(node.output(0));
  }

  void write(const NodeProto& node) {
    target_->push_back(node);
    // Others read the quantized value as well.
    for (std::string& name : *target_->back().mutable_input())
      if (const auto found = dequantized_.find(name); found != dequantized_.end()) name = found->second;
  }

  /// The name of the dequantized value, which is written where it is first asked for.
  std::string bytes_of(const std::string& name) {
    if (const auto found = dequantized_.find(name); found != dequantized_.end()) return found->second;
    TensorRange range;
    if (is_float_constant(name)) {
      for (float value : floats_of(*constants_.at(name)))
        range.low = std::min<double>(range.low, value), range.high = std::max<double>(range.high, value);
    } else if (const auto found = ranges_.find(name); found != ranges_.end()) {
      range = found->second;
    } else {
      error_ = "value \"" + name + "\" has no range";
      return name;
    }
    range.low = std::min(range.low, 0.0), range.high = std::max(range.high, 0.0);
    const float step = range.high > range.low ? static_cast<float>((range.high - range.low) / 255) : 1.0F;
    const auto zero = static_cast<std::uint8_t>(std::clamp(std::round(-range.low / step), 0.0, 255.0));
    const std::string scale_name = unique(name + "_scale"), zero_name = unique(name + "_zero_point");
    const std::string quantized = unique(name + "_QuantizeLinear_Output");
    const std::string result = unique(name + "_DequantizeLinear_Output");
    add_floats(scale_name, {}, {step});
    add_bytes(zero_name, TensorProto::UINT8, {}, std::string(1, static_cast<char>(zero)));
    steps_[name] = {scale_name, zero_name, step};
    add_node("QuantizeLinear", name + "_QuantizeLinear", {name, scale_name, zero_name}, quantized);
    add_node("DequantizeLinear", name + "_DequantizeLinear", {quantized, scale_name, zero_name}, result);
    return dequantized_[name] = result;
  }

  /// i8 with a scale for each output channel.
  std::string weights_of(const NodeProto& node, const std::string& name) {
    const TensorProto& w = *constants_.at(name);
    const Floats values = floats_of(w);
    int axis = 0;
    if (node.op_type() == "MatMul") axis = w.dims_size() - 1;
    if (node.op_type() == "Gemm") {
      axis = 1;
      for (const auto& attribute : node.attribute())
        if (attribute.name() == "transB" && attribute.i() != 0) axis = 0;
    }
    std::int64_t inner = 1;
    const std::int64_t channels = w.dims(axis);
    for (int d = axis + 1; d < w.dims_size(); ++d) inner *= w.dims(d);
    Floats scales(static_cast<std::size_t>(channels), 0);
    const auto channel = [&](std::size_t i) { return i / static_cast<std::size_t>(inner) % scales.size(); };
    for (std::size_t i = 0; i < values.size(); ++i)
      scales[channel(i)] = std::max(scales[channel(i)], std::abs(values[i]) / 127);
    for (float& scale : scales) scale = scale > 0 ? scale : 1.0F;
    weight_scales_ = scales;
    const std::string stem = name + (node.op_type() == "Conv" ? "" : "_" + std::to_string(axis));
    std::string& result = dequantized_weights_[stem];
    if (result.empty()) {
      result = unique(stem + "_DequantizeLinear_Output");
      const Parameters p = unique_parameters(stem + "_quantized", stem + "_scale", stem + "_zero_point");
      std::string bytes;
      for (std::size_t i = 0; i < values.size(); ++i)
        bytes.push_back(static_cast<char>(std::clamp(std::nearbyint(values[i] / scales[channel(i)]), -127.0F, 127.0F)));
      std::vector<std::int64_t> dims(w.dims().begin(), w.dims().end());
      add_bytes(p.bytes, TensorProto::INT8, dims, bytes);
      add_floats(p.scale, {channels}, scales);
      add_bytes(p.zero, TensorProto::INT8, {channels}, std::string(scales.size(), 0));
      add_node("DequantizeLinear", stem + "_DequantizeLinear", {p.bytes, p.scale, p.zero}, result, axis);
    }
    return result;
  }

  /// i32 in units of the sums of the weights that were written last.
  std::string bias_of(const std::string& name, double unit) {
    const Floats values = floats_of(*constants_.at(name));
    std::string bytes;
    Floats scales;
    for (std::size_t c = 0; c < values.size(); ++c) {
      scales.push_back(static_cast<float>(unit) * weight_scales_[c % weight_scales_.size()]);
      const auto q = static_cast<std::int32_t>(std::nearbyint(values[c] / scales.back()));
      bytes.append(reinterpret_cast<const char*>(&q), sizeof(q));
    }
    const std::string stem = name + "_" + std::to_string(added_.size());
    const auto count = static_cast<std::int64_t>(values.size());
    const Parameters p =
        unique_parameters(stem + "_quantized", stem + "_quantized_scale", stem + "_quantized_zero_point");
    const std::string result = unique(stem + "_DequantizeLinear_Output");
    add_bytes(p.bytes, TensorProto::INT32, {count}, bytes);
    add_floats(p.scale, {count}, scales);
    add_bytes(p.zero, TensorProto::INT32, {count}, std::string(bytes.size(), 0));
    add_node("DequantizeLinear", stem + "_DequantizeLinear", {p.bytes, p.scale, p.zero}, result, 0);
    return result;
  }

  /// The name, or one that begins so where the file or what was added has it already: a value `x` may stand beside a constant `x_scale`.
  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }
  struct Parameters {
    std::string bytes, scale, zero;
  };
  Parameters unique_parameters(const std::string& bytes, const std::string& scale, const std::string& zero) {
    return {unique(bytes), unique(scale), unique(zero)};
  }

  void add_node(const char* op, const std::string& name, const std::vector<std::string>& inputs,
                const std::string& output, int axis = -1) {
    NodeProto node;
    node.set_op_type(op), node.set_name(name);
    for (const std::string& in : inputs) node.add_input(in);
    node.add_output(output);
    if (axis >= 0) {
      auto* attribute = node.add_attribute();
      attribute->set_name("axis"), attribute->set_type(onnx::AttributeProto::INT), attribute->set_i(axis);
    }
    target_->push_back(std::move(node));
  }
  void add_floats(const std::string& name, const std::vector<std::int64_t>& dims, const Floats& values) {
    const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    add_bytes(name, TensorProto::FLOAT, dims, raw);
  }
  void add_bytes(const std::string& name, TensorProto::DataType type, const std::vector<std::int64_t>& dims,
                 const std::string& raw) {
    TensorProto t;
    t.set_name(name), t.set_data_type(type), t.set_raw_data(raw);
    for (std::int64_t d : dims) t.add_dims(d);
    added_.push_back(std::move(t));
  }

  static void drop_unread_constants(onnx::GraphProto& graph) {
    std::set<std::string> read;
    for (const NodeProto& node : graph.node()) read.insert(node.input().begin(), node.input().end());
    std::vector<TensorProto> kept;
    for (TensorProto& t : *graph.mutable_initializer())
      if (read.count(t.name())) kept.push_back(std::move(t));
    graph.clear_initializer();
    for (TensorProto& t : kept) *graph.add_initializer() = std::move(t);
  }

  onnx::ModelProto model_;
  const std::map<std::string, TensorRange>& ranges_;
  std::map<std::string, const TensorProto*> constants_;
  std::map<std::string, std::vector<const NodeProto*>> readers_;
  std::set<std::string> outputs_;
  std::set<std::string> names_;  ///< of values and constants: those of the file, and those that are added
  std::map<std::string, std::string> dequantized_, dequantized_weights_;
  std::map<std::string, Quantization> steps_;
  Floats weight_scales_;
  std::vector<NodeProto>* target_ = nullptr;
  std::vector<TensorProto> added_;
  std::optional<std::string> error_;
};

}  // namespace

Result<std::string> quantized_onnx(const std::string& bytes, const std::map<std::string, TensorRange>& ranges) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return Error{"the bytes are no ONNX model"};
  return FileQuantizer(std::move(model), ranges).run();
}

}  // namespace whet::testing
