#include "task/task.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "base/testing/random_cases.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/long_graphs.h"
#include "passes/testing/quantized_builder.h"
#include "passes/testing/random_attention.h"
#include "passes/testing/random_graph.h"
#include "task/group_dag.h"
#include "task/testing/evaluate_groups.h"
#include "tensor/compare.h"

namespace whet {
namespace {

using namespace testing;

FusedGraph optimized(const Graph& graph) {
  auto fused = optimize(graph, {});
  WHET_CHECK(fused.ok(), fused.ok() ? "" : fused.error().message.c_str());
  return *fused;
}

std::vector<Task> tasks_of(const Graph& graph) {
  auto tasks = extract_tasks(optimized(graph), Target{});
  WHET_CHECK(tasks.ok(), tasks.ok() ? "" : tasks.error().message.c_str());
  return *tasks;
}

std::string names_of(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += std::to_string(task.weight) + " x " + task.name + "\n";
  return text;
}

TEST(Groups, ComputeWhatTheGraphComputes) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(400)); ++seed) {
    const Graph graph = random_graph(seed);
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    const auto want = evaluate_graph(graph, inputs);
    ASSERT_TRUE(want.ok());
    const FusedGraph fused = optimized(graph);
    const auto got = evaluate_groups(fused, inputs);
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.error().message << "\n" << to_text(fused);
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
      const Difference difference = compare((*got)[k], (*want)[graph.outputs[k].index()]);
      ASSERT_LE(difference.max_abs, 1e-5 * std::max(1.0, difference.largest))
          << "seed " << seed << ", output " << k << "\n"
          << to_text(fused);
    }
  }
}

TEST(Groups, ComputeAttentionHoweverItIsWritten) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::random_cases(60)); ++seed) {
    const bool halves = seed % 3 == 0;
    const Graph graph = halves ? in_halves(random_attention(seed)) : random_attention(seed);
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    const auto want = evaluate_graph(graph, inputs);
    ASSERT_TRUE(want.ok());
    const FusedGraph fused = optimized(graph);
    ASSERT_NE(names_of(tasks_of(graph)).find("1 x attention "), std::string::npos) << "seed " << seed << "\n"
                                                                                   << to_text(fused);
    const auto got = evaluate_groups(fused, inputs);
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.error().message << "\n" << to_text(fused);
    const Difference difference = compare((*got)[0], (*want)[graph.outputs[0].index()]);
    ASSERT_LE(difference.max_abs, (halves ? 4e-3 : 1e-5) * std::max(1.0, difference.largest)) << "seed " << seed << "\n"
                                                                                              << to_text(fused);
  }
}

TEST(Tasks, CoverEveryGroupOnce) {
  for (std::uint64_t seed = 500; seed < 600; ++seed) {
    const FusedGraph fused = optimized(random_graph(seed));
    const auto tasks = extract_tasks(fused, Target{});
    ASSERT_TRUE(tasks.ok()) << tasks.error().message;
    std::vector<int> covered(fused.groups.size(), 0);
    for (const Task& task : *tasks) {
      EXPECT_EQ(static_cast<std::size_t>(task.weight), task.groups.size());
      EXPECT_EQ(task.key, workload_key(task.dag));
      for (int g : task.groups) ++covered[static_cast<std::size_t>(g)];
    }
    for (int count : covered) EXPECT_EQ(count, 1);
  }
}

TEST(Tasks, AreOneForEqualGroups) {
  GraphBuilder build;
  ValueId x = build.input("x", {1, 8, 6, 6});
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    x = build.relu("relu" + n, build.conv("conv" + n, x, 8, 3, 1, 1));
  }
  EXPECT_EQ(names_of(tasks_of(build.finish({x}))),
            "1 x transpose 1x6x6x8\n"
            "3 x conv2d+bias+relu 1x6x6x8 k3 s1 p1\n"
            "1 x transpose 1x8x6x6\n");
}

