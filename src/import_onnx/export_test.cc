#include "import_onnx/export.h"
#include "base/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>

#include "base/testing/checkout.h"
#include "import/testing/imported.h"
#include "import_onnx/import_onnx.h"

namespace whet {
namespace onnx_export_test {

std::string bundled(const std::string& file) { return checkout_path("tests/models/") + file; }

Graph reimported(const Graph& graph) {
  auto again = imported(read_onnx_model, {"exported", "", onnx_bytes(graph).value()}, {});
  EXPECT_TRUE(again.ok()) << (again.ok() ? "" : again.error().message);
  return again.ok() ? std::move(again).value() : Graph();
}

/// The first line in which the texts differ, of both; nothing when they are equal.
std::string first_difference(const Graph& got, const Graph& want) {
  std::istringstream a(to_text(got)), b(to_text(want));
  std::string left, right;
  while (true) {
    const bool more_a = static_cast<bool>(std::getline(a, left)), more_b = static_cast<bool>(std::getline(b, right));
    if (!more_a && !more_b) return "";
    if (more_a != more_b || left != right) return "got:  " + left + "\nwant: " + right;
  }
}

/// The same text, and the same bytes in every constant.
void expect_equal(const Graph& got, const Graph& want) {
  EXPECT_EQ(first_difference(got, want), "");
  for (const Value& value : want.values) {
    if (!value.constant) continue;
    for (const Value& other : got.values) {
      if (other.name != value.name || !other.constant || other.type != value.type) continue;
      EXPECT_EQ(std::memcmp(other.constant->data(), value.constant->data(),
                            static_cast<std::size_t>(value.constant->bytes())),
                0)
          << value.name;
    }
  }
}

TEST(Export, ZooNetworksComeBackEqual) {
  for (const Graph& graph : {zoo_model("resnet-18", {2, 32}).value(), zoo_model("mlp", {2}).value()})
    expect_equal(reimported(graph), graph);
}
TEST(Export, RealModelsComeBackEqual) {
  const Graph blazeface = imported_file(read_onnx_model, bundled("blazeface_front.onnx"), {}).value();
  expect_equal(reimported(blazeface), blazeface);
  ImportOptions options;
  options.shapes["x"] = {1, 3, 48, 192};
  const Graph ppocr = imported_file(read_onnx_model, bundled("ppocr_cls.onnx"), options).value();
  expect_equal(reimported(ppocr), ppocr);
}

/// A graph of one node for each operator.
struct EveryOperator {
  Graph graph;
  int count = 0;

