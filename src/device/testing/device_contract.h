#pragma once

// The contract of Device as tests. A new device passes them
// (device_contract.cc is one of the sources of its test):
//   INSTANTIATE_TEST_SUITE_P(Mine, DeviceContract, ::testing::Values(DeviceUnderTest{...}), name_of_device);
// This machine and devices elsewhere pass them with models that whet compiled in tuner/models_on_devices_test.cc, where the compiler is
// seen.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "device/device.h"
#include "device/sane_reply.h"
#include "trial/outcome.h"

namespace whet::testing {

struct DeviceUnderTest {
  std::string name;
  /// A device of the kind; several live at the same time.
  std::function<std::unique_ptr<Device>()> make;
  /// A kernel that the device runs, with one output.
  KernelJob good;
  /// Kernels that fail on the device: broken code, crashes, endless loops. May be empty.
  std::vector<KernelJob> bad;
  /// Compiled models that the device runs, and their inputs. May be empty.
  std::vector<ModelLibrary> models;
  std::vector<Tensor> inputs;

  friend std::ostream& operator<<(std::ostream& out, const DeviceUnderTest& device) { return out << device.name; }
};

inline std::string name_of_device(const ::testing::TestParamInfo<DeviceUnderTest>& info) { return info.param.name; }

class DeviceContract : public ::testing::TestWithParam<DeviceUnderTest> {
 protected:
  static MeasureReply measured(Device& device, const KernelJob& job) {
    const MeasureRequest request{job, {}};
    const MeasureReply reply = device.measure(request), sane = sane_reply(reply, request, device.info(), 0, 0);
    EXPECT_EQ(sane.code, reply.code) << sane.message;
    return reply;
  }
  static CheckReply checked(Device& device, const KernelJob& job) {
    const CheckRequest request{job, {}, {}, {}};
    const CheckReply reply = device.check(request), sane = sane_reply(reply, request);
    EXPECT_EQ(sane.code, reply.code) << sane.message;
    return reply;
  }
};

}  // namespace whet::testing
