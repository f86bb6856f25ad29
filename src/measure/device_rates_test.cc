#include "measure/device_rates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/testing/native.h"
#include "device/testing/fake_devices.h"
#include "measure/cpu/peak.h"
#include "measure/cpu/reads.h"

namespace whet::device_rates_test {
namespace {

Tensor ones(std::int64_t size) {
  Tensor tensor(DType::f32, {size});
  std::ranges::fill(tensor.as<float>(), 1.0f);
  return tensor;
}

TEST(ReadKernels, ReadAllThatIsTheirs) {
  constexpr std::int64_t kThreads = 2, kPasses = 3;
  for (const Target& target : runnable_targets()) {
    const std::int64_t step = read_step(target.cpu()), floats = 5 * step;
    const Program program = read_program(target.cpu(), floats, kPasses, kThreads);
    const std::vector<Tensor> after =
        run_native(program, target, {ones(kThreads * floats), Tensor(DType::f32, {kThreads * step})}).value();
    // Each sum begins with what it reads first, so that no read can be left out.
    for (std::int64_t i = 0; i < kThreads * step; ++i) EXPECT_EQ(after[1].get(i), 1 + kPasses * 5) << target.cpu().mcpu;
  }
}
TEST(PeakKernels, RunOnSeveralThreads) {
  for (const Target& target : runnable_targets()) {
    const Program one = burst_program(target.cpu(), 10), two = burst_program(target.cpu(), 10, 2);
    const std::int64_t lanes = target.cpu().lanes(4),
                       chains =
                           static_cast<std::int64_t>(burst_operations(target.cpu(), 1)) / (target.cpu().fma ? 2 : 1);
    const auto end = [&](const Program& program, std::int64_t threads) {
      return std::move(run_native(program, target, {ones(lanes), ones(threads * chains)}).value()[1]);
    };
    const Tensor of_one = end(one, 1), of_two = end(two, 2);
    for (std::int64_t i = 0; i < 2 * chains; ++i) EXPECT_EQ(of_two.get(i), of_one.get(i % chains)) << target.cpu().mcpu;
  }
}
TEST(DeviceRates, AreWhatTheDevicesTimesSay) {
  for (const char* text : {"cpu -mcpu=znver3 -threads=2", "cpu -mcpu=cortex-a72 -threads=4"}) {
    const Target target = *parse_target(text);
    std::vector<std::uint32_t> threads;
    testing::FormulaDevice device([&](const KernelJob& job) {
      threads.push_back(job.threads);
      EXPECT_TRUE(decode<MeasureRequest>(encode(MeasureRequest{job, {}})).has_value()) << "a device takes it";
      return 1e-3;
    });
    const MachineRates rates = measure_device_rates(device, target, {});
    EXPECT_DOUBLE_EQ(rates.gflops, burst_operations(target.cpu(), kPeakRounds) * target.threads / 1e6);
    EXPECT_DOUBLE_EQ(rates.memory_gbs, static_cast<double>(32 << 20) * target.threads / 1e6);
    for (const double gbs : {rates.l1_gbs, rates.l2_gbs}) EXPECT_NEAR(gbs, rates.memory_gbs, 0.2 * rates.memory_gbs);
    EXPECT_EQ(rates.l3_gbs > 0, target.cpu().l3_bytes > 0);
    EXPECT_EQ(rates.l1_bytes, target.cpu().l1_bytes * target.threads);
    EXPECT_TRUE(
        std::ranges::all_of(threads, [&](std::uint32_t n) { return n == static_cast<std::uint32_t>(target.threads); }));
  }
}
TEST(DeviceRates, AreUnknownWhereTheDeviceIsLost) {
  testing::FormulaDevice formula([](const KernelJob&) { return 1e-3; });
  testing::DyingDevice device(formula, 0);
  const MachineRates rates = measure_device_rates(device, *parse_target("cpu -mcpu=znver3"), {});
  EXPECT_EQ(rates.gflops, 0);
  EXPECT_EQ(rates.memory_gbs, 0);
}

}  // namespace
}  // namespace whet::device_rates_test
