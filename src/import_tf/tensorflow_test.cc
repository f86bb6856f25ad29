#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/testing/checkout.h"
#include "base/testing/random_cases.h"
#include "import/testing/limits.h"
#include "import_tf/rows.h"
#include "import_tf/table.h"
#include "import_tf/testing/graph_writer.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"

namespace whet::tensorflow {
namespace tensorflow_test {

using Numbers = std::vector<double>;

std::string error_of(const std::string& bytes, const ImportOptions& options = {}) {
  const auto graph = imported(bytes, "m", options);
  return graph.ok() ? "" : graph.error().message;
}
Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers;
  for (std::int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.get(i));
  return numbers;
}
/// The output where the first input holds `values`.
Numbers answer(const std::string& bytes, const Numbers& values, const ImportOptions& options = {},
               std::size_t output = 0) {
  const Result<Graph> graph = imported(bytes, "m", options);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const TensorType type = graph->value(graph->inputs[0]).type;
  const auto results = evaluate_graph(*graph, {Tensor::of<double>(type.dtype, type.shape, values)});
  return numbers_of((*results)[graph->outputs[output].index()]);
}
Tensor floats(const Shape& shape, const std::vector<double>& values) { return Tensor::of(DType::f32, shape, values); }

/// One node "y" of x, and of constants "c0", "c1", ...
struct OneNode {
  std::string op;
  Shape x;
  std::vector<Tensor> constants;
  Attributes attributes;

