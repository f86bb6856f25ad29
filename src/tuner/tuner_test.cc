#include "tuner/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "base/hash.h"
#include "measure/testing/formula_measurer.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "transfer/transfer.h"
#include "tuner/footprint.h"
#include "tuner/shape_distance.h"
#include "tuner/testing/dense_base.h"
#include "tuner/testing/tune_test.h"

namespace whet {
namespace {

TEST_F(TuneTest, MeasuresAsManyTrialsAsAllowedAndRemembersEachOnce) {
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  const TuneProgress progress = run(measurer, {.trials = 100, .confirm = false}, tasks_);
  EXPECT_EQ(progress.trials, 100);
  EXPECT_EQ(lines(), 100u);
  for (const auto& [steps, times] : measurer.measured)
    EXPECT_LE(times, 2) << steps;  // two tasks may share a schedule's text
  EXPECT_LE(progress.network_seconds(), progress.default_network_seconds());
  EXPECT_GT(progress.network_seconds(), 0);
}
TEST_F(TuneTest, MeasuresTheDefaultScheduleFirst) {
  std::vector<std::string> order;
  FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
    order.push_back(steps);
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  const TuneProgress progress = run(measurer, {.trials = 4, .confirm = false}, {tasks_[1]});
  EXPECT_EQ(order.at(0), to_text(*default_steps(tasks_[1].dag, target_)));
  EXPECT_DOUBLE_EQ(progress.tasks[0].default_seconds, formula(order[0]));
}
TEST_F(TuneTest, ResumesWithoutMeasuringAnythingTwice) {
  FormulaMeasurer first = FormulaMeasurer::timing(formula), second = FormulaMeasurer::timing(formula);
  const std::vector<Task> task = {tasks_[1]};
  const TuneProgress before = run(first, {.trials = 60, .confirm = false}, task);
  const TuneProgress after = run(second, {.trials = 60, .seed = 9, .confirm = false}, task);
  for (const auto& [steps, times] : second.measured) EXPECT_EQ(first.measured.count(steps), 0u) << steps;
  EXPECT_EQ(after.tasks[0].reused, 60);
  EXPECT_EQ(after.tasks[0].trials, 120);
  EXPECT_LE(after.tasks[0].best_seconds, before.tasks[0].best_seconds);
}
TEST_F(TuneTest, ResumingCountsEachTrialOnceHoweverOftenItWasCompared) {
  FormulaMeasurer first = FormulaMeasurer::timing(formula), second = FormulaMeasurer::timing(formula);
  const TuneProgress before = run(first, {.trials = 60, .least_gain = 0}, {tasks_[1]});
  EXPECT_GT(lines(), 60u) << "the comparisons at the end are written down too";
  const TuneProgress after = run(second, {.trials = 8, .least_gain = 0, .confirm = false}, {tasks_[1]});
  EXPECT_EQ(after.tasks[0].reused, 60);
  EXPECT_EQ(after.tasks[0].trials, 68);
  EXPECT_EQ(before.tasks[0].trials, 60);
}
TEST_F(TuneTest, AnInterruptWhileTheBestIsCheckedLosesNothing) {
  struct Interrupted : FormulaMeasurer {
    using FormulaMeasurer::FormulaMeasurer;
    Outcome check(const MeasureTask& task, const std::string& steps, Precision precision) override {
      if (!armed) return FormulaMeasurer::check(task, steps, precision);
      stop = true;
      return {OutcomeCode::device_lost, "interrupted"};
    }
    bool armed = true, stop = false;
  };
  Interrupted measurer([](const MeasureTask&, const std::string& steps) {
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  run(measurer, {.interrupted = [&] { return measurer.stop; }}, {tasks_[1]});
  const std::map<std::string, int> tried = measurer.measured;
  std::set<std::string> written;
  const RecordsRead read = *read_records(path_);
  for (const Record& record : read.records.all()) {
    EXPECT_NE(record.outcome.code, OutcomeCode::device_lost);
    written.insert(record.steps);
  }
  measurer.armed = measurer.stop = false;
  run(measurer, {.trials = 64, .confirm = false}, {tasks_[1]});
  const auto fastest = std::min_element(
      tried.begin(), tried.end(), [](const auto& a, const auto& b) { return formula(a.first) < formula(b.first); });
  EXPECT_TRUE(written.count(fastest->first) > 0 || measurer.measured[fastest->first] > 1)
      << "the fastest was never checked: it is written down or tried again";
}
TEST_F(TuneTest, ABestOfAnEarlierRunThatCrashesNowIsNoBestAnyMore) {
  FormulaMeasurer first = FormulaMeasurer::timing(formula);
  run(first, {.trials = 40, .confirm = false}, {tasks_[1]});
  const RecordsRead before = *read_records(path_);
  const std::string best = before.records.best(tasks_[1].key, {}, target_)->record->steps;
  struct Crashing : FormulaMeasurer {
    using FormulaMeasurer::FormulaMeasurer;
    Outcome check(const MeasureTask& task, const std::string& steps, Precision precision) override {
      return steps == crashes ? Outcome{OutcomeCode::crash, "SIGILL"} : FormulaMeasurer::check(task, steps, precision);
    }
    std::string crashes;
  };
  Crashing second([](const MeasureTask&, const std::string& steps) {
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  second.crashes = best;
  run(second, {.trials = 8, .confirm = false}, {tasks_[1]});
  const RecordsRead after = *read_records(path_);
  EXPECT_NE(after.records.best(tasks_[1].key, {}, target_)->record->steps, best);
}
TEST_F(TuneTest, OneTaskAfterTheOtherTimeSpentInEarlierRunsDoesNotCount) {
  const auto slow = [](const MeasureTask&, const std::string& steps) {
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 100, 0};
  };
  FormulaMeasurer first(slow), second(slow);
  run(first, {.trials = 40, .confirm = false}, {tasks_[1]});
  double time = 0;
  const TuneProgress after = run(second,
                                 {.deadline = 60,
                                  .budget = BudgetPolicy::per_task,
                                  .least_gain = 0,
                                  .confirm = false,
                                  .clock = [&] { return time += 0.1; }},
                                 {tasks_[1]});
  EXPECT_GT(after.trials, 64);
}
TEST_F(TuneTest, DoesNotBelieveWrongAnswersHoweverFast) {
  FormulaMeasurer measurer(
      [](const MeasureTask&, const std::string& steps) {
        return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
      },
      [](const std::string& steps) { return formula(steps) < 1.5e-3; });
  const TuneProgress progress = run(measurer, {.trials = 64, .confirm = false}, {tasks_[1]});
  EXPECT_GE(progress.tasks[0].best_seconds, 1.5e-3);
  EXPECT_GT(progress.tasks[0].failed, 0);
  ASSERT_FALSE(progress.failures.empty());
  EXPECT_EQ(progress.failures[0].code, OutcomeCode::wrong_answer);
}
TEST_F(TuneTest, GivesATaskUpWhenItsFirstTrialsAllFail) {
  const std::string hopeless = tasks_[0].key;
  FormulaMeasurer measurer([&](const MeasureTask& task, const std::string& steps) {
    if (task.key == hopeless) return Outcome{OutcomeCode::crash, "SIGSEGV"};
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  const TuneProgress progress =
      run(measurer, {.trials = 160, .first_round = 32, .least_gain = 0, .confirm = false}, tasks_);
  EXPECT_EQ(progress.tasks[0].trials, 32);
  EXPECT_EQ(progress.tasks[0].given_up, "all of its first 32 trials failed");
  EXPECT_EQ(progress.tasks[1].trials, 128);
  EXPECT_EQ(progress.failures.at(0).count, 32);
}
TEST_F(TuneTest, LetsATaskRestWhenMoreTrialsPromiseNothing) {
  FormulaMeasurer measurer = FormulaMeasurer::timing([](const std::string&) { return 1e-3; });
  const TuneProgress progress = run(measurer, {.confirm = false}, {tasks_[1]});
  EXPECT_TRUE(progress.tasks[0].rests);
  EXPECT_LT(progress.trials, 200);
  EXPECT_EQ(progress.remaining_gain, 0);
}
TEST_F(TuneTest, EndsATaskEarlyThatGetsNoBetter) {
  FormulaMeasurer measurer = FormulaMeasurer::timing([](const std::string&) { return 1e-3; });
  const TuneProgress progress =
      run(measurer, {.first_round = 8, .round = 16, .least_gain = 0, .early_stop = 40, .confirm = false}, {tasks_[1]});
  EXPECT_TRUE(progress.tasks[0].rests);
  EXPECT_EQ(progress.trials, 8 + 3 * 16);
}
TEST_F(TuneTest, OneTaskAfterTheOtherEachHasAnEqualPart) {
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  std::vector<int> order;
  on_round_ = [&](const TuneProgress& progress) { order.push_back(progress.task); };
  const TuneProgress progress =
      run(measurer, {.trials = 100, .budget = BudgetPolicy::per_task, .least_gain = 0, .confirm = false}, tasks_);
  EXPECT_EQ(progress.tasks[0].trials, 50);
  EXPECT_EQ(progress.tasks[1].trials, 50);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}
TEST_F(TuneTest, WithoutSeedsBeginsAtRandom) {
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  run(measurer, {.trials = 16, .seeds = false, .confirm = false}, {tasks_[1]});
  const DesignSpace space = make_space(tasks_[1].dag, target_);
  EXPECT_EQ(read_records(path_)->records.size(), 16u);
  EXPECT_EQ(measurer.measured.count(to_text(*default_steps(tasks_[1].dag, target_))), 0u);
}
TEST_F(TuneTest, ALaterTaskOfTheSameStructureBeginsWithWhatWasBest) {
  // The heavier task is tuned first; its best tile is fitted to the lighter one and tried in its first round.
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  run(measurer, {.trials = 80, .first_round = 64, .confirm = false}, tasks_);
  const DesignSpace large = make_space(tasks_[1].dag, target_), small = make_space(tasks_[0].dag, target_);
  const RecordsRead read = *read_records(path_);
  std::vector<const Record*> of_large;
  for (const Record* record : read.records.of(tasks_[1].key)) of_large.push_back(record);
  const auto best = std::min_element(of_large.begin(), of_large.end(), [](const Record* a, const Record* b) {
    return a->outcome.best_seconds() < b->outcome.best_seconds();
  });
  const auto fitted = small.refit((*best)->candidate, large.extents((*best)->candidate.sketch));
  ASSERT_TRUE(fitted.has_value());
  const std::string steps = to_text(*small.steps(*fitted));
  const auto of_small = read.records.of(tasks_[0].key);
  EXPECT_TRUE(std::any_of(of_small.begin(), of_small.end(), [&](const Record* r) { return r->steps == steps; }));
}
/// The formula is of the schedule alone: what is best of one size is best of both, as far as it fits.
TEST_F(TuneTest, OfSeveralSizesWhatBecomesBestOfOneIsTriedAtTheOthers) {
  const std::vector<Task> sizes = {dense_task("16 rows", 16, 64, 32, 1), dense_task("64 rows", 64, 64, 32, 1)};
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  run(measurer, {.trials = 120, .least_gain = 0, .several_sizes = true}, sizes);
  const RecordsRead read = *read_records(path_);
  const auto best = [&](std::size_t task) { return *read.records.best(sizes[task].key, {}, target_)->record; };
  const auto fitted = [&](std::size_t from, std::size_t to) {
    const DesignSpace there = make_space(sizes[from].dag, target_), here = make_space(sizes[to].dag, target_);
    const Candidate candidate = best(from).candidate;
    return to_text(*here.steps(*here.refit(candidate, there.extents(candidate.sketch))));
  };
  // The one whose round came last has tried the other's best.
  const auto tried = [&](std::size_t task, const std::string& steps) {
    const std::vector<const Record*> of = read.records.of(sizes[task].key);
    return std::ranges::any_of(of, [&](const Record* record) { return record->steps == steps; });
  };
  EXPECT_TRUE(tried(1, fitted(0, 1)) || tried(0, fitted(1, 0)));
}
TEST_F(TuneTest, WhatWasBestWithOtherThreadsIsTriedEarly) {
  FormulaMeasurer before = FormulaMeasurer::timing(formula);
  run(before, {.trials = 60, .confirm = false}, {tasks_[1]});
  const std::string best = read_records(path_)->records.best(tasks_[1].key, {}, target_)->record->steps;
  std::vector<std::string> order;
  FormulaMeasurer after([&](const MeasureTask&, const std::string& steps) {
    order.push_back(steps);
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  target_ = *parse_target("cpu -mcpu=haswell -threads=1");
  run(after, {.trials = 4, .confirm = false}, {tasks_[1]});
  EXPECT_NE(std::find(order.begin(), order.end(), best), order.end());
}
TEST_F(TuneTest, AnotherModelOfTheSameStructureInTheFileHelps) {
  FormulaMeasurer first = FormulaMeasurer::timing(formula), second = FormulaMeasurer::timing(formula);
  run(first, {.trials = 64, .confirm = false}, {tasks_[1]});
  const RecordsRead read = *read_records(path_);
  const auto best = read.records.best(tasks_[1].key, {}, target_, {});
  run(second, {.trials = 8, .confirm = false}, {tasks_[0]});
  const DesignSpace small = make_space(tasks_[0].dag, target_);
  EXPECT_EQ(second.measured.count(to_text(*small.steps(*small.refit(best->record->candidate)))), 1u);
}
TEST_F(TuneTest, BeginsWithWhatARecordBaseKnowsForAllTasks) {
  const RecordBase base = dense_base(target_, {3, 2.5, 2, 1.5});
  std::vector<std::string> order;
  FormulaMeasurer measurer([&](const MeasureTask& task, const std::string& steps) {
    order.push_back(task.key);
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  const TuneProgress progress = run(measurer, {.trials = 60, .confirm = false, .base = &base}, tasks_);
  ASSERT_TRUE(progress.quick);
  EXPECT_EQ(progress.quick->tasks, 2);
  EXPECT_EQ(progress.trials, 60) << "those of the quick round count";
  EXPECT_EQ(progress.tasks[0].quick + progress.tasks[1].quick, progress.quick->trials);
  EXPECT_EQ(order[0], tasks_[1].key) << "the heaviest first";
  const DesignSpace space = make_space(tasks_[1].dag, target_);
  for (const Transfer& transfer : worth_timing(transfers(tasks_[1].dag, space, target_, base), 4))
    EXPECT_EQ(measurer.measured.count(transfer.steps), 0u) << "it was timed in the quick round";
  EXPECT_EQ(progress.winners(Winner::none), 0);
}
TEST_F(TuneTest, WithoutTheQuickRoundTheSearchTriesWhatTheBaseKnows) {
  const RecordBase base = dense_base(target_, {3, 2.5, 2, 1.5});
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  const TuneProgress progress =
      run(measurer, {.trials = 8, .confirm = false, .base = &base, .quick_round = false}, {tasks_[1]});
  EXPECT_FALSE(progress.quick);
  EXPECT_EQ(progress.tasks[0].quick, 0);
  const DesignSpace space = make_space(tasks_[1].dag, target_);
  for (const Transfer& transfer : worth_timing(transfers(tasks_[1].dag, space, target_, base), 4))
    EXPECT_EQ(measurer.measured.count(transfer.steps), 1u);
}
TEST_F(TuneTest, TheQuickRoundAloneMeasuresNothingElse) {
  const RecordBase base = dense_base(target_, {3, 2.5, 2, 1.5});
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  const TuneProgress progress = run(measurer, {.base = &base, .quick_only = true}, tasks_);
  EXPECT_TRUE(measurer.measured.empty());
  EXPECT_EQ(progress.trials, progress.quick->trials);
  EXPECT_EQ(progress.winners(Winner::searched), 0);
  EXPECT_EQ(progress.winners(Winner::transfer) + progress.winners(Winner::usual), 2);
}
TEST_F(TuneTest, TheQuickRoundLeavesTimeToCompareTheFastest) {
  const RecordBase base = dense_base(target_, {3, 2.5, 2, 1.5});
  double time = 0;
  FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
    time = 0.9;  // of the first task
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  const TuneProgress progress = run(measurer, {.deadline = 1, .base = &base, .clock = [&] { return time; }}, tasks_);
  EXPECT_EQ(progress.quick->tasks, 1) << "no other task is begun then";
  EXPECT_EQ(progress.uncompared, 0);
}
TEST_F(TuneTest, WhatTheQuickRoundDidNotReachIsTriedEarly) {
  const RecordBase base = dense_base(target_, {3, 2.5, 2, 1.5});
  FormulaMeasurer quick = FormulaMeasurer::timing(formula), slow = FormulaMeasurer::timing(formula);
  run(quick, {.trials = 1, .confirm = false, .base = &base}, {tasks_[1]});
  const DesignSpace space = make_space(tasks_[1].dag, target_);
  run(slow, {.trials = 4, .confirm = false, .base = &base, .quick_only = false}, {tasks_[1]});
  const auto promising = worth_timing(transfers(tasks_[1].dag, space, target_, base), 4);
  EXPECT_EQ(lines(), 5u);
  const RecordsRead read = *read_records(path_);
  for (const Transfer& transfer : promising)
    EXPECT_TRUE(std::ranges::count(read.records.all(), transfer.steps, &Record::steps) > 0);
}
TEST_F(TuneTest, WithAnEmptyBaseProposesWhatItProposesWithout) {
  const RecordBase base;
  const auto proposed = [&](const RecordBase* with) {
    std::vector<std::string> order;
    FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
      order.push_back(steps);
      return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
    });
    std::remove(path_.c_str());
    double time = 0;
    EXPECT_FALSE(run(measurer, {.trials = 100, .base = with, .clock = [&] { return time += 0.01; }}, tasks_).quick);
    return order;
  };
  EXPECT_EQ(proposed(&base), proposed(nullptr));
}
TEST(Footprint, HasOfATableTheRowsThatAreReadAndOfWeightsAll) {
  const auto bytes = [](const char* text) {
    FusedGraph fused;
    fused.graph.add_value("y", {DType::f32, {3, 16}});
    return network_footprint(fused, {Task{.key = "k", .name = "n", .dag = parse_dag(text).value(), .weight = 2}}, true)
        .least();
  };
  constexpr std::int64_t kActivations = 2 * 3 * 16 * 4;
  EXPECT_EQ(bytes("w = PLACEHOLDER [1000, 16] const\nr = PLACEHOLDER [3] i64 < 1000\n"
                  "y(i, j) = w[r[i], j] for i in 3, j in 16\nreturn y\n"),
            kActivations + 2 * 3 * 16 * 4);
  EXPECT_EQ(bytes("x = PLACEHOLDER [3, 8]\nw = PLACEHOLDER [8, 16] const\n"
                  "y(i, j) += (x[i, k]*w[k, j]) for i in 3, j in 16, k in 8\nreturn y\n"),
            kActivations + 2 * 8 * 16 * 4);
}
TEST(Footprint, IsOfANetworkWhoseTasksAllPackTheirConstantsAsTheCandidateDoes) {
  FusedGraph fused;
  fused.graph.add_value("y", {DType::f32, {1, 14, 14, 64}});
  const auto task = [](const char* text, int weight) {
    return Task{.key = text, .name = "n", .dag = parse_dag(text).value(), .weight = weight};
  };
  const std::vector<Task> tasks{
      task("x = PLACEHOLDER [1, 16, 16, 64]\nw = PLACEHOLDER [3, 3, 64, 64] const\n"
           "y(n, h, w_, o) += (x[n, h + r, w_ + s, c]*w[r, s, c, o]) for n in 1, h in 14, w_ in 14, o in 64, r in 3, s "
           "in 3, "
           "c in 64  # conv n:batch h:row w_:column o:out_channel r:tap s:tap c:in_channel\nreturn y\n",
           2),
      task("x = PLACEHOLDER [1, 64]\nw = PLACEHOLDER [64, 1000] const\n"
           "y(i, j) += (x[i, k]*w[k, j]) for i in 1, j in 1000, k in 64\nreturn y\n",
           1)};
  constexpr std::int64_t kAlways = 2 * 14 * 14 * 64 * 4 + 64 * 1000 * 4, kWritten = 2 * 9 * 64 * 64 * 4;
  const Footprint footprint = network_footprint(fused, tasks, false);
  EXPECT_EQ(footprint.least(), kAlways + kWritten);
  EXPECT_EQ(footprint.at(16.0 / 9), kAlways + kWritten / 9 * 16) << "F(2x2)";
  EXPECT_EQ(footprint.at(4), kAlways + 4 * kWritten) << "F(4x4)";
  EXPECT_EQ(footprint.at(100), kAlways + 4 * kWritten) << "and no algorithm has more";
  EXPECT_EQ(network_footprint(fused, tasks, true).at(4), kAlways + kWritten);
  Target target;
  target.cpu().l3_bytes = 1 << 30;
  const auto bytes = laid_out(footprint, target);
  EXPECT_EQ(bytes(tasks[0].dag, 36 * 64 * 64 * 4), footprint.at(4));
  EXPECT_EQ(bytes(tasks[1].dag, 64 * 4000 * 4), footprint.least()) << "which is padding";
}
TEST(Footprint, IsLaidOutAsFarAsCachesReach) {
  Target target;
  target.cpu().l3_bytes = 40 << 20;
  EXPECT_EQ(laid_out(30 << 20, target), 30 << 20);
  EXPECT_EQ(laid_out(500 << 20, target), 160 << 20);
  target.cpu().l3_bytes = 0, target.cpu().l2_bytes = 1 << 20, target.threads = 4;
  EXPECT_EQ(laid_out(500 << 20, target), 16 << 20) << "a board without a third level";
}
TEST(ShapeDistance, IsZeroForTheSameShapeAndGrowsWithRatios) {
  EXPECT_EQ(shape_distance("[\"a\",1,56,64]", "[\"a\",1,56,64]"), 0);
  EXPECT_LT(shape_distance("[\"a\",1,56,64]", "[\"a\",1,56,128]"),
            shape_distance("[\"a\",1,56,64]", "[\"a\",1,7,512]"));
  EXPECT_TRUE(std::isinf(shape_distance("[\"a\",1,56,64]", "[\"b\",1,56,64]")));
  EXPECT_TRUE(std::isinf(shape_distance("[\"a\",1,56]", "[\"a\",1,56,64]")));
  EXPECT_TRUE(std::isinf(shape_distance("", "[\"a\"]")));
  EXPECT_EQ(shape_distance("garbage,x,", "garbage,y,"), 0);
}
TEST_F(TuneTest, RecordsSayInWhichRoundAndWhatWasExpected) {
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  run(measurer, {.trials = 100, .least_gain = 0, .confirm = false}, {tasks_[1]});
  const RecordsRead read = *read_records(path_);
  EXPECT_EQ(read.records.all().front().round, 1);
  EXPECT_EQ(read.records.all().front().predicted, 0) << "nothing is known at first";
  EXPECT_EQ(read.records.all().back().round, 4);
  EXPECT_NE(read.records.all().back().predicted, 0);
}
TEST_F(TuneTest, SaysWhenTheMachineHasBecomeSlower) {
  struct Tiring : FormulaMeasurer {
    using FormulaMeasurer::FormulaMeasurer;
    std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps, int /*bursts*/) override {
      ++comparisons;
      return std::vector<Outcome>(steps.size(), Outcome{OutcomeCode::ok, "", {1e-3 * comparisons}, false, 0, 0});
    }
  };
  Tiring measurer([](const MeasureTask&, const std::string& steps) {
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  const TuneProgress progress = run(measurer, {.trials = 450, .least_gain = 0}, tasks_);
  EXPECT_GE(progress.slowdown, 2);
}
TEST_F(TuneTest, ComparesTheFastestAgainAndNothingElseWhereItIsTold) {
  FormulaMeasurer first = FormulaMeasurer::timing(formula), again = FormulaMeasurer::timing(formula);
  run(first, {.trials = 40}, tasks_);
  const TuneProgress progress = run(again, {.finals_only = true}, tasks_);
  EXPECT_EQ(progress.trials, 0);
  EXPECT_TRUE(again.measured.empty());
  EXPECT_EQ(again.comparisons, 2) << "one a task";
}
TEST_F(TuneTest, ProposesTheSameWhereProcessorsStay) {
  const auto asked = [&](double round_trip_ns) {
    std::vector<std::string> order;
    FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
      order.push_back(steps);
      return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
    });
    measurer.placement = {round_trip_ns};
    std::remove(path_.c_str());
    run(measurer, {.trials = 150, .clock = [&] { return 0.01 * static_cast<double>(order.size()); }}, tasks_);
    return order;
  };
  EXPECT_EQ(asked(78), asked(0));
  EXPECT_EQ(asked(330), asked(0));
}
TEST_F(TuneTest, FindsTheFastestOnAMachineThatIsSlowEveryOtherMinute) {
  FormulaMeasurer* machine = nullptr;
  FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
    const bool slow = machine->comparisons / 2 % 2 == 1;
    return Outcome{OutcomeCode::ok, "", {formula(steps) * (slow ? 1.4 : 1)}, false, 0.001, 0.001};
  });
  machine = &measurer;
  const TuneProgress progress = run(measurer, {.trials = 160, .least_gain = 0}, {tasks_[1]});
  double fastest = 1, slowest_record = 0;
  for (const auto& [steps, times] : measurer.measured) fastest = std::min(fastest, formula(steps));
  EXPECT_NEAR(progress.tasks[0].best_seconds, fastest, 1e-9);
  const auto read = read_records(path_);
  for (const Record& record : read->records.all()) slowest_record = std::max(slowest_record, record.outcome.pace);
  EXPECT_NEAR(slowest_record, 1.4, 1e-9);
}
TEST_F(TuneTest, ReportsWhatTheClockSaidOnAMachineThatHasBecomeSlow) {
  FormulaMeasurer* machine = nullptr;
  FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
    return Outcome{OutcomeCode::ok, "", {formula(steps) * (machine->comparisons > 2 ? 1.4 : 1)}, false, 0.001, 0.001};
  });
  machine = &measurer;
  const TuneProgress progress = run(measurer, {.trials = 160, .least_gain = 0}, {tasks_[1]});
  double fastest = 1;
  for (const auto& [steps, times] : measurer.measured) fastest = std::min(fastest, formula(steps));
  EXPECT_NEAR(progress.tasks[0].best_seconds, 1.4 * fastest, 1e-9);
  EXPECT_NEAR(read_records(path_)->records.best(tasks_[1].key, {}, target_)->record->outcome.best_seconds(), fastest,
              1e-9);
}
/// The machine's comparisons are disturbed now and then, its measurements are not.
struct Disturbed : FormulaMeasurer {
  Disturbed(int first, int every, double by)
      : FormulaMeasurer(FormulaMeasurer::timing(formula)), first(first), every(every), by(by) {}
  std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) override {
    std::vector<Outcome> out = FormulaMeasurer::compare(task, steps, bursts);
    if (comparisons >= first && comparisons % every == 0)
      for (Outcome& outcome : out) outcome.seconds = {by * outcome.seconds[0]};
    return out;
  }
  int first, every;
  double by;
};
TEST_F(TuneTest, TakesNoDisturbanceForThePaceOfTheMachine) {
  for (const int first : {1, 2, 3}) {
    SetUp();
    Disturbed measurer(first, 3, 12);
    const TuneProgress progress = run(measurer, {.trials = 160, .least_gain = 0}, {tasks_[1]});
    double fastest = 1;
    for (const auto& [steps, times] : measurer.measured) fastest = std::min(fastest, formula(steps));
    EXPECT_NEAR(progress.tasks[0].best_seconds, fastest, 1e-9);
    const auto read = read_records(path_);
    for (const Record& record : read->records.all()) EXPECT_EQ(record.outcome.pace, 1) << first;
  }
}
TEST_F(TuneTest, BelievesNoPaceThatNoMachineHas) {
  Disturbed measurer(4, 1, 12);
  run(measurer, {.trials = 160, .least_gain = 0}, {tasks_[1]});
  double slowest = 0;
  const auto read = read_records(path_);
  for (const Record& record : read->records.all()) slowest = std::max(slowest, record.outcome.pace);
  EXPECT_EQ(slowest, 2);
}
TEST_F(TuneTest, WhatSlowsTheDefaultDownMakesNoOtherScheduleFaster) {
  // A neighbour takes the cache, which the default schedule needs more than the others.
  struct Crowded : FormulaMeasurer {
    using FormulaMeasurer::FormulaMeasurer;
    std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) override {
      std::vector<Outcome> out = FormulaMeasurer::compare(task, steps, bursts);
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i] == start && comparisons > 1 && comparisons < 9) out[i].seconds = {1.6 * out[i].seconds[0]};
      return out;
    }
    std::string start;
  };
  Crowded measurer([](const MeasureTask&, const std::string& steps) {
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  measurer.start = to_text(*default_steps(tasks_[1].dag, target_));
  run(measurer, {.trials = 160, .least_gain = 0}, {tasks_[1]});
  double fastest = 1;
  for (const auto& [steps, times] : measurer.measured) fastest = std::min(fastest, formula(steps));
  EXPECT_DOUBLE_EQ(formula(read_records(path_)->records.best(tasks_[1].key, {}, target_)->record->steps), fastest);
}
/// Some trials seem to take another time than in a comparison.
struct Hasty : FormulaMeasurer {
  Hasty(int from, int to, double by, std::function<double(const std::string&)> seconds = formula,
        std::function<bool(const std::string&)> wrong = {})
      : FormulaMeasurer(
            [seconds = std::move(seconds)](const MeasureTask&, const std::string& steps) {
              return Outcome{OutcomeCode::ok, "", {seconds(steps)}, false, 0, 0};
            },
            std::move(wrong)),
        from(from),
        to(to),
        by(by) {}
  std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                const Incumbent& incumbent) override {
    std::vector<Measured> out = FormulaMeasurer::measure(task, steps, incumbent);
    for (Measured& each : out) {
      if (trials >= from && trials < to) each.outcome.seconds[0] *= by, each.outcome.truncated = false;
      ++trials;
    }
    return out;
  }
  double fastest() const {
    double best = 1;
    for (const auto& [steps, times] : measured) best = std::min(best, formula(steps));
    return best;
  }
  int from, to;
  double by;
  int trials = 0;
};
TEST_F(TuneTest, ManyThatSeemedFasterAreAllMeasuredAgain) {
  Hasty measurer(32, 64, 0.5);
  const TuneProgress progress = run(measurer, {.trials = 64, .least_gain = 0}, {tasks_[1]});
  EXPECT_DOUBLE_EQ(progress.tasks[0].best_seconds, measurer.fastest());
}
TEST_F(TuneTest, ThoseThatSeemedFasterBehindAWrongOneAreMeasuredAgainToo) {
  const auto wrong = [](const std::string& steps) { return hash_bytes(steps) % 1000 < 60; };
  Hasty measurer(32, 64, 0.5, [&](const std::string& steps) { return wrong(steps) ? 0.3e-3 : formula(steps); }, wrong);
  const TuneProgress progress = run(measurer, {.trials = 64, .least_gain = 0}, {tasks_[1]});
  double fastest = 1;
  for (const auto& [steps, times] : measurer.measured)
    if (!wrong(steps)) fastest = std::min(fastest, formula(steps));
  EXPECT_GT(progress.tasks[0].failed, 0);
  EXPECT_DOUBLE_EQ(progress.tasks[0].best_seconds, fastest);
}
TEST_F(TuneTest, TheFirstToBeatIsRememberedAsItWasCompared) {
  for (const double by : {0.7, 1.5}) {
    SetUp();
    Hasty measurer(0, 8, by);
    const TuneProgress progress = run(measurer, {.trials = 104, .least_gain = 0}, {tasks_[1]});
    EXPECT_DOUBLE_EQ(progress.tasks[0].best_seconds, measurer.fastest()) << by;
  }
}
TEST_F(TuneTest, ChallengersThatClearlyLoseGetOneBurst) {
  struct Counting : Hasty {
    Counting() : Hasty(9, 1000, 0.5) {}  // what is tried looks twice as fast as it is
    std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) override {
      if (bursts == 1 && steps.size() > 1) ++contests[steps];
      return FormulaMeasurer::compare(task, steps, bursts);
    }
    std::map<std::vector<std::string>, int> contests;  ///< challengers, the champion behind them
  };
  Counting measurer;
  run(measurer, {.trials = 160, .least_gain = 0}, {tasks_[1]});
  int lost = 0;
  for (const auto& [steps, bursts] : measurer.contests) {
    double fastest = 1;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) fastest = std::min(fastest, formula(steps[i]));
    const bool loses = fastest > 1.01 * formula(steps.back());
    EXPECT_EQ(bursts, loses ? 1 : 2);
    lost += loses;
  }
  EXPECT_GT(lost, 0);
}
TEST_F(TuneTest, ABestThatCrashesWhileItIsComparedIsNoBestAnyMore) {
  struct Crashing : Hasty {
    Crashing() : Hasty(0, 0, 1) {}
    std::vector<Outcome> compare(const MeasureTask& task, const std::vector<std::string>& steps, int bursts) override {
      std::vector<Outcome> out = FormulaMeasurer::compare(task, steps, bursts);
      if (crashed.empty() && trials > 40) crashed = steps[0];
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i] == crashed) out[i] = {OutcomeCode::crash, "SIGILL"}, ++crashes;
      return out;
    }
    std::string crashed;
    int crashes = 0;
  };
  Crashing measurer;
  const TuneProgress progress = run(measurer, {.trials = 160, .least_gain = 0}, {tasks_[1]});
  double fastest = 1;
  for (const auto& [steps, times] : measurer.measured)
    if (steps != measurer.crashed) fastest = std::min(fastest, formula(steps));
  EXPECT_EQ(measurer.crashes, 1) << "it is not tried again";
  EXPECT_DOUBLE_EQ(progress.tasks[0].best_seconds, fastest);
  ASSERT_FALSE(progress.failures.empty());
  EXPECT_EQ(progress.failures[0].code, OutcomeCode::crash);
}
TEST_F(TuneTest, AnInterruptBeforeAComparisonLeavesNothingUncompared) {
  struct Stopping : Hasty {
    using Hasty::Hasty;
    std::vector<Measured> measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                  const Incumbent& incumbent) override {
      if (trials > 40) stop = true;
      return Hasty::measure(task, steps, incumbent);
    }
    bool stop = false;
  };
  Stopping measurer(32, 64, 0.5);
  run(measurer, {.least_gain = 0, .interrupted = [&] { return measurer.stop; }}, {tasks_[1]});
  const RecordsRead read = *read_records(path_);
  EXPECT_GE(read.records.size(), 32u);
  for (const Record& record : read.records.all()) EXPECT_GE(record.outcome.best_seconds(), 1e-3);
}
TEST_F(TuneTest, AnInterruptBeforeTheFirstComparisonCostsTheFastestAlone) {
  bool stop = false;
  FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
    stop = true;
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  run(measurer, {.interrupted = [&] { return stop; }}, {tasks_[1]});
  ASSERT_GT(measurer.measured.size(), 2u);
  EXPECT_EQ(lines(), measurer.measured.size() - 1);
}
TEST_F(TuneTest, StopsAtAnInterruptAndKeepsWhatWasMeasured) {
  int asked = 0;
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  const TuneProgress progress = run(measurer, {.interrupted = [&] { return ++asked > 12; }}, tasks_);
  EXPECT_TRUE(progress.interrupted);
  EXPECT_EQ(static_cast<std::int64_t>(lines()), progress.trials);
  EXPECT_GT(progress.trials, 0);
}
TEST_F(TuneTest, GivesTrialsBackThatWereNeverTried) {
  bool stop = false;
  FormulaMeasurer lost([&](const MeasureTask&, const std::string&) {
    stop = true;
    return Outcome{OutcomeCode::device_lost, "interrupted"};
  });
  const TuneProgress progress = run(lost, {.interrupted = [&] { return stop; }}, tasks_);
  EXPECT_EQ(progress.trials, 0);
  EXPECT_EQ(lines(), 0u);
}
TEST_F(TuneTest, StopsWhenTheTimeIsUsedUp) {
  double time = 0;
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  const TuneProgress progress =
      run(measurer, {.deadline = 60, .confirm = false, .clock = [&] { return time += 1; }}, tasks_);
  EXPECT_GE(progress.seconds, 60);
  EXPECT_LT(progress.seconds, 120);
}
TEST_F(TuneTest, MakesBatchesSmallerTowardsTheDeadline) {
  double time = 0;
  FormulaMeasurer measurer([&](const MeasureTask&, const std::string& steps) {
    time += 1;
    return Outcome{OutcomeCode::ok, "", {formula(steps)}, false, 0, 0};
  });
  const TuneProgress progress =
      run(measurer, {.deadline = 45, .least_gain = 0, .confirm = false, .clock = [&] { return time; }}, tasks_);
  EXPECT_LE(progress.seconds, 46);
  EXPECT_GT(progress.trials, 32);
}
TEST_F(TuneTest, TheDeadlineMayBeMovedAfterARound) {
  RecordFile file = *RecordFile::open(path_);
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  double time = 0;
  TuneOptions options{.deadline = 1000, .confirm = false, .clock = [&] { return time += 1; }};
  const TuneProgress progress =
      tune(tasks_, target_, measurer, file, options, [&](const TuneProgress&) { options.deadline = 1; }).value();
  EXPECT_EQ(progress.trials, options.first_round);
}
TEST_F(TuneTest, SaysOfHowManyTasksDefaultAndBestWereNotCompared) {
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  EXPECT_EQ(run(measurer, {.trials = 16}, tasks_).uncompared, 0);
  double time = 0;
  const TuneProgress late = run(measurer, {.deadline = 60, .clock = [&] { return time += 1; }}, tasks_);
  EXPECT_EQ(late.uncompared,
            std::ranges::count_if(late.tasks, [](const TaskProgress& task) { return task.trials > 0; }));
  EXPECT_GT(late.uncompared, 0);
}
TEST_F(TuneTest, EndsWhenTheSpaceIsUsedUp) {
  Task tiny = dense_task("tiny", 1, 1, 1, 1);
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  const TuneProgress progress = run(measurer, {.confirm = false}, {tiny});
  EXPECT_TRUE(progress.tasks[0].used_up);
  EXPECT_EQ(static_cast<std::int64_t>(measurer.measured.size()), progress.trials);
}
TEST_F(TuneTest, BelievesAWinnerOnlyWhenItWinsAgain) {
  // Measured alone every schedule looks faster than the default; measured alternately with it, none is.
  struct Flattering : FormulaMeasurer {
    using FormulaMeasurer::FormulaMeasurer;
    std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps, int /*bursts*/) override {
      ++comparisons;
      std::vector<Outcome> out(steps.size(), Outcome{OutcomeCode::ok, "", {2.5e-3}, false, 0, 0});
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i] == start) out[i].seconds = {2e-3};
      return out;
    }
    std::string start;
  };
  bool first = true;
  Flattering measurer([&](const MeasureTask&, const std::string&) {
    const double seconds = first ? 2e-3 : 1e-3;
    first = false;
    return Outcome{OutcomeCode::ok, "", {seconds}, false, 0, 0};
  });
  measurer.start = to_text(*default_steps(tasks_[1].dag, target_));
  const TuneProgress progress = run(measurer, {.trials = 6}, {tasks_[1]});
  EXPECT_GT(measurer.comparisons, 0);
  EXPECT_DOUBLE_EQ(progress.tasks[0].best_seconds, 2e-3);
}
TEST_F(TuneTest, ShowsProgressAfterEveryRound) {
  std::vector<int> order;
  on_round_ = [&](const TuneProgress& progress) { order.push_back(progress.task); };
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  run(measurer, {.trials = 128, .first_round = 32, .confirm = false}, tasks_);
  ASSERT_EQ(order.size(), 4u);
  order.resize(2);
  EXPECT_EQ(order, (std::vector<int>{1, 0})) << "each once, the heavier first";
}
TEST_F(TuneTest, RefusesAnUnknownStrategy) {
  RecordFile file = *RecordFile::open(path_);
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  EXPECT_FALSE(tune(tasks_, target_, measurer, file, {.strategy = "luck"}, {}).ok());
}

}  // namespace
}  // namespace whet
