#include "choice/order.h"

#include <gtest/gtest.h>

#include "choice/tensors.h"

namespace whet {
namespace {

/// 0 is given. Items 0 and 1 write 1 and 2 from each other, item 2 writes 1 from 0, item 3 writes 3 from 2, item 4 writes 4 from 3 and 4.
ChoiceProblem small_circle() {
  return {5, {0}, {3}, {{{2}, {1}, 1}, {{1}, {2}, 1}, {{0}, {1}, 5}, {{2}, {3}, 1}, {{3, 4}, {4}, 1}}};
}

TEST(RunOrder, HasWhatCanRunInAnOrderInWhichItCan) {
  EXPECT_EQ(run_order(small_circle(), {0, 1, 2, 3, 4}).items, std::vector<int>({2, 1, 0, 3}));
  EXPECT_TRUE(run_order(small_circle(), {0, 1, 3}).items.empty());
}

TEST(RunOrder, LacksLoopsWithoutAStart) {
  EXPECT_EQ(loops_without_start(small_circle(), {0, 1, 3}), (std::vector<std::vector<int>>{{1, 2}}));
  EXPECT_TRUE(loops_without_start(small_circle(), {1, 2, 3}).empty());
  // An item that waits for itself, and a wanted value that nothing writes.
  EXPECT_EQ(loops_without_start(small_circle(), {1, 2, 3, 4}), (std::vector<std::vector<int>>{{4}}));
  EXPECT_EQ(loops_without_start(small_circle(), {}), (std::vector<std::vector<int>>{{3}}));
}

TEST(GreedyPlan, HasTheCheapestWriterOfEachValue) {
  const std::vector<char> all(5, 1);
  EXPECT_EQ(greedy_plan(small_circle(), all, {}), std::vector<int>({1, 2, 3}));
  EXPECT_EQ(greedy_plan(small_circle(), all, {0}), std::vector<int>({0, 1, 2, 3}));
  EXPECT_TRUE(greedy_plan(small_circle(), all, {4}).empty());
}

TEST(SpareItems, AreLeftOutUnlessTheyAreRequired) {
  EXPECT_EQ(without_spare_items(small_circle(), {0, 1, 2, 3}, {}), std::vector<int>({1, 2, 3}));
  ChoiceOptions options;
  options.required = {0};
  EXPECT_EQ(without_spare_items(small_circle(), {0, 1, 2, 3}, options), std::vector<int>({0, 1, 2, 3}));
}

TEST(Tensors, AreValuesThatItemsLeadBetween) {
  const ChoiceProblem problem = small_circle();
  std::vector<std::vector<int>> writers(problem.values);
  for (int item = 0; item < 5; ++item) writers[problem.items[item].writes[0]].push_back(item);
  const std::vector<char> all(5, 1);
  const Tensors tensors(problem, all, writers);
  ASSERT_EQ(tensors.count(), 3);
  EXPECT_EQ(tensors.of(0), -1);
  EXPECT_EQ(tensors.values(0), std::vector<int>({1, 2}));
  EXPECT_EQ(tensors.needs(1), std::vector<int>({0, 1}));
  EXPECT_EQ(tensors.sets_of(1), (std::vector<std::vector<int>>{{3}}));
  EXPECT_EQ(first_writers(problem, writers, {1, 2}), std::vector<int>({2}));
}

}  // namespace
}  // namespace whet
