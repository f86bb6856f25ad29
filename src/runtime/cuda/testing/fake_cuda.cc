// The scripted driver as a library, for tests that open a driver by its path. Its SONAME is that of the real one, so that
// a process which has opened it finds it again as libcuda.so.1.

#include <memory>

#include "runtime/cuda/testing/test_model.h"

namespace {

using whet::testing::DriverScript;
using whet::testing::ScriptedDriver;

std::unique_ptr<ScriptedDriver> make(const DriverScript& script) {
  auto driver = std::make_unique<ScriptedDriver>(script);
  whet::testing::CudaTestModel::add_kernels(*driver);
  return driver;
}
std::unique_ptr<ScriptedDriver> driver = make({});

}  // namespace

/// From now on the driver has this version, the kernels of the test model, and `answer` is what cuDriverGetVersion gives.
extern "C" void whet_fake_cuda_set(int version, int answer) {
  DriverScript script;
  script.version = version;
  if (answer != 0) script.rules.push_back({"cuDriverGetVersion", 0, whet::testing::ScriptRule::What::code, answer});
  driver = nullptr;
  driver = make(script);
}
