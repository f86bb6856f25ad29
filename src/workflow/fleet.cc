#include "workflow/fleet.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"

namespace whet {

Result<std::shared_ptr<FleetQueue>> open_fleet(const FleetOptions& options, const Tell& tell) {
  WHET_TRY(const FleetAccess access, read_fleet_access(options.folder.empty() ? options.usual_folder : options.folder));
  WHET_TRY(std::unique_ptr<FleetQueue> queue, join_fleet(access, tell));
  return std::shared_ptr<FleetQueue>(std::move(queue));
}

Status check_fleet(const FleetOptions& options, bool has_fleet) {
  if (options.folder.empty() || has_fleet) return ok_status();
  return Error{"--fleet is for the devices of a fleet; give one, as in --device fleet:KEY", ErrorKind::wrong_use};
}

Result<std::vector<FleetUnit>> units_of(FleetQueue& queue, const std::string& key) {
  WHET_TRY(const std::vector<FleetUnit> all, queue.units(""));
  std::vector<FleetUnit> units;
  std::vector<std::string> keys;
  for (const FleetUnit& unit : all) {
    if (unit.is_lost()) continue;
    if (unit.name.key == key) units.push_back(unit);
    if (std::ranges::find(keys, unit.name.key) == keys.end()) keys.push_back(unit.name.key);
  }
  if (!units.empty()) return units;
  return Error{
      fmt::format("the fleet has no unit of the key {} just now; {}", key,
                  keys.empty() ? "it has none at all" : fmt::format("it has some of {}", fmt::join(keys, ", "))),
      ErrorKind::not_found};
}

std::string units_text(const std::string& key, const std::vector<FleetUnit>& units) {
  std::string names;
  for (const FleetUnit& unit : units) names += (names.empty() ? "" : ", ") + unit.name.unit;
  return fmt::format("fleet:{} ({}: {})", key, counted(std::ssize(units), "unit"), names);
}

}  // namespace whet
