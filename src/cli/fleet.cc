#include "cli/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/table.h"

namespace whet {
namespace {

std::string default_folder() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config)
    return std::string(config) + "/whet/fleet";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "") + "/.config/whet/fleet";
}

std::string age_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.0f} h", seconds / kHour);
}

std::string state_text(const FleetUnit& unit) {
  if (unit.presence.state == Presence::State::lost || !unit.is_lost()) return name_of(unit.presence.state);
  return "silent for " + age_text(unit.age);
}

std::string heat_text(const Presence& presence) {
  const std::string celsius = presence.celsius > 0 ? fmt::format("{:.0f}", presence.celsius) : "";
  return presence.throttled ? celsius + " hot" : celsius;
}

std::string queue_text(const char* priority, const FleetQueueState::OfPriority& queue) {
  std::string text = fmt::format("{} {} waiting, {} taken", priority, queue.waiting, queue.taken);
  if (queue.redelivered > 0) text += fmt::format(", {} again", queue.redelivered);
  std::string users;
  for (const auto& [user, jobs] : queue.users) users += fmt::format("{}{} {}", users.empty() ? "" : ", ", user, jobs);
  return users.empty() ? text : text + " (" + users + ")";
}

}  // namespace

void FleetOptions::add_to(Arguments& arguments) {
  arguments.add("--fleet", folder,
                "Folder that lets you into a fleet, as whet-agent --setup wrote it for you (default: whet/fleet in "
                "$XDG_CONFIG_HOME or ~/.config)");
}

Result<std::shared_ptr<FleetQueue>> open_fleet(const FleetOptions& options) {
  WHET_TRY(const FleetAccess access, read_fleet_access(options.folder.empty() ? default_folder() : options.folder));
  WHET_TRY(std::unique_ptr<FleetQueue> queue, join_fleet(access));
  return std::shared_ptr<FleetQueue>(std::move(queue));
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
  return fmt::format("fleet:{} ({} unit{}: {})", key, units.size(), units.size() == 1 ? "" : "s", names);
}

Result<std::string> fleet_report(FleetQueue& queue) {
  WHET_TRY(const std::vector<FleetUnit> units, queue.units(""));
  if (units.empty()) return std::string("No unit is in the fleet: whet-agent --join brings devices into it\n");
  Table table({{"Key", false},
               {"Unit", false},
               {"Agent", false},
               {"State", false},
               {"Owner", false},
               {"Jobs"},
               {"Clock (GHz)"},
               {"Temp (°C)"}});
  std::string reasons;
  for (const FleetUnit& unit : units) {
    const Presence& presence = unit.presence;
    table.add({unit.name.key, unit.name.unit, unit.name.agent, state_text(unit), presence.owner,
               std::to_string(presence.jobs), presence.ghz > 0 ? fmt::format("{:.2f}", presence.ghz) : "",
               heat_text(presence)});
    if (presence.state == Presence::State::lost)
      reasons += fmt::format("{} is lost: {}\n", unit.name.unit, presence.why);
  }
  std::string report = table.to_text() + reasons;
  WHET_TRY(const std::vector<FleetQueueState> queues, queue.queues(units));
  for (const FleetQueueState& state : queues)
    report +=
        fmt::format("Queue of {}: {} · {}\n", state.key, queue_text("hi", state.high), queue_text("lo", state.low));
  return report;
}

}  // namespace whet
