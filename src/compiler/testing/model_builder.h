#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "graph/graph.h"

namespace whet::testing {

/// Builds graphs as an importer does; a refusal ends the test.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::uint64_t seed) : rng_(seed) { graph.name = "test"; }

  ValueId input(const std::string& name, Shape shape) {
    const ValueId id = graph.add_value(name, {DType::f32, std::move(shape)});
    graph.inputs.push_back(id);
    return id;
  }
  ValueId constant(Shape shape, double low = -0.5, double high = 0.5) {
    const TensorType type{DType::f32, std::move(shape)};
    return graph.add_constant("c" + std::to_string(graph.values.size()), Tensor::random(type, rng_, low, high));
  }
  ValueId node(Operator op, std::vector<ValueId> inputs) {
    Result<ValueId> out = graph.add_node("n" + std::to_string(graph.nodes.size()), std::move(op), std::move(inputs));
    WHET_CHECK(out.ok(), out.error().message.c_str());
    return out.value();
  }
  ValueId conv(ValueId x, std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1) {
    const std::int64_t in = graph.value(x).type.shape[1], pad = kernel / 2;
    ConvOperator op{{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
    return node(op, {x, constant({channels, in, kernel, kernel}), constant({channels})});
  }
  ValueId relu(ValueId x) { return node(UnaryOperator{UnaryKind::relu}, {x}); }
  ValueId add(ValueId a, ValueId b) { return node(BinaryOperator{BinaryKind::add}, {a, b}); }

  Graph graph;

 private:
  Rng rng_;
};

/// Convolutions, a sum of two branches, pooling, a mean, a dense layer and softmax.
inline Graph small_network() {
  ModelBuilder b(1);
  const ValueId x = b.input("image", {1, 3, 17, 13});
  const ValueId stem = b.relu(b.conv(x, 20, 3));
  const ValueId left = b.relu(b.conv(stem, 20, 3));
  const ValueId right = b.conv(left, 20, 3);
  const ValueId sum = b.relu(b.add(right, stem));
  PoolOperator pool{PoolKind::max, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  const ValueId pooled = b.node(pool, {sum});
  const ValueId mean = b.node(ReduceOperator{ReduceKind::mean, {2, 3}, true}, {pooled});
  const ValueId flat = b.node(ReshapeOperator{{1, 20}}, {mean});
  const ValueId scores = b.add(b.node(MatMulOperator{}, {flat, b.constant({20, 10})}), b.constant({10}));
  b.graph.outputs = {b.node(SoftmaxOperator{1}, {scores})};
  return b.graph;
}

}  // namespace whet::testing