/// Zero points are equal by chance; bounds of activations lie beyond the byte's. (The first layer reads a transposed picture.)
TEST(Tasks, OfBytesAreOneWhateverTheirScales) {
  struct Layer {
    double zero, scale, high;
  };
  QuantizedBuilder b;
  ValueId x = b.input("x", {1, 16, 6, 6}, DType::u8);
  double zero = 7, scale = 0.5;
  for (const Layer& layer : {Layer{9, 0.25, 64}, Layer{5, 0.03, 8}, Layer{200, 0.011, 1}, Layer{5, 0.02, 6}}) {
    const ConvOperator op{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, Layout::channels_first};
    const ValueId y = b.add(b.next("conv"), op, {b.real(x, zero, scale), b.weights({16, 16, 1, 1})});
    const ValueId sum = b.plus(b.next("sum"), b.real(b.rounded(y, 5, 0.07), 5, 0.07), b.real(x, zero, scale));
    x = b.rounded(b.add(b.next("clip"), ClipOperator{-100, layer.high}, {sum}), layer.zero, layer.scale);
    zero = layer.zero, scale = layer.scale;
  }
  const std::vector<Task> tasks = tasks_of(b.finish({x}));
  EXPECT_NE(names_of(tasks).find("3 x conv2d+"), std::string::npos) << names_of(tasks);
}

/// A division of whole numbers by a known one is a multiplication and a shift.
TEST(Tasks, OfBytesKeepTheWholeNumbersThatTheyDivideBy) {
  QuantizedBuilder b;
  const ValueId x = b.add("wide", CastOperator{DType::i32}, {b.input("x", {4, 64}, DType::u8)});
  const ValueId third = b.binary("third", BinaryKind::div, x, b.number(3, DType::i32));
  const std::vector<Task> tasks = tasks_of(b.finish({b.add("bytes", CastOperator{DType::u8}, {third})}));
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(to_text(tasks[0].dag).find("const"), std::string::npos) << to_text(tasks[0].dag);
}

TEST(Tasks, OfALongChainAreAsManyAsOfALongerOne) {
  for (const auto& make : {long_additions, long_relus, long_residual_blocks})
    EXPECT_EQ(tasks_of(make(1000)).size(), tasks_of(make(5000)).size());
}

TEST(Tasks, OfLongGraphsGiveTheirAnswers) {
  for (const auto& [name, make] : kLongGraphs) {
    const Graph graph = make(name == std::string("additions") ? 120 : 400);  // 2^120 is a float
    const std::vector<Tensor> inputs = random_inputs(graph, 1);
    const auto want = evaluate_graph(graph, inputs);
    ASSERT_TRUE(want.ok());
    const FusedGraph fused = optimized(graph);
    const auto got = evaluate_groups(fused, inputs);
    ASSERT_TRUE(got.ok()) << name << ": " << got.error().message;
    const Difference difference = compare((*got)[0], (*want)[graph.outputs[0].index()]);
    EXPECT_LE(difference.max_abs, 1e-4 * std::max(1.0, difference.largest)) << name;
  }
}

TEST(Tasks, CallThingsAsPeopleDo) {
  GraphBuilder build;
  const ValueId x = build.input("x", {1, 4, 8, 8});
  const ValueId a = build.relu("a", build.conv("depth", x, 4, 3, 2, 1, 4));
  const PoolOperator pool{PoolKind::max, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  const ValueId b = build.add("pool", pool, {a});
  const ValueId c = build.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, false}, {b});
  const ValueId d = build.add("fc", MatMulOperator{}, {c, build.constant("w", {4, 10})});
  const ValueId y = build.add("softmax", SoftmaxOperator{1}, {build.plus("bias", d, build.constant("b", {10}))});
  const std::vector<Task> tasks = tasks_of(build.finish({y}));
  EXPECT_EQ(names_of(tasks),
            "1 x transpose 1x8x8x4\n"
            "1 x depthwise+bias+relu 1x4x4x4 k3 s2 p1\n"
            "1 x maxpool 1x2x2x4 k2 s2 p0\n"
            "1 x reduce_mean 1x4\n"
            "1 x dense+add 1x10\n"
            "1 x softmax 1x10\n");
  std::string labels;
  for (const Task& task : tasks) labels += to_text(task.label) + ", ";
  EXPECT_EQ(labels, "transpose 8x8x4, depthwise 4x4x4 k3, maxpool 2x2x4 k2, reduce_mean 4, dense 10, softmax 10, ");
}

