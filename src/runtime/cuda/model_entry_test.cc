// A library as the compiler links it for CUDA, opened as a program would, with a driver that is found by its name.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime/cuda/testing/test_model.h"
#include "whet/model.h"

namespace whet {
namespace {

using testing::CudaTestModel;

template <typename F>
F symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  EXPECT_NE(found, nullptr) << name;
  F function = nullptr;
  std::memcpy(&function, &found, sizeof found);
  return function;
}

class CudaModelEntry : public ::testing::Test {
 protected:
  void SetUp() override {
    void* driver = dlopen(WHET_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    void* library = dlopen(WHET_CUDA_MODEL, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver, nullptr) << dlerror();
    ASSERT_NE(library, nullptr) << dlerror();
    symbol<void (*)(int, int)>(driver, "whet_fake_cuda_set")(12040, 0);
    const CudaModelImage image = test.image();
    symbol<void (*)(const CudaModelImage*)>(library, "whet_test_set_image")(&image);
    api = symbol<const whet_api* (*)()>(library, "whet_model_v1")();
    ASSERT_EQ(whet_check_table(api, "the library", &error), 0) << error.message;
  }
  CudaTestModel test;
  const whet_api* api = nullptr;
  whet_error error{};
};

TEST_F(CudaModelEntry, RunsTheModelOnTheDevice) {
  ASSERT_TRUE(WHET_HAS(api, session_wait));
  std::uint32_t devices = 0;
  ASSERT_EQ(api->device_count(&devices, &error), 0) << error.message;
  EXPECT_EQ(devices, 1u);

  whet_model* model = nullptr;
  whet_session* session = nullptr;
  ASSERT_EQ(api->model_open(nullptr, &model, &error), 0) << error.message;
  EXPECT_STREQ(api->model_info(model)->name, "test");
  EXPECT_STREQ(api->model_input(model, 0)->name, "x");
  EXPECT_EQ(api->model_input(model, 1), nullptr);
  EXPECT_STREQ(api->model_output(model, 1)->name, "z");
  EXPECT_STREQ(api->model_device(model)->name, "Scripted GPU");
  EXPECT_EQ(api->model_device(model)->struct_bytes, sizeof(whet_device_info));

  ASSERT_EQ(api->session_create(model, nullptr, &session, &error), 0) << error.message;
  EXPECT_STREQ(api->pool_info(api->session_pool(session))->note, "1 thread: kernels run on the device");
  const std::vector<float> x(CudaTestModel::kSize, 3.0f);
  ASSERT_EQ(api->session_set_input(session, 0, x.data(), nullptr, &error), 0);
  ASSERT_EQ(api->session_enqueue(session, &error), 0) << error.message;
  ASSERT_EQ(api->session_wait(session, &error), 0) << error.message;
  EXPECT_EQ(test.first_wrong(x.data(), static_cast<const float*>(api->session_output(session, 0)),
                             static_cast<const float*>(api->session_output(session, 1))),
            0u);
  api->session_destroy(session);
  api->model_close(model);
}

TEST_F(CudaModelEntry, ReadsAsMuchOfTheOptionsAsTheProgramHas) {
  whet_model* model = nullptr;
  whet_device_options options = {offsetof(whet_device_options, device), 5, 0};
  ASSERT_EQ(api->model_open_device(nullptr, &options, &model, &error), 0) << "a program that knows no device";
  api->model_close(model);
  options.struct_bytes = sizeof options;
  EXPECT_EQ(api->model_open_device(nullptr, &options, &model, &error), -1);
  EXPECT_STREQ(error.message, "there is no device cuda:5; the driver has 1, counted from 0");
  EXPECT_EQ(model, nullptr);
}

TEST_F(CudaModelEntry, RefusesADriverOfAnotherVersion) {
  CudaDriver other;
  other.table += 8;
  whet_model* model = nullptr;
  const whet_device_options options = {sizeof options, 0, 0, &other};
  EXPECT_EQ(api->model_open_device(nullptr, &options, &model, &error), -1);
  EXPECT_STREQ(error.message, "the given driver is of another version of whet");
}

/// Programs and libraries of different versions meet in these structs.
TEST(DeviceApi, KeepsItsLayout) {
  EXPECT_EQ(offsetof(whet_api, device_count), offsetof(whet_api, session_profile) + sizeof(void*));
  EXPECT_EQ(offsetof(whet_api, device_count), 176u);
  EXPECT_EQ(offsetof(whet_api, session_wait), 224u);
  EXPECT_EQ(offsetof(whet_device_options, struct_bytes), 0u);
  EXPECT_EQ(offsetof(whet_device_options, device), 4u);
  EXPECT_EQ(offsetof(whet_device_options, flags), 8u);
  EXPECT_EQ(offsetof(whet_device_options, driver), 16u);
  EXPECT_EQ(offsetof(whet_device_info, struct_bytes), 0u);
  EXPECT_EQ(offsetof(whet_device_info, number), 4u);
  EXPECT_EQ(offsetof(whet_device_info, name), 8u);
  EXPECT_EQ(offsetof(whet_device_info, uuid), 16u);
  EXPECT_EQ(offsetof(whet_device_info, driver), 24u);
  EXPECT_EQ(offsetof(whet_device_info, image), 32u);
  EXPECT_EQ(offsetof(whet_device_info, arch), 40u);
  EXPECT_EQ(offsetof(whet_device_info, multiprocessors), 44u);
  EXPECT_EQ(offsetof(whet_device_info, memory_bytes), 48u);
  EXPECT_EQ(offsetof(whet_device_info, load_seconds), 56u);
  EXPECT_EQ(offsetof(CudaModelImage, images), 16u);
  EXPECT_EQ(offsetof(CudaModelImage, weights), 32u);
  EXPECT_EQ(sizeof(CudaModelImage), 56u);
}

}  // namespace
}  // namespace whet
