#include "base/arithmetic.h"
#include "ops/evaluate_graph.h"
#include "passes/batch_norm.h"
#include "passes/channel_groups.h"
#include "passes/common_subexpressions.h"
#include "passes/dead_code.h"
#include "passes/fold_constants.h"
#include "passes/layout.h"
#include "passes/optimize.h"
#include "passes/scale_shift.h"
#include "passes/simplify.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/long_graphs.h"
#include "passes/testing/rewrite.h"

namespace whet {
namespace {

using namespace testing;

/// `add` builds nodes behind the input x and gives the output.
template <typename Add>
Graph graph_of(Shape x, const Add& add) {
  GraphBuilder build;
  const ValueId y = add(build, build.input("x", std::move(x)));
  return build.finish({y});
}

std::string layout_of(const Graph& graph) {
  const auto converted = convert_to_channels_last(graph);
  EXPECT_TRUE(converted.ok());
  return after(simplify_graph, *converted);
}

/// How often a pass ran that changes nothing, and one that renames the network until it has three letters.
int idle_runs = 0, letters_runs = 0;
Result<Graph> idle(const Graph& graph) { return ++idle_runs, graph; }
Result<Graph> add_letter(const Graph& graph) {
  ++letters_runs;
  Graph longer = graph;
  if (longer.name.size() < 3) longer.name += "n";
  return longer;
}
TEST(Passes, DoNotRunAgainOnAGraphThatTheyLeftAsItWas) {
  const auto runs = [](const std::vector<Pass>& passes) {
    idle_runs = letters_runs = 0;
    const auto left = run_graph_passes(
        graph_of({2}, [](GraphBuilder& build, ValueId x) { return build.plus("y", x, build.constant("c", {2})); }),
        passes);
    EXPECT_TRUE(left.ok());
    return std::pair(idle_runs, letters_runs);
  };
  const Pass same{"idle", idle}, letter{"letter", add_letter};
  EXPECT_EQ(runs({same, same, same}), std::pair(1, 0));
  EXPECT_EQ(runs({same, letter, same, letter, same}), std::pair(3, 2));
  EXPECT_EQ(runs({letter, letter, letter, letter, letter, same}), std::pair(1, 4)) << "the fourth changed nothing";
}

TEST(DeadCode, GoesWithWhatItAloneReads) {
  const Graph graph = graph_of({2}, [](GraphBuilder& build, ValueId x) {
    build.relu("dead", build.relu("also_dead", x));
    return build.relu("y", x);
  });
  EXPECT_EQ(after(remove_dead_code, graph), "y: f32[2] = relu(x)\n");
}

TEST(FoldConstants, ComputesWhatIsKnown) {
  const Graph graph = graph_of({2}, [](GraphBuilder& build, ValueId x) {
    const ValueId c = build.plus("c", build.constant("a", {2}, {1, 2}), build.constant("b", {}, {3}));
    return build.plus("y", x, c);
  });
  const auto folded = fold_constants(graph);
  ASSERT_TRUE(folded.ok());
  ASSERT_EQ(folded->nodes.size(), 1u);
  EXPECT_EQ(folded->value(folded->nodes[0].inputs[1]).constant->get(1), 5);
}

TEST(FoldConstants, LeavesAValueThatIsDoubledByItself) {
  const Graph graph = graph_of({1 << 20}, [](GraphBuilder& build, ValueId x) {
    const ValueId half = build.constant("half", {1 << 19}), other = build.constant("other", {1 << 19});
    const ValueId twice = build.add("twice", ConcatOperator{0}, {half, half});
    return build.plus("y", x, build.plus("sum", twice, build.add("both", ConcatOperator{0}, {half, other})));
  });
  EXPECT_EQ(after(fold_constants, graph),
            "twice: f32[1048576] = concat(half, half) axis=0\nsum: f32[1048576] = add(twice, both_1)\n"
            "y: f32[1048576] = add(x, sum)\n");
}
TEST(FoldConstants, LeavesABigValueOfASmallConstant) {
  const Graph graph = graph_of({1024, 1024}, [](GraphBuilder& build, ValueId x) {
    return build.plus("y", x, build.add("big", ExpandOperator{{1024, 1024}}, {build.constant("a", {}, {1})}));
  });
  EXPECT_EQ(after(fold_constants, graph), "big: f32[1024x1024] = expand(a)\ny: f32[1024x1024] = add(x, big)\n");
}

TEST(WideProducts, OfHalvesKeepTheirSumsInF32) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, 3}, DType::f16), w = build.input("w", {4, 3}, DType::f16);
  const Graph turned = build.finish({build.add("y", MatMulOperator{.transpose_b = true, .wide = true}, {x, w})});
  EXPECT_EQ(after(simplify_graph, turned),
            "y_b: f16[3x4] = transpose(w) perm=[1,0]\ny_1: f32[2x4] = matmul(x, y_b) wide\n");
}
TEST(WideProducts, TakeNoScaleIntoWeightsThatWouldRoundIt) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, 3}, DType::f16);
  const ValueId w = build.graph.add_constant("w", Tensor(DType::f16, {3, 4}));
  const ValueId product = build.add("p", MatMulOperator{.wide = true}, {x, w});
  const Graph graph = build.finish({build.binary("y", BinaryKind::mul, product, build.constant("c", {}, {0.1}))});
  EXPECT_EQ(after(fold_scale_shift, graph), "p: f32[2x4] = matmul(x, w) wide\ny: f32[2x4] = mul(p, c)\n");
}

