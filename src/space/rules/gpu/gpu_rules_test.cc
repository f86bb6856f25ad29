// Which rules for GPUs apply and why others do not, and that their schedules compute the task.

#include <gtest/gtest.h>

#include "space/author.h"
#include "space/rules/derive.h"
#include "space/testing/gpu_samples.h"
#include "space/testing/product_texts.h"

namespace whet {
namespace gpu_rules_test {

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }
Target h100() { return *parse_target("cuda -model=h100"); }

/// `op: reason`, the rules that applied with a +.
std::string said(const std::string& text, const std::string& rule) {
  std::vector<RuleNote> notes;
  derive_sketches(dag(text), h100(), rules_for(h100()), {}, &notes);
  std::string lines;
  for (const RuleNote& note : notes)
    if (note.rule == rule) lines += (note.applied ? "+ " : "- ") + note.op + ": " + note.sentence + "\n";
  return lines;
}

std::string names(const std::string& text, const DeriveOptions& options = {}) {
  std::string names;
  for (const Sketch& sketch : derive_sketches(dag(text), h100(), rules_for(h100()), options))
    names += (names.empty() ? "" : " ") + sketch.name;
  return names;
}

/// The guess and samples of every sketch are right on three GPUs.
void expect_right(const std::string& text, int samples) {
  const ComputeDag task = dag(text);
  for (const char* arch : testing::sampled_gpus()) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const std::vector<Sketch> sketches = derive_sketches(task, target, rules_for(target), {});
    ASSERT_FALSE(sketches.empty()) << text;
    for (const Sketch& sketch : sketches)
      testing::expect_right(task, DesignSpace(task, {sketch}), target, sketch.name, samples);
  }
}

const char* const kBatched = R"(
a = PLACEHOLDER [2, 10, 8]
b = PLACEHOLDER [2, 8, 12]
c(n, i, j) += (a[n, i, r]*b[n, r, j]) for n in 2, i in 10, j in 12, r in 8
return c
)";
const char* const kLongSums = R"(
a = PLACEHOLDER [20, 384]
b = PLACEHOLDER [384, 24] const
bias = PLACEHOLDER [24] const
c(i, j) += (a[i, r]*b[r, j]) for i in 20, j in 24, r in 384
out(i, j) = max((c[i, j] + bias[j]), 0f) for i in 20, j in 24
return out
)";
const char* const kDepthwise = R"(
x = PLACEHOLDER [1, 9, 9, 8]
w = PLACEHOLDER [3, 3, 8] const
pad(n, y, z, c) = select((y >= 1) && (y < 10) && (z >= 1) && (z < 10), x[n, (y - 1), (z - 1), c], 0f) for n in 1, y in 11, z in 11, c in 8  # pad n:batch y:row z:column c:channel
dw(n, y, z, c) += (pad[n, (y + rh), (z + rw), c]*w[rh, rw, c]) for n in 1, y in 9, z in 9, c in 8, rh in 3, rw in 3  # depthwise n:batch y:row z:column c:channel rh:tap rw:tap
out(n, y, z, c) = max(dw[n, y, z, c], 0f) for n in 1, y in 9, z in 9, c in 8
return out
)";
const char* const kPool = R"(
x = PLACEHOLDER [1, 9, 9, 8]
y(n, oh, ow, c) max= x[n, (oh*2 + rh), (ow*2 + rw), c] for n in 1, oh in 4, ow in 4, c in 8, rh in 3, rw in 3  # pool n:batch oh:row ow:column c:channel rh:tap rw:tap
return y
)";
const char* const kMean = R"(
x = PLACEHOLDER [1, 5, 5, 12]
s(n, c) += x[n, ry, rz, c] for n in 1, c in 12, ry in 5, rz in 5  # reduce
y(n, c) = (s[n, c]*0.04f) for n in 1, c in 12
return y
)";
const char* const kSoftmax = R"(
x = PLACEHOLDER [6, 44]
m(i) max= x[i, k] for i in 6, k in 44  # softmax
e(i, j) = exp((x[i, j] - m[i])) for i in 6, j in 44  # softmax
s(i) += e[i, k] for i in 6, k in 44  # softmax
out(i, j) = (e[i, j]*(1f/s[i])) for i in 6, j in 44  # softmax
return out
)";
const char* const kVector = R"(
a = PLACEHOLDER [1, 96]
b = PLACEHOLDER [30, 96] const
c(i, j) += (a[i, r]*b[j, r]) for i in 1, j in 30, r in 96
out(i, j) = (c[i, j]*0.5f) for i in 1, j in 30
return out
)";
const char* const kElements = R"(
x = PLACEHOLDER [3, 7, 20]
s = PLACEHOLDER [20] const
m(i, j, c) = (x[i, j, c]*s[c]) for i in 3, j in 7, c in 20
y(i, j, c) = max(m[i, j, c], 0f) for i in 3, j in 7, c in 20
return y
)";
const char* const kTransposed = R"(
x = PLACEHOLDER [19, 33]
y(i, j) = x[j, i] for i in 33, j in 19
return y
)";
const char* const kTwoProducts = R"(
a = PLACEHOLDER [16, 20]
b = PLACEHOLDER [20, 24] const
c = PLACEHOLDER [24, 12] const
u(i, j) += (a[i, r]*b[r, j]) for i in 16, j in 24, r in 20
v(i, j) = max(u[i, j], 0f) for i in 16, j in 24
w(i, j) += (v[i, r]*c[r, j]) for i in 16, j in 12, r in 24
return w
)";

