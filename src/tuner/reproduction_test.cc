#include "tuner/reproduction.h"

#include <gtest/gtest.h>

namespace whet {
namespace reproduction_test {

constexpr double kWithin = 0.05;

/// A schedule that took `then` and takes `now`.
Remeasured schedule(double then, double now) { return {then, now, now > 0 ? "" : "no longer replays"}; }
RemeasuredTask task(std::vector<Remeasured> schedules, double usual, double weight = 1) {
  return {0, "conv", weight, std::move(schedules), usual, ""};
}
ReproVerdict verdict_of(const std::vector<RemeasuredTask>& tasks) {
  return whet::verdict_of(reproduction_of(tasks, kWithin), kWithin);
}

TEST(Reproduction, DriftIsTheMedianOfNowOverThenAndTheFarthest) {
  const TaskReproduction one = reproduction_of(task({schedule(1, 1.1), schedule(2, 2), schedule(2, 1)}, 3));
  EXPECT_DOUBLE_EQ(one.drift, 1);
  EXPECT_DOUBLE_EQ(one.worst_drift, 0.5);
}

TEST(Reproduction, TheOrderOfTimesIsComparedByRanks) {
  EXPECT_EQ(reproduction_of(task({schedule(1, 5), schedule(2, 6), schedule(3, 9)}, 9)).correlation, 1);
  EXPECT_EQ(reproduction_of(task({schedule(1, 9), schedule(2, 6), schedule(3, 5)}, 9)).correlation, -1);
  EXPECT_EQ(reproduction_of(task({schedule(1, 9), schedule(2, 0)}, 9)).correlation, std::nullopt);
}

TEST(Reproduction, TheBestOfThenIsTheBestNoLongerWhereAnotherIsClearlyFaster) {
  EXPECT_FALSE(reproduction_of(task({schedule(1, 1.04), schedule(1.1, 1)}, 2)).has_other_best(kWithin));
  const TaskReproduction second = reproduction_of(task({schedule(1, 1.2), schedule(1.1, 1)}, 2));
  EXPECT_TRUE(second.has_other_best(kWithin));
  EXPECT_EQ(second.fastest_place, 1);
  EXPECT_EQ(reproduction_of(task({schedule(1, 1.2)}, 1)).fastest_place, -1) << "the default schedule";
}

TEST(Reproduction, WhereTheBestFailsTheDefaultScheduleStandsForIt) {
  const TaskReproduction one = reproduction_of(task({schedule(1, 0), schedule(1.1, 1.1)}, 2));
  EXPECT_EQ(one.failed, 1);
  EXPECT_TRUE(one.has_other_best(kWithin));
  EXPECT_DOUBLE_EQ(one.chosen, 2);
}

TEST(Reproduction, TasksCountByTheirShareOfTheTime) {
  const Reproduction all =
      reproduction_of({task({schedule(1, 1)}, 2, 10), task({schedule(1, 2)}, 2), task({schedule(1, 3)}, 4)}, kWithin);
  EXPECT_DOUBLE_EQ(all.drift, 1);
  EXPECT_DOUBLE_EQ(all.worst_drift, 3);
  EXPECT_EQ(all.worst_task, 2);
  EXPECT_DOUBLE_EQ(all.sums.then, 12);
  EXPECT_DOUBLE_EQ(all.sums.chosen, 15);
  EXPECT_DOUBLE_EQ(all.sums.usual, 26);
}

TEST(Verdict, IsReproducedWhereTimesAndChoicesHold) {
  EXPECT_EQ(verdict_of({task({schedule(1, 1.02), schedule(1.1, 1.1)}, 2)}), ReproVerdict::reproduced);
}

TEST(Verdict, ChoicesHoldOnAMachineThatIsSlowerThroughout) {
  EXPECT_EQ(verdict_of({task({schedule(1, 1.5), schedule(1.1, 1.7)}, 3)}), ReproVerdict::choices_hold);
}

TEST(Verdict, IsNoWhereTheBestSchedulesCostTime) {
  EXPECT_EQ(verdict_of({task({schedule(1, 1.5)}, 1)}), ReproVerdict::not_reproduced) << "the default is faster";
  EXPECT_EQ(verdict_of({task({schedule(1, 0), schedule(1.1, 1)}, 2)}), ReproVerdict::not_reproduced) << "it fails";
  EXPECT_EQ(verdict_of({task({schedule(1, 0)}, 2)}), ReproVerdict::not_reproduced) << "nothing runs";
}

TEST(Verdict, IsNoWhereATaskDoesNotRunAtAllHoweverGoodTheOthersAre) {
  const RemeasuredTask good = task({schedule(1, 1)}, 2);
  EXPECT_EQ(verdict_of({good, task({schedule(1, 0)}, 0)}), ReproVerdict::not_reproduced);
  EXPECT_EQ(verdict_of({good, task({schedule(1, 0), schedule(1.1, 1.1)}, 0)}), ReproVerdict::not_reproduced);
  const RemeasuredTask second_runs = task({schedule(1, 0), schedule(1.1, 1.1)}, 0);
  EXPECT_EQ(verdict_text(reproduction_of({second_runs}, kWithin), kWithin),
            "Not good for this machine: in 1 task, neither its best schedule nor the default one runs; tune again");
}

RemeasuredTask kernels(std::vector<Remeasured> schedules, double weight = 1) {
  return {0, "conv at n=16", weight, std::move(schedules), 0, "", true};
}
TEST(Verdict, OfRangesTheNextKernelThatRunsStandsForOneThatFails) {
  const Reproduction found =
      reproduction_of({kernels({schedule(1, 0), schedule(1.1, 1.1), schedule(1.2, 1.1)})}, kWithin);
  EXPECT_DOUBLE_EQ(found.tasks[0].chosen, 1.1);
  EXPECT_EQ(found.ranges.idle, 0);
  EXPECT_EQ(verdict_text(found, kWithin),
            "Good for this machine: its times are right within 5%, and its kernels for ranges take 1.000 times as "
            "long as the fastest of now");
  const RemeasuredTask one_runs = kernels({schedule(1, 1)}), none_runs = kernels({schedule(1, 0), schedule(2, 0)});
  EXPECT_EQ(verdict_text(reproduction_of({one_runs, none_runs}, kWithin), kWithin),
            "Not good for this machine: at 1 size of its tasks, no kernel for ranges runs; tune again");
}
TEST(Verdict, OfRangesIsApartFromThatOfTasks) {
  const Reproduction found =
      reproduction_of({task({schedule(1, 1.2), schedule(1.2, 1)}, 2), kernels({schedule(1, 1)}, 1000)}, kWithin);
  EXPECT_DOUBLE_EQ(found.sums.then, 1);
  EXPECT_DOUBLE_EQ(found.ranges.then, 1000);
  EXPECT_EQ(whet::verdict_of(found, kWithin), ReproVerdict::not_reproduced)
      << "kernels with many requests do not hide that the best schedules cost time";
}

TEST(Verdict, IsUnknownWhereNothingWasMeasured) { EXPECT_EQ(verdict_of({}), ReproVerdict::unknown); }

TEST(Verdict, ASentenceSaysIt) {
  const auto text = [](double now) {
    return verdict_text(reproduction_of({task({schedule(1, now)}, 1.2)}, kWithin), kWithin);
  };
  EXPECT_EQ(text(1),
            "Good for this machine: its times are right within 5%, and its best schedules take 1.000 times as long as "
            "the fastest of now, and 0.833 times as long as the default ones");
  EXPECT_NE(text(1.1).find("except for its times, which are 10% longer now"), std::string::npos) << text(1.1);
  EXPECT_NE(text(2).find("Not good for this machine"), std::string::npos) << text(2);
}

TEST(Admission, AnEntryStaysWhereItsGainIsTheClaimedOne) {
  EXPECT_EQ(why_not_admitted(1.5, 1.45, kWithin), "");
  EXPECT_EQ(why_not_admitted(1, 1, kWithin), "") << "the default schedule is the best there is";
  EXPECT_EQ(why_not_admitted(1.5, 1.3, kWithin), "it claims a gain of 1.500 and has 1.300");
  EXPECT_EQ(why_not_admitted(1.3, 1.5, kWithin), "it claims a gain of 1.300 and has 1.500");
  EXPECT_EQ(why_not_admitted(1.03, 1.01, kWithin), "it claims a gain of 1.030 and has 1.010, which is none");
  EXPECT_EQ(why_not_admitted(1.5, 0, kWithin), "it has no time now");
}
TEST(Admission, AChainStaysUnlessItTakesLongerThanItsParts) {
  EXPECT_EQ(why_chain_not_admitted(1.3, 1.5, kWithin), "");
  EXPECT_EQ(why_chain_not_admitted(1.3, 0.96, kWithin), "") << "in the network its parts take longer than alone";
  EXPECT_EQ(why_chain_not_admitted(1.3, 0.9, kWithin),
            "its parts claim to take 1.300 times as long as it does, and take 0.900");
  EXPECT_EQ(why_chain_not_admitted(0.9, 0.8, kWithin), "") << "it claims no gain";
  EXPECT_EQ(why_chain_not_admitted(1.3, 0, kWithin), "it or one of its parts has no time now");
}

}  // namespace reproduction_test
}  // namespace whet
