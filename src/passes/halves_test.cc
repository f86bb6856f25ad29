#include "passes/halves.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/testing/random_cases.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/random_attention.h"
#include "passes/testing/random_graph.h"
#include "tensor/compare.h"

namespace whet {
namespace {

using namespace testing;

/// The operators of each group, its output and its dtype: `conv+relu+cast -> a_half f16`.
std::string kernels_of(const Graph& graph, bool halves = true) {
  const auto fused = optimize(graph, {.channels_last = false, .halves = halves});
  EXPECT_TRUE(fused.ok()) << (fused.ok() ? "" : fused.error().message);
  if (!fused.ok()) return "";
  std::istringstream text(to_text(*fused));
  std::string line, result;
  while (std::getline(text, line))
    result +=
        line.substr(0, line.find(" (")) + line.substr(line.find(" -> "), line.rfind('[') - line.find(" -> ")) + "\n";
  return result;
}

TEST(Halves, AreStoredBetweenConvolutionsAndNotAtTheEdgesOfTheNetwork) {
  GraphBuilder build;
  const ValueId a = build.relu("a", build.conv("c1", build.input("x", {1, 4, 6, 6}), 8, 3));
  const ValueId b = build.relu("b", build.conv("c2", a, 8, 3, 1, 1, 8));
  const ValueId y = build.relu("y", build.conv("c3", b, 8, 1));
  EXPECT_EQ(kernels_of(build.finish({y})),
            "conv+relu+cast -> a_half f16\nconv+relu+cast -> b_half f16\nconv+relu -> y f32\n");
}

TEST(Halves, AreReadByWhatElseReadsThem) {
  GraphBuilder build;
  const ValueId a = build.relu("a", build.conv("c1", build.input("x", {1, 4, 6, 6}), 8, 3));
  const ValueId b = build.relu("b", build.plus("sum", build.conv("c2", a, 8, 3, 1, 1), a));
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {b});
  const ValueId y = build.conv("y", b, 8, 1);
  EXPECT_EQ(kernels_of(build.finish({mean, y})),
            "conv+relu+cast -> a_half f16\nconv+cast+add+relu+cast -> b_half f16\ncast+reduce_mean -> mean f32\n"
            "conv -> y f32\n");
}

/// A block that scales and rectifies what it reads, as ResNet's second version has them: no product reads the sum itself.
TEST(Halves, AreSumsThatElementOperatorsRead) {
  GraphBuilder build;
  ValueId sum = build.conv("c0", build.input("x", {1, 4, 6, 6}), 8, 3);
  for (const std::string k : {"1", "2"}) {
    const ValueId scaled = build.binary("scaled" + k, BinaryKind::mul, sum, build.constant("s" + k, {8, 1, 1}));
    const ValueId inside = build.conv("c" + k, build.relu("r" + k, scaled), 8, 3, 1, 1);
    sum = build.plus("sum" + k, inside, sum);
  }
  const ValueId scaled = build.binary("scaled", BinaryKind::mul, sum, build.constant("s", {8, 1, 1}));
  const ValueId y = build.conv("y", build.relu("r", scaled), 8, 1);
  const std::string kernels = kernels_of(build.finish({y}));
  EXPECT_NE(kernels.find(" -> sum1_half f16\n"), std::string::npos) << kernels;
  EXPECT_EQ(kernels.find(" -> sum2 "), std::string::npos) << "nothing else reads it:\n" << kernels;
}

/// A scale, a shift and a relu of a sum that the next block adds to as well: the convolution of single pixels computes them where it reads
/// the sum. Another convolution would compute them for each of its taps, and one of few channels would wait for them.
TEST(Halves, AreScaledByConvolutionsOfSinglePixels) {
  const auto kernels = [](std::int64_t channels, std::int64_t kernel) {
    GraphBuilder build;
    ValueId sum = build.conv("c0", build.input("x", {1, 4, 6, 6}), 8, 3);
    for (const std::string k : {"1", "2"}) {
      const ValueId scaled = build.binary("scaled" + k, BinaryKind::mul, sum, build.constant("s" + k, {8, 1, 1}));
      const ValueId shifted = build.binary("shifted" + k, BinaryKind::add, scaled, build.constant("b" + k, {8, 1, 1}));
      const ValueId wide = build.conv("w" + k, build.relu("r" + k, shifted), channels, kernel, 1, kernel / 2);
      sum = build.plus("sum" + k, build.conv("n" + k, build.relu("q" + k, wide), 8, 1), sum);
    }
    const Graph graph = build.finish({build.conv("y", build.relu("r", sum), 8, 1)});
    const FusedGraph fused = *optimize(graph, {.halves = true}), usual = *optimize(graph, {});
    const std::vector<Tensor> inputs = random_inputs(graph, 3);
    const auto want = evaluate_graph(usual.graph, inputs), got = evaluate_graph(fused.graph, inputs);
    EXPECT_TRUE(want.ok() && got.ok());
    EXPECT_LT(compare((*got)[fused.graph.outputs[0].index()], (*want)[usual.graph.outputs[0].index()]).relative, 1e-2);
    return to_text(fused);
  };
  const std::string computed = "\ncast+mul+add+relu+cast+conv+relu+cast (sum1_half";
  EXPECT_NE(kernels(64, 1).find(computed), std::string::npos) << kernels(64, 1);
  EXPECT_EQ(kernels(64, 3).find(computed), std::string::npos) << kernels(64, 3);
  EXPECT_EQ(kernels(16, 1).find(computed), std::string::npos) << kernels(16, 1);
}

/// The first layer of a residual network of the second version.
TEST(Halves, AreWhatWindowsRead) {
  GraphBuilder build;
  const ValueId a = build.relu("a", build.conv("c0", build.input("x", {1, 4, 12, 12}), 8, 3));
  const PoolOperator pool{PoolKind::max, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, Layout::channels_first};
  const ValueId scaled =
      build.binary("scaled", BinaryKind::mul, build.add("pool", pool, {a}), build.constant("s", {8, 1, 1}));
  const std::string kernels = kernels_of(build.finish({build.conv("y", build.relu("r", scaled), 8, 1)}));
  EXPECT_NE(kernels.find("conv+relu+cast -> a_half f16\n"), std::string::npos) << kernels;
}

/// The rows of a norm are f32.
TEST(Halves, AreNoSumsThatANormReads) {
  GraphBuilder build;
  const ValueId x = build.conv("c0", build.input("x", {1, 4, 6, 6}), 8, 3);
  const ValueId sum = build.plus("sum", build.conv("c1", x, 8, 3, 1, 1), x);
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {1}, true}, {sum});
  const ValueId y = build.conv("y", build.binary("d", BinaryKind::sub, sum, mean), 8, 1);
  EXPECT_NE(kernels_of(build.finish({y})).find(" -> sum f32\n"), std::string::npos);
}

