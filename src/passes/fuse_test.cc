#include "passes/fuse.h"

#include <gtest/gtest.h>

#include "passes/layout.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/long_graphs.h"

namespace whet {
namespace {

using namespace testing;

/// The operators of each group, and its output: `conv+relu -> a`.
std::string groups_of(const Graph& graph) {
  const auto fused = fuse(graph);
  EXPECT_TRUE(fused.ok());
  std::istringstream text(to_text(*fused));
  std::string line, result;
  while (std::getline(text, line)) {
    const std::size_t arrow = line.find(" -> ");
    result += line.substr(0, line.find(" (")) + line.substr(arrow, line.find(' ', arrow + 4) - arrow) + "\n";
  }
  return result;
}

const ReduceOperator kRowMean{ReduceKind::mean, {1}, true};

TEST(Fuse, PutsBiasResidualAndActivationIntoTheLaterConvolution) {
  GraphBuilder build;
  const ValueId x = build.input("x", {1, 4, 6, 6});
  const ValueId a = build.relu("a", build.conv("c1", x, 4, 3, 1, 1));
  const ValueId b = build.conv("c2", a, 4, 3, 1, 1), side = build.conv("c3", x, 4, 1);
  const ValueId y = build.relu("y", build.plus("sum", b, side));
  EXPECT_EQ(groups_of(build.finish({y})), "conv+relu -> a\nconv -> c2\nconv+add+relu -> y\n");
}

TEST(Fuse, KeepsApartWhatAnotherKernelOrTheUserReads) {
  GraphBuilder build;
  const ValueId x = build.input("x", {1, 4, 6, 6});
  const ValueId a = build.conv("a", x, 4, 1);
  const ValueId b = build.relu("b", a);
  EXPECT_EQ(groups_of(build.finish({a, b})), "conv -> a\nrelu -> b\n");
}

TEST(Fuse, KeepsAnActivationThatReadsItsOperandTwiceInTheConvolution) {
  GraphBuilder build;
  const ValueId a = build.conv("a", build.input("x", {1, 4, 6, 6}), 4, 1);
  const ValueId y = build.binary("y", BinaryKind::mul, a, build.unary("s", UnaryKind::sigmoid, a));
  EXPECT_EQ(groups_of(build.finish({y})), "conv+sigmoid+mul -> y\n");
}

TEST(Fuse, NeverRunsOneConvolutionInsideAnother) {
  GraphBuilder build;
  const ValueId a = build.conv("a", build.relu("r", build.input("x", {1, 4, 6, 6})), 4, 3);
  const ValueId y = build.conv("y", a, 4, 1);
  EXPECT_EQ(groups_of(build.finish({y})), "relu -> r\nconv -> a\nconv -> y\n");
}

TEST(Fuse, PutsPaddingIntoItsConsumer) {
  GraphBuilder build;
  const ValueId x = build.input("x", {1, 4, 6, 6});
  const ValueId p = build.add("p", PadOperator{PadMode::reflect, 0, {0, 0, 1, 1}, {0, 0, 1, 1}}, {x});
  const ValueId y = build.conv("y", p, 4, 3);
  EXPECT_EQ(groups_of(build.finish({y})), "pad+conv -> y\n");
}

TEST(Fuse, ReadsAPictureOfAFewChannelsWhereItStands) {
  const auto first_layer = [](std::int64_t channels) {
    GraphBuilder build;
    const ValueId y = build.conv("y", build.input("x", {1, channels, 6, 6}), 4, 3, 2, 1);
    const auto last = convert_to_channels_last(build.finish({y}));
    EXPECT_TRUE(last.ok());
    return groups_of(*last);
  };
  EXPECT_EQ(first_layer(3), "transpose+conv -> y\ntranspose -> y_turned\n");
  EXPECT_EQ(first_layer(8), "transpose -> x_turned\nconv -> y\ntranspose -> y_turned\n");
}

TEST(Fuse, ScalesTheWeightsOfFewChannelsInsteadOfThePicture) {
  const auto scaled = [](std::int64_t channels, std::int64_t kernel) {
    GraphBuilder build;
    const ValueId x = build.conv("x", build.input("picture", {1, 8, 6, 6}), 16, 1);
    const ValueId y = build.binary("y", BinaryKind::mul, x, build.input("scale", {1, 16, 1, 1}));
    const auto last = convert_to_channels_last(build.finish({x, build.conv("next", y, channels, kernel)}));
    EXPECT_TRUE(last.ok());
    const std::string groups = groups_of(*last);
    return groups.substr(groups.find("mul"), groups.find("next") - groups.find("mul"));
  };
  EXPECT_EQ(scaled(24, 1), "mul+conv -> ");
  EXPECT_EQ(scaled(48, 1), "mul -> y\nconv -> ") << "of many channels its tiles have few pixels";
  EXPECT_EQ(scaled(24, 3), "mul -> y\nconv -> ") << "each tap would multiply anew";
}

TEST(Fuse, MakesOneKernelOfAChainThatMovesData) {
  GraphBuilder build;
  const ValueId x = build.input("x", {1, 6, 6, 4}), y = build.input("y", {1, 6, 6, 4});
  const ValueId joined = build.add("joined", ConcatOperator{3}, {x, build.relu("r", y)});
  const ValueId split = build.add("split", ReshapeOperator{{1, 6, 6, 2, 4}}, {joined});
  const ValueId turned = build.add("turned", TransposeOperator{{0, 1, 2, 4, 3}}, {split});
  const ValueId merged = build.add("merged", ReshapeOperator{{1, 6, 6, 8}}, {turned});
  EXPECT_EQ(groups_of(build.finish({merged})), "relu+concat+reshape+transpose+reshape -> merged\n");
}

TEST(Fuse, LeavesASliceThatIsARangeOfCacheLinesAsAnAlias) {
  GraphBuilder build;
  const ValueId x = build.input("x", {4, 16});
  const ValueId row = build.add("row", SliceOperator{{2, 0}, {1, 1}, {1, 16}}, {x});
  const ValueId columns = build.add("columns", SliceOperator{{0, 4}, {1, 1}, {4, 8}}, {x});
  const Graph graph = build.finish({build.unary("a", UnaryKind::exp, row), build.unary("b", UnaryKind::exp, columns)});
  EXPECT_EQ(to_text(*fuse(graph)), "exp (row) -> a f32[1x16]\nslice+exp (x) -> b f32[4x8]\n");
  EXPECT_EQ(alias_offset(graph, graph.nodes[0]), 128u);
  EXPECT_EQ(alias_offset(graph, graph.nodes[1]), std::nullopt);
}
TEST(Fuse, LeavesAReshapeAtTheEdgeAsAnAlias) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, 12});
  const ValueId in = build.add("in", ReshapeOperator{{2, 3, 4}}, {x});
  const ValueId turned = build.add("turned", TransposeOperator{{2, 0, 1}}, {in});
  const ValueId out = build.add("out", ReshapeOperator{{8, 3, 1}}, {turned});
  EXPECT_EQ(groups_of(build.finish({out})), "transpose -> turned\n");
  GraphBuilder alone;
  EXPECT_EQ(groups_of(alone.finish({alone.add("r", ReshapeOperator{{4}}, {alone.input("x", {2, 2})})})), "");
}