  ValueId input(DType dtype, Shape shape) {
    graph.inputs.push_back(graph.add_value("x" + std::to_string(graph.inputs.size()), {dtype, std::move(shape)}));
    return graph.inputs.back();
  }
  ValueId add(Operator op, std::vector<ValueId> inputs) {
    const std::string name = name_of(op) + "_" + std::to_string(count++);
    const ValueId id = graph.add_node(name, std::move(op), std::move(inputs)).value();
    graph.value(id).name = name + ":0";
    graph.outputs.push_back(id);
    return id;
  }
};

Graph every_operator() {
  EveryOperator g;
  g.graph.name = "every";
  const ValueId x = g.input(DType::f32, {1, 4, 6, 6}), row = g.input(DType::f32, {6});
  const ValueId b = g.input(DType::boolean, {6, 6}), i = g.input(DType::i64, {2, 3});
  const ValueId p = g.input(DType::f32, {3, 5}), q = g.input(DType::f32, {3, 7});
  for (int k = 0; k <= static_cast<int>(UnaryKind::is_nan); ++k) {
    const auto kind = static_cast<UnaryKind>(k);
    g.add(UnaryOperator{kind}, {kind == UnaryKind::logical_not ? b : x});
  }
  for (int k = 0; k <= static_cast<int>(BinaryKind::logical_xor); ++k) {
    const auto kind = static_cast<BinaryKind>(k);
    if (kind >= BinaryKind::logical_and) {
      g.add(BinaryOperator{kind}, {b, b});
    } else {
      g.add(BinaryOperator{kind}, {x, row});
    }
  }
  g.add(BinaryOperator{BinaryKind::mod}, {i, i});
  for (int k = 0; k <= static_cast<int>(ReduceKind::log_sum_exp); ++k) {
    g.add(ReduceOperator{static_cast<ReduceKind>(k), {1, 3}, k % 2 == 0}, {x});
  }
  g.add(ClipOperator{0, 6}, {x});
  g.add(ClipOperator{-kInfinity, 6}, {x});
  g.add(HardSigmoidOperator{0.25, 0.5}, {x});
  g.add(LeakyReluOperator{0.125}, {x});
  g.add(WhereOperator{}, {b, x, row});
  g.add(CastOperator{DType::f16}, {x});
  Rng rng(1);
  const ValueId w = g.graph.add_constant("w", Tensor::random({DType::f32, {8, 2, 3, 3}}, rng));
  const ValueId bias = g.graph.add_constant("bias", Tensor::random({DType::f32, {8}}, rng));
  const ValueId c = g.graph.add_constant("c", Tensor::random({DType::f32, {4}}, rng));
  g.add(ConvOperator{{2, 1}, {1, 2}, {1, 0}, {0, 3}, 2}, {x, w, bias});
  g.add(MatMulOperator{}, {x, x});
  g.add(MatMulOperator{true, false}, {p, q});
  g.add(PoolOperator{PoolKind::max, {3, 2}, {2, 1}, {1, 2}, {1, 0}, {1, 1}}, {x});
  g.add(PoolOperator{PoolKind::average, {3, 2}, {2, 1}, {1, 1}, {1, 0}, {1, 1}, true}, {x});
  g.add(SoftmaxOperator{1}, {x});
  g.add(SoftmaxOperator{3, true}, {x});
  g.add(BatchNormOperator{0.5}, {x, c, c, c, c});
  g.add(TransposeOperator{{0, 3, 1, 2}}, {x});
  g.add(ReshapeOperator{{4, 36}}, {x});
  g.add(ConcatOperator{1}, {x, x});
  g.add(SliceOperator{{0, 1, 5, 0}, {1, 2, -1, 1}, {1, 2, 6, 3}}, {x});
  g.add(PadOperator{PadMode::reflect, 0, {0, 0, 1, 2}, {0, 0, 2, 1}}, {x});
  g.add(PadOperator{PadMode::constant, 1.5, {0, 0, 1, -2}, {0, 0, 2, 1}}, {x});
  g.add(GatherOperator{1}, {x, i});
  g.add(ExpandOperator{{3, 4, 6, 6}}, {x});
  const ValueId places = g.add(TopKOperator{3, 2, false}, {x});
  g.add(GatherElementsOperator{3}, {x, places});
  g.add(GatherNdOperator{1}, {i, g.graph.add_constant("nd", Tensor(DType::i64, {2, 5, 1}))});
  g.add(ScatterElementsOperator{3, ScatterKind::mul}, {x, places, g.input(DType::f32, {1, 4, 6, 2})});
  const ValueId rows = g.input(DType::i64, {2, 1});
  g.add(ScatterNdOperator{}, {p, rows, g.input(DType::f32, {2, 5})});
  g.add(ScatterNdOperator{ScatterKind::add}, {p, rows, g.input(DType::f32, {2, 5})});
  g.add(ArgReduceOperator{false, 2, false, true}, {x});
  g.add(CumSumOperator{1, true, true}, {x});
  for (int mode = 0; mode < 3; ++mode) {
    g.add(ResizeOperator{static_cast<ResizeMode>(mode),
                         CoordinateMode::half_pixel,
                         NearestMode::floor,
                         -0.5,
                         mode == 2,
                         {1, 1, 2.5, 0.5},
                         {1, 4, 15, 3}},
          {x});
  }
  g.add(ResizeOperator{ResizeMode::nearest,
                       CoordinateMode::asymmetric,
                       NearestMode::floor,
                       -0.75,
                       false,
                       {1, 1, 1.1875, 2},
                       {1, 4, 7, 12}},
        {x});
  return std::move(g.graph);
}

TEST(Export, EveryOperatorComesBackEqual) {
  const Graph graph = every_operator();
  ASSERT_TRUE(verify(graph).ok());
  expect_equal(reimported(graph), graph);
}
TEST(Export, ANewerModeRaisesTheOperatorSet) {
  EveryOperator g;
  const ValueId x = g.input(DType::f32, {1, 4, 6, 6});
  g.graph.name = "newer";
  g.add(ReduceOperator{ReduceKind::max, {1}, true}, {x});
  g.add(ResizeOperator{ResizeMode::linear,
                       CoordinateMode::half_pixel_symmetric,
                       NearestMode::round_prefer_floor,
                       -0.75,
                       false,
                       {1, 1, 0.5, 2},
                       {1, 4, 3, 12}},
        {x});
  expect_equal(reimported(g.graph), g.graph);
}

/// Lines of the text that name an operation.
std::string operations(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += name_of(node.op) + " ";
  return text;
}

TEST(Export, ChannelsLastNetworksGetTransposesAtTheirEnds) {
  const Graph first = zoo_model("resnet-18", {1, 32, Layout::channels_first, 1}).value();
  const Graph last = zoo_model("resnet-18", {1, 32, Layout::channels_last, 1}).value();
  const Graph back = reimported(last);
  EXPECT_EQ(to_string(back.value(back.inputs[0]).type), "f32[1x32x32x3]");
  // Those of the channels-first network, a transpose in front and one before the pooling over rows and columns.
  std::string expected = "transpose " + operations(first);
  expected.insert(expected.find("reduce_mean"), "transpose ");
  EXPECT_EQ(operations(back), expected);
  // The weights are those of the channels-first network.
  const Tensor &got = *back.value(back.nodes[2].inputs[1]).constant,
               &want = *first.value(first.nodes[1].inputs[1]).constant;
  ASSERT_EQ(got.type(), want.type());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), static_cast<std::size_t>(want.bytes())), 0);
}
TEST(Export, ElementsBehindATransposedProductGetNoTransposes) {
  EveryOperator g;
  const ValueId a = g.input(DType::f32, {2, 3, 5}), b = g.input(DType::f32, {2, 7, 5});
  const ValueId product = g.add(MatMulOperator{.transpose_b = true}, {a, b});
  g.add(UnaryOperator{UnaryKind::relu}, {product});
  EXPECT_EQ(operations(reimported(g.graph)), "transpose matmul relu ");
}
TEST(Export, DepthwiseChannelsLastWeightsAreTurned) {
  EveryOperator g;
  const ValueId x = g.input(DType::f32, {1, 6, 6, 4});
  Rng rng(1);
  const ValueId w = g.graph.add_constant("w", Tensor::random({DType::f32, {3, 3, 4}}, rng));
  g.add(ConvOperator{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 4, Layout::channels_last}, {x, w});
  const Graph back = reimported(g.graph);
  EXPECT_EQ(operations(back), "transpose conv transpose ");
  EXPECT_EQ(to_string(back.value(back.nodes[1].inputs[1]).type), "f32[4x1x3x3]");
  EXPECT_EQ(back.value(back.outputs[0]).name, "conv_0:0");
}

