#pragma once

#include <optional>
#include <string>
#include <variant>

#include "json/json.h"
#include "trial/error.h"
#include "trial/value_range.h"

namespace whet {

/// A layer's error as a line of a record file without its newline (docs/formats/record.md).
std::string to_line(const LayerError&);
/// The error of a line that has a member `error`, or the reason why it is none.
std::variant<LayerError, std::string> layer_error_of(JsonView line);

/// The ranges of a network's values on samples as such a line.
std::string to_line(const RangesOnSamples&);
/// The ranges of a line that has a member `values`, or the reason why they are none.
std::variant<RangesOnSamples, std::string> ranges_on_samples_of(JsonView line);

/// `[{"value": "r1", "least": 0, "most": 6.2}, ...]`
Json to_json(const ValueRanges&);
/// Nothing where it is no such list, of finite numbers in order.
std::optional<ValueRanges> value_ranges_of(JsonView list);

}  // namespace whet
