#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/choose.h"
#include "compiler/kernels.h"
#include "compiler/testing/model_builder.h"
#include "passes/optimize.h"
#include "records/testing/sample.h"
#include "workflow/cut_sizes.h"
#include "workflow/range_choice.h"

namespace whet::range_pieces_test {
namespace {

const Target kTarget = parse_target("cpu -mcpu=skylake-avx512 -threads=2").value();
const std::vector<WantedSize> kSizes = parse_sizes({"b=2..8:2", "n=16..256:16"}).value();
const std::vector<std::string> kTuned = {"2x16,8x16,2x256,8x256"};

/// A product of b x n rows.
Result<FusedGraph> network(const SizeValues& at) {
  testing::ModelBuilder b(4);
  const ValueId x = b.input("x", {at[0], at[1], 64});
  b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {x, b.constant({64, 96})}))};
  return optimize(b.graph, {});
}

Family family() { return find_family({kSizes[0].range, kSizes[1].range}, network).value(); }

/// Some schedules of the task that are kernels for all its sizes, by how they pack its constants.
std::map<std::string, std::vector<std::string>> schedules_by_packing(const SizedTask& task, const SizeValues& at) {
  const DesignSpace space = make_space(dag_at(task.task.dag, at), kTarget);
  std::map<std::string, std::vector<std::string>> by_packing;
  Rng rng(2);
  for (int tries = 0; tries < 200; ++tries) {
    const Result<Steps> steps = space.steps(space.sample(rng));
    if (!steps.ok()) continue;
    Records records;
    records.add(
        testing_records::timed(workload_key(dag_at(task.task.dag, at)), to_text(*steps), 1e-6, to_string(kTarget)));
    const std::vector<SizedSchedule> found = across_sizes(task.task.dag, {{at, 1}}, records, kTarget, {});
    if (found.empty()) continue;  // no kernel of a range can run by it
    std::vector<std::string>& alike = by_packing[found.front().packing];
    if (std::ranges::find(alike, found.front().steps) == alike.end()) alike.push_back(found.front().steps);
  }
  return by_packing;
}

/// Those of one packing.
std::vector<std::string> schedules_of(const SizedTask& task, const SizeValues& at, std::size_t count) {
  for (const auto& [packing, alike] : schedules_by_packing(task, at))
    if (alike.size() >= count) return {alike.begin(), alike.begin() + static_cast<std::ptrdiff_t>(count)};
  return {};
}

SizeValues own(const SizedTask& task, const SizeValues& at) {
  SizeValues values;
  for (const Expr& size : task.sizes) values.push_back(value_at(size, at));
  return values;
}

void add(Records& records, const SizedTask& task, const std::string& steps, const SizeValues& from,
         const SizeValues& at, double seconds) {
  RangedRecord line;
  line.record =
      testing_records::timed(workload_key(dag_at(task.task.dag, own(task, at))), steps, seconds, to_string(kTarget));
  line.range = range_id(task.task.dag), line.sizes = "rows", line.at = own(task, at), line.from = own(task, from);
  records.add(std::move(line));
}

TEST(RangePieces, OfTwoSizesAreCutAlongTheOneThatSavesMost) {
  const Family known = family();
  ASSERT_EQ(known.variants.size(), 1u);
  const SizedTask& task = known.variants[0].tasks.at(0);
  const SizeValues from = {8, 256};
  const std::vector<std::string> schedules = schedules_of(task, own(task, from), 2);
  ASSERT_EQ(schedules.size(), 2u);
  // One is best of the short ones whatever their batch, the other of the long ones.
  Records records;
  for (const std::int64_t b : {2, 8})
    for (const std::int64_t n : {16, 256}) {
      const double usual = 1e-6 * static_cast<double>(b * n);
      add(records, task, schedules[0], from, {b, n}, n == 16 ? usual : 2 * usual);
      add(records, task, schedules[1], from, {b, n}, n == 16 ? 2 * usual : usual);
    }
  const RangeChoice choice = choose_for_ranges(known, kSizes, {.listed = kTuned}, records, kTarget, {}).value();
  ASSERT_EQ(choice.pieces[0].size(), 2u);
  const std::vector<VariantPiece>& pieces = choice.pieces[0];
  EXPECT_EQ(pieces[0].schedules[0][0].steps, schedules[0]);
  EXPECT_EQ(pieces[1].schedules[0][0].steps, schedules[1]);
  for (std::int64_t b = 2; b <= 8; b += 2)
    for (std::int64_t n = 16; n <= 256; n += 16) {
      const auto has = [&](const VariantPiece& piece) {
        return std::ranges::any_of(piece.boxes, [&](const SizeBox& box) { return contains(box, {b, n}); });
      };
      EXPECT_EQ(std::ranges::count_if(pieces, has), 1) << b << "x" << n;
      EXPECT_EQ(has(pieces[0]), n <= 64) << "in the middle of 16 and 256, by the logarithm";
    }
  const TaskAcrossSizes& weighed = choice.tasks[0][0];
  EXPECT_EQ(weighed.kernels.kernels.size(), 2u);
  EXPECT_LE(weighed.kernels.bound, weighed.kernels.seconds);
}