TEST(GpuRules, UnfoldSumsOfProducts) {
  EXPECT_EQ(said(kLongSums, "unfold"),
            "- out: it does not reduce, so nothing is read for several of its elements\n"
            "+ c: copies both factors in the order of its axes: a product of two matrices\n");
  EXPECT_EQ(said(kVector, "unfold"),
            "- out: it does not reduce, so nothing is read for several of its elements\n"
            "- c: it has few rows: each element of a factor is read seldom\n");
  EXPECT_EQ(said(kPool, "unfold"),
            "- y: it is no sum of products of which one factor has its rows, the other one its columns\n");
}
TEST(GpuRules, SplitSumsOfFewTiles) {
  EXPECT_EQ(said(kLongSums, "split-sum"),
            "+ c: computes parts of its sum in different blocks, which a second launch adds up\n");
  EXPECT_EQ(said(kBatched, "split-sum"), "- c: its sum is too short for parts\n");
  EXPECT_EQ(said(testing::convolution_text(224, 64, 64), "split-sum"),
            "- conv: its result has large tiles enough for all SMs\n"
            "- conv_m: its result has large tiles enough for all SMs\n");
}
TEST(GpuRules, InlineWhatIsReadSeldom) {
  EXPECT_EQ(said(kSoftmax, "inline"),
            "- out: it is an output, which has to be stored\n"
            "- s: it reduces, and every read would repeat the reduction\n"
            "+ e: computes it where it is read\n"
            "- m: it reduces, and every read would repeat the reduction\n");
  EXPECT_EQ(said(kDepthwise, "inline"),
            "- out: it is an output, which has to be stored\n"
            "- dw: it reduces, and every read would repeat the reduction\n"
            "- pad: it pads windows that overlap, so a thread pads what it reads once\n");
}
TEST(GpuRules, FuseWhatReadsASumElementByElement) {
  EXPECT_EQ(said(kLongSums, "fuse-consumer").find("+ c: "), said(kLongSums, "fuse-consumer").find("+ "));
  EXPECT_EQ(said(kSoftmax, "fuse-consumer"),
            "- out: it does not reduce\n"
            "- s: the op that reads it needs other elements than its own\n"
            "- m: the ops that read it are not exactly one op without a reduction\n");
}
TEST(GpuRules, TileWhatHasCopies) {
  EXPECT_EQ(said(kPool, "multi-level-tiling"), "- y: its factors have no copies, of which a block could keep tiles\n");
  EXPECT_EQ(said(kBatched, "multi-level-tiling"),
            "+ c: tiles it for blocks, virtual threads, threads and registers: S S S R R S\n");
  EXPECT_EQ(said(kBatched, "cache-read"),
            "+ c: has the parts of its factors in block memory, which all threads fill together\n");
  EXPECT_EQ(said(kBatched, "cache-write"), "+ c: keeps a thread's sums in registers\n");
  EXPECT_EQ(said(kPool, "cache-read"), "- y: it is not tiled, so it reads nothing again\n");
}
TEST(GpuRules, KeepWindowsInRegisters) {
  EXPECT_EQ(said(kPool, "register-tiling"), "+ y: computes a patch of neighbouring elements in each thread\n");
  EXPECT_EQ(said(kMean, "register-tiling"),
            "- s: it is no reduction of a small window that moves with rows or columns\n");
}
TEST(GpuRules, HaveThreadsAddUpLongSumsTogether) {
  EXPECT_EQ(said(kSoftmax, "cross-thread-reduction"), "+ out: has threads add up each of its sums together\n");
  EXPECT_EQ(said(kElements, "cross-thread-reduction"), "- y: it needs no sum\n");
  EXPECT_EQ(said(kLongSums, "cross-thread-reduction"),
            "- out: it needs sums of parts, which are few\n- out: it needs no sum\n");
  EXPECT_EQ(said(kMean, "merge-terms"), "+ s: makes one axis of those that it reduces\n");
}
TEST(GpuRules, ComputeWinogradWithTransformsInRegisters) {
  const std::string text = testing::convolution_text(28, 64, 48);
  EXPECT_EQ(said(text, "winograd"),
            "- out: it is not the only reduction of the task\n"
            "+ conv: computes a 3x3 convolution by Winograd's algorithm: transforms, products, transforms\n"
            "- pad: it is not the only reduction of the task\n");
  EXPECT_EQ(said(text, "transform"),
            "+ out: transforms a tile in the registers of each thread\n"
            "+ conv_v: transforms a tile in the registers of each thread\n");
  EXPECT_NE(said(text, "constant-tensors").find("+ conv_w: computes it once, ahead of time"), std::string::npos);
}
TEST(GpuRules, BindWhatIsLeft) {
  EXPECT_EQ(said(kElements, "bind"), "+ y: shares its elements out among blocks and threads\n");
  EXPECT_EQ(said(kMean, "bind"), "+ s: shares its elements out among blocks and threads\n");
}
TEST(GpuRules, MakeSketchesOfOneStructureEach) {
  EXPECT_EQ(names(testing::convolution_text(28, 64, 48)), "winograd2+tiles winograd4+tiles parts+tiles+sums tiles");
  EXPECT_EQ(names(testing::convolution_text(14, 256, 256)),
            "winograd2+parts+tiles+sums winograd2+tiles winograd4+parts+tiles+sums winograd4+tiles parts+tiles+sums "
            "tiles");
  EXPECT_EQ(names(testing::convolution_text(28, 64, 48), {.exact = true}), "parts+tiles+sums tiles");
  EXPECT_EQ(names(kDepthwise), "patches");
  EXPECT_EQ(names(kMean), "across-threads sums");
  EXPECT_EQ(names(kSoftmax), "across-threads");
  EXPECT_EQ(names(kElements), "bound");
}
/// A sketch is found by its name, so none may have that of a template.
TEST(GpuRules, NameNoSketchAsATemplateDoes) {
  for (const std::string& text : {testing::convolution_text(28, 64, 48), std::string(kDepthwise), std::string(kMean),
                                  std::string(kSoftmax), std::string(kElements), std::string(kBatched)}) {
    const DesignSpace space = make_space(dag(text), h100());
    std::vector<std::string> names;
    for (const Sketch& sketch : space.sketches()) names.push_back(sketch.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << text;
  }
}

TEST(GpuRuleSketches, ComputeConvolutions) { expect_right(testing::convolution_text(6, 8, 12), 4); }
TEST(GpuRuleSketches, ComputeProductsInParts) { expect_right(kLongSums, 6); }
TEST(GpuRuleSketches, ComputeDenseLayersWithTails) { expect_right(testing::kDenseText, 6); }
TEST(GpuRuleSketches, ComputeBatchedProducts) { expect_right(kBatched, 6); }
TEST(GpuRuleSketches, ComputeTwoProductsAfterAnother) { expect_right(kTwoProducts, 4); }
TEST(GpuRuleSketches, ComputeProductsWithAVector) { expect_right(kVector, 6); }
TEST(GpuRuleSketches, ComputeDepthwiseConvolutions) { expect_right(kDepthwise, 6); }
TEST(GpuRuleSketches, ComputePools) { expect_right(kPool, 6); }
TEST(GpuRuleSketches, ComputeMeans) { expect_right(kMean, 6); }
TEST(GpuRuleSketches, ComputeSoftmaxes) { expect_right(kSoftmax, 6); }
TEST(GpuRuleSketches, ComputeElements) { expect_right(kElements, 6); }
TEST(GpuRuleSketches, ComputeTransposes) { expect_right(kTransposed, 6); }

/// Whatever the task is: every rule's sketch, on random DAGs.
TEST(GpuRuleSketches, ComputeRandomTasks) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(200)); ++seed) {
    Rng rng(seed);
    const ComputeDag task = testing::random_dag(rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(task));
    const Target target = *parse_target(seed % 2 == 0 ? "cuda -arch=sm_75" : "cuda -arch=sm_90");
    for (const Sketch& sketch : derive_sketches(task, target, rules_for(target), {}))
      testing::expect_right(task, DesignSpace(task, {sketch}), target, sketch.name, 2);
  }
}

}  // namespace gpu_rules_test
}  // namespace whet
