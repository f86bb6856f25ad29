#include "fleet/queue.h"

#include <map>

namespace whet {
namespace {

void list(std::string& items, const std::string& item) {
  if (!items.empty()) items += ", ";
  items += item;
}

/// "ann 2, bob 30"
std::string users_text(const FleetQueueState& queue) {
  std::map<std::string, std::uint64_t> jobs;
  for (const FleetQueueState::OfPriority* of : {&queue.high, &queue.low})
    for (const auto& [user, count] : of->users) jobs[user] += count;
  std::string text;
  for (const auto& [user, count] : jobs) list(text, user + " " + std::to_string(count));
  return text;
}

}  // namespace

/// Agents tell every 5 s.
bool FleetUnit::is_lost() const {
  constexpr double kSilence = 15;
  return presence.state == Presence::State::lost || age > kSilence;
}

std::string what_is_awaited(const std::string& key, const std::vector<FleetUnit>& units, const FleetQueueState& queue) {
  std::string lost, busy;
  bool has_unit = false;
  for (const FleetUnit& unit : units) {
    const std::string& name = unit.name.unit;
    if (unit.is_lost())
      list(lost, name + (unit.presence.why.empty() ? " is silent" : " is lost: " + unit.presence.why));
    else if (has_unit = true; !unit.presence.owner.empty())
      list(busy, name + " works for " + unit.presence.owner);
  }
  if (!has_unit)
    return "fleet:" + key + " has no unit just now" + (lost.empty() ? "" : " (" + lost + ")") +
           ": the jobs wait until a whet-agent serves it";
  const std::string users = users_text(queue);
  return "fleet:" + key + " is busy" + (busy.empty() ? "" : " (" + busy + ")") + ": the jobs wait for their turn" +
         (users.empty() ? "" : " (in the queue: " + users + ")");
}

}  // namespace whet
