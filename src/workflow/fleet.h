#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/queue.h"
#include "workflow/options.h"

namespace whet {

/// `--fleet`: who the user is to a fleet's broker.
struct FleetOptions {
  std::string folder;        ///< as whet-agent --setup wrote it; "": the usual one
  std::string usual_folder;  ///< whet/fleet in the user's configuration
};

/// The user's end of the fleet. `tell` hears what jobs wait for, where that is long.
Result<std::shared_ptr<FleetQueue>> open_fleet(const FleetOptions&, const Tell& tell = {});

/// An error where they are given, and no device is a fleet's.
Status check_fleet(const FleetOptions&, bool has_fleet);

/// The units of a key that are not lost, at least one.
Result<std::vector<FleetUnit>> units_of(FleetQueue&, const std::string& key);

/// "fleet:pi5 (2 units: pi5-01, pi5-02)"
std::string units_text(const std::string& key, const std::vector<FleetUnit>&);

}  // namespace whet