TEST(Tasks, HaveTheKindOfTheOperatorThatCostsMost) {
  GraphBuilder build;
  const ValueId x = build.relu("x", build.input("image", {1, 4, 8, 8}));
  const ValueId padded = build.add("pad", PadOperator{PadMode::constant, 0, {0, 0, 1, 1}, {0, 0, 1, 1}}, {x});
  const ValueId y = build.relu("y", build.conv("conv", padded, 16, 3));
  FusedGraph fused{build.finish({y}), {}};
  const auto label_of_first = [&](std::int64_t nodes) {
    Group group{.outputs = {y}};
    for (std::int64_t n = 0; n < nodes; ++n) group.nodes.push_back(NodeId(n));
    return label_of(fused, group);
  };
  EXPECT_EQ(label_of_first(1).kind, OperatorKind::elementwise);
  EXPECT_EQ(label_of_first(1).op, "relu");
  EXPECT_EQ(label_of_first(2).kind, OperatorKind::copy);
  EXPECT_EQ(label_of_first(2).op, "pad");
  EXPECT_EQ(label_of_first(4).kind, OperatorKind::convolution);
  EXPECT_EQ(to_text(label_of_first(4)), "conv2d 16x8x8 k3");
}

/// `left` and `right` channels of one picture, concatenated before a last convolution.
Graph side_by_side(std::int64_t left, std::int64_t right) {
  GraphBuilder build;
  const ValueId x = build.relu("x", build.conv("in", build.input("image", {1, 8, 6, 6}), 16, 1));
  const ValueId a = build.relu("a", build.conv("left", x, left, 1));
  const ValueId b = build.relu("b", build.conv("right", x, right, 1));
  return build.finish({build.conv("out", build.add("both", ConcatOperator{1}, {a, b}), 8, 1)});
}
TEST(Tasks, ThatWriteIntoAConcatenationNameItsShape) {
  const std::vector<Task> tasks = tasks_of(side_by_side(16, 32));
  EXPECT_EQ(names_of(tasks),
            "1 x transpose 1x6x6x8\n"
            "1 x conv2d+bias+relu 1x6x6x16 k1 s1 p0\n"
            "1 x conv2d+bias+relu 1x6x6x16 k1 s1 p0 in 1x6x6x48\n"
            "1 x conv2d+bias+relu 1x6x6x32 k1 s1 p0 in 1x6x6x48\n"
            "1 x conv2d+bias 1x6x6x8 k1 s1 p0\n"
            "1 x transpose 1x8x6x6\n");
  EXPECT_EQ(tasks[2].within, (Shape{1, 6, 6, 48}));
  EXPECT_EQ(tasks[1].within, Shape());
  EXPECT_EQ(tasks[2].key, workload_key(tasks[2].dag)) << "the key says what is computed, not where it goes";
}
TEST(Tasks, OfOneComputationAreTwoWhereItWritesIntoDifferentWholes) {
  const std::vector<Task> same = tasks_of(side_by_side(16, 16)), other = tasks_of(side_by_side(16, 32));
  EXPECT_EQ(same[2].weight, 2) << "both halves";
  EXPECT_EQ(same[2].key, other[2].key);
  EXPECT_NE(same[2].within, other[2].within);
}
TEST(InPlace, IsDecidedByGraphGroupsAndLayoutsAlone) {
  const FusedGraph fused = optimized(side_by_side(16, 32));
  std::vector<Shape> layouts;
  for (const Group& group : fused.groups) layouts.push_back(fused.graph.value(group.outputs[0]).type.shape);
  const auto parts = [&] { return find_in_place(fused.graph, fused.groups, layouts).parts.size(); };
  EXPECT_EQ(parts(), 2u);
  for (std::size_t g = 0; g < fused.groups.size(); ++g) {
    if (layouts[g] != Shape{1, 6, 6, 32}) continue;
    layouts[g] = {36, 32};  // a kernel that sees its output otherwise cannot write into the whole
    EXPECT_EQ(parts(), 0u);
  }
}

TEST(GroupDag, OfATransposeHasAsFewDimensionsAsItNeeds) {
  const auto shapes = [](Shape shape, std::vector<std::int64_t> perm) {
    GraphBuilder build;
    const ValueId y = build.add("y", TransposeOperator{std::move(perm)}, {build.input("x", std::move(shape))});
    const FusedGraph fused = fuse(build.finish({y})).value();
    const ComputeDag dag = group_dag(fused, fused.groups[0]).value();
    return to_string(dag.ops[0].shape) + " -> " + to_string(dag.op(dag.outputs[0]).shape);
  };
  EXPECT_EQ(shapes({1, 7, 7, 32}, {0, 3, 1, 2}), "49x32 -> 32x49");
  EXPECT_EQ(shapes({1, 32, 7, 7}, {0, 2, 3, 1}), "32x49 -> 49x32");
  EXPECT_EQ(shapes({2, 5, 1, 3, 4}, {0, 3, 2, 4, 1}), "2x5x12 -> 2x12x5") << "a dimension of 1 parts nothing";
  EXPECT_EQ(shapes({2, 3, 4}, {2, 1, 0}), "2x3x4 -> 4x3x2");
}

