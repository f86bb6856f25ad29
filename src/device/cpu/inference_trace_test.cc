#include "device/cpu/inference_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "device/cpu/watched_pool.h"

namespace whet {
namespace {

using Times = std::vector<std::vector<std::uint64_t>>;

/// "0: step 0 from 0 to 1000, ...": of each worker in order, in nanoseconds.
std::string text_of(const std::vector<std::uint64_t>& step_ns, const Times& times) {
  std::string text;
  for (const InferenceTrace::Stretch& stretch : trace_of(step_ns, times).stretches)
    text += (text.empty() ? "" : ", ") + std::to_string(stretch.worker) + ": step " + std::to_string(stretch.step) +
            " from " + std::to_string(std::lround(stretch.begin * 1e9)) + " to " +
            std::to_string(std::lround(stretch.end * 1e9));
  return text;
}

TEST(Traces, HaveAStretchForEachStepAndWorker) {
  EXPECT_EQ(
      text_of({1000, 2000}, {{50, 100, 1000, 1090, 3000, 3100}, {60, 110, 1090, 1095, 2100, 3090}}),
      "0: step 0 from 0 to 900, 0: step 1 from 990 to 2900, 1: step 0 from 10 to 990, 1: step 1 from 995 to 2000");
}
TEST(Traces, BreakWhereWorkersOfAKernelWaitForEachOther) {
  EXPECT_EQ(text_of({3000}, {{0, 0, 1000, 1500, 3000, 3000}, {0, 0, 1500, 1500, 2000, 3000}}),
            "0: step 0 from 0 to 1000, 0: step 0 from 1500 to 3000, 1: step 0 from 0 to 1500, 1: step 0 from 1500 to "
            "2000");
}
TEST(Traces, LeaveOutWhoHasNoPartOfAStep) {
  EXPECT_EQ(text_of({1000, 1000}, {{0, 0, 1000, 1000, 2000, 2000}, {0, 0, 30, 1000, 2000, 2000}}),
            "0: step 0 from 0 to 1000, 0: step 1 from 1000 to 2000, 1: step 1 from 1000 to 2000");
}
TEST(Traces, CountBarriersWhereAnotherWorkerGoesOnBeforeTheFirst) {
  EXPECT_EQ(text_of({1000, 1000}, {{0, 0, 500, 1000, 2000, 2000}, {0, 0, 500, 510, 800, 2000}}),
            "0: step 0 from 0 to 500, 0: step 1 from 1000 to 2000, 1: step 0 from 0 to 500, 1: step 1 from 510 to 800")
      << "worker 0 was kept from its processor behind the barrier";
}
TEST(Traces, FollowTheBarriersInsideOfKernels) {
  EXPECT_EQ(
      text_of({3000, 1000}, {{0, 0, 1000, 1500, 2900, 3000, 4000, 4000}, {0, 0, 1500, 1500, 2900, 2950, 2990, 4000}}),
      "0: step 0 from 0 to 1000, 0: step 0 from 1500 to 2900, 0: step 1 from 3000 to 4000, 1: step 0 from 0 to 1500, "
      "1: step 0 from 1500 to 2900");
}
TEST(Traces, AreEmptyWhereNothingRan) {
  EXPECT_EQ(text_of({}, {}), "");
  EXPECT_EQ(text_of({}, {{10, 20}}), "");
  EXPECT_EQ(text_of({1000}, {{}, {}}), "");
  EXPECT_EQ(text_of({1000}, {{5, 10, 1000}, {7}}), "0: step 0 from 0 to 990");
}

TEST(WatchedPools, WriteDownWhenWorkersWait) {
  whet_pool_options options{};
  options.threads = 3, options.no_pin = 1;
  whet_pool* inner = nullptr;
  whet_error error;
  ASSERT_EQ(pool_create(&options, 0, &inner, &error), 0) << error.message;
  WatchedPool watched(inner);
  const auto job = [](void* context, std::uint32_t worker) {
    whet_pool* const pool = static_cast<whet_pool*>(context);
    for (int i = 0; i < 3; ++i) pool->barrier(pool, worker);
  };
  for (int run = 0; run < 2; ++run) {
    watched.forget();
    ASSERT_EQ(pool_run(watched.pool(), job, watched.pool()), 0);
    std::uint64_t last_came[3] = {};
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      const std::vector<std::uint64_t>& times = watched.times(worker);
      ASSERT_EQ(times.size(), 6u);
      EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
      for (std::size_t i = 0; i < 3; ++i) last_came[i] = std::max(last_came[i], times[2 * i]);
    }
    for (std::uint32_t worker = 0; worker < 3; ++worker)
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_GE(watched.times(worker)[2 * i + 1], last_came[i]) << "nobody goes on before the last has come";
  }
  EXPECT_NE(watched.pool()->scratch(watched.pool(), 64), nullptr);
  pool_destroy(inner);
}

}  // namespace
}  // namespace whet
