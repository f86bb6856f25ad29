#include "lower/lower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/testing/random_cases.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"
#include "lower/testing/verify_passes.h"
#include "program/interpret.h"
#include "schedule/steps.h"
#include "tensor/compare.h"

namespace whet {
namespace {

Target avx512() { return *parse_target("cpu -mcpu=skylake-avx512 -threads=2"); }

LoopTree tree_after(const char* text, const char* steps) {
  const Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << (dag.ok() ? "" : dag.error().message);
  const Result<LoopTree> tree = replay(*dag, *parse_steps(steps));
  EXPECT_TRUE(tree.ok()) << (tree.ok() ? "" : tree.error().message);
  return *tree;
}

/// The program after `pass`, without its list of buffers.
std::string after(const char* pass, const char* text, const char* steps) {
  const Result<Lowered> lowered = lower_until(tree_after(text, steps), avx512(), pass);
  if (!lowered.ok()) return lowered.error().message;
  const std::string program = to_text(lowered->program);
  return program.substr(program.find("run\n") + 4);
}

/// Verifies the program after each pass and runs it by the interpreter; an error, or the largest relative difference from the DAG's own
/// evaluation.
Result<double> error_of(const LoopTree& tree, const ComputeDag& dag, const Target& target, const char* pass,
                        int workers, std::uint64_t seed) {
  WHET_TRY(const Lowered lowered, lower_until(tree, target, pass, testing::verify_pass));
  Rng rng(seed);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  WHET_TRY(std::vector<Tensor> arguments, testing::arguments_of(lowered, dag, inputs));
  WHET_RETURN_IF_ERROR(interpret(lowered.program, arguments, {.workers = workers}));
  return testing::worst_output(lowered, dag, inputs, arguments);
}

/// What lowering may refuse: a vector loop that stopped being innermost, too many copies, an access that the verifier
/// cannot prove.
bool is_refusal(const Error& error) { return error.kind == ErrorKind::unsupported || error.kind == ErrorKind::limit; }

constexpr const char* kRow = R"(
x = PLACEHOLDER [17]
y(i) = (x[i] + 1f) for i in 17
return y
)";

TEST(Guards, AScalarTailNarrowsTheInnerLoop) {
  EXPECT_EQ(after("simplify", kRow, "split l0 6 guard"), R"(  for i.0 in 0 .. 3
    for i.1 in 0 .. min((17 - (i.0*6)), 6)
      y[((i.0*6) + i.1)] = (x[((i.0*6) + i.1)] + 1f)
)");
}
constexpr const char* kScatter = R"(
at = PLACEHOLDER [2, 5] i64 < 8
x = PLACEHOLDER [2, 5]
y(i, j) += select((at[i, k] == j), x[i, k], 0f) for i in 2, j in 8, k in 5
return y
)";

