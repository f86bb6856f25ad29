#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "import_torch/testing/pt2.h"
#include "ops/evaluate_graph.h"

/// Numbers of results as values, and results beside padding: see docs/operators/onnx.md.
namespace whet::torch {
namespace torch_counted_test {

using Numbers = std::vector<double>;

/// x is {1, -1, 2, -2, 3} and r [5, 2] is 1 .. 10; s are the three positive ones of x, t the rows of r at them, and n is how many
/// they are.
Pt2 chosen() {
  Pt2 p;
  p.input("x", {5}).input("r", {5, 2});
  p.node("aten.gt.Scalar", "self=%x other=0", {"m"});
  p.node("aten.masked_select.default", "self=%x mask=%m", {"s"});
  p.node("aten.index.Tensor", "self=%r indices=(%m)", {"t"});
  p.number("aten.sym_size.int", "self=%s dim=0", "n");
  return p;
}
std::string text_of(const Tensor& y) {
  std::string text;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%.4g", y.get(i));
    text += (i > 0 ? " " : "") + std::string(number);
  }
  return text;
}
/// y in words, and how many of its entries are results; or the error.
std::string answer(const Pt2& program, const Numbers& x = {1, -1, 2, -2, 3}) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  if (!graph.ok()) return graph.error().message;
  std::map<std::string, Tensor> given = {{"x", Tensor::of(DType::f32, {5}, x)},
                                         {"r", Tensor::of(DType::f32, {5, 2}, Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}};
  std::vector<Tensor> inputs;
  for (const ValueId id : graph->inputs) inputs.push_back(given.at(graph->value(id).name));
  const std::vector<Tensor> values = evaluate_graph(*graph, inputs).value();
  std::string text;
  for (const ValueId id : graph->outputs) text += (text.empty() ? "" : " of ") + text_of(values[id.index()]);
  return text;
}
/// Nodes "op arguments", whose last one gives y and the others a, b, c.
std::string of(const std::vector<std::string>& nodes, const Numbers& x = {1, -1, 2, -2, 3}) {
  Pt2 p = chosen();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t space = nodes[i].find(' ');
    const std::string op = nodes[i].substr(0, space), arguments = nodes[i].substr(space + 1);
    const std::string name = i + 1 == nodes.size() ? "y" : std::string(1, static_cast<char>('a' + i));
    if (op.starts_with("_operator") || op.starts_with("aten.sym")) {
      p.number(op, arguments, name);
    } else {
      p.node(op, arguments, {name});
    }
  }
  return answer(p.output("y"), x);
}

