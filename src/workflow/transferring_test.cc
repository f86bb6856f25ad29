#include "workflow/transferring.h"

#include <gtest/gtest.h>

#include "compiler/choose.h"
#include "records/testing/sample.h"
#include "transfer/testing/pointwise.h"

namespace whet {
namespace {

using namespace testing_transfer;

Task task_of(const ComputeDag& dag) { return {workload_key(dag), "conv", dag, 1, {0}}; }
const Task kTask = task_of(pointwise(28, 64, 96));

/// A schedule of the source that is another one than the default for the task too.
Candidate good() { return some(1).front(); }

std::optional<TransferredSchedule> transferred(const RecordBase& base, const Records* records = nullptr,
                                               const Task& task = kTask) {
  return best_known(records, base, kTarget, {}).transferred(task);
}

TEST(BestKnown, TakesWhatGainedForASimilarTask) {
  const RecordBase base = base_of({{good(), 2}});
  const std::optional<TransferredSchedule> found = transferred(base);
  ASSERT_TRUE(found);
  const DesignSpace space = make_space(kTask.dag, kTarget);
  EXPECT_EQ(found->steps, to_text(*space.steps(*space.refit(good(), base.tasks().front().entries.front().extents))));
  EXPECT_EQ(found->from, good().sketch + " of resnet's conv 1x28x28x192 of 64x1x1");
  EXPECT_EQ(found->distance, 1);
  EXPECT_EQ(found->gain, 2);
  EXPECT_EQ(found->why_not, "");
}
TEST(BestKnown, KeepsTheDefaultScheduleWhereItGainedLittle) {
  const std::optional<TransferredSchedule> found = transferred(base_of({{good(), 1.06}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps, "");
  EXPECT_EQ(found->why_not, "its sources gained 6% on average, 22% are asked for");
}
TEST(BestKnown, KeepsItOnAnotherKindOfMachine) {
  const std::optional<TransferredSchedule> found =
      transferred(base_of({{good(), 2}}, "cpu -mcpu=skylake-avx512 -threads=8"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps, "");
  EXPECT_EQ(found->why_not, "tasks of its kind were measured on other kinds of machines alone");
}
TEST(BestKnown, KeepsItForAKindThatNobodyMeasured) {
  const ComputeDag sum = parse_dag("x = PLACEHOLDER [8]\ny(i) += x[k] for i in 1, k in 8\nreturn y\n").value();
  const std::optional<TransferredSchedule> found = transferred(base_of({{good(), 2}}), nullptr, task_of(sum));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why_not, "the base has no task of its kind");
}
TEST(BestKnown, AsksNothingForATaskWithoutReduction) {
  const ComputeDag copy = parse_dag("x = PLACEHOLDER [8]\ny(i) = max(x[i], 0f) for i in 8\nreturn y\n").value();
  EXPECT_FALSE(transferred(base_of({{good(), 2}}), nullptr, task_of(copy)));
}
TEST(BestKnown, TakesNoScheduleThatGaveWrongAnswers) {
  const RecordBase base = base_of({{good(), 2}});
  Record record = testing_records::timed(kTask.key, transferred(base)->steps, 1e-3);
  record.outcome.code = OutcomeCode::wrong_answer;
  const Records records({record});
  const std::optional<TransferredSchedule> found = transferred(base, &records);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps, "");
  EXPECT_EQ(found->why_not, "a record says that its answers are wrong");
}
TEST(BestKnown, IsTheDefaultScheduleWhereTheBaseIsEmpty) {
  const RecordBase empty;
  const ScheduleSource source = best_known(nullptr, empty, kTarget, {});
  EXPECT_FALSE(source.transferred);
  EXPECT_EQ(source.base, "");
}
TEST(WeighedTransfers, SayWhyOthersAreNotTaken) {
  std::vector<std::pair<Candidate, double>> entries;
  for (const Candidate& candidate : some(6)) entries.emplace_back(candidate, 9 - static_cast<double>(entries.size()));
  const RecordBase base = base_of(entries);
  const std::vector<WeighedTransfer> list = weighed_transfers(kTask, nullptr, base, kTarget, {});
  ASSERT_GE(list.size(), 3u);
  const auto taken = std::ranges::find(list, "", &WeighedTransfer::why_not);
  ASSERT_NE(taken, list.end());
  EXPECT_EQ(taken->transfer.steps, transferred(base)->steps);
  for (const WeighedTransfer& each : list)
    if (each.transfer.steps != taken->transfer.steps) {
      EXPECT_NE(each.why_not, "") << each.transfer.from;
    }
}

}  // namespace
}  // namespace whet
