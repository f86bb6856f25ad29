#include "import/define.h"

#include <gtest/gtest.h>

#include "import_onnx/import_onnx.h"
#include "import_onnx/testing/one_node.h"
#include "ops/evaluate_graph.h"

// Operators that the user defines, at nodes of ONNX.

namespace whet {
namespace define_test {
namespace {

constexpr const char* kOperator = "com.acme.Own";

Result<Graph> imported(const OnnxModel& model, const std::string& text) {
  ImportOptions options;
  options.definitions[kOperator] = {"own.dag", text};
  return import_onnx(model, options);
}
/// The graph of one node with that definition, or the sentence.
std::string text_of(const std::vector<In>& inputs, const std::string& text, Attributes attributes = {},
                    int outputs = 1) {
  const Result<Graph> graph = imported(one_node(kOperator, 18, inputs, std::move(attributes), outputs), text);
  return graph.ok() ? to_text(*graph) : graph.error().message;
}
/// The first output for inputs of 0, 1, 2, ... each, or the sentence.
std::string values_of(const std::vector<In>& inputs, const std::string& text, Attributes attributes = {}) {
  const Result<Graph> graph = imported(one_node(kOperator, 18, inputs, std::move(attributes)), text);
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> given;
  for (const ValueId id : graph->inputs) {
    Tensor input(graph->value(id).type.dtype, graph->value(id).type.shape);
    for (std::int64_t i = 0; i < input.size(); ++i) input.set(i, static_cast<double>(i));
    given.push_back(std::move(input));
  }
  return values_text(evaluate_graph(*graph, given).value()[graph->outputs[0].index()]);
}
bool is_of_elements(const std::vector<In>& inputs, const std::string& text) {
  const Graph graph = imported(one_node(kOperator, 18, inputs, {}), text).value();
  return is_elementwise(std::get<CustomOperator>(graph.nodes.back().op));
}

constexpr const char* kTwice = "x = PLACEHOLDER []\ny() = (x[]*2f)\nreturn y\n";

TEST(Define, AScalarFunctionIsThatOfEachElementOfAnyShape) {
  EXPECT_EQ(values_of({f32({2, 2})}, kTwice), "f32[2x2] {0, 2, 4, 6}");
  EXPECT_EQ(values_of({f32({3})}, kTwice), "f32[3] {0, 2, 4}");
  EXPECT_EQ(values_of({f32({2, 2}), f32({2})}, "a = PLACEHOLDER []\nb = PLACEHOLDER []\ny() = (a[] - b[])\nreturn y\n"),
            "f32[2x2] {0, 0, 2, 2}");
}
TEST(Define, SizesByNameAreThoseOfTheNodesInputs) {
  const char* product =
      "a = PLACEHOLDER [N, K]\nb = PLACEHOLDER [K, M]\n"
      "y(i, j) += (a[i, k]*b[k, j]) for i in N, j in M, k in K\nreturn y\n";
  EXPECT_EQ(values_of({f32({2, 2}), f32({2, 3})}, product), "f32[2x3] {3, 4, 5, 9, 14, 19}");
  EXPECT_EQ(text_of({f32({2, 2}), f32({3, 2})}, product), "n: own.dag: K is 2, and 3 in b; a size has one value");
  EXPECT_EQ(text_of({f32({2, 2}), f32({3})}, product),
            "n: own.dag defines com.acme.Own of b with 2 dimensions; the node gives f32[3]");
}
TEST(Define, ASizeLineHasTheValuesThatTheNodeMayHave) {
  const char* doubled = "n = SIZE 1..4 at 2\nx = PLACEHOLDER [n]\ny(i) = x[floordiv(i, 2)] for i in (n*2)\nreturn y\n";
  EXPECT_EQ(values_of({f32({2})}, doubled), "f32[4] {0, 0, 1, 1}");
  EXPECT_EQ(text_of({f32({8})}, doubled).find("n: own.dag: "), 0u) << text_of({f32({8})}, doubled);
}
TEST(Define, AttributesAreNumbersInBraces) {
  const char* clipped = "x = PLACEHOLDER []  # {is no attribute}\ny() = min((x[]*{alpha}f), {limits[1]}f)\nreturn y\n";
  EXPECT_EQ(values_of({f32({3})}, clipped, {set("alpha", 0.5), set("limits", Ints{0, 3})}), "f32[3] {0, 0.500000, 1}");
  EXPECT_EQ(values_of({f32({3})}, clipped, {set("alpha", 4), set("limits", Ints{0, 3})}), "f32[3] {0, 3, 3}");
  EXPECT_EQ(text_of({f32({3})}, clipped, {set("beta", 4)}),
            "n: own.dag needs the attribute alpha, which n does not have (it has beta)");
  EXPECT_EQ(text_of({f32({3})}, clipped, {set("alpha", 4), set("limits", Ints{7})}),
            "n: own.dag needs {limits[1]}, and limits of n has 1 number");
  EXPECT_EQ(text_of({f32({3})}, "x = PLACEHOLDER []\ny() = (x[]*{alpha)\nreturn y\n"),
            "n: own.dag: an attribute begins with { and does not end with }");
  EXPECT_EQ(text_of({f32({3})}, "x = PLACEHOLDER []\ny() = (x[]*{a[b]}f)\nreturn y\n", {set("a", 1)}),
            "n: own.dag: {a[b]} is no attribute; expected {name} or {name[0]}");
  EXPECT_EQ(text_of({f32({3})}, "x = PLACEHOLDER []\ny() = (x[]*{a}f)\nreturn y\n", {set("a", Ints{1, 2})}),
            "n: own.dag: the attribute a of n is a list of 2; {a[0]} is its first number");
}
TEST(Define, AnAttributeThatIsLeftOutHasTheUsualValue) {
  const char* scaled = "x = PLACEHOLDER []\ny() = (x[]*{alpha=3}f)\nreturn y\n";
  EXPECT_EQ(values_of({f32({2})}, scaled), "f32[2] {0, 3}");
  EXPECT_EQ(values_of({f32({2})}, scaled, {set("alpha", -1.0)}), "f32[2] {0, -1}");
}
TEST(Define, WhatGoesElementByElementIsKnownToDoSo) {
  const auto of = [](const std::string& body) {
    return "x = PLACEHOLDER [N, C]\ns = PLACEHOLDER [C]\ny(i, j) = " + body + " for i in N, j in C\nreturn y\n";
  };
  EXPECT_TRUE(is_of_elements({f32({2, 3}), f32({3})}, of("max(x[i, j], s[j])")));
  EXPECT_FALSE(is_of_elements({f32({2, 3}), f32({3})}, of("(x[i, j] + (s[j]*f32(i)))"))) << "depends on the place";
  EXPECT_FALSE(is_of_elements({f32({2, 3}), f32({3})}, of("x[i, 0]"))) << "reads another element";
  EXPECT_TRUE(
      is_of_elements({f32({2, 3, 1, 1}), f32({3})},
                     "x = PLACEHOLDER [N, C, H, W]\ns = PLACEHOLDER [C]\nt(n, c, h, w) = (x[n, c, h, w]*s[c]) for "
                     "n in N, c in C, h in H, w in W\ny(n, c, h, w) = (t[n, c, h, w] + 1f) for n in N, c in C, h in "
                     "H, w in W\nreturn y\n"))
      << "one number a channel";
}
TEST(Define, OneNumberAChannelBroadcasts) {
  EXPECT_EQ(values_of({f32({1, 2, 2}), f32({2})},
                      "x = PLACEHOLDER [N, C, W]\ns = PLACEHOLDER [C]\n"
                      "y(n, c, w) = (x[n, c, w]*s[c]) for n in N, c in C, w in W\nreturn y\n"),
            "f32[1x2x2] {0, 0, 2, 3}");
}
TEST(Define, OutputsComeInOrder) {
  const char* both = "x = PLACEHOLDER [N]\nlow() min= x[i] for i in N\nhigh() max= x[i] for i in N\nreturn low, high\n";
  const std::string text = text_of({f32({3})}, both, {}, 2);
  EXPECT_NE(text.find("y: f32[scalar] = com.acme.Own(a)"), std::string::npos) << text;
  EXPECT_NE(text.find("y1: f32[scalar] = com.acme.Own(a)"), std::string::npos) << text;
  EXPECT_EQ(text_of({f32({3})}, both, {}, 3), "n: own.dag defines com.acme.Own with 2 outputs; the node has 3");
}
TEST(Define, WhatTheNodeGivesHasToFit) {
  EXPECT_EQ(text_of({f32({2}), f32({2})}, kTwice), "n: own.dag defines com.acme.Own of 1 input; the node has 2");
  EXPECT_EQ(text_of({i64({2})}, kTwice), "n: own.dag defines com.acme.Own of x f32; the node gives i64[2]");
  EXPECT_EQ(text_of({f32({2})}, "x = PLACEHOLDER [3]\ny(i) = x[(2 - i)] for i in 3\nreturn y\n"),
            "n: own.dag defines com.acme.Own of x f32[3]; the node gives f32[2]");
  EXPECT_EQ(text_of({left_out(), f32({2})}, "a = PLACEHOLDER []\nb = PLACEHOLDER []\ny() = (a[] + b[])\nreturn y\n"),
            "n: input 0 of com.acme.Own is left out; own.dag defines it of tensors");
}
TEST(Define, MistakesOfTheTextHaveTheirLine) {
  EXPECT_EQ(text_of({f32({2})}, "x = PLACEHOLDER []\ny() = z[]\nreturn y\n"),
            "n: own.dag: DAG, line 2, column 9: no op before this line is named 'z'");
  EXPECT_EQ(text_of({f32({2})}, "x = PLACEHOLDER [N]\ny(i) = x[(i + 1)] for i in N\nreturn y\n")
                .find("n: own.dag: y reads x at (i + 1) in dimension 0"),
            0u);
  EXPECT_EQ(values_of({f32({2})}, "\xEF\xBB\xBFx = PLACEHOLDER []\r\ny() = (x[]*2f)\r\nreturn y\r\n"), "f32[2] {0, 2}");
}
TEST(Define, ADefinitionThatNoNodeHasIsAMistake) {
  EXPECT_EQ(imported(one_node("Relu", 18, {f32({2})}, {}), kTwice).error().message,
            "--define com.acme.Own=own.dag: no node that the outputs need has this operator");
}
TEST(Define, WinsOverWhatIsKnown) {
  ImportOptions options;
  options.definitions["Relu"] = {"own.dag", kTwice};
  EXPECT_NE(to_text(import_onnx(one_node("Relu", 18, {f32({2})}, {}), options).value()).find("= Relu(a)"),
            std::string::npos);
}
TEST(Define, NodesOfBranchesAndFunctionsHaveItToo) {
  auto branch = std::make_shared<OnnxSubgraph>();
  branch->nodes.push_back({"", "Own", "com.acme", {"a"}, {"z"}, {}});
  branch->outputs = {"z"};
  Tensor yes(DType::boolean, {});
  yes.set(0, 1);
  OnnxModel choice = one_node("If", 18, {f32({2}), yes}, {});
  choice.nodes[0].inputs = {"b"};
  choice.nodes[0].captured = {"a"};
  choice.nodes[0].attributes = {set("then_branch", std::shared_ptr<const OnnxSubgraph>(branch)),
                                set("else_branch", std::shared_ptr<const OnnxSubgraph>(branch))};
  const Result<Graph> graph = imported(choice, kTwice);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_NE(to_text(*graph).find("= com.acme.Own(a)"), std::string::npos) << to_text(*graph);
  OnnxFunction function;
  function.opset = 18;
  function.body.nodes = {{"", "Own", "com.acme", {"x"}, {"z"}, {{"alpha", OnnxAttribute::Reference{"by"}}}}};
  function.body.inputs = {"x"};
  function.body.outputs = {"z"};
  function.attributes = {"by"};
  OnnxModel calling = one_node("local.F", 18, {f32({2})}, {set("by", 5)});
  calling.functions[{"local", "F", ""}] = function;
  const Result<Graph> called = imported(calling, "x = PLACEHOLDER []\ny() = (x[]*{alpha}f)\nreturn y\n");
  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_EQ(
      values_text(
          evaluate_graph(*called, {Tensor::of<double>(DType::f32, {2}, {1, 2})}).value()[called->outputs[0].index()]),
      "f32[2] {5, 10}");
}

}  // namespace
}  // namespace define_test
}  // namespace whet
