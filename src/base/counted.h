#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace whet {

/// The word that a count asks for: `for_count(n, "was", "were")`.
inline std::string_view for_count(std::int64_t count, std::string_view one, std::string_view several) {
  return count == 1 ? one : several;
}

/// "1 trial", "3 trials"; "2 copies" of a noun whose plural is given.
inline std::string counted(std::int64_t count, std::string_view noun, std::string_view plural = {}) {
  const std::string several = plural.empty() ? std::string(noun) + "s" : std::string(plural);
  return std::to_string(count) + " " + std::string(for_count(count, noun, several));
}

}  // namespace whet
