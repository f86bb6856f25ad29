// Lowering of DAGs with sizes: one program that is right at each of them.

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/testing/random_cases.h"
#include "lower/guards.h"
#include "lower/lower.h"
#include "lower/testing/arguments.h"
#include "lower/testing/random_schedule.h"
#include "lower/testing/verify_passes.h"
#include "program/interpret.h"
#include "schedule/steps.h"
#include "schedule/steps_for_sizes.h"

namespace whet {
namespace sized_lower_test {

Target wide() { return *parse_target("cpu -mcpu=skylake-avx512 -threads=2"); }
Target narrow() { return *parse_target("cpu -mcpu=haswell -threads=2"); }

LoopTree tree_after(const char* text, const char* steps) {
  const Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << (dag.ok() ? "" : dag.error().message);
  const Result<LoopTree> tree = replay(*dag, *parse_steps(steps));
  EXPECT_TRUE(tree.ok()) << (tree.ok() ? "" : tree.error().message);
  return *tree;
}

/// The program after `pass`, without its list of buffers.
std::string after(const char* pass, const char* text, const char* steps, const Target& target = wide()) {
  const Result<Lowered> lowered = lower_until(tree_after(text, steps), target, pass);
  if (!lowered.ok()) return lowered.error().message;
  const std::string program = to_text(lowered->program);
  return program.substr(program.find("run\n") + 4);
}

constexpr const char* kRow = R"(
n = SIZE 1..512 at 64
x = PLACEHOLDER [n]
y(i) = (x[i] + 1f) for i in n
return y
)";

constexpr const char* kProduct = R"(
n = SIZE 1..512 at 64
x = PLACEHOLDER [n, 24]
w = PLACEHOLDER [24, 64] const
c(i, j) += (x[i, r]*w[r, j]) for i in n, j in 64, r in 24
y(i, j) = max(c[i, j], 0f) for i in n, j in 64
return y
)";

TEST(Remainders, OfATileHaveACopyEach) {
  EXPECT_EQ(after("remainders", kRow, "split l0 4 guard; unroll l2"), R"(  let i.0.whole = floordiv(n, 4)
  for i.0 in 0 .. i.0.whole
    unroll i.1 in 0 .. 4
      y[((i.0*4) + i.1)] = (x[((i.0*4) + i.1)] + 1f)
  if ((n - (i.0.whole*4)) < 2)
    if ((n - (i.0.whole*4)) >= 1)
      unroll i.1 in 0 .. 4
        if (i.1 < 1)
          y[((i.0.whole*4) + i.1)] = (x[((i.0.whole*4) + i.1)] + 1f)
  else
    if ((n - (i.0.whole*4)) < 3)
      unroll i.1 in 0 .. 4
        if (i.1 < 2)
          y[((i.0.whole*4) + i.1)] = (x[((i.0.whole*4) + i.1)] + 1f)
    else
      unroll i.1 in 0 .. 4
        if (i.1 < 3)
          y[((i.0.whole*4) + i.1)] = (x[((i.0.whole*4) + i.1)] + 1f)
)");
}
TEST(Remainders, AreChosenInsideOfParallelLoops) {
  EXPECT_EQ(after("remainders", kRow, "split l0 2 guard; unroll l2; parallel l1"), R"(  let i.0.whole = floordiv(n, 2)
  parallel i.0 in 0 .. floordiv((n + 1), 2)
    if (i.0 < i.0.whole)
      unroll i.1 in 0 .. 2
        y[((i.0*2) + i.1)] = (x[((i.0*2) + i.1)] + 1f)
    else
      if ((n - (i.0.whole*2)) >= 1)
        unroll i.1 in 0 .. 2
          if (i.1 < 1)
            y[((i.0.whole*2) + i.1)] = (x[((i.0.whole*2) + i.1)] + 1f)
)");
}
TEST(Remainders, OfVectorsAreMaskedWhereMasksAreFree) {
  EXPECT_EQ(after("verify", kRow, "split l0 16 guard; vectorize l2"), R"(  let i.0.whole = floordiv(n, 16)
  for i.0 in 0 .. i.0.whole
    vector i.1 in 0 .. 16
      y[((i.0*16) + i.1)] = (x[((i.0*16) + i.1)] + 1f)
  if (n >= ((i.0.whole*16) + 1))
    vector i.1 in 0 .. 16
      if (((i.0.whole*16) + i.1) < n)
        y[((i.0.whole*16) + i.1)] = (x[((i.0.whole*16) + i.1)] + 1f)
)");
  EXPECT_EQ(after("verify", kRow, "split l0 2 guard; vectorize l2", narrow()), R"(  let i.0.whole = floordiv(n, 2)
  for i.0 in 0 .. i.0.whole
    vector i.1 in 0 .. 2
      y[((i.0*2) + i.1)] = (x[((i.0*2) + i.1)] + 1f)
  if (n >= ((i.0.whole*2) + 1))
    y[(i.0.whole*2)] = (x[(i.0.whole*2)] + 1f)
)");
}
TEST(Remainders, OfSeveralVectorsAreACopyForEachNumberOfVectors) {
  EXPECT_EQ(after("verify", kRow, "split l0 32 guard; vectorize l2"), R"(  let i.0.whole = floordiv(n, 32)
  for i.0 in 0 .. i.0.whole
    vector i.1 in 0 .. 32
      y[((i.0*32) + i.1)] = (x[((i.0*32) + i.1)] + 1f)
  if (n > (i.0.whole*32)) && (n <= ((i.0.whole*32) + 16))
    vector i.1 in 0 .. 16
      if (((i.0.whole*32) + i.1) < n)
        y[((i.0.whole*32) + i.1)] = (x[((i.0.whole*32) + i.1)] + 1f)
  if (n > ((i.0.whole*32) + 16))
    vector i.1 in 0 .. 32
      if (((i.0.whole*32) + i.1) < n)
        y[((i.0.whole*32) + i.1)] = (x[((i.0.whole*32) + i.1)] + 1f)
)");
}
TEST(Remainders, OfSeveralVectorsHaveNoCopyThatNoSizeRuns) {
  constexpr const char* kSteps = R"(
n = SIZE 16..496:32 at 48
x = PLACEHOLDER [n]
y(i) = (x[i] + 1f) for i in n
return y
)";
  const std::string program = after("remainders", kSteps, "split l0 64 guard; vectorize l2");
  EXPECT_NE(program.find("vector i.1 in 0 .. 16\n"), std::string::npos) << "16 are left\n" << program;
  EXPECT_EQ(program.find("vector i.1 in 0 .. 32\n"), std::string::npos) << "never 32\n" << program;
  EXPECT_NE(program.find("vector i.1 in 0 .. 48\n"), std::string::npos) << "48 are left\n" << program;
}

