#include "alternatives/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "alternatives/alternatives.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"

namespace whet {
namespace merge_test {

using testing::GraphBuilder;

Target target() { return *parse_target("cpu -mcpu=haswell -threads=2"); }

FusedGraph fused(Graph graph) { return optimize(std::move(graph), {}).value(); }

std::set<std::string> names_of_merges(const FusedGraph& graph) {
  std::set<std::string> names;
  for (const MergedGroups& merge : find_merges(graph)) names.insert(merge.name);
  return names;
}

/// A picture that is no input of the user's: those are in the order of the file.
ValueId picture(GraphBuilder& b) { return b.relu("x", b.conv("first", b.input("in", {1, 3, 6, 6}), 16, 1)); }

/// A reader: results of the user's are in the order of the file, by a copy.
ValueId read(GraphBuilder& b, ValueId x) { return b.conv(b.graph.value(x).name + "_reader", x, 8, 3, 1, 1); }

/// Two branches of a picture; `second` makes the other one.
template <typename Second>
FusedGraph two_branches(const Second& second) {
  GraphBuilder b;
  const ValueId x = picture(b);
  const ValueId one = b.relu("a", b.conv("a_conv", x, 8, 1));
  const ValueId two = second(b, x);
  return fused(b.finish({read(b, one), read(b, two)}));
}

TEST(Merges, AreConvolutionsOfOneInputWithEqualWindows) {
  using Names = std::set<std::string>;
  EXPECT_EQ(
      names_of_merges(two_branches([](GraphBuilder& b, ValueId x) { return b.relu("b", b.conv("bc", x, 24, 1)); })),
      Names{"a+b"});
  EXPECT_EQ(names_of_merges(
                two_branches([](GraphBuilder& b, ValueId x) { return b.relu("b", b.conv("bc", x, 8, 3, 1, 1)); })),
            Names{});
  EXPECT_EQ(
      names_of_merges(two_branches([](GraphBuilder& b, ValueId x) { return b.relu("b", b.conv("bc", x, 8, 1, 2)); })),
      Names{});
  EXPECT_EQ(names_of_merges(two_branches([](GraphBuilder& b, ValueId x) { return b.conv("bc", x, 8, 1); })), Names{});
  EXPECT_EQ(names_of_merges(two_branches(
                [](GraphBuilder& b, ValueId x) { return b.unary("b", UnaryKind::sigmoid, b.conv("bc", x, 8, 1)); })),
            Names{});
  // Another input, and one more operand that is no constant.
  EXPECT_EQ(names_of_merges(two_branches([](GraphBuilder& b, ValueId x) {
              return b.relu("b", b.conv("bc", b.unary("t", UnaryKind::tanh, x), 8, 1));
            })),
            Names{});
}

/// Without paddings the operators of windows of any extents are equal.
TEST(Merges, HaveWindowsOfOneExtent) {
  EXPECT_EQ(
      names_of_merges(two_branches([](GraphBuilder& b, ValueId x) { return b.relu("b", b.conv("bc", x, 8, 3)); })),
      (std::set<std::string>{}));
  const FusedGraph crosswise = two_branches([](GraphBuilder& b, ValueId x) {
    const ConvOperator conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, Layout::channels_first};
    const ValueId tall = b.add("tall", conv, {x, b.constant("tall_w", {8, 16, 3, 1})});
    const ValueId flat = b.add("flat", conv, {x, b.constant("flat_w", {8, 16, 1, 3})});
    return b.add("sum", MatMulOperator{}, {b.relu("t", tall), b.relu("f", flat)});
  });
  EXPECT_EQ(names_of_merges(crosswise), (std::set<std::string>{}));
  const auto found = find_alternatives(crosswise, target(), {});
  EXPECT_TRUE(found.ok()) << found.error().message;
}

TEST(Merges, AreProductsWithMatricesOfOneInput) {
  GraphBuilder b;
  const ValueId x = b.unary("x", UnaryKind::tanh, b.input("in", {4, 16}));
  std::vector<ValueId> outputs;
  for (const char* name : {"q", "k", "v"})
    outputs.push_back(b.plus(
        name, b.add(std::string(name) + "_mm", MatMulOperator{}, {x, b.constant(std::string(name) + "_w", {16, 8})}),
        b.constant(std::string(name) + "_b", {8})));
  const FusedGraph graph = fused(b.finish(outputs));
  EXPECT_EQ(names_of_merges(graph), (std::set<std::string>{"q+k", "q+v", "k+v", "q+k+v"}));
}

TEST(Merges, OfMoreThanFourAreAllAndThoseThatAConcatenationReads) {
  GraphBuilder b;
  const ValueId x = picture(b);
  std::vector<ValueId> parts, outputs;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    const ValueId one = b.relu(name, b.conv(std::string(name) + "c", x, 16, 1));
    if (parts.size() < 2)
      parts.push_back(one);
    else
      outputs.push_back(read(b, one));
  }
  outputs.push_back(b.relu("out", b.add("cat", ConcatOperator{1}, {parts[1], parts[0]})));
  // Parts have the order of the concatenation.
  EXPECT_EQ(names_of_merges(fused(b.finish(outputs))), (std::set<std::string>{"b+a", "c+d+e+f", "b+a+c+d+e+f"}));
}

