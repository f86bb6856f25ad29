#pragma once

#include "device/device.h"
#include "device/local/model_timer.h"
#include "device/local/runner_client.h"
#include "device/make_device.h"

namespace whet {

/// This machine. Kernels run in a runner and models in a process of their own, both forked from the zygote: whatever
/// they do ends that process alone, and the next request finds a fresh one.
class LocalDevice : public Device {
 public:
  LocalDevice(Target, const DeviceOptions&);

  const DeviceInfo& info() const override { return info_; }
  MeasureReply measure(const MeasureRequest& request) override { return runner_.measure(request); }
  CheckReply check(const CheckRequest& request) override { return runner_.check(request); }
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) override {
    return models_.time(files, run);
  }

 private:
  DeviceInfo info_;
  RunnerClient runner_;
  ModelTimer models_;
};

}  // namespace whet
