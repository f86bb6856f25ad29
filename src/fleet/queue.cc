#include "fleet/queue.h"

namespace whet {

/// Agents tell every 5 s.
bool FleetUnit::is_lost() const {
  constexpr double kSilence = 15;
  return presence.state == Presence::State::lost || age > kSilence;
}

}  // namespace whet
