#include "import/zoo/builder.h"

#include <cmath>

#include "import/zoo/seeded.h"

namespace whet {
namespace {

Shape hwio_of(const Shape& oihw) { return {oihw[2], oihw[3], oihw[1], oihw[0]}; }

Tensor to_hwio(const Tensor& oihw) {
  const Shape& s = oihw.shape();
  Tensor hwio(oihw.dtype(), hwio_of(s));
  const auto from = oihw.as<float>();
  const auto to = hwio.as<float>();
  const std::int64_t taps = s[2] * s[3];
  for (std::int64_t o = 0; o < s[0]; ++o) {
    for (std::int64_t i = 0; i < s[1]; ++i) {
      for (std::int64_t t = 0; t < taps; ++t) {
        to[static_cast<std::size_t>((t * s[1] + i) * s[0] + o)] =
            from[static_cast<std::size_t>((o * s[1] + i) * taps + t)];
      }
    }
  }
  return hwio;
}

}  // namespace

ZooBuilder::ZooBuilder(std::string name, const ZooOptions& options) : options_(options), rng_(options.seed) {
  graph_.name = std::move(name);
}

ValueId ZooBuilder::node(const std::string& name, Operator op, std::vector<ValueId> inputs) {
  return graph_.add_node(name, std::move(op), std::move(inputs)).value();  // our own networks are well formed
}

ValueId ZooBuilder::uniform(const std::string& name, const Shape& shape, double low, double high) {
  return graph_.add_constant(name, seeded_uniform(shape, rng_, low, high));
}

std::int64_t ZooBuilder::channels(ValueId id) const {
  return options_.layout == Layout::channels_first ? shape(id)[1] : shape(id).back();
}

ValueId ZooBuilder::input(const std::string& name, const Shape& shape) {
  graph_.inputs.push_back(graph_.add_value(name, {DType::f32, shape}));
  return graph_.inputs.back();
}

ValueId ZooBuilder::image(const std::string& name, std::int64_t channels) {
  const std::int64_t n = options_.batch, s = options_.image;
  return input(name, options_.layout == Layout::channels_first ? Shape{n, channels, s, s} : Shape{n, s, s, channels});
}

ValueId ZooBuilder::conv(const std::string& name, ValueId x, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                         std::int64_t pad, double gain) {
  const std::int64_t in = channels(x);
  const double bound = std::sqrt(3 * gain / static_cast<double>(in * kernel * kernel));  // variance = bound² / 3
  Tensor weights = seeded_uniform({out, in, kernel, kernel}, rng_, -bound, bound);
  if (options_.layout == Layout::channels_last)
    weights = Tensor::later({DType::f32, hwio_of(weights.shape())}, [weights] { return to_hwio(weights); });
  const ValueId w = graph_.add_constant(name + "_weight", std::move(weights));
  return node(name, ConvOperator{{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, 1, options_.layout}, {x, w});
}

ValueId ZooBuilder::batch_norm(const std::string& name, ValueId x, double epsilon) {
  const Shape c = {channels(x)};
  const ValueId scale = uniform(name + "_gamma", c, 0.9, 1.1), bias = uniform(name + "_beta", c, -0.1, 0.1);
  const ValueId mean = uniform(name + "_mean", c, -0.1, 0.1), variance = uniform(name + "_var", c, 0.9, 1.1);
  return node(name, BatchNormOperator{epsilon, options_.layout}, {x, scale, bias, mean, variance});
}

ValueId ZooBuilder::relu(const std::string& name, ValueId x) { return node(name, UnaryOperator{UnaryKind::relu}, {x}); }

ValueId ZooBuilder::add(const std::string& name, ValueId a, ValueId b) {
  return node(name, BinaryOperator{BinaryKind::add}, {a, b});
}

ValueId ZooBuilder::max_pool(const std::string& name, ValueId x, std::int64_t kernel, std::int64_t stride,
                             std::int64_t pad) {
  return node(
      name,
      PoolOperator{
          PoolKind::max, {kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, false, options_.layout},
      {x});
}

ValueId ZooBuilder::global_average_pool(const std::string& name, ValueId x) {
  const bool first = options_.layout == Layout::channels_first;
  return node(name, ReduceOperator{ReduceKind::mean, first ? Shape{2, 3} : Shape{1, 2}, true}, {x});
}

ValueId ZooBuilder::flatten(const std::string& name, ValueId x) {
  const std::int64_t rows = shape(x)[0];
  return node(name, ReshapeOperator{{rows, num_elements(shape(x)) / rows}}, {x});
}

ValueId ZooBuilder::dense(const std::string& name, ValueId x, std::int64_t units, double gain) {
  const std::int64_t in = shape(x).back();
  const double bound = std::sqrt(3 * gain / static_cast<double>(in));
  const ValueId w = uniform(name + "_weight", {units, in}, -bound, bound);
  const ValueId b = uniform(name + "_bias", {units}, -0.1, 0.1);
  return add(name, node(name + "/matmul", MatMulOperator{false, true}, {x, w}), b);
}

ValueId ZooBuilder::softmax(const std::string& name, ValueId x) {
  return node(name, SoftmaxOperator{static_cast<std::int64_t>(shape(x).size()) - 1}, {x});
}

Graph ZooBuilder::finish(ValueId output) {
  graph_.outputs = {output};
  return std::move(graph_);
}

}  // namespace whet