TEST(Halves, AreMovedAsSuch) {
  GraphBuilder build;
  const ValueId a = build.relu("a", build.conv("c1", build.input("x", {1, 4, 12, 12}), 8, 3));
  const PoolOperator pool{PoolKind::max, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, Layout::channels_first};
  const ValueId b = build.add("pool", pool, {a});
  const ValueId c = build.relu("c", build.conv("c2", b, 8, 1)), d = build.relu("d", build.conv("c3", b, 8, 1));
  const ValueId both = build.add("both", ConcatOperator{1}, {c, d});
  EXPECT_EQ(kernels_of(build.finish({build.conv("y", both, 8, 1)})),
            "conv+relu+cast -> a_half f16\nmaxpool -> pool_half f16\nconv+relu+cast -> c_half f16\n"
            "conv+relu+cast -> d_half f16\nconcat -> both_half f16\nconv -> y f32\n");
}

/// x is an input and a an output, a mean over windows reads b, and the mean is one value for many.
TEST(Halves, AreNotStoredWhereThatWereAKernelMore) {
  GraphBuilder build;
  const ValueId x = build.input("x", {1, 8, 6, 6});
  const ValueId a = build.relu("a", build.conv("c1", x, 8, 1)), b = build.relu("b", build.conv("c2", a, 8, 1));
  const PoolOperator pool{PoolKind::average, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, false, Layout::channels_first};
  const ValueId c = build.add("pool", pool, {b}), d = build.conv("c3", b, 8, 1);
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {d});
  const ValueId gate = build.conv("gate", mean, 8, 1);
  const ValueId y = build.plus("y", build.binary("scaled", BinaryKind::mul, d, mean), build.plus("z", c, gate));
  const Graph graph = build.finish({a, y});
  EXPECT_EQ(kernels_of(graph), kernels_of(graph, false));
}

