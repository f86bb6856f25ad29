#include "workflow/measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "board/describe.h"
#include "device/make_device.h"
#include "workflow/rates.h"
#include "workflow/remote.h"

namespace whet {
namespace {

/// Whether the device takes what the others take.
Status admit(const MeasuringOptions& options, const DeviceDescription& there, MeasuringPlace& place) {
  if (const std::string why = why_emulated(there); !why.empty() && !options.allow_emulated) return Error{why};
  WHET_TRY(TargetOnCores target, choose_target_there(options.place, there));
  if (place.devices.empty()) {
    place.target = std::move(target);
  } else if (!(target.target == place.target.target) || target.cores.cpus != place.target.cores.cpus) {
    return Error{"--device names devices of two kinds: " + to_string(place.target.target) + ", and " +
                 to_string(target.target) + " (" + there.name + ")"};
  }
  place.emulated |= !there.emulator.empty();
  return ok_status();
}

/// As many devices as there are units of the key.
Status add_fleet(const MeasuringOptions& options, const DeviceName& name, const DeviceDescription& here,
                 MeasuringPlace& place) {
  WHET_TRY(const std::shared_ptr<FleetQueue> queue, open_fleet(options.fleet, options.tell));
  WHET_TRY(const std::vector<FleetUnit> units, units_of(*queue, name.key));
  if (!place.tally) place.tally = std::make_shared<FleetTally>();
  for (const FleetUnit& unit : units) {
    const DeviceDescription& there = unit.presence.device;
    WHET_RETURN_IF_ERROR(admit(options, there, place));
    if (options.run_timeout > there.limits.kernel_seconds)
      return Error{fmt::format("{}: a kernel may take {} s; the device allows {} s", unit.name.unit,
                               options.run_timeout, there.limits.kernel_seconds)};
    FleetDeviceOptions of_device{queue, name.key, options.priority == "low" ? Priority::low : Priority::high};
    of_device.run_timeout = options.run_timeout;
    of_device.beside_builders =
        std::ranges::any_of(units, [&](const FleetUnit& other) { return other.presence.device.unit == here.unit; });
    of_device.interrupted = options.interrupted;
    of_device.tally = place.tally;
    place.devices.push_back(std::make_unique<FleetDevice>(std::move(of_device), there, place.target.target));
  }
  place.where += (place.where.empty() ? "" : ", ") + units_text(name.key, units);
  return ok_status();
}

}  // namespace

Result<MeasuringPlace> connect_place(const MeasuringOptions& options, const std::vector<DeviceName>& names) {
  MeasuringPlace place;
  const DeviceDescription here = describe_board();
  for (const DeviceName& name : names) {
    if (name.kind == DeviceName::Kind::fleet) {
      WHET_RETURN_IF_ERROR(add_fleet(options, name, here, place));
      continue;
    }
    WHET_TRY(std::unique_ptr<RemoteDevice> device,
             connect_device(name, {options.run_timeout, options.interrupted, names.size() > 1, options.tell}));
    const DeviceDescription& there = device->description();
    WHET_RETURN_IF_ERROR(admit(options, there, place));
    device->set_target(place.target.target, there.unit == here.unit);
    place.where += (place.where.empty() ? "" : ", ") + device_text(there);
    place.devices.push_back(std::move(device));
  }
  return place;
}

Result<std::vector<DeviceName>> parse_devices(const std::vector<std::string>& texts) {
  std::vector<DeviceName> devices;
  for (const std::string& text : texts) {
    WHET_TRY(const DeviceName device, parse_device_name(text));
    // A command may reach another machine each time: each is a session of its own.
    if (device.kind != DeviceName::Kind::exec && std::ranges::find(devices, device) != devices.end())
      return Error{"--device names " + text + " twice"};
    devices.push_back(device);
  }
  if (devices.empty()) devices.emplace_back();
  const auto emulated = std::ranges::count(devices, DeviceName::Kind::emulated, &DeviceName::kind);
  if (emulated > 0 && devices.size() > 1)
    return Error{"--device names emulated and others; its times are estimates, and rank beside no others"};
  const auto remote = static_cast<std::size_t>(std::ranges::count_if(devices, &DeviceName::is_remote));
  if (remote > 0 && remote < devices.size())
    return Error{"--device names devices of this machine and of others; name those of one kind"};
  return devices;
}

bool has_fleet(const std::vector<DeviceName>& devices) {
  return std::ranges::count(devices, DeviceName::Kind::fleet, &DeviceName::kind) > 0;
}

Result<MeasuringPlace> choose_place(const MeasuringOptions& options, const std::vector<DeviceName>& names,
                                    Zygote& zygote) {
  if (names.front().is_remote()) return connect_place(options, names);
  MeasuringPlace place;
  WHET_TRY(place.target, choose_target(options.place, names.front(), &zygote));
  return place;
}

Result<Devices> make_devices(const MeasuringOptions& options, const TargetOnCores& place,
                             const std::vector<DeviceName>& names, Zygote& zygote) {
  const MachineRates rates = measure_rates(place);
  Devices devices;
  for (const DeviceName& name : names) {
    DeviceOptions of_device;
    of_device.name = name;
    of_device.zygote = &zygote;
    of_device.rates = rates;
    of_device.run_timeout = options.run_timeout;
    of_device.interrupted = options.interrupted;
    WHET_TRY(std::unique_ptr<Device> device, make_device(place.target, of_device));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace whet
