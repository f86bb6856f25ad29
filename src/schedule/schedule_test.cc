#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/steps.h"
#include "schedule/testing/after.h"
#include "schedule/testing/dags.h"

namespace whet {
namespace {

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }

using testing::after;
using testing::kMatmul;
using testing::kPair;
using testing::kRows;

TEST(LoopTree, StartsAsOneSerialNestAnOp) {
  EXPECT_EQ(after(kPair, ""), R"(for i in 6
  for j in 20
    t
for i in 6
  for j in 20
    y
)");
}

TEST(Split, NestsAnInnerLoopOfFactorIterations) {
  EXPECT_EQ(after(kPair, "split l3 8 guard"), R"(for i in 6
  for j in 20
    t
for i in 6
  for j.0 in 3  # 20 by 8, guard
    for j.1 in 8
      y
)");
}
TEST(Split, RefusesAFactorOutsideTheLoop) {
  EXPECT_EQ(after(kPair, "split l3 21 guard"),
            "step 1 (split l3 21 guard): loop j (l3) has 20 iterations; a factor must be 1..20, found 21");
}
TEST(Split, RefusesOverlapOnAReduceAxis) {
  EXPECT_NE(after(kMatmul, "split l2 6 overlap").find("would count twice"), std::string::npos);
}
TEST(Split, RefusesALoopThatIsGone) {
  EXPECT_NE(after(kPair, "split l3 4 guard; split l3 2 guard").find("there is no loop l3"), std::string::npos);
}

TEST(Fuse, MakesOneLoopOfTwo) {
  EXPECT_EQ(after(kPair, "inline o1; fuse l2 l3"), R"(for i·j in 120
  y
)");
}
TEST(Fuse, RefusesLoopsThatAreNotNestedDirectly) {
  EXPECT_NE(after(kPair, "fuse l3 l2").find("is not nested directly"), std::string::npos);
}
TEST(Fuse, RefusesToMixSpatialAndReduce) {
  EXPECT_NE(after(kMatmul, "fuse l1 l2").find("spatial and reduce"), std::string::npos);
}

TEST(Reorder, MovesLoopsAmongThemselves) {
  EXPECT_EQ(after(kMatmul, "inline o4; reorder l2 l0"),
            "step 1 (inline o4): op out (o4) is an output, which has to be stored");
  EXPECT_EQ(after(kMatmul, "reorder l2 l0"), R"(for k in 64
  for n in 40
    for m in 12
      c
for m in 12
  for n in 40
    out
)");
}
TEST(Reorder, LeavesWhatStandsOutsideAlone) {
  EXPECT_EQ(after(kPair, "compute_at o1 l2; split l3 4 guard; reorder l7 l6"), R"(for i in 6
  for i in 1
    for j in 20
      t
  for j.1 in 4
    for j.0 in 5
      y
)");
}
TEST(Reorder, RefusesALoopNamedTwice) {
  EXPECT_NE(after(kPair, "reorder l2 l2").find("named twice"), std::string::npos);
}

TEST(Annotate, SaysHowLoopsRun) {
  EXPECT_EQ(after(kPair, "inline o1; split l3 4 guard; parallel l2; unroll l4; vectorize l5"), R"(parallel i in 6
  unroll j.0 in 5
    vector j.1 in 4
      y
)");
}
TEST(Annotate, RefusesToVectorizeAReduceLoop) {
  EXPECT_NE(after(kMatmul, "vectorize l2").find("rfactor it first"), std::string::npos);
}
TEST(Annotate, RefusesAParallelLoopInside) {
  EXPECT_NE(after(kPair, "parallel l3").find("not the outermost"), std::string::npos);
}
TEST(Annotate, RefusesAnInnerLoopAsVector) {
  EXPECT_NE(after(kPair, "vectorize l2").find("not innermost"), std::string::npos);
}

TEST(Inline, PutsTheBodyIntoItsReaders) {
  EXPECT_EQ(after(kPair, "inline o1"), R"(for i in 6
  for j in 20
    y
)");
  const LoopTree tree = *replay(dag(kPair), *parse_steps("inline o1"));
  EXPECT_EQ(to_text(tree.dag.op(OpId(2)).element().body, [&](SourceId s) { return tree.dag.ops[s.index()].name; }),
            "((x[i, j]*2f) + 1f)");
}
TEST(Inline, RefusesABodyThatUnfoldsWithoutEnd) {
  std::string text = "t0 = PLACEHOLDER [6]\n", steps;
  constexpr int kDoublings = 30;
  for (int i = 1; i <= kDoublings; ++i)
    text += "t" + std::to_string(i) + "(i) = (t" + std::to_string(i - 1) + "[i] + t" + std::to_string(i - 1) +
            "[i]) for i in 6\n";
  text += "return t30\n";
  for (int i = kDoublings - 1; i > 0; --i) steps += (steps.empty() ? "inline o" : "; inline o") + std::to_string(i);
  EXPECT_NE(after(text.c_str(), steps.c_str()).find("nodes; at most 8192"), std::string::npos);
}
TEST(Inline, PutsTheBodyIntoIndicesThatReadItToo) {
  const char* text = R"(
x = PLACEHOLDER [4]
t(i) = (x[i] * 2f) for i in 4
y(i) = t[i64(t[i64(t[i])])] for i in 4
return y
)";
  const LoopTree tree = *replay(dag(text), *parse_steps("inline o1"));
  const std::string body =
      to_text(tree.dag.op(OpId(2)).element().body, [&](SourceId s) { return tree.dag.ops[s.index()].name; });
  EXPECT_EQ(body.find("t["), std::string::npos) << body;
  EXPECT_EQ(std::count(body.begin(), body.end(), 'x'), 3) << body;
}
TEST(Inline, RefusesABodyThatIndicesUnfold) {
  std::string index = "i";
  for (int k = 0; k < 20; ++k) index = "i64(t[" + index + "])";
  const std::string text =
      "x = PLACEHOLDER [4]\nt(i) = (x[i] + (x[i] * x[i])) for i in 4\ny(i) = t[" + index + "] for i in 4\nreturn y\n";
  EXPECT_NE(after(text.c_str(), "inline o1").find("nodes; at most 8192"), std::string::npos);
}
TEST(Inline, RefusesAReduction) { EXPECT_NE(after(kMatmul, "inline o3").find("reduces"), std::string::npos); }