TEST(Guards, ALoopWithASingleIterationThatCountsIsThatIteration) {
  EXPECT_EQ(after("simplify", kScatter, "reorder l2 l1"), R"(  for i in 0 .. 2
    for j in 0 .. 8
      y[i, j] = 0f
    for k in 0 .. 5
      let j = at[i, k]
      if (j >= 0) && (j < 8)
        y[i, j] = (y[i, j] + x[i, k])
)");
  // In a part of the axis, and where what is written is a run of neighbours.
  EXPECT_EQ(after("simplify", R"(
at = PLACEHOLDER [5] i64 < 8
x = PLACEHOLDER [5, 3]
y(i, j) += select((at[k] == i), x[k, j], 0f) for i in 8, j in 3, k in 5
return y
)",
                  "split l0 4 guard; reorder l3 l2 l4 l1; parallel l3"),
            R"(  parallel i.0 in 0 .. 2
    for i.1 in 0 .. 4
      for j in 0 .. 3
        y[((i.0*4) + i.1), j] = 0f
    for k in 0 .. 5
      let i.1 = (at[k] - (i.0*4))
      if (i.1 >= 0) && (i.1 < 4)
        for j in 0 .. 3
          y[((i.0*4) + i.1), j] = (y[((i.0*4) + i.1), j] + x[k, j])
)");
}
TEST(Guards, WritesWhereDataSaysMeanTheSameInEverySchedule) {
  constexpr const char* kTwoAxes = R"(
at = PLACEHOLDER [9, 2] i64 < 6
x = PLACEHOLDER [9, 20]
from = PLACEHOLDER [6, 6, 20]
last(i, j): i32 max= select((at[k, 0] == i) && (at[k, 1] == j), i32((k + 1)), -2147483648i32) for i in 6, j in 6, k in 9
sum(i, j, c) += select((at[k, 0] == i) && (at[k, 1] == j), x[k, c], 0f) for i in 6, j in 6, c in 20, k in 9
y(i, j, c) = select((last[i, j] > 0i32), x[max(min((i64(last[i, j]) - 1), 8), 0), c], from[i, j, c]) + sum[i, j, c] for i in 6, j in 6, c in 20
return y
)";
  const ComputeDag dag = *parse_dag(kTwoAxes);
  int lowered = 0;
  const int cases = testing::random_cases(100);
  for (int seed = 0; seed < cases; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed));
    const Steps steps = testing::random_steps(dag, rng, 30);
    const Result<double> error =
        error_of(*replay(dag, steps), dag, avx512(), "share_reciprocals", 2, static_cast<std::uint64_t>(seed));
    if (!error.ok() && is_refusal(error.error())) continue;
    ASSERT_TRUE(error.ok()) << error.error().message << "\n" << to_text(steps);
    ASSERT_LT(*error, 1e-4) << "seed " << seed << ": " << to_text(steps);
    ++lowered;
  }
  EXPECT_GE(lowered, cases / 2);
}
TEST(Overlap, TheLastTileStartsEarlier) {
  EXPECT_EQ(after("simplify", kRow, "split l0 6 overlap"), R"(  for i.0 in 0 .. 3
    for i.1 in 0 .. 6
      y[(i.1 + min((i.0*6), 11))] = (x[(i.1 + min((i.0*6), 11))] + 1f)
)");
}
TEST(Vectorize, UsesFullVectorsThenNarrowerOnes) {
  EXPECT_EQ(after("vectorize", kRow, "vectorize l0"), R"(  y[ramp(0, 1, 16)] = (x[ramp(0, 1, 16)] + broadcast(1f, 16))
  y[16] = (x[16] + 1f)
)");
}
TEST(Vectorize, MasksTheLastLanesOfWhatWouldBeSeveralNarrowVectors) {
  EXPECT_EQ(after("vectorize", R"(
x = PLACEHOLDER [5]
w = PLACEHOLDER [5, 21]
y(j) += (x[k]*w[k, j]) for j in 21, k in 5
return y
)",
                  "split l0 21 guard; reorder l2 l1 l3; cache_write o2 l2; vectorize l3"),
            R"(  y.acc[ramp(0, 1, 16)] = broadcast(0f, 16)
  y.acc[ramp(16, 1, 8)] = broadcast(0f, 8)
  for k in 0 .. 5
    y.acc[ramp(0, 1, 16)] = (y.acc[ramp(0, 1, 16)] + (broadcast(x[k], 16)*w[ramp((k*21), 1, 16)]))
    y.acc[ramp(16, 1, 8)] = (y.acc[ramp(16, 1, 8)] + (broadcast(x[k], 8)*(w[ramp(((k*21) + 16), 1, 8)] where (ramp(0, 1, 8) < broadcast(5, 8)))))
  y[ramp(0, 1, 16)] = y.acc[ramp(0, 1, 16)]
  y[ramp(16, 1, 8)] = y.acc[ramp(16, 1, 8)] where (ramp(0, 1, 8) < broadcast(5, 8))
)");
}
TEST(Vectorize, NamesConditionsThatAreDataSoThatChainsOfChoicesStaySmall) {
  std::string body = "x[i]";
  for (int k = 0; k < 14; ++k) body = "select((x[i] < " + std::to_string(k) + "f), y[i], " + body + ")";
  const std::string text = "x = PLACEHOLDER [16]\ny = PLACEHOLDER [16]\nz(i) = " + body + " for i in 16\nreturn z\n";
  EXPECT_LT(after("vectorize", text.c_str(), "vectorize l0").size(), 8000u);
}
TEST(Vectorize, ReadsRegistersWholeWhereDataChooses) {
  EXPECT_EQ(after("vectorize", R"(
x = PLACEHOLDER [5]
w = PLACEHOLDER [5, 16]
m = PLACEHOLDER [16] i64
s(j) += (x[k]*w[k, j]) for j in 16, k in 5
y(j) = select((m[j] > 0), s[j], w[0, j]) for j in 16
return y
)",
                  "split l2 16 guard; compute_at o3 l3 registers; reorder l6 l5; vectorize l5; vectorize l4"),
            R"(  s[ramp(0, 1, 16)] = broadcast(0f, 16)
  for k in 0 .. 5
    s[ramp(0, 1, 16)] = (s[ramp(0, 1, 16)] + (broadcast(x[k], 16)*w[ramp((k*16), 1, 16)]))
  let mask8 = (m[ramp(0, 1, 16)] > broadcast(0, 16))
  y[ramp(0, 1, 16)] = select(mask8, s[ramp(0, 1, 16)], (w[ramp(0, 1, 16)] where !mask8))
)");
}
TEST(Vectorize, MasksNothingWhereFloatsChoose) {
  EXPECT_EQ(after("vectorize", R"(
x = PLACEHOLDER [16]
y = PLACEHOLDER [16]
z(i) = select((x[i] < 0f) || (y[i] > 1f), y[i], x[i]) for i in 16
return z
)",
                  "vectorize l0"),
            "  z[ramp(0, 1, 16)] = select((x[ramp(0, 1, 16)] < broadcast(0f, 16)) || (y[ramp(0, 1, 16)] > "
            "broadcast(1f, 16)), y[ramp(0, 1, 16)], x[ramp(0, 1, 16)])\n");
}
TEST(Unbind, RunsBlocksAndThreadsAsLoops) {
  EXPECT_EQ(after("generate", kRow, "split l0 6 overlap; bind l1 block; bind l2 thread"), R"(  block i.0 in 0 .. 3
    thread i.1 in 0 .. 6
      y[(i.1 + min((i.0*6), 11))] = (x[(i.1 + min((i.0*6), 11))] + 1f)
)");
  EXPECT_EQ(after("unbind", kRow, "split l0 6 overlap; bind l1 block; bind l2 thread"), R"(  for i.0 in 0 .. 3
    for i.1 in 0 .. 6
      y[(i.1 + min((i.0*6), 11))] = (x[(i.1 + min((i.0*6), 11))] + 1f)
)");
}
TEST(Prefetch, AsksForEachLineOfWhatIsReadLater) {
  EXPECT_EQ(after("flatten", R"(
x = PLACEHOLDER [8, 100]
y(i, j) = (x[i, (j + 1)] + 1f) for i in 8, j in 40
return y
)",
                  "prefetch o0 o1 l0 2"),
            R"(  for i in 0 .. 8
    prefetch x[(((i + 2)*100) + 1)]
    prefetch x[(((i + 2)*100) + 17)]
    prefetch x[(((i + 2)*100) + 33)]
    for j in 0 .. 40
      y[((i*40) + j)] = (x[((i*100) + (j + 1))] + 1f)
)");
}
TEST(Prefetch, TakesRowsThatAreReadWholeAsOne) {
  EXPECT_EQ(after("flatten", R"(
x = PLACEHOLDER [8, 6, 4]
y(i, j, k) = (x[i, j, k] + 1f) for i in 8, j in 6, k in 4
return y
)",
                  "prefetch o0 o1 l0 1; fuse l1 l2"),
            R"(  for i in 0 .. 8
    prefetch x[((i + 1)*24)]
    prefetch x[(((i + 1)*24) + 16)]
    for j·k in 0 .. 24
      let j = floordiv(j·k, 4)
      let k = floormod(j·k, 4)
      y[(((i*24) + (j*4)) + k)] = (x[(((i*24) + (j*4)) + k)] + 1f)
)");
}
TEST(Prefetch, StandsBetweenWhatIsUnrolled) {
  EXPECT_EQ(after("spread_prefetches", R"(
x = PLACEHOLDER [8, 32]
y(i, j) = (x[i, j] + 1f) for i in 8, j in 32
return y
)",
                  "prefetch o0 o1 l0 2; split l1 8 guard; unroll l2; vectorize l3"),
            R"(  for i in 0 .. 8
    y[ramp((i*32), 1, 8)] = (x[ramp((i*32), 1, 8)] + broadcast(1f, 8))
    prefetch x[((i*32) + 64)]
    y[ramp(((i*32) + 8), 1, 8)] = (x[ramp(((i*32) + 8), 1, 8)] + broadcast(1f, 8))
    y[ramp(((i*32) + 16), 1, 8)] = (x[ramp(((i*32) + 16), 1, 8)] + broadcast(1f, 8))
    prefetch x[((i*32) + 80)]
    y[ramp(((i*32) + 24), 1, 8)] = (x[ramp(((i*32) + 24), 1, 8)] + broadcast(1f, 8))
)");
}
TEST(Prefetch, StandsBeforeWhatIsOneStatement) {
  EXPECT_EQ(after("spread_prefetches", R"(
x = PLACEHOLDER [8, 32]
y(i, j) = (x[i, j] + 1f) for i in 8, j in 32
return y
)",
                  "prefetch o0 o1 l0 2"),
            R"(  for i in 0 .. 8
    prefetch x[((i*32) + 64)]
    prefetch x[((i*32) + 80)]
    for j in 0 .. 32
      y[((i*32) + j)] = (x[((i*32) + j)] + 1f)
)");
}
TEST(Prefetch, AsksForNothingWhenTheReaderWentElsewhere) {
  EXPECT_EQ(after("verify", R"(
x = PLACEHOLDER [8, 20]
t(i, j) = (x[i, j]*2f) for i in 8, j in 20
y(i, j) = (t[i, j] + 1f) for i in 8, j in 20
return y
)",
                  "compute_at o1 l2; prefetch o0 o1 l2 1; compute_root o1"),
            R"(  for i in 0 .. 8
    for j in 0 .. 20
      t[i, j] = (x[i, j]*2f)
  for i in 0 .. 8
    for j in 0 .. 20
      y[i, j] = (t[i, j] + 1f)
)");
}
TEST(Pipeline, MakesTheNextTileWhileThisOneIsUsed) {
  EXPECT_EQ(after("unbind", R"(
x = PLACEHOLDER [8, 20]
t(i, j) = (x[i, j]*2f) for i in 8, j in 20
y(i, j) = (t[i, j] + 1f) for i in 8, j in 20
return y
)",
                  "compute_at o1 l2; pipeline l2 3"),
            R"(  for i in 0 .. 2
    for i_1 in 0 .. 1
      for j in 0 .. 20
        t[floormod(i, 3), 0, j] = (x[i, j]*2f)
  for i in 0 .. 8
    if ((i + 2) < 8)
      for i_1 in 0 .. 1
        for j in 0 .. 20
          t[floormod((i + 2), 3), 0, j] = (x[(i + 2), j]*2f)
    for j in 0 .. 20
      y[i, j] = (t[floormod(i, 3), 0, j] + 1f)
)");
}
TEST(Roll, ComputesOfAWindowWhatIsNew) {
  EXPECT_EQ(after("simplify", R"(
x = PLACEHOLDER [12, 20]
t(i, j) = (x[i, j]*2f) for i in 12, j in 20
y(i, j) += t[(i + r), j] for i in 10, j in 20, r in 3
return y
)",
                  "reorder l2 l4 l3; compute_at o1 l2; roll o1 l2"),
            R"(  for i in 0 .. 10
    if (i <= 0)
      for i_1 in 0 .. 3
        for j in 0 .. 20
          t[(i + i_1), j] = (x[(i + i_1), j]*2f)
    else
      for j in 0 .. 20
        t[floormod((i + 2), 3), j] = (x[(i + 2), j]*2f)
    for j in 0 .. 20
      y[i, j] = 0f
    for r in 0 .. 3
      for j in 0 .. 20
        y[i, j] = (y[i, j] + t[floormod((i + r), 3), j])
)");
}
/// What is computed for the rows of a window, in registers too, is computed for new rows alone.
TEST(Roll, SparesWhatIsComputedForRowsThatAreKept) {
  EXPECT_EQ(after("simplify", R"(
x = PLACEHOLDER [12, 4]
w = PLACEHOLDER [4, 20] const
s(i, j) += (x[i, k]*w[k, j]) for i in 12, j in 20, k in 4
t(i, j) = max(s[i, j], 0f) for i in 12, j in 20
y(i, j) += t[(i + r), j] for i in 10, j in 20, r in 3
return y
)",
                  "reorder l5 l7 l6; compute_at o3 l5; compute_at o2 l9; roll o3 l5"),
            R"(  for i in 0 .. 10
    if (i <= 0)
      for i_1 in 0 .. 3
        for j in 0 .. 20
          s[0, 0] = 0f
          for k in 0 .. 4
            s[0, 0] = (s[0, 0] + (x[(i + i_1), k]*w[k, j]))
          t[(i + i_1), j] = max(s[0, 0], 0f)
    else
      for j in 0 .. 20
        s[0, 0] = 0f
        for k in 0 .. 4
          s[0, 0] = (s[0, 0] + (x[(i + 2), k]*w[k, j]))
        t[floormod((i + 2), 3), j] = max(s[0, 0], 0f)
    for j in 0 .. 20
      y[i, j] = 0f
    for r in 0 .. 3
      for j in 0 .. 20
        y[i, j] = (y[i, j] + t[floormod((i + r), 3), j])
)");
}
TEST(Unroll, CopiesTheBody) {
  EXPECT_EQ(after("simplify_unrolled", "x = PLACEHOLDER [3]\ny(i) = (x[i] + 1f) for i in 3\nreturn y\n", "unroll l0"),
            R"(  y[0] = (x[0] + 1f)
  y[1] = (x[1] + 1f)
  y[2] = (x[2] + 1f)
)");
}

