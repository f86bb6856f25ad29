#pragma once

#include <string>
#include <string_view>

namespace whet {

/// The lines that differ between two texts, as `diff -u` shows them: "-" before lines of `before` alone, "+" before
/// lines of `after` alone, two lines of context, "..." between places that are apart. Empty where the texts are equal.
std::string diff_lines(std::string_view before, std::string_view after);

}  // namespace whet