TEST(ComputeAt, ComputesTheRegionThatIsReadThere) {
  EXPECT_EQ(after(kPair, "split l3 8 guard; compute_at o1 l4"), R"(for i in 6
  for j.0 in 3  # 20 by 8, guard
    for i in 1
      for j in 8
        t
    for j.1 in 8
      y
)");
}
TEST(ComputeAt, RefusesWhileAReaderStandsOutside) {
  EXPECT_NE(after(R"(
x = PLACEHOLDER [4]
t(i) = (x[i]*2f) for i in 4
y(i) = (t[i] + 1f) for i in 4
z(i) = (t[i] + y[i]) for i in 4
return z
)",
                  "compute_at o1 l1")
                .find("has the consumer z outside of loop i"),
            std::string::npos);
}
TEST(ComputeAt, FreezesTheLoopsAbove) {
  EXPECT_NE(after(kPair, "compute_at o1 l2; split l2 2 guard").find("is frozen"), std::string::npos);
}

TEST(ReverseComputeAt, RunsTheReaderWhereTheTileIsFinished) {
  EXPECT_EQ(
      after(kMatmul,
            "split l0 4 overlap; split l1 16 overlap; reorder l5 l7 l2 l6 l8; reverse_compute_at o4 l7 registers"),
      R"(c @registers
for m.0 in 3
  for n.0 in 3  # 40 by 16, overlap
    for k in 64
      for m.1 in 4
        for n.1 in 16
          c
    for m in 4
      for n in 16
        out
)");
}

TEST(ReverseComputeAt, RefusesAReaderThatReducesOverTheProducer) {
  EXPECT_NE(after(R"(
x = PLACEHOLDER [4, 8]
t(i) += x[i, k] for i in 4, k in 8
s() += t[r] for r in 4
return s
)",
                  "reverse_compute_at o2 l0")
                .find("elsewhere than at its own axes"),
            std::string::npos);
}

TEST(CacheWrite, KeepsATileInRegisters) {
  EXPECT_EQ(after(kMatmul, "split l1 8 overlap; reorder l0 l5 l2 l6; cache_write o3 l5"), R"(for m in 12
  for n.0 in 5
    cache c @registers
    for k in 64
      for n.1 in 8
        c
for m in 12
  for n in 40
    out
)");
}
TEST(CacheWrite, RefusesAnOpWithoutAReduction) {
  EXPECT_NE(after(kPair, "cache_write o2 l3").find("does not reduce"), std::string::npos);
}

TEST(CacheWrite, RefusesAVectorizedLoopAndThatLoopToBecomeOne) {
  const char* pool = "x = PLACEHOLDER [8, 3]\np(c) max= x[c, r] for c in 8, r in 3\nreturn p\n";
  EXPECT_NE(after(pool, "reorder l1 l0; vectorize l0; cache_write o1 l0").find("is vectorized"), std::string::npos);
  EXPECT_NE(after(pool, "reorder l1 l0; cache_write o1 l0; vectorize l0").find("has a register cache"),
            std::string::npos);
}

TEST(Rfactor, LetsAReduceLoopBeVectorized) {
  EXPECT_EQ(after("x = PLACEHOLDER [3, 64]\ns(i) += x[i, k] for i in 3, k in 64\nreturn s\n",
                  "split l1 16 guard; rfactor l3; vectorize l3"),
            R"(for i in 3
  for k.0 in 4
    vector k.1 in 16  # rfactor
      s
)");
}