TEST(Halves, OfAScaleOfChannelsAreMadeWhereAConvolutionReadsThem) {
  GraphBuilder build;
  const ValueId x = build.relu("r", build.conv("c1", build.input("x", {1, 4, 8, 8}), 8, 3));
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {x});
  const ValueId gate =
      build.unary("gate", UnaryKind::sigmoid, build.conv("c3", build.relu("s", build.conv("c2", mean, 4, 1)), 8, 1));
  const Graph graph = build.finish({build.conv("y", build.binary("scaled", BinaryKind::mul, x, gate), 8, 1)});
  const auto text = [&](bool halves) { return to_text(*optimize(graph, {.halves = halves})); };
  EXPECT_NE(text(false).find("\nmul+conv "), std::string::npos) << text(false);
  EXPECT_NE(text(true).find("\nmul+cast+conv "), std::string::npos) << text(true);
}

/// The kernel that rounds the picture stores four channels and the border. One more kernel is made for a large convolution alone.
TEST(Halves, OfPicturesHaveFourChannelsAndABorder) {
  const auto text = [](bool scaled, std::int64_t pictures, std::int64_t stride) {
    GraphBuilder build;
    ValueId x = build.input("x", {pictures, 3, 64, 62});
    if (scaled) x = build.unary("t", UnaryKind::tanh, x);
    const ValueId a = build.relu("a", build.conv("c1", x, 32, 7, stride, 3));
    return to_text(*optimize(build.finish({build.conv("y", a, 8, 1)}), {.halves = true}));
  };
  EXPECT_NE(text(true, 1, 2).find("_pairs f16[1x69x34x8]"), std::string::npos) << text(true, 1, 2);
  EXPECT_EQ(text(true, 1, 2).find("pad+conv"), std::string::npos) << text(true, 1, 2);
  EXPECT_EQ(text(true, 1, 1).find("_pairs"), std::string::npos) << "pixels would be 8 bytes:\n" << text(true, 1, 1);
  EXPECT_EQ(text(false, 1, 2).find("_pairs"), std::string::npos) << "the picture is an input of f32";
  EXPECT_NE(text(false, 512, 2).find("_pairs f16[512x69x34x8]"), std::string::npos) << text(false, 512, 2);
}

/// What is added changes nothing, whatever the kernel, the padding and the picture.
TEST(Halves, OfPaddedPicturesHaveTheSameProducts) {
  int padded = 0;
  for (const std::int64_t kernel : {1, 2, 3, 6, 7})
    for (const std::int64_t pad : {0, 1, 3})
      for (const std::int64_t side : {9, 12}) {
        GraphBuilder build;
        const ValueId x = build.unary("t", UnaryKind::tanh, build.input("x", {2, 3, side, side + 1}));
        const ValueId a = build.relu("a", build.conv("c1", x, 8, kernel, 2, std::min(pad, kernel - 1)));
        const Graph graph = build.finish({build.conv("y", a, 8, 1)});
        const FusedGraph wide = *optimize(graph, {}), halves = *optimize(graph, {.halves = true});
        padded += to_text(halves).find("_pairs") != std::string::npos;
        const std::vector<Tensor> inputs = random_inputs(graph, 3);
        const auto want = evaluate_graph(wide.graph, inputs), got = evaluate_graph(halves.graph, inputs);
        ASSERT_TRUE(want.ok() && got.ok());
        EXPECT_LT(compare((*got)[halves.graph.outputs[0].index()], (*want)[wide.graph.outputs[0].index()]).relative,
                  4e-3)
            << kernel << " " << pad << " " << side;
      }
  EXPECT_GE(padded, 20);
}

/// c2 has an even number of channels and results for a vector, c3 has not.
TEST(Bf16, IsStoredWhereAProcessorMultipliesPairs) {
  GraphBuilder build;
  const ValueId a = build.relu("a", build.conv("c1", build.input("x", {1, 4, 6, 6}), 16, 3));
  const ValueId b = build.relu("b", build.conv("c2", a, 17, 1));
  const ValueId c = build.relu("c", build.conv("c3", b, 16, 1)),
                d = build.relu("d", build.conv("c4", c, 16, 3, 1, 1, 16));
  const FusedGraph fused = *optimize(build.finish({build.conv("y", d, 8, 1)}), {.bf16 = true});
  std::string stored;
  for (const Value& value : fused.graph.values)
    if (value.type.dtype == DType::bf16 && !value.constant) stored += value.name + " ";
  EXPECT_EQ(stored, "a_half c_half ") << to_text(fused);
}

