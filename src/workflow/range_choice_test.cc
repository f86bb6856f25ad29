#include "workflow/range_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <ranges>
#include <utility>

#include "base/arithmetic.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "compiler/testing/model_builder.h"
#include "passes/optimize.h"
#include "records/testing/sample.h"
#include "schedule/steps_for_sizes.h"
#include "transfer/default_sizes.h"
#include "workflow/cut_sizes.h"
#include "workflow/untuned_pieces.h"

namespace whet::range_choice_test {
namespace {

Target target() { return parse_target("cpu -mcpu=skylake-avx512 -threads=2").value(); }
const std::vector<WantedSize> kSizes = parse_sizes({"x.0=1..400"}).value();

/// Two products of n rows.
Result<FusedGraph> network(const SizeValues& at) {
  testing::ModelBuilder b(4);
  const ValueId x = b.input("x", {at[0], 64});
  const ValueId wide = b.relu(b.node(MatMulOperator{}, {x, b.constant({64, 96})}));
  b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {wide, b.constant({96, 64})}))};
  return optimize(b.graph, {});
}

Family family() { return find_family({kSizes[0].range}, network).value(); }

/// Of the first tasks at n rows: the default schedule, and another one, with these times.
void add(Records& records, const Family& known, std::int64_t n, double usual_seconds, double other_seconds,
         std::size_t most = 100) {
  const ScheduleSource source = best_of(nullptr, target());
  for (const SizedTask& task : known.variants.back().tasks | std::views::take(static_cast<std::ptrdiff_t>(most))) {
    const ComputeDag dag = dag_at(task.task.dag, {n});
    const auto timed = [&](const Steps& steps, double seconds) {
      records.add(testing_records::timed(workload_key(dag), to_text(steps), seconds, to_string(target())));
    };
    const Steps usual = source.fallback(dag).value();
    timed(usual, usual_seconds);
    const DesignSpace space = source.space(dag);
    Rng rng(3);
    for (int tries = 0; tries < 200; ++tries) {
      const Result<Steps> other = space.steps(space.sample(rng));
      if (!other.ok() || to_text(*other) == to_text(usual)) continue;
      if (!steps_for_sizes(moved_to(task.task.dag, {n}), *other).ok()) continue;
      timed(*other, other_seconds);
      break;
    }
  }
}

Result<RangeChoice> chosen(const Family& known, const Records& records, const TuningSizeOptions& options = {}) {
  return choose_for_ranges(known, kSizes, options, records, target(), {});
}

/// Every size of the variant is in one piece.
void expect_all(const Variant& variant, const std::vector<VariantPiece>& pieces) {
  for (std::int64_t n = 1; n <= 400; ++n)
    EXPECT_EQ(std::ranges::count_if(pieces,
                                    [&](const VariantPiece& piece) {
                                      return std::ranges::any_of(
                                          piece.boxes, [&](const SizeBox& box) { return contains(box, {n}); });
                                    }),
              has_point(variant, {n}) ? 1 : 0)
        << n;
}

TEST(RangeChoice, WithoutRecordsIsByTheEstimate) {
  const Family known = family();
  const Result<RangeChoice> choice = chosen(known, Records());
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  EXPECT_TRUE(choice->at.empty());
  ASSERT_EQ(choice->pieces.size(), known.variants.size());
  for (std::size_t v = 0; v < known.variants.size(); ++v) {
    expect_all(known.variants[v], choice->pieces[v]);
    for (const VariantPiece& piece : choice->pieces[v]) {
      ASSERT_EQ(piece.schedules.size(), known.variants[v].tasks.size());
      for (const auto& of_task : piece.schedules) EXPECT_TRUE(of_task.empty()) << "nothing was measured";
      if (!piece.at.empty()) {
        EXPECT_TRUE(std::ranges::any_of(piece.boxes, [&](const SizeBox& box) { return contains(box, piece.at); }));
      }
    }
  }
}

TEST(RangeChoice, IsByTheSizesOfWhichThereAreRecords) {
  const Family known = family();
  Records records;
  add(records, known, 16, 2e-6, 3e-6);
  add(records, known, 300, 40e-6, 30e-6);
  const Result<RangeChoice> choice = chosen(known, records);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  ASSERT_EQ(choice->at.size(), 2u);
  EXPECT_EQ(choice->at[0].at, SizeValues{16});
  EXPECT_EQ(choice->at[1].at, SizeValues{300});
  EXPECT_GT(choice->at[0].requests, choice->at[1].requests) << "even requests are many small ones";
  const std::size_t last = known.variants.size() - 1;
  expect_all(known.variants[last], choice->pieces[last]);
  for (const TaskAcrossSizes& task : choice->tasks[last]) {
    ASSERT_EQ(task.points.size(), 2u);
    ASSERT_FALSE(task.schedules.empty());
    EXPECT_EQ(task.schedules.front().measured.size(), 2u);
    for (std::size_t k = 1; k < task.schedules.size(); ++k)
      EXPECT_LE(task.schedules[k - 1].expected, task.schedules[k].expected);
  }
}

