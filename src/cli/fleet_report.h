#pragma once

#include <string>

#include "base/result.h"
#include "fleet/queue.h"

namespace whet {

/// All units and queues, for `whet devices fleet`.
Result<std::string> fleet_report(FleetQueue&);

}  // namespace whet