  std::string bytes() const {
    GraphWriter g;
    g.input("x", x);
    std::vector<std::string> inputs = {"x"};
    for (std::size_t i = 0; i < constants.size(); ++i) {
      inputs.push_back("c" + std::to_string(i));
      g.constant(inputs.back(), constants[i]);
    }
    return g.node("y", op, inputs, attributes).bytes();
  }
};
Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::of(DType::i32, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(TensorFlow, TheOperatorsAreTheOnesThatTheDocumentLists) {
  std::string wanted, found;
  for (const TfRow& row : rows()) wanted += std::string(row.op) + "\n";
  const Result<std::string> document = read_file(checkout_path("docs/operators/tensorflow.md"));
  ASSERT_TRUE(document.ok());
  for (std::size_t at = 0; (at = document->find("\n| `", at)) != std::string::npos; ++at)
    found += document->substr(at + 4, document->find('`', at + 4) - at - 4) + "\n";
  EXPECT_EQ(found, wanted) << "docs/operators/tensorflow.md";
}

// ---- What operators mean.

TEST(TensorFlow, SamePaddingPutsTheOddPixelBehind) {
  const Attributes pool = {
      {"ksize", of_integers({1, 1, 3, 1})}, {"strides", of_integers({1, 1, 2, 1})}, {"padding", of_text("SAME")}};
  EXPECT_EQ(answer(OneNode{"MaxPool", {1, 1, 4, 1}, {}, pool}.bytes(), {1, 2, 9, 3}), (Numbers{9, 9}));
  EXPECT_EQ(answer(OneNode{"AvgPool", {1, 1, 4, 1}, {}, pool}.bytes(), {1, 2, 9, 3}), (Numbers{4, 6}));
  const Attributes conv = {{"strides", of_integers({1, 1, 2, 1})}, {"padding", of_text("SAME")}};
  // Weights [1, 3, 1, 1]; a window begins at each second pixel, and one pixel is behind the image.
  EXPECT_EQ(answer(OneNode{"Conv2D", {1, 1, 4, 1}, {floats({1, 3, 1, 1}, {1, 10, 100})}, conv}.bytes(), {1, 2, 3, 4}),
            (Numbers{321, 43}));
}
TEST(TensorFlow, ExplicitPaddingAndChannelsFirst) {
  const Attributes conv = {{"strides", of_integers({1, 1, 1, 1})},
                           {"padding", of_text("EXPLICIT")},
                           {"data_format", of_text("NCHW")},
                           {"explicit_paddings", of_integers({0, 0, 0, 0, 0, 0, 1, 0})}};
  EXPECT_EQ(answer(OneNode{"Conv2D", {1, 1, 1, 3}, {floats({1, 2, 1, 1}, {1, 10})}, conv}.bytes(), {1, 2, 3}),
            (Numbers{10, 21, 32}));
}
TEST(TensorFlow, SegmentsAreCountedByIntegers) {
  GraphWriter g;
  g.input("x", {2}).constant("s", floats({2}, {0, 1})).node("y", "SegmentSum", {"x", "s"});
  EXPECT_EQ(error_of(g.bytes()), "y (SegmentSum): its list of segments is f32[2]");
}
TEST(TensorFlow, NoClassIsHot) {
  GraphWriter g;
  g.input("x", {3}, DType::i32).constant("depth", Tensor::of<std::int64_t>(DType::i32, {}, {2}));
  g.constant("on", floats({}, {1})).constant("off", floats({}, {0})).node("y", "OneHot", {"x", "depth", "on", "off"});
  EXPECT_EQ(answer(g.bytes(), {1, -1, 2}), (Numbers{0, 1, 0, 0, 0, 0}));
}
TEST(TensorFlow, DepthwiseWeightsHaveResultsOfEachChannelBehind) {
  const Attributes conv = {{"strides", of_integers({1, 1, 1, 1})}, {"padding", of_text("VALID")}};
  const Tensor w = floats({1, 1, 2, 2}, {1, 2, 10, 20});
  EXPECT_EQ(answer(OneNode{"DepthwiseConv2dNative", {1, 1, 1, 2}, {w}, conv}.bytes(), {3, 4}), (Numbers{3, 6, 40, 80}));
}
TEST(TensorFlow, TransposedConvolutionsTakeTheirExtentsFromTheFile) {
  GraphWriter g;
  g.input("x", {1, 1, 2, 1}).constant("w", floats({1, 3, 1, 1}, {1, 10, 100})).integers("shape", {1, 1, 4, 1});
  g.node("y", "Conv2DBackpropInput", {"shape", "w", "x"},
         {{"strides", of_integers({1, 1, 2, 1})}, {"padding", of_text("SAME")}});
  // What the gradient of the convolution above gives: pixel 0 adds 1 10 100, pixel 2 adds 1 10 (100 is cut off).
  EXPECT_EQ(answer(g.bytes(), {1, 2}), (Numbers{1, 10, 102, 20}));
}
TEST(TensorFlow, MaximaTakeThePadsBeforeThem) {
  GraphWriter g;
  g.input("x", {1, 4, 4, 1}).node("r", "Relu", {"x"});
  g.constant("pads", Tensor::of<std::int64_t>(DType::i32, {4, 2}, {0, 0, 1, 1, 1, 1, 0, 0}))
      .node("p", "Pad", {"r", "pads"});
  g.node("y", "MaxPool", {"p"},
         {{"ksize", of_integers({1, 3, 3, 1})}, {"strides", of_integers({1, 2, 2, 1})}, {"padding", of_text("VALID")}});
  const auto graph = imported(g.bytes(), "m");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes.size(), 2u) << to_text(*graph);
}
TEST(TensorFlow, FusedOperatorsTakeTheirInputsInOrder) {
  Message ops;
  ops.text(2, "BiasAdd").text(2, "Relu");
  const Attributes conv = {
      {"strides", of_integers({1, 1, 1, 1})}, {"padding", of_text("VALID")}, {"fused_ops", Message().message(1, ops)}};
  EXPECT_EQ(answer(OneNode{"_FusedConv2D", {1, 1, 2, 1}, {floats({1, 1, 1, 1}, {2}), floats({1}, {-3})}, conv}.bytes(),
                   {1, 4}),
            (Numbers{0, 5}));
}
TEST(TensorFlow, BatchNormalizationOfTrainingIsRefused) {
  const Tensor one = floats({1}, {1});
  const Attributes inference = {{"is_training", of_flag(false)}, {"epsilon", of_real(0)}};
  EXPECT_EQ(
      answer(
          OneNode{
              "FusedBatchNormV3", {1, 1, 1, 1}, {floats({1}, {2}), one, floats({1}, {3}), floats({1}, {4})}, inference}
              .bytes(),
          {5}),
      (Numbers{3}));
  EXPECT_EQ(error_of(OneNode{"FusedBatchNormV3", {1, 1, 1, 1}, {one, one, one, one}, {}}.bytes()),
            "y (FusedBatchNormV3): was saved in training mode; in Python: export a function that calls the model with "
            "training=False");
}
TEST(TensorFlow, MasksOfSlices) {
  const auto slice = [&](const Shape& x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end,
                         const Attributes& masks) {
    const std::vector<std::int64_t> steps(begin.size(), 1);
    Numbers values(static_cast<std::size_t>(num_elements(x)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    return answer(OneNode{"StridedSlice", x, {integers(begin), integers(end), integers(steps)}, masks}.bytes(), values);
  };
  EXPECT_EQ(slice({2, 3}, {0, 1}, {2, 2}, {{"shrink_axis_mask", of_integer(2)}}), (Numbers{1, 4}));
  EXPECT_EQ(slice({2, 3}, {0, -1}, {0, 0}, {{"ellipsis_mask", of_integer(1)}, {"shrink_axis_mask", of_integer(2)}}),
            (Numbers{2, 5}));
  EXPECT_EQ(slice({2, 3}, {1, 0, 0}, {2, 0, 2}, {{"new_axis_mask", of_integer(2)}}), (Numbers{3, 4}));
  EXPECT_EQ(slice({2, 3}, {0, 1}, {1, 0}, {{"begin_mask", of_integer(1)}, {"end_mask", of_integer(3)}}),
            (Numbers{1, 2, 4, 5}));
}
TEST(TensorFlow, BlocksBecomeBatchesAndComeBack) {
  const Tensor block = integers({2}), edges = Tensor::of<std::int64_t>(DType::i32, {1, 2}, {1, 0});
  const std::string there = OneNode{"SpaceToBatchND", {1, 3, 1}, {block, edges}, {}}.bytes();
  EXPECT_EQ(answer(there, {1, 2, 3}), (Numbers{0, 2, 1, 3}));
  EXPECT_EQ(answer(OneNode{"BatchToSpaceND", {2, 2, 1}, {block, edges}, {}}.bytes(), {0, 2, 1, 3}), (Numbers{1, 2, 3}));
}
TEST(TensorFlow, RemaindersHaveTheSignThatTheirNamesSay) {
  const Tensor b = floats({2}, {3, -3});
  EXPECT_EQ(answer(OneNode{"FloorMod", {2}, {b}, {}}.bytes(), {-4, 4}), (Numbers{2, -2}));
  EXPECT_EQ(answer(OneNode{"TruncateMod", {2}, {b}, {}}.bytes(), {-4, 4}), (Numbers{-1, 1}));
  EXPECT_EQ(answer(OneNode{"DivNoNan", {2}, {floats({2}, {2, 0})}, {}}.bytes(), {3, 3}), (Numbers{1.5, 0}));
}
TEST(TensorFlow, FakeQuantizationMovesItsBoundsToHoldZero) {
  // 3 bits between -0.1 and 0.6: steps of 0.1, and zero is one of them.
  const Numbers y = answer(
      OneNode{"FakeQuantWithMinMaxVars", {4}, {floats({}, {-0.1}), floats({}, {0.6})}, {{"num_bits", of_integer(3)}}}
          .bytes(),
      {-9, 0.04, 0.26, 9});
  const Numbers wanted = {-0.1, 0, 0.3, 0.6};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], wanted[i], 1e-6);
}
TEST(TensorFlow, FewerNumbersThanElementsRepeatTheLast) {
  GraphWriter g;
  Message tensor;
  tensor.number(1, 1).message(2, shape_message({4})).real(5, 1).real(5, 2);
  g.input("x", {4}).node("c", "Const", {}, {{"dtype", of_type(DType::f32)}, {"value", Message().message(8, tensor)}});
  EXPECT_EQ(answer(g.node("y", "AddV2", {"x", "c"}).bytes(), {0, 0, 0, 0}), (Numbers{1, 2, 2, 2}));
}

// ---- Functions, branches, loops.

TEST(TensorFlow, FunctionsAreInlined) {
  GraphWriter body, g;
  body.node("twice", "AddV2", {"a", "a"}).node("split", "Unpack", {"twice:z:0"}, {{"num", of_integer(2)}});
  body.node("dead", "NoSuchOperator", {"a"});
  g.function("f", {"a"}, {"split:output:1", "twice:z:0"}, body);
  g.input("x", {2}).node("call", "PartitionedCall", {"x"},
                         {{"f", of_function("f")}, {"Tout", of_types({DType::f32, DType::f32})}});
  g.node("y", "Neg", {"call"}).node("z", "Identity", {"call:1"});
  EXPECT_EQ(answer(g.bytes(), {1, 3}), (Numbers{-6}));
  EXPECT_EQ(answer(g.bytes(), {1, 3}, {}, 1), (Numbers{2, 6}));
}
TEST(TensorFlow, FunctionsThatCallThemselvesEnd) {
  GraphWriter body, g;
  body.node("again", "PartitionedCall", {"a"}, {{"f", of_function("f")}});
  g.function("f", {"a"}, {"again:output:0"}, body).input("x", {2});
  g.node("call", "PartitionedCall", {"x"}, {{"f", of_function("f")}});
  EXPECT_EQ(error_of(g.bytes()), "m: has functions within 64 functions; no more are supported");
}
TEST(TensorFlow, LoopsThatCountAreUnrolled) {
  GraphWriter condition, body, g;
  condition.constant("most", Tensor::of<std::int64_t>(DType::i32, {}, {3}))
      .node("less", "Less", {"i", "most:output:0"});
  body.constant("one", Tensor::of<std::int64_t>(DType::i32, {}, {1})).node("next", "AddV2", {"i", "one:output:0"});
  body.node("twice", "AddV2", {"a", "a"});
  g.function("c", {"i", "a"}, {"less:z:0"}, condition).function("b", {"i", "a"}, {"next:z:0", "twice:z:0"}, body);
  g.input("x", {2}).constant("zero", Tensor::of<std::int64_t>(DType::i32, {}, {0}));
  g.node("loop", "StatelessWhile", {"zero", "x"},
         {{"cond", of_function("c")}, {"body", of_function("b")}, {"T", of_types({DType::i32, DType::f32})}});
  g.node("y", "Identity", {"loop:1"}).node("count", "Identity", {"loop"});
  EXPECT_EQ(answer(g.bytes(), {1, 3}), (Numbers{8, 24}));
}
TEST(TensorFlow, RoundsBehindALoopsEndChangeNothing) {
  GraphWriter condition, body, g;  // while (i < 5 && a < 10) a = 2 a
  const auto whole = [](std::int64_t value) { return Tensor::of<std::int64_t>(DType::i32, {}, {value}); };
  const auto real = [](double value) { return Tensor::of<double>(DType::f32, {}, {value}); };
  condition.constant("most", whole(5)).node("counts", "Less", {"i", "most:output:0"}).constant("ten", real(10));
  condition.node("below", "Less", {"a", "ten:output:0"}).node("both", "LogicalAnd", {"counts:z:0", "below:z:0"});
  body.constant("one", whole(1)).node("next", "AddV2", {"i", "one:output:0"}).node("twice", "AddV2", {"a", "a"});
  g.function("c", {"i", "a"}, {"both:z:0"}, condition).function("b", {"i", "a"}, {"next:z:0", "twice:z:0"}, body);
  g.input("x", {}).constant("zero", whole(0));
  g.node("loop", "StatelessWhile", {"zero", "x"},
         {{"cond", of_function("c")}, {"body", of_function("b")}, {"T", of_types({DType::i32, DType::f32})}});
  g.node("a", "Identity", {"loop:1"}).node("i", "Cast", {"loop"}, {{"DstT", of_type(DType::f32)}});
  g.node("both", "Pack", {"a", "i"}, {{"axis", of_integer(0)}});
  EXPECT_EQ(answer(g.bytes(), {3}), (Numbers{12, 2}));
  EXPECT_EQ(answer(g.bytes(), {0.25}), (Numbers{8, 5}));
  EXPECT_EQ(answer(g.bytes(), {11}), (Numbers{11, 0}));
}
TEST(TensorFlow, BranchesOfAnUnknownConditionAreBothComputed) {
  GraphWriter yes, no, g;
  yes.node("y", "Neg", {"a"});
  no.node("y", "Square", {"a"});
  g.function("yes", {"a"}, {"y:y:0"}, yes).function("no", {"a"}, {"y:y:0"}, no);
  g.input("x", {1}).constant("zero", floats({1}, {0})).node("is", "Greater", {"x", "zero"});
  g.node("y", "If", {"is", "x"},
         {{"then_branch", of_function("yes")}, {"else_branch", of_function("no")}, {"Tout", of_types({DType::f32})}});
  EXPECT_EQ(answer(g.bytes(), {3}), (Numbers{-3}));
  EXPECT_EQ(answer(g.bytes(), {-3}), (Numbers{9}));
}
TEST(TensorFlow, ListsOfTensorsHoldTheStepsOfALoop) {
  GraphWriter condition, body, g;
  const auto scalar = [](std::int64_t value) { return Tensor::of<std::int64_t>(DType::i32, {}, {value}); };
  condition.constant("most", scalar(3)).node("less", "Less", {"i", "most:output:0"});
  body.constant("one", scalar(1)).node("next", "AddV2", {"i", "one:output:0"}).integers("shape", {1});
  body.node("item", "TensorListGetItem", {"in", "i", "shape:output:0"}, {{"element_dtype", of_type(DType::f32)}});
  body.node("sum", "AddV2", {"state", "item:item:0"});
  body.node("set", "TensorListSetItem", {"out", "i", "sum:z:0"}, {{"element_dtype", of_type(DType::f32)}});
  g.function("c", {"i", "in", "out", "state"}, {"less:z:0"}, condition);
  g.function("b", {"i", "in", "out", "state"}, {"next:z:0", "in", "set:output_handle:0", "sum:z:0"}, body);
  g.input("x", {3, 1})
      .integers("row", {1})
      .constant("zero", scalar(0))
      .constant("three", scalar(3))
      .constant("start", floats({1}, {0}));
  g.node("list", "TensorListFromTensor", {"x", "row"}, {{"element_dtype", of_type(DType::f32)}});
  g.node("rows", "TensorListReserve", {"row", "three"}, {{"element_dtype", of_type(DType::f32)}});
  g.node("loop", "While", {"zero", "list", "rows", "start"},
         {{"cond", of_function("c")},
          {"body", of_function("b")},
          {"T", of_types({DType::i32, DType::f32, DType::f32, DType::f32})}});
  g.node("y", "TensorListStack", {"loop:2", "row"}, {{"element_dtype", of_type(DType::f32)}});
  ImportOptions options;
  options.until = {"y"};
  EXPECT_EQ(answer(g.bytes(), {1, 2, 4}, options), (Numbers{1, 3, 7}));
}

/// A loop of `rounds` that counts and calls `body` with "i", "s" and "x", which gives the next "s" as "next".
std::string loop_of(std::int64_t rounds, GraphWriter body, const GraphWriter& functions) {
  GraphWriter condition, g = functions;
  const auto scalar = [](std::int64_t value) { return Tensor::of<std::int64_t>(DType::i32, {}, {value}); };
  condition.constant("most", scalar(rounds)).node("less", "Less", {"i", "most:output:0"});
  body.constant("one", scalar(1)).node("count", "AddV2", {"i", "one:output:0"});
  g.function("c", {"i", "s", "x"}, {"less:z:0"}, condition);
  g.function("b", {"i", "s", "x"}, {"count:z:0", "next:output:0", "x"}, body);
  g.constant("zero", scalar(0)).integers("size", {1 << 16}).node("x", "Fill", {"size", "zero"});
  g.node(
      "loop", "StatelessWhile", {"zero", "zero", "x"},
      {{"cond", of_function("c")}, {"body", of_function("b")}, {"T", of_types({DType::i32, DType::i32, DType::i32})}});
  return g.node("y", "Identity", {"loop:1"}).bytes();
}
TEST(TensorFlow, ASmallFileDoesNotComputeForLong) {
  GraphWriter sum;
  sum.integers("axis", {0}).node("next", "Sum", {"x", "axis:output:0"});
  const testing::WithinLimits limits;
  EXPECT_EQ(error_of(loop_of(100 / testing::kLimitsAreParts, sum, {})), "");
  EXPECT_EQ(error_of(loop_of(4000, sum, {})),
            "loop (StatelessWhile): its condition is not known: what is computed while importing took more than " +
                std::to_string(import_limits().folding_work) + " elements");
}
TEST(TensorFlow, LoopsWithinLoopsAreCounted) {
  GraphWriter inner, outer, condition, counted;
  const auto scalar = [](std::int64_t value) { return Tensor::of<std::int64_t>(DType::i32, {}, {value}); };
  condition.constant("most", scalar(4000)).node("less", "Less", {"i", "most:output:0"});
  inner.constant("one", scalar(1)).node("count", "AddV2", {"i", "one:output:0"});
  counted.function("c2", {"i"}, {"less:z:0"}, condition).function("b2", {"i"}, {"count:z:0"}, inner);
  outer.constant("start", scalar(0));
  outer.node("next", "StatelessWhile", {"start:output:0"},
             {{"cond", of_function("c2")}, {"body", of_function("b2")}, {"T", of_types({DType::i32})}});
  const testing::WithinLimits limits;
  const std::string said = error_of(loop_of(4000, outer, counted));
  EXPECT_NE(said.find(testing::too_many_nodes()), std::string::npos) << said;
}

// ---- Files.

TEST(TensorFlow, SignaturesNameInputsAndOutputs) {
  GraphWriter g;
  g.input("serving_default_image", {-1, 2}).node("a", "Neg", {"serving_default_image"}).node("b", "Abs", {"a"});
  const Message usual = signature_message({{"image", "serving_default_image:0"}}, {{"score", "b:0"}});
  const Message other = signature_message({{"image", "serving_default_image:0"}}, {{"negative", "a:0"}});
  const std::string bytes = saved_model(g, {{"serving_default", usual}, {"other", other}});
  const auto graph = imported(bytes, "m");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value(graph->inputs[0]).name, "image");
  EXPECT_EQ(graph->value(graph->inputs[0]).type.shape, (Shape{1, 2}));
  EXPECT_EQ(graph->value(graph->outputs[0]).name, "score");
  ImportOptions options;
  options.entry = "other";
  EXPECT_EQ(answer(bytes, {1, 3}, options), (Numbers{-1, -3}));
  options.entry = "othr";
  EXPECT_EQ(error_of(bytes, options),
            "m: has no signature \"othr\"; did you mean \"other\"?; it has other, serving_default");
}
/// model.json of x + w, beside w.bin.
struct BrowserModel {
  std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "tfjs_model";
  BrowserModel() {
    std::filesystem::create_directories(folder);
    const std::vector<float> w = {10, 20};
    EXPECT_TRUE(write_file(folder / "w.bin", {reinterpret_cast<const char*>(w.data()), 8}).ok());
  }
  ~BrowserModel() { std::filesystem::remove_all(folder); }
  Result<Graph> with(const std::string& paths, const std::string& weights) const {
    EXPECT_TRUE(write_file(folder / "model.json",
                           R"({"format":"graph-model","modelTopology":{"node":[
      {"name":"x","op":"Placeholder","attr":{"shape":{"shape":{"dim":[{"size":"2"}]}},"dtype":{"type":"DT_FLOAT"}}},
      {"name":"w","op":"Const","attr":{"dtype":{"type":"DT_FLOAT"},
       "value":{"tensor":{"dtype":"DT_FLOAT","tensorShape":{"dim":[{"size":"2"}]}}}}},
      {"name":"y","op":"AddV2","input":["x","w"],"attr":{"T":{"type":"DT_FLOAT"}}}]},
      "weightsManifest":[{"paths":[)" +
                               paths + R"(],"weights":[)" + weights + "]}]}")
                    .ok());
    return imported_file((folder / "model.json").string(), {});
  }
};
std::string repeated(const std::string& text, int times) {
  std::string all = text;
  for (int i = 1; i < times; ++i) all += "," + text;
  return all;
}