/// As in a run that was too short for them: the estimate says for which size in a piece their default schedules are.
TEST(RangeChoice, TasksWithoutRecordsHaveTheDefaultSchedulesThatPromiseMost) {
  const Family known = family();
  Records records;
  add(records, known, 16, 2e-6, 3e-6, 1);
  add(records, known, 300, 40e-6, 30e-6, 1);
  const Result<RangeChoice> choice = chosen(known, records);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  ASSERT_EQ(choice->at.size(), 2u);
  const Variant& last = known.variants.back();
  ASSERT_EQ(last.tasks.size(), 2u);
  EXPECT_TRUE(choice->tasks.back()[1].schedules.empty());
  const auto each = default_seconds(last.tasks[1].task.dag, {{16}, {300}}, target(), {});
  expect_all(last, choice->pieces.back());
  for (const VariantPiece& piece : choice->pieces.back()) {
    const auto is_inside = [&](std::size_t p) {
      return std::ranges::any_of(piece.boxes, [&](const SizeBox& box) { return contains(box, choice->at[p].at); });
    };
    std::pair<double, bool> least(kInfinity, true);
    SizeValues best;
    for (const std::size_t from : {1, 0}) {
      double sum = 0;
      for (const std::size_t p : {0, 1})
        if (is_inside(p))
          sum += static_cast<double>(choice->at[p].requests) * (each[from][p] > 0 ? each[from][p] : 2 * each[p][p]);
      const std::pair score(sum, !is_inside(from));
      if (score < least) least = score, best = choice->at[from].at;
    }
    EXPECT_EQ(piece.at, best);
  }
}

TEST(RangeChoice, IsByTheSizesThatAreListed) {
  const Family known = family();
  Records records;
  add(records, known, 16, 2e-6, 3e-6);
  add(records, known, 300, 40e-6, 30e-6);
  const Result<RangeChoice> choice = chosen(known, records, {.listed = {"300"}});
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  ASSERT_EQ(choice->at.size(), 1u);
  EXPECT_EQ(choice->at[0].at, SizeValues{300});
  EXPECT_EQ(choice->pieces.back().size(), 1u) << "one size makes one piece";
  EXPECT_EQ(chosen(known, records, {.listed = {"500"}}).error().message, "--tuning-sizes: x.0 is 500; x.0 is 1..400");
}

TEST(RangeChoice, CountsRequests) {
  const ScratchDirectory scratch = ScratchDirectory::make().value();
  const std::string file = scratch.path() + "/requests.txt";
  std::ofstream(file) << "300 9\n16\n";
  const Family known = family();
  Records records;
  add(records, known, 16, 2e-6, 3e-6);
  add(records, known, 300, 40e-6, 30e-6);
  const Result<RangeChoice> choice = chosen(known, records, {.lengths = file});
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  ASSERT_EQ(choice->at.size(), 2u);
  EXPECT_EQ(choice->at[0].requests, 1);
  EXPECT_EQ(choice->at[1].requests, 9);
}

/// Of 60,000 values about 1,000 are asked for, and those at which a model is tuned.
TEST(RangeChoice, FindsTheTuningSizesAmongManyValues) {
  const std::vector<WantedSize> many = parse_sizes({"x.0=2..60000"}).value();
  const ReadAtSizes rows = [](const SizeValues& at) -> Result<FusedGraph> {
    testing::ModelBuilder b(4);
    b.graph.outputs = {b.relu(b.input("x", {at[0], 4}))};
    return optimize(b.graph, {});
  };
  // Reading it at 60,000 sizes would take long; it is the same at all.
  Family known = find_family({{"x.0", 2, 64}}, rows).value();
  ASSERT_EQ(known.variants.size(), 1u);
  ASSERT_EQ(known.variants[0].tasks.size(), 1u);
  const SizedTask& task = known.variants[0].tasks[0];
  known.sizes[0].max = 60000;
  known.variants[0].boxes = {{{2}, {60000}}};
  const SizeValues tuned = tuning_sizes(many, {}).value()[1].at;
  SizeValues own;
  for (const Expr& size : task.sizes) own.push_back(value_at(size, tuned));
  ASSERT_EQ(own.size(), 1u);
  Family wide = known;
  wide.variants[0].tasks[0].task.dag.sizes[0].max = value_at(task.sizes[0], {60000});
  const ComputeDag dag = dag_at(wide.variants[0].tasks[0].task.dag, own);
  Records records;
  records.add(testing_records::timed(workload_key(dag), to_text(default_steps(dag, target()).value()), 1e-6,
                                     to_string(target())));
  const Result<RangeChoice> choice = choose_for_ranges(wide, many, {}, records, target(), {});
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  ASSERT_EQ(choice->at.size(), 1u);
  EXPECT_EQ(choice->at[0].at, tuned);
}

TEST(CutSizes, FallBetweenTheirPoints) {
  EXPECT_EQ(last_before(16, 64), 32);
  EXPECT_EQ(last_before(100, 101), 100);
  Variant variant;
  variant.boxes = {{{1, 5}, {4, 400}}};
  EXPECT_TRUE(changes(variant, 0) && changes(variant, 1)) << "two sizes have several values";
  variant.boxes = {{{4, 5}, {4, 400}}};
  EXPECT_TRUE(!changes(variant, 0) && changes(variant, 1));
  EXPECT_EQ(clipped(variant.boxes, 1, {"n", 5, 400, 5}, 33, 77), (std::vector<SizeBox>{{{4, 35}, {4, 75}}}));
  EXPECT_TRUE(clipped(variant.boxes, 1, {"n", 5, 400, 5}, 401, 500).empty());
}

}  // namespace
}  // namespace whet::range_choice_test
