#include "runner/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace whet {
namespace {

/// Runs until the plan stops; `seconds(i)` is the time of timed run i.
std::int64_t runs(RunPlan& plan, const std::function<double(std::int64_t)>& seconds) {
  std::int64_t n = 0;
  while (plan.add(seconds(n++))) {
  }
  return n;
}
TimingPolicy against(double incumbent) {
  TimingPolicy policy;
  policy.incumbent_seconds = incumbent;
  return policy;
}

TEST(RunPlan, TakesThreeRunsOfALongKernel) {
  RunPlan plan(TimingPolicy{});
  EXPECT_EQ(runs(plan, [](std::int64_t i) { return 0.01 + 0.001 * static_cast<double>(i); }), 3);
  EXPECT_EQ(plan.seconds(), (std::vector<double>{0.010, 0.011, 0.012}));
}
TEST(RunPlan, TakesFewerRunsOfAKernelThatTakesASecondInTwo) {
  RunPlan plan(TimingPolicy{});
  ASSERT_TRUE(plan.first(0.6));
  EXPECT_EQ(runs(plan, [](std::int64_t) { return 0.6; }), 2);
  EXPECT_FALSE(plan.truncated());
}
TEST(RunPlan, RunsAShortKernelForFiveMilliseconds) {
  RunPlan plan(TimingPolicy{});
  EXPECT_EQ(runs(plan, [](std::int64_t) { return 1e-3 / 64; }), 320);
}
TEST(RunPlan, RunsAKernelOfMicrosecondsFiveHundredTimes) {
  RunPlan plan(TimingPolicy{});
  EXPECT_EQ(runs(plan, [](std::int64_t) { return 1e-3 / 1024; }), 500);
}
TEST(RunPlan, KeepsTheMinimumOfManyRunsInFewFigures) {
  RunPlan plan(TimingPolicy{});
  runs(plan, [](std::int64_t i) { return i == 345 ? 1e-6 : 2e-6; });
  EXPECT_LE(plan.seconds().size(), kMaxFigures);
  EXPECT_EQ(*std::min_element(plan.seconds().begin(), plan.seconds().end()), 1e-6);
  EXPECT_EQ(*std::max_element(plan.seconds().begin(), plan.seconds().end()), 2e-6);
}
TEST(RunPlan, StopsAtTheFirstTwoRunsThatAgreeToBeClearlySlower) {
  RunPlan plan(against(1e-3));
  EXPECT_EQ(runs(plan, [](std::int64_t) { return 1.4e-3; }), 2);
  EXPECT_TRUE(plan.truncated());
  RunPlan slowest(against(1e-3));
  EXPECT_EQ(runs(slowest, [](std::int64_t) { return 2.5e-3; }), 1);
  EXPECT_TRUE(slowest.truncated());
  RunPlan close(against(1e-3));
  EXPECT_EQ(runs(close, [](std::int64_t) { return 1.08e-3; }), 5);
  EXPECT_FALSE(close.truncated());
}
TEST(RunPlan, StopsAfterAFewRunsThatDoNotComeNearTheBest) {
  RunPlan plan(against(1e-3));
  ASSERT_TRUE(plan.first(1.2e-3));
  EXPECT_TRUE(plan.add(1.2e-3));
  EXPECT_TRUE(plan.add(1.17e-3));
  EXPECT_FALSE(plan.add(1.2e-3));
  EXPECT_TRUE(plan.truncated());
}
TEST(RunPlan, WaitsForTwoRunsThatAgreeWhereTheMachineIsDisturbed) {
  // As the hardware thread beside this one came and went.
  const std::vector<double> disturbed = {1.5e-3, 1.31e-3, 1.9e-3, 1.15e-3, 1.7e-3, 1.4e-3, 1.0e-3};
  const auto seconds = [&](std::int64_t i) { return disturbed[static_cast<std::size_t>(i) % disturbed.size()]; };
  RunPlan plan(against(1e-3));
  EXPECT_GT(runs(plan, seconds), 7);
  EXPECT_FALSE(plan.truncated());
  RunPlan never(TimingPolicy{});
  EXPECT_EQ(runs(never, [](std::int64_t i) { return 1e-3 / std::pow(1.1, static_cast<double>(i % 3)); }), 6)
      << "where two agree it lasts as long as is asked for";
  RunPlan rising(TimingPolicy{});
  EXPECT_EQ(runs(rising, [](std::int64_t i) { return 1e-3 * std::pow(1.1, static_cast<double>(i)); }), 10)
      << "three times as long at most";
}
TEST(RunPlan, ForgivesASlowRunBesideAGoodOne) {
  RunPlan plan(against(1e-3));
  runs(plan, [](std::int64_t i) { return i == 1 ? 3e-3 : 1e-3; });
  EXPECT_FALSE(plan.truncated());
}
TEST(RunPlan, TakesASecondLookWhereRunsAreShort) {
  RunPlan plan(against(1e-5));
  EXPECT_EQ(runs(plan, [](std::int64_t) { return 2e-5; }), 2);
  EXPECT_TRUE(plan.truncated());
}
TEST(RunPlan, GivesUpAfterAFirstRunThatIsHopeless) {
  RunPlan plan(against(1e-3));
  EXPECT_FALSE(plan.first(0.1));
  EXPECT_TRUE(plan.truncated());
  EXPECT_EQ(plan.seconds(), std::vector<double>{0.1});
  EXPECT_TRUE(RunPlan(against(1e-3)).first(2e-3));
  EXPECT_TRUE(RunPlan(against(1e-6)).first(5e-4));
}
TEST(RunPlan, TakesOneRunOfAKernelThatTakesSeconds) {
  RunPlan plan(TimingPolicy{});
  EXPECT_FALSE(plan.first(2));
  EXPECT_FALSE(plan.truncated());
  EXPECT_EQ(plan.seconds(), std::vector<double>{2});
}
TEST(RunPlan, ClassicGivesAMeanForEachRepeat) {
  TimingPolicy policy;
  policy.classic = true;
  policy.repeat = 2;
  policy.number = 4;
  RunPlan plan(policy);
  EXPECT_EQ(runs(plan, [](std::int64_t i) { return static_cast<double>(i); }), 8);
  EXPECT_EQ(plan.seconds(), (std::vector<double>{1.5, 5.5}));
}
TEST(RunPlan, ClassicRepeatsLastAsLongAsAsked) {
  TimingPolicy policy;
  policy.classic = true;
  policy.repeat = 1;
  policy.min_repeat_seconds = 0.5;
  RunPlan plan(policy);
  EXPECT_EQ(runs(plan, [](std::int64_t) { return 0.125; }), 4);
}

}  // namespace
}  // namespace whet
