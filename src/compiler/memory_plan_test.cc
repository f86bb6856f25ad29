#include "compiler/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"

namespace whet {
namespace {

TEST(PlanArena, ReusesWhatIsNoLongerRead) {
  const ArenaPlan plan = plan_arena({{1024, 0, 1}, {1024, 1, 2}, {1024, 2, 3}, {512, 3, 4}});
  EXPECT_EQ(plan.offsets, (std::vector<std::uint64_t>{0, 1024, 0, 1024}));
  EXPECT_EQ(plan.bytes, 2048u);
}

TEST(PlanArena, TakesTheSmallestGapThatHolds) {
  // At step 1 the gaps [0, 2048) and [3072, 4032) are free among the others.
  const ArenaPlan plan = plan_arena({{2048, 0, 0}, {1024, 0, 1}, {960, 0, 0}, {960, 0, 1}, {832, 1, 1}});
  EXPECT_EQ(plan.offsets[4], 3072u);
}

TEST(PlanArena, OfNothingIsEmpty) {
  EXPECT_EQ(plan_arena({}).bytes, 0u);
  EXPECT_EQ(peak_bytes({}), 0u);
}

TEST(PlanArena, StartsLargeBuffersAtDifferentPlacesOfAPage) {
  std::vector<ArenaBuffer> buffers(16, {8192, 0, 0});
  std::set<std::uint64_t> places;
  for (std::uint64_t offset : plan_arena(buffers).offsets) places.insert(offset % 4096);
  EXPECT_EQ(places.size(), 16u);
}

TEST(PlanArena, NeverOverlapsBuffersThatLiveTogether) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaBuffer> buffers;
    for (std::int64_t n = rng.between(1, 40); n > 0; --n) {
      const int first = static_cast<int>(rng.below(20));
      const std::uint64_t bytes =
          static_cast<std::uint64_t>(rng.chance(0.5) ? rng.between(1, 5000) : rng.between(1, 300000));
      buffers.push_back({bytes, first, first + static_cast<int>(rng.below(6))});
    }
    const ArenaPlan plan = plan_arena(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % 64, 0u);
      EXPECT_LE(plan.offsets[a] + buffers[a].bytes, plan.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        if (buffers[a].first > buffers[b].last || buffers[a].last < buffers[b].first) continue;
        EXPECT_TRUE(plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + buffers[b].bytes <= plan.offsets[a]);
      }
    }
    EXPECT_GE(plan.bytes, peak_bytes(buffers));
    EXPECT_LE(plan.bytes, 2 * peak_bytes(buffers) + buffers.size() * 4160) << "round " << round;
  }
}

/// Buffers of a long network: most live for a few steps, some to its end.
std::vector<ArenaBuffer> long_network(std::size_t count, Rng& rng) {
  std::vector<ArenaBuffer> buffers;
  for (std::size_t i = 0; i < count; ++i) {
    const int first = static_cast<int>(i);
    const int last = rng.chance(0.01) ? static_cast<int>(count) : first + static_cast<int>(rng.below(4));
    buffers.push_back({static_cast<std::uint64_t>(rng.between(1, 20000)), first, last});
  }
  return buffers;
}

TEST(PlanArena, PlacesMoreBuffersThanItComparesInTheOrderOfTheirSteps) {
  Rng rng(5);
  for (int round = 0; round < 4; ++round) {
    const std::vector<ArenaBuffer> buffers =
        long_network(kMostBySize + static_cast<std::size_t>(rng.between(1, 500)), rng);
    const ArenaPlan plan = plan_arena(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      ASSERT_EQ(plan.offsets[a] % 64, 0u);
      ASSERT_LE(plan.offsets[a] + buffers[a].bytes, plan.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        if (buffers[b].last < buffers[a].first) continue;
        ASSERT_TRUE(plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + buffers[b].bytes <= plan.offsets[a])
            << a << " and " << b;
      }
    }
    EXPECT_GE(plan.bytes, peak_bytes(buffers));
    EXPECT_LE(plan.bytes, 2 * peak_bytes(buffers) + 64 * 4160) << "round " << round;
  }
}

TEST(PeakBytes, IsTheLargestSumOfWhatLivesAtOneStep) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBuffer> buffers = long_network(static_cast<std::size_t>(rng.between(1, 30)), rng);
    std::reverse(buffers.begin(), buffers.end());
    std::uint64_t peak = 0;
    for (int step = 0; step <= 40; ++step) {
      std::uint64_t live = 0;
      for (const ArenaBuffer& b : buffers) live += b.first <= step && step <= b.last ? b.bytes : 0;
      peak = std::max(peak, live);
    }
    EXPECT_EQ(peak_bytes(buffers), peak) << "round " << round;
  }
}

}  // namespace
}  // namespace whet
