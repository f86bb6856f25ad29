#include "transfer/default_sizes.h"

#include <gtest/gtest.h>

#include "schedule/steps.h"

namespace whet {
namespace default_sizes_test {

const Target kTarget = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");
const ComputeDag kDense = parse_dag(R"(n = SIZE 1..512 at 512
x = PLACEHOLDER [n, 64]
w = PLACEHOLDER [64, 96] const
dense(i, j) += (x[i, k]*w[k, j]) for i in n, j in 96, k in 64  # matmul i:row j:out_channel k:in_channel
return dense
)")
                              .value();

TEST(DefaultSizes, TilesThatAreLargerThanASizeAreCutToIt) {
  const ComputeDag five = dag_at(kDense, {5});
  const Result<Steps> cut = cut_to(five, *parse_steps("split l0 128 guard; split l4 8 guard; unroll l6"));
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(to_text(*cut), "split l0 5 guard; split l4 5 guard; unroll l6");
  const Result<LoopTree> tree = replay(five, *cut);
  EXPECT_TRUE(tree.ok()) << tree.error().message;
}

TEST(DefaultSizes, WhatCannotBeAtASizeIsSaidOrLeftOut) {
  EXPECT_FALSE(cut_to(dag_at(kDense, {5}), *parse_steps("split l9 2 guard")).ok());
  const Result<Steps> cut = cut_to(dag_at(kDense, {5}), *parse_steps("unroll l2; unroll l2"));
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut->size(), 1u) << "a loop is unrolled once";
}

/// One block of rows keeps one of two workers busy: what was made for many rows is no good for few.
TEST(DefaultSizes, AScheduleIsEstimatedAtEachSize) {
  const std::vector<std::vector<double>> seconds = default_seconds(kDense, {{8}, {512}}, kTarget, {});
  ASSERT_EQ(seconds.size(), 2u);
  for (const std::vector<double>& each : seconds) {
    ASSERT_EQ(each.size(), 2u);
    EXPECT_GT(each[0], 0);
    EXPECT_GT(each[1], each[0]);
  }
  EXPECT_LE(seconds[0][0], seconds[1][0]);
  EXPECT_LE(seconds[1][1], seconds[0][1]);
}

}  // namespace default_sizes_test
}  // namespace whet
