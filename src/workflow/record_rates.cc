#include "workflow/record_rates.h"

#include <fmt/format.h>

#include "board/describe.h"
#include "machine/detect.h"
#include "measure/device_rates.h"
#include "workflow/rates.h"

namespace whet {

std::string measured_elsewhere(const Outcome& outcome) {
  const std::string& unit = outcome.conditions.unit;
  return unit.empty() || unit == describe_board().unit ? "" : outcome.device;
}

std::string measured_elsewhere(const Records& records, std::span<const Task> tasks, const Target& target) {
  for (const Task& task : tasks)
    if (const std::vector<const Record*> list = records.ranking(task.key, task.within, target); !list.empty())
      return measured_elsewhere(list.front()->outcome);
  return "";
}

RecordRates rates_here(const TargetOnCores& place, const std::string& elsewhere,
                       const std::function<MachineRates()>& measure) {
  if (place.target.is_gpu()) return {measure_rates(place), "by the data sheet"};
  if (!elsewhere.empty())
    return {{}, fmt::format("unknown: {} timed these kernels; --device measures the rates of a device", elsewhere)};
  if (const Status runs = can_run(place.target); !runs.ok()) return {{}, "unknown: " + runs.error().message};
  return {measure ? measure() : measure_rates(place), "on this machine, measured now"};
}

RecordRates rates_there(const MeasuringPlace& place) {
  Device& device = *place.devices.front();
  if (place.emulated) return {{}, "unknown: an emulator runs " + place.where};
  CpuPlacement cpu;
  cpu.cores.assign(place.target.cores.cpus.begin(), place.target.cores.cpus.end());
  RecordRates known{measure_device_rates(device, place.target.target, cpu), "on " + place.where + ", measured now"};
  if (!known.known()) known.text = "unknown: " + place.where + " could not run the kernels that measure them";
  return known;
}

Result<MeasuringPlace> choose_asked_place(const TargetOptions& options, const std::string& device,
                                          const FleetOptions& fleet, const Tell& tell) {
  MeasuringPlace place;
  if (device.empty()) {
    WHET_TRY(place.target, choose_target(options));
    return place;
  }
  WHET_TRY(const DeviceName name, parse_device_name(device));
  if (!name.is_remote())
    return Error{"--device is \"" + device + "\"; expected ssh://user@host:port, exec:COMMAND or fleet:KEY",
                 ErrorKind::wrong_use};
  MeasuringOptions measuring;
  measuring.place = options, measuring.fleet = fleet, measuring.tell = tell, measuring.allow_emulated = true;
  return connect_place(measuring, {name});
}

RecordRates rates_for(const MeasuringPlace& place, const std::string& elsewhere) {
  return place.devices.empty() ? rates_here(place.target, elsewhere) : rates_there(place);
}

}  // namespace whet
