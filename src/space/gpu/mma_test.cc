#include "space/gpu/mma.h"

#include <gtest/gtest.h>

#include "cost/gpu/nest.h"
#include "lower/lower.h"
#include "schedule/precision.h"
#include "space/testing/gpu_samples.h"
#include "space/testing/product_texts.h"

namespace whet {
namespace {

using testing::convolution_text;
using testing::kDenseText;

const char* const kBatched = R"(
a = PLACEHOLDER [3, 28, 24]
b = PLACEHOLDER [3, 24, 36]
c(n, i, j) += (a[n, i, r]*b[n, r, j]) for n in 3, i in 28, j in 36, r in 24
return c
)";
const char* const kLongSum = R"(
a = PLACEHOLDER [24, 384]
b = PLACEHOLDER [384, 24] const
bias = PLACEHOLDER [24] const
c(i, j) += (a[i, r]*b[r, j]) for i in 24, j in 24, r in 384
out(i, j) = max((c[i, j] + bias[j]), 0f) for i in 24, j in 24
return out
)";

constexpr Precision kRounded[] = {Precision::tf32, Precision::f16, Precision::bf16};
Target sm_80() { return *parse_target("cuda -arch=sm_80"); }

/// Samples of the sketch compute the task, as exactly as the rounding of their operands allows.
void expect_right(const std::string& text, int samples) {
  const ComputeDag task = parse_dag(text).value();
  for (const Precision precision : kRounded) {
    const DesignSpace space = make_space(task, sm_80(), {.precision = precision});
    Rng rng(3);
    int tried = 0;
    for (int i = 0; i < 400 && tried < testing::random_cases(samples); ++i) {
      const Candidate c = space.sample(rng);
      if (c.sketch != "mma") continue;
      ++tried;
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      EXPECT_EQ(numerics_of(scheduled->steps).precision, precision);
      const Result<double> error = testing::error_of(task, scheduled->tree, sm_80());
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
      ASSERT_LT(*error, tolerance_of(precision)) << to_json(c) << "\n" << to_text(scheduled->tree);
      // In the order of its own sums, of operands rounded alike, it has their values.
      ASSERT_LT(*testing::error_of(scheduled->tree.dag, scheduled->tree, sm_80()), 1e-5) << to_json(c);
    }
    EXPECT_GT(tried, 0);
  }
}

TEST(Mma, ComputesConvolutions) { expect_right(convolution_text(7, 5, 12), 3); }
TEST(Mma, ComputesBatchedProducts) { expect_right(kBatched, 3); }
TEST(Mma, ComputesWhatTilesDoNotDivide) { expect_right(kDenseText, 3); }
TEST(Mma, ComputesSumsInPartsThatASecondLaunchAdds) { expect_right(kLongSum, 3); }

TEST(Mma, IsThereWhereItsRoundingIsAskedFor) {
  const ComputeDag task = parse_dag(kDenseText).value();
  const auto has_mma = [&](const Target& target, const SpaceOptions& options) {
    const DesignSpace space = make_space(task, target, options);
    return std::any_of(space.sketches().begin(), space.sketches().end(),
                       [](const Sketch& sketch) { return sketch.name == "mma"; });
  };
  EXPECT_FALSE(has_mma(sm_80(), {}));
  EXPECT_TRUE(has_mma(sm_80(), {.precision = Precision::tf32}));
  EXPECT_FALSE(has_mma(sm_80(), {.exact = true, .precision = Precision::tf32}));
  EXPECT_FALSE(has_mma(*parse_target("cuda -arch=sm_75"), {.precision = Precision::tf32}));
  EXPECT_FALSE(has_mma(*parse_target("cpu -mcpu=haswell -threads=2"), {.precision = Precision::tf32}));
}

TEST(Mma, OfRecordsIsUsedWhereItsRoundingIsPermitted) {
  const ComputeDag task = parse_dag(convolution_text(14, 32, 32)).value();
  const Numerics steps = numerics_of(to_text(*default_steps(task, sm_80(), {.precision = Precision::tf32})));
  EXPECT_EQ(steps.precision, Precision::tf32);
  EXPECT_FALSE(steps.exact);
  EXPECT_FALSE(permits({}, steps));
  EXPECT_TRUE(permits({.precision = Precision::tf32}, steps));
  EXPECT_TRUE(permits({.precision = Precision::bf16}, steps));
  EXPECT_FALSE(permits({.exact = true, .precision = Precision::tf32}, steps));
  EXPECT_FALSE(permits({.precision = Precision::tf32}, numerics_of("tensorize l1 mma_f16")));
}

