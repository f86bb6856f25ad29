#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// Whether `stored` says that it is a plan of version 1.
bool is_plan_of_version_1(std::string_view stored);

/// The same plan in the form of the present version. Checks the frame and the steps, which have changed; `parse_model`
/// checks all else.
Result<std::string> plan_of_version_1(std::string_view stored);

}  // namespace whet
