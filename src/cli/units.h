#pragma once

#include <string>
#include <vector>

#include "measure/units.h"

namespace whet {

/// What each of several devices did: a table, and a sentence about those that are no equals. "" for one device.
///   seconds  that the search took
std::string units_report(const std::vector<UnitReport>&, double seconds);

}  // namespace whet
