#include "import/zoo/network_builder.h"

#include <cmath>

#include "graph/dead_code.h"
#include "import/parts/arithmetic.h"
#include "import/parts/conv_transpose.h"
#include "import/parts/index.h"
#include "import/parts/matrix.h"
#include "import/parts/recurrent.h"
#include "import/parts/shape.h"
#include "import/parts/window.h"
#include "import/zoo/seeded.h"

namespace whet {

// Our own networks are well formed: what a part refuses is a bug, at which value() stops.

NetworkBuilder::NetworkBuilder(std::string name, const ZooOptions& options) : options_(options), rng_(options.seed) {
  graph_.graph.name = std::move(name);
}

ValueId NetworkBuilder::input(const std::string& name, DType dtype, const Shape& shape) {
  graph_.reserve({name});
  return graph_.add_input(name, {dtype, shape});
}

ValueId NetworkBuilder::image(std::int64_t channels) {
  return input("data", DType::f32, {options_.batch, channels, options_.image, options_.image});
}

ValueId NetworkBuilder::constant(Tensor tensor) {
  return graph_.graph.add_constant("constant_" + std::to_string(constants_++), std::move(tensor));
}

ValueId NetworkBuilder::filled(const Shape& shape, double low, double high) {
  return constant(seeded_uniform(shape, rng_, low, high));
}

ValueId NetworkBuilder::weight(const Shape& shape, double bound) { return filled(shape, -bound, bound); }

ValueId NetworkBuilder::scaled(const Shape& shape, std::int64_t fan_in, double gain) {
  return weight(shape, std::sqrt(3 * gain / static_cast<double>(fan_in)));  // variance = bound² / 3
}

ValueId NetworkBuilder::integers(const Ints& values) { return constant(integer_list(values)); }

ValueId NetworkBuilder::scalar(double value) { return constant(Tensor::of<double>(DType::f32, {}, {value})); }

NodeSite NetworkBuilder::site(const std::string& type, std::size_t outputs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(fresh(type));
  return NodeSite(graph_, type + "_" + std::to_string(nodes_++), names);
}

ValueId NetworkBuilder::node(const char* type, const Operator& op, std::vector<ValueId> inputs) {
  return composed(type, [&](NodeSite& s) { return s.add("result", op, std::move(inputs)); });
}

template <typename Part>
ValueId NetworkBuilder::composed(const char* type, const Part& part) {
  NodeSite s = site(type);
  (void)s.give(part(s)).value();
  return s.given(0);
}

ValueId NetworkBuilder::mean_of_last(ValueId x) {
  const auto last = static_cast<std::int64_t>(shape(x).size()) - 1;
  return node("ReduceMean", ReduceOperator{ReduceKind::mean, {last}, true}, {x});
}

// Extents and axes are constants of the network, as files have them.

ValueId NetworkBuilder::reshape(ValueId x, const Ints& extents) {
  integers(extents);
  return node("Reshape", ReshapeOperator{extents}, {x});
}

ValueId NetworkBuilder::squeeze(ValueId x, std::int64_t axis) {
  integers({axis});
  return composed("Squeeze", [&](NodeSite& s) { return squeezed(s, x, Ints{axis}); });
}

ValueId NetworkBuilder::unsqueeze(ValueId x, const Ints& axes) {
  integers(axes);
  return composed("Unsqueeze", [&](NodeSite& s) { return unsqueezed(s, x, axes); });
}

ValueId NetworkBuilder::expand(ValueId x, const Ints& extents) {
  integers(extents);
  return composed("Expand", [&](NodeSite& s) { return expanded(s, x, extents); });
}

ValueId NetworkBuilder::as_float(ValueId x) {
  return composed("Cast", [&](NodeSite& s) { return s.cast("cast", x, DType::f32); });
}

ValueId NetworkBuilder::clip(ValueId x, double low, double high) {
  const ValueId least = scalar(low), most = scalar(high);
  return composed("Clip", [&](NodeSite& s) { return clipped(s, x, least, most); });
}

ValueId NetworkBuilder::flatten(ValueId x) {
  return composed("Flatten", [&](NodeSite& s) { return flattened(s, x, 1); });
}

ValueId NetworkBuilder::gather(ValueId table, ValueId indices, std::int64_t axis) {
  return composed("Gather", [&](NodeSite& s) { return whet::gather(s, table, indices, axis); });
}

ValueId NetworkBuilder::gemm(ValueId x, ValueId weights, ValueId bias) {
  return composed("Gemm", [&](NodeSite& s) { return whet::gemm(s, x, weights, bias, {.transpose_b = true}); });
}

ValueId NetworkBuilder::global_average_pool(ValueId x) {
  return composed("GlobalAveragePool", [&](NodeSite& s) { return pooled_whole(s, x, ReduceKind::mean); });
}

ValueId NetworkBuilder::conv(ValueId x, const Conv& c) {
  Shape shape = {c.out, c.in / c.groups};
  shape.insert(shape.end(), c.kernel.begin(), c.kernel.end());
  std::vector<ValueId> inputs = {x, scaled(shape, num_elements(shape) / c.out, c.gain)};
  if (c.bias) inputs.push_back(weight({c.out}, 0.1));
  return node("Conv", ConvOperator{c.stride, Ints(c.kernel.size(), 1), c.pad, c.pad, c.groups}, inputs);
}

ValueId NetworkBuilder::conv_transpose(ValueId x, ValueId weights, std::int64_t stride, std::int64_t pad) {
  const Window window{{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
  const ConvTranspose form{.window = window, .output_padding = {0, 0}};
  return composed("ConvTranspose", [&](NodeSite& s) { return conv_transposed(s, x, weights, std::nullopt, form); });
}

ValueId NetworkBuilder::batch_norm(ValueId x, std::int64_t channels) {
  const ValueId scale = filled({channels}, 0.9, 1.1), bias = weight({channels}, 0.1);
  const ValueId mean = weight({channels}, 0.1), variance = filled({channels}, 0.9, 1.1);
  return node("BatchNormalization", BatchNormOperator{1e-5}, {x, scale, bias, mean, variance});
}

ValueId NetworkBuilder::pool(const char* type, PoolKind kind, ValueId x, std::int64_t kernel, std::int64_t stride,
                             std::int64_t pad, bool ceil) {
  const Window window{{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
  const Pooling pooling{.kind = kind, .kernel = {kernel, kernel}, .window = window, .ceil_mode = ceil};
  return composed(type, [&](NodeSite& s) { return pooled(s, x, pooling); });
}

ValueId NetworkBuilder::max_pool(ValueId x, std::int64_t kernel, std::int64_t stride, bool ceil, std::int64_t pad) {
  return pool("MaxPool", PoolKind::max, x, kernel, stride, pad, ceil);
}

ValueId NetworkBuilder::average_pool(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return pool("AveragePool", PoolKind::average, x, kernel, stride, pad, false);
}

ValueId NetworkBuilder::linear(ValueId x, std::int64_t in, std::int64_t out, double gain) {
  const ValueId product = matmul(x, scaled({in, out}, in, gain));
  return add(product, weight({out}, 0.1));
}

ValueId NetworkBuilder::layer_norm(ValueId x, std::int64_t width) {
  const ValueId centred = sub(x, mean_of_last(x));
  const ValueId square = node("Pow", BinaryOperator{BinaryKind::pow}, {centred, scalar(2)});
  const ValueId variance = mean_of_last(square);
  const ValueId offset = add(variance, scalar(1e-5));
  const ValueId deviation = unary("Sqrt", UnaryKind::sqrt, offset);
  const ValueId normalized = div(centred, deviation);
  const ValueId scaled = mul(normalized, filled({width}, 0.9, 1.1));
  return add(scaled, weight({width}, 0.1));
}

ValueId NetworkBuilder::gelu(ValueId x) {
  const ValueId divided = div(x, scalar(std::sqrt(2.0)));
  const ValueId erf = unary("Erf", UnaryKind::erf, divided);
  const ValueId bent = add(erf, scalar(1));
  const ValueId gated = mul(x, bent);
  return mul(gated, scalar(0.5));
}

ValueId NetworkBuilder::attention(ValueId x, std::int64_t tokens, std::int64_t width, std::int64_t heads,
                                  ValueId mask) {
  const auto split = [&](const Ints& perm) {
    const ValueId projected = linear(x, width, width);
    return transpose(reshape(projected, {batch(), tokens, heads, width / heads}), perm);
  };
  const ValueId q = split({0, 2, 1, 3}), k = split({0, 2, 3, 1}), v = split({0, 2, 1, 3});
  const ValueId products = matmul(q, k);
  ValueId scores = div(products, scalar(std::sqrt(static_cast<double>(width / heads))));
  if (mask.valid()) scores = add(scores, mask);
  const ValueId seen = matmul(softmax(scores, 3), v);
  const ValueId back = transpose(seen, {0, 2, 1, 3});
  return linear(reshape(back, {batch(), tokens, width}), width, width);
}

NetworkBuilder::Lstm NetworkBuilder::lstm(ValueId x, std::int64_t hidden) {
  const std::int64_t features = shape(x)[2];
  Recurrent form{.kind = CellKind::lstm, .x = x};
  form.weights = scaled({1, 4 * hidden, features}, features, 1);
  form.state_weights = scaled({1, 4 * hidden, hidden}, hidden, 1);
  form.bias = weight({1, 8 * hidden}, 0.1);
  form.hidden = hidden;
  for (const std::string& name : usual_activations(form.kind)) form.activations.push_back({name});
  NodeSite s = site("LSTM", 2);
  const RecurrentResult result = recurrent(s, form).value();
  (void)s.give(*result.rows, 0).value();
  (void)s.pass(result.state, 1).value();
  return {s.given(0), s.given(1)};
}

ValueId NetworkBuilder::classify(ValueId x, std::int64_t channels, std::int64_t classes) {
  const ValueId flat = flatten(global_average_pool(x));
  const ValueId weights = scaled({classes, channels}, channels, 1);
  return softmax(gemm(flat, weights, weight({classes}, 0.1)), 1);
}

Graph NetworkBuilder::finish(ValueId last, const std::string& output) {
  graph_.graph.value(last).name = output;
  graph_.graph.outputs = {last};
  drop_dead_code(graph_.graph);
  return std::move(graph_.graph);
}

}  // namespace whet
