#include "import/file_model.h"

#include <gtest/gtest.h>

#include "import/site.h"

namespace whet {
namespace {

// A format of one's own: a line a node, "v = relu x". `shaped v = shaped x s` gives x the shape that s holds.

struct Line {
  std::string op;
  std::vector<std::string> reads;
};

FileModel model_of(const std::vector<std::pair<std::string, Line>>& lines, std::vector<std::string> outputs) {
  FileModel file;
  file.name = "toy";
  file.outputs = std::move(outputs);
  file.inputs = {{"x", DType::f32, std::vector<FileDimension>{{std::nullopt, "n"}, {6, ""}}},
                 {"s", DType::i64, std::vector<FileDimension>{{2, ""}}}};
  file.constants = {{"c", Tensor::of<double>(DType::f32, {}, {3})}};
  for (std::size_t i = 0; i < lines.size(); ++i)
    file.nodes.push_back({"line " + std::to_string(i), lines[i].second.op, lines[i].second.reads, {lines[i].first}});
  const auto is_known = [](const std::string& op) { return op == "relu" || op == "add" || op == "shaped"; };
  file.missing = [lines, is_known](std::size_t i) {
    const std::string& op = lines[i].second.op;
    return is_known(op) ? std::vector<std::string>() : std::vector<std::string>{op};
  };
  file.import = [lines](GrowingGraph& graph, std::size_t i) -> Status {
    const auto& [output, line] = lines[i];
    NodeSite site(graph, "line " + std::to_string(i), {output});
    std::vector<ValueId> in;
    for (const std::string& name : line.reads) in.push_back(graph.find(name));
    if (line.op == "relu") return site.give(UnaryOperator{UnaryKind::relu}, {in[0]});
    if (line.op == "add") return site.give(site.add("sum", BinaryOperator{BinaryKind::add}, in));
    WHET_TRY(const std::vector<std::int64_t> shape, site.known_integers(in[1], "shape"));
    return site.give(ReshapeOperator{shape}, {in[0]});
  };
  return file;
}

std::string text_of(const FileModel& file, const ImportOptions& options = {}) {
  const Result<Graph> graph = import_file(file, options);
  return graph.ok() ? to_text(*graph) : graph.error().message;
}

TEST(ImportFile, NodesComeInTheOrderOfWhatTheyReadAndDeadOnesGo) {
  EXPECT_EQ(
      text_of(model_of({{"b", {"relu", {"a"}}}, {"dead", {"mystery", {"x"}}}, {"a", {"add", {"x", "c"}}}}, {"b"})),
      "graph toy\n"
      "input x: f32[1x6]\n"
      "input s: i64[2]\n"
      "constant c: f32[scalar]\n"
      "a: f32[1x6] = add(x, c)  # line 2\n"
      "b: f32[1x6] = relu(a)  # line 0\n"
      "output b\n");
}
TEST(ImportFile, UnknownOperatorsAreListedWithWhereTheModelCouldEnd) {
  const FileModel file = model_of({{"a", {"relu", {"x"}}}, {"b", {"mystery", {"a"}}}, {"d", {"riddle", {"b"}}}}, {"d"});
  EXPECT_EQ(text_of(file),
            "these operators are not supported: mystery, riddle; what comes before can be read: --until a; --define "
            "NAME=FILE.dag defines it (docs/operators/own.md)");
  ImportOptions options;
  options.until = {"a"};
  EXPECT_EQ(text_of(file, options),
            "graph toy\n"
            "input x: f32[1x6]\n"
            "a: f32[1x6] = relu(x)  # line 0\n"
            "output a\n");
  options.until = {"bb"};
  EXPECT_EQ(text_of(file, options), "--until bb: the model has no such value; did you mean \"b\"?");
}
TEST(ImportFile, ShapesBindInputs) {
  const FileModel file = model_of({{"a", {"relu", {"x"}}}}, {"a"});
  ImportOptions options;
  options.shapes["x"] = {4, 6};
  EXPECT_NE(text_of(file, options).find("a: f32[4x6] = relu(x)"), std::string::npos) << text_of(file, options);
  options.shapes["x"] = {4, 5};
  EXPECT_EQ(text_of(file, options), "input \"x\" is given as 4x5; the model says nx6");
}
TEST(ImportFile, AShapeThatAnInputDecidesIsAskedForAndFolded) {
  const FileModel file = model_of({{"a", {"relu", {"x"}}}, {"b", {"shaped", {"a", "s"}}}}, {"b"});
  EXPECT_EQ(text_of(file),
            "line 1: its shape is computed from the values of input \"s\"; give its value (--input s=FILE.npy); what "
            "comes before can be read: --until a");
  ImportOptions options;
  options.values["s"] = Tensor::of<double>(DType::i64, {2}, {2, 3});
  EXPECT_EQ(text_of(file, options),
            "graph toy\n"
            "input x: f32[1x6]\n"
            "a: f32[1x6] = relu(x)  # line 0\n"
            "b: f32[2x3] = reshape(a)  # line 1\n"
            "output b\n");
}
TEST(ImportFile, RefusalsNameTheNode) {
  EXPECT_EQ(text_of(model_of({{"a", {"add", {"x", "s"}}}}, {"a"})).substr(0, 8), "line 0: ");
  EXPECT_EQ(text_of(model_of({{"a", {"relu", {"z"}}}}, {"a"})), "line 0: reads \"z\", which nothing defines");
  EXPECT_EQ(text_of(model_of({{"a", {"relu", {"b"}}}, {"b", {"relu", {"a"}}}}, {"a"})),
            "line 0: is in a cycle of nodes");
  EXPECT_EQ(text_of(model_of({}, {})), "the model has no outputs");
}

// ---- Names of steps.

std::string names_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += node.name + "=" + graph.value(node.output).name + " ";
  return text;
}
ValueId step(NodeSite& site, const char* part, ValueId x) {
  return site.add(part, UnaryOperator{UnaryKind::relu}, {x}).value();
}

TEST(NodeSite, AGivenStepTakesTheNamesOfTheNode) {
  GrowingGraph graph;
  const ValueId x = graph.add_input("x", {DType::f32, {2}});
  NodeSite site(graph, "n", {"y", "z"});
  const ValueId first = step(site, "part", x), second = step(site, "part", first), third = step(site, "part", second);
  ASSERT_TRUE(site.give(third, 0).ok());
  ASSERT_TRUE(site.give(second, 1).ok());
  EXPECT_EQ(names_of(graph.graph), "n/part=n/part n_1=z n=y ");
  EXPECT_EQ(graph.find("y"), third);
  step(site, "part", x);  // the numbers of steps that were given are free again
  EXPECT_EQ(names_of(graph.graph), "n/part=n/part n_1=z n=y n/part_1=n/part_1 ");
}
TEST(NodeSite, APassedValueKeepsItsNames) {
  GrowingGraph graph;
  const ValueId x = graph.add_input("x", {DType::f32, {2}});
  NodeSite site(graph, "n", {"y", ""});
  const ValueId y = step(site, "part", x);
  ASSERT_TRUE(site.pass(y).ok());
  ASSERT_TRUE(site.give(x, 1).ok());  // left out
  EXPECT_EQ(names_of(graph.graph), "n/part=n/part ");
  EXPECT_EQ(graph.find("y"), y);
  EXPECT_FALSE(graph.defined(""));
}
TEST(NodeSite, InABodyNamesAreMadeUnique) {
  GrowingGraph graph;
  const ValueId x = graph.add_input("x", {DType::f32, {2}});
  graph.reserve({"x", "y"});
  for (int round = 0; round < 2; ++round) {
    NodeSite site(graph, "loop/n", {"y"}, true);
    ASSERT_TRUE(site.give(step(site, "part", x)).ok());
  }
  EXPECT_EQ(names_of(graph.graph), "loop/n=y_1 loop/n_1=y_2 ");
}
TEST(NodeSite, WhatIsKnownIsFoldedAndItsNameGiven) {
  GrowingGraph graph;
  NodeSite site(graph, "n", {"y"});
  const ValueId two = site.add_scalar("two", DType::i64, 2);
  ASSERT_TRUE(site.give(site.add("sum", BinaryOperator{BinaryKind::add}, {two, two})).ok());
  EXPECT_TRUE(graph.graph.nodes.empty());
  EXPECT_EQ(graph.graph.value(graph.find("y")).name, "y");
  EXPECT_EQ(site.constant(graph.find("y"))->integer(0), 4);
}

}  // namespace
}  // namespace whet