TEST(TorchCounted, TheNumberOfResultsIsAValue) {
  EXPECT_EQ(of({"aten.zeros.default size=[1]", "aten.add.Tensor self=%a other=#n"}), "3");
  EXPECT_EQ(of({"aten.sum.dim_IntList self=%t dim=[0]", "aten.div.Tensor self=%a other=#n"}), "5 6");
  EXPECT_EQ(of({"aten.sym_numel.default self=%t", "aten.add.Tensor self=%x other=#a"}), "7 5 8 4 9");
  EXPECT_EQ(of({"aten.scalar_tensor.default s=#n"}), "3");
  EXPECT_EQ(of({"aten.full.default size=[2] fill_value=#n"}), "3 3");
  EXPECT_EQ(of({"aten._shape_as_tensor.default self=%t"}), "3 2");
  EXPECT_EQ(of({"_operator.mul a=#n b=2", "_operator.sub a=10 b=#a", "_operator.neg a=#b",
                "aten.scalar_tensor.default s=#c"}),
            "-4");
}
TEST(TorchCounted, NumbersOfResultsAreSizes) {
  EXPECT_EQ(of({"aten.ones.default size=[#n]", "aten.sum.default self=%a"}), "3");
  EXPECT_EQ(of({"aten.full.default size=[#n,2] fill_value=2", "aten.sum.default self=%a"}), "12");
  EXPECT_EQ(of({"aten.new_ones.default self=%x size=[2,#n]", "aten.sum.dim_IntList self=%a dim=[1]"}), "3 3");
  EXPECT_EQ(of({"aten.arange.default end=#n", "aten.sum.default self=%a"}), "3");
  EXPECT_EQ(of({"aten.arange.start_step start=1 end=#n step=2", "aten.sum.default self=%a"}), "1");
  EXPECT_EQ(of({"aten.expand.default self=%r size=[#n,5,2]", "aten.sum.default self=%a"}), "165");
  EXPECT_EQ(of({"aten.slice.Tensor self=%x dim=0 start=0 end=#n", "aten.sum.default self=%a"}), "2");
  EXPECT_EQ(of({"_operator.mul a=#n b=2", "aten.ones.default size=[#a]", "aten.sum.default self=%b"}), "6");
  EXPECT_EQ(of({"_operator.sub a=10 b=#n", "aten.ones.default size=[#a]", "aten.sum.default self=%b"}), "7");
  EXPECT_EQ(of({"_operator.floordiv a=#n b=2", "aten.ones.default size=[#a]", "aten.sum.default self=%b"}), "1");
}
TEST(TorchCounted, WhatIsLikeResultsIsCountedAsTheyAre) {
  EXPECT_EQ(of({"aten.ones_like.default self=%s", "aten.sum.default self=%a"}), "3");
  EXPECT_EQ(of({"aten.full_like.default self=%t fill_value=2", "aten.sum.default self=%a"}), "12");
  EXPECT_EQ(of({"aten.zeros_like.default self=%s", "aten.add.Tensor self=%a other=1", "aten.sum.default self=%b"}),
            "3");
  EXPECT_EQ(of({"aten.expand_as.default self=%r other=%r", "aten.zeros.default size=[1]",
                "aten.expand_as.default self=%b other=%s", "aten.cosh.default self=%c"})
                .substr(0, 5),
            "1 1 1");
  EXPECT_EQ(of({"aten.ones.default size=[1]", "aten.expand_as.default self=%a other=%s", "aten.sum.default self=%b"}),
            "3");
}
TEST(TorchCounted, StatisticsAreOfTheResultsAlone) {
  EXPECT_EQ(of({"aten.var.default self=%s"}), "1");
  EXPECT_EQ(of({"aten.var.correction self=%t dim=[0]"}), "16 16");
  EXPECT_EQ(of({"aten.std.correction self=%t dim=[0] correction=0"}), "3.266 3.266");
  EXPECT_EQ(of({"aten.var.correction self=%t"}), "13.1");
  EXPECT_EQ(of({"aten.mean.default self=%s"}), "2");
  EXPECT_EQ(of({"aten.prod.default self=%s"}), "6");
  EXPECT_EQ(of({"aten.norm.ScalarOpt_dim self=%s p=2 dim=[0]"}), "3.742");
  EXPECT_EQ(of({"aten.logsumexp.default self=%s dim=[0]"}), "3.408");
  EXPECT_EQ(of({"aten.gt.Scalar self=%s other=0", "aten.all.default self=%a"}), "1");
  EXPECT_EQ(of({"aten.lt.Scalar self=%s other=1", "aten.any.default self=%a"}), "0");
  EXPECT_EQ(of({"aten.argmin.default self=%t"}), "0");
  EXPECT_EQ(of({"aten.argmax.default self=%t"}), "5");
}
TEST(TorchCounted, AMeanOfHalvesIsOfASumInF32) {
  Pt2 p;
  p.input("x", {4}, 6).node("aten.gt.Scalar", "self=%x other=0", {"m"});
  p.node("aten.masked_select.default", "self=%x mask=%m", {"s"})
      .node("aten.mean.default", "self=%s", {"y"})
      .output("y");
  const Result<Graph> graph = imported_pt2(p.bytes(), "m");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Tensor x = Tensor::of(DType::f16, {4}, Numbers{60000, -1, 40000, -1});
  EXPECT_EQ(text_of((*evaluate_graph(*graph, {x}))[graph->outputs[0].index()]), "4.998e+04");
}
TEST(TorchCounted, OfOneResultTheVarianceIsNoNumber) {
  Pt2 p = chosen();
  p.node("aten.var.default", "self=%s", {"y"}).output("y");
  EXPECT_TRUE(answer(p, {1, -1, -2, -2, -3}).ends_with("nan"));
  EXPECT_TRUE(answer(p, {-1, -1, -2, -2, -3}).ends_with("nan"));
}
TEST(TorchCounted, ProductsLeaveThePaddingOut) {
  EXPECT_EQ(of({"aten.dot.default self=%s tensor=%s"}), "14");
  EXPECT_EQ(of({"aten.t.default self=%t", "aten.mm.default self=%a mat2=%t"}), "107 122 122 140");
}
TEST(TorchCounted, ShapesKeepResultsInFront) {
  EXPECT_EQ(of({"aten.view.default self=%t size=[#n,2]", "aten.sum.default self=%a"}), "33");
  EXPECT_EQ(of({"aten.view.default self=%t size=[-1]", "aten.var.default self=%a"}), "13.1");
  EXPECT_EQ(of({"aten.flatten.using_ints self=%t", "aten.ones_like.default self=%a", "aten.sum.default self=%b"}), "6");
  EXPECT_EQ(of({"aten.view.default self=%t size=[-1]", "aten.view.default self=%a size=[-1,2]",
                "aten.ones_like.default self=%b", "aten.sum.default self=%c"}),
            "6");
  EXPECT_EQ(of({"_operator.mul a=#n b=2", "aten.view.default self=%t size=[#a]", "aten.mean.default self=%b"}), "5.5");
  EXPECT_EQ(of({"aten.reshape_as.default self=%t other=%t", "aten.mean.default self=%a"}), "5.5");
  EXPECT_EQ(of({"aten.unflatten.int self=%s dim=0 sizes=[-1,1]", "aten.mean.default self=%a"}), "2");
}
TEST(TorchCounted, WhatWouldMixResultsWithPaddingIsRefused) {
  const std::string mixes =
      "y (aten.view): its shape 2x5 would mix results with padding: values decide how many entries of "
      "dimension 0 of f32[5x2] are results; expected -1 or their number in its place";
  EXPECT_EQ(of({"aten.view.default self=%t size=[2,5]"}).substr(0, mixes.size()), mixes);
  EXPECT_EQ(of({"aten.view.default self=%t size=[2,-1]"}).substr(0, mixes.size()), mixes);
  const auto refuses = [](const std::vector<std::string>& nodes, const std::string& sentence) {
    const std::string said = of(nodes);
    EXPECT_NE(said.find(sentence), std::string::npos) << said;
  };
  refuses({"aten.view.default self=%r size=[#n,2]"}, "its shape is decided by values");
  refuses({"aten.eye.default n=#n"}, "is computed from a number of results, which depends on values");
  refuses({"aten.linspace.default start=0 end=1 steps=#n"}, "is computed from a number of results");
  refuses({"aten.flip.default self=%s dims=[0]"}, "would mix them with the padding behind them");
  refuses({"aten.slice.Tensor self=%x dim=0 start=#n end=5"}, "is computed from a number of results");
  refuses({"aten.select.int self=%s dim=0 index=0"}, "would mix them with the padding behind them");
}
TEST(TorchCounted, ScattersWriteNoPadding) {
  // p are the places of s in x, q those in two lists.
  const std::vector<std::string> places = {"aten.zeros.default size=[5]", "aten.clamp.default self=%x min=0",
                                           "aten.nonzero.default self=%b", "aten.squeeze.dim self=%c dim=1"};
  const auto with = [&](const std::string& last) {
    std::vector<std::string> nodes = places;
    nodes.push_back(last);
    return nodes;
  };
  EXPECT_EQ(of(with("aten.index_add.default self=%a dim=0 index=%d source=%s")), "1 0 2 0 3");
  EXPECT_EQ(of(with("aten.index_copy.default self=%x dim=0 index=%d source=%s")), "1 -1 2 -2 3");
  EXPECT_EQ(of(with("aten.index_put.default self=%a indices=(%d) values=%s")), "1 0 2 0 3");
  EXPECT_EQ(of(with("aten.index_put.default self=%a indices=(%d) values=%s accumulate=true")), "1 0 2 0 3");
  EXPECT_EQ(of(with("aten.scatter.src self=%a dim=0 index=%d src=%s")), "1 0 2 0 3");
  EXPECT_EQ(of(with("aten.scatter.value self=%a dim=0 index=%d value=7")), "7 0 7 0 7");
  EXPECT_EQ(of(with("aten.index_fill.int_Scalar self=%x dim=0 index=%d value=9")), "9 -1 9 -2 9");
  EXPECT_EQ(of(with("aten.index_put.default self=%r indices=(%d) values=%t accumulate=true")),
            "2 4 3 4 10 12 7 8 18 20");
  // There are no positive ones.
  EXPECT_EQ(of(with("aten.index_put.default self=%a indices=(%d) values=%s"), {-1, -1, -2, -2, -3}), "0 0 0 0 0");
}

}  // namespace torch_counted_test
}  // namespace whet::torch
