#pragma once

#include "device/device.h"
#include "device/local/model_timer.h"
#include "device/local/runner_client.h"
#include "device/make_device.h"

namespace whet {

/// A device of this machine: its processor, a GPU, or the emulated one. Kernels run in a runner and models in a process of their own, both forked from the zygote: whatever
/// they do ends that process alone, and the next request finds a fresh one.
class LocalDevice : public Device {
 public:
  ///   number  of a GPU
  LocalDevice(DeviceInfo, const DeviceOptions&, int number = 0);

  const DeviceInfo& info() const override { return info_; }
  MeasureReply measure(const MeasureRequest&) override;
  CheckReply check(const CheckRequest&) override;
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>&, const ModelRun&) override;

 private:
  DeviceInfo info_;
  DeviceName name_;
  std::uint32_t number_;
  RunnerClient runner_;
  ModelTimer models_;
};

/// The processors of this machine.
Result<std::unique_ptr<Device>> make_local_cpu(const Target&, const DeviceOptions&);
/// A GPU of this machine, or this machine in place of one. An error says that the driver or the device is not there, or
/// that the device is not of the target.
Result<std::unique_ptr<Device>> make_local_gpu(const Target&, const DeviceOptions&);

}  // namespace whet
