#include "workflow/repro_ranges.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace whet::repro_ranges_test {
namespace {

const ComputeDag kDense = parse_dag(R"(n = SIZE 1..512 at 512
x = PLACEHOLDER [n, 64]
w = PLACEHOLDER [64, 96] const
dense(i, j) += (x[i, k]*w[k, j]) for i in n, j in 96, k in 64  # matmul i:row j:out_channel k:in_channel
return dense
)")
                              .value();

SizedSchedule schedule(const std::string& steps, std::vector<double> seconds, std::vector<bool> ranged) {
  SizedSchedule each;
  each.steps = steps, each.from = {16};
  each.seconds = std::move(seconds);
  each.measured = ranged, each.ranged = std::move(ranged);
  return each;
}

SizedTask dense() {
  SizedTask task;
  task.task.name = "dense", task.task.dag = kDense;
  return task;
}

/// Of three sizes, at the middle one of which no kernel was timed; the library takes the last schedule.
TaskAcrossSizes known() {
  TaskAcrossSizes all;
  all.points = {{{16}, 10}, {{64}, 2}, {{256}, 1}};
  all.schedules = {schedule("first", {1e-6, 2e-6, 3e-6}, {true, false, true}),
                   schedule("estimate", {1e-7, 1e-7, 1e-7}, {false, false, false}),
                   schedule("chosen", {2e-6, 4e-6, 2e-6}, {true, false, true})};
  all.kernels.kernels = {2};
  return all;
}

TEST(RangeReplay, HasTheKernelsOfTheLibraryFirstWhereTheyWereTimed) {
  const std::optional<RangeReplay> replay = replay_of(dense(), known(), 3);
  ASSERT_TRUE(replay.has_value());
  ASSERT_EQ(replay->schedules.size(), 2u) << "an estimate is no time that is measured again";
  EXPECT_EQ(replay->schedules[0].steps, "chosen");
  EXPECT_EQ(replay->schedules[1].steps, "first");
  ASSERT_EQ(replay->task.points.size(), 2u);
  EXPECT_EQ(replay->task.points[1].at, SizeValues{256});
  EXPECT_EQ(replay->schedules[0].seconds, (std::vector<double>{2e-6, 2e-6}));
  EXPECT_DOUBLE_EQ(replay->then(), 10 * 1e-6 + 2e-6);
  EXPECT_EQ(replay_of(dense(), known(), 1)->schedules.size(), 1u);
  TaskAcrossSizes untimed = known();
  untimed.schedules.erase(untimed.schedules.begin());
  untimed.schedules.pop_back();
  untimed.kernels.kernels = {0};
  EXPECT_FALSE(replay_of(dense(), untimed, 3).has_value());
}

TEST(RangeReplay, MakesARowOfEachSize) {
  const RangeReplay replay = *replay_of(dense(), known(), 3);
  const Outcome ok{OutcomeCode::ok, "", {3e-6}}, wrong{OutcomeCode::wrong_answer, "by 2"};
  const std::vector<RemeasuredTask> rows = remeasured_rows(replay, {{ok, wrong}, {ok, ok}}, 7);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "dense at n=16");
  EXPECT_EQ(rows[0].id, 7);
  EXPECT_TRUE(rows[0].for_ranges);
  EXPECT_EQ(rows[1].id, 8);
  EXPECT_DOUBLE_EQ(rows[0].weight, 10);
  ASSERT_EQ(rows[0].schedules.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[0].schedules[0].then, 1e-6) << "the best of then is first";
  EXPECT_DOUBLE_EQ(rows[0].schedules[0].now, 3e-6);
  EXPECT_EQ(rows[1].schedules[0].now, 0);
  EXPECT_FALSE(rows[1].schedules[0].failure.empty());
}

TEST(RangeReplay, IsTimedOnceMoreWhereAnotherKernelSeemsFaster) {
  const RangeReplay replay = *replay_of(dense(), known(), 3);
  const auto took = [](double seconds) { return Outcome{OutcomeCode::ok, "", {seconds}}; };
  const Outcome wrong{OutcomeCode::wrong_answer, "by 2"};
  // The best of then are "first", the second, at n=16, and "chosen" at n=256.
  std::vector<std::vector<Outcome>> now = {{took(2e-6), took(2e-6)}, {took(2.04e-6), took(3e-6)}};
  EXPECT_FALSE(another_kernel_seems_faster(replay, now)) << "by 2%";
  now[1][0] = took(2.4e-6);
  EXPECT_TRUE(another_kernel_seems_faster(replay, now)) << "by 20%";
  keep_the_best({{took(2.1e-6), wrong}, {took(1.9e-6), took(4e-6)}}, now);
  EXPECT_DOUBLE_EQ(now[0][0].clock_seconds(), 2e-6);
  EXPECT_DOUBLE_EQ(now[1][0].clock_seconds(), 1.9e-6);
  EXPECT_DOUBLE_EQ(now[1][1].clock_seconds(), 3e-6);
  EXPECT_FALSE(now[0][1].ok()) << "a kernel that is wrong once is wrong";
}

}  // namespace
}  // namespace whet::repro_ranges_test
