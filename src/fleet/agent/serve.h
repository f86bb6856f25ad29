#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device_name.h"
#include "fleet/access.h"

namespace whet {

struct FleetUnitOptions {
  FleetAccess access;               ///< of an agent
  std::string key;                  ///< of all the devices
  std::vector<DeviceName> devices;  ///< at least one, each elsewhere or behind a command
};

/// Brings devices into a fleet: each takes the key's jobs, urgent ones first, runs them in a session of its own, and answers. Says
/// on standard error what comes and goes. Returns when `ends` turns true, or with an error where the broker refuses it at
/// the start.
Status serve_fleet(const FleetUnitOptions&, const std::atomic<bool>& ends);

}  // namespace whet
