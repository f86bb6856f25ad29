#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "codegen/compile.h"
#include "codegen/machine_loops.h"
#include "codegen/testing/answers.h"
#include "compute/round.h"
#include "lower/testing/verify_passes.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "passes/testing/random_attention.h"
#include "space/cpu/winograd.h"
#include "space/space.h"
#include "task/task.h"

/// Kernels of products of bf16 with sums in f32, whose results are rounded to bf16.
namespace whet {
namespace {

/// A square convolution of stride 1 that keeps its size, with bias and relu.
ComputeDag pair_convolution(int rows, int columns, int in, int out, int kernel) {
  const int around = kernel / 2;
  const std::string axes = fmt::format("n in 1, oh in {}, ow in {}, oc in {}", rows, columns, out);
  std::string text = fmt::format(
      "x = PLACEHOLDER [1, {0}, {1}, {2}] bf16\nw = PLACEHOLDER [{3}, {3}, {2}, {4}] bf16 const\n"
      "bias = PLACEHOLDER [{4}] const\n",
      rows, columns, in, kernel, out);
  if (around > 0)
    text += fmt::format(
        "pad(n, y_, x_, c): bf16 = select((y_ >= {0}) && (y_ < {1}) && (x_ >= {0}) && (x_ < {2}), x[n, (y_ - {0}), "
        "(x_ - {0}), c], 0b) for n in 1, y_ in {3}, x_ in {4}, c in {5}  # pad n:batch y_:row x_:column c:channel\n",
        around, rows + around, columns + around, rows + 2 * around, columns + 2 * around, in);
  text += fmt::format(
      "conv(n, oh, ow, oc) += (f32({0}[n, (oh + rh), (ow + rw), rc])*f32(w[rh, rw, rc, oc])) for {1}, rh in {2}, rw in "
      "{2}, rc in {3}  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel\n"
      "y(n, oh, ow, oc): bf16 = bf16(max((conv[n, oh, ow, oc] + bias[oc]), 0f)) for {1}  # elementwise\nreturn y\n",
      around > 0 ? "pad" : "x", axes, kernel, in);
  return parse_dag(text).value();
}

ComputeDag product(int rows, int depth, int columns) {
  return parse_dag(fmt::format("a = PLACEHOLDER [{0}, {1}] bf16\nb = PLACEHOLDER [{1}, {2}] bf16 const\nbias = "
                               "PLACEHOLDER [{2}] const\n"
                               "sum(m, n) += (f32(a[m, k])*f32(b[k, n])) for m in {0}, n in {2}, k in {1}  # matmul "
                               "m:row n:out_channel k:in_channel\n"
                               "y(m, n) = (sum[m, n] + bias[n]) for m in {0}, n in {2}  # elementwise\nreturn y\n",
                               rows, depth, columns))
      .value();
}

Target pair_target(const std::string& processor) { return *parse_target("cpu -mcpu=" + processor + " -threads=1"); }

/// Those of this machine; and where it has products of bf16, or tiles, one that has them.
std::vector<Target> targets() {
  std::vector<Target> all = runnable_targets();
  if (has_bf16_products()) all.push_back(pair_target("cooperlake"));
  if (has_tiles()) all.push_back(pair_target("sapphirerapids"));
  return all;
}

/// Every sketch's guess and random candidates have the answers of the definition, up to the order of the sums and one step of bf16, by
/// which a sum that differs a little may be rounded elsewhere.
void expect_right(const ComputeDag& task, int samples, bool rounds_inside = false) {
  const Evaluated want = *evaluated(task, 7);
  const DType dtype = task.op(task.outputs[0]).dtype;
  const double most = dtype == DType::bf16 || rounds_inside ? 0x1p-7 : is_float(dtype) ? 1e-5 : 0;
  for (const Target& target : targets()) {
    const DesignSpace space = make_space(task, target);
    Rng rng(5);
    std::vector<Candidate> candidates;
    for (const Sketch& sketch : space.sketches()) candidates.push_back({sketch.name, sketch.preferred});
    for (int i = 0; i < testing::random_cases(samples); ++i) candidates.push_back(space.sample(rng));
    for (const Candidate& candidate : candidates) {
      SCOPED_TRACE(to_json(candidate) + " for " + to_string(target));
      const Result<Steps> steps = space.steps(candidate);
      ASSERT_TRUE(steps.ok()) << steps.error().message;
      const Result<Lowered> lowered = lower(*replay(task, *steps), target, {}, testing::verify_pass);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const Result<double> error = error_of(task, *lowered, target, want);
      ASSERT_TRUE(error.ok()) << error.error().message;
      EXPECT_LE(*error, most);
    }
  }
}

/// The untuned kernel's innermost loops.
std::string loops_of(const ComputeDag& task, const char* processor) {
  const Target target = pair_target(processor);
  const LoopTree tree = *replay(task, *default_steps(task, target));
  const Kernel kernel = *compile_kernel(lower(tree, target)->program, target);
  std::string text;
  for (const MachineLoop& loop : main_loops(*innermost_loops(kernel, target))) {
    EXPECT_TRUE(loop.spills.empty()) << loop.text;
    text += loop.text;
  }
  return text;
}
/// The same of all of its innermost loops: products of i16 on AVX2 are no fused multiply-adds, by which main loops are told.
std::string innermost_loops_of(const ComputeDag& task, const char* processor) {
  const Target target = pair_target(processor);
  const LoopTree tree = *replay(task, *default_steps(task, target));
  const Kernel kernel = *compile_kernel(lower(tree, target)->program, target);
  const std::vector<MachineLoop> loops = *innermost_loops(kernel, target);
  std::string text;
  for (const MachineLoop& loop : loops) {
    EXPECT_TRUE(loop.spills.empty()) << loop.text;
    text += loop.text;
  }
  return text;
}
int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ProductsOfPairs, AreRightInConvolutions) {
  expect_right(pair_convolution(9, 8, 16, 48, 1), 6);
  expect_right(pair_convolution(7, 9, 10, 40, 3), 6);
}
TEST(ProductsOfPairs, AreRightInMatrixProducts) {
  expect_right(product(11, 36, 56), 6);
  expect_right(product(1, 64, 33), 6);
}
TEST(ProductsOfPairs, TakeTilesOfEightSumsWhereThatComputesNothingTwice) {
  const auto steps = [](int columns, const char* processor) {
    return to_text(*default_steps(product(64, 144, columns), pair_target(processor)));
  };
  for (const char* processor : {"znver4", "znver5", "sapphirerapids"})
    EXPECT_EQ(steps(32, processor).find("x8"), std::string::npos) << processor;
  EXPECT_NE(steps(24, "znver4").find(" dot2x8"), std::string::npos) << steps(24, "znver4");
  // Half a vector takes as long as a whole one there.
  EXPECT_EQ(steps(24, "znver5").find("x8"), std::string::npos);
  expect_right(product(11, 36, 24), 6);
  expect_right(product(5, 36, 40), 6);
}
TEST(ProductsOfPairs, OfI16AreExact) {
  const auto dense = [](int rows, int depth, int columns) {
    return parse_dag(
               fmt::format("a = PLACEHOLDER [{0}, {1}] i16\nb = PLACEHOLDER [{1}, {2}] i16 const\n"
                           "y(m, n): i32 += (i32(a[m, k])*i32(b[k, n])) for m in {0}, n in {2}, k in {1}  # matmul "
                           "m:row n:out_channel k:in_channel\nreturn y\n",
                           rows, depth, columns))
        .value();
  };
  expect_right(dense(11, 36, 56), 4);
  EXPECT_GE(count(loops_of(dense(128, 256, 512), "znver4"), "vpdpwssd"), 12);
  const std::string haswell = to_text(*default_steps(dense(128, 256, 512), pair_target("haswell")));
  EXPECT_NE(haswell.find("dot2_i16"), std::string::npos) << haswell;
  // A product and a sum of 8 pairs each, where f32 takes two instructions for as many terms; none of them spills.
  for (const char* processor : {"haswell", "znver3"}) {
    const std::string loops = innermost_loops_of(dense(128, 256, 512), processor);
    EXPECT_GE(count(loops, "vpmaddwd"), 8) << loops;
    EXPECT_EQ(count(loops, "vpaddd"), count(loops, "vpmaddwd")) << loops;
  }
}
/// A layer on whole numbers: its sums are scaled, and a rectified result is rounded to multiples of another scale.
ComputeDag i16_convolution(int rows, int columns, int in, int out, int kernel) {
  const int around = kernel / 2;
  const std::string axes = fmt::format("n in 1, oh in {}, ow in {}, oc in {}", rows, columns, out);
  std::string text = fmt::format(
      "x = PLACEHOLDER [1, {0}, {1}, {2}] i16\nw = PLACEHOLDER [{3}, {3}, {2}, {4}] i16 const\n"
      "shift = PLACEHOLDER [{4}] i32 const\nscale = PLACEHOLDER [{4}] const\na_unit = PLACEHOLDER [1] const\n",
      rows, columns, in, kernel, out);
  if (around > 0)
    text += fmt::format(
        "pad(n, y_, x_, c): i16 = select((y_ >= {0}) && (y_ < {1}) && (x_ >= {0}) && (x_ < {2}), x[n, (y_ - {0}), "
        "(x_ - {0}), c], 0i16) for n in 1, y_ in {3}, x_ in {4}, c in {5}  # pad n:batch y_:row x_:column c:channel\n",
        around, rows + around, columns + around, rows + 2 * around, columns + 2 * around, in);
  text += fmt::format(
      "conv(n, oh, ow, oc): i32 += (i32({0}[n, (oh + rh), (ow + rw), rc])*i32(w[rh, rw, rc, oc])) for {1}, rh in {2}, "
      "rw in {2}, rc in {3}  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel\n"
      "sums(n, oh, ow, oc): i32 = (conv[n, oh, ow, oc] + shift[oc]) for {1}  # elementwise\n"
      "real(n, oh, ow, oc) = max((f32(sums[n, oh, ow, oc])*scale[oc]), 0f) for {1}  # elementwise\n"
      "steps(n, oh, ow, oc) = round((real[n, oh, ow, oc]*a_unit[0])) for {1}  # elementwise\n"
      "y(n, oh, ow, oc): i16 = i16(min(max(steps[n, oh, ow, oc], -8191f), 8191f)) for {1}  # elementwise\nreturn y\n",
      around > 0 ? "pad" : "x", axes, kernel, in);
  return parse_dag(text).value();
}

TEST(ProductsOfPairs, OfI16BetweenLayersAreExact) {
  expect_right(i16_convolution(9, 8, 16, 48, 1), 4);
  expect_right(i16_convolution(7, 9, 10, 40, 3), 4);
  const std::string text = loops_of(i16_convolution(28, 28, 64, 64, 3), "znver4");
  EXPECT_GE(count(text, "vpdpwssd"), 12) << text;
}

/// A depthwise convolution of i16 widens what it reads.
TEST(ProductsOfPairs, BesideDepthwiseConvolutionsOfI16) {
  expect_right(parse_dag("x = PLACEHOLDER [1, 9, 9, 40] i16\nw = PLACEHOLDER [3, 3, 40] const\n"
                         "y(n, oh, ow, c) += (f32(x[n, (oh + rh), (ow + rw), c])*w[rh, rw, c]) for n in 1, oh in 7, ow "
                         "in 7, c in 40, rh in 3, rw in 3  # depthwise n:batch oh:row ow:column c:channel rh:tap "
                         "rw:tap\nreturn y\n")
                   .value(),
               4);
}

TEST(ProductsOfPairs, AreRightWhereNoInstructionFits) {
  expect_right(pair_convolution(5, 6, 5, 24, 3), 4);
  expect_right(product(3, 8, 12), 4);
}

TEST(ProductsOfPairs, TakeTheProcessorsInstructionAndNoOtherWork) {
  for (const ComputeDag& task :
       {pair_convolution(28, 28, 64, 64, 3), pair_convolution(14, 14, 128, 256, 1), product(128, 256, 512)})
    for (const char* processor : {"znver4", "sapphirerapids -mattr=-amx-tile"}) {
      const std::string text = loops_of(task, processor);
      EXPECT_GE(count(text, "vdpbf16ps"), 12) << text;
      EXPECT_EQ(count(text, "vpslld"), 0) << text;
      EXPECT_EQ(count(text, "vfmadd"), 0) << text;
    }
  EXPECT_EQ(count(loops_of(product(128, 256, 512), "icelake-server"), "vdpbf16ps"), 0);
}

TEST(ProductsOfPairs, AreTilesWhereTheProcessorHasThem) {
  for (const ComputeDag& task :
       {pair_convolution(28, 28, 64, 64, 3), pair_convolution(14, 14, 128, 256, 1), product(128, 256, 512)}) {
    const std::string text = loops_of(task, "sapphirerapids");
    EXPECT_GE(count(text, "tdpbf16ps"), 4) << text;
    EXPECT_LE(count(text, "tileloadd"), count(text, "tdpbf16ps") + 1) << "factors that are not shared: " << text;
    EXPECT_EQ(count(text, "ldtilecfg"), 0) << text;
  }
  EXPECT_EQ(count(loops_of(product(3, 256, 512), "sapphirerapids"), "tdp"), 0) << "few rows are no tile";
}

/// What attentions read is bf16; what they compute is f32, or where sizes are fixed is rounded in the middle.
TEST(ProductsOfPairs, OfAttentionsAreRight) {
  int attentions = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const bool is_fixed = seed % 2 == 1;
    const FusedGraph fused =
        *optimize(testing::random_attention(seed), {.bf16 = !is_fixed, .bf16_of_fixed_sizes = is_fixed});
    const std::vector<Task> tasks = *extract_tasks(fused, pair_target("znver4"));
    for (const Task& task : tasks) {
      if (!task.name.starts_with("attention")) continue;
      ++attentions;
      EXPECT_NE(to_text(task.dag).find("] bf16\n"), std::string::npos) << to_text(task.dag);
      expect_right(task.dag, 3, is_fixed);
    }
  }
  EXPECT_EQ(attentions, 4);
}

