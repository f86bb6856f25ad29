#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "device/device_name.h"
#include "device/remote/remote_device.h"
#include "json/json.h"
#include "workflow/fleet.h"
#include "workflow/options.h"

namespace whet {

struct ConnectOptions {
  double run_timeout = RemoteOptions().run_timeout;  ///< of a kernel [s]
  std::function<bool()> interrupted;
  bool has_peers = false;  ///< see RemoteOptions
  Tell tell;               ///< that whet-device was copied there, and whom it waits for; from any thread
};

/// A session with the device of an exec: or ssh:// name. A host that has no whet-device gets the file that whet carries.
Result<std::unique_ptr<RemoteDevice>> connect_device(const DeviceName&, const ConnectOptions&);

/// Where compiled models run that a device elsewhere, or a fleet, is to run.
Result<std::shared_ptr<ModelHost>> connect_models(const DeviceName&, const FleetOptions&, const ConnectOptions&);

/// The description of a device elsewhere: from a session of the moment, or, in a fleet, from one of the key's units.
Result<DeviceDescription> describe_device(const DeviceName&, const FleetOptions&, const Tell&);

/// As choose_target on that device: what no option sets comes from the device's description, nothing from this machine. An error
/// names the request and what the device has.
Result<TargetOnCores> choose_target_there(const TargetOptions&, const DeviceDescription&);

/// The processors of that device for a model that is compiled already: those that the options name; none where they name none.
Result<Cores> choose_cores_there(const TargetOptions&, const DeviceDescription&);

/// "pi5-02 · cortex-a76, 4 cores · Linux 6.6.20 · whet-device without a sandbox"
std::string device_text(const DeviceDescription&);
/// Lines for `whet target`, without those about the target.
std::string device_lines(const DeviceDescription&);
Json to_json(const DeviceDescription&);

/// The heading of the times of such a device.
inline constexpr const char* kEmulatorTimes =
    "Emulated: an emulator ran the kernels, and its times say nothing of a processor";

/// Why a device that an emulator runs is refused without --allow-emulated; "" where none does.
std::string why_emulated(const DeviceDescription&);

}  // namespace whet