/// Stores with a mask, and without one; loads of a buffer under a mask.
struct StoreCounts {
  int masked = 0, whole = 0, loads = 0;
};
StoreCounts stores_of(const Program& program, std::string_view buffer) {
  StoreCounts counts;
  for_each(
      program.body,
      [&](const Stmt& s) {
        const Store* store = std::get_if<Store>(&s->kind);
        if (!store) return;
        ++(store->mask.defined() ? counts.masked : counts.whole);
        for_each(store->value, [&](const Expr& part) {
          const Load* load = std::get_if<Load>(&part->kind);
          const bool of_it = load && program.buffer(BufferId(load->source.value)).name == buffer;
          counts.loads += of_it && store->mask.defined();
        });
      },
      nullptr);
  return counts;
}

TEST(Vectors, OfATailReadWithoutAMaskWhatAllLanesShareAndWhatIsWhole) {
  constexpr const char* kOuter = R"(
n = SIZE 1..512 at 64
a = PLACEHOLDER [8]
b = PLACEHOLDER [n]
y(i, j) = (a[i]*b[j]) for i in 8, j in n
return y
)";
  const Result<Lowered> lowered =
      lower_until(tree_after(kOuter, "split l1 32 guard; vectorize l3"), wide(), "simplify_unrolled");
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  const StoreCounts a = stores_of(lowered->program, "a"), b = stores_of(lowered->program, "b");
  EXPECT_EQ(a.masked, 2) << "the last vector of a copy of one and of a copy of two\n" << to_text(lowered->program);
  EXPECT_EQ(a.whole, 3) << "two of a whole tile, and the first of two\n" << to_text(lowered->program);
  EXPECT_EQ(a.loads, 0) << to_text(lowered->program);
  EXPECT_EQ(b.loads, 2) << to_text(lowered->program);
}
TEST(Remainders, AreNoneWhereTheFactorDividesAtAllSizes) {
  constexpr const char* kEven = R"(
n = SIZE 1..64 at 3
x = PLACEHOLDER [(n*16)]
y(i) = (x[i] + 1f) for i in (n*16)
return y
)";
  EXPECT_EQ(after("verify", kEven, "split l0 16 guard; vectorize l2"), R"(  for i.0 in 0 .. n
    vector i.1 in 0 .. 16
      y[((i.0*16) + i.1)] = (x[((i.0*16) + i.1)] + 1f)
)");
}
TEST(Remainders, ThatNoStepOfTheSizeLeavesAreLeftOut) {
  constexpr const char* kSteps = R"(
n = SIZE 8..64:4 at 16
x = PLACEHOLDER [n]
y(i) = (x[i] + 1f) for i in n
return y
)";
  EXPECT_EQ(after("verify", kSteps, "split l0 4 guard; unroll l2; parallel l1"),
            R"(  parallel i.0 in 0 .. floordiv(n, 4)
    unroll i.1 in 0 .. 4
      y[((i.0*4) + i.1)] = (x[((i.0*4) + i.1)] + 1f)
)");
  EXPECT_EQ(after("verify", kSteps, "split l0 8 guard; unroll l2"), R"(  let i.0.whole = floordiv(n, 8)
  for i.0 in 0 .. i.0.whole
    unroll i.1 in 0 .. 8
      y[((i.0*8) + i.1)] = (x[((i.0*8) + i.1)] + 1f)
  if (n >= ((i.0.whole*8) + 4))
    unroll i.1 in 0 .. 4
      y[((i.0.whole*8) + i.1)] = (x[((i.0.whole*8) + i.1)] + 1f)
)");
}
TEST(Remainders, OfSerialTilesAreLoopsThatEndEarlier) {
  EXPECT_EQ(after("verify", kRow, "split l0 6 guard"), R"(  for i.0 in 0 .. floordiv((n + 5), 6)
    for i.1 in 0 .. min((n - (i.0*6)), 6)
      y[((i.0*6) + i.1)] = (x[((i.0*6) + i.1)] + 1f)
)");
}