/// Tensor cores multiply any of them, as those of f16.
TEST(Bf16, OfGpusIsStoredWhereF16Is) {
  GraphBuilder build;
  const ValueId a =
      build.relu("a", build.conv("c1", build.unary("t", UnaryKind::tanh, build.input("x", {1, 3, 6, 6})), 17, 3));
  const ValueId b = build.relu("b", build.plus("sum", build.conv("c2", a, 17, 3, 1, 1), a));
  const Graph graph = build.finish({build.conv("y", b, 8, 1)});
  const auto stored = [&](const PassOptions& options, DType half) {
    const FusedGraph fused = *optimize(graph, options);
    std::string all;
    for (const Value& value : fused.graph.values)
      if (value.type.dtype == half && !value.constant) all += value.name + " ";
    return all;
  };
  EXPECT_EQ(stored({.bf16_tensors = true}, DType::bf16), stored({.halves = true}, DType::f16));
  EXPECT_NE(stored({.bf16_tensors = true}, DType::bf16).find("a_half"), std::string::npos);
}

/// Tensor cores multiply both, and attentions of both are one kernel with rounded weights.
TEST(Bf16, OfGpusIsReadByAttentionsThatReadF16) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_attention(seed);
    const FusedGraph halves = *optimize(graph, {.halves = true}), fused = *optimize(graph, {.bf16_tensors = true});
    std::string kernels = to_text(halves);
    for (std::size_t at = 0; (at = kernels.find(" f16[", at)) != std::string::npos; at += 6)
      kernels.insert(at + 1, "b");
    EXPECT_EQ(to_text(fused), kernels) << seed;
    for (const Node& node : fused.graph.nodes)
      if (const auto* softmax = std::get_if<SoftmaxOperator>(&node.op)) {
        EXPECT_EQ(softmax->rounds, DType::bf16) << seed;
      }
  }
}

TEST(Bf16, OfAnInputIsMadeForProductsThatGainMore) {
  const auto kernels = [](std::int64_t rows, std::int64_t columns) {
    GraphBuilder build;
    const ValueId x = build.input("x", {rows, 256});
    const ValueId y = build.add("y", MatMulOperator{}, {x, build.constant("w", {256, columns})});
    return to_text(*optimize(build.finish({build.plus("z", y, build.constant("b", {columns}))}), {.bf16 = true}));
  };
  EXPECT_NE(kernels(64, 256).find("cast (x) -> x_half bf16[64x256]"), std::string::npos) << kernels(64, 256);
  EXPECT_EQ(kernels(4, 256).find("bf16"), std::string::npos) << "too small";
  EXPECT_EQ(kernels(4096, 16).find("bf16"), std::string::npos) << "too few for each number";
}

/// A head of a classifier for one picture, or for many.
TEST(HalfWeights, AreStoredOfLargeProductsOfFewRows) {
  const auto weights = [](const PassOptions& options, Shape rows, std::int64_t columns) {
    GraphBuilder build;
    rows.push_back(512);
    const ValueId x = build.input("x", rows), w = build.constant("w", {512, columns});
    const ValueId y = build.relu("y", build.add("product", MatMulOperator{}, {x, w}));
    const FusedGraph fused = *optimize(build.finish({y}), options);
    const std::string text = to_text(fused);
    EXPECT_EQ(text.find("cast"), std::string::npos) << "activations stay f32\n" << text;
    for (const Value& value : fused.graph.values)
      if (value.constant && value.type.shape == Shape{512, columns}) return std::string(name_of(value.type.dtype));
    return std::string("none");
  };
  const PassOptions f16{.f16_weights = true}, bf16{.bf16_weights = true};
  EXPECT_EQ(weights(f16, {1}, 256), "f16");
  EXPECT_EQ(weights(f16, {2, 4}, 256), "f16");
  EXPECT_EQ(weights(bf16, {1}, 256), "bf16");
  EXPECT_EQ(weights({}, {1}, 256), "f32");
  EXPECT_EQ(weights(f16, {9}, 256), "f32") << "too many rows";
  EXPECT_EQ(weights(f16, {1}, 64), "f32") << "small";
}