TEST(CommonSubexpressions, AreComputedOnce) {
  const Graph graph = graph_of({2}, [](GraphBuilder& build, ValueId x) {
    const ValueId a = build.plus("a", build.relu("r", x), build.constant("one", {}, {1}));
    const ValueId b = build.plus("b", build.relu("s", x), build.constant("eins", {}, {1}));
    return build.binary("y", BinaryKind::mul, a, b);
  });
  EXPECT_EQ(after(share_common_subexpressions, graph),
            "r: f32[2] = relu(x)\na: f32[2] = add(r, one)\ny: f32[2] = mul(a, a)\n");
}

TEST(Simplify, DropsWhatChangesNothing) {
  const Graph graph = graph_of({2, 3}, [](GraphBuilder& build, ValueId x) {
    x = build.binary("m", BinaryKind::mul, x, build.constant("one", {3}, {1, 1, 1}));
    x = build.plus("a", build.constant("zero", {}, {0}), x);
    x = build.add("r", ReshapeOperator{{2, 3}}, {x});
    x = build.add("s", SliceOperator{{0, 0}, {1, 1}, {2, 3}}, {x});
    x = build.add("p", PadOperator{PadMode::edge, 0, {0, 0}, {0, 0}}, {x});
    x = build.add("c", CastOperator{DType::f32}, {x});
    x = build.add("l", ClipOperator{-kInfinity, kInfinity}, {x});
    return build.relu("y", x);
  });
  EXPECT_EQ(after(simplify_graph, graph), "y: f32[2x3] = relu(x)\n");
}

TEST(Simplify, KeepsANeutralConstantThatBroadcasts) {
  const Graph graph = graph_of({1, 3}, [](GraphBuilder& build, ValueId x) {
    return build.plus("y", x, build.constant("zeros", {2, 1}, {0, 0}));
  });
  EXPECT_EQ(after(simplify_graph, graph), "y: f32[2x3] = add(x, zeros)\n");
}

TEST(Simplify, MergesTransposesAndTurnsThoseOfOnesIntoReshapes) {
  const Graph graph = graph_of({1, 3, 4}, [](GraphBuilder& build, ValueId x) {
    const ValueId a = build.add("a", TransposeOperator{{2, 0, 1}}, {x});
    const ValueId b = build.add("b", TransposeOperator{{1, 2, 0}}, {a});
    return build.add("y", TransposeOperator{{1, 0, 2}}, {b});
  });
  EXPECT_EQ(after(simplify_graph, graph), "a: f32[4x1x3] = transpose(x) perm=[2,0,1]\ny_1: f32[3x1x4] = reshape(x)\n");
}

