// The passes that make launches: sink_virtual, map_threads, place_barriers.

#include "lower/gpu/map_threads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lower/lower.h"
#include "schedule/steps.h"

namespace whet {
namespace gpu_map_threads_test {

/// The program after `pass` without its list of buffers, or the error.
std::string after(std::string_view pass, const std::string& text, const std::string& steps,
                  const char* model = "cuda -model=a100") {
  const Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << (dag.ok() ? "" : dag.error().message);
  const Result<LoopTree> tree = replay(*dag, *parse_steps(steps));
  EXPECT_TRUE(tree.ok()) << (tree.ok() ? "" : tree.error().message);
  const Result<Lowered> lowered = lower_until(*tree, *parse_target(model), pass);
  if (!lowered.ok()) return lowered.error().message;
  const std::string program = to_text(lowered->program);
  return program.substr(program.find("run\n") + 4);
}

std::int64_t count(const std::string& text, std::string_view what) {
  std::int64_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

constexpr const char* kRows = R"(
x = PLACEHOLDER [20, 24]
y(i, j) = (x[i, j] + 1f) for i in 20, j in 24
return y
)";

/// 20 x 36 from 20 x 24 and 24 x 36, with copies of both operands.
constexpr const char* kProduct = R"(
a = PLACEHOLDER [20, 24]
b = PLACEHOLDER [24, 36]
c(i, j) += (a[i, r]*b[r, j]) for i in 20, j in 36, r in 24
out(i, j) = (c[i, j]*0.5f) for i in 20, j in 36
return out
)";
/// Blocks of 8 by 12, threads of 8 by 3 with four virtual ones each; both copies in block memory, six steps of r at a time.
constexpr const char* kTiled =
    "cache_read o0 o2; cache_read o1 o3; split l7 8 guard; split l8 12 guard; split l12 3 guard; "
    "reorder l9 l11 l13 l10 l14; bind l9 block; bind l11 block; bind l13 virtual; bind l10 thread; bind l14 thread; "
    "compute_at o4 l14 registers; split l17 6 guard; reorder l18 l15 l16 l19; compute_at o2 l18 block; split l20 4 "
    "guard; "
    "reorder l22 l23 l21; bind l23 thread; bind l21 thread; compute_at o3 l18 block; bind l24 thread; bind l25 thread";

TEST(MapThreads, MakesTheLoopsOfALaunchAndIdleThreads) {
  EXPECT_EQ(after("map_threads", kRows, "bind l0 block; bind l1 thread"), R"(  block b in 0 .. 20
    thread t in 0 .. 32
      let i = b
      let j = t
      if (j < 24)
        y[i, j] = (x[i, j] + 1f)
)");
}
TEST(MapThreads, CountsTheInnermostDigitFastest) {
  EXPECT_EQ(after("map_threads", kRows,
                  "split l0 5 guard; split l1 6 guard; reorder l2 l4 l3 l5; bind l2 block; bind l4 block; bind l3 "
                  "thread; bind l5 thread"),
            R"(  block b in 0 .. 16
    thread t in 0 .. 32
      let i.0 = floordiv(b, 4)
      let j.0 = floormod(b, 4)
      let i.1 = floordiv(t, 6)
      if (i.1 < 5)
        let j.1 = floormod(t, 6)
        y[((i.0*5) + i.1), ((j.0*6) + j.1)] = (x[((i.0*5) + i.1), ((j.0*6) + j.1)] + 1f)
)");
}
TEST(MapThreads, RunsWhatIsBoundToNothingOnOneThread) {
  EXPECT_EQ(after("map_threads", R"(
x = PLACEHOLDER [24]
s() += x[r] for r in 24
return s
)",
                  ""),
            R"(  block b in 0 .. 1
    thread t in 0 .. 32
      if (t == 0)
        s[] = 0f
      for r in 0 .. 24
        if (t == 0)
          s[] = (s[] + x[r])
)");
}
TEST(MapThreads, PutsAGridBarrierBetweenLaunches) {
  const std::string two =
      after("map_threads", kProduct, "bind l0 block; bind l1 thread; bind l3 block; bind l4 thread");
  EXPECT_EQ(count(two, "block b"), 2) << two;
  EXPECT_EQ(count(two, "\n  barrier\n"), 1) << two;
}
TEST(MapThreads, RefusesMemoryOfAThreadThatOthersUse) {
  EXPECT_EQ(after("map_threads", kProduct,
                  "split l3 5 guard; bind l5 block; compute_at o2 l5 registers; bind l8 thread; bind l6 thread"),
            "map_threads: c is memory of one thread, but several threads use it; compute it in block memory");
}
TEST(MapThreads, SpreadsWhatEachThreadReadsOfItsOwn) {
  EXPECT_EQ(
      after("simplify", kProduct,
            "split l4 16 guard; bind l3 block; bind l6 thread; compute_at o2 l3 registers; split l8 16 guard; bind "
            "l11 thread"),
      R"(  block b in 0 .. 20
    thread t in 0 .. 32
      for j.0 in 0 .. 3
        if (t < 16)
          if (((j.0*16) + t) < 36)
            c[0, j.0] = 0f
          for r in 0 .. 24
            if (((j.0*16) + t) < 36)
              c[0, j.0] = (c[0, j.0] + (a[b, r]*b[r, ((j.0*16) + t)]))
      for j.0 in 0 .. 3
        if (t < 16)
          if (((j.0*16) + t) < 36)
            out[b, ((j.0*16) + t)] = (c[0, j.0]*0.5f)
)");
}
TEST(MapThreads, RefusesBlocksThatAreNotDirectlyInsideEachOther) {
  EXPECT_EQ(after("map_threads", kProduct, "bind l3 block; bind l4 block; compute_at o2 l3 registers"),
            "map_threads: the block loop j is not directly inside the blocks around it");
}
TEST(MapThreads, NumbersTheThreadsOfACopyForItself) {
  const std::string tiled = after("map_threads", kProduct, kTiled);
  EXPECT_NE(tiled.find("thread t in 0 .. 96"), std::string::npos) << tiled;
  EXPECT_NE(tiled.find("let i0.1 = floordiv(t, 6)"), std::string::npos) << tiled;
  EXPECT_NE(tiled.find("let i0 = floordiv(t, 12)"), std::string::npos) << tiled;
  EXPECT_NE(tiled.find("let i.1 = floordiv(t, 3)"), std::string::npos) << tiled;
}

