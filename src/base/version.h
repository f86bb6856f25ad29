#pragma once

#include <string>

namespace whet {

/// Of this program, like "0.1.0": what records and compiled models say they were made by.
std::string version();

}  // namespace whet