TEST(Simplify, GivesAConvolutionTheZeroPaddingBeforeIt) {
  const Graph graph = graph_of({1, 2, 4, 4}, [](GraphBuilder& build, ValueId x) {
    x = build.add("p", PadOperator{PadMode::constant, 0, {0, 0, 0, 1}, {0, 0, 1, 1}}, {x});
    const ConvOperator op{{1, 1}, {1, 1}, {1, 0}, {0, 0}};
    return build.add("y", op, {x, build.constant("w", {3, 2, 2, 2})});
  });
  EXPECT_EQ(nodes_of(*remove_dead_code(*simplify_graph(graph))), "y_1: f32[1x3x5x5] = conv(x, w) pads=[1,1]\n");
}

TEST(Simplify, PadsWhatStandsBetweenConstantsOfOneValue) {
  const auto joined = [](const std::vector<double>& before, const std::vector<double>& behind) {
    return after(simplify_graph, graph_of({2, 3}, [&](GraphBuilder& build, ValueId x) {
                   return build.add(
                       "y", ConcatOperator{1},
                       {build.constant("before", {2, 1}, before), x, build.constant("behind", {2, 2}, behind)});
                 }));
  };
  EXPECT_EQ(joined({7, 7}, {7, 7, 7, 7}), "y_1: f32[2x6] = pad(x) value=7 begin=[0,1] end=[0,2]\n");
  EXPECT_EQ(joined({7, 7}, {0, 0, 0, 0}), "y: f32[2x6] = concat(before, x, behind) axis=1\n");
  EXPECT_EQ(joined({7, 7}, {7, 7, 7, 8}), "y: f32[2x6] = concat(before, x, behind) axis=1\n");
}

TEST(Simplify, MakesOneProductOfABatchTimesOneMatrix) {
  const Graph graph = graph_of({2, 3, 4}, [](GraphBuilder& build, ValueId x) {
    const ValueId product = build.add("product", MatMulOperator{}, {x, build.constant("w", {4, 5})});
    const ValueId sum = build.plus("sum", product, build.constant("b", {5}));
    return build.relu("y", sum);
  });
  EXPECT_EQ(nodes_of(*remove_dead_code(*simplify_graph(graph))),
            "product_rows: f32[6x4] = reshape(x)\n"
            "product_1: f32[6x5] = matmul(product_rows, w)\n"
            "sum_1: f32[6x5] = add(product_1, b)\n"
            "y_1: f32[6x5] = relu(sum_1)\n"
            "y_2: f32[2x3x5] = reshape(y_1)\n");
}

TEST(Simplify, TakesOneElementBySlicing) {
  const Graph graph = graph_of({2, 3}, [](GraphBuilder& build, ValueId x) {
    const ValueId last = build.graph.add_constant("last", Tensor::of<int>(DType::i64, {}, {-1}));
    return build.add("y", GatherOperator{1}, {x, last});
  });
  EXPECT_EQ(after(simplify_graph, graph), "y_1: f32[2x1] = slice(x) starts=[0,2]\ny_2: f32[2] = reshape(y_1)\n");
}

TEST(Simplify, RefusesAConstantIndexOutside) {
  const Graph graph = graph_of({2, 3}, [](GraphBuilder& build, ValueId x) {
    const ValueId index = build.graph.add_constant("index", Tensor::of<int>(DType::i64, {}, {3}));
    return build.add("y", GatherOperator{1}, {x, index});
  });
  const auto result = simplify_graph(graph);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "y: index 3 is outside dimension 1 of 2x3");
}

