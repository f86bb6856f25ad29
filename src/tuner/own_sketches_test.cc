#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "space/schedule_table.h"
#include "tuner/testing/tune_test.h"

namespace whet::own_sketches_test {
namespace {

/// Tiles of the first loop by 1, 2, ..., 16.
Sketch tiles(const ComputeDag& dag) {
  const std::vector<std::int64_t> sizes = {1, 2, 4, 8, 16};
  ScheduleTable table = ScheduleTable::make("own-tiles", {{"tile", "", single(sizes), 0}}).value();
  for (const std::int64_t size : sizes) {
    const Status added = table.add(dag, {}, table.point({{size}}).value(), fmt::format("split l0 {} guard", size));
    EXPECT_TRUE(added.ok()) << added.error().message;
  }
  return table.sketch();
}
TuneOptions with_tiles(const Task& task, bool alone, TuneOptions options) {
  options.own_sketches = std::make_shared<OwnSketchesByTask>(OwnSketchesByTask{{task.key, {{tiles(task.dag)}, alone}}});
  return options;
}

using OwnSketchesTest = TuneTest;

TEST_F(OwnSketchesTest, AreSearchedAloneBehindTheDefaultSchedule) {
  FormulaMeasurer measurer = FormulaMeasurer::timing(formula);
  const TuneProgress progress =
      run(measurer, with_tiles(tasks_[1], true, {.trials = 100, .strategy = "random", .confirm = false}), {tasks_[1]});
  EXPECT_EQ(progress.trials, 6);
  EXPECT_TRUE(progress.tasks[0].used_up);
  const RecordsRead read = *read_records(path_);
  ASSERT_EQ(read.records.size(), 6u);
  for (const Record& record : read.records.all()) {
    const bool is_default = record.steps == to_text(*default_steps(tasks_[1].dag, target_));
    EXPECT_EQ(record.candidate.sketch, is_default ? "tile+pack" : "own-tiles") << "each has its own name";
  }
}
TEST_F(OwnSketchesTest, AreSearchedBesideTheTasksOwn) {
  FormulaMeasurer measurer = FormulaMeasurer::timing([](const std::string& steps) {
    return steps == "split l0 8 guard" ? 1e-6 : 1e-3 * (1 + static_cast<double>(steps.size()));
  });
  const TuneProgress progress = run(measurer, with_tiles(tasks_[1], false, {.trials = 200, .confirm = false}), tasks_);
  EXPECT_EQ(progress.tasks[1].best_seconds, 1e-6);
  EXPECT_GT(progress.tasks[0].trials, 0) << "tasks without one are tuned, too";
  const RecordsRead read = *read_records(path_);
  const auto best = read.records.best(tasks_[1].key, {}, target_);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->record->candidate, (Candidate{"own-tiles", {{"tile", {8}}}}));
  EXPECT_EQ(best->record->steps, "split l0 8 guard") << "a compile replays it without the template";
}
TEST_F(OwnSketchesTest, AreNotMeasuredTwiceByALaterRun) {
  FormulaMeasurer first = FormulaMeasurer::timing(formula), second = FormulaMeasurer::timing(formula);
  run(first, with_tiles(tasks_[1], true, {.trials = 4, .confirm = false}), {tasks_[1]});
  const TuneProgress progress = run(second, with_tiles(tasks_[1], true, {.trials = 9, .confirm = false}), {tasks_[1]});
  EXPECT_EQ(progress.trials, 2);
  EXPECT_EQ(progress.tasks[0].reused, 4);
}
TEST_F(OwnSketchesTest, AreDescendedUntilNothingNearIsFaster) {
  const std::map<std::string, double> times = {
      {"split l0 1 guard", 5e-3}, {"split l0 2 guard", 3e-3}, {"split l0 4 guard", 1e-3}, {"split l0 8 guard", 2e-3}};
  FormulaMeasurer measurer = FormulaMeasurer::timing([&](const std::string& steps) {
    const auto known = times.find(steps);
    return known == times.end() ? 9e-3 : known->second;
  });
  const TuneProgress progress = run(
      measurer, with_tiles(tasks_[1], true, {.strategy = "descent", .least_gain = 0, .confirm = false}), {tasks_[1]});
  EXPECT_TRUE(progress.tasks[0].used_up);
  EXPECT_EQ(progress.tasks[0].best_seconds, 1e-3);
}

}  // namespace
}  // namespace whet::own_sketches_test