constexpr const char* kPadded = R"(
n = SIZE 4..512 at 64
x = PLACEHOLDER [n]
y(i) += select(((i + r) >= 1) && ((i + r) < (n + 1)), x[((i + r) - 1)], 0f) for i in n, r in 3
return y
)";

TEST(Interiors, TestNothingBetweenThePaddings) {
  const std::string program = after("verify", kPadded, "split l0 4 guard; reorder l2 l1 l3; unroll l3");
  const std::size_t middle = program.find("  for i.0 in 1 .. i.0.whole\n");
  ASSERT_NE(middle, std::string::npos) << program;
  constexpr std::string_view kMiddle = R"(  for i.0 in 1 .. i.0.whole
    unroll i.1 in 0 .. 4
      y[((i.0*4) + i.1)] = 0f
    for r in 0 .. 3
      unroll i.1 in 0 .. 4
        y[((i.0*4) + i.1)] = (y[((i.0*4) + i.1)] + x[((((i.0*4) + r) + i.1) - 1)])
)";
  EXPECT_EQ(program.substr(middle, kMiddle.size()), kMiddle) << program;
}

/// How many sums over `r` ask for the size.
int sums_that_ask(const Program& program) {
  int count = 0;
  for_each(
      program.body,
      [&](const Stmt& s) {
        const Loop* loop = std::get_if<Loop>(&s->kind);
        if (loop == nullptr || loop->name != "r") return;
        bool asks = false;
        for_each(
            loop->body,
            [&](const Stmt& part) {
              const If* choice = std::get_if<If>(&part->kind);
              asks = asks || (choice != nullptr && has_size(choice->condition));
            },
            nullptr);
        count += asks;
      },
      nullptr);
  return count;
}

/// The last tile has a copy for each number of its places, a whole tile among them, and knows in each where the padding begins.
TEST(Interiors, KnowThePaddingOfTheLastTileInEachOfItsCopies) {
  constexpr const char* kTiles = "split l0 4 guard; reorder l2 l1 l3; unroll l3";
  for (const std::string shared : {"", "; parallel l2"}) {
    const std::string steps = kTiles + shared;
    const Result<Lowered> lowered = lower_until(tree_after(kPadded, steps.c_str()), wide(), "verify");
    ASSERT_TRUE(lowered.ok()) << lowered.error().message;
    EXPECT_EQ(sums_that_ask(lowered->program), 0) << to_text(lowered->program);
  }
  std::string one = kPadded;
  one.replace(one.find("4..512 at 64"), 12, "1..4 at 4");
  const Result<Lowered> lowered = lower_until(tree_after(one.c_str(), kTiles), wide(), "verify");
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(sums_that_ask(lowered->program), 0) << to_text(lowered->program);
}