TEST(BatchNorm, BecomesAScaleAndAShift) {
  const Graph graph = graph_of({1, 2, 3, 3}, [](GraphBuilder& build, ValueId x) { return build.batch_norm("bn", x); });
  EXPECT_EQ(after(split_batch_norm, graph),
            "bn_mul: f32[1x2x3x3] = mul(x, bn_scale)\nbn: f32[1x2x3x3] = add(bn_mul, bn_shift)\n");
}

TEST(Layout, TurnsTheInputAndTheOutputAndNothingBetween) {
  const Graph graph = graph_of({1, 2, 8, 8}, [](GraphBuilder& build, ValueId x) {
    const ValueId a = build.relu("a", build.conv("c", x, 4, 3));
    const ValueId gate = build.add("gate", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {a});
    const ValueId b = build.binary("b", BinaryKind::mul, a, gate);
    const ValueId c = build.plus("d", b, build.constant("k", {4, 1, 1}));
    return build.add("y", ConcatOperator{1}, {c, a});
  });
  EXPECT_EQ(layout_of(graph),
            "x_turned: f32[1x8x8x2] = transpose(x) perm=[0,2,3,1]\n"
            "c: f32[1x6x6x4] = conv(x_turned, c_w_turned, c_b) channels_last\n"
            "a: f32[1x6x6x4] = relu(c)\n"
            "gate: f32[1x1x1x4] = reduce_mean(a) axes=[1,2]\n"
            "b: f32[1x6x6x4] = mul(a, gate)\n"
            "d: f32[1x6x6x4] = add(b, k_view)\n"
            "y: f32[1x6x6x8] = concat(d, a) axis=3\n"
            "y_turned: f32[1x8x6x6] = transpose(y) perm=[0,3,1,2]\n");
}

TEST(Layout, PoolsDisjointWindowsAsTheyStand) {
  const auto pooled = [](std::int64_t stride) {
    return layout_of(graph_of({1, 4, 8, 8}, [&](GraphBuilder& build, ValueId x) {
      return build.add("y", PoolOperator{PoolKind::max, {2, 2}, {stride, stride}, {1, 1}, {0, 0}, {0, 0}}, {x});
    }));
  };
  EXPECT_EQ(pooled(2), "y: f32[1x4x4x4] = maxpool(x) kernel=[2,2] strides=[2,2]\n");
  EXPECT_EQ(pooled(1),
            "x_turned: f32[1x8x8x4] = transpose(x) perm=[0,2,3,1]\n"
            "y: f32[1x7x7x4] = maxpool(x_turned) kernel=[2,2] channels_last\n"
            "y_turned: f32[1x4x7x7] = transpose(y) perm=[0,3,1,2]\n");
}

TEST(Layout, SaysWhyResultsAreStoredSo) {
  const Graph graph = graph_of({1, 3, 6, 6}, [](GraphBuilder& build, ValueId x) {
    const ValueId c = build.relu("r", build.conv("c", x, 4, 3));
    const ValueId turned = build.add("t", TransposeOperator{{0, 2, 3, 1}}, {c});
    return build.add("y", MatMulOperator{}, {turned, build.constant("w", {4, 2})});
  });
  const auto orders = stored_orders(graph);
  ASSERT_TRUE(orders.ok());
  const auto is = [&](std::size_t n, OrderReason reason, const Permutation& order, std::size_t turned) {
    const StoredOrder& stored = (*orders)[n];
    return stored.reason == reason && stored.order == order && stored.turned.size() == turned;
  };
  ASSERT_EQ(orders->size(), 4u);
  EXPECT_TRUE(is(0, OrderReason::prescribed, {0, 2, 3, 1}, 1)) << "c: its picture is turned";
  EXPECT_TRUE(is(1, OrderReason::operands, {0, 2, 3, 1}, 0)) << "r";
  EXPECT_TRUE(is(2, OrderReason::renamed, {0, 1, 2, 3}, 0)) << "t";
  EXPECT_TRUE(is(3, OrderReason::file, {0, 1, 2, 3}, 0)) << "y";
}

