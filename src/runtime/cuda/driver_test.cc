#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "runtime/cuda/testing/scripted_driver.h"

namespace whet {
namespace {

std::string open_error(const std::string& path) {
  CudaDriver driver;
  whet_error error{};
  return open_cuda_driver(path.c_str(), &driver, &error) == 0 ? "opened" : error.message;
}

/// Sets the fake library's version and what its cuDriverGetVersion gives.
void set_fake(int version, int answer = 0) {
  void* library = dlopen(WHET_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  void (*set)(int, int) = nullptr;
  void* found = dlsym(library, "whet_fake_cuda_set");
  std::memcpy(&set, &found, sizeof found);
  set(version, answer);
}

TEST(CudaDriver, IsOpenedFromALibrary) {
  set_fake(12040);
  CudaDriver driver;
  whet_error error{};
  ASSERT_EQ(open_cuda_driver(WHET_FAKE_CUDA, &driver, &error), 0) << error.message;
  EXPECT_EQ(driver.version, 12040);
  int count = 0;
  EXPECT_EQ(driver.call.cuInit(0), 0);
  EXPECT_EQ(driver.call.cuDeviceGetCount(&count), 0);
  EXPECT_EQ(count, 1);
  EXPECT_NE(driver.call.cuGraphAddDependencies_v2, nullptr) << "optional, and there";
  EXPECT_EQ(driver.call.cuMemMap, nullptr) << "optional, and not there";
}

TEST(CudaDriver, IsFoundAsTheSystemsByItsSoname) {
  set_fake(12040);
  const CudaDriver *first = nullptr, *second = nullptr;
  whet_error error{};
  ASSERT_EQ(system_cuda_driver(&first, &error), 0) << error.message;
  ASSERT_EQ(system_cuda_driver(&second, &error), 0) << error.message;
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->version, 12040);
}

TEST(CudaDriver, SaysWhatIsMissing) {
  EXPECT_EQ(open_error("libno_such_cuda.so.1"), "no CUDA driver here: libno_such_cuda.so.1 not found");
  EXPECT_EQ(open_error("libm.so.6"), "no CUDA driver here: libm.so.6 has no function cuDriverGetVersion");
  EXPECT_EQ(open_error(WHET_BARE_CUDA),
            WHET_BARE_CUDA " says that it is of CUDA 12.2 and has no function cuInit, which is there since CUDA 2.0");
  const std::string no_library = open_error("/proc/self/maps");
  EXPECT_EQ(no_library.rfind("no CUDA driver here: /proc/self/maps: ", 0), 0u) << no_library;
}

TEST(CudaDriver, RefusesAStubForLinking) {
  set_fake(0, 34);
  EXPECT_EQ(open_error(WHET_FAKE_CUDA), "no CUDA driver here: " WHET_FAKE_CUDA
                                        " is a stub for linking; expected the driver's own library before it in the "
                                        "library path");
  set_fake(0, 999);
  EXPECT_EQ(open_error(WHET_FAKE_CUDA), "the CUDA driver does not tell its version: error 999");
}

TEST(CudaDriver, RefusesTheToolkitsStubWhereItIsInstalled) {
  if (std::string(WHET_CUDA_STUB).empty()) GTEST_SKIP() << "no CUDA toolkit here: its stub is not tried";
  EXPECT_NE(open_error(WHET_CUDA_STUB).find("is a stub for linking"), std::string::npos);
}

TEST(CudaDriver, RefusesAnOlderOneWithBothVersions) {
  set_fake(11080);
  EXPECT_EQ(open_error(WHET_FAKE_CUDA), "the driver here is of CUDA 11.8; expected 12.0 or newer (release R525)");
  set_fake(12000);
  EXPECT_EQ(open_error(WHET_FAKE_CUDA), "opened");
}

}  // namespace
}  // namespace whet
