#include "board/embedded.h"

extern "C" const char whet_board_x86_64_begin[], whet_board_x86_64_end[];
extern "C" const char whet_board_aarch64_begin[], whet_board_aarch64_end[];
extern "C" const char whet_board_x86_64_hash[], whet_board_aarch64_hash[];

namespace whet {
namespace {

constexpr std::size_t kHashDigits = 64;

}  // namespace

std::span<const BoardProgram> board_programs() {
  static const BoardProgram programs[] = {
      {"x86_64", {whet_board_x86_64_begin, whet_board_x86_64_end}, {whet_board_x86_64_hash, kHashDigits}},
      {"aarch64", {whet_board_aarch64_begin, whet_board_aarch64_end}, {whet_board_aarch64_hash, kHashDigits}},
  };
  return programs;
}

}  // namespace whet