/// One is best of short texts in small batches alone: no cut along one size tells them from the others.
TEST(RangePieces, OfTwoSizesMayBeCutAlongBoth) {
  const Family known = family();
  const SizedTask& task = known.variants[0].tasks.at(0);
  const SizeValues from = {8, 256};
  const std::vector<std::string> schedules = schedules_of(task, own(task, from), 2);
  ASSERT_EQ(schedules.size(), 2u);
  Records records;
  for (const std::int64_t b : {2, 8})
    for (const std::int64_t n : {16, 256}) {
      add(records, task, schedules[0], from, {b, n}, b == 2 && n == 16 ? 10e-6 : 30e-6);
      add(records, task, schedules[1], from, {b, n}, 20e-6);
    }
  const RangeChoice choice = choose_for_ranges(known, kSizes, {.listed = kTuned}, records, kTarget, {}).value();
  ASSERT_EQ(choice.pieces[0].size(), 3u);
  for (std::int64_t b = 2; b <= 8; b += 2)
    for (std::int64_t n = 16; n <= 256; n += 16) {
      int has = 0;
      for (const VariantPiece& piece : choice.pieces[0])
        if (std::ranges::any_of(piece.boxes, [&](const SizeBox& box) { return contains(box, {b, n}); })) {
          ++has;
          EXPECT_EQ(piece.schedules[0][0].steps, schedules[b <= 4 && n <= 64 ? 0 : 1]) << b << "x" << n;
        }
      EXPECT_EQ(has, 1) << b << "x" << n;
    }
}

TEST(RangePieces, ATaskHasOneKernelWhereAnotherIsNotWorthIt) {
  const Family known = family();
  const SizedTask& task = known.variants[0].tasks.at(0);
  const SizeValues from = {8, 256};
  const std::vector<std::string> schedules = schedules_of(task, own(task, from), 2);
  ASSERT_EQ(schedules.size(), 2u);
  Records records;
  for (const std::int64_t b : {2, 8})
    for (const std::int64_t n : {16, 256}) {
      const double usual = 1e-6 * static_cast<double>(b * n);
      add(records, task, schedules[0], from, {b, n}, usual);
      add(records, task, schedules[1], from, {b, n}, n == 16 ? 0.995 * usual : 2 * usual);
    }
  const RangeChoice choice = choose_for_ranges(known, kSizes, {.listed = kTuned}, records, kTarget, {}).value();
  ASSERT_EQ(choice.pieces[0].size(), 1u);
  EXPECT_EQ(choice.pieces[0][0].schedules[0][0].steps, schedules[0]);
  EXPECT_EQ(choice.tasks[0][0].kernels.kernels.size(), 1u);
}