/// Three heads of 32 dimensions for 48 tokens.
Graph attention_network() {
  testing::GraphBuilder build;
  const ValueId x = build.input("x", {1, 48, 96});
  const auto heads = [&](const std::string& name) {
    const ValueId tokens = build.add(name, MatMulOperator{}, {x, build.constant(name + "_w", {96, 96})});
    const ValueId split = build.add(name + "_split", ReshapeOperator{{1, 48, 3, 32}}, {tokens});
    return build.add(name + "_heads", TransposeOperator{{0, 2, 1, 3}}, {split});
  };
  const ValueId q = heads("q"), v = heads("v"), k = build.add("kt", TransposeOperator{{0, 1, 3, 2}}, {heads("k")});
  const ValueId weights = build.add("weights", SoftmaxOperator{3}, {build.add("scores", MatMulOperator{}, {q, k})});
  const ValueId mixed = build.add("mix", MatMulOperator{}, {weights, v});
  return build.finish({build.add("tokens", TransposeOperator{{0, 2, 1, 3}}, {mixed})});
}

/// Where sizes are fixed weights of the softmax are rounded, and both products go by pairs.
TEST(ProductsOfPairs, OfAttentionsOfFixedSizesAreBoth) {
  const Target cooperlake = pair_target("cooperlake");
  for (const bool is_fixed : {false, true}) {
    const FusedGraph fused = *optimize(attention_network(), {.bf16 = !is_fixed, .bf16_of_fixed_sizes = is_fixed});
    const std::vector<Task> tasks = *extract_tasks(fused, cooperlake);
    int attentions = 0;
    for (const Task& task : tasks) {
      if (!task.name.starts_with("attention")) continue;
      ++attentions;
      expect_right(task.dag, 4, is_fixed);
      const std::string steps = to_text(*default_steps(task.dag, cooperlake));
      EXPECT_EQ(count(steps, " dot2"), is_fixed ? 2 : 1) << steps;
      EXPECT_EQ(count(steps, " interleave16"), is_fixed ? 1 : 0) << steps;
    }
    EXPECT_EQ(attentions, 1);
  }
}

