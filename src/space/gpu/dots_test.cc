#include "space/gpu/dots.h"

#include <gtest/gtest.h>

#include "cost/gpu/nest.h"
#include "space/gpu/mma.h"
#include "space/testing/byte_texts.h"
#include "space/testing/gpu_samples.h"

namespace whet {
namespace dots_test {

using testing::byte_convolution_text;
using testing::byte_dense_text;

/// The default of a sketch and samples of it have the answers of the definition to the last bit.
void expect_exact(const std::string& text, std::optional<Sketch> (*make)(const ComputeDag&, const Target&),
                  std::vector<const char*> archs, int samples) {
  const ComputeDag task = parse_dag(text).value();
  for (const char* arch : archs) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const std::optional<Sketch> sketch = make(task, target);
    ASSERT_TRUE(sketch.has_value()) << text;
    const DesignSpace space(task, {*sketch});
    Rng rng(3);
    std::vector<Candidate> candidates{space.default_candidate()};
    for (int i = 0; i < testing::random_cases(samples); ++i) candidates.push_back(space.sample(rng));
    for (const Candidate& c : candidates) {
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      EXPECT_TRUE(numerics_of(scheduled->steps).exact);
      const Result<double> error = testing::error_of(task, scheduled->tree, target);
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
      ASSERT_EQ(*error, 0) << to_json(c) << "\n" << to_text(scheduled->tree);
    }
  }
}

TEST(Dots, AreExactInConvolutions) {
  expect_exact(byte_convolution_text(7, 8, 20), dots_sketch, {"sm_75", "sm_80"}, 3);
  expect_exact(byte_convolution_text(5, 16, 12, "i8"), dots_sketch, {"sm_90"}, 3);
}
TEST(Dots, AreExactInDenseLayers) {
  expect_exact(byte_dense_text(33, 48, 30), dots_sketch, {"sm_75", "sm_80"}, 3);
  expect_exact(byte_dense_text(24, 384, 24), dots_sketch, {"sm_80"}, 3);
}
TEST(Dots, AreWholeFours) {
  const Target target = *parse_target("cuda -arch=sm_80");
  EXPECT_FALSE(dots_sketch(*parse_dag(byte_dense_text(33, 50, 30)), target).has_value());
  EXPECT_FALSE(dots_sketch(*parse_dag(byte_dense_text(4, 48, 30)), target).has_value());
}
TEST(MmaOfBytes, AreExactInConvolutions) {
  expect_exact(byte_convolution_text(7, 16, 20), mma_bytes_sketch, {"sm_75", "sm_80"}, 3);
  expect_exact(byte_convolution_text(6, 8, 12, "i8"), mma_bytes_sketch, {"sm_90"}, 3);
}
TEST(MmaOfBytes, AreExactWhereTilesDivideNothing) {
  expect_exact(byte_convolution_text(7, 4, 20), mma_bytes_sketch, {"sm_80"}, 3);
  expect_exact(byte_dense_text(33, 50, 30), mma_bytes_sketch, {"sm_80"}, 3);
}
/// A step of two taps and more of the nine: the guards of a padded picture prove the indices of the last one.
TEST(MmaOfBytes, AreExactWhereTheStepDoesNotDivideTheSum) {
  const Target target = *parse_target("cuda -arch=sm_80");
  for (const int channels : {12, 32, 64}) {
    const ComputeDag task = *parse_dag(byte_convolution_text(5, channels, 40));
    const DesignSpace space(task, {*mma_bytes_sketch(task, target)});
    for (const std::int64_t depth : {64, 128}) {
      if (depth > 9 * channels) continue;
      Candidate c = space.default_candidate();
      c.choices["depth"] = {depth}, c.choices["split"] = {1};
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      const Result<double> error = testing::error_of(task, scheduled->tree, target);
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message;
      EXPECT_EQ(*error, 0) << to_json(c);
    }
  }
  expect_exact(byte_convolution_text(6, 16, 12), mma_bytes_sketch, {"sm_75"}, 6);
  expect_exact(byte_dense_text(33, 100, 30), mma_bytes_sketch, {"sm_80"}, 6);
}
TEST(MmaOfBytes, AreExactInPartsThatASecondLaunchAdds) {
  expect_exact(byte_dense_text(24, 768, 24), mma_bytes_sketch, {"sm_80"}, 3);
}

TEST(ProductsOfBytes, AreComputedByWhatTheGpuHas) {
  const ComputeDag task = *parse_dag(byte_convolution_text(56, 128, 128));
  const auto first = [&](const char* arch) {
    return make_space(task, *parse_target(std::string("cuda -arch=") + arch)).default_candidate().sketch;
  };
  EXPECT_EQ(first("sm_75"), "mma_bytes");
  EXPECT_EQ(first("sm_80"), "mma_bytes");
  EXPECT_EQ(first("sm_90"), "mma_bytes");
}

/// Four products are an instruction, and rows of bytes are read in vectors of 16 without conflicts.
TEST(Dots, AreCountedByFours) {
  const ComputeDag task = *parse_dag(byte_convolution_text(28, 128, 128));
  const Target target = *parse_target("cuda -arch=sm_80");
  const Candidate c{"dots",
                    {{"rows", {1, 16, 4}},
                     {"columns", {4, 16, 1}},
                     {"depth", {32}},
                     {"stages", {3}},
                     {"pad", {16}},
                     {"split", {1}},
                     {"min_blocks", {0}}}};
  const Result<Scheduled> scheduled = make_space(task, target).schedule(c);
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  const std::vector<LaunchWork> launches = gpu_launches(scheduled->tree);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].threads, 256);
  EXPECT_EQ(launches[0].blocks, 13 * 2);
  EXPECT_EQ(launches[0].sums, 16);
  EXPECT_EQ(launches[0].block_memory, 3 * (64 + 64) * (32 + 16));
  const auto dots = std::find_if(launches[0].nests.begin(), launches[0].nests.end(), [&](const OpWork& nest) {
    return scheduled->tree.dag.op(nest.op).dtype == DType::i32 && nest.multiply_adds > 0;
  });
  ASSERT_NE(dots, launches[0].nests.end());
  EXPECT_EQ(dots->multiply_adds, 36 * 16 * 8);
  for (const LaunchAccess& access : dots->accesses) {
    if (access.memory != LaunchAccess::Memory::block) continue;
    EXPECT_EQ(access.width, 16);
    EXPECT_EQ(access.requests, 36 * 4 * 2);
    EXPECT_LE(access.passes, access.least_passes);  // neighbours share rows
  }
}

}  // namespace dots_test
}  // namespace whet
