#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace whet {

TerminalSize terminal_size() {
  TerminalSize found;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
    return {size.ws_row, size.ws_col};
  const char* const columns = std::getenv("COLUMNS");
  const long given = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  if (given > 0) found.columns = static_cast<int>(std::min(given, 1000L));
  return found;
}

std::size_t output_columns() {
  return isatty(STDOUT_FILENO) != 0 ? static_cast<std::size_t>(terminal_size().columns) : 0;
}

bool has_colours() {
  const char* const none = std::getenv("NO_COLOR");
  const char* const kind = std::getenv("TERM");
  return (none == nullptr || *none == '\0') && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace whet
