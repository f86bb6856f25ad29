#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace whet {

// Files of /proc and /sys, without the streams of the standard library: their locales would be half of a program that
// is linked statically for a board.

/// The whole contents of a file; nothing where it cannot be read.
std::optional<std::string> read_system_file(const std::string& path);
/// The first line of a file; nothing where there is none.
std::optional<std::string> read_line(const std::string& path);

/// Removes the text up to `separator`, and the separator, from the front of `text`. Returns the text without it.
std::string_view take_until(std::string_view& text, char separator);
/// Removes the next word, and the white space before it, from the front of `text` and returns the word; "" where there
/// is none left.
std::string_view take_word(std::string_view& text);
/// The number at the beginning of `text`.
std::optional<std::int64_t> to_integer(std::string_view text);

}  // namespace whet
