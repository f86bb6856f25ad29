#include "tuner/control.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "measure/testing/formula_measurer.h"
#include "tuner/testing/dense_task.h"

namespace whet {
namespace control_test {

/// The control schedule of one task. It is timed with each 400 trials.
class ControlTest : public ::testing::Test {
 protected:
  ControlTest() {
    tasks_.push_back(TaskTuning::start(dense_task("small", 16, 64, 32, 1), 0, target_, options_, {"formula", "warm"},
                                       file_.records(), std::make_shared<CostModel>(0))
                         .value());
  }
  void TearDown() override { std::remove(path_.c_str()); }

  void remember(const std::string& steps, double seconds) {
    Trial trial;
    trial.steps = steps;
    trial.measured.outcome = {OutcomeCode::ok, "", {seconds}, false, 0, 0};
    ASSERT_TRUE(log_.remember(tasks_[0], trial).ok());
  }
  /// What is timed when it is asked for the next time.
  std::string watch(double seconds) {
    seconds_ = seconds, asked_ = "nothing";
    control_.watch(tasks_, contest_, trials_);
    trials_ += 400;
    return asked_;
  }

  Target target_ = *parse_target("cpu -mcpu=haswell -threads=2");
  std::string path_ = ::testing::TempDir() + "whet_control_" + std::to_string(getpid()) + ".jsonl";
  RecordFile file_ = *RecordFile::open(path_);
  TuneOptions options_;
  RunLog log_{file_, options_};
  double seconds_ = 1;
  std::string asked_;
  FormulaMeasurer measurer_{[this](const MeasureTask&, const std::string& steps) {
    asked_ = steps;
    return Outcome{OutcomeCode::ok, "", {seconds_}, false, 0, 0};
  }};
  Contest contest_{measurer_, log_};
  Control control_{measurer_, log_};
  std::vector<TaskTuning> tasks_;
  std::int64_t trials_ = 0;
};

TEST_F(ControlTest, IsNoneBeforeATaskHasABestSchedule) {
  EXPECT_EQ(watch(1), "nothing");
  remember("split l0 4", 1);
  EXPECT_EQ(watch(1), "split l0 4");
}
TEST_F(ControlTest, StaysTheOneThatItBeganWith) {
  remember("", 3);  // the naive one has no steps
  EXPECT_EQ(watch(3), "");
  remember("split l0 8", 1);
  EXPECT_EQ(watch(4.5), "");
  EXPECT_DOUBLE_EQ(control_.slowdown(), 1.5);
}
TEST_F(ControlTest, BeginsAnewWhereTheProcessorsMove) {
  remember("split l0 4", 1);
  measurer_.placement = {78};
  watch(1);
  measurer_.placement = {330};
  watch(2);
  EXPECT_EQ(control_.slowdown(), 0);
  watch(3);
  EXPECT_DOUBLE_EQ(control_.slowdown(), 1.5);
}

}  // namespace control_test
}  // namespace whet
