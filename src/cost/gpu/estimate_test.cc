#include "cost/gpu/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "cost/features.h"
#include "cost/gpu/arithmetic.h"
#include "cost/gpu/nest.h"
#include "cost/limit.h"
#include "lower/lower.h"
#include "lower/testing/random_gpu_schedule.h"
#include "program/launch.h"
#include "schedule/steps.h"
#include "target/gpu_rates.h"

namespace whet {
namespace gpu_estimate_test {

Target h100() { return *parse_target("cuda -model=h100"); }

LoopTree tree_of(const std::string& dag, const std::string& steps) {
  Result<LoopTree> tree = replay(*parse_dag(dag), *parse_steps(steps));
  EXPECT_TRUE(tree.ok()) << tree.error().message;
  return *tree;
}
double seconds_of(const LoopTree& tree, const std::string& target = "cuda -model=h100") {
  return analytic_seconds(tree, *parse_target(target));
}

/// Bytes of block memory that a launch touches.
std::int64_t block_memory(const Program& program, const Stmt& launch) {
  std::set<std::size_t> touched;
  for_each(
      launch,
      [&](const Stmt& s) {
        if (const Store* store = std::get_if<Store>(&s->kind)) touched.insert(store->buffer.index());
      },
      nullptr);
  std::int64_t bytes = 0;
  for (const std::size_t b : touched)
    if (program.buffers[b].scope == Scope::block)
      bytes += num_elements(program.buffers[b].extents) * size_of(program.buffers[b].dtype);
  return bytes;
}

TEST(GpuEstimate, CountsTheLaunchesBlocksThreadsAndBytesThatLoweringMakes) {
  int lowered_trees = 0, with_block_memory = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(400)); ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const LoopTree tree = *replay(dag, testing::random_gpu_steps(dag, rng));
    const Result<Lowered> lowered = lower_until(tree, h100(), "map_threads");
    if (!lowered.ok()) continue;
    ++lowered_trees;
    const std::vector<LaunchWork> launches = gpu_launches(tree);
    std::vector<Stmt> made = top_statements(lowered->program);
    std::erase_if(made, [](const Stmt& s) { return std::holds_alternative<Barrier>(s->kind); });
    ASSERT_EQ(launches.size(), made.size()) << to_text(tree);
    ASSERT_EQ(estimate_launches(tree, h100()).size(), made.size());
    for (std::size_t k = 0; k < made.size(); ++k) {
      const LaunchNest nest = launch_nest(made[k]).value();
      EXPECT_EQ(launches[k].blocks, nest.grid) << to_text(tree);
      EXPECT_EQ(launches[k].threads, nest.size) << to_text(tree);
      EXPECT_EQ(launches[k].block_memory, block_memory(lowered->program, made[k])) << to_text(tree);
      with_block_memory += launches[k].block_memory > 0;
    }
  }
  EXPECT_GE(lowered_trees, 20);
  EXPECT_GE(with_block_memory, 1);
}

const char* const kProduct = R"(
a = PLACEHOLDER [512, 256]
b = PLACEHOLDER [256, 512]
c(i, j) += (a[i, r]*b[r, j]) for i in 512, j in 512, r in 256
return c
)";
/// 64 x 64 by 8 with 8 x 16 threads of 8 x 4 sums; both operands in block memory, three stages.
const char* const kTile =
    "unfold o0 o2; unfold o1 o3 turned; "
    "split l6 8 guard; split l4 64 guard; split l10 8 guard; split l5 64 guard; split l14 4 guard; "
    "reorder l9 l13 l11 l15 l7 l8 l12 l16; "
    "bind l9 block; bind l13 block; bind l11 thread; bind l15 thread; "
    "unroll l8; unroll l12; vectorize l16; cache_write o4 l15; "
    "compute_at o2 l7 block; split l18 4 guard; split l17 64 guard; reorder l21 l22 l19 l20; "
    "bind l22 thread; bind l19 thread; vectorize l20; "
    "compute_at o3 l7 block; split l24 4 guard; reorder l23 l25 l26; bind l23 thread; bind l25 thread; vectorize l26; "
    "pipeline l7 3";

