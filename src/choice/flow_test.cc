#include "choice/flow.h"

#include <gtest/gtest.h>

#include "choice/components.h"

namespace whet {
namespace {

TEST(Flow, IsAsLargeAsTheSmallestCut) {
  Flow flow;
  const int a = flow.add_node(), b = flow.add_node();
  flow.add_edge(Flow::kSource, a, 3);
  flow.add_edge(Flow::kSource, b, 2);
  flow.add_edge(a, b, 5);
  flow.add_edge(a, Flow::kSink, 1);
  flow.add_edge(b, Flow::kSink, 3);
  EXPECT_DOUBLE_EQ(flow.send(100), 4);
  EXPECT_EQ(flow.reached(), std::vector<char>({1, 0, 1, 1}));
}

TEST(Flow, TakesBackWhatItSentOnAWrongWay) {
  // The shortest path first goes from a over d, which c needs.
  Flow flow;
  const int a = flow.add_node(), c = flow.add_node(), d = flow.add_node(), e = flow.add_node(), f = flow.add_node();
  flow.add_edge(Flow::kSource, a, 1);
  flow.add_edge(Flow::kSource, c, 1);
  flow.add_edge(a, d, 1);
  flow.add_edge(c, d, 1);
  flow.add_edge(d, Flow::kSink, 1);
  flow.add_edge(a, e, 1);
  flow.add_edge(e, f, 1);
  flow.add_edge(f, Flow::kSink, 1);
  EXPECT_DOUBLE_EQ(flow.send(100), 2);
}

TEST(Components, AreNumberedAfterThoseThatTheyLeadTo) {
  // 0 -> 1 <-> 2 -> 3, 4 alone
  const std::vector<int> component = strong_components({{1}, {2}, {1, 3}, {}, {}});
  EXPECT_EQ(component[1], component[2]);
  EXPECT_GT(component[0], component[1]);
  EXPECT_GT(component[1], component[3]);
  EXPECT_NE(component[4], component[3]);
}

}  // namespace
}  // namespace whet
