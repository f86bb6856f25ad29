#pragma once

#include <string>

namespace whet {

/// The version of this program, like "0.1.0", as records and compiled models store it.
std::string version();

}  // namespace whet