TEST(Rfactor, LetsThreadsSumAReduceLoopInsideOfTheirReader) {
  EXPECT_EQ(
      after(kRows, "inline o2; bind l4 block; bind l5 thread; compute_at o1 l4 registers; rfactor l7; bind l7 thread"),
      "step 6 (bind l7 thread): loop r (l7) has 20 iterations; a sum across threads has 2, 4, 8 or 16, or 32 and "
      "more");
  EXPECT_EQ(after(kRows,
                  "inline o2; split l4 2 guard; bind l6 block; bind l7 thread; bind l5 thread; compute_at o1 l7 "
                  "registers; split l9 16 guard; rfactor l11; bind l11 thread"),
            R"(block i.0 in 3
  thread i.1 in 2
    m @registers
    for i in 1
      for r.0 in 2  # 20 by 16, guard
        thread r.1 in 16  # rfactor
          m
    thread j in 20
      y
)");
}

TEST(SplitSum, MakesPartsAndTheirSumWithTheReaderBehindIt) {
  EXPECT_EQ(after(kMatmul, "split_sum o3 2 4; compute_at o4 l8 registers"), R"(for k_part in 4
  for m in 12
    for n in 40
      for k in 16
        c_parts
for m in 12
  for n in 40
    c @registers
    for m in 1
      for n in 1
        for k_part in 4
          c
    out
)");
}

TEST(MinBlocks, IsAskedForAtALaunch) {
  EXPECT_EQ(after(kMatmul, "bind l0 block; bind l1 thread; min_blocks l0 2"), R"(block m in 12  # min_blocks 2
  thread n in 40
    for k in 64
      c
for m in 12
  for n in 40
    out
)");
}

TEST(Pack, NeedsAConstantThatIsReadOnce) {
  EXPECT_NE(after(kMatmul, "pack o1 o3").find("c  # b packed"), std::string::npos);
  EXPECT_NE(after(kMatmul, "pack o0 o3").find("does not depend on constants alone"), std::string::npos);
  EXPECT_NE(after(kMatmul, "pack o1 o4").find("is read 0 times"), std::string::npos);
}

TEST(Pack, NeedsPlacesThatAreKnownBefore) {
  const auto taken = [](const char* rows, const char* step) {
    const std::string text = std::string("t = PLACEHOLDER [8, 4] const\nr = PLACEHOLDER [3] i32") + rows +
                             "\nx = PLACEHOLDER [4]\n"
                             "y(i) += (t[max(min(i64(r[i]), 7), 0), k]*x[k]) for i in 3, k in 4\nreturn y\n";
    return after(text.c_str(), step);
  };
  EXPECT_NE(taken("", "pack o0 o3").find("op t (o0) is read by y at places that data decide"), std::string::npos);
  EXPECT_NE(taken(" const", "pack o0 o3").find("y  # t packed"), std::string::npos) << taken(" const", "pack o0 o3");
  EXPECT_NE(taken(" const", "pack o1 o3").find("y  # r packed"), std::string::npos);
}

TEST(Pack, ComputesAConstantOpAheadWithWhatOnlyItNeeds) {
  constexpr const char* kScaled = R"(
a = PLACEHOLDER [12, 64]
b = PLACEHOLDER [64, 40] const
two(k, n) = (b[k, n]*2f) for k in 64, n in 40
four(k, n) = (two[k, n]*2f) for k in 64, n in 40
c(m, n) += (a[m, k]*four[k, n]) for m in 12, n in 40, k in 64
return c
)";
  EXPECT_EQ(after(kScaled, "pack o3 o4"), R"(for m in 12
  for n in 40
    for k in 64
      c  # four packed
)");
  EXPECT_EQ(after(kScaled, "pack o3 o4; inline o2"),
            "step 2 (inline o2): op two (o2) is computed ahead of time and has no loops");
}

TEST(ComputeAt, RefusesVectorizedLoops) {
  const std::string why = "loop j (l3) is vectorized, so that each lane would need what is computed there for itself";
  EXPECT_EQ(after(kPair, "vectorize l3; compute_at o1 l3"), "step 2 (compute_at o1 l3): " + why);
  EXPECT_NE(after(kPair, "vectorize l1; reverse_compute_at o2 l1").find("is vectorized"), std::string::npos);
}

TEST(ReverseComputeAt, RefusesTilesInTilesWithGuardedTails) {
  EXPECT_EQ(after(kMatmul, "split l1 6 guard; split l6 4 guard; reverse_compute_at o4 l7"),
            "step 3 (reverse_compute_at o4 l7): op c (o3) has tiles in tiles along n with guarded tails, behind which "
            "other tiles begin");
  EXPECT_EQ(after(kMatmul, "split l1 6 guard; split l6 3 guard; reverse_compute_at o4 l7").find("step"),
            std::string::npos);
}

