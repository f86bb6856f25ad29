#include "target/gpu.h"

#include <gtest/gtest.h>

#include "target/target.h"

namespace whet {
namespace gpu_test {

std::string error_of(std::string_view text) {
  const Result<Target> target = parse_target(text);
  return target.ok() ? "no error" : target.error().message;
}

TEST(GpuTarget, TextParsesBackToTheSameTarget) {
  for (const GpuModel& model : gpu_models()) {
    const Target target = *parse_target("cuda -model=" + std::string(model.name));
    EXPECT_EQ(target.gpu(), (GpuTarget{model.arch, model.sms}));
    EXPECT_EQ(*parse_target(to_string(target)), target) << to_string(target);
  }
  EXPECT_EQ(to_string(*parse_target("cuda -sms=7 -arch=sm_86")), "cuda -arch=sm_86 -sms=7");
}
TEST(GpuTarget, HasTheMultiprocessorsOfTheCommonestModelWhereTheTextNamesNone) {
  EXPECT_EQ(to_string(*parse_target("cuda -arch=sm_90")), "cuda -arch=sm_90 -sms=132");
  EXPECT_EQ(to_string(*parse_target("cuda -arch=sm_86")), "cuda -arch=sm_86 -sms=72");
  EXPECT_EQ(to_string(*parse_target("cuda -arch=sm_87")), "cuda -arch=sm_87 -sms=72");
}
TEST(GpuTarget, RefusesWithWhatWasFoundAndWhatWouldBeRight) {
  EXPECT_EQ(error_of("cuda"), "target: \"cuda\" does not say which GPU; expected something like \"cuda -model=h100\"");
  EXPECT_EQ(error_of("cuda -sms=3"), error_of("cuda"));
  EXPECT_EQ(error_of("cuda -arch=sm_70"), "target: -arch is \"sm_70\"; whet makes code for sm_75 and newer");
  EXPECT_EQ(error_of("cuda -arch=sm_90a"),
            "target: -arch is \"sm_90a\"; expected one of sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_120");
  EXPECT_EQ(error_of("cuda -arch=90"),
            "target: -arch is \"90\"; expected one of sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_120");
  EXPECT_EQ(error_of("cuda -model=h10"),
            "target: -model is \"h10\"; expected a GPU of `whet target --list`; did you mean \"a10\"?");
  EXPECT_EQ(error_of("cuda -model=h100 -sms=0"), "target: -sms is \"0\"; expected a number from 1 to 1024");
  EXPECT_EQ(error_of("cuda -model=h100 -arch=sm_80"),
            "target: \"-arch=sm_80\" names the GPU a second time; expected one -arch= or -model=");
  EXPECT_EQ(error_of("cuda -models=h100"),
            "target: unknown switch \"-models\"; expected -arch=, -sms= or -model=; did you mean \"-model\"?");
}
TEST(GpuTarget, IsApartFromACpuAndNearToOtherGpus) {
  const Target h100 = *parse_target("cuda -model=h100"), pcie = *parse_target("cuda -model=h100-pcie");
  const Target t4 = *parse_target("cuda -model=t4");
  EXPECT_FALSE(target_distance(h100, *parse_target("cpu")));
  EXPECT_TRUE(target_distance(h100, h100)->none());
  EXPECT_LT(*target_distance(pcie, h100), *target_distance(t4, h100));
  EXPECT_EQ(target_differences(t4, h100),
            std::vector<std::string>{"measured on sm_75 with 40 SMs, not sm_90 with 132 SMs"});
  EXPECT_EQ(target_differences(h100, h100), std::vector<std::string>{});
}
TEST(GpuTarget, TakesTheLimitsOfTheNewestArchThatIsNotAbove) {
  EXPECT_EQ(limits_of({75, 40}).arch, 75);
  EXPECT_EQ(limits_of({103, 140}).arch, 100);
  EXPECT_FALSE(limits_of({75, 40}).async_copy);
  EXPECT_TRUE(limits_of({86, 72}).async_copy);
}

/// Blocks of an SM as NVIDIA's occupancy header (cuda_occupancy.h of CUDA 13.0) counts them.
struct Counted {
  int arch, threads, registers;
  std::int64_t block_memory;
  int blocks;
  std::string_view limited_by;
};
constexpr Counted kCounted[] = {
    {75, 256, 128, 30720, 2, "registers"},
    {75, 128, 104, 36864, 1, "block memory"},
    {75, 64, 40, 0, 16, "threads"},
    {75, 1024, 64, 0, 1, "threads"},
    {75, 32, 0, 0, 16, "blocks"},
    {75, 256, 255, 0, 1, "registers"},
    {75, 192, 72, 49152, 1, "block memory"},
    {75, 96, 33, 1000, 10, "threads"},
    {80, 256, 128, 30720, 2, "registers"},
    {80, 128, 104, 36864, 4, "registers"},
    {80, 64, 40, 0, 24, "registers"},
    {80, 1024, 64, 0, 1, "registers"},
    {80, 32, 0, 0, 32, "blocks"},
    {80, 256, 255, 0, 1, "registers"},
    {80, 192, 72, 49152, 3, "block memory"},
    {80, 96, 33, 1000, 16, "registers"},
    {86, 256, 128, 30720, 2, "registers"},
    {86, 128, 104, 36864, 2, "block memory"},
    {86, 64, 40, 0, 16, "blocks"},
    {86, 1024, 64, 0, 1, "threads"},
    {86, 32, 0, 0, 16, "blocks"},
    {86, 256, 255, 0, 1, "registers"},
    {86, 192, 72, 49152, 2, "block memory"},
    {86, 96, 33, 1000, 16, "threads"},
    {87, 256, 128, 30720, 2, "registers"},
    {87, 128, 104, 36864, 4, "registers"},
    {87, 64, 40, 0, 16, "blocks"},
    {87, 1024, 64, 0, 1, "threads"},
    {87, 32, 0, 0, 16, "blocks"},
    {87, 256, 255, 0, 1, "registers"},
    {87, 192, 72, 49152, 3, "block memory"},
    {87, 96, 33, 1000, 16, "threads"},
    {89, 256, 128, 30720, 2, "registers"},
    {89, 128, 104, 36864, 2, "block memory"},
    {89, 64, 40, 0, 24, "threads"},
    {89, 1024, 64, 0, 1, "threads"},
    {89, 32, 0, 0, 24, "blocks"},
    {89, 256, 255, 0, 1, "registers"},
    {89, 192, 72, 49152, 2, "block memory"},
    {89, 96, 33, 1000, 16, "threads"},
    {90, 256, 128, 30720, 2, "registers"},
    {90, 128, 104, 36864, 4, "registers"},
    {90, 64, 40, 0, 24, "registers"},
    {90, 1024, 64, 0, 1, "registers"},
    {90, 32, 0, 0, 32, "blocks"},
    {90, 256, 255, 0, 1, "registers"},
    {90, 192, 72, 49152, 4, "registers"},
    {90, 96, 33, 1000, 16, "registers"},
    {100, 256, 128, 30720, 2, "registers"},
    {100, 128, 104, 36864, 4, "registers"},
    {100, 64, 40, 0, 24, "registers"},
    {100, 1024, 64, 0, 1, "registers"},
    {100, 32, 0, 0, 32, "blocks"},
    {100, 256, 255, 0, 1, "registers"},
    {100, 192, 72, 49152, 4, "registers"},
    {100, 96, 33, 1000, 16, "registers"},
    {120, 256, 128, 30720, 2, "registers"},
    {120, 128, 104, 36864, 2, "block memory"},
    {120, 64, 40, 0, 24, "threads"},
    {120, 1024, 64, 0, 1, "threads"},
    {120, 32, 0, 0, 24, "blocks"},
    {120, 256, 255, 0, 1, "registers"},
    {120, 192, 72, 49152, 2, "block memory"},
    {120, 96, 33, 1000, 16, "threads"},
};
TEST(Residency, IsWhatTheOccupancyHeaderCounts) {
  for (const Counted& row : kCounted) {
    const Residency found = residency(limits_of({row.arch, 1}), row.threads, row.registers, row.block_memory);
    EXPECT_EQ(found.blocks, row.blocks) << "sm_" << row.arch << " " << row.threads << " " << row.registers;
    EXPECT_EQ(found.limited_by, row.limited_by) << "sm_" << row.arch << " " << row.threads << " " << row.registers;
    EXPECT_EQ(found.warps, row.blocks * ((row.threads + 31) / 32));
  }
}
TEST(Residency, IsNoneForABlockThatCannotStart) {
  const GpuLimits& limits = limits_of({90, 132});
  EXPECT_EQ(residency(limits, 1025, 0, 0).blocks, 0);
  EXPECT_EQ(residency(limits, 1024, 65, 0).blocks, 0);
  EXPECT_STREQ(residency(limits, 1024, 65, 0).limited_by, "registers");
  EXPECT_EQ(residency(limits, 32, 256, 0).blocks, 0);
  EXPECT_EQ(residency(limits, 32, 0, limits.block_memory_per_block + 1).blocks, 0);
  EXPECT_EQ(residency(limits, 32, 0, limits.block_memory_per_block).blocks, 1);
}

}  // namespace gpu_test
}  // namespace whet
