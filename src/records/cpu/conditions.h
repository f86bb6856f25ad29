#pragma once

#include <string>

#include "artifact/cpu/conditions.h"
#include "json/json.h"

namespace whet {

/// The member `device` of a record (docs/formats/record.md); what is unknown is left out.
Json to_json(const RunConditions&);
/// "", or what is wrong with the member. Null says nothing, and is right.
std::string read_conditions(JsonView device, RunConditions&);

}  // namespace whet