TEST(Fuse, FlattensAPictureByAnAliasBehindItsTranspose) {
  const auto flattened = [](std::int64_t side) {
    GraphBuilder build;
    const ValueId turned =
        build.add("turned", TransposeOperator{{0, 3, 1, 2}}, {build.input("x", {1, side, side, 32})});
    return groups_of(build.finish({build.add("flat", ReshapeOperator{{1, side * side * 32}}, {turned})}));
  };
  EXPECT_EQ(flattened(7), "transpose -> turned\n") << "rows of 49 that stay together";
  EXPECT_EQ(flattened(2), "transpose+reshape -> flat\n") << "rows of 4: the flat ones are longer";
}

TEST(Fuse, LeavesNarrowPartsOfACrowdedConcatenationByThemselves) {
  const auto encoded = [](std::int64_t width) {
    GraphBuilder build;
    const ValueId x = build.input("x", {64, width});
    std::vector<ValueId> parts;
    for (const UnaryKind kind : {UnaryKind::sin, UnaryKind::cos, UnaryKind::exp, UnaryKind::tanh})
      parts.push_back(build.unary("part" + std::to_string(parts.size()), kind, x));
    return groups_of(build.finish({build.add("y", ConcatOperator{1}, parts)}));
  };
  EXPECT_EQ(encoded(3), "sin -> part0\ncos -> part1\nexp -> part2\ntanh -> part3\nconcat -> y\n");
  EXPECT_EQ(encoded(16), "sin+cos+exp+tanh+concat -> y\n");
}

TEST(Fuse, ComputesNothingAnewForEachPlaceOfABroadcast) {
  GraphBuilder build;
  const ValueId x = build.input("x", {8, 1}), y = build.input("y", {8, 16});
  const ValueId gate = build.unary("gate", UnaryKind::sigmoid, x);
  const ValueId z = build.binary("z", BinaryKind::mul, y, gate);
  EXPECT_EQ(groups_of(build.finish({z})), "sigmoid -> gate\nmul -> z\n");
}

