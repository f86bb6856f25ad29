#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "diff/compare_benchmarks.h"
#include "diff/compare_models.h"
#include "diff/compare_records.h"
#include "records/testing/sample.h"

namespace whet::diff_test {
namespace {

using testing_records::timed;

Comparison pairs(const std::vector<double>& olds, const std::vector<double>& news) {
  Comparison comparison;
  set_pairs(comparison, olds, news);
  return comparison;
}

TEST(Verdict, NeedsMoreThanTheThresholdAndPairsThatAgree) {
  EXPECT_EQ(verdict_of(pairs({1, 1, 1, 1}, {1.05, 1.06, 1.05, 1.04}), 0.02), Verdict::slower);
  EXPECT_EQ(verdict_of(pairs({1, 1, 1, 1}, {1.05, 1.06, 1.05, 1.04}), 0.10), Verdict::same);
  EXPECT_EQ(verdict_of(pairs({1, 1, 1, 1}, {0.9, 0.9, 1.3, 1.2}), 0.02), Verdict::same) << "half of them say faster";
  EXPECT_EQ(verdict_of(pairs({1, 1, 1}, {0.9, 0.91, 0.9}), 0.02), Verdict::faster);
  EXPECT_EQ(verdict_of(Comparison(), 0.02), Verdict::unknown);
}
TEST(Verdict, TellsAThresholdFromTimesThatDoNotAgree) {
  const Comparison within = pairs({1, 1, 1}, {1.01, 1.01, 1.01});
  EXPECT_FALSE(is_unclear(within, 0.02));
  const Comparison unclear = pairs({1, 1, 1, 1, 1}, {0.9, 0.95, 1.177, 1.2, 1.3});
  EXPECT_EQ(verdict_of(unclear, 0.02), Verdict::same);
  EXPECT_TRUE(is_unclear(unclear, 0.02)) << "17.7% slower is within no threshold of 2%";
  EXPECT_FALSE(is_unclear(unclear, 0.2));
  EXPECT_FALSE(is_unclear(Comparison(), 0.02));
  EXPECT_EQ(word_of(1.177, 0.02), "slower");
  EXPECT_EQ(word_of(1.01, 0.02), "within the threshold");
  EXPECT_EQ(word_of(0.97, 0.02), "faster");
}
TEST(Verdict, NamesTheSideThatOtherProgramsDisturbed) {
  EXPECT_TRUE(pairs({1, 1, 1.4}, {1, 1.2, 1.4}).circumstances.empty());
  EXPECT_EQ(
      pairs({1, 1, 1}, {1, 3, 4}).circumstances,
      std::vector<std::string>{"the new median is far above the fastest run: another program ran, or the machine is "
                               "shared (whet doctor)"});
}
TEST(Verdict, IsOfTheRatiosAndNotOfADriftingMachine) {
  const Comparison drifting = pairs({1, 2, 4, 8}, {1.1, 2.2, 4.4, 8.8});
  EXPECT_NEAR(drifting.ratio(), 1.1, 1e-9);
  EXPECT_EQ(verdict_of(drifting, 0.02), Verdict::slower);
}

TEST(CompareRecords, SaysWhichTaskAddsHowMuchAndWhy) {
  Record slow = timed("k1", "split l1 4", 2e-3);
  slow.task = "dense";
  Record quick = timed("k1", "split l1 8", 1e-3);
  quick.task = "dense";
  const Comparison c =
      compare_records(Records({quick, timed("k2", "s", 1e-3)}), Records({slow, timed("k2", "s", 1e-3)}));
  EXPECT_NEAR(c.ratio(), 1.5, 1e-9);
  ASSERT_EQ(c.parts.size(), 1u);
  EXPECT_EQ(c.parts[0].name, "dense");
  EXPECT_NEAR(c.parts[0].added(), 1e-3, 1e-12);
  EXPECT_EQ(c.parts[0].change, "other schedule");
  EXPECT_EQ(c.unchanged, 1);
  EXPECT_EQ(c.whole, "sum of the best times of 2 tasks of both");
  EXPECT_EQ(verdict_of(c, 0.02), Verdict::slower);
}
TEST(CompareRecords, CountsTasksByTheirWeights) {
  const Records olds({timed("k1", "s", 1e-3), timed("k2", "s", 1e-3)});
  const Records news({timed("k1", "t", 2e-3), timed("k2", "s", 1e-3)});
  const Comparison c = compare_records(olds, news, {{{"k1", {}}, 3}, {{"k9", {}}, 1}});
  EXPECT_NEAR(c.ratio(), 2, 1e-9) << "k2 is no task of the model";
  EXPECT_EQ(c.whole, "sum of weight x best time of 1 of the model's 2 tasks, as both have a time");
  EXPECT_NEAR(c.parts.at(0).added(), 3e-3, 1e-12);
}
TEST(CompareRecords, LeavesTasksOfOneSideOutOfTheSumAndNamesThem) {
  const Comparison c = compare_records(Records({timed("k1", "s", 1e-3), timed("gone", "s", 5e-3)}),
                                       Records({timed("k1", "s", 1e-3), timed("come", "s", 7e-3)}));
  EXPECT_NEAR(c.ratio(), 1, 1e-9);
  ASSERT_EQ(c.parts.size(), 2u);
  EXPECT_EQ(c.parts[0].change, "only in the old records");
  EXPECT_EQ(c.parts[1].change, "only in the new records");
}
TEST(CompareRecords, NamesTargetsDevicesAndPlansThatDiffer) {
  Record there = timed("k1", "s", 1e-3, "cpu -mcpu=znver5 -threads=4");
  there.outcome.device = "mill";
  Records news({there});
  news.add(Plan{.graph = "g", .name = "net", .target = "cpu -mcpu=znver5 -threads=4"});
  const Comparison c = compare_records(Records({timed("k1", "s", 1e-3)}), news);
  EXPECT_EQ(c.circumstances,
            (std::vector<std::string>{"targets: \"cpu -mcpu=znver5 -threads=2\" -> \"cpu -mcpu=znver5 -threads=4\"",
                                      "devices: \"anvil\" -> \"mill\"",
                                      "plan of net for cpu -mcpu=znver5 -threads=4: only in the new records"}));
  EXPECT_EQ(verdict_of(c, 0.02), Verdict::unknown) << "no task of both has the same target";
}

TEST(CompareRecords, SaysWhatNetworksTookAtTheSizesThatBothFilesHave) {
  const auto records = [](double small, std::int64_t large_at) {
    Records made({timed("k1", "s", 1e-3)});
    NetworkAtSizes line;
    line.graph = "g", line.name = "net", line.ranges = "b=1..8, n=1..512", line.target = "cpu";
    line.points = {{{1, 16}}, {{8, large_at}}};
    line.points[0].ranged = small, line.points[1].ranged = 4e-3;
    made.add(line);
    return made;
  };
  EXPECT_EQ(compare_records(records(1e-3, 512), records(0.9e-3, 256)).circumstances,
            std::vector<std::string>{"net at b=1..8, n=1..512: 1x16: 1.0000 ms -> 0.9000 ms"});
  EXPECT_TRUE(compare_records(records(1e-3, 512), Records({timed("k1", "s", 1e-3)})).circumstances.empty());
}
TEST(CompareRecords, TakePlansThatDifferInOrderAloneForOne) {
  const PlannedKernel chain{"b", "chain: a+b"}, blocks{"c", "nchw16c"};
  const auto records = [](std::vector<PlannedKernel> kernels) {
    Records made({timed("k1", "s", 1e-3)});
    made.add(Plan{.graph = "g", .name = "net", .target = "cpu", .kernels = std::move(kernels)});
    return made;
  };
  EXPECT_TRUE(compare_records(records({chain, blocks}), records({blocks, chain})).circumstances.empty());
  EXPECT_EQ(compare_records(records({chain, blocks}), records({chain, chain})).circumstances,
            std::vector<std::string>{"plan of net for cpu: 2 other kernels -> 2"});
}

MeasuredModel model(double seconds, std::vector<MeasuredModel::Step> steps) {
  return {"net",           "cpu -mcpu=znver5",       "1 of 1 tasks from records",
          "whet 0.1.0",    "2 threads on cores 0,1", {seconds, seconds, seconds},
          std::move(steps)};
}
TEST(CompareModels, GoStepByStepAlsoWhereNamesRepeat) {
  const Comparison c = compare_models(
      model(3e-3, {{"conv", "conv2d k3", 1e-3}, {"conv", "conv2d k1", 1e-3}, {"old", "pool", 1e-3}}),
      model(4e-3, {{"conv", "conv2d k3", 1e-3}, {"conv", "conv2d k1 nchw16c", 3e-3}, {"new", "pool", 1e-3}}));
  ASSERT_EQ(c.parts.size(), 3u);
  EXPECT_EQ(c.parts[0].name, "conv (conv2d k1)");
  EXPECT_EQ(c.parts[0].change, "now conv2d k1 nchw16c");
  EXPECT_NEAR(c.parts[0].added(), 2e-3, 1e-12);
  EXPECT_EQ(c.parts[1].change, "only in the old model");
  EXPECT_EQ(c.parts[2].change, "only in the new model");
  EXPECT_EQ(c.unchanged, 1);
  EXPECT_TRUE(c.circumstances.empty());
}

TEST(CompareModels, NameAnotherPrecisionPlan) {
  const Comparison c = compare_models(
      model(3e-3, {{"a+a_relu", "conv2d k3", 1e-3}, {"b", "dense bf16", 1e-3}, {"c", "conv2d k1", 1e-3}}),
      model(2e-3, {{"x_half", "cast", 1e-5},
                   {"a_wide+a+a_relu+a_relu_half", "conv2d k3 bf16", 5e-4},
                   {"b", "dense", 1e-3},
                   {"c", "conv2d k1", 1e-3}}));
  EXPECT_EQ(c.circumstances, std::vector<std::string>{"precision: 1 kernel f32 -> bf16, 1 kernel bf16 -> f32"});
  ASSERT_EQ(c.parts.size(), 3u);
  EXPECT_EQ(c.parts[0].name, "a+a_relu (conv2d k3)");
  EXPECT_EQ(c.parts[0].change, "now conv2d k3 bf16");
  EXPECT_EQ(c.parts[1].change, "now dense");
  EXPECT_EQ(c.parts[2].name, "x_half (cast)");
  EXPECT_EQ(c.parts[2].change, "only in the new model");
}
TEST(CompareModels, TakeNoKernelForOneOfSeveralThatDoItsWork) {
  const Comparison c = compare_models(model(3e-3, {{"a+b", "chain", 1e-3}}),
                                      model(2e-3, {{"a", "conv2d k3", 5e-4}, {"b", "conv2d k1", 6e-4}}));
  ASSERT_EQ(c.parts.size(), 3u);
  for (const Comparison::Part& part : c.parts) EXPECT_TRUE(part.change.starts_with("only in the ")) << part.name;
}

constexpr const char* kBench =
    R"({"model": "net", "target": "cpu", "threads": 2, "cores": [0, 1], "median_ms": 2, "min_ms": 1.9})";
TEST(CompareBenchmarks, BelievesWhatTheFastestRunsShowToo) {
  const Json old = parse_json(kBench).value();
  Json slower = old, disturbed = old;
  slower.set("median_ms", 2.2).set("min_ms", 2.1).set("threads", 1);
  disturbed.set("median_ms", 2.4);
  EXPECT_EQ(verdict_of(compare_benchmarks(old, slower).value(), 0.02), Verdict::slower);
  EXPECT_EQ(compare_benchmarks(old, slower)->circumstances, std::vector<std::string>{"threads: \"2\" -> \"1\""});
  EXPECT_EQ(verdict_of(compare_benchmarks(old, disturbed).value(), 0.02), Verdict::same);
}
TEST(CompareBenchmarks, SaysWhichMemberIsWrong) {
  const Json good = parse_json(kBench).value();
  Json bad = good;
  bad.set("min_ms", "soon");
  EXPECT_EQ(compare_benchmarks(good, bad).error().message,
            "the new benchmark: min_ms is \"soon\"; expected a positive number, as `whet bench --json` writes it");
  EXPECT_FALSE(compare_benchmarks(Json(), good).ok());
}
TEST(CompareBenchmarks, TakeAnyJson) {
  Rng rng(3);
  const std::string text = kBench;
  for (int round = 0; round < 2000; ++round) {
    std::string changed = text;
    changed[static_cast<std::size_t>(rng.below(std::ssize(changed)))] = static_cast<char>(rng.below(128));
    const Result<Json> json = parse_json(changed);
    if (!json.ok()) continue;
    const Result<Comparison> compared = compare_benchmarks(parse_json(text).value(), *json);
    if (compared.ok())
      EXPECT_GT(compared->ratio(), 0) << changed;
    else
      EXPECT_EQ(compared.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace whet::diff_test
