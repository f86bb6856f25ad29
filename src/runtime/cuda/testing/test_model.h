#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "artifact/model_plan.h"
#include "runtime/cuda/model.h"
#include "runtime/cuda/testing/scripted_driver.h"

namespace whet::testing {

/// A model of five kernels with two branches, and the kernels for a scripted driver:
///   a = x + w;  b = 2 a, in two launches over a workspace;  c = a · a;  y = b - c;  z = w, copied
class CudaTestModel {
 public:
  static constexpr std::uint32_t kSize = 1000;
  static constexpr std::uint64_t kBytes = kSize * 4, kRoom = 4096;  ///< of a tensor, and in the arena

  CudaTestModel() {
    plan.name = "test";
    plan.target = "cuda -arch=sm_90 -sms=132";
    plan.device = "cuda sm_80";
    plan.arena_bytes = 4 * kRoom;
    plan.weights_bytes = kBytes;
    plan.inputs = {{"x", 0, {10, 100}, kBytes}};
    plan.outputs = {{"y", 0, {kSize}, kBytes}, {"z", 0, {kSize}, kBytes}};
    const PlanArgument x{PlanPlace::input, 0, 0, kBytes}, w{PlanPlace::weights, 0, 0, kBytes};
    const PlanArgument y{PlanPlace::output, 0, 0, kBytes}, z{PlanPlace::output, 1, 0, kBytes};
    const auto arena = [](std::uint64_t n) { return PlanArgument{PlanPlace::arena, 0, n * kRoom, kBytes}; };
    const PlanArgument a = arena(0), b = arena(1), c = arena(2);
    add("add", {x, w, a}, {{"add", {4, 1, 1}, {256, 1, 1}, 0, false, 0, 3}});
    add("twice", {a, b},
        {{"sums", {2, 1, 1}, {128, 1, 1}, 99000, false, 0, 1}, {"total", {1, 1, 1}, {128, 1, 1}, 0, true, 1, 1}});
    plan.steps.back().workspace_offset = 3 * kRoom;
    plan.steps.back().workspace_bytes = kBytes;
    add("square", {a, c}, {{"square", {8, 1, 1}, {128, 1, 1}, 0, false, 0, 2}});
    add("subtract", {b, c, y}, {{"subtract", {8, 1, 1}, {128, 1, 1}, 0, false, 0, 3}});
    ModelPlan::Step copy;
    copy.kind = PlanStepKind::copy;
    copy.arguments = {w, z};
    copy.node = copy.op = "copy";
    plan.steps.push_back(copy);
    weights.resize(kSize);
    for (std::uint32_t i = 0; i < kSize; ++i) weights[i] = static_cast<float>(i % 10);
    set_images({scripted_ptx(kernel_names())}, {{PlanImageFormat::ptx, 80, 0, 0}});
  }

  static std::vector<std::string> kernel_names() { return {"add", "sums", "total", "square", "subtract"}; }

  /// One image a text, one behind the other; offsets and sizes are filled in.
  void set_images(const std::vector<std::string>& texts, std::vector<PlanImage> table) {
    images.clear();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      table[i].offset = images.size();
      table[i].bytes = texts[i].size() + 1;
      images += texts[i] + '\0';
    }
    plan.images = table;
    plan.images_bytes = images.size();
  }

  /// The kernels on the host: whatever grid a launch has, all of it is one call.
  static void add_kernels(ScriptedDriver& fake) {
    const auto at = [](const HostLaunch& l, std::size_t i) { return static_cast<float*>(l.parameters[i]); };
    const auto each = [](auto&& f) {
      for (std::uint32_t i = 0; i < kSize; ++i) f(i);
      return 0;
    };
    fake.add_kernel("add", 4, [=](const HostLaunch& l) {
      return each([&](std::uint32_t i) { at(l, 2)[i] = at(l, 0)[i] + at(l, 1)[i]; });
    });
    fake.add_kernel("sums", 2,
                    [=](const HostLaunch& l) { return each([&](std::uint32_t i) { at(l, 1)[i] = 2 * at(l, 0)[i]; }); });
    fake.add_kernel("total", 2,
                    [=](const HostLaunch& l) { return each([&](std::uint32_t i) { at(l, 0)[i] = at(l, 1)[i]; }); });
    fake.add_kernel("square", 3, [=](const HostLaunch& l) {
      return each([&](std::uint32_t i) { at(l, 1)[i] = at(l, 0)[i] * at(l, 0)[i]; });
    });
    fake.add_kernel("subtract", 4, [=](const HostLaunch& l) {
      return each([&](std::uint32_t i) { at(l, 2)[i] = at(l, 0)[i] - at(l, 1)[i]; });
    });
  }

  /// 0 where y and z are the answers to x, else 1 + the first wrong element.
  std::uint32_t first_wrong(const float* x, const float* y, const float* z) const {
    for (std::uint32_t i = 0; i < kSize; ++i) {
      const float a = x[i] + weights[i];
      if (y[i] != 2 * a - a * a || z[i] != weights[i]) return i + 1;
    }
    return 0;
  }

  /// Valid as long as this and until the next call.
  CudaModelImage image() {
    const std::string text = write_plan(plan);
    stored_.assign(text.size() / 8, 0);
    std::memcpy(stored_.data(), text.data(), text.size());
    return {stored_.data(), text.size(), images.data(), images.size(), weights.data(), kBytes, 0};
  }

  ModelPlan plan;
  std::string images;
  std::vector<float> weights;

 private:
  void add(const char* name, std::vector<PlanArgument> arguments, std::vector<ModelPlan::Launch> launches) {
    ModelPlan::Step step;
    step.written = 1u << (arguments.size() - 1);
    step.arguments = std::move(arguments);
    step.launches = std::move(launches);
    step.node = step.op = name;
    plan.steps.push_back(step);
  }

  std::vector<std::uint64_t> stored_;
};

}  // namespace whet::testing
