#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace whet::testing {

/// Builds small graphs for tests; a mistake in the test stops it.
struct GraphBuilder {
  Graph graph;
  Rng rng{1};

  ValueId input(const std::string& name, Shape shape, DType dtype = DType::f32) {
    const ValueId id = graph.add_value(name, {dtype, std::move(shape)});
    graph.inputs.push_back(id);
    return id;
  }
  ValueId constant(const std::string& name, Shape shape) {
    return graph.add_constant(name, Tensor::random({DType::f32, std::move(shape)}, rng, -0.5, 0.5));
  }
  ValueId constant(const std::string& name, Shape shape, const std::vector<double>& values) {
    return graph.add_constant(name, Tensor::of<double>(DType::f32, std::move(shape), values));
  }
  ValueId add(const std::string& name, Operator op, std::vector<ValueId> inputs) {
    const auto value = graph.add_node(name, std::move(op), std::move(inputs));
    WHET_CHECK(value.ok(), value.ok() ? "" : value.error().message.c_str());
    return *value;
  }
  ValueId unary(const std::string& name, UnaryKind kind, ValueId x) { return add(name, UnaryOperator{kind}, {x}); }
  ValueId relu(const std::string& name, ValueId x) { return unary(name, UnaryKind::relu, x); }
  ValueId binary(const std::string& name, BinaryKind kind, ValueId a, ValueId b) {
    return add(name, BinaryOperator{kind}, {a, b});
  }
  ValueId plus(const std::string& name, ValueId a, ValueId b) { return binary(name, BinaryKind::add, a, b); }
  /// Channels first, square kernel, with a bias; depthwise for groups = channels.
  ValueId conv(const std::string& name, ValueId x, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1,
               std::int64_t pad = 0, std::int64_t groups = 1) {
    const std::int64_t in = graph.value(x).type.shape[1];
    const ConvOperator op{{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, groups, Layout::channels_first};
    return add(name, op, {x, constant(name + "_w", {out, in / groups, kernel, kernel}), constant(name + "_b", {out})});
  }
  ValueId batch_norm(const std::string& name, ValueId x) {
    const Shape c = {graph.value(x).type.shape[1]};
    const ValueId variance = graph.add_constant(name + "_v", Tensor::random({DType::f32, c}, rng, 0.5, 1.5));
    return add(name, BatchNormOperator{},
               {x, constant(name + "_s", c), constant(name + "_b", c), constant(name + "_m", c), variance});
  }
  Graph finish(std::vector<ValueId> outputs) {
    graph.outputs = std::move(outputs);
    return graph;
  }
};

}  // namespace whet::testing
