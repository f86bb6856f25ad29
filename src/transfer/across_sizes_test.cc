#include "transfer/across_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "base/arithmetic.h"
#include "base/rng.h"
#include "records/testing/sample.h"
#include "schedule/steps_for_sizes.h"

namespace whet {
namespace across_sizes_test {

const Target kTarget = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");
const ComputeDag kDense = parse_dag(R"(n = SIZE 1..512 at 512
x = PLACEHOLDER [n, 64]
w = PLACEHOLDER [64, 96] const
dense(i, j) += (x[i, k]*w[k, j]) for i in n, j in 96, k in 64  # matmul i:row j:out_channel k:in_channel
return dense
)")
                              .value();

struct Schedule {
  Candidate candidate;
  std::string steps;
};
/// Schedules of the task at n rows that ranges can run by.
std::vector<Schedule> schedules_of(std::int64_t n, std::size_t count) {
  const DesignSpace space = make_space(dag_at(kDense, {n}), kTarget);
  std::vector<Schedule> found;
  Rng rng(static_cast<std::uint64_t>(n));
  for (int tries = 0; tries < 300 && found.size() < count; ++tries) {
    const Candidate candidate = space.sample(rng);
    const Result<Steps> steps = space.steps(candidate);
    if (!steps.ok() || !steps_for_sizes(moved_to(kDense, {n}), *steps).ok()) continue;
    const std::string text = to_text(*steps);
    if (std::ranges::find(found, text, &Schedule::steps) == found.end()) found.push_back({candidate, text});
  }
  EXPECT_EQ(found.size(), count);
  return found;
}

void add(Records& records, std::int64_t n, const Schedule& schedule, double seconds) {
  Record record =
      testing_records::timed(workload_key(dag_at(kDense, {n})), schedule.steps, seconds, to_string(kTarget));
  record.candidate = schedule.candidate;
  records.add(std::move(record));
}

std::vector<SizedSchedule> found_in(const Records& records, const std::vector<SizedPoint>& points) {
  return across_sizes(kDense, points, records, kTarget, {});
}

/// Where all is measured the order is that of the sums, as trying all finds it.
TEST(AcrossSizes, TheLeastExpectedSecondsComeFirst) {
  const std::vector<Schedule> all = schedules_of(64, 3);
  Rng rng(7);
  for (int round = 0; round < 30; ++round) {
    Records records;
    std::vector<SizedPoint> points;
    std::map<std::string, double> expected;
    for (const std::int64_t n : {16, 64, 256}) {
      points.push_back({{n}, static_cast<double>(rng.between(1, 50))});
      for (const Schedule& schedule : all) {
        const double seconds = static_cast<double>(rng.between(1, 1000)) * 1e-6;
        add(records, n, schedule, seconds);
        expected[schedule.steps] += points.back().uses * seconds;
      }
    }
    const std::vector<SizedSchedule> found = found_in(records, points);
    ASSERT_EQ(found.size(), all.size());
    double least = kInfinity;
    for (const auto& [steps, seconds] : expected) least = std::min(least, seconds);
    EXPECT_DOUBLE_EQ(found.front().expected, least);
    for (const SizedSchedule& each : found) {
      EXPECT_DOUBLE_EQ(each.expected, expected[each.steps]);
      EXPECT_EQ(each.measured, std::vector<bool>(3, true));
    }
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, &SizedSchedule::expected));
  }
}

/// An estimate is no better than what was measured there.
TEST(AcrossSizes, AreEstimatedWhereTheyWereNotTimed) {
  const Schedule small = schedules_of(16, 1).front(), large = schedules_of(256, 2).back();
  Records records;
  add(records, 16, small, 1e-6);
  add(records, 256, large, 20e-6);
  const std::vector<SizedSchedule> found = found_in(records, {{{16}, 1}, {{256}, 1}});
  ASSERT_EQ(found.size(), 2u);
  for (const SizedSchedule& each : found) {
    const bool is_small = each.steps == small.steps;
    EXPECT_EQ(each.from, (SizeValues{is_small ? 16 : 256}));
    EXPECT_EQ(each.measured, (std::vector<bool>{is_small, !is_small}));
    EXPECT_GE(each.seconds[0], 1e-6);
    EXPECT_GE(each.seconds[1], 20e-6);
    EXPECT_DOUBLE_EQ(each.expected, each.seconds[0] + each.seconds[1]);
  }
}