TEST(Interiors, BeginWherePaddingEndsThoughNoTileMayBeWhole) {
  std::string padded = kPadded;
  padded.replace(padded.find("4..512"), 6, "1..512");
  const std::string program = after("verify", padded.c_str(), "split l0 4 guard; reorder l2 l1 l3; unroll l3");
  EXPECT_NE(program.find("  for i.0 in 1 .. i.0.whole\n"), std::string::npos) << program;
}

std::int64_t stores_in(const Program& program) {
  std::int64_t count = 0;
  for_each(program.body, [&](const Stmt& s) { count += std::holds_alternative<Store>(s->kind); }, nullptr);
  return count;
}

TEST(Remainders, LeaveNothingToCut) {
  const LoopTree tree = tree_after(kProduct,
                                   "split l0 8 guard; split l1 32 guard; reorder l7 l5 l2 l6 l8; "
                                   "reverse_compute_at o3 l5 registers; unroll l6; vectorize l8; unroll l9; vectorize "
                                   "l10; parallel l7");
  std::map<std::string, std::int64_t> stores;
  const Result<Lowered> lowered = lower(tree, wide(), {}, [&](std::string_view pass, const Program& program) {
    stores[std::string(pass)] = stores_in(program);
    return ok_status();
  });
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(stores["remainders"], 8 * stores["generate"]);
  EXPECT_EQ(stores["resolve_guards"], stores["remainders"]);
}

/// Arguments and outputs at sizes.
struct Ran {
  std::vector<Tensor> arguments;
  double error = 0;
};
Result<Ran> run_at(const Lowered& lowered, const ComputeDag& exact, const std::vector<Tensor>& inputs,
                   const SizeValues& sizes, int workers) {
  WHET_TRY(std::vector<Tensor> arguments, testing::arguments_of(lowered, exact, inputs, sizes));
  WHET_RETURN_IF_ERROR(interpret(lowered.program, arguments, {.workers = workers}));
  WHET_TRY(const double error, testing::worst_output(lowered, exact, inputs, arguments));
  return Ran{std::move(arguments), error};
}

std::vector<Tensor> outputs_of(const Lowered& lowered, const std::vector<Tensor>& arguments) {
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < arguments.size(); ++k)
    if (lowered.arguments[k].kind == KernelArgument::Kind::output) outputs.push_back(arguments[k]);
  return outputs;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].bytes() != b[k].bytes() ||
        std::memcmp(a[k].data(), b[k].data(), static_cast<std::size_t>(a[k].bytes())) != 0)
      return false;
  return true;
}

bool is_refusal(const Error& error) { return error.kind == ErrorKind::unsupported || error.kind == ErrorKind::limit; }

TEST(EverySizedSchedule, KeepsTheMeaningAtEverySize) {
  const int cases = testing::random_cases(200);
  int lowered_ones = 0, compared = 0;
  for (int seed = 0; seed < cases; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed) + 7000);
    const ComputeDag dag = testing::random_sized_dag(rng);
    const Steps steps = testing::random_steps(dag, rng, 40);
    const Target target = seed % 2 == 0 ? wide() : narrow();
    const char* const pass = seed % 3 == 0 ? "verify" : "simplify_unrolled";
    const Result<LoopTree> tree = replay(dag, steps);
    ASSERT_TRUE(tree.ok()) << tree.error().message;
    const Result<Lowered> lowered = lower_until(*tree, target, pass, testing::verify_pass);
    if (!lowered.ok() && is_refusal(lowered.error())) continue;
    ASSERT_TRUE(lowered.ok()) << "seed " << seed << ": " << lowered.error().message << "\n"
                              << to_text(steps) << "\n"
                              << to_text(dag);
    ++lowered_ones;
    for (const SizeValues& values : testing::some_values(lowered->program.sizes, rng)) {
      const std::string place = "seed " + std::to_string(seed) + ", first size " + std::to_string(values[0]) + "\n" +
                                to_text(steps) + "\n" + to_text(dag);
      const ComputeDag exact = dag_at(dag, values);
      const std::vector<Tensor> inputs = testing::random_inputs(exact, rng);
      const Result<Ran> ran = run_at(*lowered, exact, inputs, values, 1 + seed % 3);
      ASSERT_TRUE(ran.ok()) << ran.error().message << "\n" << place << to_text(lowered->program);
      ASSERT_LT(ran->error, 1e-4) << place << to_text(lowered->program);
      const Result<LoopTree> exact_tree = replay(exact, steps);
      if (!exact_tree.ok()) continue;  // a tile is larger than the axis
      const Result<Lowered> exact_lowered = lower_until(*exact_tree, target, pass);
      if (!exact_lowered.ok()) continue;
      const Result<Ran> exact_ran = run_at(*exact_lowered, exact, inputs, {}, 1 + seed % 3);
      ASSERT_TRUE(exact_ran.ok()) << exact_ran.error().message << place;
      EXPECT_TRUE(same_bits(outputs_of(*lowered, ran->arguments), outputs_of(*exact_lowered, exact_ran->arguments)))
          << place;
      ++compared;
    }
  }
  EXPECT_GE(lowered_ones, cases / 2);
  EXPECT_GE(compared, 2 * cases);
}

