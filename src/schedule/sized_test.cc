// Schedules of DAGs with sizes: extents are functions, and what asks for one number is refused.

#include <gtest/gtest.h>

#include "schedule/steps.h"
#include "schedule/steps_for_sizes.h"
#include "schedule/testing/after.h"

namespace whet {
namespace sized_test {

using testing::after;

constexpr const char* kProduct = R"(
n = SIZE 2..512 at 64
x = PLACEHOLDER [n, 24]
w = PLACEHOLDER [24, 40] const
c(i, j) += (x[i, r]*w[r, j]) for i in n, j in 40, r in 24
out(i, j) = max(c[i, j], 0f) for i in n, j in 40
return out
)";

constexpr const char* kTwoSizes = R"(
b = SIZE 1..8 at 2
n = SIZE 1..512 at 64
x = PLACEHOLDER [(b*n), 24]
y(i, j) = (x[i, j] + 1f) for i in (b*n), j in 24
s(j) += x[i, j] for j in 24, i in (b*n)
return y, s
)";

/// The sizes for which the schedule is.
std::vector<SizeRange> valid(const char* dag, const char* steps) {
  return replay(parse_dag(dag).value(), parse_steps(steps).value()).value().dag.sizes;
}

TEST(SizedSplit, DividesTheFunction) {
  EXPECT_EQ(after(kProduct, "split l0 8 guard; reverse_compute_at o3 l5"),
            R"(for i.0 in floordiv((n + 7), 8)  # n by 8, guard
  for i.1 in 8
    for j in 40
      for r in 24
        c
  for i in 8
    for j in 40
      out
)");
}
TEST(SizedSplit, OfATileHasTheFunctionOfBoth) {
  EXPECT_EQ(after(kProduct, "split l3 8 guard; split l5 4 guard"), R"(for i in n
  for j in 40
    for r in 24
      c
for i.0 in floordiv((floordiv((n + 7), 8) + 3), 4)  # floordiv((n + 7), 8) by 4, guard
  for i.1 in 4
    for i.2 in 8
      for j in 40
        out
)");
}
TEST(SizedSplit, ThatDividesAtAllSizesHasNoTail) {
  EXPECT_EQ(after(R"(
n = SIZE 1..64 at 3
x = PLACEHOLDER [(n*16)]
y(i) = (x[i] + 1f) for i in (n*16)
return y
)",
                  "split l0 8 guard"),
            R"(for i.0 in (n*2)
  for i.1 in 8
    y
)");
}
TEST(SizedSplit, KeepsTheNumbersOfLoopsThatTheDagOfOneSizeHas) {
  const ComputeDag dag = parse_dag(kProduct).value();
  const Steps steps = parse_steps(
                          "split l0 8 guard; split l1 16 overlap; reorder l5 l7 l2 l6 l8; cache_write o2 l7; "
                          "unroll l6; vectorize l8; inline o0")
                          .value();
  LoopTree sized = make_loop_tree(dag), exact = make_loop_tree(dag_at(dag, {64}));
  for (const Step& step : steps) EXPECT_EQ(apply(sized, step).ok(), apply(exact, step).ok());
  EXPECT_EQ(sized.loops.size(), exact.loops.size());
}
TEST(SizedTiles, OfAUnitAreRefused) {
  const ComputeDag dag = *parse_dag(R"(
n = SIZE 1..64 at 16
a = PLACEHOLDER [n, 32] bf16
b = PLACEHOLDER [32, 16] bf16 const
c(i, j) += (f32(a[i, r])*f32(b[r, j])) for i in n, j in 16, r in 32
return c
)");
  const Steps steps = *parse_steps(
      "split l0 8 overlap; split l2 2 guard; split l5 16 guard; reorder l3 l7 l4 l8 l1 l6; pack o1 o2; cache_write o2 "
      "l3; "
      "tensorize l4 tile_bf16");
  const Result<Steps> sized = steps_for_sizes(dag, steps);
  ASSERT_FALSE(sized.ok());
  EXPECT_NE(sized.error().message.find("tile_bf16"), std::string::npos) << sized.error().message;
}
TEST(SizedOverlap, LeavesOutTheSizesThatAreSmallerThanATile) {
  EXPECT_EQ(valid(kProduct, "split l0 17 guard")[0].min, 2);
  EXPECT_EQ(valid(kProduct, "split l0 17 overlap")[0].min, 17);
  EXPECT_EQ(valid(kProduct, "split l3 8 guard; split l5 4 overlap")[0].min, 25);
  EXPECT_EQ(valid(R"(
n = SIZE 4..64:4 at 8
x = PLACEHOLDER [(n + 2)]
y(i) = x[i] for i in (n + 2)
return y
)",
                  "split l0 16 overlap")[0]
                .min,
            16);
}
TEST(SizedSplit, ThatDividesAtEachStepOfASizeHasNoTail) {
  constexpr const char* kSteps = R"(
n = SIZE 4..64:4 at 8
x = PLACEHOLDER [n]
y(i) = (x[i] + 1f) for i in n
return y
)";
  EXPECT_EQ(after(kSteps, "split l0 4 guard"), R"(for i.0 in floordiv(n, 4)
  for i.1 in 4
    y
)");
  EXPECT_EQ(after(kSteps, "split l0 8 guard"), R"(for i.0 in floordiv((n + 7), 8)  # n by 8, guard
  for i.1 in 8
    y
)");
  EXPECT_EQ(valid(kSteps, "split l0 4 overlap")[0].min, 4);
}
TEST(SizedCompute, OfAWholeAxisRunsOverItsFunction) {
  EXPECT_EQ(after(R"(
n = SIZE 1..64 at 3
x = PLACEHOLDER [n, 8]
t(i, j) = (x[i, j]*2f) for i in n, j in 8
y(j) += t[i, j] for j in 8, i in n
return y
)",
                  "compute_at o1 l2"),
            R"(for j in 8
  for i in n
    for j in 1
      t
  for i in n
    y
)");
}
TEST(SizedSoftmax, HasAsManyPartsAsItsTermsNeed) {
  const std::string forest = after(R"(
n = SIZE 1..512 at 64
t = PLACEHOLDER [3, n]
v = PLACEHOLDER [n, 4]
m(i) max= t[i, j] for i in 3, j in n
e(i, j) = exp((t[i, j] - m[i])) for i in 3, j in n
z(i) += e[i, j] for i in 3, j in n
w(i, j) = (e[i, j]/z[i]) for i in 3, j in n
y(i, c) += (w[i, j]*v[j, c]) for i in 3, c in 4, j in n
return y
)",
                                   "split_softmax o6 16");
  EXPECT_EQ(forest.substr(0, forest.find("e_parts")), R"(for part in floordiv((n + 15), 16)
  for i in 3
    for j in 16
      t_parts
for part in floordiv((n + 15), 16)
  for i in 3
    for j in 16
      m_parts
for part in floordiv((n + 15), 16)
  for i in 3
    for j in 16
      )");
}
TEST(SizedMerge, MultipliesTheFirstOfTwoAxes) {
  EXPECT_EQ(after(R"(
n = SIZE 1..64 at 3
x = PLACEHOLDER [n, 8]
y(i, j) = (x[i, j]*2f) for i in n, j in 8
return y
)",
                  "merge o1 0"),
            "for ij in (n*8)\n  y\n");
}
TEST(SizedMerge, MultipliesRowsByColumnsOfPicturesOfAnySize) {
  EXPECT_EQ(after(R"(
w = SIZE 1..64 at 3
x = PLACEHOLDER [6, floordiv((w + 1), 2), 8]
y(i, j, c) = (x[i, j, c]*2f) for i in 6, j in floordiv((w + 1), 2), c in 8
return y
)",
                  "merge o1 0"),
            "for ij in (floordiv((w + 1), 2)*6)\n  for c in 8\n    y\n");
  EXPECT_EQ(after(R"(
h = SIZE 1..64 at 3
w = SIZE 1..64 at 3
x = PLACEHOLDER [h, w]
y(i, j) = (x[i, j]*2f) for i in h, j in w
return y
)",
                  "merge o1 0"),
            "for ij in (h*w)\n  y\n");
}