/// Four siblings, of which one is in no concatenation.
TEST(Merges, HaveTheOrderOfTheConcatenationAlsoWithOthersBetween) {
  std::string order = "abcd";
  do {
    GraphBuilder b;
    const ValueId x = picture(b);
    std::map<char, ValueId> made;
    for (char name : {'a', 'b', 'c', 'd'})
      made[name] = b.relu(std::string(1, name), b.conv(std::string(1, name) + "c", x, 16, 1));
    const ValueId cat = b.add("cat", ConcatOperator{1}, {made[order[1]], made[order[2]], made[order[3]]});
    const FusedGraph graph = fused(b.finish({read(b, made[order[0]]), b.relu("out", b.conv("last", cat, 8, 3, 1, 1))}));
    const std::string wanted = {order[1], '+', order[2], '+', order[3]};
    EXPECT_TRUE(names_of_merges(graph).contains(wanted)) << wanted;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(MergedKernels, ThatFeedAConcatenationInOrderAreTheConcatenation) {
  GraphBuilder b;
  const ValueId x = picture(b);
  const ValueId one = b.relu("a", b.conv("ac", x, 16, 1)), two = b.relu("b", b.conv("bc", x, 32, 1));
  const ValueId cat = b.add("cat", ConcatOperator{1}, {one, two});
  const FusedGraph graph = fused(b.finish({b.relu("out", b.conv("last", cat, 8, 3, 1, 1))}));
  const Alternatives found = find_alternatives(graph, target(), {}).value();
  const auto joined = std::find_if(found.all.begin(), found.all.end(), [](const Alternative& a) {
    return a.name == "from merged: a+b" && a.fragment.kernel.empty();
  });
  ASSERT_NE(joined, found.all.end());
  EXPECT_EQ(joined->task, -1);
  // The network of two kernels: the merged one, and the last convolution.
  std::vector<int> chosen;
  const auto merged = std::find_if(found.all.begin(), found.all.end(),
                                   [](const Alternative& a) { return a.kind == AlternativeKind::cover; });
  for (std::size_t a = 0; a < found.usual; ++a) {
    const bool replaced =
        std::find(merged->instead.begin(), merged->instead.end(), found.all[a].group) != merged->instead.end();
    if (found.all[a].group == joined->group) {
      chosen.push_back(static_cast<int>(merged - found.all.begin()));
      chosen.push_back(static_cast<int>(joined - found.all.begin()));
    } else if (!replaced) {
      chosen.push_back(static_cast<int>(a));
    }
  }
  const auto network = assemble(graph, found, chosen);
  ASSERT_TRUE(network.ok()) << network.error().message;
  EXPECT_EQ(network->groups.size(), graph.groups.size() - 2) << to_text(*network);
}

TEST(MergedKernels, ThatAreEqualAreOneTask) {
  GraphBuilder b;
  ValueId x = picture(b);
  for (int block = 0; block < 2; ++block) {
    const std::string n = std::to_string(block);
    const ValueId one = b.relu("a" + n, b.conv("ac" + n, x, 8, 1)), two = b.relu("b" + n, b.conv("bc" + n, x, 8, 1));
    x = b.relu("s" + n, b.conv("sc" + n, b.add("p" + n, ConcatOperator{1}, {one, two}), 16, 3, 1, 1));
  }
  std::set<int> tasks;
  int kernels = 0;
  const Alternatives found = find_alternatives(fused(b.finish({x})), target(), {}).value();
  for (const Alternative& a : found.all) {
    if (a.kind != AlternativeKind::cover) continue;
    tasks.insert(a.task), ++kernels;
  }
  EXPECT_EQ(kernels, 2);
  EXPECT_EQ(tasks.size(), 1u);
}

/// What computes a group, among the usual kernels.
std::string usual_key(const Alternatives& found, int group) {
  for (std::size_t a = 0; a < found.usual; ++a)
    if (found.all[a].group == group && found.all[a].task >= 0)
      return found.tasks[static_cast<std::size_t>(found.all[a].task)].key;
  return "none";
}

TEST(MergedKernels, BeginLikeTheirWidestPartAndTheirReadersLikeTheUsualOnes) {
  const FusedGraph graph = two_branches([](GraphBuilder& b, ValueId x) { return b.relu("b", b.conv("bc", x, 24, 1)); });
  const Alternatives found = find_alternatives(graph, target(), {}).value();
  const std::vector<MergedGroups> merges = find_merges(graph);
  ASSERT_EQ(merges.size(), 1u);
  int readers = 0;
  for (const Alternative& a : found.all) {
    if (!names_cover(a.name) || a.task < 0) continue;
    const std::string& twin = found.tasks[static_cast<std::size_t>(a.task)].twin;
    if (a.kind == AlternativeKind::cover) {
      EXPECT_EQ(twin, usual_key(found, merges.front().groups.back()));  // b, of 24 channels
    }
    if (a.kind != AlternativeKind::layout) continue;
    EXPECT_EQ(twin, usual_key(found, a.group)) << a.name;
    ++readers;
  }
  EXPECT_EQ(readers, 2);
}

TEST(Covers, AreLeftOutWhereTheyAreNotAskedFor) {
  const FusedGraph graph = two_branches([](GraphBuilder& b, ValueId x) { return b.relu("b", b.conv("bc", x, 24, 1)); });
  const Alternatives without = find_alternatives(graph, target(), {.covers = false}).value();
  for (const Alternative& a : without.all) {
    EXPECT_NE(a.kind, AlternativeKind::cover);
    EXPECT_FALSE(names_cover(a.name)) << a.name;
  }
}

}  // namespace merge_test
}  // namespace whet
