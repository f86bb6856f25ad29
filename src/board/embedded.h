#pragma once

#include <span>
#include <string_view>

namespace whet {

/// The static program whet-device of one machine, as whet carries it (library whet_board_embedded).
struct BoardProgram {
  std::string_view machine;  ///< as uname has it
  std::string_view bytes;    ///< of the file; empty where this build could not make it
  std::string_view hash;     ///< SHA-256 of the bytes, 64 hexadecimal digits
};
/// One row a machine.
std::span<const BoardProgram> board_programs();

}  // namespace whet