/// The best schedule for all sizes packs in its way, and two others, in theirs, take less time together.
TEST(RangePieces, PackAsTheKernelsDoThatTakeTheLeastTimeTogether) {
  const Family known = family();
  const SizedTask& task = known.variants[0].tasks.at(0);
  const SizeValues from = {8, 256};
  std::vector<std::string> pair;
  std::string alone;
  for (const auto& [packing, alike] : schedules_by_packing(task, own(task, from)))
    if (pair.empty() && alike.size() >= 2)
      pair = {alike[0], alike[1]};
    else
      alone = alike[0];
  ASSERT_TRUE(pair.size() == 2 && !alone.empty()) << "schedules of two packings";
  const auto chosen = [&](double long_ones) {
    Records records;
    for (const std::int64_t b : {2, 8})
      for (const std::int64_t n : {16, 256}) {
        const double usual = 1e-6 * static_cast<double>(b * n);
        add(records, task, alone, from, {b, n}, usual);
        add(records, task, pair[0], from, {b, n}, n == 16 ? 0.5 * usual : 2 * usual);
        add(records, task, pair[1], from, {b, n}, n == 16 ? 3 * usual : long_ones * usual);
      }
    return choose_for_ranges(known, kSizes, {.listed = kTuned}, records, kTarget, {}).value();
  };
  const RangeChoice together = chosen(0.95);
  EXPECT_EQ(together.tasks[0][0].schedules.front().steps, alone) << "the best of all for all sizes";
  ASSERT_EQ(together.pieces[0].size(), 2u);
  EXPECT_EQ(together.pieces[0][0].schedules[0][0].steps, pair[0]);
  EXPECT_EQ(together.pieces[0][1].schedules[0][0].steps, pair[1]);
  EXPECT_EQ(together.tasks[0][0].kernels.kernels.size(), 2u);
  const RangeChoice one = chosen(1.03);
  ASSERT_EQ(one.pieces[0].size(), 1u) << "they save a thousandth, which is not worth one more kernel";
  EXPECT_EQ(one.pieces[0][0].schedules[0][0].steps, alone);
}

TEST(LadderTasks, HaveTheirOwnSizes) {
  const Family known = family();
  const std::vector<LadderTask> tasks = ladder_tasks(known, {{{2, 16}, 3}, {{4, 16}, 1}, {{2, 32}, 2}}, {}, kTarget);
  ASSERT_EQ(tasks.size(), 1u);
  ASSERT_EQ(tasks[0].points.size(), 2u) << "32 rows and 64, which two sizes have";
  EXPECT_EQ(tasks[0].points[0].at, (SizeValues{32}));
  EXPECT_DOUBLE_EQ(tasks[0].points[0].uses, 3);
  EXPECT_DOUBLE_EQ(tasks[0].points[1].uses, 3);
}

TEST(LadderTasks, HaveTheKernelsOfAnUntunedLibrary) {
  const Family known = family();
  UntunedRanges untuned;
  untuned.pieces = untuned_choice(known, kSizes, {.listed = kTuned}, kTarget, {});
  untuned.tuned = tuning_sizes(kSizes, {.listed = kTuned}).value();
  untuned.source = best_of(nullptr, kTarget);
  ASSERT_EQ(untuned.pieces.size(), 1u);
  const std::vector<LadderTask> tasks = ladder_tasks(known, untuned.tuned, untuned, kTarget);
  ASSERT_EQ(tasks.size(), 1u);
  const SizedTask& task = known.variants[0].tasks.at(0);
  const auto has = [&](const std::string& steps) {
    return std::ranges::any_of(tasks[0].always, [&](const SizedSchedule& each) { return each.steps == steps; });
  };
  for (const VariantPiece& piece : untuned.pieces[0])
    EXPECT_TRUE(has(untuned_schedule(task_at(task, piece.at), untuned.source, kTarget)->steps));
  for (const TuningSize& size : untuned.tuned) {
    const SizeValues at = own(task, size.at);
    EXPECT_TRUE(std::ranges::any_of(tasks[0].always, [&](const SizedSchedule& each) { return each.from == at; }))
        << "a kernel of each tuning size";
  }
}

TEST(UntunedPieces, OfTwoSizesAreAlongOneOfThem) {
  const Family known = family();
  const FamilyPieces pieces = untuned_choice(known, kSizes, {.listed = kTuned}, kTarget, {});
  ASSERT_EQ(pieces.size(), 1u);
  for (std::int64_t b = 2; b <= 8; b += 2)
    for (std::int64_t n = 16; n <= 256; n += 16) {
      const auto has = [&](const VariantPiece& piece) {
        return std::ranges::any_of(piece.boxes, [&](const SizeBox& box) { return contains(box, {b, n}); });
      };
      EXPECT_EQ(std::ranges::count_if(pieces[0], has), 1) << b << "x" << n;
    }
  for (const VariantPiece& piece : pieces[0]) {
    ASSERT_EQ(piece.at.size(), 2u) << "the schedules are those of a tuning size";
    EXPECT_TRUE(std::ranges::any_of(piece.boxes, [&](const SizeBox& box) { return contains(box, piece.at); }));
  }
}

}  // namespace
}  // namespace whet::range_pieces_test
