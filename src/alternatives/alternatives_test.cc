#include "alternatives/alternatives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/random_graph.h"
#include "task/testing/evaluate_groups.h"
#include "tensor/compare.h"

namespace whet {
namespace alternatives_test {

using testing::GraphBuilder;

const std::vector<ActivationLayout> kForms = {kChannelsFirst, {2}, {4}, {8}};

Target target() { return *parse_target("cpu -mcpu=haswell -threads=2"); }

FusedGraph fused(Graph graph) { return optimize(std::move(graph), {}).value(); }

Alternatives alternatives_of(const FusedGraph& graph) { return find_alternatives(graph, target(), {kForms}).value(); }

/// Draws a plan: each group on forms that its inputs have or can be turned into.
class RandomPlan {
 public:
  RandomPlan(const FusedGraph& fused, const Alternatives& alternatives, std::uint64_t seed)
      : fused_(fused), alternatives_(alternatives), rng_(seed) {
    for (ValueId id : fused.graph.inputs) there_.insert({id, kChannelsLast});
  }

  std::vector<int> draw() {
    for (std::size_t u = 0; u < alternatives_.usual; ++u) {
      std::vector<int> options = {static_cast<int>(u)};
      for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
        if (alternatives_.all[a].kind == AlternativeKind::layout &&
            alternatives_.all[a].group == alternatives_.all[u].group && alternatives_.all[u].group >= 0)
          options.push_back(static_cast<int>(a));
      take(options);
    }
    for (ValueId id : fused_.graph.outputs) {
      if (fused_.graph.value(id).constant) continue;
      EXPECT_TRUE(bring({id, kChannelsLast}));
    }
    return plan_;
  }
  int converted() const { return converted_; }

 private:
  void take(std::vector<int> options) {
    while (!options.empty()) {
      const auto k = rng_.below(std::ssize(options));
      const int number = options[static_cast<std::size_t>(k)];
      const Alternative& a = alternatives_.all[static_cast<std::size_t>(number)];
      bool ready = true;
      for (const StoredValue& v : a.fragment.reads) ready = ready && bring(v);
      if (ready) {
        plan_.push_back(number);
        converted_ += a.kind == AlternativeKind::layout;
        there_.insert(a.fragment.writes.begin(), a.fragment.writes.end());
        return;
      }
      options.erase(options.begin() + k);
    }
    ADD_FAILURE() << "no way to compute a group";
  }

  /// The value in this form, by a transform where it has another.
  bool bring(const StoredValue& wanted) {
    if (there_.contains(wanted)) return true;
    for (std::size_t a = 0; a < alternatives_.all.size(); ++a) {
      const Alternative& transform = alternatives_.all[a];
      if (transform.kind != AlternativeKind::transform || transform.fragment.writes.front() != wanted ||
          !there_.contains(transform.fragment.reads.front()))
        continue;
      plan_.push_back(static_cast<int>(a));
      there_.insert(wanted);
      return true;
    }
    return false;
  }