constexpr const char* kPadded = R"(
x = PLACEHOLDER [12]
p(i) = select((i >= 1) && (i < 13), x[(i - 1)], 0f) for i in 14
y(i) += p[(i + r)] for i in 12, r in 3
return y
)";
TEST(Phases, AreApartWhereAWorkerWaitsForAnother) {
  constexpr const char* kChain = R"(
x = PLACEHOLDER [8]
t(i) = (x[i]*2f) for i in 8
u(i) = (t[i] + 1f) for i in 8
y(i) = (u[i]*u[i]) for i in 8
return y
)";
  const auto barriers = [&](const char* steps) {
    const std::string text = after("verify", kChain, steps);
    std::size_t count = 0;
    for (std::size_t at = text.find("barrier"); at != std::string::npos; at = text.find("barrier", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(barriers(""), 0u);
  EXPECT_EQ(barriers("parallel l2"), 1u);
  EXPECT_EQ(barriers("parallel l1"), 2u);
  EXPECT_EQ(barriers("parallel l0; parallel l1; parallel l2"), 2u);
}
TEST(Padding, LeavesConditionsThatReadData) {
  const std::string text = after("verify", R"(
x = PLACEHOLDER [8, 20]
n(i): i32 += select((x[i, r] > 1f), 1i32, 0i32) for i in 8, r in 20
return n
)",
                                 "");
  EXPECT_EQ(text.find("if"), std::string::npos) << text;
  EXPECT_NE(text.find("select((x[i, r] > 1f), 1i32, 0i32)"), std::string::npos) << text;
}
constexpr const char* kRowsOfASparseMatrix = R"(
x = PLACEHOLDER [8, 32]
data = PLACEHOLDER [20]
col = PLACEHOLDER [20] i32 < 8
begin = PLACEHOLDER [6] i32 < 20
y(i, j) += select((i64(begin[i]) + e < i64(begin[(i + 1)])), (data[min(i64(begin[i]) + e, 19)]*x[i64(col[min(i64(begin[i]) + e, 19)]), j]), 0f) for i in 5, j in 32, e in 7
return y
)";