/// The refusal of the last step, which changes nothing.
std::string refusal(const char* dag, const char* steps) {
  LoopTree tree = make_loop_tree(parse_dag(dag).value());
  const Steps parsed = parse_steps(steps).value();
  for (std::size_t k = 0; k + 1 < parsed.size(); ++k) EXPECT_TRUE(apply(tree, parsed[k]).ok());
  const std::uint64_t before = hash(tree);
  const Status last = apply(tree, parsed.back());
  if (last.ok()) return "not refused";
  EXPECT_EQ(hash(tree), before);
  return last.error().message;
}

TEST(Sized, LoopsAreRefusedWhereOneNumberIsNeeded) {
  EXPECT_EQ(refusal(kProduct, "reorder l4 l3; vectorize l3"),
            "loop i (l3) runs over n, which is 2..512 when the model runs; split it first");
  EXPECT_EQ(refusal(kProduct, "unroll l0"),
            "loop i (l0) runs over n, which is 2..512 when the model runs; split it first");
  EXPECT_EQ(refusal(kProduct, "split l0 8 guard; unroll l5"),
            "loop i.0 (l5) runs over n, which is 2..512 when the model runs; split it first");
  EXPECT_EQ(refusal(kTwoSizes, "rfactor l3"),
            "loop i (l3) runs over b and n, which are 1..8 and 1..512 when the model runs; split it first");
}
TEST(Sized, TilesThatOverlapAreRefusedWhereNoSingleSizeMakesEnoughIterations) {
  EXPECT_EQ(refusal(kTwoSizes, "split l0 8 overlap"),
            "loop i (l0) runs over b and n, which are 1..8 and 1..512, and may have fewer iterations than the 8 of a "
            "tile; use guard");
  EXPECT_EQ(refusal(kProduct, "split l3 513 overlap"),
            "loop i (l3) has 512 iterations; a factor must be 1..512, found 513");
}
TEST(Sized, OtherAlgorithmsAreOfOneSize) {
  EXPECT_EQ(refusal(kProduct, "split_sum o2 2 4"), "op c (o2) has sizes (n 2..512); parts of a sum are of one size");
  EXPECT_EQ(refusal(kTwoSizes, "winograd o1 2"),
            "op y (o1) has sizes (b 1..8, n 1..512); transforms of windows are of one size");
}
TEST(Sized, WinogradsAlgorithmIsForPicturesOfOneSize) {
  constexpr const char* kWide = R"(
n = SIZE 2..64 at 6
x = PLACEHOLDER [3, 9, (n + 2), 4]
w = PLACEHOLDER [3, 3, 4, 16] const
y(b, i, j, o) += (x[b, (i + r), (j + s), k]*w[r, s, k, o]) for b in 3, i in 7, j in n, o in 16, r in 3, s in 3, k in 4
return y
)";
  constexpr const char* kMany = R"(
