#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whet {

// What the decoders of a session accept of the other end.

constexpr std::size_t kMostSessionText = 256;
constexpr double kMostSessionSeconds = 1e6;

constexpr bool is_printable(char c) { return c >= ' ' && c <= '~'; }
/// Whether a text may be printed as it is.
inline bool is_short_text(std::string_view text) {
  return text.size() <= kMostSessionText && std::ranges::all_of(text, is_printable);
}
inline bool is_session_time(double seconds) {
  return std::isfinite(seconds) && seconds >= 0 && seconds <= kMostSessionSeconds;
}
/// The text without what a terminal would act on, and cut.
inline std::string printable(std::string_view text, std::size_t most = kMostSessionText) {
  std::string out(text.substr(0, most));
  for (char& c : out)
    if (!is_printable(c)) c = '?';
  return out;
}

}  // namespace whet