/// Products of f16 are exact in f32. Their sums differ from the task's by the order of adding, and are then rounded to f16.
void expect_right_halves(const std::string& text, int samples) {
  const ComputeDag task = parse_dag(text).value();
  for (const char* arch : {"sm_80", "sm_90"}) {
    const Target target = *parse_target(std::string("cuda -arch=") + arch);
    const DesignSpace space(task, {*mma_half_sketch(task, target)});
    Rng rng(3);
    for (int k = 0; k <= testing::random_cases(samples); ++k) {
      const Candidate c = k == 0 ? space.default_candidate() : space.sample(rng);
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      const Result<double> error = testing::error_of(task, scheduled->tree, target);
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
      EXPECT_LT(*error, 0x1p-10) << to_json(c) << "\n" << to_text(scheduled->tree);
      EXPECT_TRUE(numerics_of(scheduled->steps).exact);
    }
  }
}
TEST(MmaOfHalves, ComputesConvolutions) { expect_right_halves(testing::half_convolution_text(7, 16, 12), 4); }
TEST(MmaOfHalves, ComputesProductsOfTwoInputs) { expect_right_halves(testing::half_dense_text(28, 36, 24, ""), 4); }
TEST(MmaOfHalves, ComputesWhatTilesDoNotDivide) { expect_right_halves(testing::half_dense_text(33, 30, 50), 4); }
/// What is loaded waits as it is, two elements a register, and is computed behind the products of the slab before.
TEST(MmaOfHalves, ScalesWhatItReads) {
  for (const int stride : {1, 2}) expect_right_halves(testing::scaled_halves_text(9, 64, 24, stride), 4);
  const ComputeDag task = parse_dag(testing::scaled_halves_text(14, 256, 64, 1)).value();
  const DesignSpace space(task, {*mma_half_sketch(task, sm_80())});
  const LoopTree tree = space.schedule(space.default_candidate())->tree;
  const Lowered lowered = lower(tree, sm_80()).value();
  const auto held = std::ranges::find_if(lowered.program.buffers,
                                         [](const Buffer& buffer) { return buffer.name.ends_with(".held"); });
  ASSERT_NE(held, lowered.program.buffers.end()) << to_text(tree);
  EXPECT_EQ(held->dtype, DType::f16);
  const LaunchWork launch = gpu_launches(tree).front();
  double registers = 0;
  for (const OpWork& nest : launch.nests) registers += nest.held;
  EXPECT_EQ(registers, static_cast<double>(num_elements(held->extents)) / 2);
}
/// What is beside the picture is not loaded, although it would be scaled.
TEST(MmaOfHalves, ScalesWhatIsPadded) {
  expect_right_halves(R"(
x = PLACEHOLDER [1, 7, 7, 16] f16
s = PLACEHOLDER [16] const
w = PLACEHOLDER [3, 3, 16, 24] f16 const
pad(n, y, z, c): f16 = select((y >= 1) && (y < 8) && (z >= 1) && (z < 8), x[n, (y - 1), (z - 1), c], 0h) for n in 1, y in 9, z in 9, c in 16  # pad
wide(n, y, z, c) = f32(pad[n, y, z, c]) for n in 1, y in 9, z in 9, c in 16
scaled(n, y, z, c) = (wide[n, y, z, c]*s[c]) for n in 1, y in 9, z in 9, c in 16
a(n, y, z, c): f16 = f16(scaled[n, y, z, c]) for n in 1, y in 9, z in 9, c in 16
conv(n, oh, ow, oc) += (f32(a[n, (oh + rh), (ow + rw), rc])*f32(w[rh, rw, rc, oc])) for n in 1, oh in 7, ow in 7, oc in 24, rh in 3, rw in 3, rc in 16  # conv
out(n, oh, ow, oc): f16 = f16(conv[n, oh, ow, oc]) for n in 1, oh in 7, ow in 7, oc in 24
return out
)",
                      4);
}
TEST(MmaOfHalves, ComputesSumsInPartsThatASecondLaunchAdds) {
  expect_right_halves(testing::half_dense_text(24, 24, 384), 4);
}