n = SIZE 1..8 at 6
x = PLACEHOLDER [n, 9, 8, 4]
w = PLACEHOLDER [3, 3, 4, 16] const
y(b, i, j, o) += (x[b, (i + r), (j + s), k]*w[r, s, k, o]) for b in n, i in 7, j in 6, o in 16, r in 3, s in 3, k in 4
return y
)";
  EXPECT_EQ(refusal(kWide, "winograd o2 2"), "op y (o2) has sizes (n 2..64); transforms of windows are of one size");
  EXPECT_EQ(refusal(kMany, "winograd o2 2"), "not refused");
  EXPECT_EQ(refusal(kMany, "winograd o2 4"), "not refused");
}
TEST(Sized, ConstantsArePackedWhereTheyAreReadTheSameAtAllSizes) {
  EXPECT_EQ(refusal(kProduct, "pack o1 o2"), "not refused");
  EXPECT_EQ(refusal(R"(
n = SIZE 1..64 at 3
p = PLACEHOLDER [64, 8] const
x = PLACEHOLDER [n, 8]
y(i, j) = (x[i, j] + p[i, j]) for i in n, j in 8
return y
)",
                    "pack o0 o2"),
            "op p (o0) is read by y along what has a size; constants are packed once, for all sizes");
}

/// The steps of the DAG at its value, for all sizes.
std::string for_sizes(const char* dag, const char* steps) {
  const Result<Steps> made = steps_for_sizes(parse_dag(dag).value(), parse_steps(steps).value());
  if (!made.ok()) return made.error().message;
  EXPECT_TRUE(replay(parse_dag(dag).value(), *made).ok());
  return to_text(*made);
}

