// A refused primitive names the loop or op and the reason, and leaves the tree as it was.

#include <gtest/gtest.h>

#include "schedule/steps.h"
#include "schedule/testing/dags.h"

namespace whet {
namespace refusals_test {

using testing::kMatmul;
using testing::kPair;
using testing::kRows;
using testing::kSoftmaxProduct;

constexpr const char* kProduct = R"(
x = PLACEHOLDER [4]
t(i) = (x[i]*2f) for i in 4
u(i) = (x[i] + 1f) for i in 4
y(i) = (t[i]*u[i]) for i in 4
return y
)";

constexpr const char* kTwoReaders = R"(
a = PLACEHOLDER [8]
w = PLACEHOLDER [8] const
v(i) = (w[i]*2f) for i in 8
v2(i) = (v[i] + 1f) for i in 8
y(i) = (a[i]*v2[i]) for i in 8
z(i) = (y[i] + v2[i]) for i in 8
return z
)";

constexpr const char* kWindow = R"(
x = PLACEHOLDER [12, 20]
t(i, j) = (x[i, j]*2f) for i in 12, j in 20
y(i, j) += t[(i + r), j] for i in 10, j in 20, r in 3
return y
)";

constexpr const char* kLong = "x = PLACEHOLDER [4000]\ny(i) = x[i] for i in 4000\nreturn y\n";

constexpr const char* kLongSum = "x = PLACEHOLDER [4000]\ny() += x[r] for r in 4000\nreturn y\n";

/// Applies the steps; the last one has to be refused and to change nothing. Gives the refusal.
std::string refusal(const char* dag, const char* steps) {
  const Result<Steps> parsed = parse_steps(steps);
  if (!parsed.ok()) return "no steps: " + parsed.error().message;
  LoopTree tree = make_loop_tree(parse_dag(dag).value());
  for (std::size_t i = 0; i + 1 < parsed->size(); ++i)
    if (const Status applied = apply(tree, (*parsed)[i]); !applied.ok())
      return "refused too early: " + applied.error().message;
  const std::string text = to_text(tree);
  const std::uint64_t before = hash(tree);
  const Status last = apply(tree, parsed->back());
  if (last.ok()) return "not refused:\n" + to_text(tree);
  EXPECT_EQ(to_text(tree), text) << steps;
  EXPECT_EQ(hash(tree), before) << steps;
  return last.error().message;
}

struct Case {
  const char *dag, *steps, *refusal;
};
void expect_refusals(std::initializer_list<Case> cases) {
  for (const Case& each : cases) EXPECT_EQ(refusal(each.dag, each.steps), each.refusal) << each.steps;
}

