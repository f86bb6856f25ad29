#pragma once

#include <string>
#include <vector>

#include "json/json.h"
#include "measure/units.h"

namespace whet {

/// What each of several devices did: a table, and a sentence about those that are no equals. "" for one device.
///   seconds  that the search took
std::string units_report(const std::vector<UnitReport>&, double seconds);
Json to_json(const std::vector<UnitReport>&);

}  // namespace whet