  const FusedGraph& fused_;
  const Alternatives& alternatives_;
  Rng rng_;
  std::set<StoredValue> there_;
  std::vector<int> plan_;
  int converted_ = 0;
};

void expect_same_answers(const FusedGraph& usual, const FusedGraph& other, std::uint64_t seed) {
  const std::vector<Tensor> inputs = testing::random_inputs(usual.graph, seed);
  const auto want = testing::evaluate_groups(usual, inputs), got = testing::evaluate_groups(other, inputs);
  ASSERT_TRUE(want.ok()) << want.error().message;
  ASSERT_TRUE(got.ok()) << got.error().message << "\n" << to_text(other);
  ASSERT_EQ(want->size(), got->size());
  for (std::size_t i = 0; i < want->size(); ++i) {
    EXPECT_EQ(usual.graph.value(usual.graph.outputs[i]).name, other.graph.value(other.graph.outputs[i]).name);
    EXPECT_EQ((*want)[i].type(), (*got)[i].type());
    EXPECT_EQ(compare((*got)[i], (*want)[i], 1e-4).mismatches, 0) << to_text(other);
  }
}

/// Convolutions, a depthwise one, a residual, a pool, a concatenation and the mean of a picture.
Graph small_network() {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 9, 9});
  const ValueId first = b.relu("r1", b.conv("c1", x, 16, 3, 2, 1));
  const ValueId deep = b.relu("r2", b.conv("c2", first, 16, 3, 1, 1, 16));
  const ValueId sum = b.relu("r3", b.plus("s", b.conv("c3", deep, 16, 1), first));
  PoolOperator pool{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const ValueId pooled = b.add("p", pool, {sum});
  const ValueId both = b.add("cat", ConcatOperator{1}, {b.conv("c4", pooled, 8, 1), b.conv("c5", pooled, 24, 3, 1, 1)});
  const ValueId mean = b.add("m", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {both});
  return b.finish({mean, both});
}

TEST(ActivationLayout, IsReadAsItIsWritten) {
  for (const char* text : {"nhwc", "nchw", "nchw16c", "nchw64c"})
    EXPECT_EQ(to_text(*parse_activation_layout(text)), text);
  for (const char* text :
       {"", "nchwc", "nchw0c", "nchw1c", "nchw16", "nchw-4c", "NHWC", "nchw16cc", "nchw99999999999999999999c"})
    EXPECT_FALSE(parse_activation_layout(text)) << text;
}
TEST(ActivationLayout, StoresWholeBlocks) {
  EXPECT_EQ(stored_shape({1, 7, 9, 32}, {16}), (Shape{1, 2, 7, 9, 16}));
  EXPECT_EQ(stored_shape({2, 7, 32}, kChannelsFirst), (Shape{2, 32, 7}));
  EXPECT_EQ(stored_shape({1, 7, 9, 24}, {16}), (Shape{1, 2, 7, 9, 16}));
  EXPECT_EQ(stored_shape({1, 24}, {8}), std::nullopt);
}
TEST(ActivationLayout, PadsLittleUpToAThirdOfTheChannels) {
  EXPECT_FALSE(pads({1, 7, 9, 32}, {16}));
  EXPECT_FALSE(pads({1, 7, 9, 24}, kChannelsFirst));
  EXPECT_TRUE(pads({1, 7, 9, 24}, {16}));
  EXPECT_TRUE(pads_little({1, 7, 9, 24}, {16}));
  EXPECT_TRUE(pads_little({1, 7, 9, 24}, {32}));
  EXPECT_FALSE(pads_little({1, 7, 9, 23}, {32}));
  EXPECT_FALSE(pads_little({1, 7, 9, 3}, {16}));
  EXPECT_FALSE(pads_little({1, 7, 9, 960 - 16}, {64}));
}

double sum_of_sizes(const Tensor& tensor) {
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) sum += std::abs(tensor.get(i));
  return sum;
}

/// A copy into a form, from there into another one, and back.
TEST(Transforms, OfPaddedBlocksKeepTheValue) {
  const Shape shape = {2, 5, 3, 20};
  const std::vector<ActivationLayout> forms = {kChannelsFirst, {2}, {8}, {16}, {32}};
  for (ActivationLayout from : forms)
    for (ActivationLayout to : forms) {
      if (from == to || !nests(shape, from, to)) continue;
      Graph graph;
      graph.inputs = {graph.add_value("x", {DType::f32, shape})};
      const ValueId first = *add_transform(graph, graph.inputs.front(), shape, kChannelsLast, from, "first");
      const ValueId second = *add_transform(graph, first, shape, from, to, "second");
      const ValueId back = *add_transform(graph, second, shape, to, kChannelsLast, "back");
      graph.outputs = {back};
      const Tensor x = testing::random_inputs(graph, 1).front();
      const auto values = evaluate_graph(graph, {x});
      ASSERT_TRUE(values.ok()) << values.error().message;
      EXPECT_EQ(compare((*values)[back.index()], x, 0).mismatches, 0) << to_text(from) << " " << to_text(to);
      EXPECT_NEAR(sum_of_sizes((*values)[second.index()]), sum_of_sizes(x), 1e-4) << "padding channels hold zeros";
    }
}
TEST(Forms, AreWholeVectorsOfTheTarget) {
  const auto text = [](const char* name) {
    std::string all;
    for (ActivationLayout form : forms_for(*parse_target(name))) all += to_text(form) + " ";
    return all;
  };
  EXPECT_EQ(text("cpu -mcpu=sapphirerapids -threads=2"), "nchw nchw16c nchw32c nchw64c ");
  EXPECT_EQ(text("cpu -mcpu=haswell -threads=2"), "nchw nchw8c nchw16c nchw32c nchw64c ");
  EXPECT_EQ(text("cpu -mcpu=cortex-a72 -threads=2"), "nchw nchw4c nchw8c nchw16c nchw32c nchw64c ");
}

TEST(Alternatives, BeginWithTheUsualPlan) {
  const FusedGraph usual = fused(small_network());
  const Alternatives found = alternatives_of(usual);
  std::vector<int> plan;
  for (std::size_t a = 0; a < found.usual; ++a) plan.push_back(static_cast<int>(a));
  const auto same = assemble(usual, found, plan);
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_EQ(same->groups.size(), usual.groups.size());
  const auto tasks = extract_tasks(*same, target()).value(), wanted = extract_tasks(usual, target()).value();
  ASSERT_EQ(tasks.size(), wanted.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    EXPECT_EQ(tasks[t].key, wanted[t].key);
    EXPECT_EQ(tasks[t].within, wanted[t].within);
  }
}