/// Scores of pairs, of keys that are a whole number of vectors or not.
TEST(ProductsOfPairs, OfScoresAreThoseOfF32) {
  for (const int keys : {48, 40}) {
    const ComputeDag task = *parse_dag(fmt::format(
        "q = PLACEHOLDER [33, 3, 32] bf16\nk = PLACEHOLDER [{0}, 3, 32] bf16\nv = PLACEHOLDER [{0}, 3, 32] bf16\n"
        "qt(h, i, c): bf16 = q[i, h, c] for h in 3, i in 33, c in 32  # injective\n"
        "kt(h, c, j): bf16 = k[j, h, c] for h in 3, c in 32, j in {0}  # injective\n"
        "vt(h, j, c): bf16 = v[j, h, c] for h in 3, j in {0}, c in 32  # injective\n"
        "qw(h, i, c) = f32(qt[h, i, c]) for h in 3, i in 33, c in 32  # elementwise\n"
        "kw(h, c, j) = f32(kt[h, c, j]) for h in 3, c in 32, j in {0}  # elementwise\n"
        "vw(h, j, c) = f32(vt[h, j, c]) for h in 3, j in {0}, c in 32  # elementwise\n"
        "s(h, i, j) += (qw[h, i, c]*kw[h, c, j]) for h in 3, i in 33, j in {0}, c in 32  # matmul h:batch i:row "
        "j:out_channel c:in_channel\n"
        "{1}"
        "m(h, i) max= {2}[h, i, j] for h in 3, i in 33, j in {0}  # softmax\n"
        "e(h, i, j) = exp(({2}[h, i, j] - m[h, i])) for h in 3, i in 33, j in {0}  # softmax\n"
        "z(h, i) += e[h, i, j] for h in 3, i in 33, j in {0}  # softmax\n"
        "p(h, i, j) = (e[h, i, j]*(1f/z[h, i])) for h in 3, i in 33, j in {0}  # softmax\n"
        "y(h, i, c) += (p[h, i, j]*vw[h, j, c]) for h in 3, i in 33, c in 32, j in {0}  # matmul h:batch i:row "
        "c:out_channel j:in_channel\n"
        "out(i, h, c) = y[h, i, c] for i in 33, h in 3, c in 32  # injective\nreturn out\n",
        keys, keys == 40 ? "t(h, i, j) = (s[h, i, j]*0.25f) for h in 3, i in 33, j in 40  # elementwise\n" : "",
        keys == 40 ? "t" : "s"));
    expect_right(task, 4);
    const std::string names = make_space(task, pair_target("cooperlake")).sketches().front().name;
    EXPECT_EQ(names, "attention+pairs");
  }
}

