#include "cli/fleet_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/table.h"

namespace whet {
namespace {

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

/// A line for each key: of those that nobody serves only where jobs wait.
std::string queues_text(const std::vector<FleetUnit>& units, const std::vector<FleetQueueState>& queues) {
  std::string text;
  for (const FleetQueueState& state : queues) {
    const auto is_of_key = [&](const FleetUnit& unit) { return unit.name.key == state.key; };
    const bool is_served = std::ranges::any_of(units, [&](const FleetUnit& u) { return is_of_key(u) && !u.is_lost(); });
    if (!is_served && state.jobs() == 0 && std::ranges::none_of(units, is_of_key)) continue;
    text += fmt::format("Queue of {}: {} · {}{}\n", state.key, queue_text("hi", state.high),
                        queue_text("lo", state.low), is_served ? "" : "; no unit serves it");
  }
  return text;
}

}  // namespace

Result<std::string> fleet_report(FleetQueue& queue) {
  WHET_TRY(const std::vector<FleetUnit> units, queue.units(""));
  WHET_TRY(const std::vector<FleetQueueState> queues, queue.queues(""));
  if (units.empty())
    return "No unit is in the fleet: whet-agent --join brings devices into it\n" + queues_text(units, queues);
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
  return report + queues_text(units, queues);
}

}  // namespace whet
