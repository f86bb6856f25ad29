#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace whet {

// Files of /proc and /sys, without the streams of the standard library: their locales would be half of a program that
// is linked statically for a board.

/// All of a file; nothing where it cannot be read.
std::optional<std::string> read_system_file(const std::string& path);
/// Its first line; nothing where there is none.
std::optional<std::string> read_line(const std::string& path);

/// Takes the text up to `separator` off the front of `text`, and the separator.
std::string_view take_until(std::string_view& text, char separator);
/// Takes the next word off the front of `text`, with the white space before it; "" where there is none left.
std::string_view take_word(std::string_view& text);
/// The number that `text` begins with.
std::optional<std::int64_t> to_integer(std::string_view text);

}  // namespace whet
