#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "fleet/fleet_device.h"
#include "workflow/fleet.h"
#include "workflow/options.h"

namespace whet {

using Devices = std::vector<std::unique_ptr<Device>>;

/// Where `whet tune` measures, as its options say.
struct MeasuringOptions {
  TargetOptions place;
  std::vector<std::string> devices;
  FleetOptions fleet;
  std::string priority = "high";  ///< in a fleet: "high" or "low"
  std::string deciding;           ///< the name of the device that compares the fastest; "": see DeviceMeasurer
  double run_timeout = 10;        ///< of a kernel [s]
  bool allow_emulated = false;
  std::function<bool()> interrupted;
  Tell tell;
};

/// The devices that --device names, each once, but commands as often as they are named; where it names none, the target's own. All are
/// of this machine, or none.
Result<std::vector<DeviceName>> parse_devices(const std::vector<std::string>& texts);
bool has_fleet(const std::vector<DeviceName>&);

/// Devices, and what they are for.
struct MeasuringPlace {
  TargetOnCores target;
  Devices devices;                    ///< elsewhere; none of this machine, which make_devices makes
  std::shared_ptr<FleetTally> tally;  ///< what a fleet's units do; none without a fleet
  std::string where;                  ///< the devices elsewhere, for people; "" for this machine
  bool emulated = false;              ///< whether an emulator runs any of those
};

/// Connects with devices elsewhere, which have to be of one kind. An error names what is wrong with which.
Result<MeasuringPlace> connect_place(const MeasuringOptions&, const std::vector<DeviceName>&);
/// The same where the names are of devices elsewhere; else this machine.
Result<MeasuringPlace> choose_place(const MeasuringOptions&, const std::vector<DeviceName>&, Zygote&);
/// Devices of this machine.
Result<Devices> make_devices(const MeasuringOptions&, const TargetOnCores&, const std::vector<DeviceName>&, Zygote&);

}  // namespace whet