TEST(Layout, NeedsNoTransposeForOnePixelOrOneChannel) {
  const Graph graph = graph_of({1, 1, 4, 4}, [](GraphBuilder& build, ValueId x) {
    const ValueId a = build.conv("c", x, 8, 4);
    return build.add("y", ReshapeOperator{{1, 8}}, {a});
  });
  EXPECT_EQ(layout_of(graph),
            "x_view: f32[1x4x4x1] = reshape(x)\n"
            "c: f32[1x1x1x8] = conv(x_view, c_w_turned, c_b) channels_last\n"
            "y: f32[1x8] = reshape(c)\n");
}

TEST(Layout, FollowsTheFilesOwnTransposes) {
  // A converted TensorFlow model: channels last outside, transposes around each convolution.
  const Graph graph = graph_of({1, 8, 8, 2}, [](GraphBuilder& build, ValueId x) {
    x = build.add("in1", TransposeOperator{{0, 3, 1, 2}}, {x});
    x = build.add("out1", TransposeOperator{{0, 2, 3, 1}}, {build.conv("c1", x, 4, 3)});
    x = build.relu("r", x);
    x = build.add("in2", TransposeOperator{{0, 3, 1, 2}}, {x});
    return build.add("y", TransposeOperator{{0, 2, 3, 1}}, {build.conv("c2", x, 4, 1, 1, 0, 4)});
  });
  EXPECT_EQ(layout_of(graph),
            "c1: f32[1x6x6x4] = conv(x, c1_w_turned, c1_b) channels_last\n"
            "r: f32[1x6x6x4] = relu(c1)\n"
            "c2: f32[1x6x6x4] = conv(r, c2_w_view, c2_b) groups=4 channels_last\n");
}

TEST(Layout, ShufflesChannelsWithoutTurningTheImage) {
  const Graph graph = graph_of({1, 4, 6, 6}, [](GraphBuilder& build, ValueId x) {
    x = build.conv("a", x, 4, 1);
    x = build.add("split", ReshapeOperator{{1, 2, 2, 6, 6}}, {x});
    x = build.add("turn", TransposeOperator{{0, 2, 1, 3, 4}}, {x});
    x = build.add("merge", ReshapeOperator{{1, 4, 6, 6}}, {x});
    x = build.conv("b", x, 4, 6);
    return build.add("y", ReshapeOperator{{1, 4}}, {x});
  });
  EXPECT_EQ(layout_of(graph),
            "x_turned: f32[1x6x6x4] = transpose(x) perm=[0,2,3,1]\n"
            "a: f32[1x6x6x4] = conv(x_turned, a_w_turned, a_b) channels_last\n"
            "split: f32[1x6x6x2x2] = reshape(a)\n"
            "turn_turned: f32[1x6x6x2x2] = transpose(split) perm=[0,1,2,4,3]\n"
            "merge: f32[1x6x6x4] = reshape(turn_turned)\n"
            "b: f32[1x1x1x4] = conv(merge, b_w_turned, b_b) channels_last\n"
            "y: f32[1x4] = reshape(b)\n");
}

TEST(Layout, UpsampledPixelsKeepChannelsLast) {
  const Graph graph = graph_of({1, 4, 6, 6}, [](GraphBuilder& build, ValueId x) {
    x = build.conv("a", x, 32, 1);
    x = build.add("split", ReshapeOperator{{1, 8, 2, 2, 6, 6}}, {x});
    x = build.add("turn", TransposeOperator{{0, 1, 4, 2, 5, 3}}, {x});
    x = build.add("merge", ReshapeOperator{{1, 8, 12, 12}}, {x});
    x = build.conv("b", x, 8, 12);
    return build.add("y", ReshapeOperator{{1, 8}}, {x});
  });
  EXPECT_EQ(layout_of(graph),
            "x_turned: f32[1x6x6x4] = transpose(x) perm=[0,2,3,1]\n"
            "a: f32[1x6x6x32] = conv(x_turned, a_w_turned, a_b) channels_last\n"
            "split: f32[1x6x6x8x2x2] = reshape(a)\n"
            "turn_turned: f32[1x6x2x6x2x8] = transpose(split) perm=[0,1,4,2,5,3]\n"
            "merge: f32[1x12x12x8] = reshape(turn_turned)\n"
            "b: f32[1x1x1x8] = conv(merge, b_w_turned, b_b) channels_last\n"
            "y: f32[1x8] = reshape(b)\n");
}

