#include "board/embedded.h"

extern "C" const char whet_board_x86_64_begin[], whet_board_x86_64_end[];
extern "C" const char whet_board_aarch64_begin[], whet_board_aarch64_end[];

namespace whet {

std::span<const BoardProgram> board_programs() {
  static const BoardProgram programs[] = {
      {"x86_64", {whet_board_x86_64_begin, whet_board_x86_64_end}},
      {"aarch64", {whet_board_aarch64_begin, whet_board_aarch64_end}},
  };
  return programs;
}

}  // namespace whet