TEST(CacheRead, GivesTheReaderACopyThatIsPlacedLikeAnyOp) {
  EXPECT_EQ(after(kMatmul, "cache_read o0 o3; split l2 4 overlap; reorder l7 l3 l4 l8; compute_at o3 l7"),
            R"(for m.0 in 3
  for i0 in 4
    for i1 in 64
      a_copy
  for n in 40
    for k in 64
      for m.1 in 4
        c
for m in 12
  for n in 40
    out
)");
  EXPECT_EQ(after(kMatmul, "cache_read o1 o3"), "step 1 (cache_read o1 o3): op b (o1) is constant; pack it");
  EXPECT_EQ(after(kMatmul, "cache_read o0 o4"), "step 1 (cache_read o0 o4): op out (o4) does not read o0");
  EXPECT_EQ(after(kMatmul, "split l2 4 guard; cache_read o0 o3"),
            "step 2 (cache_read o0 o3): op c (o3) is scheduled already; copies are made before everything else");
}

TEST(SwizzleStorage, IsOfRowsInBlockMemory) {
  const char* const kRows =
      "x = PLACEHOLDER [8, 32]\nt(i, j) = (x[i, j] + 1f) for i in 8, j in 32\ny(i, j) = (t[i, j]*2f) for i in 8, j in "
      "32\n"
      "return y\n";
  const auto tree = [&](const std::string& steps) { return after(kRows, steps.c_str()); };
  const std::string placed = "bind l2 block; bind l3 thread; compute_at o1 l2 block; ";
  EXPECT_NE(tree(placed + "swizzle o1 128").find("t rows swizzled by 128\n"), std::string::npos);
  EXPECT_NE(tree("swizzle o1 128").find("is not in block memory, which alone is swizzled"), std::string::npos);
  EXPECT_NE(tree(placed + "swizzle o1 96").find("has rows of 128 bytes; a swizzle of 96 wants pieces of 64 or"),
            std::string::npos);
  EXPECT_NE(tree(placed + "swizzle o1 128; pad_storage o1 4").find("is swizzled, and its rows"), std::string::npos);
  EXPECT_NE(tree(placed + "pad_storage o1 4; swizzle o1 128").find("has padded rows, which lie in different"),
            std::string::npos);
}

TEST(PadStorage, PutsRowsFurtherApart) {
  EXPECT_EQ(after(kPair, "pad_storage o1 16"), R"(t rows + 16
for i in 6
  for j in 20
    t
for i in 6
  for j in 20
    y
)");
  EXPECT_EQ(after(kPair, "pad_storage o2 16"),
            "step 1 (pad_storage o2 16): op y (o2) is an output, which lies as its caller says");
  EXPECT_EQ(after(kPair, "pad_storage o1 16; pad_storage o1 16"),
            "step 2 (pad_storage o1 16): op t (o1) is padded already");
  EXPECT_EQ(after(kPair, "pad_storage o1 0"),
            "step 1 (pad_storage o1 0): op t (o1) cannot have 0 elements behind a row; expected 1 to 1024");
}

// The two hard trees: a K-blocked convolution whose epilogue runs on the last block, and a depthwise convolution
// computed inside the pointwise one that reads it.
constexpr const char* kConv = R"(
x = PLACEHOLDER [1, 10, 10, 32]
w = PLACEHOLDER [3, 3, 32, 32] const
conv(n, oh, ow, oc) += (x[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 8, ow in 8, oc in 32, rh in 3, rw in 3, rc in 32
out(n, oh, ow, oc) = max(conv[n, oh, ow, oc], 0f) for n in 1, oh in 8, ow in 8, oc in 32
return out
)";
TEST(HardTrees, AKBlockedConvolutionWithItsEpilogueOnTheLastBlock) {
  EXPECT_EQ(
      after(kConv,
            "split l2 4 overlap; split l3 16 overlap; split l6 16 guard; reorder l0 l1 l15 l11 l13 l4 l5 l16 l12 l14; "
            "cache_write o2 l13; reverse_compute_at o3 l13; unroll l12; vectorize l14; parallel l0"),
      R"(parallel n in 1
  for oh in 8
    for rc.0 in 2
      for ow.0 in 2
        for oc.0 in 2
          cache conv @registers
          for rh in 3
            for rw in 3
              for rc.1 in 16
                unroll ow.1 in 4
                  vector oc.1 in 16
                    conv
          for n in 1
            for oh in 1
              for ow in 4
                for oc in 16
                  out
)");
}
TEST(HardTrees, ADepthwiseConvolutionInsideThePointwiseThatReadsIt) {
  EXPECT_EQ(after(R"(
x = PLACEHOLDER [1, 10, 10, 32]
wd = PLACEHOLDER [3, 3, 32] const
wp = PLACEHOLDER [32, 48] const
dw(n, oh, ow, c) += (x[n, (oh + rh), (ow + rw), c]*wd[rh, rw, c]) for n in 1, oh in 8, ow in 8, c in 32, rh in 3, rw in 3
pw(n, oh, ow, oc) += (dw[n, oh, ow, rc]*wp[rc, oc]) for n in 1, oh in 8, ow in 8, oc in 48, rc in 32
return pw
)",
                  "split l8 4 overlap; reorder l6 l7 l11 l10 l12 l9; compute_at o3 l11; parallel l6"),
            R"(parallel n in 1
  for oh in 8
    for ow.0 in 2
      for n in 1
        for oh in 1
          for ow in 4
            for c in 32
              for rh in 3
                for rw in 3
                  dw
      for rc in 32
        for ow.1 in 4
          for oc in 48
            pw
)");
}