/// Winograd's algorithm with tiles of bf16 errs as its DAG does; with tiles of f32 as one of f32.
TEST(ProductsOfPairs, OfWinogradsTilesAreRight) {
  const ComputeDag task = pair_convolution(8, 10, 16, 32, 3);
  const Evaluated want = *evaluated(task, 7);
  for (const Target& target : targets()) {
    std::vector<Sketch> sketches;
    if (auto sketch = winograd_sketch(task, target)) sketches.push_back(*sketch);
    if (auto sketch = winograd_pairs_sketch(task, target, Precision::bf16)) sketches.push_back(*sketch);
    for (const Sketch& sketch : sketches) {
      const DesignSpace space(task, {sketch});
      Rng rng(5);
      for (int i = 0; i < 5; ++i) {
        const Candidate candidate = i == 0 ? space.default_candidate() : space.sample(rng);
        SCOPED_TRACE(to_json(candidate) + " for " + to_string(target));
        const Result<Steps> steps = space.steps(candidate);
        ASSERT_TRUE(steps.ok()) << steps.error().message;
        const Result<Lowered> lowered = lower(*replay(task, *steps), target, {}, testing::verify_pass);
        ASSERT_TRUE(lowered.ok()) << lowered.error().message;
        const Result<double> error = error_of(task, *lowered, target, want);
        ASSERT_TRUE(error.ok()) << error.error().message;
        EXPECT_LE(*error, sketch.name == "winograd" ? 0x1p-7 : 0x1p-7 + tolerance_of(Precision::bf16));
      }
    }
  }
}
TEST(ProductsOfPairs, OfWinogradsTilesTakeTheProcessorsInstruction) {
  const ComputeDag task = pair_convolution(28, 28, 64, 64, 3);
  const Target target = pair_target("znver4");
  const DesignSpace space(task, {*winograd_pairs_sketch(task, target, Precision::bf16)});
  const LoopTree tree = *replay(task, *space.steps(space.default_candidate()));
  const Kernel kernel = *compile_kernel(lower(tree, target)->program, target);
  const std::vector<MachineLoop> loops = *innermost_loops(kernel, target);
  std::string text;
  for (const MachineLoop& loop : loops) text += loop.text;
  EXPECT_GE(count(text, "vdpbf16ps"), 12) << text;
  EXPECT_GE(count(text, "vcvtneps2bf16"), 1) << text;
}

