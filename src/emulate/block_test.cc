#include "emulate/block.h"

#include <gtest/gtest.h>

#include <cmath>

namespace whet {
namespace {

struct Case {
  EmulatedEntry entry;
  std::uint32_t threads = 64;
  std::vector<float> data = std::vector<float>(1024);

  std::string run(EmulatedOrder order = EmulatedOrder::forward, std::uint64_t seed = 0, std::uint32_t block = 0) {
    void* arguments[] = {data.data()};
    const EmulatedGrid grid = {entry, arguments, 4, threads, 4096};
    EmulatedBlock runner(grid, {.order = order, .seed = seed});
    const Status status = runner.run(block);
    return status.ok() ? "" : status.error().message;
  }
};

float* memory(whet_block* t) { return reinterpret_cast<float*>(t->memory); }
float* data(whet_block* t) { return static_cast<float*>(t->arguments[0]); }

/// Each thread's number goes to its neighbour through block memory, twice.
std::int32_t rotate(whet_block* t) {
  memory(t)[t->thread] = static_cast<float>(t->thread);
  for (int i = 0; i < 2; ++i) {
    t->barrier(t);
    const float next = memory(t)[(t->thread + 1) % t->threads];
    t->barrier(t);
    memory(t)[t->thread] = next;
  }
  data(t)[t->thread] = memory(t)[t->thread];
  return 0;
}

TEST(EmulatedBlocks, MeetAtBarriersInEveryOrder) {
  for (EmulatedOrder order : {EmulatedOrder::forward, EmulatedOrder::backward, EmulatedOrder::shuffled}) {
    Case c{rotate, 96};
    EXPECT_EQ(c.run(order, 7), "");
    for (std::uint32_t i = 0; i < 96; ++i) EXPECT_EQ(c.data[i], static_cast<float>((i + 2) % 96));
  }
}

TEST(EmulatedBlocks, ShowAMissingBarrierInSomeOrder) {
  const EmulatedEntry entry = [](whet_block* t) {
    memory(t)[t->thread] = 1;
    data(t)[t->thread] = memory(t)[(t->thread + 1) % t->threads];
    return 0;
  };
  Case forward{entry};
  forward.run();
  EXPECT_TRUE(std::isnan(forward.data[0])) << "memory of a block holds NaN at first";
  EXPECT_EQ(forward.data[63], 1);
}

/// Every thread of a warp gets the sum over its warp.
std::int32_t butterfly(whet_block* t) {
  std::uint32_t sum = t->thread;
  for (std::uint32_t mask = 16; mask > 0; mask /= 2) sum += t->exchange(t, sum, mask);
  data(t)[t->thread] = static_cast<float>(sum);
  return 0;
}

TEST(EmulatedBlocks, ExchangeWithinWarps) {
  for (EmulatedOrder order : {EmulatedOrder::forward, EmulatedOrder::backward, EmulatedOrder::shuffled}) {
    Case c{butterfly};
    EXPECT_EQ(c.run(order, 3), "");
    EXPECT_EQ(c.data[0], 31 * 32 / 2);
    EXPECT_EQ(c.data[63], 31 * 32 / 2 + 32 * 32);
  }
}

TEST(EmulatedBlocks, RefuseABarrierThatAThreadDoesNotReach) {
  Case c{[](whet_block* t) {
    if (t->thread != 5) t->barrier(t);
    return 0;
  }};
  EXPECT_EQ(c.run(EmulatedOrder::forward, 0, 3), "block 3: thread 0 waits at a barrier that thread 5 does not come to");
}

TEST(EmulatedBlocks, RefuseAnExchangeWithoutTheWholeWarp) {
  Case c{[](whet_block* t) {
    if (t->thread != 40) t->exchange(t, 0, 1);
    return 0;
  }};
  EXPECT_EQ(c.run(), "block 0: thread 32 waits for an exchange that thread 40 of its warp does not come to");
}

TEST(EmulatedBlocks, RefuseExchangesOfDifferentPartners) {
  Case c{[](whet_block* t) {
    t->exchange(t, 0, t->thread == 3 ? 2 : 1);
    return 0;
  }};
  EXPECT_EQ(c.run(), "block 0: thread 3 takes part in another exchange than thread 0 of its warp");
}

/// Copies its element, looks at it at once, and again behind the wait.
std::int32_t copying(whet_block* t) {
  t->copy(t, memory(t) + t->thread, data(t) + t->thread, 4, t->thread == 1 ? 0 : 4);
  t->commit(t);
  const float early = memory(t)[t->thread];
  t->commit(t);
  t->wait(t, 1);
  data(t)[64 + t->thread] = early;
  data(t)[128 + t->thread] = memory(t)[t->thread];
  return 0;
}

TEST(EmulatedBlocks, LandCopiesAtOnceOrWhenTheyAreWaitedFor) {
  Case c{copying};
  for (int i = 0; i < 64; ++i) c.data[i] = static_cast<float>(i + 1);
  EXPECT_EQ(c.run(EmulatedOrder::forward, 11), "");
  int late = 0;
  for (int i = 0; i < 64; ++i) {
    const float copied = i == 1 ? 0 : static_cast<float>(i + 1);
    late += std::isnan(c.data[64 + i]);
    EXPECT_TRUE(std::isnan(c.data[64 + i]) || c.data[64 + i] == copied);
    EXPECT_EQ(c.data[128 + i], copied);
  }
  EXPECT_GT(late, 10);
  EXPECT_LT(late, 54);
}

TEST(EmulatedBlocks, RefuseCopiesThatNobodyWaitsFor) {
  Case c{[](whet_block* t) {
    t->copy(t, memory(t), data(t), 4, 4);
    t->commit(t);
    t->commit(t);
    t->wait(t, 2);
    return 0;
  }};
  EXPECT_EQ(c.run(), "block 0: thread 0 ends with copies that it never waited for");
}

TEST(EmulatedBlocks, RunOneAfterTheOtherAlsoBehindOneThatFailed) {
  const EmulatedEntry entry = [](whet_block* t) {
    if (t->block == 0 && t->thread != 5) t->barrier(t);
    if (t->block != 0) data(t)[t->thread] += 1;
    return 0;
  };
  Case c{entry};
  void* arguments[] = {c.data.data()};
  EmulatedBlock runner({entry, arguments, 4, 64, 0}, {});
  EXPECT_FALSE(runner.run(0).ok());
  EXPECT_TRUE(runner.run(1).ok());
  EXPECT_TRUE(runner.run(2).ok());
  EXPECT_EQ(c.data[63], 2);
}

}  // namespace
}  // namespace whet
