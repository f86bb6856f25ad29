// In place of nats_queue.cc where libnats-dev was missing.
#include "fleet/queue.h"

namespace whet {

Result<std::unique_ptr<FleetQueue>> join_fleet(const FleetAccess&, std::function<void(const std::string&)>) {
  return Error{"this whet was built without libnats, which fleets need (Debian's package libnats-dev)",
               ErrorKind::unsupported};
}

}  // namespace whet
