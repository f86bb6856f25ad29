#include "import/until.h"

#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "import_onnx/import_onnx.h"
#include "import_onnx/testing/one_node.h"

namespace whet {
namespace {

OnnxNode node(std::vector<std::string> outputs, const std::string& op, std::vector<std::string> inputs) {
  const std::size_t dot = op.find('.');
  const bool own = dot != std::string::npos;
  return {outputs[0], op.substr(own ? dot + 1 : 0), own ? op.substr(0, dot) : "", std::move(inputs), outputs, {}, {},
          ""};
}
OnnxNode node(const char* output, const char* op, std::vector<std::string> inputs) {
  return node(std::vector<std::string>{output}, op, std::move(inputs));
}

/// A detector: a picture becomes boxes and scores, of which an operator that nobody reads chooses; `best` needs no choice.
OnnxModel detector() {
  OnnxModel model = one_node("", 13, {f32({1, 4}), f32({4}), ints({0})}, {});
  model.nodes = {node("boxes", "Relu", {"a"}),          node("scores", "Sigmoid", {"boxes"}),
                 node("limit", "Neg", {"c"}),           node("chosen", "mylib.Choose", {"boxes", "scores", "limit"}),
                 node("scaled", "Mul", {"boxes", "b"}), node("y", "Gather", {"scaled", "chosen"}),
                 node("best", "Neg", {"scores"})};
  model.outputs = {"y", "best"};
  return model;
}

std::string message(const std::vector<std::string>& until) {
  ImportOptions options;
  options.until = until;
  const Result<Graph> graph = import_onnx(detector(), options);
  if (!graph.ok()) return graph.error().message;
  std::string text;
  for (const ValueId id : graph->inputs) text += graph->value(id).name + " ";
  text += "->";
  for (const ValueId id : graph->outputs) text += " " + graph->value(id).name;
  return text;
}

TEST(Until, AModelEndsWhereItIsTold) {
  EXPECT_EQ(message({"boxes", "scores"}), "a -> boxes scores");
  EXPECT_EQ(message({"scaled", "best", "scaled"}), "a b -> scaled best");
}
TEST(Until, AnUnknownValueIsNamed) {
  EXPECT_EQ(message({"score"}), "--until score: the model has no such value; did you mean \"scores\"?");
}
TEST(Until, AnUnreadableOperatorSaysWhereTheModelCouldEndBeforeIt) {
  EXPECT_EQ(message({}),
            "this operator is not supported in operator set 13: mylib.Choose; what comes before can be read: "
            "--until boxes --until scores --until scaled --until best; --define mylib.Choose=FILE.dag defines it "
            "(docs/operators/own.md)");
  EXPECT_EQ(message({"boxes", "scores", "scaled", "best"}), "a b -> boxes scores scaled best");
}
TEST(Until, WhatIsLeftOutIsNoValue) {
  OnnxModel model = one_node("", 13, {f32({1, 4}), f32({1, 4}), f32({})}, {});
  model.nodes = {node({"p", ""}, "Relu", {"a", "b"}), node({"q", ""}, "Dropout", {"a"}),
                 node("z", "Clip", {"a", "", "c"})};
  model.outputs = {"p", "q", "z"};
  const std::string said = import_onnx(model, {}).error().message;
  EXPECT_NE(said.find("--until q --until z"), std::string::npos) << said;
}
TEST(Until, NothingMoreIsReadOfANetworkThatHasGrownTooLarge) {
  if (testing::kSanitized) GTEST_SKIP() << "a gibibyte takes half a minute there";
  const auto whole = [](std::int64_t value) {
    Tensor tensor(DType::i64, {});
    tensor.set_integer(0, value);
    return tensor;
  };
  OnnxModel model = one_node("", 13, {f32({4})}, {});
  model.initializers = {{"s", whole(0)}, {"l", whole(std::int64_t{1} << 24)}, {"d", whole(1)}};
  model.nodes.clear(), model.outputs.clear();
  for (int k = 0; k < 40; ++k) {
    model.outputs.push_back("y" + std::to_string(k));
    model.nodes.push_back(node({model.outputs.back()}, "Range", {"s", "l", "d"}));
  }
  const std::string said = import_onnx(model, {}).error().message;
  EXPECT_NE(said.find("1 GiB"), std::string::npos) << said;
  EXPECT_EQ(said.find("--until"), std::string::npos) << said;
}
TEST(Until, NothingIsSaidWhereNothingComesBefore) {
  OnnxModel model = one_node("mylib.Choose", 13, {f32({1, 4}), f32({1, 4})}, {});
  EXPECT_EQ(
      import_onnx(model, {}).error().message,
      "this operator is not supported in operator set 13: mylib.Choose; --define mylib.Choose=FILE.dag defines it "
      "(docs/operators/own.md)");
}

}  // namespace
}  // namespace whet
