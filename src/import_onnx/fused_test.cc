#include <gtest/gtest.h>

#include "import_onnx/import_onnx.h"
#include "import_onnx/rows.h"
#include "import_onnx/testing/one_node.h"
#include "ops/evaluate_graph.h"

/// The operators of ONNX Runtime's optimizer compute what that computes: by the naive evaluation of the graph.
namespace whet {
namespace {

std::string computed(const std::string& op, const std::vector<In>& inputs, Attributes attributes = {}) {
  const Result<Graph> graph = import_onnx(one_node("com.microsoft." + op, 13, inputs, std::move(attributes)), {});
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> values;
  for (const In& in : inputs)
    if (in.is_fed) values.push_back(*in.value);
  return values_text(evaluate_graph(*graph, values).value()[graph->outputs[0].index()]);
}

In f(Shape shape, const std::vector<double>& values) { return f32_fed(std::move(shape), values); }
In whole(DType dtype, Shape shape, const std::vector<double>& values) {
  return fed(Tensor::of(dtype, std::move(shape), values));
}
In u8(Shape shape, const std::vector<double>& values) { return whole(DType::u8, std::move(shape), values); }
In i8(Shape shape, const std::vector<double>& values) { return whole(DType::i8, std::move(shape), values); }
In i32(Shape shape, const std::vector<double>& values) { return whole(DType::i32, std::move(shape), values); }

TEST(FusedConv, AddsBeforeItsActivation) {
  const std::vector<In> inputs = {f({1, 1, 1, 3}, {1, -2, 3}), f({1, 1, 1, 1}, {2}), f({1}, {1}),
                                  f({1, 1, 1, 3}, {0, 1, -10})};
  EXPECT_EQ(computed("FusedConv", inputs), "f32[1x1x1x3] {3, -2, -3}");
  EXPECT_EQ(computed("FusedConv", inputs, {set("activation", "Relu")}), "f32[1x1x1x3] {3, 0, 0}");
  EXPECT_EQ(computed("FusedConv", inputs,
                     {set("activation", "LeakyRelu"), set("activation_params", std::vector<double>{0.5})}),
            "f32[1x1x1x3] {3, -1, -1.500000}");
  EXPECT_EQ(
      computed("FusedConv", inputs, {set("activation", "Clip"), set("activation_params", std::vector<double>{-1, 2})}),
      "f32[1x1x1x3] {2, -1, -1}");
  EXPECT_EQ(computed("FusedConv", inputs, {set("activation", "Wavy")}),
            "n: attribute \"activation\" is \"Wavy\"; expected Relu, Sigmoid, Tanh, Softplus, Softsign, HardSwish, "
            "LeakyRelu, HardSigmoid or Clip");
}

TEST(FusedGemm, HasAnActivationOfItsOwnParameters) {
  EXPECT_EQ(computed("FusedGemm", {f({1, 2}, {1, 2}), f({2, 1}, {3, 4}), f({1}, {-8})},
                     {set("alpha", 0.5), set("activation", "LeakyRelu"), set("activation_alpha", 0.25)}),
            "f32[1x1] {-0.625000}");
}

TEST(FusedMatMul, TakesTheFirstDimensionForRows) {
  const In a = f({2, 3, 1}, {0, 1, 2, 3, 4, 5}), b = f({3, 1, 1}, {1, 10, 100});
  EXPECT_EQ(computed("FusedMatMul", {a, b}, {set("transBatchA", 1), set("alpha", 0.5)}),
            "f32[3x2x1] {0, 1.500000, 5, 20, 100, 250}");
  EXPECT_EQ(computed("FusedMatMul", {f({2, 1}, {1, 2}), f({1, 2}, {3, 4})}, {set("transA", 1), set("transB", 1)}),
            "f32[1x1] {11}");
}

TEST(Gelus, HaveABiasAndTwoApproximations) {
  EXPECT_EQ(computed("BiasGelu", {f({2}, {0, 1}), f({2}, {1, -1})}), "f32[2] {0.841345, 0}");
  EXPECT_EQ(computed("FastGelu", {f({1}, {1})}), "f32[1] {0.841192}");
  EXPECT_EQ(computed("QuickGelu", {f({1}, {1})}), "f32[1] {0.845796}");
}

TEST(SkipLayerNormalization, NormalizesTheSum) {
  EXPECT_EQ(computed("SkipLayerNormalization",
                     {f({1, 1, 2}, {1, 2}), f({1, 2}, {0, 1}), f({2}, {2, 2}), f({2}, {1, 1}), f({2}, {10, 20})}),
            "f32[1x1x2] {-1, 3}");
  EXPECT_EQ(computed("SkipSimplifiedLayerNormalization", {f({1, 1, 2}, {1, 3}), f({1, 1, 2}, {2, 1}), f({2}, {1, 2})}),
            "f32[1x1x2] {0.848528, 2.262742}");
}

TEST(EmbedLayerNormalization, LooksUpWordsPlacesAndSegments) {
  const In words = f({3, 2}, {0, 0, 1, 3, 5, 5}), places = f({2, 2}, {0, 0, 10, 0}),
           segments = f({2, 2}, {0, 0, 0, 20});
  const In ones = f({2}, {1, 1}), zeros = f({2}, {0, 0});
  EXPECT_EQ(computed("EmbedLayerNormalization",
                     {i32({1, 2}, {1, 2}), i32({1, 2}, {0, 1}), words, places, segments, ones, zeros}),
            "f32[1x2x2] {-1, 1, -1, 1}");
  EXPECT_EQ(
      computed("EmbedLayerNormalization", {i32({1, 2}, {1, 2}), left_out(), words, places, left_out(), ones, zeros}),
      "f32[1x2x2] {-1, 1, 1, -1}")
      << "no segments";
  EXPECT_EQ(
      computed("EmbedLayerNormalization", {i32({1, 3}, {1, 2, 0}), left_out(), words, places, left_out(), ones, zeros}),
      "n: has 3 words a batch and f32[2x2] for their places");
}

/// Queries and keys are 0, so that a result is the mean of the values that count.
TEST(FusedAttention, CountsWhatItsMaskLeaves) {
  const In x = f({1, 2, 1}, {1, 3}), w = f({1, 3}, {0, 0, 1}), bias = f({3}, {0, 0, 0});
  const OnnxAttribute heads = set("num_heads", 1);
  EXPECT_EQ(computed("Attention", {x, w, bias}, {heads}), "f32[1x2x1] {2, 2}");
  EXPECT_EQ(computed("Attention", {x, w, bias, i32({1, 2}, {1, 0})}, {heads}), "f32[1x2x1] {1, 1}");
  EXPECT_EQ(computed("Attention", {x, w, bias, i32({1, 2}, {0, 0})}, {heads}), "f32[1x2x1] {2, 2}")
      << "to all of them the same is added";
  EXPECT_EQ(computed("Attention", {x, w, bias, i32({1}, {1})}, {heads}), "f32[1x2x1] {1, 1}") << "so many count";
  EXPECT_EQ(computed("Attention", {x, w, bias, i32({2}, {2, 1})}, {heads}), "f32[1x2x1] {3, 3}")
      << "behind the last one, and the first one";
  EXPECT_EQ(computed("Attention", {x, w, bias, i32({1, 2, 2}, {0, 1, 1, 0})}, {heads}), "f32[1x2x1] {3, 1}");
  EXPECT_EQ(computed("Attention", {x, w, bias}, {heads, set("unidirectional", 1)}), "f32[1x2x1] {1, 2}");
  EXPECT_EQ(
      computed("Attention", {x, w, bias, left_out(), f({2, 1, 1, 1, 1}, {0, 8})}, {heads, set("unidirectional", 1)}),
      "f32[1x2x1] {4.500000, 4}")
      << "the past stands before";
  EXPECT_EQ(computed("Attention", {x, w, bias, i32({3}, {1, 1, 1})}, {heads}),
            "n: input 3 is i32[3]; expected a mask of shape 1x2 or 1x2x2, or 1 or 2 ends of what counts");
  EXPECT_EQ(computed("Attention", {x, w, bias}, {heads, set("do_rotary", 1)}),
            "n: attribute \"do_rotary\" is not supported");
  EXPECT_EQ(computed("Attention", {x, w, bias}), "n: attribute \"num_heads\" is missing");
}

TEST(MultiHeadAttention, TakesKeysByHeadsToo) {
  const In q = f({1, 1, 2}, {0, 0}), k = f({1, 2, 2}, {1, 1, 1, 1}), v = f({1, 2, 2}, {1, 10, 3, 30});
  const OnnxAttribute heads = set("num_heads", 2);
  EXPECT_EQ(computed("MultiHeadAttention", {q, k, v}, {heads}), "f32[1x1x2] {2, 20}");
  EXPECT_EQ(computed("MultiHeadAttention", {q, k, v, f({6}, {0, 0, 0, 0, 5, 50})}, {heads}), "f32[1x1x2] {7, 70}");
  EXPECT_EQ(computed("MultiHeadAttention", {q, k, v, left_out(), i32({1, 2}, {0, 1})}, {heads}), "f32[1x1x2] {3, 30}");
  EXPECT_EQ(
      computed("MultiHeadAttention", {q, f({1, 2, 2, 1}, {1, 1, 1, 1}), f({1, 2, 2, 1}, {1, 3, 10, 30})}, {heads}),
      "f32[1x1x2] {2, 20}");
  const In past = f({1, 2, 1, 1}, {5, 50});
  EXPECT_EQ(computed("MultiHeadAttention", {q, k, v, left_out(), left_out(), left_out(), past, past}, {heads}),
            "f32[1x1x2] {3, 30}");
  EXPECT_EQ(computed("MultiHeadAttention", {f({1, 1, 3}, {0, 0, 0}), k, v}, {heads}),
            "n: queries, keys and values are f32[1x1x3], f32[1x2x2] and f32[1x2x2]; expected three dimensions, of "
            "which 2 heads divide the "
            "last");
}

TEST(FusedRotaryEmbedding, TurnsByThePlacesAngles) {
  const In x = f({1, 2, 2}, {1, 2, 3, 4}), cosine = f({3, 1}, {1, 0, -1}), sine = f({3, 1}, {0, 1, 0});
  EXPECT_EQ(computed("RotaryEmbedding", {x, whole(DType::i64, {1, 2}, {1, 2}), cosine, sine}),
            "f32[1x2x2] {-2, 1, -3, -4}");
  EXPECT_EQ(computed("RotaryEmbedding", {x, whole(DType::i64, {1}, {0}), cosine, sine}), "f32[1x2x2] {1, 2, -4, 3}")
      << "one place is the first row's";
}

TEST(QuantizedElementwise, IsComputedInFloats) {
  const In half = f({}, {0.5}), quarter = f({}, {0.25});
  EXPECT_EQ(computed("QLinearAdd", {u8({3}, {10, 20, 255}), half, u8({}, {10}), u8({3}, {0, 8, 255}), quarter,
                                    left_out(), half, u8({}, {3})}),
            "u8[3] {3, 17, 255}");
  EXPECT_EQ(computed("QLinearMul", {i8({3}, {4, -8, 127}), half, i8({}, {0}), i8({3}, {4, 4, 127}), half, i8({}, {0}),
                                    half, i8({}, {1})}),
            "i8[3] {9, -15, 127}");
  EXPECT_EQ(computed("QLinearSigmoid", {u8({2}, {128, 0}), half, u8({}, {128}), f({}, {0.00390625}), u8({}, {0})}),
            "u8[2] {128, 0}");
  EXPECT_EQ(
      computed("QLinearLeakyRelu", {i8({2}, {8, -8}), half, i8({}, {0}), half, i8({}, {0})}, {set("alpha", 0.25)}),
      "i8[2] {8, -2}");
  EXPECT_EQ(computed("QLinearSoftmax", {u8({1, 2}, {7, 7}), half, u8({}, {0}), f({}, {0.00390625}), u8({}, {0})},
                     {set("axis", -1), set("opset", 13)}),
            "u8[1x2] {128, 128}");
  EXPECT_EQ(computed("QLinearConcat",
                     {half, u8({}, {0}), u8({1}, {8}), quarter, u8({}, {0}), u8({1}, {8}), half, u8({}, {1})},
                     {set("axis", 0)}),
            "u8[2] {4, 7}");
}

TEST(QuantizedPool, IsTheMeanOfThePlane) {
  const In one = f({}, {1}), none = u8({}, {0});
  EXPECT_EQ(computed("QLinearGlobalAveragePool", {u8({1, 2, 1, 2}, {2, 4, 10, 20}), one, none, one, none}),
            "u8[1x2x1x1] {3, 15}");
  EXPECT_EQ(computed("QLinearGlobalAveragePool", {u8({1, 1, 2, 2}, {2, 10, 4, 20}), one, none, one, none},
                     {set("channels_last", 1)}),
            "u8[1x1x1x2] {3, 15}");
}

TEST(QuantizedPool, IsTheMeanOfEachWindow) {
  const In half = f({}, {0.5}), one = f({}, {1});
  // (2 + 4 - 2 * 2) / 2 * 0.5, then in whole steps from 1.
  EXPECT_EQ(computed("QLinearAveragePool", {u8({1, 1, 1, 4}, {2, 4, 10, 22}), half, u8({}, {2}), one, u8({}, {1})},
                     {set("kernel_shape", Ints{1, 2}), set("strides", Ints{1, 2})}),
            "u8[1x1x1x2] {1, 8}");
}
TEST(ChannelsLast, AreThoseOfImagesThatAreTurned) {
  const In half = f({}, {0.5}), one = f({}, {1});
  EXPECT_EQ(computed("QLinearAveragePool", {u8({1, 1, 4, 1}, {2, 4, 10, 22}), half, u8({}, {2}), one, u8({}, {1})},
                     {set("kernel_shape", Ints{1, 2}), set("strides", Ints{1, 2}), set("channels_last", 1)}),
            "u8[1x1x2x1] {1, 8}");
  EXPECT_EQ(computed("NhwcMaxPool", {u8({1, 1, 3, 2}, {1, 9, 7, 2, 3, 5})}, {set("kernel_shape", Ints{1, 2})}),
            "u8[1x1x2x2] {7, 9, 7, 5}");
  EXPECT_EQ(computed("NhwcMaxPool", {u8({3}, {1, 9, 7})}, {set("kernel_shape", Ints{1, 2})}),
            "n: the input is u8[3]; expected a batch, channels and one to three spatial dimensions");
  // (3 - 1) * 2 + (5 - 1) * -3 = -8 and (3 - 1) * 1 + (5 - 1) * 1 = 6, each by its scale, from 100.
  const std::vector<In> conv = {
      u8({1, 1, 1, 2}, {3, 5}), half,       u8({}, {1}),  i8({2, 2, 1, 1}, {2, -3, 1, 1}), f({2}, {1, 2}),
      i8({2}, {0, 0}),          f({}, {2}), u8({}, {100})};
  EXPECT_EQ(computed("QLinearConv", conv, {set("channels_last", 1)}), "u8[1x1x1x2] {98, 103}");
}
TEST(QuantizedChoice, IsOfWhatTheNumbersMean) {
  const In half = f({}, {0.5}), one = f({}, {1}), none = u8({}, {0});
  const In mask = Tensor::of<std::int64_t>(DType::boolean, {2}, {1, 0});
  EXPECT_EQ(
      computed("QLinearWhere", {mask, u8({2}, {8, 8}), half, none, u8({2}, {6, 6}), one, u8({}, {1}), half, none}),
      "u8[2] {8, 10}");
}

TEST(QuantizedProducts, EndInFloatsOrAreQuantizedAgain) {
  const In a = u8({1, 2}, {11, 7}), b = i8({2, 2}, {1, 4, -2, 5}), half = f({}, {0.5});
  // Without its zero point of 5, a is 6, 2: the product is 2, 34.
  EXPECT_EQ(computed("MatMulIntegerToFloat", {a, b, half, f({2}, {1, 2}), u8({}, {5}), left_out(), f({2}, {0.25, 0})}),
            "f32[1x2] {1.250000, 34}");
  EXPECT_EQ(computed("QGemm", {a, half, u8({}, {5}), b, half, i8({}, {0}), i32({2}, {2, -2})}), "f32[1x2] {1, 8}");
  EXPECT_EQ(computed("QGemm", {a, half, u8({}, {5}), b, half, i8({}, {0}), i32({2}, {2, -2}), half, u8({}, {100})}),
            "u8[1x2] {102, 116}");
  EXPECT_EQ(computed("DynamicQuantizeMatMul", {f({1, 2}, {0, 255}), b, half, left_out(), f({2}, {0, 1})}),
            "f32[1x2] {-255, 638.500000}");
}

}  // namespace
}  // namespace whet