TEST(Padding, EndsALoopWhereInputsSay) {
  EXPECT_EQ(after("simplify", kRowsOfASparseMatrix, "reorder l2 l1; vectorize l1"), R"(  for i in 0 .. 5
    vector j in 0 .. 32
      y[i, j] = 0f
    for e in 0 .. min((i64(begin[(i + 1)]) - i64(begin[i])), 7)
      vector j in 0 .. 32
        y[i, j] = (y[i, j] + (data[min((e + i64(begin[i])), 19)]*x[i64(col[min((e + i64(begin[i])), 19)]), j]))
)");
}
TEST(Padding, OfRowsThatInputsEndMeansTheSameInEverySchedule) {
  const ComputeDag dag = *parse_dag(R"(
x = PLACEHOLDER [8, 32]
data = PLACEHOLDER [20]
col = PLACEHOLDER [20] i32 < 8
begin = PLACEHOLDER [6] i32 < 20
y(i, j) += select((i64(begin[i]) + e < i64(begin[(i + 1)])), (data[max(min(i64(begin[i]) + e, 19), 0)]*x[max(min(i64(col[max(min(i64(begin[i]) + e, 19), 0)]), 7), 0), j]), 0f) for i in 5, j in 32, e in 7
return y
)");
  int lowered = 0;
  const int cases = testing::random_cases(20);
  for (int seed = 0; seed < cases; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed));
    const Steps steps = testing::random_steps(dag, rng, 30);
    const Result<double> error =
        error_of(*replay(dag, steps), dag, avx512(), "share_reciprocals", 2, static_cast<std::uint64_t>(seed));
    if (!error.ok() && is_refusal(error.error())) continue;
    ASSERT_TRUE(error.ok()) << error.error().message << "\n" << to_text(steps);
    ASSERT_LT(*error, 1e-4) << "seed " << seed << ": " << to_text(steps);
    ++lowered;
  }
  EXPECT_GE(lowered, cases / 2);
}
TEST(Padding, LeavesRowsWhoseEndIsComputed) {
  const std::string text = after("simplify", R"(
n = PLACEHOLDER [4] i64 < 9
x = PLACEHOLDER [4, 8]
half(i): i64 = (n[i] + 1) for i in 4
y(i) += select((k < half[i]), x[i, k], 0f) for i in 4, k in 8
return y
)",
                                 "");
  EXPECT_NE(text.find("select("), std::string::npos) << text;
}
TEST(Padding, NarrowsTheTapsWhereNoTileStandsBetween) {
  EXPECT_EQ(after("simplify", kPadded, "inline o1"), R"(  for i in 0 .. 12
    y[i] = 0f
    for r in max((1 - i), 0) .. min((13 - i), 3)
      y[i] = (y[i] + x[((i + r) - 1)])
)");
}
TEST(Padding, CutsTileLoopsSoThatTheMiddleTestsNothing) {
  EXPECT_EQ(after("simplify", kPadded, "inline o1; split l1 4 guard; reorder l3 l2 l4; unroll l4"),
            R"(  unroll i.1 in 0 .. 4
    y[i.1] = 0f
  unroll i.1 in 1 .. 4
    y[i.1] = (y[i.1] + x[(i.1 - 1)])
  for r in 1 .. 3
    unroll i.1 in 0 .. 4
      y[i.1] = (y[i.1] + x[((r + i.1) - 1)])
  unroll i.1 in 0 .. 4
    y[(i.1 + 4)] = 0f
  for r in 0 .. 3
    unroll i.1 in 0 .. 4
      y[(i.1 + 4)] = (y[(i.1 + 4)] + x[((r + i.1) + 3)])
  unroll i.1 in 0 .. 4
    y[(i.1 + 8)] = 0f
  for r in 0 .. 2
    unroll i.1 in 0 .. 4
      y[(i.1 + 8)] = (y[(i.1 + 8)] + x[((r + i.1) + 7)])
  unroll i.1 in 0 .. 3
    y[(i.1 + 8)] = (y[(i.1 + 8)] + x[(i.1 + 9)])
)");
}

