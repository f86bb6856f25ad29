#pragma once

#include <string>
#include <vector>

#include "fleet/tally.h"
#include "measure/units.h"

namespace whet {

/// What each of several devices did: a table, and a sentence about those that are no equals. "" for one device.
///   seconds  that the search took
std::string units_report(const std::vector<UnitReport>&, double seconds);
/// What each unit of a fleet did: a table; "" where none did anything.
std::string shares_report(const std::vector<UnitShare>&);

}  // namespace whet
