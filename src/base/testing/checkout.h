#pragma once

#include <string>
#include <string_view>

namespace whet {

/// The absolute path of a file or folder of the checkout that this test was built from; `path` is relative to its root. The path is compiled
/// into one source alone, so that ccache knows the tests of other checkouts.
std::string checkout_path(std::string_view path);

}  // namespace whet