TEST(Merge, MakesOneLoopOfTwoAxesInEveryOpThatPassesThemOn) {
  EXPECT_EQ(after(kPair, "merge o2 0; split l1 7 overlap"), R"(for ij in 120
  t
for ij.0 in 18  # 120 by 7, overlap
  for ij.1 in 7
    y
)");
}
TEST(Merge, RefusesWhatIsNotReadElementByElement) {
  EXPECT_EQ(after(kRows, "merge o3 0"),
            "step 1 (merge o3 0): op y (o3) has axes that cannot be merged: op d uses one of them alone");
  EXPECT_EQ(after(kPair, "merge o2 1"),
            "step 1 (merge o2 1): op y (o2) has axes that cannot be merged: op y has no axes 1 and 2");
}
TEST(Merge, ComesBeforeEverythingElse) {
  EXPECT_EQ(after(kPair, "split l3 8 guard; merge o2 0"),
            "step 2 (merge o2 0): op y (o2) is scheduled already; axes are merged before everything else");
}

TEST(Winograd, StartsOverWithTheLoopsOfItsOwnOps) {
  EXPECT_EQ(after(kConv, "winograd o2 4; pack o3 o6; inline o8"), R"(for n in 1
  for oht in 2
    for owt in 2
      for x in 6
        for j in 6
          for rc in 32
            conv_b
for x in 6
  for y in 6
    for n in 1
      for oht in 2
        for owt in 2
          for rc in 32
            conv_v
for x in 6
  for y in 6
    for n in 1
      for oht in 2
        for owt in 2
          for oc in 32
            for rc in 32
              conv_m  # conv_w packed
for n in 1
  for oht in 2
    for owt in 2
      for p in 4
        for y in 6
          for oc in 32
            conv_a
for n in 1
  for oh in 8
    for ow in 8
      for oc in 32
        out
)");
}
TEST(Winograd, IsChosenBeforeEverythingElse) {
  EXPECT_EQ(after(kConv, "split l2 4 overlap; winograd o2 4"),
            "step 2 (winograd o2 4): op conv (o2) is scheduled already; an algorithm is chosen before everything else");
  EXPECT_EQ(after(kConv, "winograd o3 4"),
            "step 1 (winograd o3 4): op out (o3) is no 3x3 convolution of stride 1 with constant weights, which "
            "Winograd's algorithm is for");
}
TEST(Winograd, IsNotExact) {
  EXPECT_TRUE(numerics_of("split l2 4 overlap").exact);
  EXPECT_FALSE(numerics_of("winograd o2 4; inline o8").exact);
  EXPECT_EQ(numerics_of("winograd o2 4").precision, Precision::f32);
  EXPECT_EQ(numerics_of("winograd o2 2 bf16; inline o8").precision, Precision::bf16);
  EXPECT_FALSE(numerics_of("round o2 tf32").exact);
  EXPECT_EQ(numerics_of("round o2 tf32; tensorize l4 mma_f16").precision, Precision::f16);
  EXPECT_EQ(numerics_of("round o2 tf32").precision, Precision::tf32);
  EXPECT_EQ(numerics_of("tensorize l4 mma_half").precision, Precision::f32);
  EXPECT_FALSE(numerics_of("nonsense").exact);
}

TEST(ComputeRoot, TakesAnAttachedProducerBackInFrontOfItsReader) {
  EXPECT_EQ(after(kPair, "compute_at o1 l2; compute_root o1; split l7 4 guard"), R"(for i in 6
  for j.0 in 5
    for j.1 in 4
      t
for i in 6
  for j in 20
    y
)");
}
TEST(ComputeRoot, TakesAnAttachedReaderBackBehindItsProducer) {
  EXPECT_EQ(after(kMatmul, "reverse_compute_at o4 l0 registers; compute_root o4"), R"(for m in 12
  for n in 40
    for k in 64
      c
for m in 12
  for n in 40
    out
)");
}
TEST(ComputeRoot, RefusesWhatIsAtTheTopOrHoldsSomething) {
  EXPECT_EQ(after(kPair, "compute_root o1"), "step 1 (compute_root o1): op t (o1) is computed at the top already");
  EXPECT_NE(after(kPair, "inline o1; compute_root o1").find("is inlined"), std::string::npos);
  EXPECT_NE(after(kRows, "compute_at o2 l4; compute_at o1 l6; compute_root o2").find("under its loops"),
            std::string::npos);
}
TEST(ComputeRoot, RefusesWhatNeedsTheNestOfItsReader) {
  EXPECT_NE(after(kRows, "compute_at o2 l4; compute_at o1 l4; compute_root o2").find("computed in the nest of y"),
            std::string::npos);
}