TEST(Refuses, ToChangeLoopsThatAreAnnotatedFusedOrOfAnotherOp) {
  expect_refusals({
      {kPair, "parallel l2; split l2 2 guard",
       "loop i (l2) is already parallel, vectorized, unrolled or bound; annotate last"},
      {kPair, "fuse l2 l3; split l4 2 guard", "loop i·j (l4) is fused; split before fusing"},
      {kPair, "reorder l2", "reorder needs two loops or more"},
      {kPair, "fuse l2", "fuse needs two loops or more"},
      {kPair, "reorder l0 l2", "loop i (l2) belongs to another op than the loops before it"},
  });
}
TEST(Refuses, OverlappingTilesInsideSumsThatHaveBegun) {
  expect_refusals({
      {kMatmul, "split l1 16 overlap; cache_write o3 l0",
       "loop n.0 (l5) is inside the register cache of loop m, where overlapping tiles would be added up twice; use "
       "guard"},
      {kMatmul, "cache_write o3 l0; split l1 16 overlap",
       "loop n (l1) is inside the register cache of loop m, where overlapping tiles would be added up twice; use "
       "guard"},
      {kMatmul, "reorder l2 l0 l1; split l1 16 overlap",
       "loop n (l1) is inside the reduce loop k, where overlapping tiles would be added up twice; use guard"},
      {kMatmul, "split l1 16 overlap; reorder l2 l0 l5 l6",
       "loop n.0 (l5) is inside the reduce loop k, where overlapping tiles would be added up twice; use guard"},
  });
}
TEST(Refuses, OpsThatArePlacedAlreadyOrCannotGoThere) {
  expect_refusals({
      {kPair, "compute_at o2 l0", "op y (o2) is an output, which has to be computed whole"},
      {kPair, "compute_at o1 l2; compute_at o1 l3", "op t (o1) is placed already"},
      {kPair, "compute_at o1 l0",
       "op t (o1) cannot go under its own loops, nor move while something is computed under them"},
      {kRows, "compute_at o1 l2; compute_at o2 l4",
       "op d (o2) cannot go under its own loops, nor move while something is computed under them"},
      {kPair, "compute_at o1 l2; inline o1", "op t (o1) is placed already"},
      {kRows, "compute_at o1 l2; inline o2", "op d (o2) has something computed under its loops"},
      {kPair, "reverse_compute_at o2 l2", "op y (o2) cannot go under its own loops"},
      {kMatmul, "reverse_compute_at o4 l0; reverse_compute_at o4 l1", "op out (o4) is placed already"},
      {kRows, "compute_at o2 l4; reverse_compute_at o3 l0",
       "op y (o3) cannot move while something is computed under its loops"},
  });
}
TEST(Refuses, ReadersOfWhatIsNotFinishedThere) {
  expect_refusals({
      {kRows, "reverse_compute_at o3 l0", "op y (o3) does not read m"},
      {kProduct, "reverse_compute_at o3 l0", "op y (o3) also reads u, which may not be ready there"},
      {kMatmul, "split l0 4 guard; reorder l6 l5; reverse_compute_at o4 l6",
       "loop m.1 (l6) finishes elements of c that are not neighbours along an axis"},
      {kMatmul, "cache_write o3 l0; reverse_compute_at o4 l1",
       "loop n (l1) is inside loop m, at whose end c is stored from its register cache"},
      {kMatmul, "reverse_compute_at o4 l1; cache_write o3 l0",
       "loop n (l1) is inside loop m, at whose end c is stored from its register cache"},
      {kMatmul, "split l2 8 guard; rfactor l6; reverse_compute_at o4 l5",
       "loop k.0 (l5) is inside the reduce loop k.0, after which the partial results of c are combined"},
      {kMatmul, "split l2 8 guard; reverse_compute_at o4 l5; rfactor l6",
       "loop k.0 (l5) is inside the reduce loop k.0, after which the partial results of c are combined"},
  });
}
TEST(Refuses, SumsThatAreKeptInTwoPlaces) {
  expect_refusals({
      {kMatmul, "cache_write o3 l3", "loop m (l3) belongs to another op than c"},
      {kMatmul, "cache_write o3 l0; cache_write o3 l1", "op c (o3) has a cache already"},
      {kMatmul, "reverse_compute_at o4 l1 registers; cache_write o3 l1", "op c (o3) is in registers already"},
      {kMatmul, "split l2 8 guard; rfactor l6; cache_write o3 l0", "op c (o3) is factored; factor or cache, not both"},
      {kMatmul, "split l2 8 guard; cache_write o3 l0; rfactor l6",
       "op c (o3) has a register cache; factor or cache, not both"},
      {kMatmul, "split l2 8 guard; rfactor l6; rfactor l5", "op c (o3) is factored already"},
      {kMatmul, "split l2 8 guard; fuse l5 l6; rfactor l7", "loop k.0·k.1 (l7) is fused; factor one digit"},
      {kMatmul, "rfactor l0", "loop m (l0) is spatial; only a reduce loop has sums to factor"},
  });
}
TEST(Refuses, SumsAcrossThreadsThatDoNotMeet) {
  expect_refusals({
      {kMatmul, "bind l0 block; bind l2 thread",
       "loop k (l2) runs over a reduce axis, whose sum blocks and threads would race for; rfactor it first"},
      {kMatmul, "bind l0 block; rfactor l2; bind l2 virtual",
       "loop k (l2) runs over a reduce axis, whose sum blocks and threads would race for"},
      {kMatmul, "bind l0 block; split l2 12 guard; rfactor l6; bind l6 thread",
       "loop k.1 (l6) has 12 iterations; a sum across threads has 2, 4, 8 or 16, or 32 and more"},
      {kMatmul, "bind l0 block; split l2 1 guard; rfactor l6; bind l6 thread",
       "loop k.1 (l6) has 1 iterations; a sum across threads has 2, 4, 8 or 16, or 32 and more"},
      {kMatmul, "bind l0 block; bind l1 thread; rfactor l2; bind l2 thread",
       "loop k (l2) makes 2560 threads of a block; at most 1024 are possible"},
      {kMatmul, "bind l0 block; reorder l2 l1; rfactor l2; bind l2 thread; bind l1 thread",
       "loop n (l1) is inside loop k, which sums across threads and has to be the innermost of them"},
      {kMatmul, "bind l0 block; reorder l2 l1; rfactor l2; bind l1 thread; bind l2 thread",
       "loop k (l2) holds the threads of loop n; a sum across threads has to be the innermost of them"},
      {kLongSum, "rfactor l0",
       "loop r (l0) has 4000 iterations; at most 1024 partial results are kept: split it first"},
  });
}
TEST(Refuses, WarpsAmongThreads) {
  expect_refusals({
      {kMatmul, "bind l0 warp", "loop m (l0) is under no block; bind an outer loop to blocks first"},
      {kMatmul, "bind l0 block; bind l2 warp",
       "loop k (l2) runs over a reduce axis, whose sum blocks and threads would race for"},
      {kMatmul, "bind l0 block; bind l1 warp", "loop n (l1) makes 1280 threads of a block; at most 1024 are possible"},
      {kMatmul, "bind l0 block; split l1 4 guard; bind l5 warp; bind l6 thread",
       "loop n.1 (l6) is inside loop n.0, whose iterations are warps"},
      {kMatmul, "bind l0 block; split l1 4 guard; bind l6 thread; bind l5 warp",
       "loop n.0 (l5) runs on warps, and loop n.1 of the same op on threads"},
      {kMatmul, "bind l0 block; reorder l2 l1; bind l1 warp",
       "loop n (l1) is inside loop k; around warps there are blocks and warps of the same op alone"},
  });
}

