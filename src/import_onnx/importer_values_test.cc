#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "import_onnx/import_onnx.h"
#include "import_onnx/rows.h"
#include "import_onnx/testing/one_node.h"
#include "ops/evaluate_graph.h"

/// Importers that compose several operators compute the values of the standard: by the naive evaluation of the graph.
namespace whet {
namespace onnx_importer_values_test {

/// The first output's values, or the error.
std::string computed(const std::string& op, int opset, const std::vector<In>& inputs, Attributes attributes = {}) {
  const Result<Graph> graph = import_onnx(one_node(op, opset, inputs, std::move(attributes)), {});
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> values;
  for (const In& in : inputs) {
    if (in.is_fed) values.push_back(*in.value);
  }
  return values_text(evaluate_graph(*graph, values).value()[graph->outputs[0].index()]);
}

Tensor u8(Shape shape, const std::vector<double>& values) { return Tensor::of(DType::u8, std::move(shape), values); }
Tensor i8(Shape shape, const std::vector<double>& values) { return Tensor::of(DType::i8, std::move(shape), values); }

Tensor counting(Shape shape) {
  Tensor numbers(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, static_cast<double>(i));
  return numbers;
}

Tensor f32_of(Shape shape, const std::vector<double>& values) {
  return Tensor::of(DType::f32, std::move(shape), values);
}

Tensor f16_of(Shape shape, const std::vector<double>& values) {
  return Tensor::of(DType::f16, std::move(shape), values);
}

/// Squares and sums are beyond 65504, where f16 ends; or below what it keeps.
TEST(Halves, AreNormalizedInFloats) {
  const In rows = fed(f16_of({2, 4}, {60000, -60000, 60000, -60000, 0.001, -0.001, 0.001, -0.001}));
  const In two = fed(f16_of({4}, {2, 2, 2, 2})), three = fed(f16_of({4}, {3, 3, 3, 3}));
  const std::vector<OnnxAttribute> exact = {set("epsilon", 0.0)};
  EXPECT_EQ(computed("LayerNormalization", 17, {rows, two, three}, exact), "f16[2x4] {5, 1, 5, 1, 5, 1, 5, 1}");
  EXPECT_EQ(computed("RMSNormalization", 23, {rows, two}, exact), "f16[2x4] {2, -2, 2, -2, 2, -2, 2, -2}");
  const In picture = fed(f16_of({1, 1, 2, 2}, {60000, -60000, 60000, -60000})), one = fed(f16_of({1}, {1}));
  EXPECT_EQ(computed("InstanceNormalization", 6, {picture, one, one}, exact), "f16[1x1x2x2] {2, 0, 2, 0}");
  EXPECT_EQ(computed("GroupNormalization", 21, {picture, one, one}, {set("num_groups", 1), exact[0]}),
            "f16[1x1x2x2] {2, 0, 2, 0}");
  EXPECT_EQ(computed("MeanVarianceNormalization", 13, {picture}), "f16[1x1x2x2] {1, -1, 1, -1}");
}

TEST(Halves, HaveSquaresAmongFloats) {
  const In x = fed(f16_of({1, 1, 2}, {3000, -4000}));
  EXPECT_EQ(computed("LpPool", 18, {x}, {set("kernel_shape", Ints{2})}), "f16[1x1x1] {5000}");
  EXPECT_EQ(computed("GlobalLpPool", 2, {x}), "f16[1x1x1] {5000}");
  EXPECT_EQ(computed("LpNormalization", 1, {x}), "f16[1x1x2] {0.600098, -0.799805}");
  EXPECT_EQ(computed("LRN", 13, {x}, {set("size", 1), set("alpha", 1.0), set("beta", 0.5), set("bias", 0.0)}),
            "f16[1x1x2] {1, -1}");
}

/// One step of x = -2 in both directions with weights of 1: what each direction's activations make of -2.
std::string both_ways(const std::string& op, std::int64_t gates, std::vector<std::string> activations,
                      Attributes parameters) {
  const In w = fed(f32_of({2, gates, 1}, std::vector<double>(static_cast<std::size_t>(2 * gates), 1)));
  const In r = fed(f32_of({2, gates, 1}, std::vector<double>(static_cast<std::size_t>(2 * gates), 0)));
  parameters.push_back(set("activations", std::move(activations)));
  parameters.push_back(set("direction", "bidirectional"));
  parameters.push_back(set("hidden_size", 1));
  return computed(op, 14, {f32_fed({1, 1, 1}, {-2}), w, r}, std::move(parameters));
}

TEST(Recurrent, ActivationsThatTakeParametersTakeThemInOrder) {
  const auto alpha = [](std::vector<double> values) { return set("activation_alpha", std::move(values)); };
  const auto beta = [](std::vector<double> values) { return set("activation_beta", std::move(values)); };
  EXPECT_EQ(both_ways("RNN", 1, {"Relu", "LeakyRelu"}, {alpha({0.5})}), "f32[1x2x1x1] {0, -1}");
  EXPECT_EQ(both_ways("RNN", 1, {"leakyrelu", "HARDSIGMOID"}, {alpha({0.25, 0.125}), beta({0.75})}),
            "f32[1x2x1x1] {-0.500000, 0.500000}");
  EXPECT_EQ(both_ways("RNN", 1, {"Affine", "Elu"}, {alpha({3, 2}), beta({1})}), "f32[1x2x1x1] {-5, -1.729329}");
  EXPECT_EQ(both_ways("RNN", 1, {"ThresholdedRelu", "ScaledTanh"}, {alpha({-3, 2}), beta({0.5})}),
            "f32[1x2x1x1] {-2, -1.523188}");
  // z = f(-2), candidate = g(-2), h = (1 - z) * candidate
  EXPECT_EQ(both_ways("GRU", 3, {"HardSigmoid", "Relu", "HardSigmoid", "LeakyRelu"},
                      {alpha({0.125, 0.125, 0.5}), beta({0.5, 0.75})}),
            "f32[1x2x1x1] {0, -0.500000}");
  // c = f(-2) * g(-2), h = f(-2) * h(c)
  EXPECT_EQ(both_ways("LSTM", 4, {"HardSigmoid", "Tanh", "LeakyRelu", "Sigmoid", "LeakyRelu", "Affine"},
                      {alpha({0.125, 0.5, 0.25, 4}), beta({0.75, 1})}),
            "f32[1x2x1x1] {-0.120503, 0.090784}");
}

TEST(Recurrent, ActivationsWithoutAParameterOfTheirOwnHaveTheUsualOne) {
  EXPECT_EQ(both_ways("RNN", 1, {"LeakyRelu", "LeakyRelu"}, {set("activation_alpha", std::vector<double>{0.5})}),
            "f32[1x2x1x1] {-1, -0.020000}");
  EXPECT_EQ(both_ways("RNN", 1, {"HardSigmoid", "Elu"}, {}), "f32[1x2x1x1] {0.100000, -0.864665}");
  EXPECT_EQ(both_ways("RNN", 1, {"Relu", "LeakyRelu"}, {set("activation_alpha", std::vector<double>{0, 0.5})}),
            "n: attribute \"activation_alpha\" has 2 entries; its activations take 1");
  EXPECT_EQ(both_ways("RNN", 1, {"Tanh", "LeakyRelu"}, {set("activation_beta", std::vector<double>{1})}),
            "n: attribute \"activation_beta\" has 1 entries; its activations take 0");
}

TEST(Pow, OfIntegersAndFractionsIsRoundedTowardsZero) {
  const In base = fed(Tensor::of<double>(DType::i32, {6}, {7, 2, -3, 2, 9, 15}));
  EXPECT_EQ(computed("Pow", 15, {base, fed(f16_of({6}, {4, 0.9, 3, -1, 0.5, 3}))}),
            "i32[6] {2401, 1, -27, 0, 3, 3375}");
  EXPECT_EQ(computed("Pow", 15, {base, fed(f16_of({}, {2}))}), "i32[6] {49, 4, 9, 4, 81, 225}");
}

TEST(MatMulInteger, TakesTheZeroPointsAway) {
  const In a = fed(u8({2, 2}, {11, 7, 3, 10})), b = fed(i8({2, 2}, {1, 4, -2, 5}));
  EXPECT_EQ(computed("MatMulInteger", 10, {a, b}), "i32[2x2] {-3, 79, -17, 62}");
  EXPECT_EQ(computed("MatMulInteger", 10, {a, b, u8({}, {12})}), "i32[2x2] {9, -29, -5, -46}");
  EXPECT_EQ(computed("MatMulInteger", 10, {a, b, u8({2}, {11, 3}), i8({2}, {1, 4})}), "i32[2x2] {12, -4, -21, 7}")
      << "one for each row and one for each column";
  EXPECT_EQ(computed("MatMulInteger", 10, {fed(u8({2}, {1, 2})), fed(u8({2}, {3, 4}))}), "i32[scalar] {11}");
}

TEST(ConvInteger, PadsWithTheZeroPoint) {
  const In x = fed(u8({1, 1, 2, 2}, {5, 6, 7, 8})), w = fed(u8({2, 1, 2, 2}, {1, 1, 1, 1, 2, 1, 1, 1}));
  EXPECT_EQ(computed("ConvInteger", 10, {x, w, u8({}, {5})}), "i32[1x2x1x1] {6, 6}");
  EXPECT_EQ(computed("ConvInteger", 10, {x, w, u8({}, {4}), u8({2}, {0, 1})}, {set("pads", Ints{1, 0, 0, 0})}),
            "i32[1x2x2x1] {3, 10, 0, 1}");
}

TEST(QLinear, RoundsAndSaturates) {
  // (10 - 2) * 0.5 * (3 - 1) * 0.25 / 0.5 = 4 and 20 times as much.
  EXPECT_EQ(computed("QLinearMatMul", 10,
                     {fed(u8({2, 1}, {10, 162})), scalar(0.5), u8({}, {2}), fed(u8({1, 1}, {3})), scalar(0.25),
                      u8({}, {1}), scalar(0.5), u8({}, {200})}),
            "u8[2x1] {204, 255}");
  EXPECT_EQ(computed("QLinearMatMul", 10,
                     {fed(u8({2, 1}, {1, 2})), floats({1, 2}), u8({}, {0}), fed(i8({1, 2}, {3, -5})), floats({0.5, 1}),
                      i8({}, {0}), scalar(1), i8({}, {0})}),
            "i8[2x2] {2, -5, 6, -20}")
      << "1.5 is rounded to even";
}

TEST(QLinearConv, AddsABiasAndScalesEachChannel) {
  EXPECT_EQ(computed("QLinearConv", 10,
                     {fed(u8({1, 1, 2}, {3, 5})), scalar(0.5), u8({}, {1}), fed(i8({2, 1, 1}, {2, -3})), floats({1, 2}),
                      i8({2}, {0, 0}), scalar(2), u8({}, {100}), fed(Tensor::of<double>(DType::i32, {2}, {4, -2}))}),
            "u8[1x2x2] {102, 103, 96, 93}");
}

TEST(QLinear, SaysWhatIsWrong) {
  const In a = fed(u8({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(computed("MatMulInteger", 10, {a, f32({2, 2})}), "n: input 1 is f32[2x2]; expected u8 or i8");
  EXPECT_EQ(computed("MatMulInteger", 10, {a, a, u8({3}, {1, 2, 3})}),
            "n: input 2 is u8[3]; expected one value, or one for each of the 2 places of axis 0");
  EXPECT_EQ(computed("MatMulInteger", 10, {a, a, i8({}, {1})}), "n: input 2 is i8[scalar] beside u8[2x2]");
  EXPECT_EQ(computed("ConvInteger", 10, {fed(u8({1, 1, 2}, {5, 6})), fed(u8({1, 1, 1}, {1})), u8({2}, {1, 2})}),
            "n: input 2 is u8[2]; expected one value");
  EXPECT_EQ(computed("ConvInteger", 10, {a, fed(u8({1, 1}, {1}))}),
            "n: the weights are u8[1x1]; expected output channels, channels of a group and spatial dimensions");
}

TEST(QuantizeLinear, IsToTheTypeAndInThePrecisionThatItNames) {
  const In x = fed(f32_of({4}, {1.5, -1.25, 100, -100})), half = scalar(0.5);
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half}), "u8[4] {3, 0, 200, 0}");
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half}, {set("output_dtype", 3)}), "i8[4] {3, -2, 127, -128}");
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half, i8({}, {1})}, {set("output_dtype", 3)}),
            "i8[4] {4, -1, 127, -128}");
  EXPECT_EQ(computed("QuantizeLinear", 23, {x, half}, {set("precision", 11)}), "u8[4] {3, 0, 200, 0}");
  EXPECT_EQ(
      computed("QuantizeLinear", 21, {fed(Tensor::of<double>(DType::i32, {3}, {1, -7, 1000})), half, u8({}, {3})}),
      "u8[3] {5, 0, 255}");
  // The division is in the type of the scale.
  EXPECT_EQ(computed("QuantizeLinear", 23, {fed(Tensor::of<double>(DType::f16, {2}, {2048, -3})), scalar(16)}),
            "u8[2] {128, 0}");
}