TEST(Bind, SaysWhichLoopsAreBlocksAndThreads) {
  EXPECT_EQ(after(kPair, "inline o1; split l3 4 guard; bind l2 block; bind l4 virtual; bind l5 thread"), R"(block i in 6
  virtual j.0 in 5
    thread j.1 in 4
      y
)");
}
TEST(Bind, KeepsToTheShapeOfAGrid) {
  EXPECT_NE(after(kPair, "bind l2 thread").find("is under no block"), std::string::npos);
  EXPECT_NE(after(kPair, "bind l3 block").find("is inside a loop that is no block"), std::string::npos);
  EXPECT_NE(after(kMatmul, "bind l2 block").find("runs over a reduce axis"), std::string::npos);
  EXPECT_NE(after(kPair, "bind l2 block; bind l2 block").find("already parallel, vectorized, unrolled or bound"),
            std::string::npos);
  EXPECT_NE(after(kPair, "compute_at o1 l3; bind l2 block; bind l3 thread; bind l5 thread").find("which belong to y"),
            std::string::npos);
  EXPECT_NE(after("x = PLACEHOLDER [2, 2000]\ny(i, j) = x[i, j] for i in 2, j in 2000\nreturn y\n",
                  "bind l0 block; bind l1 thread")
                .find("makes 2000 threads of a block; at most 1024"),
            std::string::npos);
  EXPECT_EQ(after(kPair, "bind l2 lane"), "bind has \"lane\" where block, thread, virtual or warp was expected");
}

TEST(Schedule, RoundsTheOperandsOfTilesOfWarps) {
  const char* const product = R"(
a = PLACEHOLDER [32, 16]
b = PLACEHOLDER [16, 16]
u(i, k) = a[i, k] for i in 32, k in 16
v(k, j) = b[k, j] for k in 16, j in 16
c(i, j) += (u[i, k]*v[k, j]) for i in 32, j in 16, k in 16
return c
)";
  const char* const steps =
      "split l4 16 guard; split l5 8 guard; split l6 8 guard; reorder l7 l9 l11 l8 l10 l12; bind l7 block; bind l9 "
      "warp; "
      "cache_write o4 l9; tensorize l8 mma_tf32; compute_at o2 l11 block; compute_at o3 l11 block";
  const LoopTree tree = *replay(*parse_dag(product), *parse_steps(steps));
  EXPECT_EQ(to_text(*parse_steps(steps)), steps);
  EXPECT_EQ(to_text(tree), R"(block i.0 in 2
  warp j.0 in 2
    cache c @registers
    for k.0 in 2
      u @block
      for i in 16
        for k in 8
          u
      v @block
      for k in 8
        for j in 16
          v
      for i.1 in 16  # tensorize mma_tf32
        for j.1 in 8
          for k.1 in 8
            c
)");
  EXPECT_NE(to_text(tree.dag).find("c(i, j) += (round_tf32(u[i, k])*round_tf32(v[k, j]))"), std::string::npos);
}

constexpr const char* kWindow = R"(
x = PLACEHOLDER [12, 20]
t(i, j) = (x[i, j]*2f) for i in 12, j in 20
y(i, j) += t[(i + r), j] for i in 10, j in 20, r in 3
return y
)";