TEST(HalfWeights, HaveTheAnswersOfRoundedWeights) {
  GraphBuilder build;
  const ValueId x = build.input("x", {3, 256}), w = build.constant("w", {256, 300});
  const Graph graph = build.finish({build.add("y", MatMulOperator{}, {x, w})});
  Rng rng(3);
  const Tensor in = Tensor::random({DType::f32, {3, 256}}, rng, -1, 1);
  const auto answer = [&](const Graph& of) { return (*evaluate_graph(of, {in}))[of.outputs[0].index()]; };
  const Tensor want = answer(graph);
  for (const auto& [options, most] :
       {std::pair(PassOptions{.f16_weights = true}, 0x1p-11), std::pair(PassOptions{.bf16_weights = true}, 0x1p-8)}) {
    const Difference difference = compare(answer(optimize(graph, options)->graph), want);
    EXPECT_LT(difference.relative, most);
    EXPECT_GT(difference.relative, most / 64) << "weights were rounded";
  }
}

TEST(HalfWeights, BeyondTheLargestF16StayF32) {
  GraphBuilder build;
  const ValueId x = build.input("x", {1, 256});
  Tensor large(DType::f32, {256, 256});
  large.set(7, 70000);
  const ValueId w = build.graph.add_constant("w", large);
  const Graph graph = build.finish({build.add("y", MatMulOperator{}, {x, w})});
  EXPECT_EQ(to_text(*optimize(graph, {.f16_weights = true})), to_text(*optimize(graph, {})));
}

/// They are of the same operators but casts, read what is stored as f16, and round their weights and, where a product reads it, their
/// result.
TEST(Halves, AreReadByAttentions) {
  const auto attentions = [](const std::string& groups) {
    std::istringstream text(groups);
    std::string line;
    std::vector<std::string> found;
    while (std::getline(text, line)) {
      if (line.find("softmax") == std::string::npos) continue;
      found.push_back(line.substr(0, line.find(" -> ")));
      for (const std::string cast : {"cast+", "+cast"})
        for (std::size_t at = 0; (at = found.back().find(cast)) != std::string::npos;) found.back().erase(at, 5);
    }
    return found;
  };
  int rounded = 0, cases = 20;
  for (int k = 0; k < cases; ++k) {
    GraphBuilder build;
    build.graph = random_attention(static_cast<std::uint64_t>(k));
    const ValueId heads = build.graph.outputs[0];
    const ValueId w = build.constant("behind_w", {build.graph.value(heads).type.shape.back(), 8});
    const Graph graph = build.finish({build.add("behind", MatMulOperator{}, {heads, w})});
    EXPECT_EQ(attentions(kernels_of(graph)), attentions(kernels_of(graph, false))) << k;
    const FusedGraph fused = *optimize(graph, {.halves = true});
    for (const Node& node : fused.graph.nodes)
      if (const auto* softmax = std::get_if<SoftmaxOperator>(&node.op)) rounded += softmax->rounds.has_value();
  }
  EXPECT_EQ(rounded, cases);
}

/// Queries, keys and values are stored so; the attention has the operators that it had, and casts. Its softmax rounds where sizes are
/// fixed and keys go by pairs.
TEST(Bf16, IsReadByAttentionsWhoseOperandsAreMoved) {
  const auto groups = [](const Graph& graph, const PassOptions& options) {
    std::vector<std::string> found;
    std::istringstream lines(to_text(*optimize(graph, options)));
    for (std::string line; std::getline(lines, line);) {
      if (line.find("softmax") == std::string::npos) continue;
      found.push_back(line.substr(0, line.find(" (")));
      for (const std::string cast : {"cast+", "+cast"})
        for (std::size_t at = 0; (at = found.back().find(cast)) != std::string::npos;) found.back().erase(at, 5);
    }
    return found;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_attention(seed);
    for (const bool is_fixed : {false, true}) {
      const PassOptions options{.bf16 = !is_fixed, .bf16_of_fixed_sizes = is_fixed};
      EXPECT_EQ(groups(graph, options), groups(graph, {})) << seed;
      const FusedGraph optimized = *optimize(graph, options);
      for (const Node& node : optimized.graph.nodes)
        if (const auto* softmax = std::get_if<SoftmaxOperator>(&node.op)) {
          EXPECT_EQ(softmax->rounds.has_value(),
                    is_fixed && optimized.graph.value(node.output).type.shape.back() % 2 == 0)
              << seed;
        }
    }
    const FusedGraph fused = *optimize(graph, {.bf16 = true});
    int read = 0;
    for (const Group& group : fused.groups) {
      const bool attends = std::ranges::any_of(
          group.nodes, [&](NodeId n) { return std::holds_alternative<SoftmaxOperator>(fused.graph.node(n).op); });
      for (ValueId input : group.inputs) read += attends && fused.graph.value(input).type.dtype == DType::bf16;
    }
    EXPECT_GE(read, 1) << seed << "\n" << to_text(fused);
  }
}

