#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/rng.h"
#include "cost/cost_model.h"
#include "cost/features.h"
#include "cost/limit.h"
#include "cost/nest.h"
#include "lower/testing/random_schedule.h"
#include "schedule/steps.h"

namespace whet {
namespace {

const Target& target() {
  static const Target t = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");
  return t;
}

LoopTree tree_of(const std::string& dag, const std::string& steps) {
  Result<LoopTree> tree = replay(*parse_dag(dag), *parse_steps(steps));
  EXPECT_TRUE(tree.ok()) << tree.error().message;
  return *tree;
}

const char* const kMatmul = R"(
a = PLACEHOLDER [64, 32]
b = PLACEHOLDER [32, 128]
c(i, j) += (a[i, k]*b[k, j]) for i in 64, j in 128, k in 32
return c
)";

TEST(Nest, KnowsHowMuchEachTensorIsTouched) {
  const std::vector<Nest> nests = nests_of(tree_of(kMatmul, ""));
  ASSERT_EQ(nests.size(), 1u);
  const Nest& nest = nests[0];
  EXPECT_EQ(nest.runs(), 64.0 * 128 * 32);
  EXPECT_EQ(nest.flops, 2);
  ASSERT_EQ(nest.accesses.size(), 3u);
  const Access &c = nest.accesses[0], &a = nest.accesses[1], &b = nest.accesses[2];
  EXPECT_EQ(a.elements(0), 64.0 * 32);
  EXPECT_EQ(a.elements(1), 32) << "one row while i stands still";
  EXPECT_EQ(b.elements(1), 32.0 * 128);
  EXPECT_EQ(b.bytes(2), 32.0 * 64) << "a column touches a line in each row";
  EXPECT_EQ(c.elements(2), 1);
  EXPECT_FALSE(c.depends_on(2));
  EXPECT_EQ(b.reach(1), 127);
}
TEST(Nest, FollowsSplitsAndWhatIsKeptInRegisters) {
  // 8 x 16 tiles of c in registers, k around them.
  const LoopTree tree = tree_of(kMatmul,
                                "split l0 8 guard; split l1 16 guard; reorder l3 l5 l2 l4 l6; vectorize l6; unroll l4; "
                                "cache_write o2 l2");
  const Nest nest = nests_of(tree)[0];
  EXPECT_EQ(nest.block(), 3u);
  EXPECT_EQ(nest.registers_from, 2u);
  EXPECT_EQ(nest.accesses[0].elements(2), 8.0 * 16);
  EXPECT_EQ(nest.accesses[1].elements(2), 8.0 * 32);
}
TEST(Nest, FollowsAProducerUnderItsConsumersLoop) {
  const LoopTree tree = tree_of(R"(
x = PLACEHOLDER [64, 64]
y(i, j) = exp(x[i, j]) for i in 64, j in 64
z(i, j) = (y[i, j] + y[i, j]) for i in 64, j in 64
return z
)",
                                "compute_at o1 l2");
  const Nest y = nests_of(tree)[0];
  EXPECT_EQ(y.runs(), 64.0 * 64);
  EXPECT_EQ(y.accesses[1].elements(0), 64.0 * 64);
  EXPECT_EQ(y.accesses[1].elements(1), 64) << "one row for each row of the consumer";
}
TEST(Features, AreFiniteAndAsManyAsTheirNamesForRandomSchedules) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const LoopTree tree = *replay(dag, testing::random_steps(dag, rng, 12));
    const std::vector<float> row = features(tree, target());
    ASSERT_EQ(row.size(), feature_names(target()).size());
    for (std::size_t i = 0; i < row.size(); ++i)
      ASSERT_TRUE(std::isfinite(row[i])) << feature_names(target())[i] << "\n" << to_text(tree);
    ASSERT_TRUE(std::isfinite(analytic_seconds(tree, target())));
    ASSERT_LE(issue_seconds(tree, target()), analytic_seconds(tree, target()));
  }
}
TEST(Features, HaveDistinctNames) {
  const std::vector<std::string>& names = feature_names(target());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}
