#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "codegen/compile.h"
#include "codegen/machine_loops.h"
#include "codegen/testing/answers.h"
#include "codegen/testing/emulated.h"
#include "lower/testing/verify_passes.h"
#include "passes/optimize.h"
#include "passes/testing/quantized_builder.h"
#include "space/space.h"
#include "task/task.h"

/// Kernels of quantized networks: products of u8 by i8 with sums in i32, rescaled and rounded to bytes.
namespace whet {
namespace {

/// What follows the sums: a bias, a scale for each channel, rounding, a zero point, and the range of a byte.
std::string requantized(const std::string& sums, const std::string& axes, const std::string& at) {
  return fmt::format(
      "biased({0}): i32 = ({1}[{0}] + bias[{2}]) for {3}  # elementwise\n"
      "scaled({0}) = (f32(biased[{0}])*scale[{2}]) for {3}  # elementwise\n"
      "shifted({0}) = (round(scaled[{0}]) + 3f) for {3}  # elementwise\n"
      "y({0}): u8 = u8(min(max(shifted[{0}], 0f), 255f)) for {3}  # elementwise\nreturn y\n",
      at, sums, at.substr(at.rfind(' ') + 1), axes);
}

/// A square convolution of stride 1; `pad`: by zeros, so that it keeps its size.
ComputeDag byte_convolution(int rows, int columns, int in, int out, int kernel, bool pad) {
  const int around = pad ? kernel / 2 : 0, height = rows + 2 * around - kernel + 1,
            width = columns + 2 * around - kernel + 1;
  std::string text = fmt::format(
      "x = PLACEHOLDER [1, {}, {}, {}] u8\nw = PLACEHOLDER [{}, {}, {}, {}] i8 const\nbias = PLACEHOLDER [{}] i32 "
      "const\n"
      "scale = PLACEHOLDER [{}] const\n",
      rows, columns, in, kernel, kernel, in, out, out, out);
  if (pad)
    text += fmt::format(
        "pad(n, y_, x_, c): u8 = select((y_ >= {0}) && (y_ < {1}) && (x_ >= {0}) && (x_ < {2}), x[n, (y_ - {0}), (x_ - "
        "{0}), "
        "c], 0u8) for n in 1, y_ in {3}, x_ in {4}, c in {5}  # pad n:batch y_:row x_:column c:channel\n",
        around, rows + around, columns + around, rows + 2 * around, columns + 2 * around, in);
  const std::string axes = fmt::format("n in 1, oh in {}, ow in {}, oc in {}", height, width, out);
  text += fmt::format(
      "conv(n, oh, ow, oc): i32 += (i32({}[n, (oh + rh), (ow + rw), rc])*i32(w[rh, rw, rc, oc])) for {}, rh in {}, rw "
      "in "
      "{}, rc in {}  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel\n",
      pad ? "pad" : "x", axes, kernel, kernel, in);
  return parse_dag(text + requantized("conv", axes, "n, oh, ow, oc")).value();
}

/// A square depthwise convolution, padded by zeros.
ComputeDag byte_depthwise(int rows, int columns, int channels, int kernel, int stride) {
  const int around = kernel / 2;
  const std::string axes =
      fmt::format("n in 1, oh in {}, ow in {}, c in {}", (rows - 1) / stride + 1, (columns - 1) / stride + 1, channels);
  std::string text = fmt::format(
      "x = PLACEHOLDER [1, {0}, {1}, {2}] u8\nw = PLACEHOLDER [{3}, {3}, {2}] i8 const\nbias = PLACEHOLDER [{2}] i32 "
      "const\nscale = PLACEHOLDER [{2}] const\n",
      rows, columns, channels, kernel);
  text += fmt::format(
      "pad(n, y_, x_, c): u8 = select((y_ >= {0}) && (y_ < {1}) && (x_ >= {0}) && (x_ < {2}), x[n, (y_ - {0}), (x_ - "
      "{0}), c], 0u8) for n in 1, y_ in {3}, x_ in {4}, c in {5}  # pad n:batch y_:row x_:column c:channel\n",
      around, rows + around, columns + around, rows + 2 * around, columns + 2 * around, channels);
  text += fmt::format(
      "conv(n, oh, ow, c): i32 += (i32(pad[n, ((oh*{0}) + rh), ((ow*{0}) + rw), c])*i32(w[rh, rw, c])) for {1}, rh in "
      "{2}, rw in {2}  # depthwise n:batch oh:row ow:column c:channel rh:tap rw:tap\n",
      stride, axes, kernel);
  return parse_dag(text + requantized("conv", axes, "n, oh, ow, c")).value();
}

ComputeDag byte_product(int rows, int depth, int columns) {
  const std::string axes = fmt::format("m in {}, n in {}", rows, columns);
  return parse_dag(
             fmt::format("a = PLACEHOLDER [{0}, {1}] u8\nb = PLACEHOLDER [{1}, {2}] i8 const\nbias = PLACEHOLDER [{2}] "
                         "i32 const\nscale = PLACEHOLDER [{2}] const\nsum(m, n): i32 += (i32(a[m, k])*i32(b[k, n])) "
                         "for {3}, k in {1}  # matmul m:row n:out_channel k:in_channel\n",
                         rows, depth, columns, axes) +
             requantized("sum", axes, "m, n"))
      .value();
}

/// The task of a graph that has a sum.
ComputeDag layer_of(Graph graph) {
  const FusedGraph fused = *optimize(std::move(graph), {});
  const std::vector<Task> tasks = *extract_tasks(fused, *parse_target("cpu -mcpu=haswell -threads=1"));
  for (const Task& task : tasks)
    for (const Op& part : task.dag.ops)
      if (!part.is_placeholder() && part.element().reducer) return task.dag;
  ADD_FAILURE() << "no sum";
  return {};
}

/// The task of a quantized convolution that pads by `zero`: its bias has values for the borders.
ComputeDag padded_by(int zero, int rows, int columns, int in, int out, int kernel, int stride, bool depthwise) {
  testing::QuantizedBuilder b;
  const ConvOperator op{{stride, stride},         {1, 1},
                        {kernel / 2, kernel / 2}, {kernel / 2, kernel / 2},
                        depthwise ? in : 1,       Layout::channels_first};
  const ValueId x = b.input("x", {1, in, rows, columns}, DType::u8);
  const ValueId y = b.add("conv", op, {b.real(x, zero, 0.02), b.weights({out, depthwise ? 1 : in, kernel, kernel})});
  return layer_of(b.finish({b.rounded(y, 77, 0.13)}));
}

/// A picture of three channels in the file's order becomes bytes, channels last, with a fourth channel and a border of zero points.
ComputeDag quantized_picture(int rows, int columns, int border) {
  return parse_dag(fmt::format(
                       "x = PLACEHOLDER [1, 3, {0}, {1}]\nscale = PLACEHOLDER [1] const\n"
                       "q(n, c, i, j): u8 = u8(min(max((round((x[n, c, i, j]*scale[0])) + 114f), 0f), 255f)) for "
                       "n in 1, c in 3, i in {0}, j in {1}  # elementwise\n"
                       "pad(n, c, i, j): u8 = select((c < 3) && (i >= {2}) && (i < {3}) && (j >= {2}) && (j < "
                       "{4}), q[n, c, (i - {2}), (j - {2})], 114u8) for n in 1, c in 4, i in {5}, j in {6}  # pad\n"
                       "y(n, i, j, c): u8 = pad[n, c, i, j] for n in 1, i in {5}, j in {6}, c in 4  # injective\n"
                       "return y\n",
                       rows, columns, border, rows + border, columns + border, rows + 2 * border, columns + 2 * border))
      .value();
}

/// A quantized layer with an activation that is read from a table.
ComputeDag looked_up(int rows, int columns, int in, int out, bool dense) {
  testing::QuantizedBuilder b;
  const ConvOperator op{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, Layout::channels_first};
  const ValueId x = dense ? b.input("x", {rows, in}, DType::u8) : b.input("x", {1, in, rows, columns}, DType::u8);
  const ValueId sum = dense ? b.add("product", MatMulOperator{false, true}, {b.real(x, 5, 0.02), b.weights({out, in})})
                            : b.add("conv", op, {b.real(x, 5, 0.02), b.weights({out, in, 1, 1})});
  const ValueId real = b.real(b.rounded(sum, 120, 0.13), 120, 0.13);
  const ValueId swish = b.binary("swish", BinaryKind::mul, real, b.unary("sigmoid", UnaryKind::sigmoid, real));
  return layer_of(b.finish({b.rounded(swish, 20, 0.1)}));
}

Target byte_target(const std::string& processor) { return *parse_target("cpu -mcpu=" + processor + " -threads=1"); }

/// Those of this machine; and where it has tiles one that has them.
std::vector<Target> targets_here() {
  std::vector<Target> all = runnable_targets();
  if (has_tiles()) all.push_back(byte_target("sapphirerapids"));
  return all;
}

/// Every sketch's guess and random candidates have the answers of the definition to the last bit.
void expect_exact(const ComputeDag& task, int samples, const std::vector<Target>& targets = targets_here()) {
  const Evaluated want = *evaluated(task, 7);
  for (const Target& target : targets) {
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
      EXPECT_EQ(*error, 0);
    }
  }
}

TEST(ProductsOfBytes, AreExactInConvolutions) {
  expect_exact(byte_convolution(9, 8, 16, 48, 1, false), 6);
  expect_exact(byte_convolution(7, 9, 12, 40, 3, true), 6);
  expect_exact(byte_convolution(8, 8, 4, 16, 3, false), 4);
}
TEST(ProductsOfBytes, AreExactInDepthwiseConvolutions) {
  expect_exact(byte_depthwise(9, 10, 48, 3, 1), 2);
  expect_exact(byte_depthwise(7, 9, 40, 5, 2), 2);
}
TEST(ProductsOfBytes, AreExactInConvolutionsThatPadByAnotherByteThanZero) {
  expect_exact(padded_by(128, 9, 10, 48, 48, 3, 1, true), 2);
  expect_exact(padded_by(3, 7, 9, 40, 40, 5, 2, true), 2);
  expect_exact(padded_by(255, 2, 3, 32, 32, 5, 1, true), 2);
  expect_exact(padded_by(128, 7, 9, 12, 40, 3, 1, false), 4);
  expect_exact(padded_by(77, 9, 9, 16, 16, 3, 2, false), 4);
}
TEST(ProductsOfBytes, HaveTilesHoweverManyTapsARowHas) {
  for (const char* processor : {"haswell", "sapphirerapids"})
    for (const int kernel : {3, 7, 9, 13, 31})
      for (const int channels : {5, 64}) {
        const DesignSpace space = make_space(byte_depthwise(14, 14, channels, kernel, 1), byte_target(processor));
        EXPECT_TRUE(space.contains(space.default_candidate()).ok()) << processor << ", " << kernel << ", " << channels;
      }
}
TEST(ProductsOfBytes, OfOnePixelHaveSeedsInTheirSpace) {
  for (const char* processor : {"haswell", "sapphirerapids"}) {
    const DesignSpace space = make_space(byte_product(1, 8, 100), byte_target(processor));
    EXPECT_TRUE(space.contains(space.default_candidate()).ok()) << processor;
    for (const Candidate& seed : space.seeds())
      EXPECT_TRUE(space.contains(seed).ok()) << processor << " " << to_json(seed);
  }
}
TEST(ProductsOfBytes, AreExactInMatrixProducts) {
  expect_exact(byte_product(11, 36, 56), 6);
  expect_exact(byte_product(1, 64, 33), 6);
}
TEST(ProductsOfBytes, AreExactWhereNoInstructionFits) {
  expect_exact(byte_convolution(5, 6, 6, 24, 3, true), 4);
  expect_exact(byte_product(3, 8, 12), 4);
}

/// A quantized activation alone.
ComputeDag table_of_bytes() {
  testing::QuantizedBuilder b;
  const ValueId x = b.input("x", {48, 208}, DType::u8);
  const ValueId y = b.unary("sigmoid", UnaryKind::sigmoid, b.real(x, 120, 0.13));
  const FusedGraph fused = *optimize(b.finish({b.rounded(y, 20, 0.004)}), {});
  return extract_tasks(fused, *parse_target("cpu -mcpu=haswell -threads=1"))->front().dag;
}

TEST(Tables, AreExact) { expect_exact(table_of_bytes(), 3); }
TEST(Tables, AreExactWherePairsOfBytesArePermuted) {
  if (emulated_processor() != nullptr || host_target().cpu().vector_bytes < 64) GTEST_SKIP() << "no AVX-512 here";
  expect_exact(table_of_bytes(), 3, {byte_target("skylake-avx512")});
  expect_exact(looked_up(7, 9, 16, 40, false), 4, {byte_target("skylake-avx512")});
}
TEST(Tables, AreExactBehindProductsOfBytes) {
  expect_exact(looked_up(7, 9, 16, 40, false), 4);
  expect_exact(looked_up(11, 1, 36, 56, true), 4);
  expect_exact(looked_up(1, 1, 64, 33, true), 4);
}
TEST(Tables, ArePermutedWhereTheProcessorPermutesBytes) {
  const ComputeDag task = table_of_bytes();
  const auto code_of = [&](const char* processor) {
    const Target target = byte_target(processor);
    const Kernel kernel = *compile_kernel(lower(*replay(task, *default_steps(task, target)), target)->program, target);
    std::string text;
    const std::vector<MachineLoop> loops = *innermost_loops(kernel, target);
    for (const MachineLoop& loop : loops) text += loop.text;
    return text;
  };
  EXPECT_NE(code_of("sapphirerapids").find("vpermi2b"), std::string::npos) << code_of("sapphirerapids");
  EXPECT_NE(code_of("cascadelake").find("vpermi2w"), std::string::npos) << code_of("cascadelake");
}

TEST(Pictures, BecomeBytesExactly) {
  expect_exact(quantized_picture(9, 50, 1), 4);
  expect_exact(quantized_picture(5, 37, 0), 4);
  expect_exact(quantized_picture(6, 12, 3), 4);
}

/// Instructions with `part` in the innermost loops of the untuned kernel.
int count_in_loops(const ComputeDag& task, const Target& target, const std::string& part, bool may_spill = false) {
  const LoopTree tree = *replay(task, *default_steps(task, target));
  const Kernel kernel = *compile_kernel(lower(tree, target)->program, target);
  int found = 0;
  const std::vector<MachineLoop> loops = main_loops(*innermost_loops(kernel, target));
  for (const MachineLoop& loop : loops) {
    EXPECT_TRUE(may_spill || loop.spills.empty()) << loop.text;
    for (std::size_t at = loop.text.find(part); at != std::string::npos; at = loop.text.find(part, at + 1)) ++found;
  }
  return found;
}

TEST(ProductsOfBytes, TakeTheProcessorsInstruction) {
  for (const ComputeDag& task : {byte_convolution(28, 28, 64, 64, 3, true),
                                 byte_convolution(14, 14, 128, 256, 1, false), byte_product(128, 256, 512)}) {
    EXPECT_GE(count_in_loops(task, byte_target("sapphirerapids -mattr=-amx-tile"), "vpdpbusd"), 12);
    EXPECT_GE(count_in_loops(task, byte_target("sapphirerapids"), "tdpbusd"), 4);
    EXPECT_GE(count_in_loops(task, byte_target("neoverse-n2"), "usdot"), 8);
  }
  for (const ComputeDag& task : {byte_depthwise(28, 28, 64, 3, 1), padded_by(128, 28, 28, 64, 64, 3, 1, true)}) {
    EXPECT_GE(count_in_loops(task, byte_target("sapphirerapids"), "vpdpbusd"), 9);
    EXPECT_GE(count_in_loops(task, byte_target("neoverse-n2"), "usdot"), 3);
    EXPECT_GE(count_in_loops(task, byte_target("cortex-a76"), "sdot", true), 3);
    EXPECT_GE(count_in_loops(task, byte_target("cortex-a72"), "smlal", true), 9);
  }
}

TEST(Pictures, AreWrittenByWords) {
  const ComputeDag task = quantized_picture(56, 224, 1);
  const Target target = byte_target("sapphirerapids");
  const Kernel kernel = *compile_kernel(lower(*replay(task, *default_steps(task, target)), target)->program, target);
  const std::vector<MachineLoop> loops = *innermost_loops(kernel, target);
  std::string text;
  for (const MachineLoop& loop : loops) text += loop.text;
  EXPECT_EQ(text.find("\tbyte ptr"), std::string::npos) << text;
  EXPECT_NE(text.find("zmmword ptr"), std::string::npos);
  EXPECT_NE(text.find("vpternlogd"), std::string::npos) << text;
}

// ---- On GPUs

constexpr const char *kDot = "dp4a.u32.s32", *kTile = "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32",
                     *kSmallTile = "mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32";

/// The sketch's guess as PTX for `arch`, and its answers on the emulated device.
std::string ptx_of(const ComputeDag& task, const std::string& sketch, const std::string& arch) {
  const Target target = *parse_target("cuda -arch=" + arch);
  const DesignSpace space = make_space(task, target);
  for (const Sketch& known : space.sketches()) {
    if (known.name != sketch) continue;
    const Steps steps = *space.steps({known.name, known.preferred});
    const Result<Lowered> made = lower(*replay(task, steps), target);
    if (!made.ok()) {
      ADD_FAILURE() << arch << ": " << to_text(steps) << ": " << made.error().message;
      return {};
    }
    const Lowered& lowered = *made;
    Rng rng(5);
    const std::vector<Tensor> inputs = testing::random_inputs(task, rng);
    const std::vector<Tensor> arguments = *testing::arguments_of(lowered, task, inputs);
    const Result<std::vector<Tensor>> got = run_emulated(lowered.program, target, arguments, {.seed = 3});
    EXPECT_TRUE(got.ok()) << got.error().message;
    if (got.ok()) {
      EXPECT_EQ(*testing::worst_output(lowered, task, inputs, *got), 0) << sketch << " for " << arch;
    }
    return compile_kernel(lowered.program, target)->code;
  }
  ADD_FAILURE() << "no sketch " << sketch << " for " << arch;
  return {};
}

TEST(ProductsOfBytes, TakeTheInstructionsOfGpus) {
  for (const ComputeDag& task :
       {byte_convolution(9, 9, 32, 48, 3, true), byte_product(96, 256, 64), looked_up(96, 1, 256, 64, true)})
    for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
      if (testing::kSanitized && arch == std::string("sm_90")) continue;  // takes what sm_80 has
      const std::string dots = ptx_of(task, "dots", arch);
      EXPECT_NE(dots.find(kDot), std::string::npos) << arch;
      EXPECT_EQ(dots.find("ld.shared.u8"), std::string::npos) << arch;
      EXPECT_NE(dots.find("ld.shared.v4.u32"), std::string::npos) << arch;
      const bool is_old = arch == std::string("sm_75");
      EXPECT_EQ(dots.find("cp.async.cg.shared.global") == std::string::npos, is_old) << arch;
      const std::string tiles = ptx_of(task, "mma_bytes", arch);
      EXPECT_NE(tiles.find(is_old ? kSmallTile : kTile), std::string::npos) << arch;
      EXPECT_EQ(tiles.find("ld.shared.u8"), std::string::npos) << arch;
    }
}

}  // namespace
}  // namespace whet