TEST(Alternatives, OfAConvolutionAreAllPairsOfForms) {
  GraphBuilder b;
  const ValueId x = b.relu("before", b.input("x", {1, 8, 5, 5}));
  const FusedGraph usual = fused(b.finish({b.relu("behind", b.conv("c", x, 16, 3, 1, 1))}));
  std::set<std::string> names;
  for (const Alternative& a : alternatives_of(usual).all)
    if (a.kind == AlternativeKind::layout && a.fragment.kernel.size() > 1) names.insert(a.name);
  EXPECT_TRUE(names.contains("nhwc -> nchw8c"));
  EXPECT_TRUE(names.contains("nchw4c -> nhwc"));
  EXPECT_TRUE(names.contains("nchw2c"));
  EXPECT_TRUE(names.contains("nchw"));
  EXPECT_FALSE(names.contains("nchw -> nhwc"));
}

TEST(Alternatives, ThatAreEqualAreOneTask) {
  GraphBuilder b;
  ValueId x = b.relu("before", b.input("x", {1, 8, 5, 5}));
  for (const char* name : {"c1", "c2", "c3"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, 8, 3, 1, 1));
  const FusedGraph usual = fused(b.finish({x}));
  std::map<std::string, std::set<int>> tasks;
  for (const Alternative& a : alternatives_of(usual).all)
    if (a.kind == AlternativeKind::layout && a.fragment.kernel.size() > 1) tasks[a.name].insert(a.task);
  EXPECT_EQ(tasks.at("nchw4c").size(), 1u);
  EXPECT_EQ(tasks.at("nchw4c -> nchw2c").size(), 1u);
}

/// Branches of the epilogue that are listed before the convolution, and one that is read on both sides of it.
TEST(Alternatives, OfSideBranchesGiveTheSameAnswers) {
  const auto network = [](int kind) {
    GraphBuilder b;
    const ValueId x = b.relu("first", b.input("x", {1, 16, 8, 8}));
    const PoolOperator pool{PoolKind::max, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
    const ValueId p = b.add("p", pool, {x});
    if (kind == 0) {
      const ValueId side = b.relu("side", p);
      return b.finish({b.relu("out", b.plus("sum", b.conv("c", x, 16, 3, 1, 1), side))});
    }
    if (kind == 1) {
      const ValueId gate = b.unary("gate", UnaryKind::sigmoid, p);
      return b.finish({b.binary("out", BinaryKind::mul, b.conv("c", p, 16, 1), gate)});
    }
    const ValueId scaled = b.binary("scaled", BinaryKind::mul, p, b.constant("s", {16, 1, 1}));
    return b.finish({b.plus("out", b.conv("c", p, 16, 1), scaled)});
  };
  for (int kind = 0; kind < 3; ++kind) {
    const FusedGraph usual = fused(network(kind));
    const Alternatives found = alternatives_of(usual);
    EXPECT_GT(found.all.size(), found.usual);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      RandomPlan plan(usual, found, seed);
      const auto other = assemble(usual, found, plan.draw());
      ASSERT_TRUE(other.ok()) << other.error().message;
      expect_same_answers(usual, *other, seed);
    }
  }
}

TEST(Alternatives, AreNoneOfValuesThatAreNoPictures) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 16});
  const FusedGraph usual = fused(b.finish({b.relu("r", b.plus("s", x, b.constant("c", {16})))}));
  const Alternatives found = alternatives_of(usual);
  EXPECT_EQ(found.all.size(), found.usual);
}

/// Channels that no block divides: gates of one pixel, a residual, a value a channel, pools, a depthwise convolution.
Graph odd_network() {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 3, 9, 9});
  const ValueId first = b.relu("r1", b.conv("c1", x, 20, 3, 2, 1));
  const ValueId deep = b.unary("h", UnaryKind::hard_swish, b.conv("c2", first, 20, 3, 1, 1, 20));
  const ValueId gate = b.unary("g", UnaryKind::sigmoid, b.input("gate", {2, 20, 1, 1}));
  const ValueId gated = b.binary("m", BinaryKind::mul, deep, gate);
  const ValueId sum = b.relu("r3", b.plus("s", b.conv("c3", gated, 20, 1), first));
  const ValueId scaled = b.binary("k", BinaryKind::mul, sum, b.constant("scale", {20, 1, 1}));
  PoolOperator pool{PoolKind::average, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first};
  const ValueId pooled = b.add("p", pool, {scaled});
  const ValueId wide = b.conv("c4", pooled, 23, 3, 1, 1);
  const ValueId mean = b.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {wide});
  return b.finish({mean, wide});
}

