// The scripted driver as a library, for tests that open a driver by its path. Its SONAME is that of the real one, so that
// a process which has opened it finds it again as libcuda.so.1.

#include <memory>

#include "runtime/cuda/testing/scripted_driver.h"

namespace {

using whet::testing::DriverScript;
using whet::testing::ScriptedDriver;

std::unique_ptr<ScriptedDriver> driver = std::make_unique<ScriptedDriver>();

}  // namespace

/// From now on the driver has this version, and `answer` is what cuDriverGetVersion gives.
extern "C" void whet_fake_cuda_set(int version, int answer) {
  DriverScript script;
  script.version = version;
  if (answer != 0) script.rules.push_back({"cuDriverGetVersion", 0, whet::testing::ScriptRule::What::code, answer});
  driver = nullptr;
  driver = std::make_unique<ScriptedDriver>(script);
}

/// The driver itself; the library's own class, so that callers do not delete it.
extern "C" ScriptedDriver* whet_fake_cuda() { return driver.get(); }
