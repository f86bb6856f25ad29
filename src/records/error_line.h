#pragma once

#include <string>
#include <variant>

#include "json/json.h"
#include "trial/error.h"

namespace whet {

/// A layer's error as a line of a record file without its newline (docs/formats/record.md).
std::string to_line(const LayerError&);
/// The error of a line that has a member `error`, or the reason why it is none.
std::variant<LayerError, std::string> layer_error_of(JsonView line);

}  // namespace whet
