#pragma once

#include <string>
#include <string_view>

namespace whet {

/// The page's CSS: colours are variables, so that light, dark and paper differ in one place.
std::string_view report_style();
/// The page's JavaScript: sorts tables, filters tasks. The page is complete without it.
std::string_view report_script();
/// A page whose tuning goes on loads itself again every ten seconds, until its reader says stop.
std::string_view live_script();
/// "sha256-...=": what a content security policy names a script by.
std::string source_hash(std::string_view script);

}  // namespace whet
