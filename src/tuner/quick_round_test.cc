#include "tuner/quick_round.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "measure/testing/formula_measurer.h"
#include "tuner/testing/dense_base.h"

namespace whet {
namespace {

using Order = std::vector<std::size_t>;

TEST(QuickOrder, BeginsWhereMostIsToBeGainedThenWithTheHeaviest) {
  EXPECT_EQ(quick_order({{10, 1, true}, {5, 1.5, true}, {2, 4, true}, {20, 1, true}}), (Order{2, 1, 3, 0}));
}
TEST(QuickOrder, LeavesOutWhatIsLightAndWhatHasNothingToTry) {
  EXPECT_EQ(quick_order({{1000, 1, false}, {0.5, 9, true}, {3, 1, true}, {3, 2, false}}), (Order{3, 2}));
}
TEST(QuickCandidates, AreTwoWhereThereIsRoomForThemInAllTasks) {
  EXPECT_EQ(quick_candidates(20, 60), 2u);
  EXPECT_EQ(quick_candidates(134, 240), 1u);
  EXPECT_EQ(quick_candidates(134, std::numeric_limits<double>::infinity()), 2u);
}

/// Quick rounds of two dense layers, of which the base knows six schedules. The clock goes on by a second with each measurement.
class QuickRoundTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "whet_quick_" + std::to_string(getpid()) + ".jsonl";
    std::remove(path_.c_str());
    begin();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  /// As another process begins, with what the file has.
  void begin() {
    log_.reset(), tasks_.clear();
    file_.emplace(*RecordFile::open(path_));
    options_.clock = [this] { return now_; };
    log_.emplace(*file_, options_);
    for (const Task& task : {dense_task("small", 32, 512, 128, 1), dense_task("large", 64, 1024, 128, 3)}) {
      tasks_.push_back(*TaskTuning::start(task, static_cast<int>(tasks_.size()), target_, options_, {"formula", "warm"},
                                          file_->records(), std::make_shared<CostModel>(0)));
      TaskTuning& tuning = tasks_.back();
      tuning.suggest(worth_timing(transfers(task.dag, tuning.space(), target_, base_), 6));
      transfers_[task.key] = worth_timing(transfers(task.dag, tuning.space(), target_, base_), 6);
    }
  }
  Outcome outcome(const MeasureTask& task, const std::string& steps) {
    asked_.push_back(steps);
    if (lost_) return {OutcomeCode::device_lost, "unplugged"};
    now_ += 1;
    const std::string& best = transfers_[task.key][1].steps;
    return {OutcomeCode::ok, "", {steps == best ? 1e-3 : 2e-3}, false, 0.001, 0.001};
  }
  QuickRound run(const QuickOptions& quick = {}) {
    FormulaMeasurer measurer([this](const MeasureTask& task, const std::string& steps) { return outcome(task, steps); },
                             [this](const std::string& steps) { return wrong_.contains(steps); });
    measurer.placement = {round_trip_ns_};
    asked_.clear();
    Result<QuickRound> round = quick_round(tasks_, measurer, *log_, quick);
    EXPECT_TRUE(round.ok());
    checks_ = measurer.checks;
    return *round;
  }
  std::size_t lines() const { return file_->records().size(); }

