#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "artifact/model_plan.h"
#include "base/rng.h"
#include "base/testing/checkout.h"

namespace whet {
namespace {

ModelPlan small_plan() {
  ModelPlan plan;
  plan.name = "small";
  plan.target = "cpu -mcpu=x86-64 -threads=2";
  plan.required_isa = "sse3,popcnt";
  plan.records = "1 of 2 tasks from records, 1 by default schedules";
  plan.compiler = "whet 0.1.0";
  plan.entries = 2;
  plan.tuned_threads = 2;
  plan.arena_bytes = 4096;
  plan.weights_bytes = 640;
  plan.flops = 1000;
  plan.predicted_seconds = 0.00025;
  plan.inputs = {{"image", 0, {1, 4, 8}, 128}};
  plan.outputs = {{"scores", 0, {8}, 32}, {"labels", 6, {2, 2}, 32}};
  ModelPlan::Step first;
  first.entry = 1;
  first.arguments = {{PlanPlace::input, 0, 0, 128}, {PlanPlace::weights, 0, 64, 576}, {PlanPlace::arena, 0, 128, 256}};
  first.parallel = true;
  first.workspace_offset = 1024;
  first.workspace_bytes = 512;
  first.worker_bytes = 96;
  first.flops = 900;
  first.bytes = 960;
  first.predicted_seconds = 0.0002;
  first.node = "Conv_0+Relu_1";
  first.op = "conv2d+relu";
  ModelPlan::Step second;
  second.arguments = {{PlanPlace::arena, 0, 128, 256}, {PlanPlace::output, 0, 0, 32}};
  second.barrier = true;
  second.node = "Softmax_2";
  second.op = "softmax";
  ModelPlan::Step third;
  third.kind = PlanStepKind::copy;
  third.arguments = {{PlanPlace::weights, 0, 0, 32}, {PlanPlace::output, 1, 0, 32}};
  third.node = "labels";
  third.op = "copy";
  plan.steps = {first, second, third};
  return plan;
}

/// The same network for a GPU: no entry points, but launches and images.
ModelPlan device_plan() {
  ModelPlan plan = small_plan();
  plan.device = "cuda sm_80";
  plan.entries = 0;
  plan.images = {{PlanImageFormat::ptx, 80, 0, 4000}, {PlanImageFormat::cubin, 80, 4096, 900}};
  plan.images_bytes = 5000;
  plan.steps[0].entry = 0;
  plan.steps[0].launches = {{"conv_sums", {28, 2, 1}, {128, 1, 1}, 49152, false, 0, 3},
                            {"conv_add", {7, 1, 1}, {256, 1, 1}, 0, true, 2, 1}};
  plan.steps[1].launches = {{"softmax", {1, 1, 1}, {32, 1, 1}, 0, false, 0, 2}};
  return plan;
}

constexpr const char* kSmallText =
    "model small for cpu -mcpu=x86-64 -threads=2, tuned for 2 threads\n"
    "by whet 0.1.0; needs sse3,popcnt; 1 of 2 tasks from records, 1 by default schedules\n"
    "arena 4096, weights 640, 2 entry points, 1000 flops\n"
    "input image dtype 0 [1x4x8] 128 bytes\n"
    "output scores dtype 0 [8] 32 bytes\n"
    "output labels dtype 6 [2x2] 32 bytes\n"
    "kernel 1 parallel (input 0+0:128, weights+64:576, arena+128:256) workspace arena+1024:512 worker 96 "
    "# Conv_0+Relu_1: conv2d+relu, 900 flops, 960 bytes, predicted 0.2 ms\n"
    "barrier\n"
    "kernel 0 (arena+128:256, output 0+0:32) # Softmax_2: softmax, 0 flops, 0 bytes\n"
    "copy (weights+0:32, output 1+0:32) # labels: copy, 0 flops, 0 bytes\n";

std::string error_of(const std::string& stored) {
  const Result<ModelPlan> plan = read_plan(stored);
  return plan.ok() ? "no error" : plan.error().message;
}

std::string error_after(void (*change)(ModelPlan&)) {
  ModelPlan plan = small_plan();
  change(plan);
  return error_of(write_plan(plan));
}

/// Puts the right checksum on a changed plan, so that the checks behind it are reached.
void seal(std::string& stored) {
  const std::uint64_t zero = 0;
  std::memcpy(stored.data() + offsetof(PlanHeader, checksum), &zero, 8);
  const std::uint64_t sum = whet_checksum(stored.data(), stored.size());
  std::memcpy(stored.data() + offsetof(PlanHeader, checksum), &sum, 8);
}

TEST(ModelPlan, ReadsBackWhatWasWritten) {
  const Result<ModelPlan> plan = read_plan(write_plan(small_plan()));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(to_text(plan.value()), kSmallText);
  EXPECT_EQ(plan.value().predicted_seconds, 0.00025);
}

TEST(ModelPlan, KeepsTheLaunchesAndImagesOfADevice) {
  ModelPlan written = device_plan();
  written.steps[0].written = 0b100;
  written.steps[1].written = 0b10;
  written.steps[1].part = true;
  const Result<ModelPlan> plan = read_plan(write_plan(written));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(
      to_text(plan.value()),
      "model small for cpu -mcpu=x86-64 -threads=2, tuned for 2 threads\n"
      "by whet 0.1.0; needs sse3,popcnt; 1 of 2 tasks from records, 1 by default schedules\n"
      "arena 4096, weights 640, 0 entry points, 1000 flops\n"
      "device cuda sm_80\n"
      "image ptx for 80 at 0:4000\n"
      "image cubin for 80 at 4096:900\n"
      "input image dtype 0 [1x4x8] 128 bytes\n"
      "output scores dtype 0 [8] 32 bytes\n"
      "output labels dtype 6 [2x2] 32 bytes\n"
      "kernel 0 parallel (input 0+0:128, weights+64:576, arena+128:256) workspace arena+1024:512 worker 96 writes 2 "
      "# Conv_0+Relu_1: conv2d+relu, 900 flops, 960 bytes, predicted 0.2 ms\n"
      "  launch conv_sums 28x2x1 blocks of 128x1x1 with 49152 bytes, arguments 0:3\n"
      "  launch conv_add 7x1x1 blocks of 256x1x1 with 0 bytes, arguments 2:1, early\n"
      "barrier\n"
      "kernel 0 (arena+128:256, output 0+0:32) writes 1 a part # Softmax_2: softmax, 0 flops, 0 bytes\n"
      "  launch softmax 1x1x1 blocks of 32x1x1 with 0 bytes, arguments 0:2\n"
      "copy (weights+0:32, output 1+0:32) # labels: copy, 0 flops, 0 bytes\n");
}

std::string golden(const std::string& name) {
  std::ifstream file(checkout_path("src/artifact/testdata/") + name, std::ios::binary);
  EXPECT_TRUE(file) << name << " is missing";
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

/// It was written by the last program of version 1; nothing writes it any more.
TEST(ModelPlan, StillReadsTheGoldenFileOfVersionOne) {
  const Result<ModelPlan> plan = read_plan(golden("plan_v1.bin"));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(to_text(plan.value()), kSmallText);
}

TEST(ModelPlan, ReadsAndWritesTheGoldenFilesOfVersionTwo) {
  const std::pair<const char*, ModelPlan> files[] = {{"plan_v2.bin", small_plan()},
                                                     {"plan_v2_device.bin", device_plan()}};
  for (const auto& [name, plan] : files) {
    if (std::getenv("WHET_REWRITE_GOLDEN"))
      std::ofstream(checkout_path("src/artifact/testdata/") + name, std::ios::binary) << write_plan(plan);
    const Result<ModelPlan> read = read_plan(golden(name));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(to_text(read.value()), to_text(plan));
    EXPECT_EQ(golden(name), write_plan(plan)) << "the writer changed: raise the version, or restore it";
  }
}

TEST(ModelPlan, RefusesOtherVersionsWithASentence) {
  std::string stored = write_plan(small_plan());
  stored[8] = 9;
  EXPECT_EQ(error_of(stored), "the model's plan has version 9; this runtime reads version 2 (compile the model again)");
}

TEST(ModelPlan, RefusesWhatIsNoPlan) {
  EXPECT_EQ(error_of(""), "the model's plan has 0 bytes; expected at least 192");
  EXPECT_EQ(error_of(std::string(200, 'x')),
            "the model's plan does not begin with \"whetplan\"; expected a plan written by whet compile");
}

TEST(ModelPlan, RefusesRangesOutsideTheirPlace) {
  EXPECT_EQ(
      error_after([](ModelPlan& p) { p.steps[0].arguments[2].offset = 3904; }),
      "the model's plan: argument 2 is place 0, number 0, offset 3904, 256 bytes; expected an aligned range inside "
      "the 4096 bytes there");
  EXPECT_EQ(
      error_after([](ModelPlan& p) { p.steps[0].arguments[0].index = 1; }),
      "the model's plan: argument 0 is place 2, number 1, offset 0, 128 bytes; expected an aligned range inside the "
      "0 bytes there");
  EXPECT_EQ(error_after([](ModelPlan& p) { p.steps[1].entry = 2; }),
            "the model's plan: step 1 is of kind 0 and calls entry point 2; there are 2 entry points");
  EXPECT_EQ(error_after([](ModelPlan& p) { p.inputs[0].bytes = 132; }),
            "the model's plan: input 0 has 132 bytes; its extents make 128");
  EXPECT_EQ(error_after([](ModelPlan& p) { p.steps[0].workspace_bytes = 4096; }),
            "the model's plan: step 0 has a workspace outside the arena of 4096 bytes");
  EXPECT_EQ(
      error_after([](ModelPlan& p) { p.steps[2].arguments[1] = p.steps[0].arguments[0]; }),
      "the model's plan: step 2 copies with 2 arguments; expected two of equal size, the second in the arena or an "
      "output");
}

TEST(ModelPlan, RefusesLaunchesAndImagesThatMakeNoSense) {
  const auto error_on_device = [](void (*change)(ModelPlan&)) {
    ModelPlan plan = device_plan();
    change(plan);
    return error_of(write_plan(plan));
  };
  EXPECT_EQ(error_on_device([](ModelPlan& p) { p.steps[1].launches.clear(); }),
            "the model's plan: step 1 has no launch; expected one or more for cuda sm_80");
  EXPECT_EQ(
      error_on_device([](ModelPlan& p) { p.steps[0].launches[1].argument_count = 2; }),
      "the model's plan: launch 1 has arguments 2 to 4, or no threads; expected some of the 3 arguments of step 0, "
      "and a thread or more");
  EXPECT_EQ(
      error_on_device([](ModelPlan& p) { p.steps[1].launches[0].block.y = 0; }),
      "the model's plan: launch 2 has arguments 0 to 2, or no threads; expected some of the 2 arguments of step 1, "
      "and a thread or more");
  EXPECT_EQ(
      error_on_device([](ModelPlan& p) { p.images_bytes = 4995; }),
      "the model's plan: image 1 is of format 1, 900 bytes at 4096; expected a known format inside the 4995 bytes "
      "of images");
}

/// Else nothing had checked the names of their entries, which are read with every step.
TEST(ModelPlan, RefusesLaunchesOfStepsThatRunOnTheCpuOrCopy) {
  EXPECT_EQ(error_after([](ModelPlan& p) { p.steps[1].launches = device_plan().steps[1].launches; }),
            "the model's plan: step 1 has 1 launches; expected none, as only a device's kernels have launches");
  ModelPlan copying = device_plan();
  copying.steps[2].launches = copying.steps[0].launches;
  EXPECT_EQ(error_of(write_plan(copying)),
            "the model's plan: step 2 has 2 launches; expected none, as only a device's kernels have launches");
}

/// Plans of both versions, and for a device.
std::vector<std::string> all_plans() {
  return {golden("plan_v1.bin"), write_plan(small_plan()), write_plan(device_plan())};
}

TEST(ModelPlan, RefusesEveryTruncationAndEveryChangedByte) {
  for (const std::string& stored : all_plans()) {
    for (std::size_t size = 0; size < stored.size(); ++size) {
      EXPECT_FALSE(read_plan(std::string_view(stored).substr(0, size)).ok()) << size;
    }
    for (std::size_t at = 0; at < stored.size(); ++at) {
      std::string changed = stored;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      EXPECT_FALSE(read_plan(changed).ok()) << at;
    }
  }
}

TEST(ModelPlan, NeverCrashesOnGarbageBehindARightChecksum) {
  for (const std::string& stored : all_plans()) {
    Rng rng(1);
    int accepted = 0;
    for (int round = 0; round < 20000; ++round) {
      std::string changed = stored;
      for (std::int64_t n = rng.between(1, 4); n > 0; --n) {
        const std::size_t at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(changed.size())));
        changed[at] = static_cast<char>(rng.chance(0.3) ? 0xff : rng.next());
      }
      seal(changed);
      const Result<ModelPlan> plan = read_plan(changed);
      if (plan.ok()) accepted += !to_text(plan.value()).empty();
    }
    EXPECT_GT(accepted, 0);
  }
}

}  // namespace
}  // namespace whet