/// A picture of 4 channels minus the means of its groups, times a factor a group.
Graph grouped_norm(std::int64_t groups, bool flat_is_an_output = false) {
  GraphBuilder build;
  const ValueId flat = build.add("flat", ReshapeOperator{{1, groups, 36 / groups}}, {build.input("x", {1, 4, 3, 3})});
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {2}, true}, {flat});
  const ValueId centered = build.binary("centered", BinaryKind::sub, flat, mean);
  const ValueId scaled = build.binary("scaled", BinaryKind::mul, centered, build.constant("s", {groups, 1}));
  const ValueId y = build.add("y", ReshapeOperator{{1, 4, 3, 3}}, {scaled});
  return build.finish(flat_is_an_output ? std::vector{y, flat} : std::vector{y});
}

TEST(ChannelGroups, AreSpreadOverThePictureThatWasFlattened) {
  EXPECT_EQ(after(spread_channel_groups, grouped_norm(2)),
            "mean_channels: f32[1x4x1x1] = reduce_mean(x) axes=[2,3]\n"
            "mean_in_groups: f32[1x2x2] = reshape(mean_channels)\n"
            "mean: f32[1x2x1] = reduce_mean(mean_in_groups) axes=[2]\n"
            "mean_repeated: f32[1x2x2] = expand(mean)\n"
            "mean_of_channels: f32[1x4x1x1] = reshape(mean_repeated)\n"
            "centered: f32[1x4x3x3] = sub(x, mean_of_channels)\n"
            "s_repeated: f32[2x2] = expand(s)\n"
            "s_of_channels: f32[4x1x1] = reshape(s_repeated)\n"
            "scaled: f32[1x4x3x3] = mul(centered, s_of_channels)\n");
}

/// A mean of integers is no mean of means, and sums of f16 would overflow in between.
TEST(ChannelGroups, StayFlatWhereStepsRoundOtherwise) {
  for (const auto& [dtype, kind] : {std::pair(DType::i32, ReduceKind::mean), {DType::f16, ReduceKind::sum}}) {
    GraphBuilder build;
    const ValueId flat = build.add("flat", ReshapeOperator{{1, 2, 18}}, {build.input("x", {1, 4, 3, 3}, dtype)});
    const ValueId all = build.add("all", ReduceOperator{kind, {2}, true}, {flat});
    const ValueId rest = build.binary("rest", BinaryKind::sub, flat, all);
    const Graph graph = build.finish({build.add("y", ReshapeOperator{{1, 4, 3, 3}}, {rest})});
    EXPECT_EQ(after(spread_channel_groups, graph), nodes_of(graph));
  }
}

/// x and its minimum may be nearly equal and large.
TEST(ChannelGroups, SubtractWhatIsNoMean) {
  GraphBuilder build;
  const ValueId flat = build.add("flat", ReshapeOperator{{1, 2, 18}}, {build.input("x", {1, 4, 3, 3})});
  const ValueId least = build.add("least", ReduceOperator{ReduceKind::min, {2}, true}, {flat});
  const ValueId most = build.add("most", ReduceOperator{ReduceKind::max, {2}, true}, {flat});
  const ValueId above = build.binary("above", BinaryKind::sub, flat, least);
  const ValueId share =
      build.binary("share", BinaryKind::div, above, build.binary("range", BinaryKind::sub, most, least));
  const Graph graph = build.finish({build.add("y", ReshapeOperator{{1, 4, 3, 3}}, {share})});
  EXPECT_NE(after(spread_channel_groups, graph).find("share: f32[1x4x3x3] = mul(above, range_of_channels)\n"),
            std::string::npos)
      << after(spread_channel_groups, graph);
}