/// A product of f32 by weights that lie in memory in 16 bits.
ComputeDag by_half_weights(int rows, int depth, int columns, const char* type) {
  return parse_dag(
             fmt::format("a = PLACEHOLDER [{0}, {1}]\nb = PLACEHOLDER [{1}, {2}] {3} const\nbias = PLACEHOLDER [{2}] "
                         "const\nsum(m, n) += (a[m, k]*f32(b[k, n])) for m in {0}, n in {2}, k in {1}  # matmul "
                         "m:row n:out_channel k:in_channel\n"
                         "y(m, n) = (sum[m, n] + bias[n]) for m in {0}, n in {2}  # elementwise\nreturn y\n",
                         rows, depth, columns, type))
      .value();
}

TEST(WeightsOf16Bits, AreWidenedExactly) {
  for (const char* type : {"f16", "bf16"}) {
    expect_right(by_half_weights(1, 96, 80, type), 6);
    expect_right(by_half_weights(5, 33, 40, type), 6);
  }
}
/// One instruction of f16, two of bf16, for each vector of weights; no other work and nothing on the stack.
TEST(WeightsOf16Bits, AreWidenedInRegisters) {
  for (const char* processor : {"haswell", "znver3", "znver4", "sapphirerapids"}) {
    const std::string f16 = loops_of(by_half_weights(1, 1024, 1024, "f16"), processor),
                      bf16 = loops_of(by_half_weights(1, 1024, 1024, "bf16"), processor);
    EXPECT_GE(count(f16, "vcvtph2ps"), 3) << f16;
    EXPECT_EQ(count(f16, "vcvtph2ps"), count(f16, "vfmadd")) << f16;
    EXPECT_GE(count(bf16, "vpmovzxwd"), 3) << bf16;
    EXPECT_EQ(count(bf16, "vpslld"), count(bf16, "vfmadd")) << bf16;
  }
}