/// The scores stay f32, and the products with them, where the keys are an input of the network.
TEST(Halves, AreNotReadByAttentionsOfWhichAnOperandIsAnInput) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, 16, 16}), keys = build.input("keys", {2, 16, 16});
  const ValueId q = build.add("q", MatMulOperator{}, {x, build.constant("wq", {16, 16})});
  const ValueId v = build.add("v", MatMulOperator{}, {x, build.constant("wv", {16, 16})});
  const ValueId scores = build.add("scores", MatMulOperator{}, {q, keys});
  const ValueId y = build.add("y", MatMulOperator{}, {build.add("weights", SoftmaxOperator{2}, {scores}), v});
  const Graph graph = build.finish({y});
  EXPECT_EQ(kernels_of(graph), kernels_of(graph, false));
}

std::int64_t count_halves(const Graph& graph) {
  return std::count_if(graph.values.begin(), graph.values.end(),
                       [](const Value& v) { return is_half(v.type.dtype) && !v.constant; });
}

/// A product behind each output that one can read, in its place.
Graph with_products(const Graph& graph) {
  GraphBuilder build;
  build.graph = graph;
  std::vector<ValueId> outputs;
  for (ValueId id : graph.outputs) {
    const TensorType type = graph.value(id).type;
    const bool fits = type.dtype == DType::f32 && type.shape.size() >= 2 && type.shape.back() > 0;
    const std::string name = "product" + std::to_string(outputs.size());
    outputs.push_back(
        fits ? build.add(name, MatMulOperator{}, {id, build.constant(name + "_w", {type.shape.back(), 8})}) : id);
  }
  return build.finish(outputs);
}

/// The graph's inputs and outputs stay as they are, and no kernel comes to those that there were.
TEST(Halves, OfRandomGraphsRoundWhatProductsReadAndAddNoKernel) {
  std::int64_t halves = 0, cases = testing::random_cases(200);
  for (int k = 0; k < cases && !::testing::Test::HasFailure(); ++k) {
    const auto seed = static_cast<std::uint64_t>(k) + 5000;
    const Graph graph = with_products(k % 4 < 2 ? random_attention(seed) : random_graph(seed));
    const PassOptions options = k % 3 == 0   ? PassOptions{.halves = true}
                                : k % 3 == 1 ? PassOptions{.bf16_of_fixed_sizes = true}
                                             : PassOptions{.bf16_tensors = true};
    const auto usual = optimize(graph, {}), rounded = optimize(graph, options);
    ASSERT_TRUE(usual.ok() && rounded.ok()) << seed << ": " << (rounded.ok() ? "" : rounded.error().message);
    const Status status = verify(rounded->graph);
    ASSERT_TRUE(status.ok()) << seed << ": " << status.error().message;
    EXPECT_LE(rounded->groups.size(), usual->groups.size()) << seed << "\n"
                                                            << to_text(*usual) << "became\n"
                                                            << to_text(*rounded);
    halves += count_halves(rounded->graph);
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    const auto want = evaluate_graph(usual->graph, inputs), got = evaluate_graph(rounded->graph, inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << seed;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const ValueId now = rounded->graph.outputs[i];
      EXPECT_EQ(rounded->graph.value(now).type, usual->graph.value(usual->graph.outputs[i]).type);
      const Difference difference = compare((*got)[now.index()], (*want)[usual->graph.outputs[i].index()]);
      EXPECT_LE(difference.max_abs, (options.halves ? 2e-2 : 0.16) * std::max(1.0, difference.largest))
          << seed << "\n"
          << to_text(*rounded);
    }
  }
  EXPECT_GT(halves, cases / 2);
}

}  // namespace
}  // namespace whet
