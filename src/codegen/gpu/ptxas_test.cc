// What NVIDIA's assembler makes of the kernels, where it is installed: registers, spills, and the share of multiply-adds in
// the innermost loop.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/testing/checkout.h"
#include "codegen/compile.h"
#include "codegen/testing/gpu_kernels.h"
#include "codegen/testing/ptxas.h"
#include "lower/lower.h"
#include "schedule/steps.h"

namespace whet {
namespace {

using testing::assemble;
using testing::Assembled;
using testing::longest_loop;
using testing::LoopCount;

Program program_named(const std::string& name) {
  if (name == "elementwise") return elementwise_kernel(100'000);
  if (name == "row_sum") return row_sum_kernel(1024, 1000);
  if (name == "gemm") return gemm_kernel(1024, 1024, 1024);
  return convolution_kernel(28, 32, 128, 128);
}

/// testdata/ptxas.tsv: kernel, arch, the most registers, bytes of spills, block memory, multiply-adds of the longest loop and
/// its most instructions.
TEST(Assembler, FindsFewRegistersAndNoSpills) {
  const std::string ptxas = installed_ptxas().path;
  if (ptxas.empty()) GTEST_SKIP() << "ptxas is not installed";
  std::ifstream table(checkout_path("src/codegen/gpu/testdata/ptxas.tsv"));
  std::string line;
  std::getline(table, line);
  int rows = 0;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string name;
    int arch, registers, spills, memory, multiply_adds, instructions;
    ASSERT_TRUE(fields >> name >> arch >> registers >> spills >> memory >> multiply_adds >> instructions) << line;
    const Result<Kernel> kernel =
        compile_kernel(program_named(name), *parse_target("cuda -arch=sm_" + std::to_string(arch)));
    ASSERT_TRUE(kernel.ok()) << line << ": " << kernel.error().message;
    const Assembled made = assemble(kernel->code, arch);
    const LoopCount loop = longest_loop(made.text, arch);
    const std::string found = name + "\t" + std::to_string(arch) + "\t" + std::to_string(made.registers) + "\t" +
                              std::to_string(made.spills) + "\t" + std::to_string(kernel->launches[0].block_memory) +
                              "\t" + std::to_string(loop.multiply_adds) + "\t" + std::to_string(loop.instructions);
    EXPECT_GT(made.registers, 0) << found;
    EXPECT_LE(made.registers, registers) << found;
    EXPECT_EQ(made.spills, spills) << found;
    EXPECT_EQ(kernel->launches[0].block_memory, memory) << found;
    EXPECT_EQ(loop.multiply_adds, multiply_adds) << found;
    EXPECT_LE(loop.instructions, instructions) << found;
    ++rows;
  }
  EXPECT_EQ(rows, 18);
}

/// Softmax of rows of 1,000: one launch, a warp or a block of 256 threads a row.
constexpr const char* kSoftmax = R"(
x = PLACEHOLDER [64, 1000]
m(i) max= x[i, r] for i in 64, r in 1000
e(i, j) = exp((x[i, j] - m[i])) for i in 64, j in 1000
s(i) += e[i, r] for i in 64, r in 1000
y(i, j) = (e[i, j]/s[i]) for i in 64, j in 1000
return y
)";
constexpr const char* kByWarp =
    "inline o2; split l6 4 guard; split l7 32 guard; bind l8 block; bind l9 thread; bind l11 thread; "
    "compute_at o3 l9 registers; split l13 32 guard; rfactor l15; bind l15 thread; "
    "compute_at o1 l9 registers; split l17 32 guard; rfactor l19; bind l19 thread";
constexpr const char* kByBlock =
    "inline o2; split l7 256 guard; bind l6 block; bind l9 thread; "
    "compute_at o3 l6 registers; split l11 256 guard; rfactor l13; bind l13 thread; "
    "compute_at o1 l6 registers; split l15 256 guard; rfactor l17; bind l17 thread";

/// By warp, with exp of the row in registers, four neighbours a thread.
constexpr const char* kInRegisters =
    "split l6 4 guard; split l7 128 guard; split l11 4 guard; bind l8 block; bind l9 thread; bind l12 thread; "
    "vectorize "
    "l13; unroll l10; compute_at o3 l9 registers; split l15 128 guard; split l17 4 guard; rfactor l18; bind l18 "
    "thread; "
    "unroll l19; unroll l16; compute_at o2 l9 registers; split l21 128 guard; split l23 4 guard; bind l24 thread; "
    "vectorize l25; unroll l22; compute_at o1 l9 registers; split l27 32 guard; rfactor l29; bind l29 thread";

TEST(Assembler, TakesSumsAcrossThreads) {
  const std::string ptxas = installed_ptxas().path;
  const ComputeDag dag = *parse_dag(kSoftmax);
  for (const int arch : {75, 80, 90})
    for (const char* steps : {kByWarp, kByBlock, kInRegisters}) {
      SCOPED_TRACE(std::string(steps) + " for sm_" + std::to_string(arch));
      const Target target = *parse_target("cuda -arch=sm_" + std::to_string(arch));
      const Result<Lowered> lowered = lower(*replay(dag, *parse_steps(steps)), target);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const Result<Kernel> kernel = compile_kernel(lowered->program, target);
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      EXPECT_EQ(kernel->launches.size(), 1u);
      const auto count = [&](const std::string& what) {
        std::size_t found = 0;
        for (std::size_t at = kernel->code.find(what); at != std::string::npos; at = kernel->code.find(what, at + 1))
          ++found;
        return found;
      };
      EXPECT_EQ(count("shfl.sync.bfly.b32"), steps == kByBlock ? 2u * (5 + 3) : 2u * 5);
      EXPECT_EQ(count("bar.sync"), steps == kByBlock ? 2u : 0u);
      EXPECT_EQ(count(".local"), 0u);
      EXPECT_EQ(count("v4.f32"), steps == kInRegisters ? 2u * 8 : 0u) << "whole rows are read and written by 16 bytes";
      if (ptxas.empty()) continue;
      const Assembled made = assemble(kernel->code, arch);
      EXPECT_GT(made.registers, 0);
      EXPECT_LE(made.registers, steps == kInRegisters ? 64 : 32);
      EXPECT_EQ(made.spills, 0);
    }
  if (ptxas.empty()) GTEST_SKIP() << "ptxas is not installed";
}

}  // namespace
}  // namespace whet
