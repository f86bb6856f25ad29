#pragma once

#include <string>
#include <string_view>

namespace whet {

/// The text as people may see it: each control character, which could move a terminal's cursor or change what it shows, as
/// "\u001b". Names and messages come from files, devices and brokers.
///   kept  control characters that stay, like "\n"
std::string shown(std::string_view text, std::string_view kept = "");

}  // namespace whet