/// A size that nobody timed has its time by the estimate: more rows take longer.
TEST(AcrossSizes, AreEstimatedAtSizesThatNobodyTimed) {
  const Schedule schedule = schedules_of(64, 1).front();
  Records records;
  add(records, 64, schedule, 5e-6);
  const std::vector<SizedSchedule> found = found_in(records, {{{64}, 1}, {{512}, 1}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].measured, (std::vector<bool>{true, false}));
  EXPECT_GT(found[0].seconds[1], found[0].seconds[0]);
}

/// The least seconds of all ways to cut points, and of all schedules in each piece.
double least_by_trying(const std::vector<ExpectedSeconds>& tasks, std::size_t points, std::size_t from,
                       std::size_t most) {
  if (from == points) return 0;
  if (most == 0) return kInfinity;
  double least = kInfinity;
  for (std::size_t end = from + 1; end <= points; ++end) {
    double piece = 0;
    for (const ExpectedSeconds& task : tasks) {
      double best = kInfinity;
      for (const std::vector<double>& schedule : task) {
        double sum = 0;
        for (std::size_t p = from; p < end; ++p) sum += schedule[p];
        best = std::min(best, sum);
      }
      piece += best;
    }
    least = std::min(least, piece + least_by_trying(tasks, points, end, most - 1));
  }
  return least;
}

TEST(CutPoints, TakesTheLeastTimeOfAllCuts) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    const auto points = static_cast<std::size_t>(rng.between(1, 7));
    std::vector<ExpectedSeconds> tasks(static_cast<std::size_t>(rng.between(1, 4)));
    for (ExpectedSeconds& task : tasks) {
      task.resize(static_cast<std::size_t>(rng.between(1, 4)), std::vector<double>(points));
      for (std::vector<double>& schedule : task)
        for (double& seconds : schedule) seconds = static_cast<double>(rng.between(1, 1000));
    }
    const std::vector<std::size_t> cuts = cut_points(tasks, points, 3, 0);
    ASSERT_LE(cuts.size(), 3u);
    ASSERT_EQ(cuts.front(), 0u);
    ASSERT_TRUE(std::ranges::is_sorted(cuts));
    double seconds = 0;
    for (std::size_t k = 0; k < cuts.size(); ++k) {
      const std::size_t end = k + 1 < cuts.size() ? cuts[k + 1] : points;
      ASSERT_GT(end, cuts[k]);
      std::vector<ExpectedSeconds> piece = tasks;
      for (ExpectedSeconds& task : piece)
        for (std::vector<double>& schedule : task)
          schedule = std::vector<double>(schedule.begin() + static_cast<std::ptrdiff_t>(cuts[k]),
                                         schedule.begin() + static_cast<std::ptrdiff_t>(end));
      seconds += least_by_trying(piece, end - cuts[k], 0, 1);
    }
    EXPECT_DOUBLE_EQ(seconds, least_by_trying(tasks, points, 0, 3));
  }
}

