#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "device/device.h"
#include "device/device_name.h"

namespace whet {

class Zygote;

struct DeviceOptions {
  DeviceName name;           ///< which of those that run the target's code
  Zygote* zygote = nullptr;  ///< forks what runs kernels on this machine; outlives the device
  MachineRates rates;        ///< as measured; zeros: unknown
  double run_timeout = 10;   ///< seconds for one kernel
  std::int64_t runner_recycle = std::int64_t{4}
                                << 30;  ///< resident bytes beyond the task's at which a runner is replaced
  std::function<bool()> interrupted;    ///< asked while a request runs; may be empty
};

/// How the devices of one kind of target are made.
struct DeviceKind {
  std::string_view kind;
  Result<std::unique_ptr<Device>> (*make)(const Target&, const DeviceOptions&);
};
/// One row a kind of target (device_table.cc).
std::span<const DeviceKind> device_kinds();

/// Ok where some row has the target's kind.
Status has_device(const Target&);
/// A device for the target. Fails where no row has its kind.
Result<std::unique_ptr<Device>> make_device(const Target&, const DeviceOptions&);

}  // namespace whet
