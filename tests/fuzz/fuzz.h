#pragma once

// What the fuzzed programs share. Each defines LLVMFuzzerTestOneInput; libFuzzer or run_corpus calls it.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace whet::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Stops where a property does not hold.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

/// An error's message is one line that says something.
inline void require_sentence(const std::string& message) {
  require(!message.empty() && message.find('\n') == std::string::npos, "an error is one line");
}

}  // namespace whet::fuzz
