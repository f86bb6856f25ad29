#include "records/digest.h"

#include <gtest/gtest.h>

#include "records/testing/sample.h"

namespace whet {
namespace {

using testing_records::failed;
using testing_records::timed;

std::string steps_of(const std::vector<Record>& records) {
  std::string text;
  for (const Record& r : records) text += r.key.text() + ":" + r.steps + " ";
  return text;
}
Records sample() {
  return Records({timed("k", "a", 3e-3), timed("k", "b", 1e-3), timed("j", "c", 2e-3),
                  timed("k", "d", 2e-3, "cpu -mcpu=znver5 -threads=4"),
                  failed("k", "e", OutcomeCode::crash, "SIGSEGV at 0x12"),
                  failed("k", "f", OutcomeCode::crash, "SIGSEGV at 0x345"),
                  failed("j", "g", OutcomeCode::instantiation, "split: too big")});
}

TEST(Distill, KeepsTheBestOfEachTaskAndTarget) { EXPECT_EQ(steps_of(distill(sample())), "k:b j:c k:d "); }
TEST(Distill, KeepsTheBestOfEachPart) {
  Record part = timed("k", "part", 2), slow = timed("k", "slow", 3);
  part.within = slow.within = {6, 48};
  EXPECT_EQ(steps_of(distill(Records({timed("k", "whole", 1), slow, part}))), "k:whole k:part ");
}
TEST(Distill, KeepsTheBestOfEachSetOfInputs) {
  Record rows = timed("k", "rows", 2), slow = timed("k", "slow", 3);
  rows.inputs = slow.inputs = "9f3c000000000000";
  EXPECT_EQ(steps_of(distill(Records({timed("k", "random", 1), slow, rows}))), "k:random k:rows ");
}
TEST(Merge, KeepsEachRecordOnceInOrderOfTime) {
  Records one({timed("k", "a", 1), timed("k", "b", 2)}), other({timed("k", "b", 2), timed("k", "c", 3)});
  Record early = timed("k", "early", 4);
  early.at = "2020-01-01T00:00:00Z";
  const Records third({early});
  EXPECT_EQ(steps_of(merge({&one, &other, &third})), "k:early k:a k:b k:c ");
}
TEST(Merge, KeepsTheOrderOfAFileWhoseClockJumpedBack) {
  Record again = timed("k", "a", 2);
  again.at = "2020-01-01T00:00:00Z";
  const Records one({timed("k", "a", 1), again}), other({timed("k", "b", 3)});
  const std::vector<Record> merged = merge({&one, &other});
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].outcome.best_seconds(), 1);
  EXPECT_EQ(merged[1].outcome.best_seconds(), 2);
}
TEST(Strangers, AreRecordsOfOtherTasksAndOfOtherTargets) {
  const Records records = sample();
  const auto on = [](const char* target) { return parse_target(target).value(); };
  const Target here = on("cpu -mcpu=znver5 -threads=2");
  EXPECT_TRUE(strangers(records, {"k", "j"}, here, TargetUse::near).empty()) << "those of other threads do";
  const std::vector<std::string> of_wider =
      strangers(records, {"k", "j"}, on("cpu -mcpu=haswell -threads=2"), TargetUse::near);
  ASSERT_EQ(of_wider.size(), 1u);
  EXPECT_EQ(
      of_wider.front(),
      "7 records of other targets (cpu -mcpu=znver5 -threads=2; cpu -mcpu=znver5 -threads=4) do not count for cpu "
      "-mcpu=haswell -threads=2");
  EXPECT_EQ(
      strangers(records, {"k"}, here, TargetUse::exact),
      (std::vector<std::string>{"2 records of 1 task that this model does not have (it has changed since, or they "
                                "are another model's) are not used",
                                "1 record of other targets (cpu -mcpu=znver5 -threads=4) do not count for cpu "
                                "-mcpu=znver5 -threads=2"}));
}
TEST(TrialsByTask, AreOfEachTaskAndTarget) {
  const Records records = sample();
  const std::vector<TaskTrials> tasks = trials_by_task(records);
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].trials, 4);
  EXPECT_EQ(tasks[0].failed, 2);
  EXPECT_EQ(tasks[0].best->steps, "b");
  EXPECT_EQ(tasks[1].first->key.text(), "j");
  EXPECT_EQ(tasks[2].first->target, "cpu -mcpu=znver5 -threads=4");
}
TEST(Failures, AreGroupedWithoutRegardToDigits) {
  const auto groups = failures(sample());
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].message, "SIGSEGV at 0x12");
  EXPECT_EQ(groups[0].count, 2);
}
TEST(Stats, CountAScheduleOnceHoweverOftenItWasMeasured) {
  const RecordStats found =
      stats(Records({timed("k", "a", 3e-3), timed("k", "b", 1e-3), timed("k", "a", 2e-3), timed("j", "a", 2e-3)}));
  EXPECT_EQ(found.trials, 3);
  EXPECT_EQ(found.compared, 1);
}
TEST(Stats, CountTheScheduleWithoutStepsOnceToo) {
  EXPECT_EQ(stats(Records({timed("k", "", 3e-3), timed("k", "", 2e-3)})).trials, 1);
}
TEST(Stats, CountWhatAComparisonFoundLast) {
  const Record crashed = testing_records::failed("k", "a", OutcomeCode::crash, "SIGSEGV");
  const Records records({timed("k", "a", 3e-3), crashed});
  EXPECT_EQ(stats(records).outcomes[static_cast<std::size_t>(OutcomeCode::crash)], 1);
  EXPECT_EQ(trials_by_task(records).front().trials, 1);
  EXPECT_EQ(trials_by_task(records).front().failed, 1);
}
TEST(Stats, TellTheWaysOfMeasuringApart) {
  Record newer = timed("k", "a", 1e-3), warm = timed("k", "a", 1e-3);
  newer.codegen += 1;
  warm.outcome.cache = "warm";
  EXPECT_EQ(stats(Records({timed("k", "a", 3e-3), newer, warm})).trials, 3);
}

TEST(Ranking, ComparesWhatWasExpectedWithWhatWasMeasuredWithinARound) {
  Records records;
  const auto add = [&](int round, double expected, double seconds) {
    Record r = timed("k", std::to_string(records.size()), seconds);
    r.round = round;
    r.predicted = expected;
    records.add(std::move(r));
  };
  for (int i = 1; i <= 10; ++i) add(1, 0.1 * i, 1.0 / i);  // just as expected
  for (int i = 1; i <= 10; ++i) add(2, 0.1 * i, 1.0 * i);  // the other way round
  for (int i = 1; i <= 10; ++i) add(3, 0.5, 1.0 * i);      // no opinion
  for (int i = 1; i <= 3; ++i) add(4, 0.1 * i, 1.0 / i);   // too few to say
  add(0, 0.3, 1);                                          // of an older version
  const auto quality = ranking(records);
  ASSERT_EQ(quality.size(), 3u);
  EXPECT_DOUBLE_EQ(quality[0].correlation, 1);
  EXPECT_DOUBLE_EQ(quality[1].correlation, -1);
  EXPECT_EQ(quality[2].correlation, 0);
  EXPECT_EQ(quality[0].trials, 10);
  EXPECT_EQ(stats(records).ranking.size(), 3u);
}

}  // namespace
}  // namespace whet