/// Convolutions with a residual sum and a depthwise one between, and a classifier. The first one reads the picture, which is f32.
Graph network() {
  testing::GraphBuilder build;
  const ValueId a = build.relu("a", build.conv("c1", build.input("x", {1, 4, 14, 14}), 32, 3, 1, 1));
  const ValueId b = build.relu("b", build.plus("sum", build.conv("c2", a, 32, 3, 1, 1), a));
  const ValueId c = build.relu("c", build.conv("c3", b, 32, 3, 1, 1, 32));
  const ValueId d = build.relu("d", build.conv("c4", c, 48, 1));
  const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, false}, {d});
  return build.finish({build.add("y", MatMulOperator{}, {mean, build.constant("w", {48, 20})})});
}

TEST(ProductsOfPairs, OfANetworkAgreeWithItsGraphOfRoundedOperands) {
  const FusedGraph fused = *optimize(network(), {.bf16 = true});
  for (const Target& target : targets()) {
    const std::vector<Task> tasks = *extract_tasks(fused, target);
    int pairs = 0;
    for (const Task& task : tasks) {
      pairs += multiplies_halves(task.dag, DType::bf16);
      const Evaluated want = *evaluated(task.dag, 3);
      const Result<Lowered> lowered = lower(*replay(task.dag, *default_steps(task.dag, target)), target);
      ASSERT_TRUE(lowered.ok()) << task.name << ": " << lowered.error().message;
      EXPECT_LE(*error_of(task.dag, *lowered, target, want), 0x1p-8) << task.name << " for " << to_string(target);
    }
    EXPECT_EQ(pairs, 3) << to_string(target);
  }
}

/// What a depthwise convolution reads is widened once for all taps that share it, and its results are stored as bf16.
TEST(ProductsOfPairs, BesideDepthwiseConvolutionsThatWidenWhatTheyRead) {
  const FusedGraph fused = *optimize(network(), {.bf16 = true});
  const std::vector<Task> tasks = *extract_tasks(fused, pair_target("znver4"));
  int found = 0;
  for (const Task& task : tasks) {
    if (task.dag.op(task.dag.outputs[0]).dtype != DType::bf16 || task.label.kind != OperatorKind::depthwise) continue;
    ++found;
    const std::string text = loops_of(task.dag, "znver4");
    EXPECT_GE(count(text, "vpmovzxwd"), 1) << text;
    EXPECT_GT(count(text, "vfmadd"), count(text, "vpmovzxwd")) << text;
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace whet