/// Results are rounded to 8 bits.
TEST(MmaOfHalves, ComputesProductsOfBf16) {
  for (const std::string& text :
       {testing::half_convolution_text(7, 16, 12), testing::half_dense_text(33, 30, 50, "")}) {
    const ComputeDag task = parse_dag(testing::with_bf16(text)).value();
    const DesignSpace space(task, {*mma_half_sketch(task, sm_80())});
    Rng rng(3);
    for (int k = 0; k <= testing::random_cases(2); ++k) {
      const Candidate c = k == 0 ? space.default_candidate() : space.sample(rng);
      const Result<Scheduled> scheduled = space.schedule(c);
      ASSERT_TRUE(scheduled.ok()) << to_json(c) << ": " << scheduled.error().message;
      const Result<double> error = testing::error_of(task, scheduled->tree, sm_80());
      ASSERT_TRUE(error.ok()) << to_json(c) << ": " << error.error().message << "\n" << to_text(scheduled->tree);
      EXPECT_LT(*error, 0x1p-7) << to_json(c) << "\n" << to_text(scheduled->tree);
    }
  }
}

TEST(MmaOfHalves, IsThereWithoutAskingForARounding) {
  if (testing::kSanitized) GTEST_SKIP() << "what makes these spaces is watched in the tests above";
  const auto sketches_of = [](const std::string& text, const char* target, const SpaceOptions& options = {}) {
    std::vector<std::string> names;
    const DesignSpace space = make_space(parse_dag(text).value(), *parse_target(target), options);
    for (const Sketch& sketch : space.sketches()) names.push_back(sketch.name);
    return names;
  };
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string halves = testing::half_convolution_text(28, 64, 64);
  const std::vector<std::string> usual = sketches_of(halves, "cuda -arch=sm_80");
  EXPECT_EQ(usual.front(), "mma_half") << "the estimate takes it for the fastest";
  EXPECT_TRUE(has(usual, "product"));
  EXPECT_TRUE(has(sketches_of(halves, "cuda -arch=sm_80", {.exact = true}), "mma_half"));
  for (const Precision precision : kRounded) {
    const std::vector<std::string> names = sketches_of(halves, "cuda -arch=sm_80", {.precision = precision});
    EXPECT_TRUE(has(names, "mma_half") && !has(names, "mma"));
  }
  const std::vector<std::string> before = sketches_of(halves, "cuda -arch=sm_75");
  EXPECT_TRUE(!has(before, "mma_half") && has(before, "product"));
  EXPECT_FALSE(has(sketches_of(convolution_text(28, 64, 64), "cuda -arch=sm_80"), "mma_half"));
}

/// A warp computes 16 x 8 sums of 8 products at once, and keeps a 32nd of its sums in a register of each lane.
TEST(Mma, IsCountedByTiles) {
  const ComputeDag task = parse_dag(convolution_text(28, 128, 128)).value();
  const Candidate c{"mma",
                    {{"rows", {2, 32}},
                     {"columns", {2, 32}},
                     {"depth", {16}},
                     {"stages", {3}},
                     {"pad", {4, 4}},
                     {"split", {1}},
                     {"min_blocks", {0}},
                     {"round", {0}},
                     {"raster", {0}}}};
  const Result<Scheduled> scheduled = make_space(task, sm_80(), {.precision = Precision::tf32}).schedule(c);
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  const std::vector<LaunchWork> launches = gpu_launches(scheduled->tree);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].threads, 128);
  EXPECT_EQ(launches[0].blocks, 13 * 2);
  EXPECT_EQ(launches[0].sums, 32);
  EXPECT_EQ(launches[0].registers, 32 + 2 * 4 + 4 * 2 + 60);
  const auto tiles = std::find_if(launches[0].nests.begin(), launches[0].nests.end(),
                                  [](const OpWork& nest) { return nest.tiles > 0; });
  ASSERT_NE(tiles, launches[0].nests.end());
  EXPECT_EQ(tiles->tiles, 72 * 2 * 2 * 4);
  EXPECT_EQ(tiles->conversions, 72 * 2 * 2 * 4) << "constants are rounded ahead of time";
  EXPECT_EQ(tiles->multiply_adds, 0);
  for (const LaunchAccess& access : tiles->accesses) {
    if (access.memory == LaunchAccess::Memory::global) {
      EXPECT_EQ(access.requests, 32 / 2) << "a lane has two sums behind each other";
    }
    if (access.memory == LaunchAccess::Memory::block) {
      EXPECT_EQ(access.passes, access.least_passes);
    }
  }
}

}  // namespace
}  // namespace whet
