#pragma once

#include <string>
#include <variant>

#include "json/json.h"
#include "trial/ranged.h"

namespace whet {

/// Lines of version 4: times of kernels for ranges of sizes, and of networks at sizes (docs/formats/record.md).
std::string to_line(const RangedRecord&);
std::string to_line(const NetworkAtSizes&);

/// The member `range` of a line, as it is written.
Json range_json(const RangedRecord&);
/// Fills all but the record of a line that has a member `range`. What is wrong with it, or "".
std::string read_range(JsonView line, RangedRecord&);
/// The times of a line that has a member `network`, or the reason why it has none.
std::variant<NetworkAtSizes, std::string> network_of(JsonView line);

}  // namespace whet
