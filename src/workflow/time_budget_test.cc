#include "workflow/time_budget.h"

#include <gtest/gtest.h>

#include <cmath>

namespace whet {
namespace {

/// A command that began at second 100 of the clock.
TimeBudget budget(double seconds) { return {seconds, 100, "--seconds S"}; }
EndNeeds needs(const PhaseNeed& network, const PhaseNeed& layouts = {}) {
  return {.network = network, .layouts = layouts, .layouts_share = 0.25, .rest = 0.5};
}

TEST(TimeBudget, WithoutALimitNothingHasToEnd) {
  const TimeBudget none;
  EXPECT_FALSE(none.limited());
  EXPECT_TRUE(std::isinf(none.left(5)));
  EXPECT_FALSE(none.is_short());
  EXPECT_TRUE(std::isinf(none.ends(1, needs({1, 2})).tasks));
  EXPECT_TRUE(std::isinf(none.next_run(1, 2, 3).ends(1, needs({1, 2})).layouts));
}
TEST(TimeBudget, CountsFromTheStartOfTheCommand) {
  EXPECT_DOUBLE_EQ(budget(10).used(104), 4);
  EXPECT_DOUBLE_EQ(budget(10).left(104), 6);
  EXPECT_DOUBLE_EQ(budget(10).left(111), 0);
}
TEST(TimeBudget, TenSecondsAreForTheTasksButTheNetworksPart) {
  const PhaseEnds ends = budget(10).ends(100.5, needs({1, 20}));
  EXPECT_DOUBLE_EQ(ends.layouts, 109.5);
  EXPECT_DOUBLE_EQ(ends.network, 109.5) << "no layouts are wanted";
  EXPECT_DOUBLE_EQ(ends.tasks, 108);
}
TEST(TimeBudget, TheNetworkOfAShortRunMayHaveTwiceItsPartButNoMore) {
  EXPECT_DOUBLE_EQ(budget(10).ends(100.5, needs({2, 20})).tasks, 109.5 - 2.4)
      << "a fifth more than it is likely to need";
  const PhaseEnds without = budget(10).ends(100.5, needs({2.6, 20}));
  EXPECT_DOUBLE_EQ(without.tasks, without.network) << "the tasks have its part";
}
TEST(TimeBudget, LayoutsOfAShortRunHaveTheirPartOrNothing) {
  const PhaseEnds with = budget(20).ends(101, needs({1, 20}, {1.5, 30}));
  EXPECT_DOUBLE_EQ(with.layouts, 119.5);
  EXPECT_DOUBLE_EQ(with.layouts_measured, 119.5 - 1.8);
  EXPECT_DOUBLE_EQ(with.network, 116.5);
  EXPECT_DOUBLE_EQ(with.tasks, 113.5);
  const PhaseEnds without = budget(20).ends(101, needs({1, 20}, {2, 30}));
  EXPECT_DOUBLE_EQ(without.network, without.layouts);
}
TEST(TimeBudget, KnownChainsOfAShortRunHaveTheirPartWherePlansCannotBeCompared) {
  EndNeeds chains = needs({1, 20}, {2, 30});
  chains.known_chains = true;
  const PhaseEnds ends = budget(10).ends(101, chains);
  EXPECT_DOUBLE_EQ(ends.layouts_measured, ends.layouts);
  EXPECT_DOUBLE_EQ(ends.network, ends.layouts - 1.5);
}
TEST(TimeBudget, LongerRunsGiveTheEndWhatItUsuallyNeedsAndShareTheRest) {
  const PhaseEnds ends = budget(120).ends(101, needs({3, 20}, {4, 10}));
  EXPECT_DOUBLE_EQ(ends.layouts, 219.5);
  EXPECT_DOUBLE_EQ(ends.layouts_measured, 209.5);
  const double measuring = 219.5 - 101 - 20 - 10;
  EXPECT_DOUBLE_EQ(ends.network, 209.5 - measuring / 4);
  EXPECT_DOUBLE_EQ(ends.tasks, ends.network - 20);
}
TEST(TimeBudget, TheEndOfALongerRunHasAPartAtMost) {
  const PhaseEnds ends = budget(40).ends(100, needs({3, 60}));
  EXPECT_DOUBLE_EQ(ends.network - ends.tasks, 10);
}
TEST(TimeBudget, ASlowImportLeavesNothingOfTheTasksButNoNegativeTime) {
  EXPECT_DOUBLE_EQ(budget(10).ends(150, needs({1, 20})).tasks, 150);
}
TEST(TimeBudget, APageHasItsTimeUnlessThatIsMuch) {
  EndNeeds with = needs({1, 20});
  with.page = 1;
  EXPECT_DOUBLE_EQ(budget(10).ends(100, with).layouts, 108.5);
  with.page = 2;
  EXPECT_DOUBLE_EQ(budget(10).ends(100, with).layouts, 109.5);
}
TEST(TimeBudget, RunsShareWhatIsLeftAndEachIsShortByItself) {
  const TimeBudget first = budget(41).next_run(101, 2, 0);
  EXPECT_DOUBLE_EQ(first.ends(101, needs({1, 90})).layouts, 120.5);
  EXPECT_DOUBLE_EQ(first.seconds(), 41) << "people see the whole";
  EXPECT_DOUBLE_EQ(first.left(101), 40);
  EXPECT_DOUBLE_EQ(first.run_seconds(), 20);
  EXPECT_FALSE(budget(41).is_short());
  EXPECT_TRUE(first.is_short());
  const TimeBudget second = budget(41).next_run(120, 1, 3);
  EXPECT_DOUBLE_EQ(second.ends(120, needs({1, 90})).layouts, 137.5);
  EXPECT_DOUBLE_EQ(budget(41).next_run(120, 1, 30).ends(120, needs({1, 90})).layouts, 140.5)
      << "too much to be kept free";
}
TEST(TimeBudget, SaysWhichPhaseItIsTooShortFor) {
  EXPECT_EQ(TimeBudget(10, 0, "--seconds 10")
                .too_short(1.96, "the network, whose comparison takes", 3.14, "it is not compared"),
            "--seconds 10 leaves 2.0 s for the network, whose comparison takes 3.1 s: it is not compared");
  EXPECT_DOUBLE_EQ(budget(10).offered(0.2, 3), 1.5) << "the tasks had its part";
  EXPECT_DOUBLE_EQ(budget(10).offered(0.2, 1), 0.2) << "the tasks took longer";
  EXPECT_DOUBLE_EQ(budget(10).offered(4, 5), 4);
}

}  // namespace
}  // namespace whet