TEST(MapThreads, SumsPartsInALaunchThatHoldsTheirReader) {
  const std::string text = after("simplify", kProduct,
                                 "split_sum o2 2 3; bind l0 block; bind l1 block; bind l2 thread; bind l7 block; bind "
                                 "l8 thread; compute_at o3 l8 registers");
  EXPECT_EQ(text, R"(  block b in 0 .. 60
    thread t in 0 .. 64
      let r_part = floordiv(b, 20)
      let i = floormod(b, 20)
      if (t < 36)
        c_parts[r_part, i, t] = 0f
        for r in 0 .. 8
          c_parts[r_part, i, t] = (c_parts[r_part, i, t] + (a[i, ((r_part*8) + r)]*b[((r_part*8) + r), t]))
  barrier
  block b in 0 .. 20
    thread t in 0 .. 64
      if (t < 36)
        c[0, 0] = 0f
        for r_part in 0 .. 3
          c[0, 0] = (c[0, 0] + c_parts[r_part, b, t])
        out[b, t] = (c[0, 0]*0.5f)
)");
}
TEST(MapThreads, KeepsTheBlocksThatAnSmIsToHold) {
  const char* steps = "bind l0 block; bind l1 thread; min_blocks l0 ";
  const std::string kept = after("simplify_unrolled", kRows, steps + std::string("8"));
  EXPECT_EQ(kept.substr(0, kept.find("thread")), "  block b in 0 .. 20  # min_blocks 8\n    ") << kept;
  EXPECT_EQ(after("verify", kRows, steps + std::string("20"), "cuda -arch=sm_75"),
            "verify: program '': 20 blocks of 32 threads are to be on an SM at once, which holds 1024 threads and 16 "
            "blocks");
  const char* product = "split l3 5 guard; bind l5 block; bind l6 thread; bind l4 thread; min_blocks l5 ";
  EXPECT_EQ(count(after("verify", kProduct, product + std::string("10")), "min_blocks 10"), 1);
  EXPECT_EQ(after("verify", kProduct, product + std::string("11")),
            "verify: program '': 11 blocks of 192 threads are to be on an SM at once, which holds 2048 threads and 32 "
            "blocks");
}

