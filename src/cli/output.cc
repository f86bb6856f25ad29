#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/shown.h"

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
  const bool written = write_to(static_cast<int>(reinterpret_cast<std::intptr_t>(fd)), shown({bytes, size}, "\n\t"));
  return written ? static_cast<ssize_t>(size) : 0;
}

std::FILE* guarded(int fd, int buffering) {
  cookie_io_functions_t functions{};
  functions.write = write_shown;
  std::FILE* file = fopencookie(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), "w", functions);
  if (file) std::setvbuf(file, nullptr, buffering, buffering == _IONBF ? 0 : BUFSIZ);
  return file;
}

}  // namespace

void guard_output() {
  if (std::FILE* out = guarded(STDOUT_FILENO, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF)) stdout = out;
  if (std::FILE* error = guarded(STDERR_FILENO, _IONBF)) stderr = error;
}

void command_terminal(std::FILE* to, std::string_view command) {
  std::fflush(to);
  write_to(to == stdout ? STDOUT_FILENO : STDERR_FILENO, command);
}

bool write_bytes(std::string_view bytes) { return std::fflush(stdout) == 0 && write_to(STDOUT_FILENO, bytes); }

}  // namespace whet
