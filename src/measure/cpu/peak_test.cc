#include "measure/cpu/peak.h"

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/machine_loops.h"
#include "codegen/testing/native.h"
#include "machine/cores.h"
#include "machine/detect.h"

namespace whet {
namespace {

constexpr int kChains = 12;

MachineLoop loop_of(const Target& target) {
  const Kernel kernel = compile_kernel(burst_program(target.cpu(), 1000), target).value();
  const std::vector<MachineLoop> loops = innermost_loops(kernel, target).value();
  EXPECT_EQ(loops.size(), 1u);
  return loops.at(0);
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

TEST(PeakBurst, StaysInRegistersOnEveryProcessor) {
  std::vector<std::string> texts;
  for (const std::string& name : known_processors()) texts.push_back("cpu -mcpu=" + name);
  for (const char* attributes : {"-avx512f", "-fma", "-avx"})
    texts.push_back(std::string("cpu -mcpu=sapphirerapids -mattr=") + attributes);
  for (const std::string& text : texts) {
    const Target target = *parse_target(text);
    const MachineLoop loop = loop_of(target);
    SCOPED_TRACE(text + "\n" + loop.text);
    EXPECT_EQ(loop.multiply_adds, target.cpu().fma ? kChains : 0);
    EXPECT_EQ(count(loop.text, "addps\t"), target.cpu().fma ? 0 : kChains / 2);
    EXPECT_EQ(count(loop.text, "mulps\t"), target.cpu().fma ? 0 : kChains / 2);
    const bool aarch64 = target.cpu().isa == Isa::aarch64;
    EXPECT_EQ(count(loop.text, aarch64 ? "[" : " ptr "), 0) << "memory in the loop";
    EXPECT_EQ(count(loop.text, "mov"), 0) << "a copy in the loop";
    EXPECT_LE(count(loop.text, "\n"), kChains + 3) << "more than a counter and a jump beside the chains";
    if (aarch64) continue;
    const char* const width = target.cpu().vector_bytes == 64 ? "zmm" : target.cpu().vector_bytes == 32 ? "ymm" : "xmm";
    EXPECT_GE(count(loop.text, width), kChains);
  }
}

TEST(PeakBurst, OfPairsOfBf16StaysInRegisters) {
  const Target target = *parse_target("cpu -mcpu=znver4");
  const Kernel kernel = compile_kernel(burst_program(target.cpu(), 1000, 1, DType::bf16), target).value();
  const std::vector<MachineLoop> loops = innermost_loops(kernel, target).value();
  ASSERT_EQ(loops.size(), 1u);
  SCOPED_TRACE(loops[0].text);
  EXPECT_EQ(loops[0].multiply_adds, kChains);
  EXPECT_EQ(count(loops[0].text, "vdpbf16ps"), kChains);
  EXPECT_EQ(count(loops[0].text, " ptr "), 0) << "memory in the loop";
  EXPECT_LE(count(loops[0].text, "\n"), kChains + 3);
}

TEST(PeakBurst, OfTilesLoadsEachFactorOnce) {
  const Target target = *parse_target("cpu -mcpu=sapphirerapids");
  const Kernel kernel = compile_kernel(burst_program(target.cpu(), 1000, 1, DType::bf16), target).value();
  const std::vector<MachineLoop> loops = innermost_loops(kernel, target).value();
  ASSERT_EQ(loops.size(), 1u);
  SCOPED_TRACE(loops[0].text);
  EXPECT_EQ(loops[0].multiply_adds, 4);
  EXPECT_EQ(count(loops[0].text, "tileloadd"), 4);
  EXPECT_EQ(count(loops[0].text, "tilestored"), 0);
}

TEST(PeakBurst, OfPairsOfBf16AddsTwoProductsAStep) {
  if (!has_bf16_products()) GTEST_SKIP() << "this machine has no products of bf16";
  const Target target = *parse_target("cpu -mcpu=cooperlake");
  const int lanes = target.cpu().lanes(4);
  std::vector<Tensor> arguments = {Tensor(DType::bf16, {2 * lanes}), Tensor(DType::f32, {kChains * lanes})};
  for (Tensor& tensor : arguments)
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, 1);
  const std::vector<Tensor> after =
      run_native(burst_program(target.cpu(), 1000, 1, DType::bf16), target, arguments).value();
  for (int chain = 0; chain < kChains; ++chain) EXPECT_EQ(after[1].get(chain * lanes), 2001);
}

TEST(PeakBurst, RunsAsOftenAsItCounts) {
  for (const Target& target : runnable_targets()) {
    const int lanes = target.cpu().lanes(4);
    std::vector<Tensor> arguments = {Tensor(DType::f32, {lanes}), Tensor(DType::f32, {kChains * lanes})};
    for (Tensor& tensor : arguments) std::ranges::fill(tensor.as<float>(), 1.0f);
    const std::vector<Tensor> after = run_native(burst_program(target.cpu(), 1000), target, arguments).value();
    for (int chain = 0; chain < kChains; ++chain)
      EXPECT_EQ(after[1].get(chain * lanes), target.cpu().fma || chain % 2 == 0 ? 1001 : 1) << target.cpu().mcpu;
  }
}

TEST(PeakBurst, HasARateWithEveryVectorWidth) {
  const std::vector<int> cpus = usable_cores().cpus;
  EXPECT_GT(measure_peak_gflops(detect_target(), cpus), 0.1);
  EXPECT_GT(measure_peak_gflops(*parse_target("cpu"), {cpus.front()}), 0.1);
}

}  // namespace
}  // namespace whet
