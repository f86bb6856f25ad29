#pragma once

#include <cstddef>

namespace whet {

struct TerminalSize {
  int rows = 24, columns = 80;
};
/// Of the terminal that standard output is. Where it is none, $COLUMNS says how wide text may be, or it is of the usual size.
TerminalSize terminal_size();
/// Its columns; 0 where standard output is no terminal, and as wide as need be.
std::size_t output_columns();
/// Whether the terminal is to get colours: $NO_COLOR is not set (no-color.org), and $TERM is not dumb.
bool has_colours();

}  // namespace whet
