#include "artifact/sized_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "artifact/sized_model_plan.h"
#include "base/rng.h"
#include "base/testing/checkout.h"

namespace whet {
namespace sized_plan_test {

/// y[n, m] = kernel(x[n, m], w).
ModelPlan plan_at(std::int64_t n, std::int64_t m) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(n * m * 4);
  ModelPlan plan;
  plan.name = "small";
  plan.target = "cpu -mcpu=x86-64 -threads=2";
  plan.records = "0 of 1 task from records, 1 by default schedules";
  plan.compiler = "whet 0.1.0";
  plan.entries = 6;
  plan.tuned_threads = 2;
  plan.arena_bytes = (bytes + 63) / 64 * 64;
  plan.weights_bytes = 128;
  plan.flops = static_cast<double>(n * m);
  plan.inputs = {{"x", 0, {n, m}, bytes}};
  plan.outputs = {{"y", 0, {n, m}, bytes}};
  ModelPlan::Step step;
  step.entry = static_cast<std::uint32_t>(n % 6);
  step.arguments = {{PlanPlace::input, 0, 0, bytes}, {PlanPlace::weights, 0, 0, 128}, {PlanPlace::output, 0, 0, bytes}};
  step.node = "Dense_0";
  step.op = "dense";
  plan.steps = {step};
  return plan;
}

SizedModelPlan six_plans() {
  SizedModelPlan plan;
  plan.sizes = {{"x.0", 0, 0, {1, 2, 8}}, {"m", 0, 1, {3, 16}}};
  for (std::size_t v = 0; v < variant_count(plan.sizes); ++v) {
    const std::vector<std::int64_t> at = values_at(plan.sizes, v);
    plan.variants.push_back(plan_at(at[0], at[1]));
  }
  plan.usual = 1;
  return plan;
}

constexpr std::size_t kChecksumAt = 24;
void put_checksum(char* plan, std::size_t bytes) {
  std::memset(plan + kChecksumAt, 0, 8);
  const std::uint64_t sum = whet_checksum(plan, bytes);
  std::memcpy(plan + kChecksumAt, &sum, 8);
}

/// Puts the right checksums on a changed plan: those of its variants, where they are in it, then its own.
void seal(std::string& stored) {
  SizedPlanHeader header;
  std::memcpy(&header, stored.data(), sizeof header);
  for (std::uint64_t v = 0; v < header.variants.count && v < 100; ++v) {
    const std::uint64_t at = header.variants.offset + v * sizeof(PlanVariant);
    if (at + sizeof(PlanVariant) > stored.size()) break;
    PlanVariant variant;
    std::memcpy(&variant, stored.data() + at, sizeof variant);
    if (variant.offset < stored.size() && variant.bytes <= stored.size() - variant.offset && variant.bytes > 64)
      put_checksum(stored.data() + variant.offset, variant.bytes);
  }
  put_checksum(stored.data(), stored.size());
}

std::string error_of(const std::string& stored) {
  const Result<SizedModelPlan> plan = read_sized_plan(stored);
  return plan.ok() ? "no error" : plan.error().message;
}
std::string error_after(void (*change)(SizedModelPlan&)) {
  SizedModelPlan plan = six_plans();
  change(plan);
  return error_of(write_sized_plan(plan));
}

TEST(SizedPlan, ReadsBackWhatWasWritten) {
  const Result<SizedModelPlan> plan = read_sized_plan(write_sized_plan(six_plans()));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(to_text(*plan), to_text(six_plans()));
  const std::string text = to_text(*plan);
  EXPECT_TRUE(
      text.starts_with("size x.0, dimension 0 of input 0: 1, 2, 8\n"
                       "size m, dimension 1 of input 0: 3, 16\n"
                       "at x.0 = 1, m = 3\n"
                       "model small for cpu -mcpu=x86-64 -threads=2, tuned for 2 threads\n"))
      << text;
  EXPECT_NE(text.find("at x.0 = 1, m = 16, the usual\n"), std::string::npos) << text;
  EXPECT_NE(text.find("input x dtype 0 [8x16] 512 bytes\n"), std::string::npos) << text;
}

TEST(SizedPlan, OfOneSizeIsThePlanItself) {
  const ModelPlan plan = plan_at(4, 4);
  EXPECT_EQ(write_sized_plan({{}, {plan}, 0}), write_plan(plan));
  const Result<SizedModelPlan> read = read_sized_plan(write_plan(plan));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->sizes.empty());
  EXPECT_EQ(to_text(*read), to_text(plan));
}