TEST(Features, SeeWhatIsFetchedAhead) {
  const auto column = [](const std::string& steps) {
    const auto name = std::find(feature_names(target()).begin(), feature_names(target()).end(), "prefetched ahead");
    return features(tree_of(kMatmul, steps), target())
        .at(static_cast<std::size_t>(name - feature_names(target()).begin()));
  };
  EXPECT_EQ(column(""), 0);
  EXPECT_LT(column("prefetch o1 o2 l2 1"), column("prefetch o1 o2 l2 8"));
}
TEST(AnalyticEstimate, PrefersVectorsRegistersAndBothCores) {
  const double naive = analytic_seconds(tree_of(kMatmul, ""), target());
  const double tiled =
      analytic_seconds(tree_of(kMatmul,
                               "split l0 8 guard; split l1 16 guard; reorder l3 l5 l2 l4 l6; vectorize l6; unroll l4; "
                               "cache_write o2 l2"),
                       target());
  const double parallel =
      analytic_seconds(tree_of(kMatmul,
                               "split l0 8 guard; split l1 16 guard; reorder l3 l5 l2 l4 l6; vectorize l6; unroll l4; "
                               "cache_write o2 l2; parallel l3"),
                       target());
  EXPECT_LT(tiled, naive / 4);
  EXPECT_NEAR(parallel, tiled / 2, tiled * 0.05);
}
TEST(AnalyticEstimate, PrefersTilesOfAUnitToPairs) {
  const char* text = R"(a = PLACEHOLDER [128, 512] bf16
b = PLACEHOLDER [512, 256] bf16 const
c(i, j) += (f32(a[i, r])*f32(b[r, j])) for i in 128, j in 256, r in 512
return c
)";
  const double pairs = analytic_seconds(
      tree_of(
          text,
          "split l0 8 guard; split l1 32 guard; split l6 16 guard; split l2 2 guard; reorder l3 l5 l9 l4 l7 l8 l10; "
          "unroll l4; unroll l7; pack o1 o2; cache_write o2 l5; tensorize l8 dot2"),
      target());
  const double tiles = analytic_seconds(
      tree_of(
          text,
          "split l0 16 guard; split l1 16 guard; split l2 2 guard; split l7 16 guard; reorder l3 l5 l9 l4 l10 l6 l8; "
          "pack o1 o2; cache_write o2 l5; tensorize l4 tile_bf16"),
      target());
  EXPECT_LT(tiles, pairs / 3);
}
TEST(AnalyticEstimate, TellsInstructionsFromTraffic) {
  const LoopTree sum = tree_of("x = PLACEHOLDER [1048576]\ny(i) += x[k] for i in 1, k in 1048576\nreturn y\n",
                               "split l1 16 guard; rfactor l3; vectorize l3");
  EXPECT_LT(issue_seconds(sum, target()), analytic_seconds(sum, target())) << "it waits for memory";
  const LoopTree naive = tree_of(kMatmul, "");
  EXPECT_EQ(issue_seconds(naive, target()), analytic_seconds(naive, target())) << "it does not";
}

TEST(Limits, AreOperationsAtThePeakAndBytesFromWhereTheyLie) {
  const MachineRates rates{.gflops = 100,
                           .l1_gbs = 400,
                           .l2_gbs = 200,
                           .l3_gbs = 50,
                           .memory_gbs = 20,
                           .l1_bytes = 64 << 10,
                           .l2_bytes = 2 << 20,
                           .l3_bytes = 32 << 20};
  const ComputeDag dag = *parse_dag(R"(
a = PLACEHOLDER [1, 1024]
b = PLACEHOLDER [1024, 1024] const
c(i, j) += (a[i, k]*b[k, j]) for i in 1, j in 1024, k in 1024
return c
)");
  const auto describe = [&](std::int64_t network) {
    std::string text;
    for (const Limit& limit : limits_of(dag, rates, network))
      text +=
          limit.what + " " + std::to_string(static_cast<int>(limit.seconds * 1e6 + 0.5)) + " us: " + limit.why + "\n";
    return text;
  };
  EXPECT_EQ(describe(0),
            "L3 84 us: 4.19 MB of constants at 50 GB/s\n"
            "compute 21 us: 2.1 MFLOP at 100 GFLOPS\n"
            "L1 0 us: 8.2 KB of activations at 400 GB/s\n");
  EXPECT_EQ(describe(100 << 20).substr(0, 14), "memory 210 us:") << "the network's other weights push these out";
}