TEST(LaunchWork, CountsWhatAThreadOfATileRuns) {
  const LoopTree tree = tree_of(kProduct, kTile);
  const std::vector<LaunchWork> launches = gpu_launches(tree);
  ASSERT_EQ(launches.size(), 1u);
  const LaunchWork& tile = launches[0];
  EXPECT_EQ(tile.blocks, 8 * 8);
  EXPECT_EQ(tile.threads, 8 * 16);
  EXPECT_EQ(tile.slabs, 32);
  EXPECT_EQ(tile.stages, 3);
  EXPECT_EQ(tile.sums, 8 * 4);
  EXPECT_EQ(tile.block_memory, 3 * (64 * 8 + 8 * 64) * 4);
  ASSERT_EQ(tile.nests.size(), 3u);
  const OpWork &left = tile.nests[0], &right = tile.nests[1], &sum = tile.nests[2];
  EXPECT_TRUE(left.copies);
  EXPECT_TRUE(right.copies);
  EXPECT_EQ(sum.multiply_adds, 8 * 4 * 256);
  ASSERT_EQ(sum.accesses.size(), 3u);
  const LaunchAccess &c = sum.accesses[0], &a = sum.accesses[1], &b = sum.accesses[2];
  EXPECT_EQ(a.memory, LaunchAccess::Memory::block);
  EXPECT_EQ(a.width, 4) << "along the depth";
  EXPECT_EQ(a.requests, 32 * 8 * 8 / 4);
  EXPECT_EQ(b.width, 4);
  EXPECT_EQ(b.requests, 32 * 8);
  EXPECT_EQ(c.requests, 8) << "once, four at a time";
  EXPECT_EQ(c.memory, LaunchAccess::Memory::global);
}
TEST(LaunchWork, CountsSectorsAndBankConflictsOfAWarp) {
  const auto accesses = [](const std::string& steps) {
    return gpu_launches(tree_of(R"(
x = PLACEHOLDER [64, 64]
y(i, j) = (x[i, j] + 1f) for i in 64, j in 64
return y
)",
                                steps))[0]
        .nests[0]
        .accesses;
  };
  const std::vector<LaunchAccess> rows = accesses("split l1 32 guard; bind l0 block; bind l2 block; bind l3 thread");
  EXPECT_EQ(rows[0].sectors, 4) << "32 neighbours are 128 bytes";
  EXPECT_EQ(rows[1].sectors, 4);
  const std::vector<LaunchAccess> columns =
      accesses("reorder l1 l0; bind l1 block; split l0 32 guard; bind l2 block; bind l3 thread");
  EXPECT_EQ(columns[1].sectors, 32) << "each in a row of its own";
  const std::vector<LaunchAccess> vectors = accesses("bind l0 block; split l1 4 guard; bind l2 thread; vectorize l3");
  EXPECT_EQ(vectors[1].width, 4);
  EXPECT_EQ(vectors[1].requests, 1);
}
TEST(LaunchWork, LeavesOutTheRowsThatAStrideSkips) {
  const LoopTree tree =
      tree_of(R"(
x = PLACEHOLDER [64, 64, 32]
y(i, j, c) = x[(2*i), (2*j), c] for i in 32, j in 32, c in 32
return y
)",
              "split l0 8 guard; split l1 8 guard; reorder l3 l5 l4 l6 l2; bind l3 block; bind l5 block; "
              "bind l4 thread; bind l6 thread");
  const std::vector<LaunchWork> launches = gpu_launches(tree);
  for (const LaunchAccess& access : launches[0].nests[0].accesses)
    EXPECT_EQ(access.bytes, 8 * 8 * 32 * 4) << (access.store ? "y" : "x, of which a tile spans 15 x 15 pixels");
}
TEST(LaunchWork, FindsBankConflictsOfAColumn) {
  const auto passes = [](const std::string& padding) {
    const std::vector<LaunchWork> launches = gpu_launches(tree_of(R"(
x = PLACEHOLDER [64, 32]
t(j, i) = x[i, j] for j in 32, i in 64
y(i, j) = (t[j, i] + 1f) for i in 64, j in 32
return y
)",
                                                                  "split l2 32 guard; bind l4 block; bind l3 thread; "
                                                                  "compute_at o1 l4 block; bind l6 thread" +
                                                                      padding));
    return launches[0].nests[1].accesses[1].passes;
  };
  EXPECT_EQ(passes(""), 32) << "rows of 32 words: a column is one bank";
  EXPECT_EQ(passes("; pad_storage o1 1"), 1);
}

