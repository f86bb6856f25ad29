#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/shown.h"
#include "cli/terminal.h"

namespace whet {
namespace {

bool write_to(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// A character of two bytes may lie in two writes: its first byte alone does no harm, and the second is no character then.
ssize_t write_shown(void* fd, const char* bytes, std::size_t size) {
  const bool written = write_to(*static_cast<const int*>(fd), shown({bytes, size}, "\n\t"));
  return written ? static_cast<ssize_t>(size) : 0;
}

/// `fd` lives as long as the program.
std::FILE* guarded(int& fd, int buffering) {
  cookie_io_functions_t functions{};
  functions.write = write_shown;
  std::FILE* file = fopencookie(&fd, "w", functions);
  if (file) std::setvbuf(file, nullptr, buffering, buffering == _IONBF ? 0 : BUFSIZ);
  return file;
}

}  // namespace

void guard_output() {
  static int output = STDOUT_FILENO, errors = STDERR_FILENO;
  if (std::FILE* out = guarded(output, isatty(output) ? _IOLBF : _IOFBF)) stdout = out;
  if (std::FILE* error = guarded(errors, _IONBF)) stderr = error;
}

void command_terminal(std::FILE* to, std::string_view command) {
  std::fflush(to);
  write_to(to == stdout ? STDOUT_FILENO : STDERR_FILENO, command);
}

bool write_bytes(std::string_view bytes) { return std::fflush(stdout) == 0 && write_to(STDOUT_FILENO, bytes); }

void print(const Table& table) { print(table.fitted(output_columns())); }

void print(const Table::Text& text) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  if (terminal && has_colours()) command_terminal(stdout, "\x1b[1m");
  fmt::print("{}", text.titles);
  if (terminal && has_colours()) command_terminal(stdout, "\x1b[0m");
  fmt::print("{}", text.rows);
}

}  // namespace whet