TEST(EverySizedSchedule, ComesOfAScheduleOfOneSize) {
  const int cases = testing::random_cases(100);
  int right = 0;
  for (int seed = 0; seed < cases; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed) + 8000);
    const ComputeDag dag = testing::random_sized_dag(rng);
    const Result<Steps> steps = steps_for_sizes(dag, testing::random_steps(dag_at(dag, dag.at), rng, 40));
    if (!steps.ok()) continue;
    const Result<LoopTree> tree = replay(dag, *steps);
    ASSERT_TRUE(tree.ok()) << tree.error().message;
    const Result<Lowered> lowered = lower(*tree, seed % 2 == 0 ? wide() : narrow(), {}, testing::verify_pass);
    if (!lowered.ok() && is_refusal(lowered.error())) continue;
    ASSERT_TRUE(lowered.ok()) << "seed " << seed << ": " << lowered.error().message;
    EXPECT_EQ(lowered->program.sizes, dag.sizes) << "no size is left out";
    for (const SizeValues& values : testing::some_values(dag.sizes, rng)) {
      const ComputeDag exact = dag_at(dag, values);
      const Result<Ran> ran = run_at(*lowered, exact, testing::random_inputs(exact, rng), values, 1 + seed % 3);
      ASSERT_TRUE(ran.ok()) << "seed " << seed << ": " << ran.error().message << "\n"
                            << to_text(*steps) << "\n"
                            << to_text(dag);
      ASSERT_LT(ran->error, 1e-4) << "seed " << seed << "\n" << to_text(*steps) << "\n" << to_text(dag);
    }
    ++right;
  }
  EXPECT_GE(right, cases / 2);
}

TEST(EverySizedSchedule, OfATileIsRightAtAllSizes) {
  const ComputeDag dag = *parse_dag(kProduct);
  for (const char* steps :
       {"split l0 8 guard; split l1 32 guard; reorder l7 l5 l2 l6 l8; cache_write o2 l5; unroll l6; "
        "vectorize l8",
        "split l0 3 overlap; split l3 16 guard; split l8 4 guard; unroll l10",
        "split l3 8 guard; split l4 16 guard; reorder l5 l7 l6 l8; fuse l5 l7; parallel l9; unroll "
        "l6; vectorize l8"}) {
    const Result<LoopTree> tree = replay(dag, *parse_steps(steps));
    ASSERT_TRUE(tree.ok()) << steps << ": " << tree.error().message;
    const Result<Lowered> lowered = lower(*tree, wide(), {}, testing::verify_pass);
    ASSERT_TRUE(lowered.ok()) << lowered.error().message;
    for (std::int64_t n = lowered->program.sizes[0].min; n <= 512; n += n < 34 ? 1 : 239) {
      Rng rng(static_cast<std::uint64_t>(n));
      const ComputeDag exact = dag_at(dag, {n});
      const Result<Ran> ran = run_at(*lowered, exact, testing::random_inputs(exact, rng), {n}, 2);
      ASSERT_TRUE(ran.ok()) << n << ": " << ran.error().message;
      ASSERT_LT(ran->error, 1e-4) << n;
    }
  }
}

/// Of columns in two vectors the second may be empty; the first column is there, and reads what all read.
TEST(Vectors, ReadWhatTheirLanesShareOnceThoughNoLaneMayBeTaken) {
  const std::string program = after("vectorize", R"(
n = SIZE 1..32 at 32
x = PLACEHOLDER [4, 24]
w = PLACEHOLDER [24, n]
c(i, j) += (x[i, k]*w[k, j]) for i in 4, j in n, k in 24
return c
)",
                                    "split l1 32 guard; reorder l0 l3 l2 l4; vectorize l4");
  std::size_t shared = 0;
  for (std::size_t at = 0; (at = program.find("let shared", at)) != std::string::npos; ++at) ++shared;
  EXPECT_EQ(shared, 2u) << program;
}

