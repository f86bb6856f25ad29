#pragma once

#include <string>
#include <variant>

#include "json/json.h"
#include "trial/plan.h"

namespace whet {

/// A plan as a line of a record file without its newline (docs/formats/record.md).
std::string to_line(const Plan&);
/// The plan of a line that has a member `plan`, or the reason why it is none.
std::variant<Plan, std::string> plan_of(JsonView line);

}  // namespace whet
