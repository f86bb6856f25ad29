#include "alternatives/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "alternatives/alternatives.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"

namespace whet {
namespace chain_test {

using testing::GraphBuilder;
using Hopes = std::map<std::string, double>;

FusedGraph fused(Graph graph) { return optimize(std::move(graph), {}).value(); }

Hopes hopes_of(const FusedGraph& graph) {
  Hopes hopes;
  for (const GroupChain& chain : find_chains(graph)) hopes[chain.name] = chain.hope;
  return hopes;
}

bool gains_much(const FusedGraph& graph) {
  const Target target = *parse_target("cpu -mcpu=haswell -threads=2");
  return std::ranges::any_of(find_alternatives(graph, target, {}).value().all, chains_depthwise);
}

PoolOperator pool() { return {PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, Layout::channels_first}; }

/// A reader that makes the result no output of the network.
FusedGraph read(GraphBuilder& b, ValueId x) { return fused(b.finish({b.conv("reader", x, 8, 3, 2, 1)})); }

TEST(Chains, OfAnInvertedBottleneckHopeForMost) {
  GraphBuilder b;
  const ValueId wide = b.relu("wide", b.conv("c1", b.relu("x", b.input("in", {1, 8, 12, 12})), 24, 1));
  const ValueId deep = b.relu("deep", b.conv("c2", wide, 24, 3, 1, 1, 24));
  const FusedGraph graph = read(b, b.relu("thin", b.conv("c3", deep, 8, 1)));
  EXPECT_EQ(hopes_of(graph), (Hopes{{"wide+deep", 0.7}, {"deep+thin", 0.7}, {"wide+deep+thin", 0.6}}));
  EXPECT_TRUE(gains_much(graph));
}

TEST(Chains, OfAPoolBetweenProductsAreNoBottlenecks) {
  GraphBuilder b;
  const ValueId wide = b.relu("wide", b.conv("c1", b.relu("x", b.input("in", {1, 8, 12, 12})), 24, 1));
  const FusedGraph graph = read(b, b.relu("thin", b.conv("c2", b.add("pool", pool(), {wide}), 8, 1)));
  EXPECT_EQ(hopes_of(graph), (Hopes{{"wide+pool", 0.85}, {"pool+thin", 0.8}, {"wide+pool+thin", 0.75}}));
  EXPECT_FALSE(gains_much(graph));
}

TEST(Chains, BeginWithAPictureThatIsTurned) {
  GraphBuilder b;
  const ValueId first = b.relu("first", b.conv("c1", b.input("in", {1, 3, 16, 16}), 16, 3, 2, 1));
  const ValueId deep = b.relu("deep", b.conv("c2", first, 16, 3, 1, 1, 16));
  EXPECT_EQ(hopes_of(read(b, b.relu("thin", b.conv("c3", deep, 8, 1)))),
            (Hopes{{"first+deep", 0.7}, {"deep+thin", 0.7}, {"first+deep+thin", 0.75}}));
}

TEST(Chains, EndWhereSomethingElseReads) {
  GraphBuilder b;
  const ValueId wide = b.relu("wide", b.conv("c1", b.relu("x", b.input("in", {1, 8, 12, 12})), 24, 1));
  const ValueId deep = b.relu("deep", b.conv("c2", wide, 24, 3, 1, 1, 24));
  const ValueId sum = b.plus("sum", b.relu("thin", b.conv("c3", deep, 24, 1)), deep);
  EXPECT_EQ(hopes_of(read(b, sum)), (Hopes{{"wide+deep", 0.7}}));
}

}  // namespace chain_test
}  // namespace whet