TEST(SizedPlan, IsRefusedByARuntimeThatKnowsOneSizeOnly) {
  const Result<ModelPlan> plan = read_plan(write_sized_plan(six_plans()));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message,
            "the model's plan has version 3; this runtime reads version 2 (compile the model again)");
}

TEST(SizedPlan, ReadsAndWritesItsGoldenFile) {
  const std::string path = checkout_path("src/artifact/testdata/plan_v3.bin");
  if (std::getenv("WHET_REWRITE_GOLDEN")) std::ofstream(path, std::ios::binary) << write_sized_plan(six_plans());
  std::ifstream file(path, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_TRUE(golden.str() == write_sized_plan(six_plans())) << "the writer changed: raise the version, or restore it";
  EXPECT_EQ(error_of(golden.str()), "no error");
}

TEST(SizedPlan, KnowsTheValuesOfItsVariants) {
  const std::string stored = write_sized_plan(six_plans());
  std::vector<std::uint64_t> aligned(stored.size() / 8);
  std::memcpy(aligned.data(), stored.data(), stored.size());
  SizedView view;
  whet_error error;
  ASSERT_EQ(parse_sizes(aligned.data(), stored.size(), &view, &error), 0) << error.message;
  ASSERT_EQ(view.variant_count(), 6u);
  EXPECT_EQ(view.usual(), 1u);
  for (std::uint32_t v = 0; v < 6; ++v)
    for (std::uint32_t k = 0; k < 2; ++k)
      EXPECT_EQ(view.values_of(k)[value_number(view, k, v)], values_at(six_plans().sizes, v)[k]);
}

TEST(SizedPlan, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.variants.pop_back(); }),
            "the model's plan has 5 variants, of which 1 is the usual one; expected one for each choice of its sizes");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.usual = 6; }),
            "the model's plan has 6 variants, of which 6 is the usual one; expected one for each choice of its sizes");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.sizes[0].values = {1, 8, 2}; }),
            "the model's plan: size 0 has 3 values from 0 on; expected positive ones, ascending, among the 5 stored");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { std::swap(p.variants[0], p.variants[5]); }),
            "the model's plan: the inputs of variant 0 have other sizes than its place says");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.sizes[1].dimension = 2; }),
            "the model's plan: the inputs of variant 1 have other sizes than its place says");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.variants[3].weights_bytes = 256; }),
            "the model's plan: variant 3 has other kernels, weights, inputs or outputs than the usual one; expected "
            "other extents alone");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.variants[3].outputs[0].name = "z"; }),
            "the model's plan: variant 3 has other kernels, weights, inputs or outputs than the usual one; expected "
            "other extents alone");
  EXPECT_EQ(error_after([](SizedModelPlan& p) { p.variants[2].steps[0].entry = 6; }),
            "the model's plan: step 0 is of kind 0 and calls entry point 6; there are 6 entry points");
}

TEST(SizedPlan, RefusesEveryTruncationAndEveryChangedByte) {
  const std::string stored = write_sized_plan(six_plans());
  for (std::size_t size = 0; size < stored.size(); ++size) EXPECT_FALSE(read_sized_plan(stored.substr(0, size)).ok());
  for (std::size_t at = 0; at < stored.size(); ++at) {
    std::string changed = stored;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    EXPECT_FALSE(read_sized_plan(changed).ok()) << at;
  }
}

TEST(SizedPlan, NeverCrashesOnGarbageBehindRightChecksums) {
  const std::string stored = write_sized_plan(six_plans());
  Rng rng(1);
  int accepted = 0, of_the_sizes = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string changed = stored;
    for (std::int64_t n = rng.between(1, 4); n > 0; --n) {
      const std::int64_t most = rng.chance(0.3) ? std::int64_t{sizeof(SizedPlanHeader)} : std::ssize(changed);
      changed[static_cast<std::size_t>(rng.below(most))] = static_cast<char>(rng.chance(0.3) ? 0xff : rng.next());
    }
    seal(changed);
    const Result<SizedModelPlan> plan = read_sized_plan(changed);
    if (plan.ok()) accepted += !to_text(*plan).empty();
    if (!plan.ok()) of_the_sizes += plan.error().message.find("variant") != std::string::npos;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(of_the_sizes, 0);
}

}  // namespace sized_plan_test
}  // namespace whet
