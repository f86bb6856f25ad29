// Sums across threads: what the pass makes of them, and what schedules compute with them.

#include "lower/gpu/reduce_threads.h"

#include <gtest/gtest.h>

#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "lower/testing/verify_passes.h"
#include "program/interpret.h"
#include "schedule/steps.h"
#include "tensor/compare.h"

namespace whet {
namespace gpu_reduce_threads_test {

constexpr const char* kSum = R"(
x = PLACEHOLDER [5, 40]
s(i) += x[i, r] for i in 5, r in 40
return s
)";
constexpr const char* kSoftmax = R"(
x = PLACEHOLDER [7, 250]
m(i) max= x[i, r] for i in 7, r in 250
e(i, j) = exp((x[i, j] - m[i])) for i in 7, j in 250
s(i) += e[i, r] for i in 7, r in 250
y(i, j) = (e[i, j]/s[i]) for i in 7, j in 250
return y
)";

Result<Lowered> lowered(const ComputeDag& dag, const std::string& steps, std::string_view pass) {
  const Target target = *parse_target("cuda -model=a100");
  WHET_TRY(const Steps parsed, parse_steps(steps));
  WHET_TRY(const LoopTree tree, replay(dag, parsed));
  return lower_until(tree, target, pass, testing::verify_gpu_passes(target));
}

/// The program after the pass, without its buffers; or the error.
std::string after(std::string_view pass, const char* text, const std::string& steps) {
  const Result<Lowered> program = lowered(*parse_dag(text), steps, pass);
  if (!program.ok()) return program.error().message;
  const std::string all = to_text(program->program);
  return all.substr(all.find("run\n") + 4);
}

/// The largest relative difference from the DAG, in three orders of blocks and threads. Negative: an error.
double difference(const char* text, const std::string& steps) {
  const ComputeDag dag = *parse_dag(text);
  const Result<Lowered> program = lowered(dag, steps, "simplify_unrolled");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  if (!program.ok()) return -1;
  Rng rng(3);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  const std::vector<Tensor> want = *evaluate(dag, inputs);
  double worst = 0;
  for (const auto order : {InterpretOptions::BlockOrder::forward, InterpretOptions::BlockOrder::backward,
                           InterpretOptions::BlockOrder::shuffled}) {
    std::vector<Tensor> arguments = {inputs[0], Tensor(want[0].dtype(), want[0].shape())};
    const Status run = interpret(program->program, arguments, {.blocks = order, .seed = 3});
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message + "\n" + to_text(program->program));
    if (!run.ok()) return -1;
    worst = std::max(worst, compare(arguments[1], want[0]).relative);
  }
  return worst;
}

/// A warp a row, four rows a block.
constexpr const char* kByWarp =
    "inline o2; split l6 4 guard; split l7 32 guard; bind l8 block; bind l9 thread; bind l11 thread; "
    "compute_at o3 l9 registers; split l13 32 guard; rfactor l15; bind l15 thread; "
    "compute_at o1 l9 registers; split l17 32 guard; rfactor l19; bind l19 thread";
