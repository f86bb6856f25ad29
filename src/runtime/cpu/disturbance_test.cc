#include "runtime/cpu/disturbance.h"

#include <gtest/gtest.h>

namespace whet {
namespace disturbance_test {

std::uint64_t time_ns;
int looks;
std::uint64_t clock() {
  ++looks;
  return time_ns;
}

constexpr std::int64_t kShort = 400000, kLong = 1000000;
constexpr std::uint64_t kMs = 1000000;

TEST(Disturbance, LastsForAWhileAfterTheLastSign) {
  Disturbance disturbance;
  time_ns = 5000 * kMs;
  EXPECT_FALSE(disturbance.lasts(clock));
  disturbance.lost(kLong, clock);
  for (const std::uint64_t ms : {0, 40, 50, 9}) {
    time_ns += ms * kMs;
    EXPECT_TRUE(disturbance.lasts(clock)) << ms;
  }
  disturbance.lost(kLong, clock);
  time_ns += 99 * kMs;
  EXPECT_TRUE(disturbance.lasts(clock)) << "the second sign counts";
  time_ns += kMs;
  EXPECT_FALSE(disturbance.lasts(clock));
  EXPECT_FALSE(disturbance.lasts(clock));
  disturbance.lost(kLong, clock);
  EXPECT_TRUE(disturbance.lasts(clock)) << "again";
  disturbance.reset();
  EXPECT_FALSE(disturbance.lasts(clock));
}

TEST(Disturbance, IsNotSeenInShortWaits) {
  Disturbance disturbance;
  time_ns = 5000 * kMs;
  for (const std::int64_t ns : {std::int64_t{-20}, std::int64_t{0}, kShort}) disturbance.lost(ns, clock);
  EXPECT_FALSE(disturbance.lasts(clock));
}

TEST(Disturbance, ReadsNoClockInAQuietPool) {
  Disturbance disturbance;
  looks = 0;
  disturbance.lost(kShort, clock);
  EXPECT_FALSE(disturbance.lasts(clock));
  EXPECT_EQ(looks, 0);
  time_ns = 5000 * kMs;
  disturbance.lost(kLong, clock);
  time_ns += 1000 * kMs;
  EXPECT_FALSE(disturbance.lasts(clock));
  looks = 0;
  EXPECT_FALSE(disturbance.lasts(clock)) << "it is over";
  EXPECT_EQ(looks, 0);
}

}  // namespace disturbance_test
}  // namespace whet
