#include "tuner/unseen.h"

#include <gtest/gtest.h>

#include <cmath>

namespace whet {
namespace {

TEST(ReachOf, IsNoMoreThanWhatAllSamplesHave) {
  EXPECT_EQ(reach_of({6, 6, 6, 6}), 6);
  EXPECT_EQ(reach_of({0, 0, 0}), 0);
  EXPECT_EQ(reach_of({3}), 3) << "one sample says nothing about others";
}

TEST(ReachOf, GrowsWithTheDistancesBetweenSamples) {
  // Mean 10, deviation 1: Gumbel's law has a spread of 0.7797 and its mode at 9.55.
  EXPECT_NEAR(reach_of({9, 10, 11}), 10 + 0.7797 * (9.2103 - 0.5772), 1e-3);
  EXPECT_NEAR(reach_of({8, 10, 12}), 10 + 2 * 0.7797 * (9.2103 - 0.5772), 2e-3);
  EXPECT_NEAR(reach_of({-11, -10, -9}), -10 + 0.7797 * (9.2103 - 0.5772), 1e-3)
      << "least numbers, with their sign turned";
}

TEST(ReachOf, IsAtLeastTheLargest) {
  std::vector<double> one_far(10000, 1);
  one_far.back() = 1000;
  EXPECT_EQ(reach_of(one_far), 1000);
}

TEST(WorstToCome, IsTheLargestWhereAllErrAlike) {
  EXPECT_EQ(worst_to_come({}), 0);
  EXPECT_EQ(worst_to_come({0, 0, 0}), 0);
  EXPECT_EQ(worst_to_come({0.4}), 0.4);
  EXPECT_DOUBLE_EQ(worst_to_come({0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}), 0.5);
}

/// Of the far ones half of all go beyond 2 and a tenth beyond 10, of the near ones as many beyond the tenth roots.
TEST(WorstToCome, IsFarMoreThanTheLargestWhereFewErrByFarMoreThanTheOthers) {
  std::vector<double> near, far;
  for (int i = 1; i <= 32; ++i) near.push_back(std::pow(32.0 / i, 0.1)), far.push_back(32.0 / i);
  EXPECT_LT(worst_to_come(near), 1.2 * std::pow(32.0, 0.1));
  EXPECT_GT(worst_to_come(far), 1.5 * 32);
  EXPECT_LT(worst_to_come(far), 4 * 32);
}

TEST(WorstToCome, IsTheLargestWhereTooFewErrToTellHowErrorsAreDistributed) {
  EXPECT_EQ(worst_to_come({0.7, 0.25}), 0.7);
  EXPECT_EQ(worst_to_come({0.1, 0.2, 0.4, 0.8, 0.1, 0.1, 0.1}), 0.8);
  EXPECT_EQ(worst_to_come({0, 0, 0, 0, 0, 0, 0, 0.5}), 0.5);
  std::vector<double> three_of_many(64, 0);
  three_of_many[0] = 0.5, three_of_many[1] = 0.1, three_of_many[2] = 0.02;
  EXPECT_EQ(worst_to_come(three_of_many), 0.5) << "errors of zero tell nothing";
}

TEST(WorstToCome, IsNotFiniteWhereAnErrorIsNot) { EXPECT_TRUE(std::isinf(worst_to_come({0.1, INFINITY, 0.2}))); }

}  // namespace
}  // namespace whet