TEST(Cast, WrapsInTypesThatAreHeldInWiderOnes) {
  const In x = fed(*ints({70000, -1, 40000}).value);
  EXPECT_EQ(computed("Cast", 13, {x}, {set("to", 4)}), "i32[3] {4464, 65535, 40000}");                // UINT16
  EXPECT_EQ(computed("Cast", 13, {x}, {set("to", 5)}), "i32[3] {4464, -1, -25536}");                  // INT16
  EXPECT_EQ(computed("Cast", 13, {x}, {set("to", 12)}), "i64[3] {70000, 4294967295.000000, 40000}");  // UINT32
}
/// As `computed`, of types of 16 bits that are taken as they are.
std::string native(const std::string& op, int opset, const std::vector<In>& inputs, Attributes attributes = {}) {
  ImportOptions options;
  options.native_types = true;
  const Result<Graph> graph = import_onnx(one_node(op, opset, inputs, std::move(attributes)), options);
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> values;
  for (const In& in : inputs)
    if (in.is_fed) values.push_back(*in.value);
  return values_text(evaluate_graph(*graph, values).value()[graph->outputs[0].index()]);
}
TEST(NativeTypes, OfIntegersWrapAndSaturate) {
  const In words = fed(Tensor::of<int>(DType::i16, {2}, {30000, -3}));
  EXPECT_EQ(native("Cast", 13, {fed(*ints({70000, -1, 40000}).value)}, {set("to", 5)}), "i16[3] {4464, -1, -25536}");
  EXPECT_EQ(native("Add", 14, {words, words}), "i16[2] {-5536, -6}");
  EXPECT_EQ(native("QuantizeLinear", 21, {f32_fed({2}, {1, -40000}), scalar(1)}, {set("output_dtype", 5)}),
            "i16[2] {1, -32768}");
}
TEST(NativeTypes, OfFloatsRoundOnceBehindSums) {
  const auto bf16 = [](Shape shape, const std::vector<double>& values) {
    return fed(Tensor::of(DType::bf16, std::move(shape), values));
  };
  EXPECT_EQ(native("Cast", 13, {f32_fed({2}, {257, 1.0 / 3})}, {set("to", 16)}), "bf16[2] {256, 0.333984}");
  EXPECT_EQ(native("Cast", 13, {bf16({1}, {1.5})}, {set("to", 1)}), "f32[1] {1.500000}");
  EXPECT_EQ(native("MatMul", 13, {bf16({1, 3}, {1, 256, 1}), bf16({3, 1}, {1, 1, 1})}), "bf16[1x1] {258}");
  EXPECT_EQ(native("Softmax", 13, {bf16({1, 2}, {300, 300})}), "bf16[1x2] {0.500000, 0.500000}");
  EXPECT_EQ(native("ReduceMean", 18, {bf16({3}, {256, 1, 1}), ints({0})}), "bf16[1] {86}");
  EXPECT_EQ(native("GlobalLpPool", 2, {bf16({1, 1, 2}, {3000, -4000})}), "bf16[1x1x1] {4992}");
}
/// The integers among the inputs are of the standard's type of this number.
std::string computed_of(std::int64_t type, const std::string& op, const std::vector<In>& inputs,
                        Attributes attributes = {}) {
  OnnxModel model = one_node(op, 21, inputs, std::move(attributes));
  for (const OnnxInput& input : model.inputs)
    if (!is_float(*input.dtype)) model.held_types[input.name] = type;
  const Result<Graph> graph = import_onnx(std::move(model), {});
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> values;
  for (const In& in : inputs)
    if (in.is_fed) values.push_back(*in.value);
  return values_text(evaluate_graph(*graph, values).value()[graph->outputs[0].index()]);
}
In words(const Ints& v) { return fed(Tensor::of(DType::i32, {static_cast<std::int64_t>(v.size())}, v)); }
TEST(HeldTypes, WrapWhereResultsLeaveTheirRange) {
  const In x = words({65535, 3}), y = words({2, 4});
  EXPECT_EQ(computed_of(4, "BitwiseNot", {x}), "i32[2] {0, 65532}");
  EXPECT_EQ(computed_of(4, "Add", {x, y}), "i32[2] {1, 7}");
  EXPECT_EQ(computed_of(4, "Sub", {y, x}), "i32[2] {3, 1}");
  EXPECT_EQ(computed_of(4, "Mul", {x, x}), "i32[2] {1, 9}");
  EXPECT_EQ(computed_of(4, "Max", {x, y}), "i32[2] {65535, 4}");
  EXPECT_EQ(computed_of(5, "Add", {words({30000, -30000}), words({30000, -30000})}), "i32[2] {-5536, 5536}");
  EXPECT_EQ(computed_of(5, "Neg", {words({-32768, 5})}), "i32[2] {-32768, -5}");
  EXPECT_EQ(computed_of(12, "BitwiseNot", {fed(*ints({0, 1}).value)}), "i64[2] {4294967295.000000, 4294967294.000000}");
  EXPECT_EQ(computed_of(0, "Add", {x, y}), "i32[2] {65537, 7}") << "numbers of i32 do not";
}
TEST(HeldTypes, AreThoseOfABranch) {
  OnnxModel model = one_node("Add", 21, {words({30000}), words({1})}, {});
  model.held_types = {{"a", 5}, {"b", 5}};
  model.inputs.push_back({"c", DType::boolean, std::vector<OnnxDimension>()});
  const auto branch = [](const std::string& name) {
    auto body = std::make_shared<OnnxSubgraph>();
    body->outputs = {name};
    return std::shared_ptr<const OnnxSubgraph>(body);
  };
  const Attributes branches = {set("then_branch", branch("a")), set("else_branch", branch("b"))};
  model.nodes[0].inputs = {"v", "v"};
  model.nodes.insert(model.nodes.begin(), OnnxNode{"i", "If", "", {"c"}, {"v"}, branches, {"a", "b"}, ""});
  const Graph graph = import_onnx(std::move(model), {}).value();
  const Tensor yes = Tensor::of<std::int64_t>(DType::boolean, {}, {1});
  const auto values = evaluate_graph(graph, {*words({30000}).value, *words({1}).value, yes});
  EXPECT_EQ(values_text(values.value()[graph.outputs[0].index()]), "i32[1] {-5536}");
}
TEST(TensorScatter, WritesRowsIntoACache) {
  const In cache = f32_fed({2, 3, 1}, {0, 0, 0, 0, 0, 0}), rows = f32_fed({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(computed("TensorScatter", 24, {cache, rows}), "f32[2x3x1] {1, 2, 0, 3, 4, 0}");
  EXPECT_EQ(computed("TensorScatter", 24, {cache, rows, fed(*ints({1, 0}).value)}), "f32[2x3x1] {0, 1, 2, 3, 4, 0}");
  EXPECT_EQ(computed("TensorScatter", 24, {cache, rows, fed(*ints({2, 0}).value)}, {set("mode", "circular")}),
            "f32[2x3x1] {2, 0, 1, 3, 4, 0}");
}

TEST(QuantizeLinear, MayHaveSixteenBits) {
  const In x = f32_fed({4}, {-100000, -0.75, 10.25, 100000}), half = scalar(0.5);
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half}, {set("output_dtype", 4)}), "i32[4] {0, 0, 20, 65535}");
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half}, {set("output_dtype", 5)}), "i32[4] {-32768, -2, 20, 32767}");
  EXPECT_EQ(computed_of(4, "QuantizeLinear", {x, half, words({32768})}), "i32[4] {0, 32766, 32788, 65535}");
  EXPECT_EQ(computed_of(5, "QuantizeLinear", {x, half, words({-5})}), "i32[4] {-32768, -7, 15, 32767}");
  EXPECT_EQ(computed_of(4, "DequantizeLinear", {words({0, 65535}), half, words({32768})}),
            "f32[2] {-16384, 16383.500000}");
}