TEST(GpuEstimate, PrefersTilesToOneElementAThread) {
  const LoopTree tile = tree_of(kProduct, kTile);
  const LoopTree plain =
      tree_of(kProduct, "split l1 256 guard; bind l0 block; bind l3 block; bind l4 thread; cache_write o2 l4");
  EXPECT_LT(seconds_of(tile), seconds_of(plain));
  EXPECT_LT(seconds_of(plain), seconds_of(tree_of(kProduct, ""))) << "one thread alone";
}
/// Rows of 16 KiB, read twice: for their sum, and for what is made of it.
TEST(GpuEstimate, FetchesRowsOnceWhereTheyStayAndElseInEachPass) {
  const auto memory_bytes = [](const std::string& steps) {
    const LoopTree tree = tree_of(R"(
x = PLACEHOLDER [8192, 4096]
s(i) += x[i, r] for i in 8192, r in 4096
y(i, j) = (x[i, j]*s[i]) for i in 8192, j in 4096
return y
)",
                                  steps);
    const std::vector<LaunchWork> launches = gpu_launches(tree);
    return launch_costs(tree, launches, h100())[0].memory_bytes;
  };
  const double whole = 8192.0 * 4096 * 4;
  EXPECT_EQ(memory_bytes("split l3 128 guard; bind l2 block; bind l5 thread; compute_at o1 l2 block"), 2 * whole)
      << "16 rows are on an SM at once, 34 MB on all: L2 holds them";
  EXPECT_EQ(memory_bytes("split l2 256 guard; bind l4 block; bind l5 thread; compute_at o1 l5 registers"), 3 * whole)
      << "a row a thread: more than L2 holds are under way";
}
TEST(GpuEstimate, CountsWavesOfTheSMsThatThereAre) {
  const LoopTree tree = tree_of(kProduct, kTile);  // 64 blocks
  const double wide = seconds_of(tree, "cuda -arch=sm_90 -sms=132"),
               narrow = seconds_of(tree, "cuda -arch=sm_90 -sms=8");
  EXPECT_GT(narrow, 2 * wide);
  EXPECT_EQ(seconds_of(tree, "cuda -arch=sm_90 -sms=64"), wide) << "a block an SM either way, at equal clocks";
}
TEST(GpuEstimate, IsNoLessThanTheTaskCanTake) {
  for (const char* steps :
       {kTile, "split l1 256 guard; bind l0 block; bind l3 block; bind l4 thread; cache_write o2 l4"}) {
    const LoopTree tree = tree_of(kProduct, steps);
    const double peak = data_sheet_rates(h100().gpu()).gflops * 1e9;
    EXPECT_GE(seconds_of(tree), 2.0 * 512 * 512 * 256 / peak);
  }
}
TEST(GpuEstimate, TakesTheRatesOfADeviceWhereTheyAreKnown) {
  const LoopTree tree = tree_of(kProduct, kTile);
  MachineRates slow = data_sheet_rates(h100().gpu());
  slow.gflops /= 4;
  EXPECT_GT(estimate_launches(tree, h100(), slow)[0], 2 * estimate_launches(tree, h100())[0]);
}
TEST(GpuLimits, AreOperationsAndBytesByTheDataSheetAndTheStartOfALaunch) {
  const auto first = [](const std::string& dag) {
    const Limit limit = limits_of(*parse_dag(dag), h100(), {}, 0).front();
    return limit.what + " " + std::to_string(std::lround(limit.seconds * 1e8)) + ": " + limit.why;
  };
  EXPECT_EQ(first(kProduct), "compute 309: 134.2 MFLOP at 59305 GFLOPS, and 0.8 us to start");
  EXPECT_EQ(first(R"(
x = PLACEHOLDER [8192, 8192]
y(i, j) = (x[i, j] + 1f) for i in 8192, j in 8192
return y
)"),
            "memory 16109: 536.87 MB of activations at 3350 GB/s, and 0.8 us to start");
}
TEST(GpuFeatures, AreFiniteAndAsManyAsTheirNames) {
  EXPECT_EQ(feature_names(h100()).size(), 48u);
  EXPECT_EQ(std::set<std::string>(feature_names(h100()).begin(), feature_names(h100()).end()).size(), 48u);
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(300)); ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const LoopTree tree = *replay(dag, testing::random_gpu_steps(dag, rng));
    const std::vector<float> row = features(tree, h100());
    ASSERT_EQ(row.size(), feature_names(h100()).size());
    for (std::size_t i = 0; i < row.size(); ++i)
      ASSERT_TRUE(std::isfinite(row[i])) << feature_names(h100())[i] << "\n" << to_text(tree);
    ASSERT_TRUE(std::isfinite(analytic_seconds(tree, h100())));
  }
}

TEST(Estimate, CountsTheMeanOfBranchesThatANumberChooses) {
  const auto count = [](const std::string& body) {
    const std::string text =
        "a = PLACEHOLDER [8]\nb = PLACEHOLDER [8]\ny(i, p) = " + body + " for i in 8, p in 3\nreturn y\n";
    return arithmetic_of(parse_dag(text)->ops.back().element().body);
  };
  EXPECT_EQ(count("((a[i] + b[i])*2f)"), 2);
  EXPECT_EQ(count("select((a[i] < b[i]), (a[i] + b[i]), (a[i] - b[i]))"), 2) << "the data chooses";
  EXPECT_EQ(count("select((p == 0), (a[i] + b[i]), select((p == 1), (a[i] - b[i]), (a[i] + b[i]*2f)))"), 1)
      << "an addition, a subtraction, and one with a product";
  EXPECT_EQ(count("select((p == 0), (a[i] + b[i]), select((p == 1), ((a[i] + b[i]) - a[i]), a[i]))"), 2.0 / 3)
      << "the branches share a sum";
}

}  // namespace gpu_estimate_test
}  // namespace whet
