#include <gtest/gtest.h>

#include "import/testing/limits.h"
#include "import_onnx/import_onnx.h"
#include "import_onnx/testing/one_node.h"
#include "ops/evaluate_graph.h"

/// Sequences and optional values as inputs, as outputs, and between.
namespace whet {
namespace sequence_test {

OnnxNode node(std::vector<std::string> outputs, const char* op, std::vector<std::string> inputs,
              Attributes attributes = {}) {
  return {outputs[0], op, "", std::move(inputs), outputs, std::move(attributes), {}, ""};
}

/// Of a sequence "s" of tensors [?, 2] and a tensor "x" [2].
OnnxModel model_of(std::vector<OnnxNode> nodes, std::vector<std::string> outputs) {
  OnnxModel model = one_node("", 18, {}, {});
  OnnxInput list{"s", DType::f32, std::vector<OnnxDimension>{{std::nullopt, ""}, {2, ""}}};
  list.is_sequence = true;
  model.inputs = {list, {"x", DType::f32, std::vector<OnnxDimension>{{2, ""}}}};
  model.initializers = {{"one", Tensor::of<std::int64_t>(DType::i64, {}, {1})}};
  model.nodes = std::move(nodes);
  model.outputs = std::move(outputs);
  return model;
}

/// "name: f32[2] {1, 2}" for each output, one a line, where s holds [[1, 2]] and [[3, 4], [5, 6]], and x [10, 20].
std::string answers(const OnnxModel& model) {
  const Tensor first = Tensor::of<double>(DType::f32, {1, 2}, {1, 2}),
               second = Tensor::of<double>(DType::f32, {2, 2}, {3, 4, 5, 6}),
               x = Tensor::of<double>(DType::f32, {2}, {10, 20});
  ImportOptions options;
  options.shapes = {{"s.0", {1, 2}}, {"s.1", {2, 2}}};
  const Result<Graph> graph = import_onnx(model, options);
  if (!graph.ok()) return graph.error().message;
  const std::vector<Tensor> values = evaluate_graph(*graph, {first, second, x}).value();
  std::string text;
  for (const ValueId id : graph->outputs)
    text += (text.empty() ? "" : "\n") + graph->value(id).name + ": " + values_text(values[id.index()]);
  return text;
}

std::shared_ptr<const OnnxSubgraph> sum_body() {
  OnnxSubgraph body;
  body.nodes.push_back(node({"sum"}, "Add", {"each", "more"}));
  body.inputs = {"each", "more"};
  body.outputs = {"sum"};
  return std::make_shared<const OnnxSubgraph>(body);
}

TEST(Sequences, AreInputsByTheirElements) {
  EXPECT_EQ(answers(model_of(
                {node({"y"}, "ConcatFromSequence", {"s"}, {set("axis", 0)}), node({"n"}, "SequenceLength", {"s"})},
                {"y", "n"})),
            "y: f32[3x2] {1, 2, 3, 4, 5, 6}\nn: i64[scalar] {2}");
  EXPECT_EQ(import_onnx(model_of({node({"y"}, "SequenceLength", {"s"})}, {"y"}), {}).error().message,
            "input \"s\" is a sequence; give the sizes of its elements: --shape s.0=1x3x224x224 --shape s.1=...");
}
TEST(Sequences, AreOutputsByTheirElements) {
  EXPECT_EQ(answers(model_of({node({"y"}, "SequenceInsert", {"s", "x", "one"})}, {"y"})),
            "y.0: f32[1x2] {1, 2}\ny.1: f32[2] {10, 20}\ny.2: f32[2x2] {3, 4, 5, 6}");
}
TEST(Sequences, ThatAreOutputsLeaveOtherValuesTheirNames) {
  const OnnxNode list = node({"y"}, "SequenceInsert", {"s", "x", "one"});
  EXPECT_EQ(answers(model_of({list, node({"y.0"}, "Neg", {"x"})}, {"y", "y.0"})),
            "y.0_1: f32[1x2] {1, 2}\ny.1: f32[2] {10, 20}\ny.2: f32[2x2] {3, 4, 5, 6}\ny.0: f32[2] {-10, -20}");
}
TEST(Sequences, AreMappedElementByElement) {
  EXPECT_EQ(answers(model_of({node({"y"}, "SequenceMap", {"s", "x"}, {set("body", sum_body())})}, {"y"})),
            "y.0: f32[1x2] {11, 22}\ny.1: f32[2x2] {13, 24, 15, 26}");
  const OnnxNode shorter = node({"t"}, "SequenceConstruct", {"x"});
  EXPECT_EQ(answers(model_of({shorter, node({"y"}, "SequenceMap", {"s", "t"}, {set("body", sum_body())})}, {"y"})),
            "y: maps sequences of 2 and 1 elements");
}
TEST(Sequences, OfManyElementsAreNotMappedWithoutEnd) {
  const testing::WithinLimits limits;
  OnnxSubgraph same;
  same.inputs = {"each"}, same.outputs = {"each"};
  std::vector<std::string> inputs = {"long"};
  for (int i = 0; i < 30; ++i) same.inputs.push_back("more" + std::to_string(i)), inputs.emplace_back("long");
  const OnnxNode list = node({"long"}, "SequenceConstruct",
                             std::vector<std::string>(static_cast<std::size_t>(40000 / testing::kLimitsAreParts), "x"));
  const OnnxNode map = node({"y"}, "SequenceMap", inputs, {set("body", std::make_shared<const OnnxSubgraph>(same))});
  EXPECT_EQ(answers(model_of({list, map, node({"n"}, "SequenceLength", {"y"})}, {"n"})),
            "y: " + testing::too_many_nodes());
}
TEST(Sequences, OfMoreThan65536PartsAreRefused) {
  const std::string said = import_onnx(one_node("SplitToSequence", 18, {f32({2000000000})}, {}), {}).error().message;
  EXPECT_NE(said.find("at most 65536 parts are supported"), std::string::npos) << said;
}
TEST(Optionals, AreThereOrNot) {
  const OnnxNode full = node({"o"}, "Optional", {"x"}), empty = node({"e"}, "Optional", {});
  EXPECT_EQ(answers(model_of({full, empty, node({"a"}, "OptionalHasElement", {"o"}),
                              node({"b"}, "OptionalHasElement", {"e"}), node({"y"}, "OptionalGetElement", {"o"})},
                             {"a", "b", "y"})),
            "a: bool[scalar] {1}\nb: bool[scalar] {0}\ny: f32[2] {10, 20}");
  EXPECT_EQ(answers(model_of({empty, node({"y"}, "OptionalGetElement", {"e"})}, {"y"})),
            "y: takes an optional value that is not there");
  EXPECT_EQ(answers(model_of({empty}, {"e"})), "output \"e\" is an optional value that is not there");
  EXPECT_EQ(answers(model_of({empty, node({"y"}, "Relu", {"e"})}, {"y"})),
            "y: input 0 of Relu is an optional value that is not there; expected a tensor");
  EXPECT_EQ(answers(model_of({empty, node({"y"}, "SequenceLength", {"e"})}, {"y"})),
            "y: input 0 of SequenceLength is an optional value that is not there; expected a sequence");
}

}  // namespace sequence_test
}  // namespace whet
