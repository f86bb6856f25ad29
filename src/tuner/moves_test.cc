// Tuning where the host moves the processors.

#include <algorithm>
#include <set>

#include "space/space.h"
#include "tuner/placements.h"
#include "tuner/testing/tune_test.h"

namespace whet {
namespace {

/// Near for `near` measurements, then far, where half of the schedules take twice as long.
struct Moving : FormulaMeasurer {
  explicit Moving(int near)
      : FormulaMeasurer([this](const MeasureTask&, const std::string& steps) {
          placement = {asked++ < this->near ? 78.0 : 330.0};
          return Outcome{OutcomeCode::ok, "", {seconds(steps, placement)}, false, 0, 0};
        }),
        near(near) {}
  static double seconds(const std::string& steps, const ProcessorPlacement& where) {
    return formula(steps) * (where.round_trip_ns > 100 && hash_bytes(steps) % 2 == 0 ? 2 : 1);
  }
  int near, asked = 0;
};
TEST_F(TuneTest, MeasuresTheFastestAgainWhereTheProcessorsMoved) {
  Moving measurer(120);
  const TuneProgress progress =
      run(measurer, {.trials = 160, .least_gain = 0, .clock = [&] { return 0.01 * measurer.asked; }}, {tasks_[1]});
  ASSERT_TRUE(progress.placements.several());
  EXPECT_EQ(progress.placements.at_hand(), ProcessorPlacement{330});
  EXPECT_GT(progress.placements.parts()[0].seconds, 0);
  const RecordsRead read = *read_records(path_);
  const Record* fastest_near = nullptr;
  std::set<std::string> far;
  for (const Record& record : read.records.all()) {
    const double own = record.outcome.best_seconds();
    EXPECT_EQ(record.outcome.pace, 1) << "a time of another placement gives no pace";
    if (record.outcome.placement == ProcessorPlacement{330}) far.insert(record.steps);
    if (record.outcome.placement == ProcessorPlacement{78} &&
        (!fastest_near || own < fastest_near->outcome.best_seconds()))
      fastest_near = &record;
  }
  ASSERT_TRUE(fastest_near);
  EXPECT_TRUE(far.contains(fastest_near->steps));
  const Record& best = *read.records.best(tasks_[1].key, {}, target_)->record;
  EXPECT_EQ(best.outcome.placement, ProcessorPlacement{330});
  EXPECT_DOUBLE_EQ(best.outcome.best_seconds(), Moving::seconds(best.steps, {330}));
}
TEST_F(TuneTest, GivesNoPaceToATrialInAnotherPlacement) {
  struct Slow : FormulaMeasurer {
    Slow()
        : FormulaMeasurer([this](const MeasureTask&, const std::string& steps) {
            const bool near = trials < 60;
            placement = {near ? 78.0 : 330.0};
            return Outcome{OutcomeCode::ok, "", {formula(steps) * (near && trials > 20 ? 1.4 : 1)}, false, 0, 0};
          }) {}
    std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                  const Incumbent& incumbent) override {
      ++trials;
      return FormulaMeasurer::measure(task, steps, incumbent);
    }
    int trials = 0;
  };
  Slow measurer;
  run(measurer, {.trials = 80, .least_gain = 0}, {tasks_[1]});
  int slow = 0, far = 0;
  const RecordsRead read = *read_records(path_);
  for (const Record& record : read.records.all()) {
    const bool is_far = record.outcome.placement == ProcessorPlacement{330};
    slow += record.outcome.pace > 1.3, far += is_far;
    if (is_far) {
      EXPECT_DOUBLE_EQ(record.outcome.pace, 1);
    }
  }
  EXPECT_GT(slow, 0);
  EXPECT_GT(far, 0);
}
TEST_F(TuneTest, ARunThatEndsBehindAMoveLeavesTheBestOfBefore) {
  struct Killed : Moving {
    Killed() : Moving(1 << 20) {}
    std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                  const Incumbent& incumbent) override {
      if (++trials == 60) near = asked;  // in the middle of a batch
      return Moving::measure(task, steps, incumbent);
    }
    int trials = 0;
  };
  Killed killed;
  run(killed, {.trials = 160, .least_gain = 0, .interrupted = [&] { return killed.trials >= 60; }}, {tasks_[1]});
  const RecordsRead before = *read_records(path_);
  double fastest_near = 1;
  int far = 0;
  for (const Record& record : before.records.all())
    if (record.outcome.placement == ProcessorPlacement{78})
      fastest_near = std::min(fastest_near, record.outcome.best_seconds());
    else
      ++far;
  ASSERT_GT(far, 0);
  const Record& best = *before.records.best(tasks_[1].key, {}, target_)->record;
  EXPECT_EQ(best.outcome.placement, ProcessorPlacement{78});
  EXPECT_EQ(best.outcome.best_seconds(), fastest_near);