TEST(Export, BytesTakeThePlaceOfAProductsFloats) {
  EveryOperator g;
  const ValueId x = g.input(DType::f32, {1, 6, 6, 4});
  Rng rng(1);
  const ValueId w = g.graph.add_constant("w", Tensor::random({DType::f32, {3, 3, 4, 256}}, rng));
  const ValueId bias = g.graph.add_constant("bias", Tensor::random({DType::f32, {256}}, rng));
  g.add(ConvOperator{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, Layout::channels_last}, {x, w, bias});
  QuantizedParts parts;
  parts.reads[{NodeId(0), x}] = {0.02, 128};
  parts.weights[NodeId(0)] = {Tensor(DType::i8, {3, 3, 4, 256}), std::vector<double>(256, 0.01)};
  const std::string bytes = onnx_bytes(g.graph, parts).value();
  EXPECT_LT(bytes.size(), onnx_bytes(g.graph).value().size() / 2);
  const auto back = imported(read_onnx_model, {"exported", "", bytes}, {});
  ASSERT_TRUE(back.ok()) << back.error().message;
  const auto has = [&](DType dtype, const Shape& shape) {
    return std::ranges::any_of(
        back->values, [&](const Value& value) { return value.constant && value.type == TensorType{dtype, shape}; });
  };
  // Reading widens the whole numbers, less their zero points.
  EXPECT_TRUE(has(DType::i32, {256, 4, 3, 3}));
  EXPECT_TRUE(has(DType::f32, {256, 1, 1, 1})) << "a scale for each result";
  EXPECT_FALSE(has(DType::f32, {256, 4, 3, 3}));
}

}  // namespace onnx_export_test
}  // namespace whet