  Target target_ = *parse_target("cpu -mcpu=haswell -threads=2");
  RecordBase base_ = dense_base(target_, {3, 2.5, 2, 1.5, 1.4, 1.3});
  TuneOptions options_;
  std::map<std::string, std::vector<Transfer>> transfers_;  ///< by the task's key, in the order in which they are timed
  std::set<std::string> wrong_;
  bool lost_ = false;
  double now_ = 0, round_trip_ns_ = 0;
  std::string path_;
  std::optional<RecordFile> file_;
  std::optional<RunLog> log_;
  std::vector<TaskTuning> tasks_;
  std::vector<std::string> asked_;
  int checks_ = 0;
};

TEST_F(QuickRoundTest, TimesTheDefaultAndTwoOfTheBaseThenTheBestAndTwoMore) {
  const QuickRound round = run();
  EXPECT_EQ(round.tasks, 2);
  EXPECT_EQ(round.trials, std::ssize(transfers_.begin()->second) + std::ssize(transfers_.rbegin()->second) + 2);
  EXPECT_EQ(lines(), static_cast<std::size_t>(round.trials));
  const std::vector<Transfer>& large = transfers_[tasks_[1].measure_task().key];
  const std::vector<std::string> first(asked_.begin(), asked_.begin() + 3);
  EXPECT_EQ(first, (std::vector{tasks_[1].default_schedule(), large[0].steps, large[1].steps}));
  for (const TaskTuning& task : tasks_) {
    EXPECT_EQ(task.incumbent(file_->records())->steps, transfers_[task.measure_task().key][1].steps);
    EXPECT_EQ(task.progress().default_seconds, 2e-3);
  }
}
TEST_F(QuickRoundTest, ChecksTheAnswersOfTheWinnersAlone) {
  run({.trials = 6});
  EXPECT_EQ(checks_, 2);
}
TEST_F(QuickRoundTest, TakesTheNextWhereTheWinnerIsWrong) {
  TaskTuning& large = tasks_[1];
  const std::string best = transfers_[large.measure_task().key][1].steps;
  wrong_ = {best};
  run({.trials = 6});
  ASSERT_NE(large.incumbent(file_->records()), nullptr);
  EXPECT_NE(large.incumbent(file_->records())->steps, best);
  EXPECT_TRUE(large.is_verified(large.incumbent(file_->records())->steps));
  EXPECT_EQ(large.progress().failed, 1);
}
TEST_F(QuickRoundTest, StopsBetweenTasksAndWhatWasNotTimedStaysSuggested) {
  const QuickRound round = run({.until = 1});
  EXPECT_EQ(round.tasks, 1);
  EXPECT_EQ(round.trials, 3);
  const std::vector<Trial> next = tasks_[0].propose(2);
  EXPECT_EQ(next[0].steps, tasks_[0].default_schedule());
  EXPECT_EQ(next[1].steps, transfers_[tasks_[0].measure_task().key][0].steps);
}
TEST_F(QuickRoundTest, ReachesAllTasksWithOneEachBeforeAnyHasMore) {
  const QuickRound round = run({.until = 100, .again_until = 0});
  EXPECT_EQ(round.tasks, 2);
  EXPECT_EQ(round.trials, 4) << "the default and one of the base";
  EXPECT_EQ(run({.until = 100, .again_until = 0}).trials, 0) << "no task is new";
}
TEST_F(QuickRoundTest, IsResumedWithoutMeasuringAnythingTwice) {
  run({.trials = 3});
  begin();
  const QuickRound round = run();
  EXPECT_GT(round.trials, 0);
  std::set<std::string> written;
  for (const Record& record : file_->records().all()) written.insert(std::string(record.key) + record.steps);
  EXPECT_EQ(written.size(), lines());
  begin();
  EXPECT_EQ(run().trials, 0);
}
TEST_F(QuickRoundTest, WritesDownWhatTheBestTakesWhereTheProcessorsLieNow) {
  round_trip_ns_ = 78;
  run({.trials = 6});
  round_trip_ns_ = 330;
  begin();
  EXPECT_EQ(run({.trials = 2}).trials, 2) << "the best of before are no new ones: each task has one";
  EXPECT_EQ(lines(), 10u);
  for (const TaskTuning& task : tasks_) {
    const std::vector<const Record*> all = file_->records().of(task.measure_task().key);
    const auto far =
        std::ranges::find_if(all, [](const Record* r) { return r->outcome.placement.round_trip_ns > 100; });
    ASSERT_NE(far, all.end());
    EXPECT_EQ((*far)->steps, transfers_[task.measure_task().key][1].steps) << "before the others";
    for (const Record* r : all) EXPECT_EQ(r->outcome.pace, 1);
    EXPECT_EQ(task.incumbent(file_->records())->outcome.placement, ProcessorPlacement{330});
  }
}
TEST_F(QuickRoundTest, OnALostDeviceEndsAndLosesNothing) {
  lost_ = true;
  EXPECT_EQ(run().trials, 0);
  EXPECT_EQ(lines(), 0u);
  lost_ = false;
  EXPECT_EQ(run({.trials = 3}).trials, 3);
  EXPECT_EQ(asked_[0], tasks_[1].default_schedule());
}
TEST_F(QuickRoundTest, TellsOfEachTask) {
  std::vector<std::size_t> told;
  int trials = 0;
  run({.trials = 6, .on_task = [&](std::size_t task, int n, double) { told.push_back(task), trials += n; }});
  EXPECT_EQ(told, (Order{1, 0}));
  EXPECT_EQ(trials, 6);
}

}  // namespace
}  // namespace whet