TEST(QuantizeLinear, MayHaveFourBits) {
  const In x = f32_fed({4}, {-100, -0.75, 2.25, 100}), half = scalar(0.5);
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half}, {set("output_dtype", 21)}), "u8[4] {0, 0, 4, 15}");
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half}, {set("output_dtype", 22)}), "i8[4] {-8, -2, 4, 7}");
}
TEST(QuantizeLinear, MayHaveAScaleForEachBlock) {
  const In scales = fed(f32_of({2, 2}, {0.5, 1, 2, 4})), zeros = fed(u8({2, 2}, {0, 1, 2, 3}));
  const Attributes blocks = {set("axis", 1), set("block_size", 2)};
  EXPECT_EQ(computed("QuantizeLinear", 21, {f32_fed({2, 3}, {1, 2, 3, 4, 8, 8}), scales, zeros}, blocks),
            "u8[2x3] {2, 4, 4, 4, 6, 5}");
  EXPECT_EQ(computed("DequantizeLinear", 21, {fed(u8({2, 3}, {2, 4, 4, 4, 6, 5})), scales, zeros}, blocks),
            "f32[2x3] {1, 2, 3, 4, 8, 8}");
  EXPECT_EQ(computed("DequantizeLinear", 21, {fed(u8({2, 6}, std::vector<double>(12, 1))), scales}, blocks),
            "n: input 1 is f32[2x2] for blocks of 2 of 2x6");
}