TEST(ChannelGroups, AreDividedByAFactorAndAShift) {
  GraphBuilder build;
  const ValueId flat = build.add("flat", ReshapeOperator{{1, 2, 18}}, {build.input("x", {1, 4, 3, 3})});
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {2}, true}, {flat});
  const ValueId most = build.add("most", ReduceOperator{ReduceKind::max, {2}, true}, {flat});
  const ValueId normal =
      build.binary("normal", BinaryKind::div, build.binary("centred", BinaryKind::sub, flat, mean), most);
  const ValueId share = build.binary("share", BinaryKind::div, normal, most);
  const Graph graph = build.finish({build.add("y", ReshapeOperator{{1, 4, 3, 3}}, {share})});
  const std::string text = after(remove_dead_code, spread_channel_groups(graph).value());
  EXPECT_NE(text.find("normal_scaled: f32[1x4x3x3] = mul(x, most_of_channels)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("normal: f32[1x4x3x3] = sub(normal_scaled, normal_shift_of_channels)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("share: f32[1x4x3x3] = mul(normal, most_of_channels"), std::string::npos) << text;
  EXPECT_EQ(text.find("centred"), std::string::npos) << text;
  Rng rng(3);
  const std::vector<Tensor> x = {Tensor::random({DType::f32, {1, 4, 3, 3}}, rng, 0.5, 1)};
  const Graph behind = spread_channel_groups(graph).value();
  const Tensor want = evaluate_graph(graph, x).value()[graph.outputs[0].index()];
  const Tensor got = evaluate_graph(behind, x).value()[behind.outputs[0].index()];
  for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.get(i), want.get(i), 1e-6) << i;
}

/// Integers have no reciprocals.
TEST(ChannelGroups, DivideIntegers) {
  GraphBuilder build;
  const ValueId flat = build.add("flat", ReshapeOperator{{1, 2, 18}}, {build.input("x", {1, 4, 3, 3}, DType::i32)});
  const ValueId most = build.add("most", ReduceOperator{ReduceKind::max, {2}, true}, {flat});
  const ValueId share = build.binary("share", BinaryKind::div, flat, most);
  const Graph graph = build.finish({build.add("y", ReshapeOperator{{1, 4, 3, 3}}, {share})});
  const Graph behind = spread_channel_groups(graph).value();
  Tensor x(DType::i32, {1, 4, 3, 3});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_integer(i, 3 * i + 1);
  const Tensor want = evaluate_graph(graph, {x}).value()[graph.outputs[0].index()];
  const Tensor got = evaluate_graph(behind, {x}).value()[behind.outputs[0].index()];
  for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_EQ(got.get(i), want.get(i)) << i;
}

TEST(ChannelGroups, GiveTheSameAnswers) {
  Rng rng(7);
  const std::vector<Tensor> x = {Tensor::random({DType::f32, {1, 4, 3, 3}}, rng)};
  for (std::int64_t groups : {1, 2}) {
    const Graph before = grouped_norm(groups), behind = spread_channel_groups(before).value();
    const Tensor want = evaluate_graph(before, x).value()[before.outputs[0].index()];
    const Tensor got = evaluate_graph(behind, x).value()[behind.outputs[0].index()];
    ASSERT_EQ(got.type(), want.type());
    for (std::int64_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.get(i), want.get(i), 1e-6) << groups << " " << i;
  }
}

TEST(ChannelGroups, StayFlatWhereSomethingElseReadsThem) {
  const Graph graph = grouped_norm(2, true);
  EXPECT_EQ(after(spread_channel_groups, graph), nodes_of(graph));
}

