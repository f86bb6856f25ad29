#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// The candidate that `word` most likely meant: the smallest edit distance (case ignored, swapped neighbours count
/// once), if it is at most a third of the longer word, rounded up; else "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// `; did you mean "x"?`, or "" when nothing is near: the tail of a message about an unknown word.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace whet