/// A block of 96 threads a row.
constexpr const char* kByBlock =
    "inline o2; split l7 96 guard; bind l6 block; bind l9 thread; "
    "compute_at o3 l6 registers; split l11 96 guard; rfactor l13; bind l13 thread; "
    "compute_at o1 l6 registers; split l15 96 guard; rfactor l17; bind l17 thread";

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(ReduceThreads, AddsWhatNeighboursInAWarpHave) {
  const char* steps = "split l1 8 guard; rfactor l3; bind l0 block; bind l3 thread";
  EXPECT_EQ(after("map_threads", kSum, steps), R"(  block b in 0 .. 5
    thread t in 0 .. 32
      let i = b
      let r.1 = floormod(t, 8)
      s.partial[0, r.1] = 0f
      for r.0 in 0 .. 5
        let r.1 = floormod(t, 8)
        s.partial[0, r.1] = (s.partial[0, r.1] + x[i, ((r.0*8) + r.1)])
      s.total[] = 0f
      thread r.1 in 0 .. 8
        s.total[] = (s.total[] + s.partial[0, r.1])
      if (t == 0)
        s[i] = s.total[]
)");
  EXPECT_EQ(after("reduce_threads", kSum, steps), R"(  block b in 0 .. 5
    thread t in 0 .. 32
      let i = b
      let r.1 = floormod(t, 8)
      s.partial[0] = 0f
      for r.0 in 0 .. 5
        let r.1 = floormod(t, 8)
        s.partial[0] = (s.partial[0] + x[i, ((r.0*8) + r.1)])
      s.total[] = 0f
      s.total[] = s.partial[0]
      s.total.other[] = s.total[]  # of thread ^ 4
      s.total[] = (s.total[] + s.total.other[])
      s.total.other[] = s.total[]  # of thread ^ 2
      s.total[] = (s.total[] + s.total.other[])
      s.total.other[] = s.total[]  # of thread ^ 1
      s.total[] = (s.total[] + s.total.other[])
      if (t == 0)
        s[i] = s.total[]
)");
}
TEST(ReduceThreads, LetsIdleThreadsAddTheIdentity) {
  EXPECT_EQ(after("simplify", kSum,
                  "split l0 3 guard; split l1 2 guard; reorder l2 l3 l4 l5; rfactor l5; bind l2 block; bind l3 thread; "
                  "bind l5 thread"),
            R"(  block b in 0 .. 2
    thread t in 0 .. 32
      let i.1 = floordiv(t, 2)
      if (i.1 < 3)
        if ((i.1 + (b*3)) < 5)
          s.partial[0] = 0f
        for r.0 in 0 .. 20
          let r.1 = floormod(t, 2)
          if ((i.1 + (b*3)) < 5)
            s.partial[0] = (s.partial[0] + x[(i.1 + (b*3)), ((r.0*2) + r.1)])
      if (i.1 < 3) && ((i.1 + (b*3)) < 5)
        s.total[] = 0f
      s.total[] = select((i.1 < 3) && ((i.1 + (b*3)) < 5), s.partial[0], 0f)
      s.total.other[] = s.total[]  # of thread ^ 1
      s.total[] = (s.total[] + s.total.other[])
      if (i.1 < 3) && ((i.1 + (b*3)) < 5)
        if (floormod(t, 2) == 0)
          s[(i.1 + (b*3))] = s.total[]
)");
}
TEST(ReduceThreads, LetsWarpsMeetInBlockMemory) {
  const std::string text = after("place_barriers", kSum, "rfactor l1; bind l0 block; bind l1 thread");
  EXPECT_EQ(count(text, "thread t in 0 .. 64\n"), 1u) << "whole warps: " << text;
  EXPECT_NE(text.find(R"(
      if (floormod(t, 32) == 0)
        let q = floordiv(t, 32)
        s.total.warps[q] = s.total[]
      barrier block
      let q = floormod(t, 2)
      s.total[] = s.total.warps[q]
      s.total.other[] = s.total[]  # of thread ^ 1
      s.total[] = (s.total[] + s.total.other[])
      if (t == 0)
        s[b] = s.total[]
)"),
            std::string::npos)
      << text;
  EXPECT_EQ(count(text, "barrier block"), 1u) << text;
}
TEST(ReduceThreads, ComputesRowsByWarpAndByBlockInOneLaunch) {
  for (const char* steps : {kByWarp, kByBlock}) {
    const std::string text = after("place_barriers", kSoftmax, steps);
    EXPECT_EQ(count(text, "block b in"), 1u) << text;
    EXPECT_EQ(count(text, "barrier block"), steps == kByWarp ? 0u : 2u) << text;
    EXPECT_LT(difference(kSoftmax, steps), 1e-5) << text;
  }
}
TEST(ReduceThreads, KeepsARowInTheRegistersOfItsThreads) {
  // exp is computed once: each thread has every 32nd element, or four neighbours of every 128; or one of 250.
  for (const char* steps :
       {"split l6 4 guard; split l7 32 guard; bind l8 block; bind l9 thread; bind l11 thread; compute_at o3 l9 "
        "registers; split l13 32 guard; rfactor l15; bind l15 thread; compute_at o2 l9 registers; split l17 32 guard; "
        "bind l19 thread; compute_at o1 l9 registers; split l21 32 guard; rfactor l23; bind l23 thread",
        "split l6 4 guard; split l7 128 guard; split l11 4 guard; bind l8 block; bind l9 thread; bind l12 thread; "
        "vectorize l13; compute_at o3 l9 registers; split l15 128 guard; split l17 4 guard; rfactor l18; bind l18 "
        "thread; compute_at o2 l9 registers; split l21 128 guard; split l23 4 guard; bind l24 thread; vectorize l25; "
        "compute_at o1 l9 registers; split l27 32 guard; rfactor l29; bind l29 thread",
        "bind l6 block; bind l7 thread; compute_at o3 l6 registers; rfactor l9; bind l9 thread; compute_at o2 l6 "
        "registers; bind l11 thread; compute_at o1 l6 registers; rfactor l13; bind l13 thread"}) {
    const Result<Lowered> program = lowered(*parse_dag(kSoftmax), steps, "place_barriers");
    ASSERT_TRUE(program.ok()) << program.error().message;
    for (const Buffer& buffer : program->program.buffers) {
      const std::int64_t elements = buffer.scope == Scope::registers ? num_elements(buffer.extents) : 0;
      EXPECT_LE(elements, 8) << buffer.name;
    }
    EXPECT_EQ(count(to_text(program->program), "exp("), 1u);
    EXPECT_LT(difference(kSoftmax, steps), 1e-5);
  }
}
TEST(ReduceThreads, RepeatsASumInEachGroupOfMoreThreads) {
  // Readers have 40 threads a row, sums 32: two groups of 32 are one row.
  const char* steps =
      "inline o2; split l6 3 guard; split l7 40 guard; bind l8 block; bind l9 thread; bind l11 thread; "
      "compute_at o3 l9 registers; split l13 32 guard; rfactor l15; bind l15 thread; "
      "compute_at o1 l9 registers; split l17 16 guard; rfactor l19; bind l19 thread";
  const std::string text = after("simplify", kSoftmax, steps);
  EXPECT_EQ(count(text, "thread t in 0 .. 192\n"), 1u) << text;
  EXPECT_EQ(count(text, "let i.1 = floordiv(t, 64)\n"), 1u) << text;
  EXPECT_LT(difference(kSoftmax, steps), 1e-5) << text;
}
TEST(ReduceThreads, SumsInBlockMemoryAndInVectorsAndVirtualThreads) {
  // What is read is kept in block memory; two virtual threads have a row each.
  EXPECT_LT(
      difference(kSoftmax,
                 "inline o2; split l6 2 guard; split l7 32 guard; bind l8 block; bind l9 virtual; bind l11 thread; "
                 "compute_at o3 l8 block; split l13 32 guard; rfactor l15; bind l15 thread; "
                 "compute_at o1 l8 block; split l17 4 guard; rfactor l18; bind l18 thread"),
      1e-5);
  EXPECT_LT(difference(R"(
x = PLACEHOLDER [70, 24]
s(j) += x[r, j] for j in 24, r in 70
return s
)",
                       "split l0 4 guard; split l1 16 guard; reorder l2 l4 l5 l3; bind l2 block; rfactor l5; bind l5 "
                       "thread; vectorize l3"),
            1e-5);
}

}  // namespace gpu_reduce_threads_test
}  // namespace whet
