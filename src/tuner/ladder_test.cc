#include "tuner/ladder.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/rng.h"
#include "measure/testing/formula_measurer.h"
#include "records/testing/sample.h"
#include "schedule/steps_for_sizes.h"

namespace whet::ladder_test {
namespace {

const Target kTarget = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");
const ComputeDag kDense = parse_dag(R"(n = SIZE 1..512 at 512
x = PLACEHOLDER [n, 64]
w = PLACEHOLDER [64, 96] const
dense(i, j) += (x[i, k]*w[k, j]) for i in n, j in 96, k in 64  # matmul i:row j:out_channel k:in_channel
return dense
)")
                              .value();

class LadderTest : public ::testing::Test {
 protected:
  void SetUp() override { std::remove(path_.c_str()); }
  void TearDown() override { std::remove(path_.c_str()); }

  /// Records of some schedules at both sizes, as a search leaves them.
  void search(RecordFile& file, const ComputeDag& dag = kDense) {
    for (const std::int64_t n : {16, 256}) {
      const DesignSpace space = make_space(dag_at(dag, {n}), kTarget);
      Rng rng(static_cast<std::uint64_t>(n));
      int found = 0;
      for (int tries = 0; tries < 300 && found < 3; ++tries) {
        const Candidate candidate = space.sample(rng);
        const Result<Steps> steps = space.steps(candidate);
        if (!steps.ok() || !steps_for_sizes(moved_to(dag, {n}), *steps).ok()) continue;
        Record record =
            testing_records::timed(workload_key(dag_at(dag, {n})), to_text(*steps), 1e-6 * ++found, to_string(kTarget));
        record.candidate = candidate;
        ASSERT_TRUE(file.append(record).ok());
      }
      ASSERT_EQ(found, 3);
    }
  }
  static std::vector<LadderTask> tasks() { return {{"dense", kDense, {{{16}, 10}, {{256}, 1}}}}; }
  LadderProgress climb(Measurer& measurer, LadderOptions options = {}) {
    RecordFile file = RecordFile::open(path_).value();
    if (file.records().size() == 0) search(file);
    const Result<LadderProgress> progress = climb_ladder(tasks(), kTarget, measurer, file, options);
    EXPECT_TRUE(progress.ok());
    return progress.ok() ? *progress : LadderProgress();
  }

