#include "passes/rolled_loops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/evaluate_graph.h"
#include "passes/concatenations.h"
#include "passes/optimize.h"
#include "passes/testing/long_graphs.h"
#include "passes/testing/rewrite.h"

namespace whet {
namespace {

using namespace testing;

constexpr std::int64_t kRounds = 10;

/// A concatenation of `round` of each row of x [2, 10, 3].
template <typename Round>
Graph collected(const Round& round, bool backwards = false) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, kRounds, 3});
  std::vector<ValueId> rows;
  for (std::int64_t i = 0; i < kRounds; ++i) {
    const std::string n = std::to_string(i);
    rows.push_back(round(build, n, build.add("read" + n, rows_between(i, i + 1), {x})));
  }
  if (backwards) std::reverse(rows.begin(), rows.end());
  return build.finish({build.add("y", ConcatOperator{1}, rows)});
}

ValueId gelu_like(GraphBuilder& build, const std::string& n, ValueId row) {
  return build.binary("mul" + n, BinaryKind::mul, row, build.unary("sigmoid" + n, UnaryKind::sigmoid, row));
}

TEST(RollLoops, ComputesAllRoundsAtOnce) {
  EXPECT_EQ(after(roll_loops, collected(gelu_like)),
            "y_rolled: f32[2x10x3] = slice(x) starts=[0,0,0]\n"
            "y_rolled_1: f32[2x10x3] = sigmoid(y_rolled)\n"
            "y: f32[2x10x3] = mul(y_rolled, y_rolled_1)\n");
}

TEST(RollLoops, RunsBackwards) {
  const std::string text = after(roll_loops, collected(gelu_like, true));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_NE(text.find("steps=[1,-1,1]"), std::string::npos) << text;
}

/// An operand that all rounds read goes along where it has one value for all of them.
TEST(RollLoops, TakesWhatAllRoundsRead) {
  const auto with_bias = [](const Shape& shape) {
    GraphBuilder build;
    const ValueId x = build.input("x", {2, kRounds, 3}), bias = build.input("bias", shape);
    std::vector<ValueId> rows;
    for (std::int64_t i = 0; i < kRounds; ++i) {
      const std::string n = std::to_string(i);
      rows.push_back(build.plus("sum" + n, build.add("read" + n, rows_between(i, i + 1), {x}), bias));
    }
    return build.finish({build.add("y", ConcatOperator{1}, rows)});
  };
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{1, 3}, Shape{2, 1, 1}})
    EXPECT_EQ(roll_loops(with_bias(shape))->nodes.size(), 2u) << to_string(shape);
}

TEST(RollLoops, LeavesRoundsThatReadOneAnother) {
  const Graph graph = long_loop(3 * static_cast<int>(kRounds));
  EXPECT_EQ(after(roll_loops, graph), nodes_of(graph));
}

TEST(RollLoops, LeavesWhatSomethingElseReads) {
  GraphBuilder build;
  const ValueId x = build.input("x", {2, kRounds, 3});
  std::vector<ValueId> rows;
  for (std::int64_t i = 0; i < kRounds; ++i) {
    const std::string n = std::to_string(i);
    rows.push_back(build.relu("row" + n, build.add("read" + n, rows_between(i, i + 1), {x})));
  }
  const ValueId y = build.add("y", ConcatOperator{1}, rows);
  const Graph graph = build.finish({y, rows[4]});
  EXPECT_EQ(after(roll_loops, graph), nodes_of(graph));
}

TEST(RollLoops, LeavesRoundsThatDiffer) {
  const auto differing = [](GraphBuilder& build, const std::string& n, ValueId row) {
    return build.unary("row" + n, n == "7" ? UnaryKind::tanh : UnaryKind::relu, row);
  };
  const Graph graph = collected(differing);
  EXPECT_EQ(after(roll_loops, graph), nodes_of(graph));
}

/// Rows that a loop writes in place are a concatenation first.
TEST(RollLoops, MakesOneKernelOfALoopOverRows) {
  const auto fused = optimize(long_written_rows(5 * 200), {});
  ASSERT_TRUE(fused.ok()) << fused.error().message;
  EXPECT_EQ(to_text(*fused), "mul+tanh (x) -> o199 f32[2x200x3]\n");
}

/// Rounds of random operators on rows of some extents, some of which are turned around or taken from another value.
Graph random_rounds(std::uint64_t seed) {
  Rng rng(seed);
  GraphBuilder build;
  const Shape whole = {2, 40, 3};
  const ValueId x = build.input("x", whole), z = build.input("z", whole), w = build.input("w", {2, 1, 3});
  const bool backwards = rng.chance(0.3), odd = rng.chance(0.3);
  const std::int64_t rows = backwards ? 1 : rng.between(1, 3), rounds = rng.between(8, 12);
  const std::int64_t first = rng.below(4);
  const int kind = static_cast<int>(rng.below(4));
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < rounds; ++i) {
    const std::string n = std::to_string(i);
    const std::int64_t at = first + rows * (backwards ? rounds - 1 - i : i);
    const ValueId from = odd && i == 5 ? z : x;
    const ValueId read = build.add("read" + n, rows_between(at, at + rows), {from});
    const ValueId other = build.add("other" + n, rows_between(at, at + rows), {z});
    ValueId y = build.binary("b" + n, BinaryKind::add, read, kind == 0 ? w : kind == 1 ? read : other);
    y = build.unary("u" + n, UnaryKind::tanh, y);
    if (kind == 3) y = build.binary("m" + n, BinaryKind::mul, y, read);
    parts.push_back(y);
  }
  return build.finish({build.add("y", ConcatOperator{1}, parts)});
}

TEST(RollLoops, GivesTheAnswersOfTheRounds) {
  int rolled_some = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_rounds(seed);
    const auto rolled = roll_loops(graph);
    ASSERT_TRUE(rolled.ok()) << rolled.error().message;
    ASSERT_TRUE(verify(*rolled).ok()) << verify(*rolled).error().message;
    rolled_some += rolled->nodes.size() < 8;
    Rng rng(seed);
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) inputs.push_back(Tensor::random(graph.value(id).type, rng));
    const auto want = evaluate_graph(graph, inputs), got = evaluate_graph(*rolled, inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    const Tensor &a = (*want)[graph.outputs[0].index()], &b = (*got)[rolled->outputs[0].index()];
    ASSERT_EQ(a.size(), b.size());
    for (std::int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.get(i), b.get(i)) << "seed " << seed;
  }
  EXPECT_GT(rolled_some, 80);
}

}  // namespace
}  // namespace whet