constexpr const char* kPaddedChannels = R"(
x = PLACEHOLDER [12, 8]
w = PLACEHOLDER [3, 8]
p(i, c) = select((i >= 1) && (i < 13), x[(i - 1), c], 0f) for i in 14, c in 8
y(i) += (p[(i + r), c]*w[r, c]) for i in 12, r in 3, c in 8
return y
)";
TEST(Padding, IsTestedOnceForALoopOverChannelsSoThatTilesShareTheirCode) {
  EXPECT_EQ(after("simplify", kPaddedChannels, "inline o2; split l2 4 overlap; reorder l5 l3 l4 l6; unroll l6"),
            R"(  for i.0 in 0 .. 3
    unroll i.1 in 0 .. 4
      y[((i.0*4) + i.1)] = 0f
    for r in 0 .. 3
      let r_i.0 = (r + (i.0*4))
      if (r_i.0 < 1)
        for c in 0 .. 8
          unroll i.1 in 1 .. 4
            y[((i.0*4) + i.1)] = (y[((i.0*4) + i.1)] + (x[((i.1 + r_i.0) - 1), c]*w[r, c]))
      else
        if (r_i.0 < 10)
          for c in 0 .. 8
            unroll i.1 in 0 .. 4
              y[((i.0*4) + i.1)] = (y[((i.0*4) + i.1)] + (x[((r_i.0 + i.1) - 1), c]*w[r, c]))
        else
          for c in 0 .. 8
            unroll i.1 in 0 .. 3
              y[((i.0*4) + i.1)] = (y[((i.0*4) + i.1)] + (x[((r_i.0 + i.1) - 1), c]*w[r, c]))
)");
}