TEST(SinkVirtual, RunsVirtualThreadsInTheInnermostLoop) {
  EXPECT_EQ(
      after("sink_virtual", kProduct,
            "split l4 9 guard; reorder l5 l3 l6; bind l5 block; bind l3 virtual; bind l6 thread; compute_at o2 l6 "
            "registers"),
      R"(  block j.0 in 0 .. 4
    thread j.1 in 0 .. 9
      for i in 0 .. 1
        for j in 0 .. 1
          unroll i_1 in 0 .. 20
            c[i_1, 0, 0] = 0f
          for r in 0 .. 24
            unroll i_1 in 0 .. 20
              c[i_1, 0, 0] = (c[i_1, 0, 0] + (a[i_1, r]*b[r, ((j.0*9) + j.1)]))
      unroll i in 0 .. 20
        out[i, ((j.0*9) + j.1)] = (c[i, 0, 0]*0.5f)
)");
}
TEST(SinkVirtual, LeavesWhatFillsBlockMemoryAlone) {
  const std::string tiled = after("sink_virtual", kProduct, kTiled);
  EXPECT_EQ(count(tiled, "a_copy["), 2) << tiled;  // stored once, read once
  EXPECT_EQ(count(tiled, "virtual"), 0) << tiled;
}

TEST(PlaceBarriers, TwoAnIterationForCopiesThatAreReadAtOnce) {
  const std::string tiled = after("place_barriers", kProduct, kTiled);
  EXPECT_EQ(count(tiled, "barrier block"), 2) << tiled;
}
TEST(PlaceBarriers, OneAnIterationForAPipeline) {
  for (const char* stages : {"2", "3", "4"}) {
    const std::string tiled = after("place_barriers", kProduct, std::string(kTiled) + "; pipeline l18 " + stages);
    EXPECT_EQ(count(tiled, "barrier block"), 1) << tiled;
    const std::size_t loop = tiled.find("for r.0 in 0 .. 4");
    EXPECT_EQ(count(tiled.substr(loop), "barrier block"), 1) << tiled;
    EXPECT_LT(tiled.find("wait", loop), tiled.find("barrier block", loop)) << tiled;
    EXPECT_LT(tiled.find("barrier block", loop), tiled.find("if (r.0", loop)) << tiled;
  }
}
TEST(PlaceBarriers, NoneWhereAThreadReadsWhatItStoredItself) {
  const std::string alone =
      after("place_barriers", kRows,
            "cache_read o0 o1; bind l2 block; bind l3 thread; compute_at o1 l2 block; bind l5 thread");
  EXPECT_EQ(count(alone, "barrier block"), 0) << alone;
  const std::string sums = after("place_barriers", kProduct, "bind l0 block; bind l1 thread");
  EXPECT_EQ(count(sums, "barrier block"), 0) << sums;
}

/// Of five columns by two the fourth is in two strips, each of which adds to it.
TEST(SinkVirtual, RefusesStripsThatOverlapInSumsThatRegistersAreLoadedFrom) {
  const std::string refusal =
      after("sink_virtual", kProduct,
            "split l1 5 guard; split l6 2 overlap; reorder l5 l7 l2 l0 l8; bind l5 block; bind l7 "
            "virtual; cache_write o2 l8");
  EXPECT_NE(refusal.find("overlap in sums that are not in registers"), std::string::npos) << refusal;
}

