#include "runtime/cuda/sized_session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "artifact/sized_model_plan.h"
#include "runtime/cuda/testing/scripted_driver.h"

namespace whet {
namespace cuda_sized_session_test {

using testing::HostLaunch;
using testing::ScriptedDriver;

constexpr std::int64_t kMost = 20;

/// y[n] = x[n] + n, by a kernel a size, for n from 1 to 20.
class CudaSizes : public ::testing::Test {
 protected:
  CudaSizes() {
    std::vector<std::string> names;
    std::vector<std::int64_t> values;
    for (std::int64_t n = 1; n <= kMost; ++n) names.push_back("add" + std::to_string(n)), values.push_back(n);
    images_ = testing::scripted_ptx(names) + '\0';
    SizedModelPlan plan{{{"n", 0, 0, values}}, {}, 2};
    for (const std::int64_t n : values) plan.variants.push_back(plan_of(n));
    const std::string text = write_sized_plan(plan);
    stored_.assign(text.size() / 8, 0);
    std::memcpy(stored_.data(), text.data(), text.size());
    fake_ = std::make_unique<ScriptedDriver>(testing::DriverScript());
    for (std::int64_t n = 1; n <= kMost; ++n)
      fake_->add_kernel("add" + std::to_string(n), 3, [n](const HostLaunch& l) {
        for (std::int64_t i = 0; i < n; ++i)
          static_cast<float*>(l.parameters[1])[i] = static_cast<float*>(l.parameters[0])[i] + static_cast<float>(n);
        return 0;
      });
    whet_error error{};
    const CudaModelImage image{stored_.data(), text.size(), images_.data(), images_.size(), nullptr, 0, 0};
    EXPECT_EQ(cuda_model_open(image, fake_->driver(), nullptr, &model_, &error), 0) << error.message;
    EXPECT_EQ(cuda_sized_session_create(model_, nullptr, &session_, &error), 0) << error.message;
  }
  ~CudaSizes() override {
    cuda_sized_session_destroy(session_);
    cuda_model_close(model_);
    EXPECT_TRUE(fake_->alive().empty()) << "not given back: " << fake_->alive();
  }

  std::string set(std::int64_t n) {
    const std::int64_t shape[] = {n};
    const std::int64_t* const shapes[] = {shape};
    whet_error error{};
    return cuda_session_set_shapes(session_, shapes, &error) == 0 ? "no error" : error.message;
  }
  /// Runs at the shapes that are set, n numbers.
  void expect_right(std::int64_t n) {
    CudaSession* const now = cuda_session_now(session_);
    whet_error error{};
    const std::vector<float> x(static_cast<std::size_t>(n), 0.5f);
    ASSERT_EQ(cuda_session_set_input(now, 0, x.data(), nullptr, &error), 0) << error.message;
    ASSERT_EQ(cuda_session_run(now, &error), 0) << error.message;
    const float* y = static_cast<const float*>(cuda_session_output(now, 0));
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 0.5f + static_cast<float>(n)) << i;
    EXPECT_EQ(cuda_session_output_info(session_, 0)->shape[0], n);
  }

  ModelPlan plan_of(std::int64_t n) const {
    const std::uint64_t bytes = static_cast<std::uint64_t>(4 * n);
    ModelPlan plan;
    plan.name = "sizes";
    plan.target = "cuda -arch=sm_90 -sms=132";
    plan.device = "cuda sm_80";
    plan.inputs = {{"x", 0, {n}, bytes}};
    plan.outputs = {{"y", 0, {n}, bytes}};
    plan.images = {{PlanImageFormat::ptx, 80, 0, images_.size()}};
    plan.images_bytes = images_.size();
    ModelPlan::Step step;
    step.arguments = {{PlanPlace::input, 0, 0, bytes}, {PlanPlace::output, 0, 0, bytes}};
    step.launches = {{"add" + std::to_string(n), {1, 1, 1}, {32, 1, 1}, 0, false, 0, 2}};
    step.written = 0b10;
    step.node = step.op = "add";
    plan.steps = {step};
    return plan;
  }

  std::string images_;
  std::vector<std::uint64_t> stored_;
  std::unique_ptr<ScriptedDriver> fake_;
  CudaModel* model_ = nullptr;
  CudaSizedSession* session_ = nullptr;
};

TEST_F(CudaSizes, BeginAtTheUsualOneAndChange) {
  expect_right(3);
  for (const std::int64_t n : {1, 20, 3, 7, 1}) {
    EXPECT_EQ(set(n), "no error");
    expect_right(n);
  }
}

TEST_F(CudaSizes, AreKeptAsLongAsThereAreFew) {
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 1; n <= kMost; ++n) {
      EXPECT_EQ(set(n), "no error");
      expect_right(n);
    }
  whet_error error{};
  EXPECT_EQ(cuda_session_reserve(session_, nullptr, &error), 0) << error.message;
  expect_right(20);
}

TEST_F(CudaSizes, ThatAreNotListedLeaveTheSessionAsItWas) {
  EXPECT_EQ(set(21), "input \"x\" is 21; n is 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ... or 20");
  expect_right(3);
}

TEST_F(CudaSizes, KeepTheMemoryOfOutputsAndProfiling) {
  std::vector<float> y(20);
  whet_error error{};
  ASSERT_EQ(cuda_session_bind_output(cuda_session_now(session_), 0, y.data(), &error), 0);
  cuda_session_set_profiling(cuda_session_now(session_), 1);
  EXPECT_EQ(set(20), "no error");
  expect_right(20);
  EXPECT_EQ(y[19], 20.5f);
  whet_profile profile;
  cuda_session_profile(cuda_session_now(session_), &profile);
  EXPECT_EQ(profile.runs, 1u);
}

}  // namespace cuda_sized_session_test
}  // namespace whet