constexpr const char* kPaddedRows = R"(
x = PLACEHOLDER [12, 4, 16]
w = PLACEHOLDER [3, 16]
p(i, j, c) = select((i >= 1) && (i < 13), x[(i - 1), j, c], 0f) for i in 14, j in 4, c in 16
y(i, j, c) += (p[(i + r), j, c]*w[r, c]) for i in 12, j in 4, c in 16, r in 3
return y
)";
TEST(Padding, IsTestedOnceATileWhereItGuardsARowOfIt) {
  EXPECT_EQ(after("simplify", kPaddedRows, "inline o2; reorder l3 l6 l4 l5; unroll l6; unroll l4; vectorize l5"),
            R"(  for i in 0 .. 12
    unroll j in 0 .. 4
      vector c in 0 .. 16
        y[i, j, c] = 0f
    unroll r in 0 .. 3
      if ((i + r) >= 1)
        if ((i + r) < 13)
          unroll j in 0 .. 4
            vector c in 0 .. 16
              y[i, j, c] = (y[i, j, c] + (x[((i + r) - 1), j, c]*w[r, c]))
)");
}

TEST(Pack, OfWhatAConstantIndexesMeansTheSame) {
  constexpr const char* kTaken = R"(
t = PLACEHOLDER [8, 4] const
r = PLACEHOLDER [6] i32 const < 8
x = PLACEHOLDER [4]
y(i) += (t[max(min(i64(r[i]), 7), 0), k]*x[k]) for i in 6, k in 4
return y
)";
  const ComputeDag dag = *parse_dag(kTaken);
  for (const char* steps : {"pack o0 o3", "pack o1 o3", "pack o1 o3; pack o0 o3", "pack o0 o3; pack o1 o3",
                            "split l0 4 guard; pack o1 o3; pack o0 o3"}) {
    const Result<double> error = error_of(tree_after(kTaken, steps), dag, avx512(), "simplify", 1, 7);
    ASSERT_TRUE(error.ok()) << steps << ": " << error.error().message;
    EXPECT_LE(*error, 1e-5) << steps;
    const Result<Lowered> lowered = lower_until(tree_after(kTaken, steps), avx512(), "simplify");
    EXPECT_TRUE(parse_dag(to_text(lowered->packing)).ok()) << to_text(lowered->packing);
  }
}

