#include "import/zoo/file_builder.h"

#include <cmath>

#include "import/onnx/import_onnx.h"

namespace whet {

FileBuilder::FileBuilder(std::string name, const ZooOptions& options) : options_(options), rng_(options.seed) {
  model_.graph_name = std::move(name);
  model_.opset = 13;
}

FileBuilder::Name FileBuilder::input(const Name& name, DType dtype, const Shape& shape) {
  std::vector<OnnxDimension> dimensions;
  for (std::int64_t extent : shape) dimensions.push_back({extent, ""});
  model_.inputs.push_back({name, dtype, dimensions});
  return name;
}

FileBuilder::Name FileBuilder::image(std::int64_t channels) {
  return input("data", DType::f32, {options_.batch, channels, options_.image, options_.image});
}

FileBuilder::Name FileBuilder::constant(Tensor tensor) {
  const Name name = "constant_" + std::to_string(model_.initializers.size());
  model_.initializers.push_back({name, std::move(tensor)});
  return name;
}

FileBuilder::Name FileBuilder::filled(const Shape& shape, double low, double high) {
  Tensor tensor(DType::f32, shape);
  for (float& value : tensor.as<float>()) value = static_cast<float>(rng_.uniform(low, high));
  return constant(std::move(tensor));
}

FileBuilder::Name FileBuilder::weight(const Shape& shape, double bound) { return filled(shape, -bound, bound); }

FileBuilder::Name FileBuilder::scaled(const Shape& shape, std::int64_t fan_in, double gain) {
  return weight(shape, std::sqrt(3 * gain / static_cast<double>(fan_in)));  // variance = bound² / 3
}

FileBuilder::Name FileBuilder::integers(const Ints& values) {
  return constant(Tensor::of(DType::i64, {static_cast<std::int64_t>(values.size())}, values));
}

FileBuilder::Name FileBuilder::scalar(double value) { return constant(Tensor::of<double>(DType::f32, {}, {value})); }

std::vector<FileBuilder::Name> FileBuilder::op(const std::string& type, const std::vector<Name>& inputs,
                                               std::size_t outputs, std::vector<OnnxAttribute> attributes) {
  OnnxNode node{type + "_" + std::to_string(model_.nodes.size()), type, "", inputs, {}, std::move(attributes), {}};
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(fresh(type));
  model_.nodes.push_back(node);
  return node.outputs;
}

FileBuilder::Name FileBuilder::op(const std::string& type, const std::vector<Name>& inputs,
                                  std::vector<OnnxAttribute> attributes) {
  return op(type, inputs, 1, std::move(attributes))[0];
}

FileBuilder::Name FileBuilder::conv(const Name& x, const Conv& c) {
  Shape shape = {c.out, c.in / c.groups};
  shape.insert(shape.end(), c.kernel.begin(), c.kernel.end());
  Ints pads = c.pad;
  pads.insert(pads.end(), c.pad.begin(), c.pad.end());
  std::vector<Name> inputs = {x, scaled(shape, num_elements(shape) / c.out, c.gain)};
  if (c.bias) inputs.push_back(weight({c.out}, 0.1));
  return op("Conv", inputs, {{"strides", c.stride}, {"pads", pads}, {"group", c.groups}});
}

FileBuilder::Name FileBuilder::batch_norm(const Name& x, std::int64_t channels) {
  const Name scale = filled({channels}, 0.9, 1.1), bias = weight({channels}, 0.1);
  const Name mean = weight({channels}, 0.1), variance = filled({channels}, 0.9, 1.1);
  return op("BatchNormalization", {x, scale, bias, mean, variance});
}

FileBuilder::Name FileBuilder::pool(const char* type, const Name& x, std::int64_t kernel, std::int64_t stride,
                                    std::int64_t pad, bool ceil) {
  std::vector<OnnxAttribute> attributes = {
      {"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}};
  if (ceil) attributes.push_back({"ceil_mode", std::int64_t{1}});
  return op(type, {x}, attributes);
}

FileBuilder::Name FileBuilder::concat(const std::vector<Name>& parts, std::int64_t axis) {
  return op("Concat", parts, {{"axis", axis}});
}

FileBuilder::Name FileBuilder::linear(const Name& x, std::int64_t in, std::int64_t out, double gain) {
  return op("Add", {op("MatMul", {x, scaled({in, out}, in, gain)}), weight({out}, 0.1)});
}

FileBuilder::Name FileBuilder::layer_norm(const Name& x, std::int64_t width) {
  const std::vector<OnnxAttribute> last = {{"axes", Ints{-1}}};
  const Name centred = op("Sub", {x, op("ReduceMean", {x}, last)});
  const Name variance = op("ReduceMean", {op("Pow", {centred, scalar(2)})}, last);
  const Name deviation = op("Sqrt", {op("Add", {variance, scalar(1e-5)})});
  const Name scaled = op("Mul", {op("Div", {centred, deviation}), filled({width}, 0.9, 1.1)});
  return op("Add", {scaled, weight({width}, 0.1)});
}

FileBuilder::Name FileBuilder::gelu(const Name& x) {
  const Name bent = op("Add", {op("Erf", {op("Div", {x, scalar(std::sqrt(2.0))})}), scalar(1)});
  return op("Mul", {op("Mul", {x, bent}), scalar(0.5)});
}

FileBuilder::Name FileBuilder::attention(const Name& x, std::int64_t tokens, std::int64_t width, std::int64_t heads,
                                         const Name& mask) {
  const auto split = [&](const Ints& perm) {
    const Name apart = op("Reshape", {linear(x, width, width), integers({batch(), tokens, heads, width / heads})});
    return op("Transpose", {apart}, {{"perm", perm}});
  };
  const Name q = split({0, 2, 1, 3}), k = split({0, 2, 3, 1}), v = split({0, 2, 1, 3});
  const double root = std::sqrt(static_cast<double>(width / heads));
  Name scores = op("Div", {op("MatMul", {q, k}), scalar(root)});
  if (!mask.empty()) scores = op("Add", {scores, mask});
  const Name seen = op("MatMul", {op("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), v});
  const Name back = op("Transpose", {seen}, {{"perm", Ints{0, 2, 1, 3}}});
  return linear(op("Reshape", {back, integers({batch(), tokens, width})}), width, width);
}

FileBuilder::Name FileBuilder::classify(const Name& x, std::int64_t channels, std::int64_t classes) {
  const Name flat = op("Flatten", {op("GlobalAveragePool", {x})});
  const Name weights = scaled({classes, channels}, channels, 1);
  const Name scores = op("Gemm", {flat, weights, weight({classes}, 0.1)}, {{"transB", std::int64_t{1}}});
  return op("Softmax", {scores}, {{"axis", std::int64_t{1}}});
}

Graph FileBuilder::finish(const Name& last, const Name& output) {
  for (OnnxNode& node : model_.nodes) {
    for (Name& name : node.outputs) {
      if (name == last) name = output;
    }
  }
  model_.outputs = {output};
  return import_onnx(std::move(model_), {}).value();  // our own networks are well formed
}

}  // namespace whet
