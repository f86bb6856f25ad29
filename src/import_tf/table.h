#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace whet::tensorflow {

/// The entries of a table of LevelDB (the .index of a checkpoint) by their keys. Blocks are checked against their end; compressed
/// ones are refused.
Result<std::map<std::string, std::string>> parse_table(std::string_view bytes, const std::string& what);

}  // namespace whet::tensorflow