TEST(TensorFlow, FilesOfWeightsAreReadOnceHoweverOftenTheyAreNamed) {
  const BrowserModel model;
  const std::string w = R"({"name":"w","shape":[2],"dtype":"float32"})";
  const auto graph = model.with(repeated(R"("w.bin")", 100000), w);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto results = evaluate_graph(*graph, {floats({2}, {1, 2})});
  EXPECT_EQ(numbers_of((*results)[graph->outputs[0].index()]), (Numbers{11, 22}));
  const auto much = model.with(repeated(R"("./w.bin")", 9), repeated(w, 9));
  ASSERT_FALSE(much.ok());
  EXPECT_NE(much.error().message.find("names its files of weights too often"), std::string::npos)
      << much.error().message;
}
TEST(TensorFlow, FilesOfWeightsAreRegularOnesBesideTheModel) {
  const BrowserModel model;
  const std::string w = R"({"name":"w","shape":[2],"dtype":"float32"})";
  std::filesystem::create_symlink("w.bin", model.folder / "link");
  EXPECT_TRUE(model.with(R"("link")", w).ok());
  std::filesystem::create_symlink("/dev/zero", model.folder / "zero");
  EXPECT_NE(model.with(R"("zero")", w).error().message.find("it is a device"), std::string::npos);
  EXPECT_NE(model.with(R"("../w.bin")", w).error().message.find("which is not beside it"), std::string::npos);
}

