#include "workflow/quantized_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "formats/import_model.h"
#include "import_onnx/export.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "plan/uniform_plan.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"

namespace whet::quantized_file_test {
namespace {

/// A first convolution of three channels, which stays f32; then two, of which the second adds what the first read, a depthwise one, a
/// maximum and a product by a matrix.
Graph network() {
  testing::GraphBuilder b;
  const ValueId first = b.relu("first", b.conv("f", b.input("x", {1, 3, 8, 8}), 16, 3, 1, 1));
  const ValueId a = b.relu("a_relu", b.conv("a", first, 16, 3, 1, 1));
  const ValueId sum = b.relu("sum_relu", b.plus("sum", b.conv("b", a, 16, 3, 1, 1), first));
  const ValueId d = b.relu("d_relu", b.conv("d", sum, 16, 3, 1, 1, 16));
  const ValueId pool = b.add("pool", PoolOperator{PoolKind::max, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}, {d});
  const ValueId flat = b.add("flat", ReshapeOperator{{1, 256}}, {pool});
  const ValueId dense = b.add("dense", MatMulOperator{}, {flat, b.constant("dense_w", {256, 32})});
  return b.finish({b.plus("y", dense, b.constant("dense_b", {32}))});
}

class QuantizedFileTest : public ::testing::Test {
 protected:
  QuantizedFileTest() {
    Rng rng(5);
    input_ = {Tensor::random(fused_.graph.value(fused_.graph.inputs.front()).type, rng, -1, 1)};
    const std::vector<Tensor> values = evaluate_graph(fused_.graph, input_).value();
    for (std::size_t v = 0; v < values.size(); ++v) {
      const Value& value = fused_.graph.values[v];
      if (value.constant || value.type.dtype != DType::f32) continue;
      ValueRange range{0, 0};
      for (std::int64_t i = 0; i < values[v].size(); ++i)
        range.least = std::min(range.least, values[v].get(i)), range.most = std::max(range.most, values[v].get(i));
      ranges_[value.name] = range;
    }
  }
  /// The fastest plan in which products are of this type, where all kernels take as long.
  void plan(StoredAs stored) {
    AlternativeOptions options{.covers = false, .lowered = {stored}, .ranges = ranges_};
    kernels_.alternatives = find_alternatives(fused_, target_, options).value();
    std::vector<Price> prices;
    for (const Alternative& each : kernels_.alternatives.all) {
      const double seconds = each.task < 0 ? 0 : 1e-6;
      prices.push_back({PriceKind::measured, seconds, seconds, 0});
    }
    kernels_.plan =
        best_plans(fused_, kernels_.alternatives, prices, {.forbidden = others_than(kernels_.alternatives, stored)})
            ->best.front()
            .alternatives;
    kernels_.ranges = ranges_, kernels_.line = &line_;
  }
  Tensor answer(const Graph& graph) const {
    return evaluate_graph(graph, input_).value()[graph.outputs.front().index()];
  }
  Tensor answer_of_plan() const { return answer(assemble(fused_, kernels_.alternatives, kernels_.plan).value().graph); }

  Target target_ = parse_target("cpu -mcpu=znver4 -threads=1").value();
  FusedGraph fused_ = optimize(network(), {}).value();
  std::vector<Tensor> input_;
  ValueRanges ranges_;
  LoweredKernels kernels_;
  Plan line_;
};

TEST_F(QuantizedFileTest, GivesTheAnswersOfItsPlan) {
  plan(StoredAs::u8);
  const QuantizedFile file = quantized_file(fused_, kernels_.alternatives, kernels_.plan, ranges_);
  EXPECT_EQ(file.in_bytes, 4u);
  EXPECT_EQ(file.in_f32, 0u);
  const Result<Graph> back = import_model_bytes(onnx_bytes(fused_.graph, file.parts).value(), "back");
  ASSERT_TRUE(back.ok()) << back.error().message;
  const Tensor of_plan = answer_of_plan();
  const double lost = relative_l2(of_plan, answer(fused_.graph));
  EXPECT_GT(lost, 1e-4) << "the plan rounds";
  // A number on the border of two steps may fall on either side.
  EXPECT_LT(relative_l2(answer(*back), of_plan), 0.25 * lost);
}

TEST_F(QuantizedFileTest, HasWeightsOfBytesWithAScaleForEachChannel) {
  plan(StoredAs::u8);
  const QuantizedFile file = quantized_file(fused_, kernels_.alternatives, kernels_.plan, ranges_);
  for (const auto& [node, weights] : file.parts.weights) {
    const Tensor& own = *fused_.graph.value(fused_.graph.node(node).inputs[1]).constant;
    ASSERT_EQ(weights.weights.type(), (TensorType{DType::i8, own.shape()}));
    EXPECT_EQ(std::ssize(weights.scales), own.shape().back());
    for (std::int64_t i = 0; i < own.size(); ++i) {
      const double scale = weights.scales[static_cast<std::size_t>(i % own.shape().back())];
      EXPECT_NEAR(weights.weights.get(i) * scale, own.get(i), 0.51 * scale);
    }
  }
}

TEST_F(QuantizedFileTest, IsWrittenAndToldInASentence) {
  const std::string path = ::testing::TempDir() + "quantized_" + std::to_string(getpid()) + ".onnx";
  plan(StoredAs::u8);
  EXPECT_EQ(write_quantized(fused_, kernels_, path).value(), path + ": an ONNX file with 4 layers in bytes");
  const Result<Graph> back = import_model(path);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->value(back->inputs.front()).name, "x");
  EXPECT_EQ(back->value(back->outputs.front()).name, "y");
  std::remove(path.c_str());
}

TEST_F(QuantizedFileTest, IsNotWrittenOfAPlanWithoutBytes) {
  const std::string path = ::testing::TempDir() + "none_" + std::to_string(getpid()) + ".onnx";
  plan(StoredAs::i16);
  EXPECT_GT(quantized_file(fused_, kernels_.alternatives, kernels_.plan, ranges_).in_f32, 0u);
  EXPECT_EQ(write_quantized(fused_, kernels_, path).value(),
            path +
                " was not written: the plan multiplies no bytes, and an ONNX file has none of its other types; "
                "--precision int8 takes bytes wherever a layer can");
  kernels_.line = nullptr;
  EXPECT_EQ(write_quantized(fused_, kernels_, path).value(), path + " was not written: there is no plan in fewer bits");
  EXPECT_FALSE(import_model(path).ok());
  ASSERT_TRUE(write_file(path, "of before").ok());
  EXPECT_EQ(write_quantized(fused_, kernels_, path).value(),
            path + " was not written: there is no plan in fewer bits; the file that is there is of an earlier run");
  std::remove(path.c_str());
}

TEST_F(QuantizedFileTest, ThatCannotBeWrittenIsAnError) {
  plan(StoredAs::u8);
  const Result<std::string> written = write_quantized(fused_, kernels_, ::testing::TempDir() + "no_folder/q.onnx");
  ASSERT_FALSE(written.ok());
  EXPECT_TRUE(written.error().message.ends_with("No such file or directory")) << written.error().message;
}

}  // namespace
}  // namespace whet::quantized_file_test
