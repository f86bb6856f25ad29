// PTX of a whole network's default schedules, assembled where NVIDIA's assembler is installed.

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/testing/ptxas.h"
#include "cost/gpu/estimate.h"
#include "import/zoo/zoo.h"
#include "lower/lower.h"
#include "passes/optimize.h"
#include "passes/testing/quantized_builder.h"
#include "space/space.h"
#include "space/testing/product_texts.h"
#include "target/precision.h"
#include "task/task.h"

namespace whet {
namespace gpu_ptx_test {

/// The number of occurrences.
std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// Of the instructions of a main loop. Tiles of 2 x 4 sums a thread have the least.
constexpr double kLeastMultiplyAdds = 0.65;
/// Multiply-adds of a loop that is judged. A sum of 27 terms, as of a convolution of three channels, has three steps of 144, and copies.
constexpr int kLeastLoop = 160;

/// The default schedules of all tasks for the target. Gives how many entries multiply by more than a multiply-add at once.
int expect_assembled(const FusedGraph& fused, int arch, const SpaceOptions& options) {
  const std::string ptxas = installed_ptxas().path;
  if (ptxas.empty()) printf("ptxas is not installed: PTX is made, and not assembled\n");
  const Target target = *parse_target("cuda -arch=sm_" + std::to_string(arch));
  const Result<std::vector<Task>> tasks = extract_tasks(fused, target);
  EXPECT_TRUE(tasks.ok());
  int at_once = 0;
  for (const Task& task : *tasks) {
    SCOPED_TRACE(task.name + " for sm_" + std::to_string(arch));
    const Result<Steps> steps = default_steps(task.dag, target, options);
    const Result<Lowered> lowered = lower(*replay(task.dag, *steps), target, task.within);
    EXPECT_TRUE(lowered.ok()) << lowered.error().message;
    const Result<Kernel> kernel = compile_kernel(lowered->program, target);
    EXPECT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ(kernel->format, CodeFormat::ptx);
    EXPECT_EQ(count(kernel->code, ".visible .entry"), kernel->launches.size());
    EXPECT_EQ(estimate_launches(*replay(task.dag, *steps), target).size(), kernel->launches.size());
    EXPECT_EQ(count(kernel->code, ".local"), 0u) << "memory of a thread that is not registers";
    at_once += count(kernel->code, "mma.sync") + count(kernel->code, "dp4a") > 0;
    if (ptxas.empty()) continue;
    const testing::Assembled made = testing::assemble(kernel->code, arch);
    EXPECT_EQ(made.spills, 0) << to_text(*steps);
    EXPECT_EQ(made.remarks, "") << to_text(*steps);
    const testing::LoopCount loop = testing::longest_loop(made.text, arch);
    if (loop.multiply_adds < kLeastLoop) continue;
    EXPECT_GE(loop.multiply_adds, kLeastMultiplyAdds * loop.instructions)
        << loop.multiply_adds << " of " << loop.instructions << " instructions: " << to_text(*steps);
  }
  return at_once;
}

FusedGraph fused_of(const char* network, const PassOptions& passes = {}) {
  Result<Graph> graph = zoo_model(network);
  WHET_CHECK(graph.ok());
  return *optimize(*std::move(graph), passes);
}

TEST(GpuPtx, HasAnEntryALaunchAndNoSpill) {
  for (const char* network : {"resnet-18", "resnet-50", "mobilenet"})
    for (const int arch : {80, 90}) EXPECT_EQ(expect_assembled(fused_of(network), arch, {}), 0) << network;
}
TEST(GpuPtx, OnTensorCoresHasNoSpillEither) {
  EXPECT_GE(expect_assembled(fused_of("resnet-18"), 80, {.precision = Precision::tf32}), 8);
  EXPECT_GE(expect_assembled(fused_of("resnet-18", {.halves = true}), 90, {.precision = Precision::f16}), 16);
}

/// The product of matrices of 4096 rows, of f16 and of f32 that become tf32, the right ones constants. The left one is rounded to tf32 when
/// it is copied, by two instructions a number, and from sm_90 on by one.
TEST(GpuPtx, OfLargeProductsIsMostlyTensorCores) {
  if (installed_ptxas().path.empty()) GTEST_SKIP() << "ptxas is not installed: its instructions are not counted";
  const std::string halves = testing::half_dense_text(4096, 4096, 4096);
  const std::string floats =
      "a = PLACEHOLDER [4096, 4096]\nb = PLACEHOLDER [4096, 4096] const\n"
      "c(i, j) += (a[i, r]*b[r, j]) for i in 4096, j in 4096, r in 4096\nreturn c\n";
  const struct {
    int arch;
    std::string text;
    Precision precision;
    double least;
  } rows[] = {{80, halves, Precision::f32, 0.50},
              {90, halves, Precision::f32, 0.55},
              {80, floats, Precision::tf32, 0.45},
              {90, floats, Precision::tf32, 0.50}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(name_of(row.precision)) + " for sm_" + std::to_string(row.arch));
    const Target target = *parse_target("cuda -arch=sm_" + std::to_string(row.arch));
    const ComputeDag dag = *parse_dag(row.text);
    const Steps steps = *default_steps(dag, target, {.precision = row.precision});
    const Kernel kernel = *compile_kernel(lower(*replay(dag, steps), target)->program, target);
    const testing::Assembled made = testing::assemble(kernel.code, row.arch);
    const testing::LoopCount loop = testing::longest_loop(made.text, row.arch);
    EXPECT_EQ(made.spills, 0);
    EXPECT_EQ(made.remarks, "");
    EXPECT_GE(loop.tiles, row.least * loop.instructions)
        << loop.tiles << " of " << loop.instructions << " instructions: " << to_text(steps);
  }
}

/// A convolution of resnet-50 at batch 32, of f16: copies know from one bit what lies in the padding. With comparisons it was 64 of 181
/// instructions on sm_90.
TEST(GpuPtx, OfPaddedConvolutionsIsNotMostlyBorders) {
  if (installed_ptxas().path.empty()) GTEST_SKIP() << "ptxas is not installed: its instructions are not counted";
  const ComputeDag dag = *parse_dag(R"(
x = PLACEHOLDER [32, 28, 28, 128] f16
w = PLACEHOLDER [3, 3, 128, 128] f16 const
pad(n, y, z, c): f16 = select((y >= 1) && (y < 29) && (z >= 1) && (z < 29), x[n, (y - 1), (z - 1), c], 0h) for n in 32, y in 30, z in 30, c in 128  # pad
conv(n, oh, ow, oc) += (f32(pad[n, (oh + rh), (ow + rw), rc])*f32(w[rh, rw, rc, oc])) for n in 32, oh in 28, ow in 28, oc in 128, rh in 3, rw in 3, rc in 128  # conv
return conv
)");
  const Target target = *parse_target("cuda -arch=sm_90");
  const Steps steps = *default_steps(dag, target);
  const Kernel kernel = *compile_kernel(lower(*replay(dag, steps), target)->program, target);
  const testing::Assembled made = testing::assemble(kernel.code, 90);
  const testing::LoopCount loop = testing::longest_loop(made.text, 90);
  EXPECT_EQ(made.spills, 0);
  EXPECT_EQ(made.remarks, "");
  EXPECT_GE(loop.tiles, 0.42 * loop.instructions)
      << loop.tiles << " of " << loop.instructions << " instructions: " << to_text(steps);
}

/// Convolutions that pad by 0 and by another byte, with strides, of single pixels and depthwise; a mean and a dense layer.
FusedGraph quantized_network() {
  testing::QuantizedBuilder b;
  ValueId x = b.real(b.input("x", {1, 3, 64, 64}, DType::u8), 128, 0.02);
  const auto convolve = [&](std::int64_t out, std::int64_t kernel, std::int64_t stride, bool depthwise, double zero) {
    const std::int64_t in = b.graph.value(x).type.shape[1];
    const ConvOperator op{{stride, stride},         {1, 1},
                          {kernel / 2, kernel / 2}, {kernel / 2, kernel / 2},
                          depthwise ? in : 1,       Layout::channels_first};
    x = b.add(b.next("conv"), op, {x, b.weights({out, depthwise ? 1 : in, kernel, kernel})});
    x = b.real(b.rounded(x, zero, 0.1), zero, 0.1);
  };
  convolve(32, 3, 2, false, 128);
  convolve(32, 3, 1, true, 3);
  convolve(64, 1, 1, false, 0);
  convolve(64, 3, 1, false, 77);
  convolve(128, 3, 2, false, 0);
  convolve(128, 3, 2, true, 1);
  x = b.add("rows", ReshapeOperator{{1, 128}}, {b.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {x})});
  x = b.real(b.rounded(x, 5, 0.1), 5, 0.1);
  const ValueId y = b.add("y", MatMulOperator{false, true}, {x, b.weights({100, 128})});
  return *optimize(b.finish({y}), {});
}

TEST(GpuPtx, OfBytesHasNoSpillEither) {
  for (const int arch : {75, 80, 90}) EXPECT_GE(expect_assembled(quantized_network(), arch, {}), 3) << arch;
}

}  // namespace gpu_ptx_test
}  // namespace whet
