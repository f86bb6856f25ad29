#pragma once

#include <memory>
#include <string>

namespace whet {

/// Gives this process contents (runner/given.h) for as long as somebody holds what this gives; who lends equal ones meanwhile holds the
/// same.
std::shared_ptr<const std::string> lend_given(std::string bytes);

}  // namespace whet
