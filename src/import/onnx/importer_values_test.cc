#include <gtest/gtest.h>

#include "import/onnx/import_onnx.h"
#include "import/onnx/importers.h"
#include "import/onnx/testing/one_node.h"
#include "ops/evaluate_graph.h"

/// What importers compose of several operators computes what the standard says: by the naive evaluation of the graph.
namespace whet {
namespace {

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

}  // namespace
}  // namespace whet