/// Loops over all of a size are unrolled in the schedule of its largest value.
TEST(EverySizedSchedule, ThatUnrollsAllOfASmallSizeIsRightAtAllSizes) {
  const ComputeDag dag = *parse_dag(R"(
n = SIZE 2..3 at 3
p0 = PLACEHOLDER [4, n, n]
softmax_max(i0, i1) max= p0[i0, i1, r] for i0 in 4, i1 in n, r in n
softmax_exp(i0, i1, i2) = exp((p0[i0, i1, i2] - softmax_max[i0, i1])) for i0 in 4, i1 in n, i2 in n
softmax_sum(i0, i1) += softmax_exp[i0, i1, r] for i0 in 4, i1 in n, r in n
softmax(i0, i1, i2) = (softmax_exp[i0, i1, i2]*(1f/softmax_sum[i0, i1])) for i0 in 4, i1 in n, i2 in n
return softmax
)");
  const Result<Steps> steps = steps_for_sizes(
      dag, *parse_steps(
               "split l10 2 overlap; reorder l9 l12 l13; fuse l9 l12; compute_at o3 l14 registers; compute_at o2 l14; "
               "compute_at o1 l14 registers; reorder l11 l13; unroll l13; parallel l14; reorder l21 l23 l22; "
               "unroll l22; reorder l18 l20 l19; unroll l19; reorder l15 l17 l16; unroll l16"));
  ASSERT_TRUE(steps.ok()) << steps.error().message;
  const Result<LoopTree> tree = replay(dag, *steps);
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const Result<Lowered> lowered = lower(*tree, wide(), {}, testing::verify_pass);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message << "\n" << to_text(*steps);
  for (const std::int64_t n : {2, 3}) {
    Rng rng(static_cast<std::uint64_t>(n));
    const ComputeDag exact = dag_at(dag, {n});
    const Result<Ran> ran = run_at(*lowered, exact, testing::random_inputs(exact, rng), {n}, 2);
    ASSERT_TRUE(ran.ok()) << n << ": " << ran.error().message;
    ASSERT_LT(ran->error, 1e-4) << n;
  }
}

/// How many statements choose between two.
int choices_in(const Stmt& s) {
  int count = 0;
  for_each(s, [&](const Stmt& part) { count += std::holds_alternative<If>(part->kind); }, nullptr);
  return count;
}

/// Tiles of four rows by 32 columns, whose sums are in registers: rows outermost, or columns.
constexpr const char* kRowsFirst =
    "split l0 4 guard; split l1 32 guard; reorder l5 l7 l2 l6 l8; reverse_compute_at o3 l7 registers; unroll l6; "
    "vectorize l8; unroll l9; vectorize l10";
constexpr const char* kColumnsFirst =
    "split l0 4 guard; split l1 32 guard; reorder l7 l5 l2 l6 l8; reverse_compute_at o3 l5 registers; unroll l6; "
    "vectorize l8; unroll l9; vectorize l10";
std::string fused(const std::string& loops) {
  return "split l0 4 guard; split l1 32 guard; reorder " + loops + " l2 l6 l8; fuse " + loops +
         "; reverse_compute_at o3 l9 registers; unroll l6; vectorize l8; unroll l10; vectorize l11; parallel l9";
}

/// Rows of four texts, one behind the other: a tile of four rows is whole at all sizes.
TEST(Remainders, AreNoneOfTilesThatDivideEachStepOfASize) {
  std::string texts = kProduct;
  texts.replace(texts.find("1..512 at 64"), 12, "4..32:4 at 32");
  for (const std::string& steps :
       {std::string(kRowsFirst), std::string(kRowsFirst) + "; parallel l5", fused("l5 l7")}) {
    const Result<Lowered> lowered = lower_until(tree_after(texts.c_str(), steps.c_str()), wide(), "verify");
    ASSERT_TRUE(lowered.ok()) << steps << ": " << lowered.error().message;
    EXPECT_EQ(choices_in(lowered->program.body), 0) << to_text(lowered->program);
  }
}

