#include "machine/system_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace whet {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

}  // namespace

std::optional<std::string> read_system_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  char chunk[4096];
  ssize_t got;
  while ((got = read(file, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) text.append(chunk, static_cast<std::size_t>(got));
  close(file);
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<std::string> read_line(const std::string& path) {
  const std::optional<std::string> text = read_system_file(path);
  if (!text || text->empty()) return std::nullopt;
  std::string_view left = *text;
  return std::string(take_until(left, '\n'));
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t length = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return part;
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kSpace));
  text.remove_prefix(word.size());
  return word;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

}  // namespace whet
