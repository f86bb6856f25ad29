#include "tuner/end_needs.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

const NetworkSize kSmall{.kernels = 20, .weight_bytes = 4e6, .inference_seconds = 0.005, .builders = 2};

TEST(EndNeeds, ACompileIsEstimatedByItsKernelsAndWeightsUntilOneWasMeasured) {
  NetworkSize larger = kSmall;
  larger.kernels = 40;
  EXPECT_GT(compile_seconds(larger), compile_seconds(kSmall));
  larger = kSmall;
  larger.weight_bytes = 4e8;
  EXPECT_GT(compile_seconds(larger), compile_seconds(kSmall));
  larger.compile = 7;
  EXPECT_EQ(compile_seconds(larger), 7);
}
TEST(EndNeeds, ABurstIsOneInferenceAtLeast) {
  NetworkSize slow = kSmall;
  slow.inference_seconds = 2;
  EXPECT_GT(comparison_seconds(slow, {1, 0.1}), 4);
}
TEST(EndNeeds, BurstsBecomeFewerAndThenShorterAndThenNone) {
  const Bursts usual{5, 0.1};
  const auto within = [&](double seconds) { return bursts_within(seconds, kSmall, usual, 3, 0.03); };
  const Bursts all = within(10), fewer = within(comparison_seconds(kSmall, {4, 0.1})),
               shorter = within(comparison_seconds(kSmall, {3, 0.06})), none = within(0.1);
  EXPECT_EQ(all.count, 5);
  EXPECT_EQ(fewer.count, 4);
  EXPECT_EQ(fewer.seconds, 0.1);
  EXPECT_EQ(shorter.count, 3);
  EXPECT_LT(shorter.seconds, 0.1);
  EXPECT_GE(shorter.seconds, 0.03);
  EXPECT_EQ(none.count, 0);
}
TEST(EndNeeds, SeveralComparisonsNeedSeveralTimesTheSeconds) {
  const double one = comparison_seconds(kSmall, {5, 0.1});
  EXPECT_EQ(bursts_within(one, kSmall, {5, 0.1}, 1, 0.03).count, 5);
  EXPECT_LT(bursts_within(one, kSmall, {5, 0.1}, 1, 0.03, 7).count, 5);
  EXPECT_EQ(bursts_within(7 * one, kSmall, {5, 0.1}, 1, 0.03, 7).count, 5);
}
TEST(EndNeeds, TheLeastIsLessThanTheUsual) {
  EXPECT_GT(network_need(kSmall).least, 0);
  EXPECT_LT(network_need(kSmall).least, network_need(kSmall).usual);
  EXPECT_LT(layouts_need(kSmall, 0.2).least, layouts_need(kSmall, 0.2).usual);
}

}  // namespace
}  // namespace whet