TEST(EverySizedSchedule, OfAPaddedRowIsRightAtAllSizes) {
  for (const auto& [range, most] : {std::pair("4..512 at 64", 512), {"1..4 at 4", 4}, {"4..36:4 at 36", 36}}) {
    std::string row = kPadded;
    row.replace(row.find("4..512 at 64"), 12, range);
    const ComputeDag dag = *parse_dag(row);
    for (const char* steps :
         {"split l0 4 guard; reorder l2 l1 l3; unroll l3", "split l0 4 guard; reorder l2 l1 l3; unroll l3; parallel l2",
          "split l0 4 guard; reorder l2 l1 l3; vectorize l3"}) {
      const Result<LoopTree> tree = replay(dag, *parse_steps(steps));
      ASSERT_TRUE(tree.ok()) << steps << ": " << tree.error().message;
      const Result<Lowered> lowered = lower(*tree, wide(), {}, testing::verify_pass);
      ASSERT_TRUE(lowered.ok()) << range << ", " << steps << ": " << lowered.error().message;
      const SizeRange& size = lowered->program.sizes[0];
      for (std::int64_t n = size.min; n <= most; n += n < 20 ? size.step : 4 * size.step + (most > 36 ? 1 : 0)) {
        Rng rng(static_cast<std::uint64_t>(n));
        const ComputeDag exact = dag_at(dag, {n});
        const Result<Ran> ran = run_at(*lowered, exact, testing::random_inputs(exact, rng), {n}, 2);
        ASSERT_TRUE(ran.ok()) << n << ": " << ran.error().message;
        ASSERT_LT(ran->error, 1e-5) << range << ", " << steps << ", at " << n;
      }
    }
  }
}

/// Pictures of one size, of which there are as many as the size says.
TEST(EverySizedSchedule, OfWinogradsAlgorithmIsRightForAnyNumberOfPictures) {
  constexpr const char* kPictures = R"(
n = SIZE 1..5 at 3
x = PLACEHOLDER [n, 9, 8, 4]
w = PLACEHOLDER [3, 3, 4, 16] const
c(b, i, j, o) += (x[b, (i + r), (j + s), k]*w[r, s, k, o]) for b in n, i in 7, j in 6, o in 16, r in 3, s in 3, k in 4
y(b, i, j, o) = max(c[b, i, j, o], 0f) for b in n, i in 7, j in 6, o in 16
return y
)";
  const ComputeDag dag = *parse_dag(kPictures);
  for (const char* step : {"winograd o2 2", "winograd o2 4"}) {
    const Result<Steps> steps = steps_for_sizes(dag, *parse_steps(step));
    ASSERT_TRUE(steps.ok()) << step << ": " << steps.error().message;
    const Result<LoopTree> tree = replay(dag, *steps);
    ASSERT_TRUE(tree.ok()) << tree.error().message;
    const Result<Lowered> lowered = lower(*tree, wide(), {}, testing::verify_pass);
    ASSERT_TRUE(lowered.ok()) << step << ": " << lowered.error().message;
    EXPECT_EQ(lowered->program.sizes, dag.sizes);
    for (std::int64_t n = 1; n <= 5; ++n) {
      Rng rng(static_cast<std::uint64_t>(n));
      const ComputeDag exact = dag_at(dag, {n});
      const Result<Ran> ran = run_at(*lowered, exact, testing::random_inputs(exact, rng), {n}, 2);
      ASSERT_TRUE(ran.ok()) << n << ": " << ran.error().message;
      ASSERT_LT(ran->error, 1e-3) << step << ", " << n << " pictures";
    }
  }
}

/// Of the largest size all is one tile: no index counts tiles, and yet no sum is taken under a condition on the size.
TEST(Remainders, OfTheOnlyTileAreChosenOutsideOfItsSums) {
  std::string few = kProduct;
  few.replace(few.find("1..512 at 64"), 12, "1..4 at 4");
  const ComputeDag dag = *parse_dag(few);
  for (const std::string& steps :
       {std::string(kColumnsFirst), std::string(kColumnsFirst) + "; parallel l7", fused("l7 l5")}) {
    const Result<Lowered> verified = lower_until(tree_after(few.c_str(), steps.c_str()), wide(), "verify");
    ASSERT_TRUE(verified.ok()) << steps << ": " << verified.error().message;
    int sums = 0, choices = 0;
    for_each(
        verified->program.body,
        [&](const Stmt& s) {
          const Loop* loop = std::get_if<Loop>(&s->kind);
          if (loop != nullptr && loop->name == "r") ++sums, choices += choices_in(loop->body);
        },
        nullptr);
    EXPECT_EQ(sums, 4) << "a copy for each number of rows\n" << to_text(verified->program);
    EXPECT_EQ(choices, 0) << to_text(verified->program);
    const Result<Lowered> lowered = lower(tree_after(few.c_str(), steps.c_str()), wide(), {}, testing::verify_pass);
    ASSERT_TRUE(lowered.ok()) << lowered.error().message;
    for (std::int64_t n = 1; n <= 4; ++n) {
      Rng rng(static_cast<std::uint64_t>(n));
      const ComputeDag exact = dag_at(dag, {n});
      const Result<Ran> ran = run_at(*lowered, exact, testing::random_inputs(exact, rng), {n}, 2);
      ASSERT_TRUE(ran.ok()) << n << ": " << ran.error().message;
      ASSERT_LT(ran->error, 1e-4) << n;
    }
  }
}