TEST(StepsForSizes, GuardTilesAlongSizesAlone) {
  EXPECT_EQ(
      for_sizes(kProduct, "split l0 14 overlap; split l1 16 overlap; reorder l5 l7 l2 l6 l8; unroll l6; vectorize l8"),
      "split l0 14 guard; split l1 16 overlap; reorder l5 l7 l2 l6 l8; unroll l6; vectorize l8");
}
TEST(StepsForSizes, SplitWhatWasAllOfAnAxis) {
  EXPECT_EQ(for_sizes(kProduct, "reorder l1 l2 l0; vectorize l0; split l3 8 overlap; unroll l6; parallel l5"),
            "reorder l1 l2 l0; split l0 64 guard; vectorize l6; split l3 8 guard; unroll l8; parallel l7");
}
TEST(StepsForSizes, MakeBlocksOfWholeTiles) {
  EXPECT_EQ(for_sizes(kProduct, "split l3 20 overlap; split l6 6 overlap; unroll l8"),
            "split l3 18 guard; split l6 6 overlap; unroll l8");
  EXPECT_EQ(for_sizes(kProduct, "split l3 20 overlap; split l6 5 overlap; unroll l8"),
            "split l3 20 guard; split l6 5 overlap; unroll l8");
  EXPECT_EQ(for_sizes(kProduct, "split l3 7 overlap; split l6 4 overlap; unroll l8"),
            "split l3 8 guard; split l6 4 overlap; unroll l8");
  EXPECT_EQ(for_sizes(kProduct, "split l4 20 overlap; split l6 6 overlap; unroll l8"),
            "split l4 20 overlap; split l6 6 overlap; unroll l8");
}

constexpr const char* kTurned = R"(
n = SIZE 16..500 at 64
x = PLACEHOLDER [n, 24]
y(i, j) = x[j, i] for i in 24, j in n
return y
)";

TEST(StepsForSizes, KeepTilesOfIntrinsicsWhereAllSizesHaveOne) {
  constexpr const char* kSteps =
      "split l0 16 overlap; split l1 16 overlap; reorder l2 l4 l3 l5; tensorize l3 transpose16";
  EXPECT_EQ(for_sizes(kTurned, kSteps), kSteps);
  std::string small = kTurned;
  small.replace(small.find("16..500"), 7, "15..500");
  EXPECT_EQ(for_sizes(small.c_str(), kSteps), "split l0 16 overlap; split l1 16 guard; reorder l2 l4 l3 l5; unroll l5");
}
TEST(StepsForSizes, UnrollTransposedTilesThatAreNoTilesOfTheirIntrinsic) {
  std::string small = kTurned;
  small.replace(small.find("16..500 at 64"), 13, "2..15 at 15");
  EXPECT_EQ(
      for_sizes(small.c_str(),
                "split l0 8 overlap; split l1 8 overlap; reorder l2 l4 l3 l5; tensorize l3 transpose8; parallel l2"),
      "split l0 8 overlap; split l1 8 guard; reorder l2 l4 l3 l5; unroll l5; unroll l3; parallel l2");
}
TEST(StepsForSizes, PadRowsThatWouldCrowdACache) {
  constexpr const char* kCopied = R"(
n = SIZE 2..512 at 64
x = PLACEHOLDER [n, 24]
t(i, j) = x[j, i] for i in 24, j in n
y(i, j) = (t[i, j] + 1f) for i in 24, j in n
return y
)";
  EXPECT_EQ(for_sizes(kCopied, "parallel l0"), "parallel l0; pad_storage o1 16");
  EXPECT_EQ(for_sizes(kTurned, "parallel l0"), "parallel l0");
}
TEST(StepsForSizes, CountLoopsAnewBehindStepsThatMakeANewDag) {
  EXPECT_EQ(for_sizes(R"(
n = SIZE 1..64 at 12
x = PLACEHOLDER [n, 8]
y(i, j) = (x[i, j]*2f) for i in n, j in 8
return y
)",
                      "merge o1 0; split l0 16 overlap; vectorize l2; parallel l1"),
            "merge o1 0; split l0 16 guard; vectorize l2; parallel l1");
}
TEST(StepsForSizes, NameTheStepThatIsRefused) {
  EXPECT_EQ(for_sizes(kProduct, "split l0 8 guard; split_sum o2 2 4"),
            "step 2 (split_sum o2 2 4): op c (o2) is scheduled already; sums are split before everything else");
  EXPECT_EQ(for_sizes(kProduct, "split_sum o2 2 4"),
            "step 1 (split_sum o2 2 4): op c (o2) has sizes (n 2..512); parts of a sum are of one size");
}

}  // namespace sized_test
}  // namespace whet