TEST(CutPoints, CutsWhereThatIsWorthIt) {
  // One schedule is best of the small points, another one of the large ones.
  const std::vector<ExpectedSeconds> tasks = {{{1, 1, 20, 20}, {2, 2, 10, 10}}};
  EXPECT_EQ(cut_points(tasks, 4, 3, 0.03), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(cut_points(tasks, 4, 1, 0.03), (std::vector<std::size_t>{0}));
  EXPECT_EQ(cut_points(tasks, 4, 3, 0.2), (std::vector<std::size_t>{0})) << "it saves 2 of 24";
  EXPECT_EQ(cut_points({}, 3, 3, 0.03), (std::vector<std::size_t>{0}));
}

/// A time of the schedule of `from` as a kernel for all sizes.
void add_ranged(Records& records, std::int64_t n, std::int64_t from, const Schedule& schedule, double seconds,
                OutcomeCode code = OutcomeCode::ok) {
  RangedRecord ranged;
  ranged.record =
      testing_records::timed(workload_key(dag_at(kDense, {n})), schedule.steps, seconds, to_string(kTarget));
  ranged.record.candidate = schedule.candidate;
  ranged.record.outcome.code = code;
  if (code != OutcomeCode::ok) ranged.record.outcome.seconds.clear();
  ranged.range = range_id(kDense), ranged.sizes = "n=1..512", ranged.at = {n}, ranged.from = {from};
  records.add(std::move(ranged));
}

/// A kernel for all sizes that was timed goes before what that of one size took, and that becomes an estimate.
TEST(AcrossSizes, TimesOfKernelsForAllSizesDecide) {
  const std::vector<Schedule> all = schedules_of(64, 3);
  Records records;
  for (const Schedule& schedule : all) add(records, 64, schedule, 10e-6);
  add_ranged(records, 64, 64, all[0], 20e-6);
  add_ranged(records, 512, 64, all[0], 100e-6);
  add_ranged(records, 64, 64, all[1], 15e-6);
  add_ranged(records, 512, 64, all[1], 150e-6);
  const std::vector<SizedSchedule> found = found_in(records, {{{64}, 1}, {{512}, 1}});
  ASSERT_EQ(found.size(), 3u);
  const auto of = [&](std::size_t k) { return *std::ranges::find(found, all[k].steps, &SizedSchedule::steps); };
  EXPECT_EQ(found.front().steps, all[0].steps);
  EXPECT_EQ(of(0).seconds, (std::vector<double>{20e-6, 100e-6}));
  EXPECT_EQ(of(1).ranged, (std::vector<bool>{true, true}));
  EXPECT_EQ(of(2).measured, (std::vector<bool>{false, false})) << "it was timed as that of one size alone";
  EXPECT_DOUBLE_EQ(of(2).seconds[0], 10e-6 * std::sqrt(2.0 * 1.5)) << "longer, as the others";
  EXPECT_GE(of(2).seconds[1], 100e-6);
}

/// A size that has no record of its own is known by the kernels for all sizes, and a schedule that failed as one is never chosen.
TEST(AcrossSizes, KernelsForAllSizesSpeakForThemselves) {
  const std::vector<Schedule> all = schedules_of(64, 2);
  Records records;
  add_ranged(records, 16, 64, all[0], 5e-6);
  EXPECT_EQ(known_at(kDense, {{16}, {64}}, records, kTarget), (std::vector<bool>{true, false}));
  EXPECT_TRUE(records.ranking(workload_key(dag_at(kDense, {16})), {}, kTarget).empty()) << "no time of that size alone";
  EXPECT_FALSE(records.best(workload_key(dag_at(kDense, {16})), {}, kTarget).has_value());
  ASSERT_EQ(found_in(records, {{{16}, 1}}).size(), 1u);
  EXPECT_EQ(found_in(records, {{{16}, 1}})[0].from, (SizeValues{64}));
  add(records, 16, all[1], 1e-6);
  add_ranged(records, 16, 16, all[1], 0, OutcomeCode::wrong_answer);
  const std::vector<SizedSchedule> found = found_in(records, {{{16}, 1}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].steps, all[0].steps);
}

TEST(AcrossSizes, ATaskIsNamedByItsRangesWhateverTheyAreCalled) {
  const std::string dense = to_text(kDense);
  const auto with = [&](const std::string& head) {
    std::string text = dense;
    text.replace(0, text.find('\n'), head);
    return range_id(parse_dag(text).value());
  };
  EXPECT_EQ(with("n = SIZE 1..512 at 64"), range_id(kDense)) << "wherever its numbers are";
  EXPECT_NE(with("n = SIZE 1..256 at 64"), range_id(kDense));
  EXPECT_NE(with("n = SIZE 2..512:2 at 64"), range_id(kDense));
}

/// The least sum of all subsets of `most` schedules, by all numbers of `seconds.size()` bits.
double least_of_subsets(const ExpectedSeconds& seconds, std::size_t most) {
  double least = kInfinity;
  for (std::uint32_t bits = 1; bits < (1u << seconds.size()); ++bits) {
    if (static_cast<std::size_t>(std::popcount(bits)) > most) continue;
    double sum = 0;
    for (std::size_t p = 0; p < seconds[0].size(); ++p) {
      double at = kInfinity;
      for (std::size_t k = 0; k < seconds.size(); ++k)
        if (bits >> k & 1) at = std::min(at, seconds[k][p]);
      sum += at;
    }
    least = std::min(least, sum);
  }
  return least;
}

TEST(ChooseKernels, TakesTheLeastTimeOfAllSubsets) {
  Rng rng(13);
  for (int round = 0; round < 300; ++round) {
    ExpectedSeconds seconds(static_cast<std::size_t>(rng.between(1, 9)));
    const auto points = static_cast<std::size_t>(rng.between(1, 8));
    for (std::vector<double>& schedule : seconds)
      for (std::size_t p = 0; p < points; ++p) schedule.push_back(static_cast<double>(rng.between(1, 1000)));
    const KernelChoice chosen = choose_kernels(seconds, 3, 0);
    ASSERT_GE(chosen.kernels.size(), 1u);
    ASSERT_LE(chosen.kernels.size(), 3u);
    ASSERT_TRUE(std::ranges::is_sorted(chosen.kernels));
    EXPECT_DOUBLE_EQ(chosen.seconds, least_of_subsets(seconds, 3));
    EXPECT_DOUBLE_EQ(chosen.bound, least_of_subsets(seconds, seconds.size()));
    ExpectedSeconds taken;
    for (const std::size_t k : chosen.kernels) taken.push_back(seconds[k]);
    EXPECT_DOUBLE_EQ(chosen.seconds, least_of_subsets(taken, 3));
  }
}

TEST(ChooseKernels, TakesOneMoreWhereThatIsWorthIt) {
  const ExpectedSeconds seconds = {{1, 20}, {2, 10}, {1.5, 15}};
  EXPECT_EQ(choose_kernels(seconds, 3, 0.03).kernels, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(choose_kernels(seconds, 3, 0.2).kernels, (std::vector<std::size_t>{1})) << "it saves 1 of 12";
  EXPECT_EQ(choose_kernels(seconds, 1, 0).kernels, (std::vector<std::size_t>{1}));
  EXPECT_DOUBLE_EQ(choose_kernels(seconds, 1, 0).bound, 11);
}

TEST(AcrossSizes, LeaveOutWhatNoRangeRunsBy) {
  Records records;
  add(records, 64, {{}, "split l99 4 guard"}, 1e-6);
  EXPECT_TRUE(found_in(records, {{{64}, 1}}).empty());
  const Schedule schedule = schedules_of(64, 1).front();
  Record other = testing_records::timed(workload_key(dag_at(kDense, {64})), schedule.steps, 1e-6,
                                        "cpu -mcpu=skylake-avx512 -threads=8");
  records.add(std::move(other));
  EXPECT_TRUE(found_in(records, {{{64}, 1}}).empty()) << "of another number of threads";
}

TEST(AcrossSizes, AreKnownWhereThereAreRecords) {
  Records records;
  add(records, 64, schedules_of(64, 1).front(), 1e-6);
  EXPECT_EQ(known_at(kDense, {{1}, {64}, {512}}, records, kTarget), (std::vector<bool>{false, true, false}));
}

}  // namespace across_sizes_test
}  // namespace whet
