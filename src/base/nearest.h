#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet {

/// The candidate that `word` most likely meant: the one with the smallest edit distance (case ignored, swapped
/// neighbours count once). "" where that distance is more than a third of the longer word, rounded up.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// In the quotation marks of messages.
inline std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// The end of a message about an unknown word: `; did you mean "x"?`, or "" when no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// The place of the name that `word` is, or else of the only one that has it as a part (case ignored).
/// Error: what `word` is none of, `is no node of the model; did you mean "conv0"?`, or the names that have it, the first twelve.
///   none  "is no node of the model"
Result<std::size_t> find_name(std::string_view word, const std::vector<std::string>& names, std::string_view none);

}  // namespace whet