TEST(ExtractTasks, AFunctionOfElementsOfOnesOwnIsFusedAsThoseOfTheGraphAre) {
  const auto swish = std::make_shared<const ComputeDag>(
      parse_dag("x = PLACEHOLDER []\ny() = (x[]*min(max(((x[]*0.16666667f) + 0.5f), 0f), 1f))\nreturn y\n").value());
  const auto keys = [](const Operator& activation) {
    GraphBuilder build;
    const ValueId first = build.add("a", activation, {build.conv("c", build.input("x", {1, 8, 12, 12}), 16, 3, 2, 1)});
    const ValueId second = build.add("b", activation, {build.conv("d", first, 16, 3, 1, 1, 16)});
    const ValueId pooled = build.add("p", ReduceOperator{ReduceKind::mean, {2, 3}, false}, {second});
    const ValueId product = build.add("m", MatMulOperator{}, {pooled, build.constant("w", {16, 8})});
    std::string text;
    for (const Task& task : tasks_of(build.finish({build.add("e", activation, {product})}))) text += task.key + "\n";
    return text;
  };
  EXPECT_EQ(keys(CustomOperator{"com.acme.Swish", swish}), keys(UnaryOperator{UnaryKind::hard_swish}));
}

TEST(ExtractTasks, OfAnOperatorThatReadsWhereIntegersSayHaveTheUsersTensors) {
  const auto taken =
      std::make_shared<const ComputeDag>(parse_dag("x = PLACEHOLDER [8]\nr = PLACEHOLDER [3] i32 < 8\n"
                                                   "y(i) = x[max(min(i64(r[i]), 7), 0)] for i in 3\nreturn y\n")
                                             .value());
  GraphBuilder build;
  const ValueId x = build.input("x", {8}), r = build.input("r", {3}, DType::i32);
  FusedGraph fused = optimized(build.finish({build.add("y", CustomOperator{"taken", taken}, {x, r})}));
  const auto inputs = [&](std::uint64_t of_x, std::uint64_t of_r) {
    for (Value& value : fused.graph.values) value.contents = value.name == "x" ? of_x : value.name == "r" ? of_r : 0;
    return extract_tasks(fused, Target{}).value().at(0).inputs;
  };
  EXPECT_EQ(inputs(0, 0), TaskInputs());
  EXPECT_EQ(inputs(5, 0), TaskInputs()) << "floats do not say what is read";
  EXPECT_EQ(inputs(5, 6).contents, (std::vector<std::uint64_t>{5, 6}));
  EXPECT_EQ(inputs(0, 6).hash.size(), 16u);
  EXPECT_NE(inputs(0, 6).hash, inputs(0, 7).hash);
}

TEST(ExtractTasks, OfGroupsWithOtherTensorsAreOneTaskWithThoseOfMost) {
  const auto taken =
      std::make_shared<const ComputeDag>(parse_dag("x = PLACEHOLDER [8]\nr = PLACEHOLDER [3] i32 < 8\n"
                                                   "y(i) = x[max(min(i64(r[i]), 7), 0)] for i in 3\nreturn y\n")
                                             .value());
  GraphBuilder build;
  const ValueId x = build.input("x", {8});
  std::vector<ValueId> results;
  for (const char* name : {"a", "b", "c"})
    results.push_back(
        build.add(std::string("y") + name, CustomOperator{"taken", taken}, {x, build.input(name, {3}, DType::i32)}));
  FusedGraph fused = optimized(build.finish(results));
  const auto inputs = [&](std::map<std::string, std::uint64_t> contents) {
    for (Value& value : fused.graph.values) value.contents = contents[value.name];
    const std::vector<Task> tasks = extract_tasks(fused, Target{}).value();
    EXPECT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks.at(0).weight, 3);
    return tasks.at(0).inputs;
  };
  const TaskInputs alike = inputs({{"a", 5}, {"b", 5}, {"c", 5}}), first = inputs({{"a", 5}, {"b", 6}, {"c", 7}});
  EXPECT_EQ(inputs({{"a", 5}}), alike) << "the others have none";
  EXPECT_EQ(first.contents, alike.contents);
  EXPECT_NE(first.hash, alike.hash);
  EXPECT_NE(first.hash, inputs({{"a", 5}, {"b", 6}, {"c", 8}}).hash) << "one of them has other tensors";
  EXPECT_EQ(inputs({{"a", 6}, {"b", 5}, {"c", 5}}).contents, alike.contents);
}