TEST(AsyncCopies, FillAPipelineAheadInAGroupAnIteration) {
  const std::string tiled = after("async_copies", kProduct, std::string(kTiled) + "; pipeline l18 3");
  EXPECT_EQ(count(tiled, "# async"), 4) << tiled;  // two copies, before the loop and inside
  EXPECT_EQ(count(tiled, "commit\n"), 2) << tiled;
  EXPECT_EQ(count(tiled, "wait 1\n"), 1) << tiled;
}
TEST(AsyncCopies, AreStoresWhereTheGpuHasNone) {
  const std::string tiled =
      after("async_copies", kProduct, std::string(kTiled) + "; pipeline l18 3", "cuda -arch=sm_75");
  EXPECT_EQ(count(tiled, "# async") + count(tiled, "commit") + count(tiled, "wait"), 0) << tiled;
}
TEST(AsyncCopies, AreLoadedAheadOfTheWorkAndStoredBehindItWhereTheGpuHasNone) {
  const std::string steps = std::string(kTiled) + "; unroll l22; pipeline l18 3";
  const std::string tiled = after("place_barriers", kProduct, steps, "cuda -arch=sm_75");
  EXPECT_EQ(count(tiled, ".held["), 4) << tiled;         // of two copies, each once loaded and once stored
  EXPECT_EQ(count(tiled, "barrier block"), 2) << tiled;  // before the loop, and one an iteration
}
TEST(AsyncCopies, LeaveRoundingForWhenWhatIsLoadedIsThere) {
  std::string steps = kTiled;
  steps.insert(steps.find("split l7"), "round o2 f16; ");
  const std::string tiled = after("place_barriers", kProduct, steps + "; unroll l22; pipeline l18 3");
  EXPECT_NE(tiled.find("a_copy.held[i0.0] = a["), std::string::npos) << tiled;
  const std::size_t loop = tiled.find("for r.0 in 0 .. 4");
  EXPECT_LT(tiled.find(".held[", loop), tiled.find("# async", loop)) << tiled;
  EXPECT_LT(tiled.find("c[", loop), tiled.find("= f16(a_copy.held[", loop)) << tiled;
}
TEST(AsyncCopies, LeaveVectorsThatNoInstructionCopies) {
  const auto copies = [](const char* cut) {
    const std::string steps = std::string(
                                  "cache_read o0 o2; bind l2 block; bind l3 thread; split l4 12 guard; "
                                  "compute_at o2 l5 block; split l8 ") +
                              cut + "; bind l9 thread; vectorize l10; pipeline l5 2";
    const std::string text = after("verify", R"(
a = PLACEHOLDER [20, 24]
b = PLACEHOLDER [24, 36]
c(i, j) += (a[i, r]*b[r, j]) for i in 20, j in 36, r in 24
return c
)",
                                   steps);
    EXPECT_NE(text.find("a_copy["), std::string::npos) << text;
    return count(text, "# async");
  };
  EXPECT_GT(copies("4 guard"), 0);
  EXPECT_EQ(copies("6 guard"), 0) << "24 bytes";
  EXPECT_EQ(copies("8 overlap"), 0) << "two threads would copy the same four elements";
}
TEST(AsyncCopies, LeaveValuesThatAreComputed) {
  const std::string tiled =
      after("async_copies", R"(
a = PLACEHOLDER [20, 24]
b = PLACEHOLDER [24, 36]
s(i, r) = (a[i, r]*a[i, r]) for i in 20, r in 24
c(i, j) += (s[i, r]*b[r, j]) for i in 20, j in 36, r in 24
return c
)",
            "bind l2 block; bind l3 thread; split l4 6 guard; compute_at o2 l5 block; bind l8 thread; "
            "pipeline l5 2");
  EXPECT_EQ(count(tiled, "# async") + count(tiled, "commit"), 0) << tiled;
}

}  // namespace gpu_map_threads_test
}  // namespace whet
