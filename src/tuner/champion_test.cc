#include "tuner/champion.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <map>

#include "measure/testing/formula_measurer.h"
#include "tuner/testing/dense_task.h"

namespace whet {
namespace champion_test {

/// Each schedule takes the seconds that are listed for it, the last of them as often as it is asked for.
class ContestTest : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }

  double next(const std::string& steps) {
    std::vector<double>& list = seconds_.at(steps);
    const double now = list.front();
    if (list.size() > 1) list.erase(list.begin());
    return now;
  }

  std::map<std::string, std::vector<double>> seconds_;
  std::string path_ = ::testing::TempDir() + "whet_contest_" + std::to_string(getpid()) + ".jsonl";
  RecordFile file_ = *RecordFile::open(path_);
  TuneOptions options_;
  RunLog log_{file_, options_};
  FormulaMeasurer measurer_ = FormulaMeasurer::timing([this](const std::string& steps) { return next(steps); });
  FormulaMeasurer* moving_ = nullptr;
  Contest contest_{measurer_, log_};
  const Task small_ = dense_task("small", 16, 64, 32, 1);
  const MeasureTask task_{small_.key, small_.name, small_.dag, *parse_target("cpu")};
};

TEST_F(ContestTest, GivesAllThePaceOfTheChampion) {
  seconds_ = {{"a", {3}}, {"champion", {1.5}}};
  const std::vector<Outcome> seen = contest_.compare(task_, {"champion", "a"}, Champion{"champion", 1});
  EXPECT_DOUBLE_EQ(seen[0].pace, 1.5);
  EXPECT_DOUBLE_EQ(seen[1].pace, 1.5);
  EXPECT_DOUBLE_EQ(seen[1].best_seconds(), 2);
}
TEST_F(ContestTest, GivesNoPaceWithoutTheChampion) {
  seconds_ = {{"a", {3}}};
  EXPECT_EQ(contest_.compare(task_, {"a"}, Champion{"champion", 1})[0].pace, 1);
  EXPECT_EQ(contest_.compare(task_, {"a"}, std::nullopt)[0].pace, 1);
}
TEST_F(ContestTest, GivesNoPaceByATimeOfAnotherPlacement) {
  seconds_ = {{"a", {3}}, {"champion", {1.5}}};
  measurer_.placement = {330};
  const std::vector<Outcome> seen = contest_.compare(task_, {"champion", "a"}, Champion{"champion", 1, {78}});
  EXPECT_EQ(seen[0].pace, 1);
  EXPECT_EQ(seen[1].pace, 1);
  EXPECT_EQ(measurer_.comparisons, 1) << "it is not timed again to be as fast as it was";
  EXPECT_EQ(contest_.compare(task_, {"champion", "a"}, Champion{"champion", 1, {300}})[1].pace, 1.5);
}
TEST_F(ContestTest, MixesNoTimesOfTwoPlacements) {
  int timed = 0;  // far at first, then near
  FormulaMeasurer moving([&](const MeasureTask&, const std::string& steps) {
    moving_->placement = {timed++ < 2 ? 330.0 : 78.0};
    return Outcome{OutcomeCode::ok, "", {next(steps)}, false, 0, 0};
  });
  moving_ = &moving;
  Contest contest(moving, log_);
  seconds_ = {{"a", {1.2, 0.7}}, {"champion", {1.2, 0.6}}};
  const std::vector<Outcome> seen = contest.compare(task_, {"champion", "a"}, Champion{"champion", 1, {330}});
  EXPECT_EQ(seen[0].placement, ProcessorPlacement{78});
  EXPECT_EQ(seen[0].seconds, std::vector{0.6});
  EXPECT_EQ(seen[1].seconds, std::vector{0.7});
  EXPECT_EQ(seen[0].pace, 1) << "nor a pace of them";
  EXPECT_EQ(moving.comparisons, 2);
}
TEST_F(ContestTest, TimesAChampionAgainAsLongAsItGetsFaster) {
  seconds_ = {{"champion", {2, 1.5, 1.1, 1}}};
  EXPECT_DOUBLE_EQ(contest_.compare(task_, {"champion"}, Champion{"champion", 1})[0].pace, 1);
  EXPECT_EQ(measurer_.comparisons, 4);
  seconds_ = {{"champion", {2, 1.99, 1}}};
  EXPECT_DOUBLE_EQ(contest_.compare(task_, {"champion"}, Champion{"champion", 1})[0].pace, 1.99);
  EXPECT_EQ(measurer_.comparisons, 6);
}
TEST_F(ContestTest, BelievesNoPaceThatNoMachineHas) {
  seconds_ = {{"champion", {10}}};
  EXPECT_EQ(contest_.compare(task_, {"champion"}, Champion{"champion", 1})[0].pace, 2);
}
TEST_F(ContestTest, AChallengerThatClearlyLosesGetsOneBurst) {
  seconds_ = {{"a", {1.5}}, {"champion", {1}}};
  contest_.challenge(task_, {"a", "champion"}, Champion{"champion", 1});
  EXPECT_EQ(measurer_.comparisons, 1);
  seconds_ = {{"a", {1.005, 0.9}}, {"champion", {1}}};
  EXPECT_EQ(contest_.challenge(task_, {"a", "champion"}, Champion{"champion", 1})[0].best_seconds(), 0.9);
  EXPECT_EQ(measurer_.comparisons, 3);
}
TEST_F(ContestTest, TimesOneAloneUntilItIsAsFastAsItSeemed) {
  seconds_ = {{"a", {2, 1.5, 1}}};
  EXPECT_EQ(contest_.alone(task_, "a", 1)[0].best_seconds(), 1);
  EXPECT_EQ(measurer_.comparisons, 3);
}

}  // namespace champion_test
}  // namespace whet