TEST(QuantizeLinear, SaysWhatIsWrong) {
  const In x = f32({4}), half = scalar(0.5);
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, half}, {set("output_dtype", 7)}),
            "n: quantizes to INT64 with no zero point; expected UINT8, INT8, UINT16, INT16, UINT4 or INT4 for both");
  EXPECT_EQ(
      computed("QuantizeLinear", 21, {x, half, u8({}, {1})}, {set("output_dtype", 3)}),
      "n: quantizes to INT8 with a zero point of UINT8; expected UINT8, INT8, UINT16, INT16, UINT4 or INT4 for both");
  EXPECT_EQ(computed("QuantizeLinear", 21, {x, u8({}, {1})}), "n: divides by u8[scalar]; expected floats");
  EXPECT_EQ(computed("DequantizeLinear", 23, {fed(u8({1}, {1})), half}, {set("output_dtype", 6)}),
            "n: gives i32; expected floats");
}

TEST(DequantizeLinear, GivesTheTypeThatItNames) {
  const In x = fed(u8({2}, {6, 2})), half = scalar(0.5), zero = u8({}, {3});
  EXPECT_EQ(computed("DequantizeLinear", 23, {x, half, zero}), "f32[2] {1.500000, -0.500000}");
  EXPECT_EQ(computed("DequantizeLinear", 23, {x, half, zero}, {set("output_dtype", 10)}),
            "f16[2] {1.500000, -0.500000}");
  EXPECT_EQ(computed("DequantizeLinear", 23, {x, half, zero}, {set("output_dtype", 11)}),
            "f64[2] {1.500000, -0.500000}");
}

TEST(Slice, BackwardsBeginsInside) {
  const In x = fed(f32_of({3}, {1, 2, 3}));
  EXPECT_EQ(computed("Slice", 13, {x, ints({-8}), ints({-7}), ints({0}), ints({-2})}), "f32[1] {1}");
  EXPECT_EQ(computed("Slice", 13, {x, ints({8}), ints({-7}), ints({0}), ints({-2})}), "f32[2] {3, 1}");
  EXPECT_EQ(computed("Slice", 13, {Tensor(DType::f32, {0}), ints({-8}), ints({-7}), ints({0}), ints({-1})}),
            "f32[0] {}");
}

TEST(Gemm, ScalesIntegersByWholeNumbers) {
  const auto i32 = [](Shape shape, const std::vector<double>& values) {
    return fed(Tensor::of(DType::i32, std::move(shape), values));
  };
  const std::vector<In> inputs = {i32({1, 2}, {3, -4}), i32({2, 1}, {5, 6}), i32({1}, {7})};
  EXPECT_EQ(computed("Gemm", 13, inputs, {set("alpha", 2.0), set("beta", -3.0)}), "i32[1x1] {-39}");
  EXPECT_EQ(computed("Gemm", 13, inputs, {set("alpha", 0.5)}),
            "n: scales i32[1x2] by 0.500000 and 1.000000; expected whole numbers");
}

TEST(Lrn, SumsManyChannelsByAMatrix) {
  // 20 channels of ones; size 17: channel c sums those of c - 8 .. c + 8 that exist.
  Tensor ones(DType::f32, {1, 20});
  for (std::int64_t c = 0; c < 20; ++c) ones.set(c, 1);
  const Attributes plain = {set("alpha", 17.0), set("beta", 1.0), set("bias", 0.0)};
  const auto normalized = [&](const Tensor& x, int size) {
    Attributes attributes = plain;
    attributes[0] = set("alpha", static_cast<double>(size));
    attributes.push_back(set("size", size));
    const std::string text = computed("LRN", 13, {fed(x)}, attributes);
    return text.substr(0, text.find(',', text.find(',') + 1));
  };
  EXPECT_EQ(normalized(ones, 17), "f32[1x20] {0.111111, 0.100000");
  EXPECT_EQ(normalized(ones, 18), "f32[1x20] {0.100000, 0.090909");
  EXPECT_EQ(normalized(ones, 1001), "f32[1x20] {0.050000, 0.050000") << "all channels";
  Tensor halves(DType::f16, {1, 20});
  for (std::int64_t c = 0; c < 20; ++c) halves.set(c, 500);
  EXPECT_EQ(normalized(halves, 1001), "f16[1x20] {0.000100, 0.000100") << "the sum is no f16";
  EXPECT_EQ(computed("LRN", 13, {f32({1, 5000})}, {set("size", 17)}),
            "n: sums 17 of 5000 channels; more than 16 are supported of at most 4096");
}

TEST(LpNormalization, LeavesZeros) {
  const In x = fed(f32_of({2, 2}, {0, 0, 3, -4}));
  EXPECT_EQ(computed("LpNormalization", 1, {x}), "f32[2x2] {0, 0, 0.600000, -0.800000}");
  EXPECT_EQ(computed("LpNormalization", 1, {x}, {set("p", 1)}), "f32[2x2] {0, 0, 0.428571, -0.571429}");
}

TEST(BatchNormalization, IsInTheWidestTypeOfItsInputs) {
  const In x = fed(Tensor::of<double>(DType::f16, {1, 2, 1}, {60000, -3}));
  const std::vector<In> inputs = {x, floats({1, 2}), floats({0, 1}), floats({-60000, 0}), floats({1e10, 4})};
  EXPECT_EQ(computed("BatchNormalization", 15, inputs, {set("epsilon", 0.0)}), "f16[1x2x1] {1.200195, -2}");
}

TEST(OldOperators, ReadWhatTheirSetSays) {
  const In x = fed(f32_of({1, 2}, {-1, 2}));
  EXPECT_EQ(computed("Concat", 1, {x, x}), "f32[1x4] {-1, 2, -1, 2}");
  EXPECT_EQ(computed("Concat", 4, {x, x}), "n: attribute \"axis\" is missing");
  EXPECT_EQ(computed("Pad", 1, {x}, {set("paddings", Ints{0, 1, 0, 0})}), "f32[1x3] {0, -1, 2}");
  EXPECT_EQ(computed("Pad", 2, {x}, {set("paddings", Ints{0, 1, 0, 0})}), "n: attribute \"pads\" is missing");
  EXPECT_EQ(computed("Relu", 1, {x}, {set("consumed_inputs", Ints{0})}), "f32[1x2] {0, 2}");
  EXPECT_EQ(computed("Clip", 1, {x}, {set("consumed_inputs", Ints{0}), set("max", 1.0)}), "f32[1x2] {-1, 1}");
  EXPECT_EQ(computed("Relu", 6, {x}, {set("consumed_inputs", Ints{0})}),
            "n: attribute \"consumed_inputs\" is not one of Relu in operator set 6");
}