  Moving resumed(0);
  run(resumed, {.trials = 8, .least_gain = 0}, {tasks_[1]});
  const RecordsRead after = *read_records(path_);
  const Record& now = *after.records.best(tasks_[1].key, {}, target_)->record;
  EXPECT_EQ(now.outcome.placement, ProcessorPlacement{330});
  bool is_timed_far = false;
  for (const Record& record : after.records.all()) {
    if (record.outcome.placement != ProcessorPlacement{330}) continue;
    is_timed_far = is_timed_far || record.steps == best.steps;
    EXPECT_GE(record.outcome.best_seconds(), now.outcome.best_seconds());
  }
  EXPECT_TRUE(is_timed_far);
}
TEST_F(TuneTest, TimesTheFastestOfEachAlgorithmOfAStreamingTaskBehindAMove) {
  struct Counted : Moving {
    Counted() : Moving(1 << 20) {}
    std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                  const Incumbent& incumbent) override {
      ++trials;
      return Moving::measure(task, steps, incumbent);
    }
    std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) override {
      if (trials > 20 && steps.size() == 1) near = std::min(near, asked);  // the pace of the third batch
      if (asked >= near) far.push_back(steps);
      return Moving::compare(task, steps, bursts);
    }
    int trials = 0;
    std::vector<std::vector<std::string>> far;  ///< what is compared there
  };
  target_.cpu().l2_bytes = 1 << 16;
  Counted measurer;
  run(measurer, {.trials = 80, .least_gain = 0}, {tasks_[1]});
  ASSERT_GE(measurer.far.size(), 2u);
  EXPECT_EQ(measurer.far[0].size(), 1u) << "the champion";
  const RecordsRead read = *read_records(path_);
  std::vector<const Record*> near;
  for (const Record& record : read.records.all())
    if (record.outcome.placement != ProcessorPlacement{330}) near.push_back(&record);
  const std::vector<const Record*> fastest = finalists_of(by_placement(near, {330}), 4, 1.04);
  EXPECT_GT(fastest.size(), 1u);
  for (const Record* record : fastest)
    EXPECT_EQ(std::ranges::count(measurer.far[1], record->steps), 1) << record->steps;
}
TEST_F(TuneTest, ExactSchedulesAloneMoveThePlacementToo) {
  FormulaMeasurer before = FormulaMeasurer::timing(formula);
  before.placement = {78};
  run(before, {.trials = 40}, {tasks_[1]});
  Record other = *read_records(path_)->records.best(tasks_[1].key, {}, target_)->record;
  other.steps = "winograd o2 4", other.numerics.exact = false;
  other.outcome.seconds = {1e-4};
  ASSERT_TRUE(RecordFile::open(path_)->append(other).ok());

  FormulaMeasurer after = FormulaMeasurer::timing(formula);
  after.placement = {330};
  run(after, {.trials = 40, .least_gain = 0, .exact = true}, {tasks_[1]});
  const RecordsRead read = *read_records(path_);
  const Record& best = *read.records.best(tasks_[1].key, {}, target_)->record;
  EXPECT_EQ(best.outcome.placement, ProcessorPlacement{330});
  EXPECT_NE(best.steps, other.steps);
}

}  // namespace
}  // namespace whet