  const std::string path_ = ::testing::TempDir() + "whet_ladder_" + std::to_string(getpid()) + ".jsonl";
};

/// The formula: the more rows, the longer, and each schedule differs.
Outcome by_rows(const MeasureTask& task, const std::string& steps) {
  const auto rows = static_cast<double>(task.dag.ops[0].shape[0]);
  return {OutcomeCode::ok, "", {rows * (1e-6 + 1e-9 * static_cast<double>(std::hash<std::string>()(steps) % 1000))}};
}

TEST_F(LadderTest, TimesEachKernelAtAllSizesAndWritesItDownAsTimesOfRanges) {
  FormulaMeasurer measurer(by_rows);
  const LadderProgress progress = climb(measurer);
  EXPECT_EQ(progress.tasks, 1);
  EXPECT_EQ(progress.done, 1);
  EXPECT_GE(progress.kernels, 1);
  EXPECT_EQ(progress.times, 2 * progress.kernels);
  EXPECT_EQ(measurer.ladders, 1) << "no build between sizes";
  const RecordsRead read = read_records(path_).value();
  EXPECT_EQ(std::ssize(read.records.ranged()), progress.times);
  EXPECT_EQ(read.records.size(), 6u) << "those of one size stay as they were";
  for (const RangedRecord& each : read.records.ranged()) {
    EXPECT_EQ(each.range, range_id(kDense));
    EXPECT_EQ(each.record.key, workload_key(dag_at(kDense, each.at)));
    EXPECT_EQ(each.sizes, "n=1..512");
  }
  const std::vector<SizedSchedule> known = across_sizes(kDense, tasks()[0].points, read.records, kTarget, {});
  ASSERT_FALSE(known.empty());
  EXPECT_EQ(known.front().ranged, (std::vector<bool>{true, true}));
}

/// The default schedule of a size that no record is of.
SizedSchedule usual_at(std::int64_t n) {
  const DesignSpace space = make_space(dag_at(kDense, {n}), kTarget);
  const Candidate candidate = space.default_candidate();
  return {to_text(space.steps(candidate).value()), candidate, "", {n}, {}, {}, {}};
}

TEST_F(LadderTest, TimesWhatAnUntunedLibraryHasInAnyCase) {
  RecordFile file = RecordFile::open(path_).value();
  search(file);
  std::vector<LadderTask> tasks = this->tasks();
  const SizedSchedule usual = usual_at(100);
  tasks[0].always = {usual, usual};
  FormulaMeasurer measurer(by_rows);
  const LadderProgress progress = climb_ladder(tasks, kTarget, measurer, file, {.most = 0}).value();
  EXPECT_EQ(progress.kernels, 1) << "none of the records, and that one once";
  const auto known = across_sizes(kDense, tasks[0].points, file.records(), kTarget, {});
  const auto timed = std::ranges::find(known, usual.steps, &SizedSchedule::steps);
  ASSERT_NE(timed, known.end());
  EXPECT_EQ(timed->from, SizeValues{100});
  EXPECT_EQ(timed->ranged, (std::vector<bool>{true, true}));
  FormulaMeasurer again(by_rows);
  EXPECT_EQ(climb_ladder(tasks, kTarget, again, file, {.most = 0}).value().times, 0) << "what is known is not measured";
}

TEST_F(LadderTest, TimesKernelsOnceMoreWithoutWritingThemDown) {
  FormulaMeasurer measurer(by_rows);
  const auto times = time_again(tasks()[0], {usual_at(100), usual_at(16)}, kTarget, measurer, 0);
  ASSERT_EQ(times.size(), 2u);
  ASSERT_EQ(times[0].size(), 2u) << "one a size";
  EXPECT_LT(times[0][0].best_seconds(), times[0][1].best_seconds());
  EXPECT_EQ(measurer.ladders, 1) << "no build between sizes";
}

TEST_F(LadderTest, TimesTheUntunedKernelsOfATaskWithoutRecordsBesideOthers) {
  const ComputeDag other =
      parse_dag(
          "n = SIZE 1..512 at 512\nx = PLACEHOLDER [n, 64]\ny(i, j) = neg(x[i, j]) for i in n, j in 64\nreturn y\n")
          .value();
  RecordFile file = RecordFile::open(path_).value();
  search(file);
  std::vector<LadderTask> tasks = this->tasks();
  tasks.push_back({"other", other, tasks[0].points});
  FormulaMeasurer measurer(by_rows);
  EXPECT_EQ(climb_ladder(tasks, kTarget, measurer, file, {}).value().tasks, 1) << "it has no kernel to time";
  const DesignSpace space = make_space(dag_at(other, {256}), kTarget);
  const Candidate candidate = space.default_candidate();
  tasks[1].always = {{to_text(space.steps(candidate).value()), candidate, "", {256}, {}, {}, {}}};
  const LadderProgress progress = climb_ladder(tasks, kTarget, measurer, file, {}).value();
  EXPECT_EQ(progress.tasks, 2);
  EXPECT_EQ(progress.kernels, 1);
  EXPECT_EQ(progress.task, "other") << "it has less work";
}

/// Nothing was measured before: the task with most work goes first, and one of hardly any is left out.
TEST_F(LadderTest, WithoutAnyRecordsTheHeaviestTaskGoesFirst) {
  const auto negated = [](const std::string& columns) {
    return parse_dag("n = SIZE 1..512 at 512\nx = PLACEHOLDER [n, " + columns +
                     "]\ny(i, j) = neg(x[i, j]) for i in n, j in " + columns + "\nreturn y\n")
        .value();
  };
  const ComputeDag little = negated("4"), some = negated("64");
  const auto usual = [](const ComputeDag& dag) {
    const DesignSpace space = make_space(dag_at(dag, {256}), kTarget);
    const Candidate candidate = space.default_candidate();
    return SizedSchedule{to_text(space.steps(candidate).value()), candidate, "", {256}, {}, {}, {}};
  };
  std::vector<LadderTask> tasks = this->tasks();
  tasks[0].always = {usual(kDense)};
  tasks.insert(tasks.begin(),
               {{"little", little, {{{16}, 0.01}}, {usual(little)}}, {"some", some, tasks[0].points, {usual(some)}}});
  RecordFile file = RecordFile::open(path_).value();
  std::vector<std::string> order;
  LadderOptions options;
  options.on_task = [&](const LadderProgress& progress) { order.push_back(progress.task); };
  FormulaMeasurer measurer(by_rows);
  EXPECT_EQ(climb_ladder(tasks, kTarget, measurer, file, options).value().tasks, 2);
  EXPECT_EQ(order, (std::vector<std::string>{"dense", "some"}));
}

TEST_F(LadderTest, MeasuresNoFailureOfAnUntunedKernelAgain) {
  RecordFile file = RecordFile::open(path_).value();
  search(file);
  std::vector<LadderTask> tasks = this->tasks();
  tasks[0].always = {usual_at(100)};
  const std::string kernel = to_text(*steps_for_sizes(moved_to(kDense, {100}), *parse_steps(tasks[0].always[0].steps)));
  const auto is_wrong = [&](const std::string& each) { return each == kernel; };
  FormulaMeasurer first(by_rows, is_wrong), second(by_rows, is_wrong);
  EXPECT_EQ(climb_ladder(tasks, kTarget, first, file, {}).value().failed, 2);
  EXPECT_EQ(climb_ladder(tasks, kTarget, second, file, {}).value().failed, 0);
}

TEST_F(LadderTest, GoesOnWhereItWasEnded) {
  FormulaMeasurer first(by_rows), second(by_rows);
  const LadderProgress none = climb(first, {.interrupted = [] { return true; }});
  EXPECT_TRUE(none.interrupted);
  EXPECT_EQ(none.times, 0);
  EXPECT_GT(climb(second).times, 0);
  FormulaMeasurer third(by_rows);
  EXPECT_EQ(climb(third).times, 0) << "what is known is not measured again";
  EXPECT_EQ(third.ladders, 0);
}

/// ^C behind the first task: what was timed is kept, and the next run goes on with the second.
TEST_F(LadderTest, MeasuresNoTaskAgainThatWasTimedBeforeAnInterrupt) {
  const ComputeDag other = parse_dag(R"(n = SIZE 1..512 at 512
x = PLACEHOLDER [n, 32]
w = PLACEHOLDER [32, 48] const
dense(i, j) += (x[i, k]*w[k, j]) for i in n, j in 48, k in 32  # matmul i:row j:out_channel k:in_channel
return dense
)")
                               .value();
  RecordFile file = RecordFile::open(path_).value();
  search(file), search(file, other);
  std::vector<LadderTask> tasks = this->tasks();
  tasks.push_back({"other", other, tasks[0].points});
  bool is_interrupted = false;
  LadderOptions until_first;
  until_first.on_task = [&](const LadderProgress&) { is_interrupted = true; };
  until_first.interrupted = [&] { return is_interrupted; };
  FormulaMeasurer first(by_rows), second(by_rows);
  const LadderProgress before = climb_ladder(tasks, kTarget, first, file, until_first).value();
  EXPECT_TRUE(before.interrupted);
  EXPECT_EQ(before.done, 1);
  EXPECT_EQ(first.ladders, 1);
  const std::size_t known = file.records().ranged().size();
  const LadderProgress after = climb_ladder(tasks, kTarget, second, file, {}).value();
  EXPECT_EQ(after.done, 2);
  EXPECT_EQ(second.ladders, 1) << "of the second task";
  EXPECT_EQ(file.records().ranged().size(), known + static_cast<std::size_t>(after.times));
}

TEST_F(LadderTest, BeginsNothingBehindItsDeadline) {
  FormulaMeasurer measurer(by_rows);
  const LadderProgress progress = climb(measurer, {.deadline = 1, .clock = [] { return 2.0; }});
  EXPECT_TRUE(progress.out_of_time);
  EXPECT_EQ(measurer.ladders, 0);
}

TEST_F(LadderTest, AKernelWithWrongAnswersIsNoneOfTheRange) {
  RecordFile file = RecordFile::open(path_).value();
  search(file);
  const std::vector<SizedSchedule> before = across_sizes(kDense, tasks()[0].points, file.records(), kTarget, {});
  const Result<Steps> steps = parse_steps(before.front().steps);
  const std::string wrong = to_text(*steps_for_sizes(moved_to(kDense, before.front().from), *steps));
  FormulaMeasurer measurer(by_rows, [&](const std::string& each) { return each == wrong; });
  const LadderProgress progress = climb_ladder(tasks(), kTarget, measurer, file, {}).value();
  EXPECT_GT(progress.failed, 0);
  for (const SizedSchedule& each : across_sizes(kDense, tasks()[0].points, file.records(), kTarget, {}))
    EXPECT_NE(each.steps, before.front().steps);
}

}  // namespace
}  // namespace whet::ladder_test