TEST(Attention, LooksAtNoPadding) {
  // All scores are equal: the result is the mean of the values that are looked at.
  const In q = fed(Tensor(DType::f32, {2, 1, 1, 1})), k = fed(Tensor(DType::f32, {2, 1, 3, 1}));
  const In v = fed(f32_of({2, 1, 3, 1}, {1, 3, 8, 2, 4, 9})), no = left_out();
  EXPECT_EQ(computed("Attention", 24, {q, k, v, no, no, no, fed(*ints({2, 3}).value)}), "f32[2x1x1x1] {2, 5}");
  EXPECT_EQ(computed("Attention", 24, {q, k, v, fed(Tensor(DType::f32, {1, 2}))}), "f32[2x1x1x1] {2, 3}")
      << "a mask for the first keys";
  EXPECT_EQ(computed("Attention", 24, {q, k, v, fed(Tensor::of<double>(DType::boolean, {1, 2}, {0, 1}))}),
            "f32[2x1x1x1] {3, 4}");
  EXPECT_EQ(computed("Attention", 24, {q, k, v, no, no, no, ints({2})}),
            "n: input 6 is i64[1]; expected one i64 for each of the 2 batches");
  EXPECT_EQ(computed("Attention", 24, {q, k, v, no, no, no, ints({2, 3})}, {set("is_causal", 1)}),
            "n: numbers of keys that are no padding are not supported beside \"is_causal\" or a past");
  EXPECT_EQ(computed("Attention", 23, {q, k, v, no, no, no, ints({2, 3})}), "n: has 7 inputs; Attention takes 3 to 6");
}

TEST(ReverseSequence, TurnsTheBeginningOfEachSequence) {
  // Steps of two sequences, of lengths 2 and 3.
  const Tensor steps = f32_of({3, 2}, {1, 10, 2, 20, 3, 30});
  EXPECT_EQ(computed("ReverseSequence", 10, {fed(steps), ints({2, 3})}), "f32[3x2] {2, 30, 1, 20, 3, 10}");
  EXPECT_EQ(computed("ReverseSequence", 10, {fed(steps), fed(*ints({1, 2}).value)}), "f32[3x2] {1, 20, 2, 10, 3, 30}");
  const Tensor sequences = f32_of({2, 3, 1}, {1, 2, 3, 10, 20, 30});
  EXPECT_EQ(
      computed("ReverseSequence", 10, {fed(sequences), ints({3, 2})}, {set("time_axis", 1), set("batch_axis", 0)}),
      "f32[2x3x1] {3, 2, 1, 20, 10, 30}");
  EXPECT_EQ(computed("ReverseSequence", 10, {fed(steps), ints({2, 4})}),
            "n: the length of a sequence is 4; expected 0 to 3");
  EXPECT_EQ(computed("ReverseSequence", 10, {fed(steps), ints({2})}),
            "n: reverses f32[3x2] by lengths i64[1]; expected two dimensions or more, and one integer a sequence");
}