/// A picture that is enlarged by two, its rows shared out together with the pictures.
TEST(EverySizedSchedule, OfAnEnlargedPictureIsProven) {
  constexpr const char* kEnlarged = R"(
h = SIZE 4..64 at 64
w = SIZE 4..64 at 64
x = PLACEHOLDER [3, h, w, 8]
y(b, i, j, c) = x[b, floordiv(i, 2), floordiv(j, 2), c] for b in 3, i in (h*2), j in (w*2), c in 8
return y
)";
  const ComputeDag dag = *parse_dag(kEnlarged);
  for (const char* steps :
       {"split l2 4 guard; reorder l0 l1 l4 l5 l3; unroll l5; vectorize l3; fuse l0 l1; parallel l6",
        "split l2 16 guard; fuse l0 l1 l4; unroll l5; parallel l6"}) {
    const Result<LoopTree> tree = replay(dag, *parse_steps(steps));
    ASSERT_TRUE(tree.ok()) << steps << ": " << tree.error().message;
    const Result<Lowered> lowered = lower(*tree, wide(), {}, testing::verify_pass);
    ASSERT_TRUE(lowered.ok()) << steps << ": " << lowered.error().message;
    for (const SizeValues& values : {SizeValues{4, 4}, {5, 7}, {13, 9}}) {
      Rng rng(1);
      const ComputeDag exact = dag_at(dag, values);
      const Result<Ran> ran = run_at(*lowered, exact, testing::random_inputs(exact, rng), values, 2);
      ASSERT_TRUE(ran.ok()) << ran.error().message;
      ASSERT_LT(ran->error, 1e-6);
    }
  }
}

/// Rows of a longer tensor: what lies beside them stays.
TEST(EverySizedSchedule, WritesAPartOfALongerTensor) {
  const ComputeDag dag = *parse_dag(kProduct);
  const Result<LoopTree> tree = replay(
      dag,
      *parse_steps("split l3 8 guard; split l4 32 guard; reorder l5 l7 l6 l8; unroll l6; vectorize l8; parallel l5"));
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const Result<Lowered> lowered = lower(*tree, wide(), {512, 96}, testing::verify_pass);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  for (const std::int64_t n : {1, 8, 13, 512}) {
    Rng rng(static_cast<std::uint64_t>(n));
    const ComputeDag exact = dag_at(dag, {n});
    const std::vector<Tensor> inputs = testing::random_inputs(exact, rng);
    std::vector<Tensor> arguments = testing::arguments_of(*lowered, exact, inputs, {n}).value();
    arguments.back() = Tensor(DType::f32, {n, 96});
    for (std::int64_t k = 0; k < n * 96; ++k) arguments.back().set(k, -7);
    const Status ran = interpret(lowered->program, arguments, {.workers = 2});
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    const Tensor want = evaluate(exact, inputs).value().front();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < 96; ++j)
        ASSERT_NEAR(arguments.back().get(i * 96 + j), j < 64 ? want.get(i * 64 + j) : -7, 1e-4) << i << ", " << j;
  }
}

TEST(Lower, OfSizesNeedsACpu) {
  const LoopTree tree = tree_after(kRow, "");
  EXPECT_EQ(lower(tree, *parse_target("cuda -arch=sm_86 -sms=7")).error().message,
            "cuda has no sized kernels; name the sizes");
  EXPECT_EQ(lower(tree, wide(), {1024}).error().message,
            "an output with sizes is a part of a tensor only along its last axis, which has one extent at all sizes");
  const Result<Lowered> lowered = lower(tree, wide());
  ASSERT_TRUE(lowered.ok());
  ASSERT_EQ(lowered->arguments.size(), 3u);
  EXPECT_EQ(lowered->arguments[0].kind, KernelArgument::Kind::sizes);
  EXPECT_EQ(lowered->arguments[1].type, (TensorType{DType::f32, {512}}));
}

}  // namespace sized_lower_test
}  // namespace whet
