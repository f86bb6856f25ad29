#include "compiler/memory_plan.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace whet