TEST(Roll, KeepsAWindowFromOneIterationToTheNext) {
  EXPECT_EQ(after(kWindow, "reorder l2 l4 l3; compute_at o1 l2; roll o1 l2"), R"(for i in 10
  t rolled along i
  for i in 3
    for j in 20
      t
  for r in 3
    for j in 20
      y
)");
}
TEST(Roll, RefusesWhatIsNoWindow) {
  EXPECT_NE(after(kWindow, "roll o1 l2").find("is not computed at or under loop i"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l2; roll o1 l5").find("is not computed at or under"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l2 registers; roll o1 l2").find("is in registers"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l2; roll o1 l2; roll o1 l2").find("is rolled already"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l2; parallel l2; roll o1 l2").find("follow no order"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l2; roll o1 l2; parallel l2").find("follow one another"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l2; pipeline l2 2; roll o1 l2").find("is a pipeline"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l2; roll o1 l2; pipeline l2 2").find("is rolled"), std::string::npos);
  EXPECT_NE(after(kWindow, "compute_at o1 l4; roll o1 l2").find("is not the only loop that moves the window"),
            std::string::npos);
  EXPECT_NE(after("x = PLACEHOLDER [12]\nt(i) = (x[i]*2f) for i in 12\ny(i) += t[((9 - i) + r)] for i in 10, r in 3\n"
                  "return y\n",
                  "compute_at o1 l1; roll o1 l1")
                .find("backwards"),
            std::string::npos);
}

constexpr const char* kTurned = R"(
x = PLACEHOLDER [40, 50]
y(i, j) = x[j, i] for i in 50, j in 40
return y
)";

TEST(Tensorize, MakesATileOfTheLoopsOfADefinition) {
  EXPECT_EQ(after(kTurned,
                  "split l0 16 overlap; split l1 8 overlap; split l3 8 guard; reorder l2 l6 l4 l7 l5; "
                  "tensorize l7 transpose8"),
            R"(for i.0 in 4  # 50 by 16, overlap
  for i.1 in 2
    for j.0 in 5
      for i.2 in 8  # tensorize transpose8
        for j.1 in 8
          y
)");
}
TEST(Tensorize, RefusesOtherLoopsThanTheDefinitions) {
  EXPECT_NE(after(kTurned, "tensorize l0 transpose8").find("has 50 iterations; transpose8 wants a loop in 8 over i"),
            std::string::npos);
  EXPECT_NE(after(kTurned, "split l0 8 overlap; tensorize l3 transpose8").find("has 40 iterations"), std::string::npos);
  EXPECT_NE(after(kTurned, "split l0 8 guard; split l1 8 guard; reorder l2 l4 l3 l5; tensorize l3 transpose8")
                .find("guarded tail"),
            std::string::npos);
  EXPECT_NE(
      after(kTurned, "split l0 8 overlap; split l1 8 guard; reorder l2 l4 l3 l5; unroll l3; tensorize l3 transpose8")
          .find("is annotated"),
      std::string::npos);
}
TEST(Tensorize, RefusesAnotherComputation) {
  const char* tile = "split l0 8 overlap; split l1 8 overlap; reorder l2 l4 l3 l5; tensorize l3 transpose8";
  EXPECT_NE(after("x = PLACEHOLDER [40, 50]\ny(i, j) = (x[j, i] + 1f) for i in 50, j in 40\nreturn y\n", tile)
                .find("computes something else than transpose8"),
            std::string::npos);
  EXPECT_NE(after("x = PLACEHOLDER [50, 40]\ny(i, j) = x[i, j] for i in 50, j in 40\nreturn y\n", tile)
                .find("finds no neighbours in x along its last axis"),
            std::string::npos);
  EXPECT_NE(after("x = PLACEHOLDER [40, 90]\ny(i, j) = x[j, (i + j)] for i in 50, j in 40\nreturn y\n", tile).find("y"),
            std::string::npos);
}
TEST(Tensorize, FreezesItsLoops) {
  const std::string tile = "split l0 8 overlap; split l1 8 overlap; reorder l2 l4 l3 l5; tensorize l3 transpose8; ";
  EXPECT_NE(after(kTurned, (tile + "vectorize l5").c_str()).find("the tile of an intrinsic"), std::string::npos);
  EXPECT_NE(after(kTurned, (tile + "split l5 4 guard").c_str()).find("frozen"), std::string::npos);
  EXPECT_NE(after(kTurned, "tensorize l0 warp")
                .find("has \"warp\" where an intrinsic was expected: transpose8 transpose16 dot4"),
            std::string::npos);
}
TEST(Tensorize, AddsToSumsThatBeginOutside) {
  const char* bytes = R"(
a = PLACEHOLDER [5, 24] u8
b = PLACEHOLDER [40, 24] i8 const
c(i, j): i32 += (i32(a[i, r])*i32(b[j, r])) for i in 5, j in 40, r in 24
return c
)";
  EXPECT_NE(after(bytes, "split l1 16 overlap; split l2 4 guard; reorder l0 l5 l3 l4 l6; tensorize l4 dot4")
                .find("overlapping tiles"),
            std::string::npos);
  EXPECT_EQ(after(bytes, "split l1 16 overlap; split l2 4 guard; reorder l0 l3 l5 l4 l6; tensorize l4 dot4"),
            R"(for i in 5
  for j.0 in 3  # 40 by 16, overlap
    for r.0 in 6
      for j.1 in 16  # tensorize dot4
        for r.1 in 4
          c
)");
  EXPECT_NE(after("a = PLACEHOLDER [5, 4] u8\nb = PLACEHOLDER [16, 4] i8 const\nc(i, j): i32 += "
                  "(i32(a[i, r])*i32(b[j, r])) for i in 5, j in 16, r in 4\nreturn c\n",
                  "tensorize l1 dot4")
                .find("holds the whole reduction"),
            std::string::npos);
}
TEST(Tensorize, TakesFourNeighboursOfBothOperandsAsADot) {
  const auto product = [](const char* left, const char* right) {
    return std::string("a = PLACEHOLDER [5, 24] ") + left + "\nb = PLACEHOLDER [24, 24] i8\n" +
           "c(i, j): i32 += (i32(a[i, r])*i32(b[" + right + "])) for i in 5, j in 24, r in 24\nreturn c\n";
  };
  EXPECT_EQ(after(product("i8", "j, r").c_str(), "split l2 4 guard; tensorize l4 dp4a_s8"), R"(for i in 5
  for j in 24
    for r.0 in 6
      for r.1 in 4  # tensorize dp4a_s8
        c
)");
  const auto refused = [&](const char* left, const char* right, const char* steps, const char* why) {
    const std::string said = after(product(left, right).c_str(), steps);
    EXPECT_NE(said.find(why), std::string::npos) << said;
  };
  refused("u8", "j, r", "split l2 4 guard; tensorize l4 dp4a_s8", "computes something else than dp4a_s8");
  refused("i8", "r, j", "split l2 4 guard; tensorize l4 dp4a_s8", "finds no neighbours in b along its last axis");
  refused("i8", "j, r", "split l2 8 guard; tensorize l4 dp4a_s8", "wants a loop in 4 over k");
  refused("i8", "j, r", "split l2 4 guard; tensorize l3 dp4a_s8", "wants a loop in 4 over k");
}

