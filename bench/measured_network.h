#pragma once

#include <memory>
#include <string>

#include "device/make_device.h"
#include "formats/import_model.h"
#include "machine/cores.h"
#include "measure/device_measurer.h"
#include "passes/fuse.h"

namespace whet {

/// A network, this machine, and a measurer of its tasks as `whet tune` has one: kernels are timed under the network's cache pressure.
struct MeasuredNetwork {
  Zygote zygote;
  FusedGraph fused;
  Cores cores;
  Target target;
  std::unique_ptr<Device> device;
  std::unique_ptr<BuilderPool> builders;
  std::unique_ptr<DeviceMeasurer> measurer;

  /// Call it before threads are started. `burst_seconds`: of each burst of a comparison.
  static Result<std::unique_ptr<MeasuredNetwork>> make(const std::string& model, const ImportOptions&,
                                                       double burst_seconds);
};

}  // namespace whet