constexpr const char* kBlocked = R"(
x = PLACEHOLDER [8]
w = PLACEHOLDER [8, 4] const
c(j) += (x[k]*w[k, j]) for j in 4, k in 8
out(j) = max(c[j], 0f) for j in 4
return out
)";
TEST(CacheWrite, AccumulatesOverBlocksAndTheEpilogueRunsOnTheLast) {
  EXPECT_EQ(after("simplify", kBlocked,
                  "split l1 2 guard; reorder l3 l4 l0; cache_write o2 l3; reverse_compute_at o3 l3; pack o1 o2"),
            R"(  for k.0 in 0 .. 4
    if (k.0 <= 0)
      for j in 0 .. 4
        c.acc[j] = 0f
    else
      for j in 0 .. 4
        c.acc[j] = c[j]
    for k.1 in 0 .. 2
      for j in 0 .. 4
        c.acc[j] = (c.acc[j] + (x[((k.0*2) + k.1)]*w.packed0[k.0, k.1, j]))
    for j in 0 .. 4
      c[j] = c.acc[j]
    if (k.0 >= 3)
      for j in 0 .. 4
        out[j] = max(c[j], 0f)
)");
}
TEST(Rfactor, CombinesTheLanesAfterTheReduction) {
  EXPECT_EQ(after("simplify", "x = PLACEHOLDER [3, 64]\ns(i) += x[i, k] for i in 3, k in 64\nreturn s\n",
                  "split l1 16 guard; rfactor l3; vectorize l3"),
            R"(  for i in 0 .. 3
    vector k.1 in 0 .. 16
      s.partial[0, k.1] = 0f
    for k.0 in 0 .. 4
      vector k.1 in 0 .. 16
        s.partial[0, k.1] = (s.partial[0, k.1] + x[i, ((k.0*16) + k.1)])
    vector k.1 in 0 .. 8
      s.8[k.1] = (s.partial[0, k.1] + s.partial[0, (k.1 + 8)])
    vector k.1 in 0 .. 4
      s.4[k.1] = (s.8[k.1] + s.8[(k.1 + 4)])
    vector k.1 in 0 .. 2
      s.2[k.1] = (s.4[k.1] + s.4[(k.1 + 2)])
    s[i] = (s.2[0] + s.2[1])
)");
}
TEST(Rfactor, CombinesLanesThatAreNoPowerOfTwo) {
  EXPECT_EQ(after("simplify", "x = PLACEHOLDER [12]\ns() max= x[k] for k in 12\nreturn s\n",
                  "split l0 6 guard; rfactor l2; vectorize l2"),
            R"(  vector k.1 in 0 .. 6
    s.partial[k.1] = -inff
  for k.0 in 0 .. 2
    vector k.1 in 0 .. 6
      s.partial[k.1] = max(s.partial[k.1], x[((k.0*6) + k.1)])
  vector k.1 in 0 .. 2
    s.4[k.1] = max(s.partial[k.1], s.partial[(k.1 + 4)])
  vector k.1 in 2 .. 4
    s.4[k.1] = s.partial[k.1]
  vector k.1 in 0 .. 2
    s.2[k.1] = max(s.4[k.1], s.4[(k.1 + 2)])
  s[] = max(s.2[0], s.2[1])
)");
}

TEST(Concat, IsTwoLoopsWithoutAChoice) {
  EXPECT_EQ(after("simplify", R"(
x = PLACEHOLDER [5]
y = PLACEHOLDER [7]
t(c) = select((c < 5), x[c], y[(c - 5)]) for c in 12
return t
)",
                  "split l0 4 guard; vectorize l2"),
            R"(  vector c.1 in 0 .. 4
    t[c.1] = x[c.1]
  t[4] = x[4]
  vector c.1 in 1 .. 4
    t[(c.1 + 4)] = y[(c.1 - 1)]
  vector c.1 in 0 .. 4
    t[(c.1 + 8)] = y[(c.1 + 3)]
)");
}

TEST(Concat, IsTwoLoopsWhereSomethingIsComputedOfItAsWell) {
  EXPECT_EQ(after("simplify", R"(
x = PLACEHOLDER [4]
y = PLACEHOLDER [8]
s = PLACEHOLDER [12]
t(c) = max((select((c < 4), x[c], y[(c - 4)]) * s[c]), select((c < 4), x[c], y[(c - 4)])) for c in 12
return t
)",
                  "split l0 4 guard; vectorize l2"),
            R"(  vector c.1 in 0 .. 4
    t[c.1] = max((x[c.1]*s[c.1]), x[c.1])
  for c.0 in 1 .. 3
    vector c.1 in 0 .. 4
      t[((c.0*4) + c.1)] = max((y[(((c.0*4) + c.1) - 4)]*s[((c.0*4) + c.1)]), y[(((c.0*4) + c.1) - 4)])
)");
}