TEST(Pipeline, SaysHowManyStagesThereAre) {
  EXPECT_EQ(after(kPair, "compute_at o1 l2; pipeline l2 2"), R"(for i in 6
  pipeline 2 stages
  for i in 1
    for j in 20
      t
  for j in 20
    y
)");
}
TEST(Pipeline, RefusesWhatCannotBeMadeAhead) {
  EXPECT_NE(after(kPair, "pipeline l2 2").find("has nothing computed at it"), std::string::npos);
  EXPECT_NE(after(kPair, "compute_at o1 l2; pipeline l2 1").find("expected 2 to 8"), std::string::npos);
  EXPECT_NE(after(kPair, "compute_at o1 l2 registers; pipeline l2 2").find("which have no stages"), std::string::npos);
  EXPECT_NE(after(kPair, "compute_at o1 l2; parallel l2; pipeline l2 2").find("follow no order"), std::string::npos);
  EXPECT_NE(after(kPair, "compute_at o1 l2; pipeline l2 2; pipeline l2 3").find("a pipeline already"),
            std::string::npos);
}
TEST(Pipeline, RefusesToBeginWhenItsIterationsFollowNoOrderAndFixesWhatIsComputedThere) {
  EXPECT_NE(after(kPair, "compute_at o1 l2; pipeline l2 2; parallel l2").find("follow one another"), std::string::npos);
  EXPECT_NE(after(kPair, "compute_at o1 l2; pipeline l2 2; bind l2 block").find("follow one another"),
            std::string::npos);
  EXPECT_NE(after(kRows, "compute_at o2 l4; pipeline l4 2; compute_at o1 l4").find("place ops before"),
            std::string::npos);
}
TEST(Pipeline, MovesAllOpsThatAreComputedAtTheLoopTogether) {
  EXPECT_EQ(after(kRows, "compute_at o2 l4; compute_at o1 l4; pipeline l4 2"), R"(for i in 6
  pipeline 2 stages
  for i in 1
    for r in 20
      m
  for i in 1
    for j in 20
      d
  for j in 20
    y
)");
}

TEST(Prefetch, NamesWhatIsFetchedAhead) {
  EXPECT_EQ(after(kPair, "inline o1; prefetch o0 o2 l2 3"), R"(for i in 6
  prefetch x of y 3 ahead
  for j in 20
    y
)");
}
TEST(Prefetch, RefusesWhatIsNotReadThere) {
  EXPECT_NE(after(kPair, "prefetch o0 o2 l2 3").find("does not read o0"), std::string::npos);
  EXPECT_NE(after(kPair, "prefetch o1 o2 l0 3").find("is not around y"), std::string::npos);
  EXPECT_NE(after(kPair, "prefetch o1 o2 l2 0").find("expected 1 to 64"), std::string::npos);
  EXPECT_NE(after(kPair, "prefetch o1 o2 l2 1; prefetch o1 o2 l2 2").find("prefetched there already"),
            std::string::npos);
  EXPECT_NE(after(kPair, "fuse l2 l3; prefetch o1 o2 l4 1").find("is fused"), std::string::npos);
  EXPECT_NE(after(kPair, "compute_at o1 l3 registers; prefetch o1 o2 l2 1").find("is in registers"), std::string::npos);
  EXPECT_NE(after(kPair, "prefetch o1 o2 l3 1; vectorize l3").find("fetches ahead"), std::string::npos);
}
TEST(Prefetch, FreezesItsLoopAlone) {
  EXPECT_NE(after(kPair, "prefetch o1 o2 l2 1; split l2 2 guard").find("is frozen"), std::string::npos);
  EXPECT_EQ(after(kPair, "prefetch o1 o2 l2 1; split l3 5 guard").find("is frozen"), std::string::npos);
}

}  // namespace
}  // namespace whet