TEST(Limits, OfPairsOfBf16AreByTheirOwnPeak) {
  const ComputeDag dag = *parse_dag(
      "a = PLACEHOLDER [64, 512] bf16\nb = PLACEHOLDER [512, 512] bf16 const\n"
      "c(i, j) += (f32(a[i, k])*f32(b[k, j])) for i in 64, j in 512, k in 512\nreturn c\n");
  const auto compute = [&](const MachineRates& rates) { return limits_of(dag, rates, 0).front().why; };
  EXPECT_EQ(compute({.gflops = 100}), "16.8 MFLOP at 100 GFLOPS");
  EXPECT_EQ(compute({.gflops = 100, .bf16_gflops = 120}), "16.8 MFLOP at 60 GFLOPS") << "of two operations each";
}

TEST(Limits, OfProductsOfHalvesAreThoseOfTensorCores) {
  const auto text_of = [](const std::string& of, const std::string& product) {
    return "a = PLACEHOLDER [512, 512]" + of + "\nb = PLACEHOLDER [512, 512]" + of + "\nc(i, j) += (" + product +
           ") for i in 512, j in 512, k in 512\nreturn c\n";
  };
  const auto gflops = [](const std::string& text, const char* target) {
    for (const Limit& limit : limits_of(*parse_dag(text), *parse_target(target), {}, 0))
      if (limit.what == "compute") return std::stod(limit.why.substr(limit.why.find(" at ") + 4));
    return 0.0;
  };
  const std::string single = text_of("", "a[i, k]*b[k, j]"), half = text_of(" f16", "f32(a[i, k])*f32(b[k, j])");
  EXPECT_NEAR(gflops(half, "cuda -model=a100"), 16 * gflops(single, "cuda -model=a100"), 16)
      << "312 and 19.5 TFLOPS by the data sheet";
  EXPECT_EQ(gflops(half, "cuda -model=t4"), gflops(single, "cuda -model=t4"));
}

/// As many vectors of products as one of f32 has, in half of the steps.
TEST(Nest, OfPairsHaveAVectorOfSumsForEachInstruction) {
  const auto seconds = [](const std::string& of, const std::string& product, const char* steps) {
    const ComputeDag dag = *parse_dag("a = PLACEHOLDER [8, 64]" + of + "\nb = PLACEHOLDER [64, 32]" + of +
                                      " const\nc(i, j) += (" + product + ") for i in 8, j in 32, k in 64\nreturn c\n");
    return issue_seconds(*replay(dag, *parse_steps(steps)), *parse_target("cpu -mcpu=znver4 -threads=1"));
  };
  const double single = seconds("", "a[i, k]*b[k, j]",
                                "split l1 16 guard; reorder l3 l2 l0 l4; pack o1 o2; cache_write o2 l3; unroll l0; "
                                "vectorize l4");
  const double pairs = seconds(" bf16", "f32(a[i, k])*f32(b[k, j])",
                               "split l1 16 guard; split l2 2 guard; reorder l3 l5 l0 l4 l6; pack o1 o2; cache_write "
                               "o2 l3; unroll l0; tensorize l4 dot2");
  EXPECT_NEAR(pairs / single, 0.5, 0.05);
}

/// A tile of bytes has the features that its loops have unmarked: what base and records of quantized networks taught stays true.
TEST(Features, OfProductsOfBytesAreThoseOfTheirLoops) {
  const char* const kBytes = R"(
a = PLACEHOLDER [8, 64] u8
b = PLACEHOLDER [64, 32] i8 const
c(i, j): i32 += (i32(a[i, k])*i32(b[k, j])) for i in 8, j in 32, k in 64
return c
)";
  const std::string loops =
      "split l1 16 guard; split l2 4 guard; reorder l3 l5 l0 l4 l6; pack o1 o2; cache_write o2 l3; unroll l0";
  const Target znver4 = *parse_target("cpu -mcpu=znver4 -threads=1");
  const std::vector<float> plain = features(tree_of(kBytes, loops), znver4),
                           marked = features(tree_of(kBytes, loops + "; tensorize l4 dot4"), znver4);
  const std::vector<std::string> names = feature_names(znver4);
  ASSERT_EQ(plain.size(), marked.size());
  for (std::size_t k = 0; k < plain.size(); ++k)
    if (names[k] != "tensor tiles") {
      EXPECT_EQ(plain[k], marked[k]) << names[k];
    }
}