constexpr const char* kTile = R"(
a = PLACEHOLDER [32, 16]
b = PLACEHOLDER [16, 16]
u(i, k) = a[i, k] for i in 32, k in 16
v(k, j) = b[k, j] for k in 16, j in 16
c(i, j) += (u[i, k]*v[k, j]) for i in 32, j in 16, k in 16
return c
)";
constexpr const char* kCut =
    "split l4 16 guard; split l5 8 guard; split l6 8 guard; reorder l7 l9 l11 l8 l10 l12; bind l7 block; ";
TEST(Refuses, TilesThatNoWarpComputes) {
  const auto after_cut = [](const char* steps) { return refusal(kTile, (kCut + std::string(steps)).c_str()); };
  EXPECT_EQ(after_cut("cache_write o4 l9; tensorize l8 mma_tf32"),
            "loop i.1 (l8) is under no loop of warps, which mma_tf32 is computed by");
  EXPECT_EQ(after_cut("bind l9 warp; tensorize l8 mma_tf32"),
            "op c (o4) does not keep its sums in registers at the warps of loop j.0; cache_write it there");
  EXPECT_EQ(after_cut("bind l9 warp; cache_write o4 l11; tensorize l8 mma_tf32"),
            "op c (o4) does not keep its sums in registers at the warps of loop j.0; cache_write it there");
  EXPECT_EQ(
      after_cut("bind l9 warp; cache_write o4 l9; compute_at o2 l11 block; tensorize l8 mma_tf32"),
      "op u (o2) is an operand of mma_tf32, which reads block memory; unfold or cache_read it, and place it there "
      "after the tile");
  EXPECT_EQ(after_cut("bind l9 warp; cache_write o4 l9; tensorize l8 mma_f16"),
            "loop k.1 (l12) has 8 iterations; mma_f16 wants a loop in 16 over k");
  EXPECT_EQ(after_cut("bind l9 warp; cache_write o4 l9; tensorize l8 mma_tf32; bind l12 thread"),
            "loop k.1 (l12) belongs to the tile of an intrinsic");
}
TEST(Refuses, BlocksOnAnSmOfAnotherLoopThanTheFirst) {
  expect_refusals({
      {kMatmul, "min_blocks l0 2", "loop m (l0) is no block loop; bind it to blocks first"},
      {kMatmul, "bind l0 block; bind l1 thread; min_blocks l1 2",
       "loop n (l1) is no block loop; bind it to blocks first"},
      {kMatmul, "bind l0 block; bind l1 block; min_blocks l1 2",
       "loop n (l1) is inside loop m; only the first block loop begins a launch"},
      {kMatmul, "bind l0 block; min_blocks l0 0", "loop m (l0) cannot have 0 blocks on an SM; expected 1 to 32"},
      {kMatmul, "bind l0 block; min_blocks l0 33", "loop m (l0) cannot have 33 blocks on an SM; expected 1 to 32"},
      {kMatmul, "bind l0 block; min_blocks l0 2; min_blocks l0 3",
       "loop m (l0) has at least 2 blocks on an SM already"},
      {kMatmul, "min_blocks l77 2", "there is no loop l77; the schedule has l0..l4 less those already split or fused"},
  });
}
TEST(Refuses, PartsOfSumsThatAreNoneOrTooShort) {
  expect_refusals({
      {kPair, "split_sum o1 1 2", "op t (o1) does not reduce"},
      {kMatmul, "split_sum o0 2 2", "op a (o0) is an input, which computes nothing"},
      {kMatmul, "split_sum o3 1 2", "op c (o3) has no reduce axis 1; its reduce axes are 2 to 2"},
      {kMatmul, "split_sum o3 2 1",
       "op c (o3) cannot have 1 parts of the 64 steps of axis k: a sum has 2 parts or more, and a part 4 steps or "
       "more"},
      {kMatmul, "split_sum o3 2 17",
       "op c (o3) cannot have 17 parts of the 64 steps of axis k: a sum has 2 parts or more, and a part 4 steps or "
       "more"},
      {kMatmul, "split l0 2 guard; split_sum o3 2 4",
       "op c (o3) is scheduled already; sums are split before everything else"},
  });
}
TEST(Refuses, PartsOfWhatIsNoSoftmax) {
  expect_refusals({
      {kMatmul, "split_softmax o0 8", "op a (o0) is an input, which computes nothing"},
      {kMatmul, "split_softmax o3 8", "op c (o3) is no sum of products of a softmax's weights"},
      {kMatmul, "split l0 2 guard; split_softmax o3 8",
       "op c (o3) is scheduled already; softmaxes are split before everything else"},
      {kSoftmaxProduct, "split_softmax o6 3",
       "op y (o6) cannot have parts of 3 of its 12 terms; expected 4 or more, and not all"},
      {kSoftmaxProduct, "split_softmax o6 12",
       "op y (o6) cannot have parts of 12 of its 12 terms; expected 4 or more, and not all"},
  });
}
TEST(Refuses, OnePassOverWhatIsNoSoftmaxOrLiesElsewhere) {
  constexpr const char* kOf = "op y_mix (o7) is not computed for its reader in registers, which its sums stay in";
  expect_refusals({
      {kMatmul, "online_softmax o3 8", "op c (o3) is no sum of products of a softmax's weights"},
      {kMatmul, "split l0 2 guard; online_softmax o3 8",
       "op c (o3) is scheduled already; softmaxes are divided late before everything else"},
      {kSoftmaxProduct, "online_softmax o6 4",
       "op y (o6) cannot be summed up by 4 of its 12 terms; expected a multiple of 8, and at most all"},
      {kMatmul, "online o3 l2", "op c (o3) is no product with the exponentials of a softmax that is divided late"},
      {kSoftmaxProduct, "online_softmax o6 8; online o7 l12", kOf},
      {kSoftmaxProduct, "online_softmax o6 8; compute_at o7 l13 registers; online o7 l15",
       "loop i (l15) is no reduce loop of y_mix"},
      {kSoftmaxProduct, "online_softmax o6 8; compute_at o7 l13 registers; online o7 l17",
       "loop j (l17) does not cut the terms into equal steps"},
      {kSoftmaxProduct,
       "online_softmax o6 8; compute_at o7 l13 registers; split l17 8 guard; reorder l18 l15 l16 l19; online o7 l18; "
       "compute_root o4",
       "op e (o4) belongs to the online sum of loop j.0"},
  });
}
TEST(Refuses, ConstantsThatAreReadElsewhereToo) {
  expect_refusals({
      {kMatmul, "pack o77 o3", "there is no op o77 to pack"},
      {kMatmul, "pack o1 o3; pack o1 o3", "op b (o1) is packed already"},
      {kTwoReaders, "pack o3 o4", "op v2 (o3) is also read by z"},
      {kTwoReaders, "inline o4; pack o3 o5", "op v2 (o3) is read 2 times by z; exactly one read can be packed"},
  });
}
TEST(Refuses, LoopsThatAreFusedOrTooLong) {
  expect_refusals({
      {kPair, "inline o1; fuse l2 l3; vectorize l4", "loop i·j (l4) is fused; a vector runs along one axis"},
      {kPair, "fuse l2 l3; compute_at o1 l4; pipeline l4 2", "loop i·j (l4) is fused; a pipeline runs along one digit"},
      {kWindow, "fuse l2 l3; compute_at o1 l5; roll o1 l5", "loop i·j (l5) is fused; a window moves along one digit"},
      {kLong, "vectorize l0", "loop i (l0) has 4000 iterations; at most 256 are vectorized: split it first"},
      {kLong, "unroll l0", "loop i (l0) has 4000 iterations; at most 64 are unrolled: split it first"},
  });
}

}  // namespace refusals_test
}  // namespace whet
