#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import_onnx/reader.h"
#include "tensor/tensor.h"

/// Models of one node, for tests of what the importers make of it.
namespace whet {

using Ints = std::vector<std::int64_t>;

/// An input of the node under test: fed by the user (with a value where the test runs the node), or known.
struct In {
  In(TensorType type) : type(std::move(type)) {}                     // NOLINT: implicit, so that lists read well
  In(Tensor value) : type(value.type()), value(std::move(value)) {}  // NOLINT
  TensorType type;
  std::optional<Tensor> value;
  bool is_fed = false;
};
inline In f32(Shape shape) { return TensorType{DType::f32, std::move(shape)}; }
inline In i64(Shape shape) { return TensorType{DType::i64, std::move(shape)}; }
inline In ints(const Ints& values) {
  return Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())}, values);
}
inline In floats(const std::vector<double>& values) {
  return Tensor::of<double>(DType::f32, {static_cast<std::int64_t>(values.size())}, values);
}
inline In scalar(double value) { return Tensor::of<double>(DType::f32, {}, {value}); }
inline In fed(Tensor value) {
  In in(std::move(value));
  in.is_fed = true;
  return in;
}
/// An input of these values, which the user feeds.
inline In f32_fed(Shape shape, const std::vector<double>& values) {
  return fed(Tensor::of(DType::f32, std::move(shape), values));
}
inline In left_out() { return TensorType{DType::f32, {-7}}; }

using Attributes = std::vector<OnnxAttribute>;
inline OnnxAttribute set(const char* name, decltype(OnnxAttribute::value) value) { return {name, std::move(value)}; }
inline OnnxAttribute set(const char* name, const char* text) { return {name, std::string(text)}; }
inline OnnxAttribute set(const char* name, double value) { return {name, value}; }
inline OnnxAttribute set(const char* name, int value) { return {name, static_cast<std::int64_t>(value)}; }

/// `op`: of the standard, or behind the name of its domain ("com.microsoft.FusedConv").
inline OnnxModel one_node(const std::string& op, int opset, const std::vector<In>& inputs, Attributes attributes,
                          int outputs = 1) {
  OnnxModel model;
  model.opset = opset;
  const std::size_t dot = op.rfind('.');
  OnnxNode node{"n", op.substr(dot + 1),   op.substr(0, dot == std::string::npos ? 0 : dot), {},
                {},  std::move(attributes)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    if (inputs[i].type.shape == Shape{-7}) {
      node.inputs.push_back("");
      continue;
    }
    node.inputs.push_back(name);
    if (inputs[i].value && !inputs[i].is_fed) {
      model.initializers.push_back({name, *inputs[i].value});
      continue;
    }
    OnnxInput input{name, inputs[i].type.dtype, std::vector<OnnxDimension>()};
    for (std::int64_t extent : inputs[i].type.shape) input.dimensions->push_back({extent, ""});
    model.inputs.push_back(input);
  }
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(i == 0 ? "y" : "y" + std::to_string(i));
  model.outputs = node.outputs;
  model.nodes.push_back(node);
  return model;
}

/// "f32[2] {1, 2.500000}"
inline std::string values_text(const Tensor& tensor) {
  std::string text = to_string(tensor.type()) + " {";
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.get(i), whole = std::round(value);
    const bool is_whole = std::abs(value - whole) < 5e-7 && std::abs(whole) < 1e9;
    text += (i == 0 ? "" : ", ") + (is_whole ? std::to_string(static_cast<int>(whole)) : std::to_string(value));
  }
  return text + "}";
}

}  // namespace whet
