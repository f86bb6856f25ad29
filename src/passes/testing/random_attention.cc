#include "passes/testing/random_attention.h"

#include "passes/testing/graph_builder.h"

namespace whet::testing {

Graph random_attention(std::uint64_t seed) {
  Rng rng(seed);
  GraphBuilder build;
  const std::int64_t n = 1 + rng.below(3), l = 16 + rng.below(9), h = 1 + rng.below(3), d = 16 + rng.below(5),
                     c = h * d;
  const ValueId x = build.input("x", {n, l, c});
  const auto scaled = [&](const std::string& name, ValueId v) {
    return rng.chance(0.4) ? build.binary(name, BinaryKind::mul, v, build.constant(name + "_by", {}, {0.3})) : v;
  };
  const bool together = rng.chance(0.5);
  const ValueId all = build.add("all", MatMulOperator{}, {x, build.constant("w", {c, 3 * c})});
  const auto heads = [&](const std::string& name, std::int64_t k) {
    const ValueId tokens = together ? build.add(name, SliceOperator{{0, 0, k * c}, {1, 1, 1}, {n, l, c}}, {all})
                                    : build.add(name, MatMulOperator{}, {x, build.constant(name + "_w", {c, c})});
    const ValueId split = build.add(name + "_split", ReshapeOperator{{n, l, h, d}}, {scaled(name + "_scaled", tokens)});
    return scaled(name + "_late", build.add(name + "_heads", TransposeOperator{{0, 2, 1, 3}}, {split}));
  };
  const ValueId q = heads("q", 0), v = heads("v", 2);
  ValueId k = heads("k", 1), scores;
  if (rng.chance(0.5)) {
    k = build.add("k_turned", TransposeOperator{{0, 1, 3, 2}}, {k});
    scores = build.add("scores", MatMulOperator{}, {q, k});
  } else {
    scores = build.add("scores", MatMulOperator{.transpose_b = true}, {q, k});
  }
  scores = scaled("scores_scaled", scores);
  if (rng.chance(0.4))
    scores = build.plus("masked", scores, build.constant("mask", {1, 1, rng.chance(0.5) ? 1 : l, l}));
  if (rng.chance(0.3)) scores = build.plus("biased", build.constant("bias", {1, h, l, l}), scores);
  ValueId y = build.add("mix", MatMulOperator{}, {build.add("weights", SoftmaxOperator{3}, {scores}), v});
  if (rng.chance(0.7)) y = build.add("tokens", TransposeOperator{{0, 2, 1, 3}}, {y});
  return build.finish({rng.chance(0.5) ? build.relu("y", y) : y});
}

Graph with_rounded_outputs(Graph graph) {
  for (ValueId& id : graph.outputs) {
    const auto rounded = graph.add_node(graph.value(id).name + "_rounded", CastOperator{DType::f16}, {id});
    WHET_CHECK(rounded.ok(), rounded.ok() ? "" : rounded.error().message.c_str());
    id = *rounded;
  }
  return graph;
}

Graph with_rounded_operands(const Graph& graph) {
  Graph rounded;
  std::vector<ValueId> now(graph.values.size());
  std::vector<bool> is_weights(graph.values.size());
  const auto add = [&](const std::string& name, const Operator& op, const std::vector<ValueId>& inputs) {
    const auto output = rounded.add_node(name, op, inputs);
    WHET_CHECK(output.ok(), output.ok() ? "" : output.error().message.c_str());
    return *output;
  };
  for (ValueId id : graph.inputs) {
    rounded.inputs.push_back(now[id.index()] = rounded.add_value(graph.value(id).name, graph.value(id).type));
  }
  for (const Node& node : graph.nodes) {
    std::vector<ValueId> inputs;
    bool of_activations = std::holds_alternative<MatMulOperator>(node.op);
    for (ValueId id : node.inputs) {
      const Value& value = graph.value(id);
      if (value.constant && !now[id.index()].valid())
        now[id.index()] = rounded.add_constant(value.name, *value.constant);
      of_activations = of_activations && !value.constant;
      inputs.push_back(now[id.index()]);
    }
    for (std::size_t k = 0; k < inputs.size() && of_activations; ++k) {
      if (is_weights[node.inputs[k].index()]) continue;
      const std::string name = node.name + std::to_string(k);
      inputs[k] = add(name + "_half", CastOperator{DType::f16}, {inputs[k]});
      inputs[k] = add(name + "_wide", CastOperator{DType::f32}, {inputs[k]});
    }
    is_weights[node.output.index()] = std::holds_alternative<SoftmaxOperator>(node.op);
    ValueId& output = now[node.output.index()] = add(node.name, node.op, inputs);
    if (of_activations && is_weights[node.inputs[0].index()])
      output = add(node.name + "_half", CastOperator{DType::f16}, {output});
  }
  for (ValueId id : graph.outputs) rounded.outputs.push_back(now[id.index()]);
  return rounded;
}

Graph in_halves(const Graph& graph) {
  Graph halves;
  std::vector<ValueId> now(graph.values.size());
  const auto of = [](DType dtype) { return dtype == DType::f32 ? DType::f16 : dtype; };
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    halves.inputs.push_back(now[id.index()] = halves.add_value(input.name, {of(input.type.dtype), input.type.shape}));
  }
  for (const Node& node : graph.nodes) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      const Value& value = graph.value(id);
      if (value.constant && !now[id.index()].valid()) {
        Tensor constant(of(value.type.dtype), value.type.shape);
        for (std::int64_t i = 0; i < constant.size(); ++i) constant.set(i, value.constant->get(i));
        now[id.index()] = halves.add_constant(value.name, constant);
      }
      inputs.push_back(now[id.index()]);
    }
    const auto output = halves.add_node(node.name, node.op, inputs);
    WHET_CHECK(output.ok(), output.ok() ? "" : output.error().message.c_str());
    now[node.output.index()] = *output;
  }
  for (ValueId id : graph.outputs) halves.outputs.push_back(now[id.index()]);
  return halves;
}

}  // namespace whet::testing