TEST(PaddedBlocks, HaveTheAnswersOfTheUsualKernels) {
  const FusedGraph usual = fused(odd_network());
  const Alternatives found = find_alternatives(usual, target(), {kForms, true, {{16}, {8}}}).value();
  int padded = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    RandomPlan plan(usual, found, seed);
    const std::vector<int> numbers = plan.draw();
    for (int a : numbers) padded += pads(usual, found.all[static_cast<std::size_t>(a)]);
    const auto other = assemble(usual, found, numbers);
    ASSERT_TRUE(other.ok()) << other.error().message;
    expect_same_answers(usual, *other, seed);
  }
  EXPECT_GE(padded, 48);
}

/// Names of a network's alternatives of `x` channels that pad.
std::set<std::string> padded_names(std::int64_t channels, const std::vector<ActivationLayout>& forms,
                                   const std::vector<ActivationLayout>& anyhow = {},
                                   UnaryKind behind = UnaryKind::relu) {
  GraphBuilder b;
  const ValueId x = b.relu("before", b.input("x", {1, channels, 6, 6}));
  const FusedGraph usual = fused(b.finish({b.unary("behind", behind, b.conv("c", x, channels, 3, 1, 1))}));
  const Alternatives found = find_alternatives(usual, target(), {forms, true, anyhow}).value();
  std::set<std::string> names;
  for (const Alternative& a : found.all)
    if (pads(usual, a)) names.insert(a.name);
  return names;
}

TEST(PaddedBlocks, AreOfferedWhereTheyPadLittleOrAreAskedFor) {
  EXPECT_EQ(padded_names(24, {{8}}), std::set<std::string>());
  EXPECT_EQ(padded_names(24, {{16}}), (std::set<std::string>{"nchw16c", "nhwc -> nchw16c", "nchw16c -> nhwc"}));
  EXPECT_EQ(padded_names(20, {{16}}), std::set<std::string>());
  EXPECT_EQ(padded_names(20, {{16}}, {{16}}), (std::set<std::string>{"nchw16c", "nhwc -> nchw16c", "nchw16c -> nhwc"}));
  EXPECT_EQ(padded_names(56, {{64}}), std::set<std::string>());
  EXPECT_EQ(padded_names(56, {{64}}, {{64}}).size(), 3u);
}

/// 1 / 0 in a padding channel would reach every channel of the next convolution.
TEST(PaddedBlocks, AreNotOfferedWherePaddingMayNotStayFinite) {
  EXPECT_TRUE(padded_names(24, {{16}}, {}, UnaryKind::tanh).contains("nchw16c"));
  EXPECT_FALSE(padded_names(24, {{16}}, {}, UnaryKind::reciprocal).contains("nchw16c"));
  EXPECT_FALSE(padded_names(24, {{16}}, {}, UnaryKind::log).contains("nchw16c"));
}

TEST(Assembly, RefusesAPlanThatReadsWhatIsNotThere) {
  const FusedGraph usual = fused(small_network());
  const auto plan = assemble(usual, alternatives_of(usual), {1});
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("which nothing before has written"), std::string::npos) << plan.error().message;
}

TEST(EveryPlan, HasTheAnswersOfTheUsualOne) {
  const FusedGraph usual = fused(small_network());
  const Alternatives found = alternatives_of(usual);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomPlan plan(usual, found, seed);
    const auto other = assemble(usual, found, plan.draw());
    ASSERT_TRUE(other.ok()) << other.error().message;
    EXPECT_GE(plan.converted(), 1) << seed;
    expect_same_answers(usual, *other, seed);
  }
}

TEST(EveryPlan, OfRandomGraphsHasTheAnswersOfTheUsualOne) {
  int converted = 0, padded = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const FusedGraph usual = fused(testing::random_graph(seed));
    const Alternatives found = alternatives_of(usual);
    RandomPlan plan(usual, found, seed);
    const std::vector<int> numbers = plan.draw();
    const auto other = assemble(usual, found, numbers);
    ASSERT_TRUE(other.ok()) << other.error().message << " seed " << seed;
    converted += plan.converted();
    for (int a : numbers) padded += pads(usual, found.all[static_cast<std::size_t>(a)]);
    expect_same_answers(usual, *other, seed);
  }
  EXPECT_GE(converted, 60);
  EXPECT_GE(padded, 20);
}

}  // namespace alternatives_test
}  // namespace whet