/// Rows of three figures; the time depends on the first two alone.
std::vector<float> row_of(Rng& rng) {
  return {static_cast<float>(rng.uniform()), static_cast<float>(rng.uniform()), static_cast<float>(rng.uniform())};
}
double seconds_of(const std::vector<float>& row) { return 1e-3 * (1 + 3 * row[0] + (row[1] > 0.5F ? 2 : 0)); }

TEST(CostModel, KnowsNothingBeforeItHasSeenEnough) {
  CostModel model(1);
  Rng rng(1);
  EXPECT_FALSE(model.fit_if_grown());
  for (int i = 0; i < 8; ++i) model.add(0, row_of(rng), 1e-3);
  EXPECT_FALSE(model.fit_if_grown());
  EXPECT_FALSE(model.fitted());
}
TEST(CostModel, RanksWhatItHasNotSeen) {
  CostModel model(1);
  Rng rng(2);
  for (int i = 0; i < 300; ++i) {
    const std::vector<float> row = row_of(rng);
    // Two tasks of very different speed: only the share of the best counts.
    model.add(i % 2, row, seconds_of(row) * (i % 2 ? 1 : 100));
  }
  ASSERT_TRUE(model.fit_if_grown());
  int right = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> a = row_of(rng), b = row_of(rng);
    const auto scores = model.score({a, b});
    right += (scores[0] > scores[1]) == (seconds_of(a) < seconds_of(b));
  }
  EXPECT_GT(right, 170);
}
TEST(CostModel, LearnsWhatFails) {
  CostModel model(1);
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> row = row_of(rng);
    model.add(0, row, row[2] > 0.7F ? std::numeric_limits<double>::infinity() : 1e-3);
  }
  ASSERT_TRUE(model.fit_if_grown());
  const auto scores = model.score({{0.5F, 0.5F, 0.9F}, {0.5F, 0.5F, 0.1F}});
  EXPECT_LT(scores[0], 0.4F);
  EXPECT_GT(scores[1], 0.6F);
}
TEST(CostModel, FitsAgainOnlyWhenItsRowsHaveGrownByAFifth) {
  CostModel model(1);
  Rng rng(4);
  const auto add = [&](int n) {
    for (int i = 0; i < n; ++i) {
      const std::vector<float> row = row_of(rng);
      model.add(0, row, seconds_of(row));
    }
  };
  add(100);
  EXPECT_TRUE(model.fit_if_grown());
  add(10);
  EXPECT_FALSE(model.fit_if_grown());
  add(10);
  EXPECT_TRUE(model.fit_if_grown());
}
TEST(CostModel, GivesTheSameScoresForTheSameSeed) {
  const auto score = [] {
    CostModel model(7);
    Rng rng(5);
    for (int i = 0; i < 100; ++i) {
      const std::vector<float> row = row_of(rng);
      model.add(0, row, seconds_of(row));
    }
    model.fit_if_grown();
    return model.score({{0.1F, 0.2F, 0.3F}, {0.9F, 0.2F, 0.3F}});
  };
  EXPECT_EQ(score(), score());
}
TEST(CostModel, TakesMoreRowsThanItFits) {
  CostModel model(1);
  Rng rng(6);
  for (int i = 0; i < 9000; ++i) {
    const std::vector<float> row = row_of(rng);
    model.add(0, row, seconds_of(row));
  }
  EXPECT_TRUE(model.fit_if_grown());
  EXPECT_EQ(model.rows(), 9000u);
}

}  // namespace
}  // namespace whet