TEST(Fuse, PutsElementwiseOperatorsIntoTheReductionThatReadsThem) {
  GraphBuilder build;
  const ValueId x = build.input("x", {4, 8});
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {0}, true}, {build.relu("r", x)});
  EXPECT_EQ(groups_of(build.finish({build.relu("y", mean)})), "relu+reduce_mean+relu -> y\n");
}

TEST(Fuse, KeepsSoftmaxWholeWithWhatStandsAroundIt) {
  GraphBuilder build;
  const ValueId x = build.input("x", {4, 8});
  const ValueId scaled = build.binary("scaled", BinaryKind::mul, x, build.constant("k", {}, {0.125}));
  const ValueId soft = build.add("soft", SoftmaxOperator{1}, {scaled});
  const ValueId y = build.binary("y", BinaryKind::mul, soft, x);
  EXPECT_EQ(groups_of(build.finish({y})), "mul+softmax+mul -> y\n");
}

TEST(Fuse, MakesOneKernelOfALayerNormalization) {
  GraphBuilder build;
  const ValueId x = build.plus("x", build.input("a", {4, 8}), build.input("b", {4, 8}));
  const ValueId center = build.binary("center", BinaryKind::sub, x, build.add("mean", kRowMean, {x}));
  const ValueId square = build.binary("square", BinaryKind::mul, center, center);
  const ValueId variance = build.add("variance", kRowMean, {square});
  const ValueId safe = build.plus("safe", variance, build.constant("epsilon", {}, {1e-5}));
  const ValueId norm = build.binary("norm", BinaryKind::div, center, build.unary("sqrt", UnaryKind::sqrt, safe));
  const ValueId scaled = build.binary("scaled", BinaryKind::mul, norm, build.constant("gamma", {8}));
  const ValueId y = build.plus("y", scaled, build.constant("beta", {8}));
  EXPECT_EQ(groups_of(build.finish({y})), "add+reduce_mean+sub+mul+reduce_mean+add+sqrt+div+mul+add -> y\n");
}

TEST(Fuse, DoesNotRunAlongColumnsAsIfTheyWereRows) {
  GraphBuilder build;
  const ValueId x = build.input("x", {4, 8});
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {0}, true}, {x});
  EXPECT_EQ(groups_of(build.finish({build.binary("y", BinaryKind::sub, x, mean)})), "reduce_mean -> mean\nsub -> y\n");
}

TEST(Fuse, CanBeOff) {
  GraphBuilder build;
  const ValueId y = build.relu("y", build.conv("c", build.input("x", {1, 4, 6, 6}), 4, 1));
  const auto fused = fuse(build.finish({y}), {.enabled = false});
  ASSERT_TRUE(fused.ok());
  EXPECT_EQ(fused->groups.size(), 2u);
}

/// Of all operators of a group, constants included.
std::size_t operands_of(const FusedGraph& fused, const Group& group) {
  std::size_t operands = 0;
  for (NodeId n : group.nodes) operands += fused.graph.node(n).inputs.size();
  return operands;
}

TEST(Fuse, CutsALongChainIntoEqualKernels) {
  const auto fused = fuse(long_relus(10 * static_cast<int>(kMostMapped) + 7));
  ASSERT_TRUE(fused.ok());
  ASSERT_EQ(fused->groups.size(), 11u);
  EXPECT_EQ(fused->groups.front().nodes.size(), 7u);
  for (std::size_t g = 1; g < fused->groups.size(); ++g) EXPECT_EQ(fused->groups[g].nodes.size(), kMostMapped);
}

TEST(Fuse, MakesNoKernelLargerThanTheLimit) {
  for (const auto& [name, make] : kLongGraphs) {
    const auto fused = fuse(make(2000));
    ASSERT_TRUE(fused.ok());
    for (const Group& group : fused->groups) {
      if (group.nodes.size() == 1) continue;  // a concatenation of many
      EXPECT_LE(operands_of(*fused, group), kMostOperands) << name;
    }
  }
}

TEST(Fuse, TakesStepsInProportionToTheGraph) {
  for (const auto& [name, make] : kLongGraphs) {
    std::size_t few = 0, many = 0;
    ASSERT_TRUE(fuse(make(8000), {}, &few).ok() && fuse(make(32000), {}, &many).ok());
    EXPECT_LE(many, 5 * few) << name;
  }
}

}  // namespace
}  // namespace whet