TEST(CenterCropPad, KeepsTheMiddle) {
  const In x = fed(f32_of({5}, {1, 2, 3, 4, 5}));
  EXPECT_EQ(computed("CenterCropPad", 18, {x, ints({2})}), "f32[2] {2, 3}");
  EXPECT_EQ(computed("CenterCropPad", 18, {x, ints({8})}), "f32[8] {0, 1, 2, 3, 4, 5, 0, 0}");
  const In plane = fed(f32_of({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(computed("CenterCropPad", 18, {plane, ints({1, 3})}, {set("axes", Ints{-1, 0})}), "f32[3x1] {2, 5, 0}");
  EXPECT_EQ(computed("CenterCropPad", 18, {plane, ints({1})}), "n: has 1 extents for 2 axes");
}

/// Every block written at its place, by the definition.
Tensor plain_col2im(const Tensor& x, const Ints& image, const Ints& block, const Ints& strides, const Ints& dilations,
                    const Ints& pads) {
  const std::int64_t planes = x.shape()[0] * x.shape()[1] / num_elements(block), count = x.shape()[2];
  Tensor y(DType::f32, {x.shape()[0], planes / x.shape()[0], image[0], image[1]});
  const std::int64_t across = (image[1] + pads[1] + pads[3] - dilations[1] * (block[1] - 1) - 1) / strides[1] + 1;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t q = i % count, tap = i / count % num_elements(block), plane = i / count / num_elements(block);
    const std::int64_t row = q / across * strides[0] + tap / block[1] * dilations[0] - pads[0];
    const std::int64_t column = q % across * strides[1] + tap % block[1] * dilations[1] - pads[1];
    if (row < 0 || row >= image[0] || column < 0 || column >= image[1]) continue;
    const std::int64_t at = (plane * image[0] + row) * image[1] + column;
    y.set(at, y.get(at) + x.get(i));
  }
  return y;
}

TEST(Col2Im, AddsUpBlocksAsByTheDefinition) {
  struct Case {
    Shape x;
    Ints image, block, strides, dilations, pads;
  };
  const std::vector<Case> cases = {
      {{1, 4, 9}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{2, 12, 4}, {4, 6}, {2, 3}, {2, 3}, {1, 1}, {0, 0, 0, 0}},
      {{1, 9, 12}, {5, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 8, 6}, {6, 9}, {2, 2}, {3, 4}, {2, 1}, {0, 1, 1, 2}},
      {{1, 6, 6}, {9, 7}, {3, 2}, {3, 2}, {2, 3}, {1, 0, 0, 1}},
      {{1, 1, 4}, {4, 4}, {1, 1}, {3, 2}, {1, 1}, {0, 0, 0, 0}},
  };
  for (const Case& c : cases) {
    const Tensor x = counting(c.x);
    EXPECT_EQ(computed("Col2Im", 18, {fed(x), ints(c.image), ints(c.block)},
                       {set("strides", c.strides), set("dilations", c.dilations), set("pads", c.pads)}),
              values_text(plain_col2im(x, c.image, c.block, c.strides, c.dilations, c.pads)));
  }
  EXPECT_EQ(computed("Col2Im", 18, {fed(counting({1, 2, 3})), ints({4}), ints({2})}), "f32[1x1x4] {0, 4, 6, 5}");
  EXPECT_EQ(computed("Col2Im", 18, {fed(counting({1, 2, 4})), ints({4}), ints({2})}),
            "n: adds up f32[1x2x4] as blocks 2 in an image 4; expected [N, C * taps, blocks]");
}

TEST(AffineGrid, TurnsTheCentresOfPixelsOrTheirCorners) {
  const In theta = fed(f32_of({1, 2, 3}, {1, 0, 0.5, 0, 2, 0}));
  EXPECT_EQ(computed("AffineGrid", 20, {theta, ints({1, 1, 1, 2})}), "f32[1x1x2x2] {0, 0, 1, 0}");
  EXPECT_EQ(computed("AffineGrid", 20, {theta, ints({1, 1, 2, 2})}, {set("align_corners", 1)}),
            "f32[1x2x2x2] {-0.500000, -2, 1.500000, -2, -0.500000, 2, 1.500000, 2}");
  const In swapped = fed(f32_of({1, 3, 4}, {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 7}));
  EXPECT_EQ(computed("AffineGrid", 20, {swapped, ints({1, 9, 1, 1, 2})}),
            "f32[1x1x1x2x3] {0, 0, 6.500000, 0, 0, 7.500000}");
  EXPECT_EQ(computed("AffineGrid", 20, {theta, ints({2, 1, 2, 2})}),
            "n: makes a grid for 2x1x2x2 of f32[1x2x3]; expected [N, C, H, W] and N matrices of 2 rows and 3 columns, "
            "or [N, C, D, H, W] and 3 of 4");
}

In known_i64(std::int64_t value) { return Tensor::of<std::int64_t>(DType::i64, {}, {value}); }

/// `others` everywhere except for some numbers.
Tensor but_for(double others, Shape shape, const std::vector<std::pair<std::int64_t, double>>& numbers) {
  Tensor values(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < values.size(); ++i) values.set(i, others);
  for (const auto& [place, number] : numbers) values.set(place, number);
  return values;
}

TEST(DeformConv, ReadsEachTapAtItsOffset) {
  const In x = fed(counting({1, 1, 3, 3})), ones = but_for(1, {1, 1, 2, 2}, {});
  // Half a row further down for the first tap of the first window; a tenth of a column back for the third of the second.
  const In offsets = fed(but_for(0, {1, 8, 2, 2}, {{0, 0.5}, {21, -0.5}}));
  EXPECT_EQ(computed("DeformConv", 19, {x, ones, offsets}), "f32[1x1x2x2] {9.500000, 11.500000, 20, 24}");
  EXPECT_EQ(computed("DeformConv", 19, {x, ones, offsets, floats({1}), fed(but_for(1, {1, 4, 2, 2}, {{11, 0.5}}))}),
            "f32[1x1x2x2] {10.500000, 12.500000, 21, 21.500000}");
  const In padded = fed(but_for(0, {1, 8, 4, 4}, {{0, 0.5}}));
  EXPECT_EQ(computed("DeformConv", 19, {x, ones, padded}, {set("pads", Ints{1, 1, 1, 1})}),
            "f32[1x1x4x4] {0, 1, 3, 2, 3, 8, 12, 7, 9, 20, 24, 13, 6, 13, 15, 8}");
}

TEST(DeformConv, WithoutOffsetsIsAConvolution) {
  const Tensor x = counting({2, 4, 5, 6}), w = counting({6, 2, 3, 2});
  const Attributes attributes = {set("group", 2), set("strides", Ints{2, 1}), set("dilations", Ints{1, 2}),
                                 set("pads", Ints{1, 0, 1, 1})};
  Attributes deformed = attributes;
  deformed.push_back(set("offset_group", 4));
  EXPECT_EQ(computed("DeformConv", 19, {fed(x), fed(w), fed(Tensor(DType::f32, {2, 48, 3, 5}))}, deformed),
            computed("Conv", 19, {fed(x), fed(w)}, attributes));
}

TEST(Resize, CutsOffWhatIsBetweenIntegers) {
  const In x = fed(u8({1, 1, 1, 2}, {0, 255})), twice = floats({1, 1, 1, 2});
  EXPECT_EQ(computed("Resize", 13, {x, left_out(), twice}, {set("mode", "linear")}), "u8[1x1x1x4] {0, 63, 191, 255}");
  EXPECT_EQ(computed("Resize", 13, {fed(i8({1, 1, 1, 2}, {-7, 8})), left_out(), twice}, {set("mode", "linear")}),
            "i8[1x1x1x4] {-7, -3, 4, 8}");
  EXPECT_EQ(
      computed("Resize", 10, {fed(u8({1, 1, 1, 3}, {255, 255, 255})), floats({1, 1, 1, 2.3})}, {set("mode", "linear")}),
      "u8[1x1x1x6] {255, 255, 255, 255, 255, 255}");
  EXPECT_EQ(computed("Resize", 18, {fed(u8({1, 1, 1, 4}, {0, 3, 10, 20})), left_out(), floats({1, 1, 1, 0.5})},
                     {set("mode", "linear"), set("antialias", 1)}),
            "u8[1x1x1x2] {2, 14}");
}

/// As ONNX Runtime has it: the place 3 + 1/6 is a little less in f32, and 89 becomes 88.
TEST(Resize, OfIntegersRoundsInSinglePrecision) {
  const In x = fed(Tensor::of<double>(DType::i32, {1, 1, 6, 1}, {24, 65, 0, 95, 59, 38}));
  EXPECT_EQ(computed("Resize", 13, {x, left_out(), floats({1, 1, 1.5, 1})}, {set("mode", "linear")}),
            "i32[1x1x9x1] {24, 44, 54, 10, 47, 88, 64, 48, 38}");
}
TEST(Resize, OfIntegersMayBeCubic) {
  const std::vector<double> row = {0, 255, 255, 10};
  const auto weight = [](double t, double a = -0.75) {
    t = std::abs(t);
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
  };
  std::vector<double> want;
  for (int i = 0; i < 8; ++i) {
    const double at = (i + 0.5) / 2 - 0.5, first = std::floor(at) - 1;
    double sum = 0;
    for (double k = first; k < first + 4; ++k)
      sum += weight(at - k) * row[static_cast<std::size_t>(std::clamp(k, 0.0, 3.0))];
    want.push_back(std::floor(std::clamp(sum, 0.0, 255.0)));
  }
  EXPECT_EQ(
      computed("Resize", 13, {fed(u8({1, 1, 1, 4}, row)), left_out(), floats({1, 1, 1, 2})}, {set("mode", "cubic")}),
      values_text(u8({1, 1, 1, 8}, want)));
}

TEST(MatMul, OverNothingIsZeros) {
  EXPECT_EQ(computed("MatMul", 13, {fed(Tensor(DType::f32, {2, 0})), fed(Tensor(DType::f32, {0, 3}))}),
            "f32[2x3] {0, 0, 0, 0, 0, 0}");
  EXPECT_EQ(computed("MatMul", 13, {fed(Tensor(DType::f32, {0})), fed(Tensor(DType::f32, {0, 2}))}), "f32[2] {0, 0}");
  EXPECT_EQ(
      computed("Gemm", 13, {fed(Tensor(DType::f32, {0, 1})), fed(Tensor(DType::f32, {2, 0})), f32_fed({2}, {1, 2})},
               {set("transA", 1), set("transB", 1)}),
      "f32[1x2] {1, 2}");
}

TEST(RoiAlign, TakesTheMeanOrTheLargestOfItsSamples) {
  const In x = fed(counting({2, 1, 3, 4})), images = fed(Tensor::of<double>(DType::i64, {2}, {0, 1}));
  const In regions = fed(f32_of({2, 4}, {0.5, 0.5, 2.5, 2.5, 1.5, 0.5, 2.5, 1.5}));
  const Attributes one = {set("sampling_ratio", 1)}, two = {set("sampling_ratio", 2)};
  EXPECT_EQ(computed("RoiAlign", 16, {x, regions, images}, one), "f32[2x1x1x1] {5, 15.500000}");
  EXPECT_EQ(computed("RoiAlign", 10, {x, regions, images}, one), "f32[2x1x1x1] {7.500000, 18}");
  EXPECT_EQ(computed("RoiAlign", 16, {x, regions, images}, two), "f32[2x1x1x1] {5, 15.500000}");
  // Of each sample the largest of its four pixels times their weights.
  EXPECT_EQ(computed("RoiAlign", 16, {x, regions, images}, {set("sampling_ratio", 1), set("mode", "max")}),
            "f32[2x1x1x1] {5, 4.500000}");
  const In outside = fed(f32_of({1, 4}, {-5, 0, -3, 2}));
  EXPECT_EQ(computed("RoiAlign", 16, {x, outside, fed(Tensor::of<double>(DType::i64, {1}, {0}))}, two),
            "f32[1x1x1x1] {0}");
  EXPECT_EQ(computed("RoiAlign", 16, {x, regions, images}, {set("mode", "max")}), "f32[2x1x1x1] {2.500000, 4.500000}");
  EXPECT_EQ(computed("RoiAlign", 16, {x, regions, ints({0, 2})}, one), "n: a region is of image 2 of 2");
}

/// Which equals the padding.
TEST(MaxPool, FindsTheLowestNumberInsideTheInput) {
  const Attributes attributes = {set("kernel_shape", Ints{2}), set("pads", Ints{1, 1})};
  const Result<Graph> graph =
      import_onnx(one_node("MaxPool", 12, {fed(u8({1, 2, 2}, {0, 0, 0, 3}))}, attributes, 2), {});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto values = evaluate_graph(*graph, {u8({1, 2, 2}, {0, 0, 0, 3})});
  EXPECT_EQ(values_text(values.value()[graph->outputs[1].index()]), "i64[1x2x3] {0, 0, 1, 2, 3, 3}");
}

TEST(ReduceMax, OfNoBooleansIsFalse) {
  const In none = fed(Tensor(DType::boolean, {2, 0}));
  EXPECT_EQ(computed("ReduceMax", 20, {none, ints({1})}), "bool[2x1] {0, 0}");
  EXPECT_EQ(computed("ReduceMin", 20, {none, ints({1})}), "bool[2x1] {1, 1}");
}

TEST(MaxUnpool, PutsEachElementBack) {
  const In x = fed(f32_of({1, 2, 1, 2}, {1, 2, 3, 4})),
           places = fed(Tensor::of<double>(DType::i64, {1, 2, 1, 2}, {1, 4, 8, 11}));
  const OnnxAttribute kernel = set("kernel_shape", Ints{2, 2}), strides = set("strides", Ints{2, 2});
  EXPECT_EQ(computed("MaxUnpool", 11, {x, places}, {kernel, strides}),
            "f32[1x2x2x4] {0, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 4, 0, 0, 0, 0}");
  EXPECT_EQ(computed("MaxUnpool", 11, {x, places, ints({1, 2, 2, 3})}, {kernel, strides}),
            "f32[1x2x2x3] {0, 1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 4}");
  EXPECT_EQ(
      computed("MaxUnpool", 11, {x, fed(Tensor(DType::i64, {1, 2, 2}))}, {kernel}),
      "n: puts f32[1x2x1x2] at places i64[1x2x2]; expected a batch, channels and spatial dimensions, and an i64 for "
      "each element");
}

TEST(Dft, IsTheSumOverThePeriod) {
  const In x = fed(f32_of({1, 4, 1}, {1, 2, 3, 4}));
  EXPECT_EQ(computed("DFT", 17, {x}), "f32[1x4x2] {10, 0, -2, 2, -2, 0, -2, -2}");
  EXPECT_EQ(computed("DFT", 20, {x}, {set("onesided", 1)}), "f32[1x3x2] {10, 0, -2, 2, -2, 0}");
  EXPECT_EQ(computed("DFT", 20, {x, known_i64(2)}), "f32[1x2x2] {3, 0, -1, 0}") << "the signal is cut";
  EXPECT_EQ(computed("DFT", 20, {fed(f32_of({2, 1}, {1, 1})), known_i64(4), known_i64(0)}),
            "f32[4x2] {2, 0, 1, -1, 0, 0, 1, 1}")
      << "the signal is filled up";
  EXPECT_EQ(computed("DFT", 17, {fed(f32_of({2, 1, 1}, {3, 5}))}, {set("axis", 0)}), "f32[2x1x2] {8, 0, -2, 0}");
  const In pairs = fed(f32_of({1, 2, 2}, {1, 2, 3, -4}));
  EXPECT_EQ(computed("DFT", 20, {pairs}), "f32[1x2x2] {4, -2, -2, 6}");
}

TEST(Dft, TurnsBack) {
  const In spectrum = fed(f32_of({1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2}));
  EXPECT_EQ(computed("DFT", 20, {spectrum}, {set("inverse", 1)}), "f32[1x4x2] {1, 0, 2, 0, 3, 0, 4, 0}");
  const In half = fed(f32_of({1, 3, 2}, {10, 0, -2, 2, -2, 0}));
  EXPECT_EQ(computed("DFT", 20, {half}, {set("inverse", 1), set("onesided", 1)}), "f32[1x4x1] {1, 2, 3, 4}");
  const In odd = fed(f32_of({1, 2, 2}, {6, 0, 0, 0}));
  EXPECT_EQ(computed("DFT", 20, {odd, known_i64(3)}, {set("inverse", 1), set("onesided", 1)}), "f32[1x3x1] {2, 2, 2}");
}

TEST(Dft, SaysWhatIsWrong) {
  const In x = fed(counting({2, 4, 1})), pairs = fed(counting({2, 4, 2}));
  EXPECT_EQ(computed("DFT", 20, {fed(counting({2, 4, 3}))}),
            "n: transforms f32[2x4x3]; expected floats, and one or two of them for each number in the last dimension");
  EXPECT_EQ(computed("DFT", 20, {x, known_i64(4), known_i64(-1)}), "n: axis 2 is that of the parts of a number");
  EXPECT_EQ(computed("DFT", 20, {pairs}, {set("onesided", 1)}),
            "n: transforms f32[2x4x2]; expected real numbers for half a spectrum");
  EXPECT_EQ(
      computed("DFT", 20, {x, known_i64(1 << 24)}),
      "n: transforms 4 numbers of a period of 16777216; expected 1 or more, and a matrix of at most 33554432 numbers");
  EXPECT_EQ(computed("DFT", 20, {x, known_i64(0)}),
            "n: transforms 0 numbers of a period of 0; expected 1 or more, and a matrix of at most 33554432 numbers");
}

TEST(Stft, TransformsEachFrame) {
  const In x = fed(f32_of({1, 6, 1}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(computed("STFT", 17, {x, known_i64(2), left_out(), known_i64(4)}),
            "f32[1x2x3x2] {10, 0, -2, 2, -2, 0, 18, 0, -2, 2, -2, 0}");
  EXPECT_EQ(computed("STFT", 17, {x, known_i64(4), fed(f32_of({2}, {1, 0.5}))}, {set("onesided", 0)}),
            "f32[1x2x2x2] {2, 0, 0, 0, 8, 0, 2, 0}");
  EXPECT_EQ(computed("STFT", 17, {fed(f32_of({1, 2, 2}, {1, 2, 3, -4})), known_i64(1), left_out(), known_i64(2)},
                     {set("onesided", 0)}),
            "f32[1x1x2x2] {4, -2, -2, 6}");
  EXPECT_EQ(computed("STFT", 17, {x, known_i64(1), floats({1, 1}), known_i64(3)}),
            "n: the window is f32[2]; expected one number for each of the 3 of a frame");
  EXPECT_EQ(computed("STFT", 17, {x, known_i64(1)}), "n: has neither a window nor a frame length");
}

TEST(Signals, HaveKnownWindowsAndBands) {
  EXPECT_EQ(computed("HannWindow", 17, {known_i64(4)}), "f32[4] {0, 0.500000, 1, 0.500000}");
  EXPECT_EQ(computed("HannWindow", 17, {known_i64(3)}, {set("periodic", 0), set("output_datatype", 11)}),
            "f64[3] {0, 1, 0}");
  EXPECT_EQ(computed("HammingWindow", 17, {known_i64(2)}), "f32[2] {0.086957, 1}");
  EXPECT_EQ(computed("BlackmanWindow", 17, {known_i64(4)}), "f32[4] {0, 0.340000, 1, 0.340000}");
  EXPECT_EQ(computed("HannWindow", 17, {known_i64(-1)}), "n: its size is -1; expected one number, up to 16777216");
  EXPECT_EQ(computed("MelWeightMatrix", 17, {known_i64(1), known_i64(16), known_i64(8192), scalar(0), scalar(8192)}),
            "f32[9x1] {0, 1, 0.800000, 0.600000, 0.400000, 0.200000, 0, 0, 0}")
      << "the corners are bins 0, 1 and 6";
  EXPECT_EQ(computed("MelWeightMatrix", 17, {known_i64(1), known_i64(16), known_i64(8192), scalar(0), scalar(9e5)}),
            "n: bands from 0.000000 to 900000.000000 hertz at a rate of 8192.000000 do not lie in a spectrum of "
            "9.000000 bins");
}

TEST(Det, IsExpandedByRows) {
  EXPECT_EQ(computed("Det", 11, {fed(f32_of({2, 2}, {1, 2, 3, 4}))}), "f32[scalar] {-2}");
  EXPECT_EQ(computed("Det", 11, {fed(f32_of({2, 1, 1}, {7, -3}))}), "f32[2] {7, -3}");
  EXPECT_EQ(computed("Det", 11, {fed(f32_of({1, 3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 4}))}), "f32[1] {18}");
  Tensor triangle(DType::f32, {8, 8});
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) triangle.set((7 - i) * 8 + j, i == j ? 2 : 5);
  }
  EXPECT_EQ(computed("Det", 11, {fed(triangle)}), "f32[scalar] {256}") << "rows in reverse order: 28 exchanges";
  EXPECT_EQ(computed("Det", 11, {fed(counting({9, 9}))}),
            "n: the matrices are f32[9x9]; expected floats, 1 to 8 rows and as many columns");
}

TEST(Bits, MoveByPowersOfTwo) {
  const In x = fed(u8({4}, {3, 200, 255, 7})), by = fed(u8({4}, {1, 1, 7, 8}));
  EXPECT_EQ(computed("BitShift", 11, {x, by}, {set("direction", "LEFT")}), "u8[4] {6, 144, 128, 0}");
  EXPECT_EQ(computed("BitShift", 11, {x, by}, {set("direction", "RIGHT")}), "u8[4] {1, 100, 1, 0}");
  EXPECT_EQ(computed("BitShift", 11, {x, u8({}, {2})}, {set("direction", "RIGHT")}), "u8[4] {0, 50, 63, 1}");
  EXPECT_EQ(
      computed("BitShift", 11, {fed(*ints({1, -1, 5, -9}).value), ints({62, 1, 64, 63})}, {set("direction", "LEFT")}),
      "i64[4] {4611686018427387904.000000, -2, 0, -9223372036854775808.000000}");
  EXPECT_EQ(computed_of(13, "BitShift", {fed(*ints({8, -1, -2, -1, 7}).value), fed(*ints({1, 60, 32, 64, 0}).value)},
                        {set("direction", "RIGHT")}),
            "i64[5] {4, 15, 4294967295.000000, 0, 7}")
      << "uint64";
  EXPECT_EQ(computed_of(4, "BitShift", {words({65535, 1}), words({4, 16})}, {set("direction", "LEFT")}),
            "i32[2] {65520, 0}")
      << "uint16";
  EXPECT_EQ(computed("BitShift", 11, {x, fed(*ints({1}).value)}, {set("direction", "LEFT")}),
            "n: shifts u8[4] by i64[1]; expected integers of one type");
  EXPECT_EQ(computed("BitwiseAnd", 18, {x, u8({}, {6})}), "u8[4] {2, 0, 6, 6}");
  EXPECT_EQ(computed("BitwiseOr", 18, {fed(*ints({8, -8}).value), ints({1, 3})}), "i64[2] {9, -5}");
  EXPECT_EQ(computed("BitwiseXor", 18, {x, u8({}, {255})}), "u8[4] {252, 55, 0, 248}");
  EXPECT_EQ(computed("BitwiseNot", 18, {x}), "u8[4] {252, 55, 0, 248}");
  EXPECT_EQ(computed("BitwiseNot", 18, {fed(*ints({0, -5}).value)}), "i64[2] {-1, 4}");
}

OnnxAttribute running_sum() {
  OnnxSubgraph body;
  body.inputs = {"sum", "next"};
  body.outputs = {"total", "total"};
  body.nodes = {OnnxNode{"add", "Add", "", {"sum", "next"}, {"total"}, {}}};
  return set("body", std::make_shared<const OnnxSubgraph>(body));
}

/// The second of two outputs: what the steps gave.
std::string scanned(int opset, const std::vector<In>& inputs, Attributes attributes) {
  attributes.insert(attributes.end(), {running_sum(), set("num_scan_inputs", 1)});
  OnnxModel model = one_node("Scan", opset, inputs, std::move(attributes), 2);
  model.outputs = {"y1"};
  const Result<Graph> graph = import_onnx(model, {});
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> values;
  for (const In& in : inputs) {
    if (in.is_fed) values.push_back(*in.value);
  }
  return values_text(evaluate_graph(*graph, values).value()[graph->outputs[0].index()]);
}

TEST(Scan, RunsItsBodyOnceAStep) {
  const In zero = fed(f32_of({2}, {0, 100})), x = fed(f32_of({2, 3}, {1, 2, 3, 4, 5, 6}));
  const OnnxAttribute columns = set("scan_input_axes", Ints{-1});
  EXPECT_EQ(scanned(9, {zero, x}, {columns}), "f32[3x2] {1, 104, 3, 109, 6, 115}");
  EXPECT_EQ(scanned(9, {zero, x}, {columns, set("scan_input_directions", Ints{1}), set("scan_output_axes", Ints{1})}),
            "f32[2x3] {3, 5, 6, 106, 111, 115}");
  EXPECT_EQ(scanned(9, {zero, x}, {columns, set("scan_output_directions", Ints{1})}),
            "f32[3x2] {6, 115, 3, 109, 1, 104}");
  EXPECT_EQ(scanned(8, {left_out(), fed(f32_of({2, 1}, {0, 100})), fed(f32_of({2, 3, 1}, {1, 2, 3, 4, 5, 6}))}, {}),
            "f32[2x3x1] {1, 3, 6, 104, 109, 115}");
  EXPECT_EQ(scanned(8, {left_out(), fed(f32_of({2}, {0, 100})), fed(f32_of({2, 2}, {1, 2, 4, 5}))}, {}),
            "f32[2x2] {1, 3, 104, 109}");
}

TEST(Scan, SaysWhatIsWrong) {
  const In zero = fed(f32_of({2}, {0, 100}));
  EXPECT_EQ(scanned(9, {zero, f32({5000, 2})}, {}), "n: has 5000 steps; 1 to 4096 are supported");
  EXPECT_EQ(scanned(9, {zero, f32({3, 2})}, {set("scan_input_axes", Ints{0, 0})}),
            "n: attribute \"scan_input_axes\" has 2 entries; expected 1");
  EXPECT_EQ(scanned(9, {zero, f32({3, 2})}, {set("scan_output_axes", Ints{2})}),
            "n: axis 2 does not exist; expected -2 to 1");
  EXPECT_EQ(scanned(8, {left_out(), f32({2, 1}), f32({3, 3, 1})}, {}), "n: scans f32[2x1]; expected a batch of 3");
  EXPECT_EQ(scanned(8, {left_out(), f32({2, 1}), f32({5000, 3, 1})}, {}),
            "n: scans f32[5000x3x1]; expected a batch of 1 to 4096, and steps of a sequence");
  EXPECT_EQ(scanned(8, {i64({2}), f32({2, 1}), f32({2, 3, 1})}, {}),
            "n: gives the lengths of its sequences; only whole sequences are supported");
}

}  // namespace onnx_importer_values_test
}  // namespace whet