TEST(ScaleShift, GoesIntoTheConvolutionBeforeAndBehind) {
  const Graph graph = graph_of({1, 2, 3, 3}, [](GraphBuilder& build, ValueId x) {
    const ValueId a = build.relu("a", build.batch_norm("bn1", x));
    const ValueId b = build.relu("b", build.batch_norm("bn2", build.conv("c1", a, 3, 1)));
    const ValueId c = build.batch_norm("bn3", b);
    return build.conv("c2", c, 2, 1);
  });
  const auto optimized = run_passes(graph, {});
  ASSERT_TRUE(optimized.ok()) << optimized.error().message;
  EXPECT_EQ(nodes_of(*optimized),
            "bn1_mul: f32[1x2x3x3] = mul(x, bn1_scale)\n"
            "bn1: f32[1x2x3x3] = add(bn1_mul, bn1_shift)\n"
            "a: f32[1x2x3x3] = relu(bn1)\n"
            "a_turned: f32[1x3x3x2] = transpose(a) perm=[0,2,3,1]\n"
            "c1_1_1: f32[1x3x3x3] = conv(a_turned, c1_1_weights, c1_1_bias) channels_last\n"
            "b: f32[1x3x3x3] = relu(c1_1_1)\n"
            "c2_1_1: f32[1x3x3x2] = conv(b, c2_1_weights, c2_1_bias) channels_last\n"
            "c2: f32[1x2x3x3] = transpose(c2_1_1) perm=[0,3,1,2]\n");
}

TEST(ScaleShift, StaysBeforeAConvolutionThatPads) {
  const Graph graph = graph_of({1, 4, 4, 2}, [](GraphBuilder& build, ValueId x) {
    const ValueId shifted = build.plus("shifted", x, build.constant("k", {2}));
    const ConvOperator op{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, Layout::channels_last};
    return build.add("y", op, {shifted, build.constant("w", {3, 3, 2, 3})});
  });
  EXPECT_EQ(after(fold_scale_shift, graph),
            "shifted: f32[1x4x4x2] = add(x, k)\n"
            "y: f32[1x4x4x3] = conv(shifted, w) pads=[1,1] channels_last\n");
}

TEST(ScaleShift, StaysBehindAConvolutionThatOthersRead) {
  const Graph graph = graph_of({1, 4, 4, 2}, [](GraphBuilder& build, ValueId x) {
    const ConvOperator op{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, Layout::channels_last};
    const ValueId c = build.add("c", op, {x, build.constant("w", {1, 1, 2, 2})});
    return build.plus("y", build.binary("m", BinaryKind::mul, c, build.constant("k", {2})), c);
  });
  EXPECT_EQ(after(fold_scale_shift, graph),
            "c: f32[1x4x4x2] = conv(x, w) channels_last\n"
            "m: f32[1x4x4x2] = mul(c, k)\n"
            "y: f32[1x4x4x2] = add(m, c)\n");
}

TEST(EveryPass, OfALongChainOfNumbersNeedsNoDeepStack) {
  const auto optimized = run_passes(long_sums_with_numbers(30000), {});
  ASSERT_TRUE(optimized.ok()) << optimized.error().message;
  EXPECT_EQ(optimized->nodes.size(), 30000u);
}

TEST(OutputNames, SurviveWhenTheOutputIsAnInputOrListedTwice) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, 3});
  const ValueId same = build.add("same", ReshapeOperator{{2, 3}}, {x});
  const ValueId y = build.relu("y", x), z = build.relu("z", x);
  const auto optimized = run_passes(build.finish({same, y, z, y, x}), {});
  ASSERT_TRUE(optimized.ok()) << optimized.error().message;
  EXPECT_TRUE(verify(*optimized).ok());
  std::string names;
  for (ValueId id : optimized->outputs) names += optimized->value(id).name + " ";
  EXPECT_EQ(names, "same y z y x ");
}

}  // namespace
}  // namespace whet