TEST(ExtractTasks, OfEqualGroupsAreOneTaskAndOfGroupsThatDifferInAnythingTwo) {
  const auto count = [](const std::function<ValueId(GraphBuilder&, ValueId, int)>& part) {
    GraphBuilder build;
    std::vector<ValueId> results;
    for (int i = 0; i < 2; ++i) results.push_back(part(build, build.input("x" + std::to_string(i), {4, 6}), i));
    return tasks_of(build.finish(results)).size();
  };
  const auto named = [](const char* name, int i) { return name + std::to_string(i); };
  const auto times = [&](const std::vector<double>& factors) {
    return count([&](GraphBuilder& build, ValueId x, int i) {
      const ValueId factor = build.constant(named("f", i), {1}, {factors[static_cast<std::size_t>(i)]});
      return build.binary(named("y", i), BinaryKind::mul, x, factor);
    });
  };
  EXPECT_EQ(times({2, 2}), 1u);
  EXPECT_EQ(times({2, 3}), 2u) << "another literal";
  EXPECT_EQ(count([&](GraphBuilder& build, ValueId x, int i) {
              return build.add(named("y", i), ReduceOperator{ReduceKind::sum, {i}}, {x});
            }),
            2u)
      << "another axis";
  EXPECT_EQ(count([&](GraphBuilder& build, ValueId x, int i) {
              const ValueId other = build.input(named("o", i), {4, 6});
              return build.binary(named("y", i), BinaryKind::sub, i == 0 ? x : other, i == 0 ? other : x);
            }),
            1u)
      << "inputs have no names";
  EXPECT_EQ(count([&](GraphBuilder& build, ValueId x, int i) {
              return build.binary(named("y", i), BinaryKind::sub, x, i == 0 ? x : build.input("o", {4, 6}));
            }),
            2u)
      << "one reads its input twice";
}

TEST(GroupDag, MultipliesAScaleWithTheWeights) {
  GraphBuilder build;
  const ValueId x = build.conv("x", build.input("picture", {2, 8, 6, 6}), 16, 1);
  const ValueId scaled = build.binary("scaled", BinaryKind::mul, x, build.input("scale", {2, 16, 1, 1}));
  const FusedGraph fused = optimized(build.finish({x, build.conv("y", scaled, 4, 1)}));
  std::string text;
  for (const Group& group : fused.groups)
    if (group.nodes.size() > 1 && group.inputs.size() >= 3) text += to_text(group_dag(fused, group).value());
  EXPECT_NE(text.find("conv(n, y, x, oc) += (p0[n, (y + rh), (x + rw), rc]*(p1[n, 0, 0, rc]*p2[rh, rw, rc, oc])) for"),
            std::string::npos)
      << text;
}

TEST(GroupDag, HasPlaceholdersInTheOrderOfTheInputsAndLiteralsInItsExpressions) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, 3});
  const ValueId w = build.constant("w", {3, 4}), b = build.constant("b", {4});
  const ValueId half = build.constant("half", {1, 1}, {0.5});
  const ValueId sum = build.plus("sum", b, build.add("product", MatMulOperator{}, {x, w}));
  const FusedGraph fused = optimized(build.finish({build.binary("y", BinaryKind::mul, sum, half)}));
  ASSERT_EQ(fused.groups.size(), 1u);
  const auto dag = group_dag(fused, fused.groups[0]);
  ASSERT_TRUE(dag.ok()) << dag.error().message;
  EXPECT_EQ(to_text(*dag),
            "p0 = PLACEHOLDER [2, 3]\n"
            "p1 = PLACEHOLDER [3, 4] const\n"
            "p2 = PLACEHOLDER [4] const\n"
            "matmul(m, n) += (p0[m, k]*p1[k, n]) for m in 2, n in 4, k in 3  # matmul m:row n:out_channel "
            "k:in_channel\n"
            "add(i0, i1) = (p2[i1] + matmul[i0, i1]) for i0 in 2, i1 in 4  # elementwise\n"
            "mul(i0, i1) = (add[i0, i1]*0.5f) for i0 in 2, i1 in 4  # elementwise\n"
            "return mul\n");
}

}  // namespace
}  // namespace whet
