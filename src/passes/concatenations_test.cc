#include "passes/concatenations.h"

#include <gtest/gtest.h>

#include "ops/evaluate_graph.h"
#include "passes/fuse.h"
#include "passes/optimize.h"
#include "passes/testing/long_graphs.h"
#include "passes/testing/rewrite.h"

namespace whet {
namespace {

using namespace testing;

/// The number of operands of each concatenation.
std::string concats_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<ConcatOperator>(node.op)) text += std::to_string(node.inputs.size()) + " ";
  return text;
}

TEST(WrittenParts, OfALoopOverRowsBecomeOneConcatenation) {
  const Graph graph = long_written_rows(5 * 40);
  const auto joined = join_written_parts(graph);
  ASSERT_TRUE(joined.ok());
  EXPECT_TRUE(verify(*joined).ok());
  EXPECT_EQ(concats_of(*joined), "40 ");
  EXPECT_EQ(joined->nodes.size(), 40u * 3 + 1) << "nothing is left of what was copied";
}

TEST(WrittenParts, StayWhereTheyAreFew) {
  const Graph graph = long_written_rows(5 * (kFewestWrites - 1));
  EXPECT_EQ(after(join_written_parts, graph), nodes_of(graph));
}

TEST(WrittenParts, KeepWhatNoOneWrote) {
  GraphBuilder build;
  ValueId o = build.input("o", {2, 20, 3});
  for (int i = 0; i < kFewestWrites; ++i) {
    const std::string n = std::to_string(i);
    const ValueId row = build.input("r" + n, {2, 1, 3});
    o = build.add("o" + n, ConcatOperator{1},
                  {build.add("f" + n, rows_between(0, 2 * i + 1), {o}), row,
                   build.add("b" + n, rows_between(2 * i + 2, 20), {o})});
  }
  const auto joined = join_written_parts(build.finish({o}));
  ASSERT_TRUE(joined.ok());
  // Eight rows, the even ones between them, and what is behind the last.
  EXPECT_EQ(concats_of(*joined), "17 ");
}

/// h = o[:, i - 1] of what was written a step before.
TEST(WrittenParts, AreReadAgainWithoutTheCopies) {
  GraphBuilder build;
  const std::int64_t rows = 30;
  ValueId o = build.input("o", {2, rows, 3});
  for (std::int64_t i = 1; i + 1 < rows; ++i) {
    const std::string n = std::to_string(i);
    const ValueId row = build.relu("row" + n, build.add("read" + n, rows_between(i - 1, i), {o}));
    o = build.add(
        "o" + n, ConcatOperator{1},
        {build.add("f" + n, rows_between(0, i), {o}), row, build.add("b" + n, rows_between(i + 1, rows), {o})});
  }
  const auto joined = join_written_parts(build.finish({o}));
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(concats_of(*joined), "30 ");
  std::size_t slices = 0;
  for (const Node& node : joined->nodes) slices += std::holds_alternative<SliceOperator>(node.op) ? 1 : 0;
  EXPECT_EQ(slices, 3u) << "the first row that is read, and what is left at both ends";
}

/// Writes of rows at random places, over one another, along both axes; slices of the values on the way, and outputs among them.
Graph random_writes(std::uint64_t seed) {
  Rng rng(seed);
  GraphBuilder build;
  const Shape whole = {6, 12};
  const ValueId x = build.input("x", whole);
  ValueId o = build.relu("start", x);
  std::vector<ValueId> outputs;
  std::size_t axis = 1;
  const auto slice = [&](const std::string& name, std::size_t d, std::int64_t begin, std::int64_t end, ValueId from) {
    SliceOperator op{{0, 0}, {1, 1}, whole};
    op.starts[d] = begin, op.shape[d] = end - begin;
    return build.add(name, op, {from});
  };
  for (int i = 0; i < 24; ++i) {
    const std::string n = std::to_string(i);
    if (rng.chance(0.05)) axis = 1 - axis;
    const std::int64_t begin = rng.below(whole[axis]), end = rng.between(begin + 1, whole[axis]);
    ValueId part = slice("p" + n, axis, begin, end, rng.chance(0.5) ? o : x);
    if (rng.chance(0.7)) part = build.relu("r" + n, part);
    std::vector<ValueId> parts;
    if (begin > 0) parts.push_back(slice("f" + n, axis, 0, begin, o));
    parts.push_back(part);
    if (end < whole[axis]) parts.push_back(slice("b" + n, axis, end, whole[axis], o));
    if (parts.size() > 1) o = build.add("o" + n, ConcatOperator{static_cast<std::int64_t>(axis)}, parts);
    if (rng.chance(0.1)) outputs.push_back(build.unary("u" + n, UnaryKind::abs, o));
    if (rng.chance(0.1)) {
      const std::int64_t first = rng.below(whole[axis]);
      outputs.push_back(slice("s" + n, axis, first, rng.between(first + 1, whole[axis]), o));
    }
  }
  outputs.push_back(build.relu("last", o));
  return build.finish(outputs);
}

TEST(WrittenParts, GiveTheAnswersOfTheCopies) {
  int joined_some = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_writes(seed);
    const auto joined = join_written_parts(graph);
    ASSERT_TRUE(joined.ok()) << joined.error().message;
    ASSERT_TRUE(verify(*joined).ok()) << verify(*joined).error().message;
    joined_some += joined->nodes.size() != graph.nodes.size();
    Rng rng(seed);
    const std::vector<Tensor> inputs = {Tensor::random({DType::f32, {6, 12}}, rng)};
    const auto want = evaluate_graph(graph, inputs), got = evaluate_graph(*joined, inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
      const Tensor &a = (*want)[graph.outputs[k].index()], &b = (*got)[joined->outputs[k].index()];
      ASSERT_EQ(a.size(), b.size());
      for (std::int64_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(a.get(i), b.get(i)) << "seed " << seed << ", output " << k << "\n" << to_text(graph);
    }
  }
  EXPECT_GT(joined_some, 100);
}

TEST(LongConcats, AreSplitIntoEqualOnes) {
  const auto split_of = [](std::size_t parts) {
    GraphBuilder each;
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < parts; ++i) inputs.push_back(each.input("x" + std::to_string(i), {2, 1, 3}));
    const auto split = split_long_concats(each.finish({each.add("y", ConcatOperator{1}, inputs)}));
    EXPECT_TRUE(split.ok() && verify(*split).ok());
    return concats_of(*split);
  };
  const std::string most = std::to_string(kMostParts) + " ";
  EXPECT_EQ(split_of(kMostParts), most);
  EXPECT_EQ(split_of(4 * kMostParts), most + most + most + most + "4 ");
  EXPECT_EQ(split_of(kMostParts + 2),
            std::to_string(kMostParts / 2 + 1) + " " + std::to_string(kMostParts / 2 + 1) + " 2 ");
}

}  // namespace
}  // namespace whet