/// TensorFlow drops rows whose number is negative.
TEST(TensorFlow, RowsOfNegativeSegmentsAreInNone) {
  const auto put = [](const std::string& op, const Shape& x, Tensor numbers, const Numbers& values) {
    GraphWriter g;
    g.input("x", x).constant("count", integers({2}).reshaped({}));
    g.constant("ids", std::move(numbers));
    return answer(g.node("y", op, {"x", "ids", "count"}, {}).bytes(), values);
  };
  EXPECT_EQ(put("UnsortedSegmentSum", {4}, integers({0, -1, 1, 0}), {1, 2, 4, 8}), (Numbers{9, 4}));
  EXPECT_EQ(put("UnsortedSegmentProd", {4}, integers({0, -1, 1, 0}), {3, 5, 7, 2}), (Numbers{6, 7}));
  EXPECT_EQ(put("UnsortedSegmentSum", {2, 2}, integers({1, -7, 1, 1}).reshaped({2, 2}), {1, 2, 4, 8}), (Numbers{0, 13}))
      << "numbers of two dimensions";
  EXPECT_EQ(put("UnsortedSegmentSum", {2, 2}, integers({1, -1}), {1, 2, 4, 8}), (Numbers{0, 0, 1, 2})) << "rows";
}
TEST(TensorFlow, SegmentsThatAreComputedDropRowsToo) {
  GraphWriter g;
  g.input("x", {3}).input("ids", {3}, DType::i32).constant("count", integers({2}).reshaped({}));
  const auto graph = imported(g.node("y", "UnsortedSegmentSum", {"x", "ids", "count"}, {}).bytes(), "m", {});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto results = evaluate_graph(*graph, {floats({3}, {1, 2, 4}), integers({-1, 1, 2})});
  EXPECT_EQ(numbers_of((*results)[graph->outputs[0].index()]), (Numbers{0, 2}));
}
TEST(TensorFlow, LengthsOfSequencesMayBeNarrow) {
  const OneNode node{
      "ReverseSequence", {2, 3}, {integers({2, 3})}, {{"seq_dim", of_integer(1)}, {"batch_dim", of_integer(0)}}};
  EXPECT_EQ(answer(node.bytes(), {1, 2, 3, 4, 5, 6}), (Numbers{2, 1, 3, 6, 5, 4}));
}
/// 1/3 of the way between two pixels is 341/1024.
TEST(TensorFlow, CubicDistancesAreThoseOfATable) {
  GraphWriter g;
  g.input("x", {1, 1, 6, 1}).constant("size", integers({1, 18}));
  const Numbers y = answer(g.node("y", "ResizeBicubic", {"x", "size"}, {}).bytes(), {0, 1, 8, 27, 64, 125});
  const float t = 341.0F / 1024, a = -0.75F;
  const auto near = [&](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [&](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  EXPECT_NEAR(y[7], 1 * far(t + 1) + 8 * near(t) + 27 * near(1 - t) + 64 * far(2 - t), 1e-5);
}
TEST(TensorFlow, SmallResultsKeepTheirDigits) {
  const auto of = [](const std::string& op, double x) { return answer(OneNode{op, {1}, {}, {}}.bytes(), {x}).at(0); };
  EXPECT_NEAR(of("Expm1", 1e-7) / 1.00000005e-7, 1, 3e-7);
  EXPECT_NEAR(of("Log1p", 1e-7) / 0.99999995e-7, 1, 3e-7);
  EXPECT_NEAR(of("Erfc", 6) / std::erfc(6.0), 1, 6e-7);
}

TEST(TensorFlow, VariablesThatAreWrittenAreRefused) {
  GraphWriter body, g;
  body.node("one", "OnesLike", {"a"}).node("write", "AssignAddVariableOp", {"v", "one:y:0"});
  body.node("y", "ReadVariableOp", {"v"});
  g.function("f", {"a", "v"}, {"y:value:0"}, body);
  g.input("x", {1}).node("state", "VarHandleOp", {}, {{"shared_name", of_text("state")}});
  g.node("y", "StatefulPartitionedCall", {"x", "state"}, {{"f", of_function("f")}, {"Tout", of_types({DType::f32})}});
  EXPECT_EQ(error_of(g.bytes()), "m: keeps state from call to call: it writes to its variable \"state\"");
}
TEST(TensorFlow, EveryOperatorWithoutAttributesIsAGraphOrASentence) {
  for (const TfRow& row : rows())
    for (const Shape& shape : {Shape{1, 2, 4, 4}, Shape{2, 3}})
      for (std::size_t count = 0; count <= 4; ++count) {
        const std::vector<Tensor> constants(count, Tensor(DType::f32, shape));
        const auto graph = imported(OneNode{std::string(row.op), shape, constants, {}}.bytes(), "m");
        EXPECT_TRUE(graph.ok() || !graph.error().message.empty()) << row.op;
      }
}
TEST(TensorFlow, WhatIsNotReadIsNamed) {
  GraphWriter g;
  g.input("x", {2}).node("block/odd", "UniqueWithCounts", {"x"}).node("y", "Neg", {"block/odd"});
  EXPECT_EQ(error_of(g.bytes()).find("this operator is not supported: UniqueWithCounts; --define"), 0u);
  EXPECT_EQ(
      error_of(OneNode{"Conv2D", {1, 2, 2, 1}, {floats({1, 1, 1, 1}, {1})}, {{"padding", of_text("FULL")}}}.bytes()),
      "y (Conv2D): attribute \"padding\" is \"FULL\"; expected VALID, SAME or EXPLICIT");
  GraphWriter old;
  old.input("x", {2})
      .node("in", "Enter", {"x"})
      .node("m", "Merge", {"in", "next"})
      .node("next", "NextIteration", {"m"});
  EXPECT_EQ(error_of(old.node("y", "Exit", {"m"}).bytes()),
            "in (Enter): is part of a loop of TensorFlow 1; in Python: convert_variables_to_constants_v2(function, "
            "lower_control_flow=False) writes While and If, which are supported");
  GraphWriter whole;
  whole.input("x", {2}).input("limit", {});
  whole.node("in", "Enter", {"x"}).node("m", "Merge", {"in", "next"}).node("less", "Less", {"m", "limit"});
  whole.node("goes_on", "LoopCond", {"less"}).node("s", "Switch", {"m", "goes_on"}).node("more", "Neg", {"s:1"});
  EXPECT_EQ(error_of(whole.node("next", "NextIteration", {"more"}).node("y", "Exit", {"s"}).bytes()),
            "in (Enter): is part of a loop of TensorFlow 1; in Python: convert_variables_to_constants_v2(function, "
            "lower_control_flow=False) writes While and If, which are supported");
}
TEST(TensorFlow, GarbageIsASentence) {
  GraphWriter body, g;
  body.node("twice", "AddV2", {"a", "a"});
  g.function("f", {"a"}, {"twice:z:0"}, body).input("x", {1, 4, 4, 1}).constant("w", floats({1, 1, 1, 2}, {1, 2}));
  g.node("c", "Conv2D", {"x", "w"}, {{"strides", of_integers({1, 2, 2, 1})}, {"padding", of_text("SAME")}});
  g.node("call", "PartitionedCall", {"c"}, {{"f", of_function("f")}, {"Tout", of_types({DType::f32})}})
      .node("y", "Relu", {"call"});
  Rng rng(5);
  int read_count = 0;
  for (const std::string& whole :
       {g.bytes(), saved_model(g, {{"s", signature_message({{"x", "x:0"}}, {{"y", "y:0"}})}})}) {
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = whole;
      for (std::int64_t k = rng.between(1, 4); k > 0; --k)
        damaged[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(damaged.size()) - 1))] =
            static_cast<char>(rng.between(0, 1) == 0 ? rng.between(0, 8) : rng.between(0, 255));
      const auto graph = imported(damaged, "m");
      read_count += graph.ok() ? 1 : 0;
      if (graph.ok()) continue;
      ASSERT_FALSE(graph.error().message.empty());
      ASSERT_EQ(graph.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read_count, 0) << "some damage is harmless";
}
/// Blocks of empty entries that are named again and again.
TEST(TensorFlow, TablesAreReadInBoundedTime) {
  constexpr std::size_t kEntries = testing::kSanitized ? 20000 : 200000;
  const auto number = [](std::size_t n) {
    std::string text;
    for (; n >= 0x80; n >>= 7) text += static_cast<char>((n & 0x7f) | 0x80);
    return text + static_cast<char>(n);
  };
  const std::string inner = std::string(3 * kEntries, '\0') + std::string(4, '\0');
  const std::string handle = number(0) + number(inner.size());
  std::string index;
  for (std::size_t i = 0; i < kEntries; ++i) index += number(0) + number(0) + number(handle.size()) + handle;
  index += std::string(4, '\0');
  std::string footer = number(0) + number(0) + number(inner.size() + 1) + number(index.size());
  footer.resize(40);
  const auto table = parse_table(inner + '\0' + index + '\0' + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb", "t");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().message, "t: has more entries than its size allows");
}
TEST(TensorFlow, TablesThatAreCutOffAreRefused) {
  const std::string magic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
  EXPECT_EQ(parse_table("", "t").error().message, "t: is no index of a checkpoint");
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(static_cast<std::size_t>(rng.between(40, 120)), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.between(0, 1) == 0 ? rng.between(0, 16) : rng.between(0, 255));
    const auto table = parse_table(bytes + magic, "t");
    if (!table.ok()) {
      ASSERT_EQ(table.error().message.rfind("t: ", 0), 0u);
    }
  }
}

// ---- Real models.

/// The largest difference of any output, as a part of the largest magnitude.
double difference(const std::string& model, const std::string& input, const std::vector<std::string>& outputs) {
  const auto graph = imported_file(model);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return 1;
  }
  const auto values = evaluate_graph(*graph, {npy(input)});
  double most = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    most = std::max(most, compare((*values)[graph->outputs[i].index()], npy(outputs[i])).relative);
  return most;
}
TEST(TensorFlowFiles, OfAFolderThatIsGivenAnswerAsTheyShould) {
  const char* folder = std::getenv("WHET_FRONTENDS");
  if (folder == nullptr) GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  const std::string frontends = folder;
  // tests/models/tensorflow/kws.out0.npy: computed in Python from the variables by the layers that Keras names.
  EXPECT_LT(difference(frontends + "/tensorflow/kws", frontends + "/tflite/kws_ref_model_float32.in0.npy",
                       {checkout_path("tests/models/tensorflow/kws.out0.npy")}),
            1e-4);
  // The answers of basic_pitch take minutes operator by operator: `whet check` compares them.
  EXPECT_TRUE(imported_file(frontends + "/tensorflow/basic_pitch").ok());
}

}  // namespace tensorflow_test
}  // namespace whet::tensorflow