/// The exponentials of 60 tensors of 8 elements (times 64, `rest`), one behind the other along c.
std::string many_parts(const std::string& rest = "", const std::string& more = "return t\n") {
  std::string placeholders, chosen = "x0[c" + rest + "]";
  for (int k = 0; k < 60; ++k) placeholders += fmt::format("x{} = PLACEHOLDER [8{}]\n", k, rest.empty() ? "" : ", 64");
  for (int k = 1; k < 60; ++k)
    chosen = fmt::format("select((c >= {}), x{}[(c - {}){}], {})", 8 * k, k, 8 * k, rest, chosen);
  return placeholders +
         fmt::format("t(c{}) = exp({}) for c in 480{}\n{}", rest, chosen, rest.empty() ? "" : ", d in 64", more);
}
std::ptrdiff_t count(const std::string& text, const std::string& part) {
  std::ptrdiff_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Concat, OfManyTensorsLeavesNoChoice) {
  const std::string program = after("simplify", many_parts().c_str(), "split l0 8 guard; vectorize l2");
  EXPECT_EQ(count(program, "select") + count(program, "if"), 0) << program;
}

TEST(Concat, OfMoreTensorsThanLoopsAreCutForReadsOneOfThemAtATime) {
  std::string placeholders, chosen = "x0[c]";
  for (int k = 0; k < 150; ++k) placeholders += fmt::format("x{} = PLACEHOLDER [8]\n", k);
  for (int k = 1; k < 150; ++k) chosen = fmt::format("select((c >= {}), x{}[(c - {})], {})", 8 * k, k, 8 * k, chosen);
  const std::string dag = placeholders + "t(c) = " + chosen + " for c in 1200\nreturn t\n";
  const std::string program = after("simplify", dag.c_str(), "split l0 8 guard; vectorize l2");
  EXPECT_EQ(count(program, "select"), 0) << program;
}

TEST(Concat, CopiesLittleOfWhatStandsBesideTheChoice) {
  const std::string dag = many_parts(", d", "s(c) += t[c, k] for c in 480, k in 64\nreturn s\n");
  EXPECT_EQ(count(after("simplify", dag.c_str(), "compute_at o60 l2"), "for k in"), 60);
  EXPECT_EQ(count(after("simplify", dag.c_str(), "compute_at o60 l2; unroll l3"), "unroll k in"), 1);
}

TEST(APart, WithMergedRowsHasTheStridesOfTheWhole) {
  const ComputeDag dag = *parse_dag(R"(x = PLACEHOLDER [1, 5, 7, 16]
y(n, i, j, c) = (x[n, i, j, c]*2f) for n in 1, i in 5, j in 7, c in 16
return y
)");
  const LoopTree tree = *replay(dag, *parse_steps("merge o1 1"));
  const Result<Lowered> part = lower(tree, avx512(), {1, 5, 7, 48});
  ASSERT_TRUE(part.ok()) << part.error().message;
  const std::vector<Buffer>& buffers = part->program.buffers;
  const auto y = std::find_if(buffers.begin(), buffers.end(), [](const Buffer& b) { return b.written; });
  EXPECT_EQ(y->extents, Shape({1, 35, 48}));
  EXPECT_EQ(lower(tree, avx512(), {1, 5, 9, 16}).error().message,
            "the output has dimensions merged that are not whole in the tensor that it is a part of");
}

TEST(EverySchedule, KeepsTheMeaningOfRandomDags) {
  const int cases = testing::random_cases(600);
  int lowered = 0, refused = 0;
  const char* from = std::getenv("WHET_SEED");
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 1;
  std::map<std::string, int> used;  // how often each primitive occurs in a schedule that was lowered
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(cases); ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const Steps steps = testing::random_steps(dag, rng, 60);
    const LoopTree tree = *replay(dag, steps);
    const char* pass = seed % 3 == 0 ? "generate" : seed % 3 == 1 ? "verify" : "spread_prefetches";
    const Result<double> error = error_of(tree, dag, avx512(), pass, static_cast<int>(seed % 3) + 1, seed);
    if (!error.ok() && is_refusal(error.error())) {
      ++refused;
      continue;
    }
    ++lowered;
    for (const Step& step : steps) ++used[to_text(step).substr(0, to_text(step).find(' '))];
    ASSERT_TRUE(error.ok()) << "seed " << seed << " after " << pass << ": " << error.error().message << "\n"
                            << to_text(steps) << "\n"
                            << to_text(dag) << "\n"
                            << to_text(tree);
    ASSERT_LT(*error, 1e-4) << "seed " << seed << " after " << pass << "\n"
                            << to_text(steps) << "\n"
                            << to_text(dag) << "\n"
                            << to_text(tree);
  }
  EXPECT_GE(lowered, cases * 11 / 12) << refused << " refused";
  for (const char* primitive : {"split",        "fuse",       "reorder",
                                "parallel",     "vectorize",  "unroll",
                                "bind",         "compute_at", "reverse_compute_at",
                                "compute_root", "inline",     "cache_read",
                                "cache_write",  "rfactor",    "pack",
                                "pad_storage",  "prefetch",   "pipeline",
                                "roll",         "tensorize",  "merge",
                                "winograd"})
    EXPECT_GE(used[primitive], cases / 300) << primitive;
}

}  // namespace
}  // namespace whet
